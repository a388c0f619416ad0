"""The application: what is loaded when, who may enter, and the doors."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet import __version__
from discreet.serve.admission import Admission
from discreet.serve.doors import (
    agentgateway,
    appeals,
    check,
    completions,
    messages,
    openai,
    presidio,
    responses,
    reviews,
    tickets,
)
from discreet.serve.doors.upstream import Upstream
from discreet.serve.gate import Gate
from discreet.serve.health import add_health
from discreet.serve.keys import CALLER, Keyring
from discreet.serve.limits import STATUSES, Error, RefusedError, refuse
from discreet.serve.names import absent, unknown_field
from discreet.serve.reviewing import Reviewing
from discreet.serve.settings import Settings
from discreet.serve.shadow import counted
from discreet.serve.telemetry import SHARED, Log, Metrics, Telemetry, crash
from discreet.serve.workers import Workers

if TYPE_CHECKING:
    import httpx

    from discreet.serve.queue.tickets import Queue
    from discreet.serve.queue.webhook import Announcer

Aside: TypeAlias = Callable[[Callable[[], object]], Awaitable[object]]
HEADED = frozenset(("/", "/health/live", "/health/ready", "/metrics", "/v1/models", "/v1/observed"))
"""Paths that answer HEAD, by which load balancers probe, as they answer GET: those that change nothing."""
KEYS_S = 10.0
"""Seconds between looks for tickets of keys that are gone."""
WARN_DAYS = 7
"""So many days before a key ends the log says so, once a day."""


def create_app(settings: Settings, *, workers: Workers | None = None, telemetry: Telemetry | None = None,
               transport: httpx.AsyncBaseTransport | None = None) -> FastAPI:
    """The service. It loads and warms up when it starts, and ends its workers when it stops.

    `workers` and `telemetry` replace those that the settings ask for, `transport` the network to the upstream. Raises
    UsageError or InputError for what can be known before: keys that cannot be read, a log that cannot be written,
    tracing that is not installed.
    """
    shared = os.environ.get(SHARED)
    telemetry = telemetry or Telemetry(log=Log(settings.log_file), metrics=Metrics(Path(shared) if shared else None),
                                       trace=settings.trace)
    log, metrics = telemetry.log, telemetry.metrics
    workers = workers or Workers(
        settings.guards, settings.workers, deadline_s=settings.deadline_s, start_s=settings.start_s,
        replaced=lambda cause: metrics.replaced.labels(cause).inc(),
        used=lambda owner, seconds: metrics.key_seconds.labels(owner).inc(seconds),
        said=lambda line: log.add("worker", reason=line))
    gate = Gate(settings, workers, _queue_of(settings), telemetry)
    announcer = _announcer_of(settings, gate.queue)
    upstream = None if settings.upstream is None else Upstream(settings, telemetry, transport)
    keyring = None if settings.keys is None else Keyring(settings.keys, settings.default)
    if keyring is not None:
        keyring.keys()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        await workers.start()
        log.add("start", version=__version__, ready=workers.ready, guards=list(settings.guards), mode=settings.mode,
                workers=settings.workers)
        tasks = [asyncio.create_task(one) for one in _chores(gate, announcer, keyring)]
        yield
        app.state.draining = True
        for task in tasks:
            task.cancel()
        await workers.close()
        if upstream is not None:
            await upstream.close()
        if gate.queue is not None:
            gate.queue.close()
        if announcer is not None:
            announcer.close()
        log.add("stop")

    # A redirect to the path without its last slash would name the scheme that this process sees: behind TLS, http.
    # FastAPI's own spans and log records quote paths, queries and errors, which may hold what a client wrote.
    app = FastAPI(title="discreet", version=__version__, lifespan=life, docs_url=None, redoc_url=None,
                  redirect_slashes=False, generate_unique_id_function=lambda route: route.name,
                  telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
                  responses={status: {"model": Error, "description": STATUSES[status]}
                             for status in (400, 405, 408, 413, 429, 500)})
    app.state.gate, app.state.settings, app.state.keyring = gate, settings, keyring
    app.state.draining = False
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(Admission, keyring=keyring, limits=settings.limits, rate=gate.rate,
                       waiting_of=workers.waiting_of)
    app.add_middleware(Catch, telemetry=telemetry)
    if settings.trusted_proxies:
        from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=[str(one) for one in settings.trusted_proxies])
    add_health(app, gate)
    reviewing = None if gate.queue is None else Reviewing(gate.queue, workers.judge)
    for door in (openai.router(gate, upstream), agentgateway.router(gate), check.router(gate), appeals.router(gate),
                 tickets.router(gate), reviews.router(gate, reviewing), presidio.router(gate)):
        app.include_router(door)
    if upstream is not None:
        for one in (messages,) if upstream.kind == "anthropic" else (responses, messages, completions):
            app.include_router(one.router(gate, upstream))
    if gate.queue is not None:
        from discreet.serve.console.routes import Console

        provider = None
        if settings.oidc is not None:
            from discreet.serve.console.oidc import Provider

            provider = Provider(settings.oidc, gate.queue.audit_key)
        app.add_route("/console", _to_console)
        app.mount("/console", Console(gate.queue, keyring, workers.judge, provider=provider, load=lambda: _load(gate),
                                      observed=lambda: counted(gate.telemetry.metrics),
                                      note=telemetry.event).app())
    return app


def _queue_of(settings: Settings) -> Queue | None:
    """The review queue, where there is one. Raises UnavailableError or UsageError where it cannot be opened."""
    if settings.queue is None:
        return None
    from discreet.serve.queue.tickets import Queue

    given = settings.queue
    return Queue(given.url, given.key_folder, expires_s=given.expires_s, undo_s=given.undo_s,
                 reserve_s=given.reserve_s, second_reviewer=given.second_reviewer, recheck=given.recheck,
                 notify=given.webhook is not None, key_period_s=given.key_period_s)


def _announcer_of(settings: Settings, queue: Queue | None) -> Announcer | None:
    """Who tells of decided tickets, where there is a webhook. Raises UsageError for a secret that is too short."""
    if queue is None or settings.queue is None or settings.queue.webhook is None:
        return None
    from discreet.serve.queue.webhook import Announcer

    webhook = settings.queue.webhook
    return Announcer(queue, str(webhook.url), webhook.secret.get_secret_value())


def _load(gate: Gate) -> list[dict[str, Any]]:
    """For the console: the share of answers that each guard left undecided, next to the one that was measured."""
    from discreet.stats import rate_estimate

    decided = gate.telemetry.metrics.decided()
    return [{"guard": name, "point": facts.point, "judged": judged, "undecided": undecided,
             "share": rate_estimate(undecided, judged, unit="answer", of="answers", method="wilson"),
             "expected": rate_estimate(*facts.measured, unit="answer", of="answers", method="wilson")}
            for name, facts in gate.workers.facts.items() for judged, undecided in [decided.get(name, (0, 0))]
            if judged and facts.measured is not None]


def _chores(gate: Gate, announcer: Announcer | None, keyring: Keyring | None) -> Iterator[Coroutine[Any, Any, None]]:
    """What happens once in a while; each process of several may do it, and none twice."""
    metrics, workers, queue = gate.telemetry.metrics, gate.workers, gate.queue

    async def every(seconds: float, name: str, work: Callable[[], object], aside: Aside = asyncio.to_thread) -> None:
        while True:
            try:
                await aside(work)
            except Exception as error:
                gate.queue_failed(name, error)
            await asyncio.sleep(seconds)

    def count() -> None:
        metrics.workers.set(workers.loaded)
        metrics.waiting.set(workers.waiting)

    yield every(1, "count", count)
    if keyring is not None:
        yield every(86_400, "keys_end", lambda: _say_ends(gate.telemetry, keyring))
    if queue is not None:
        yield every(1, "sweep", queue.sweep, queue.aside)
        if keyring is not None:  # A file that cannot be read ends nothing.
            yield every(KEYS_S, "keys", lambda: queue.end_of_keys(
                keyring.holds), queue.aside)
    if queue is not None and announcer is not None:
        yield every(1, "announce", lambda: _announce(gate.telemetry, announcer), queue.aside)


def _announce(telemetry: Telemetry, announcer: Announcer) -> None:
    """Send what is due, count it, and log what did not arrive."""
    done = announcer.deliver()
    for outcome, n in done.items():
        if n:
            telemetry.metrics.webhook.labels(outcome).inc(n)
    if done["retried"] or done["given_up"]:
        telemetry.event("webhook", done)


def _say_ends(telemetry: Telemetry, keyring: Keyring) -> None:
    """Log which keys end soon, or have ended."""
    for name, ends in keyring.expiring(WARN_DAYS * 86_400):
        telemetry.event("key_ends", {"caller": name, "ends": ends})


class Catch:
    """Counts requests, and answers 500 to what nobody expected: its message, which may quote a text, goes nowhere."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self.app, self.telemetry = app, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD" and scope["path"] in HEADED:  # The server keeps its own scope, and sends no body.
            scope = {**scope, "method": "GET"}
        status = 0

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, answer)
        except Exception as error:
            self.telemetry.event("crash", crash(error))
            if not status:
                await refuse(RefusedError(500, "internal", "a mistake in discreet; nothing was passed"), scope["path"],
                             answer)
        finally:
            route = scope.get("route")
            metrics = self.telemetry.metrics
            metrics.requests.labels(getattr(route, "path", "none"), str(status)).inc()
            if CALLER in scope:
                metrics.key_requests.labels(scope[CALLER].id, str(status)).inc()


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RefusedError)
    return _answer(request, error)


