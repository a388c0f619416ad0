"""Refusals in one form, and the limits on bodies, open requests and rates that lead to them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.core.errors import DiscreetError
from discreet.serve.settings import is_loopback


class RefusedError(DiscreetError):
    """A request that is not served: the HTTP status, a code for machines, one line for people, and headers."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The answer, in the shape that clients of OpenAI read."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "code": self.code, "param": None}}


class ErrorDetail(BaseModel):
    """One error: for people, and its code for machines."""

    message: str
    type: str
    code: str
    param: str | None = None


class Error(BaseModel):
    """The body of every refusal."""

    error: ErrorDetail


STATUSES = {
    400: "The body is not what was expected.", 401: "No key, or an unknown one.", 403: "The key may not do this.",
    404: "There is nothing of that name.", 405: "Another method was expected.",
    408: "The body did not come within the time.", 409: "Somebody else was first.",
    413: "The body or a text is over the limits.", 422: "A field is missing or of another type.",
    429: "Too many requests; Retry-After says when to come again.", 500: "A mistake in discreet; nothing was passed.",
    502: "The model behind the proxy did not answer as expected.",
    503: "Not ready, or the guard could not judge; nothing was passed.",
    504: "The model behind the proxy was too slow.",
}


def answers_of(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses=` of a route: what every door may answer, and further statuses."""
    return {status: {"model": Error, "description": STATUSES[status]}
            for status in sorted({400, 401, 403, 408, 413, 422, 429, 500, 503, *statuses})}


class Rate:
    """Requests of each key in the last minute; None for any number."""

    def __init__(self, per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._seen: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def count(self, caller: str) -> None:
        """Raises RefusedError with 429 where the caller has had its share."""
        if self._most is None:
            return
        with self._lock:  # Keys are looked up in threads.
            seen, now = self._seen.setdefault(caller, deque()), self._clock()
            while seen and seen[0] <= now - 60:
                seen.popleft()
            if len(seen) >= self._most:
                raise busy(f"{self._most} requests in a minute were made with this key", 1 + int(seen[0] + 60 - now))
            seen.append(now)


def busy(said: str, retry_s: int = 1) -> RefusedError:
    """429 with Retry-After in seconds."""
    return RefusedError(429, "busy", f"{said}; come again in {retry_s} s", {"Retry-After": str(retry_s)})


class LimitsMiddleware:
    """Counts the bytes of bodies and the seconds until they are whole, whatever Content-Length says, and the requests
    that are open at doors.

    `full` says whether too many answers wait already. `free` are beginnings of paths that no count applies to. `local`:
    the request must name the loopback as its host, or any web page could reach it under a name of its own.
    """

    def __init__(self, app: ASGIApp, *, body_bytes: int, body_s: float, requests: int, full: Callable[[], bool],
                 free: tuple[str, ...], local: bool) -> None:
        self.app, self.body_bytes, self.body_s, self.requests = app, body_bytes, body_s, requests
        self.full, self.free, self.local = full, free, local
        self.open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._declared(scope)
        counted = not scope["path"].startswith(self.free)
        if refused is None and counted and (self.open >= self.requests or (scope["method"] == "POST" and self.full())):
            refused = busy(f"{self.open} requests are open")
        if refused is not None:
            await refuse(refused, send)
            return
        body = _Counted(receive, self.body_bytes, self.body_s)
        started = False

        async def answer(message: Message) -> None:
            # Frameworks turn what `receive` raises into errors of their own, so the refusal is put in their place.
            nonlocal started
            if body.refused is not None and started is False:
                await refuse(body.refused, send)
            elif body.refused is None:
                await send(message)
            started = True

        self.open += counted
        try:
            await self.app(scope, body, answer)
        finally:
            self.open -= counted

    def _declared(self, scope: Scope) -> RefusedError | None:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if self.local and not (len(hosts) == 1 and _names_loopback(hosts[0])):
            return RefusedError(400, "host", "without keys the service answers to 127.0.0.1 and localhost only")
        declared = [value for name, value in scope["headers"] if name == b"content-length"]
        if declared and not declared[0].isdigit():
            return RefusedError(400, "content_length", "Content-Length is no number; expected the bytes of the body")
        return _too_large(self.body_bytes) if declared and int(declared[0][:20]) > self.body_bytes else None


class _Counted:
    """`receive` that raises RefusedError when the body outgrows the limit or is late, and remembers it."""

    def __init__(self, receive: Receive, most: int, seconds: float) -> None:
        self._receive, self._left, self._most = receive, most, most
        self._until, self._whole = time.monotonic() + seconds, False
        self.refused: RefusedError | None = None

    async def __call__(self) -> Message:
        try:
            async with asyncio.timeout(None if self._whole else max(0, self._until - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            self.refused = RefusedError(408, "late", "the body did not come within the time; expected as many bytes as "
                                        "Content-Length says")
            raise self.refused from None
        self._whole = not message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.refused = _too_large(self._most)
            raise self.refused
        return message


def _names_loopback(host: str) -> bool:
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _too_large(most: int) -> RefusedError:
    return RefusedError(413, "too_large", f"the body is over {most:,} bytes; send less in one request")


async def refuse(refused: RefusedError, send: Send) -> None:
    """Send a refusal without an application."""
    body = json.dumps(refused.body()).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()),
               (b"connection", b"close"),
               *((name.lower().encode(), value.encode()) for name, value in refused.headers.items())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
