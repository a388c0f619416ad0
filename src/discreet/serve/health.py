"""Whether the service lives and is ready, what it counts, and what it is."""

from __future__ import annotations

import threading
import time
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from discreet.serve.gate import Gate
from discreet.serve.keys import Caller
from discreet.serve.limits import STATUSES, Error
from discreet.serve.roles import allowed

PROBED_S = 1.0
"""Seconds that a look at the queue's database counts: whoever asks without a key must not keep it busy."""


class Health(BaseModel):
    """Whether the service is ready, and what is not: codes."""

    ready: bool
    missing: list[str] = []


class About(BaseModel):
    """What answers at this address."""

    service: str = "discreet"
    what: str = "Judges answers of language models for what identifies a person: POST /v1/check, with a key."
    api: str = "/openapi.json"
    health: str = "/health/ready"
    console: str | None = Field(None, description="Where reviewers work, where there is a review queue.")


class Observed(BaseModel):
    """What was observed under one policy, and what enforce would hold by reason code and action."""

    policy: str
    observed: int
    would_hold: list[dict[str, str | int]]


class Readiness:
    """What keeps the service from being ready."""

    def __init__(self, app: FastAPI, gate: Gate) -> None:
        self._app, self._gate, self._lock = app, gate, threading.Lock()
        self._writable, self._until = True, 0.0

    def missing(self) -> list[str]:
        """Codes."""
        found = [] if self._gate.workers.ready else ["workers"]
        if self._app.state.draining:
            found.append("draining")
        try:
            if self._app.state.keyring is not None:
                self._app.state.keyring.keys()
        except Exception:
            found.append("keys")
        return found if self._queue_takes_tickets() else [*found, "queue"]

    def _queue_takes_tickets(self) -> bool:
        if self._gate.queue is None:
            return True
        with self._lock:
            if time.monotonic() >= self._until:
                try:
                    self._gate.queue.database.probe()
                    self._writable = True
                except Exception as error:
                    self._gate.queue_failed("ready", error)
                    self._writable = False
                self._until = time.monotonic() + PROBED_S
            return self._writable


def add_health(app: FastAPI, gate: Gate) -> None:
    """`/`, `/health/live`, `/health/ready`, `/metrics` and `/v1/observed`."""
    readiness = Readiness(app, gate)

    @app.get("/", tags=["health"])
    async def about() -> About:
        """What this is, and where to go on."""
        return About(console="/console/" if gate.queue is not None else None)

    @app.get("/health/live", tags=["health"])
    async def live() -> Health:
        """The process answers."""
        return Health(ready=True)

    @app.get("/health/ready", tags=["health"], response_model=Health,
             responses={503: {"model": Health, "description": "Not ready."}})
    def ready() -> JSONResponse:
        """Every worker has loaded every guard and judged its warm-up as expected; keys can be read, and the queue can
        be written."""
        found = readiness.missing()
        return JSONResponse(Health(ready=not found, missing=found).model_dump(), 503 if found else 200)

    refusals: dict[int | str, dict[str, Any]] = {
        status: {"model": Error, "description": STATUSES[status]} for status in (401, 403, 429)}

    @app.get("/metrics", tags=["operator"], response_class=Response,
             responses={**refusals, 200: {"content": {"text/plain": {"schema": {"type": "string"}}},
                                         "description": "Prometheus metrics."}})
    def metrics(caller: Annotated[Caller, Depends(allowed("operator"))]) -> Response:
        """Counts and timings as Prometheus reads them."""
        return Response(gate.telemetry.metrics.page(), media_type="text/plain; version=0.0.4")

    @app.get("/v1/observed", tags=["operator"], responses=refusals)
    def observed(caller: Annotated[Caller, Depends(allowed("operator"))]) -> list[Observed]:
        """What was observed, and what enforce would hold, since the start."""
        return [Observed(**one) for one in gate.telemetry.metrics.observations()]