def _answer(request: Request, error: RefusedError) -> JSONResponse:
    """A refusal in the protocol of its door."""
    status, body = error.answer(request.scope["path"])
    return JSONResponse(body, status, error.headers)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """422, 400 for clients of Anthropic, with the names of fields, and nothing of what stood in them."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    # A misspelt field is missing under its right name too: the wrong one says more.
    unknown = next((one for one in error.errors() if one["type"] == "extra_forbidden"), None)
    if tuple(first["loc"]) == ("body",) and "json" not in request.headers.get("content-type", "").lower():
        said = "the body was not read as JSON; expected the header content-type: application/json"
    elif unknown is not None:
        said = unknown_field(request.scope["route"].body_field.field_info.annotation, unknown["loc"][1:])
    else:
        said = f"{'.'.join(str(part)[:40] for part in first['loc'])}: {first['type'].replace('_', ' ')}"
    return _answer(request, RefusedError(422, "invalid", f"{said}; see /openapi.json"))


async def _to_console(request: Request) -> RedirectResponse:
    return RedirectResponse("/console/")


async def _http(request: Request, error: Exception) -> JSONResponse:
    """What the framework refuses, in our form."""
    assert isinstance(error, HTTPException)
    said = STATUSES.get(error.status_code, "The request was refused.")
    if error.status_code == 400:  # FastAPI's word for a body that it could not parse, but for JSON with a mistake.
        said = "the body could not be read; expected JSON in UTF-8, nested no deeper than this protocol is"
    elif error.status_code == 405:
        methods = request.app.openapi()["paths"].get(getattr(request.scope.get("route"), "path", ""), ())
        said = f"another method was expected: {', '.join(methods).upper()}" if methods else said
    elif error.status_code == 404:
        said = absent(request.scope["path"], request.app.openapi()["paths"])
    return _answer(request, RefusedError(error.status_code, "refused", said, error.headers))
