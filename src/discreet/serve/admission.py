"""Who may enter: the key is looked at before anything of a request is kept, and what is open is shared among keys.

A request without a key costs a look at its headers. Bodies are bounded in bytes and seconds, whatever Content-Length
says, and one that comes slowly takes a place of its sender only.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.core.errors import InputError
from discreet.serve.keys import CALLER, LOCAL, Caller, Keyring
from discreet.serve.limits import Rate, RefusedError, busy, refuse
from discreet.serve.settings import Limits
from discreet.serve.values import is_loopback

OPEN = ("/health", "/console", "/openapi.json")
"""Beginnings of paths without a key; `/` is another."""
UNCOUNTED = "/metrics"
"""A path with a key that is served however much is open."""
MOST_NODES, MOST_VALUES = 30_000, 60_000
"""Objects and lists in a body, and commas between values: 2 MB of small ones would take a process seconds, in which it
serves nobody. Schemas of 200 tools have up to 18,000 and 22,000 (465 kB, as pydantic writes them)."""
NODES = 1_000
"""So many of both, which take a process one or two milliseconds, count as one answer more in the rate of a key."""
NUMBERS = "/embeddings"
MANY_NUMBERS = 20
"""The end of a path whose requests may be lists of tokens, so many of which count as one value."""
SIGN_IN = "/console/sign-in"
SIGN_IN_BYTES, SIGN_IN_S = 16_000, 5.0
"""What somebody without a key or a session may send, and in how many seconds."""


class Slots:
    """Requests that are open. A key has no more than are left free, so that there is always room for another key."""

    def __init__(self, most: int) -> None:
        self._most, self._open = most, Counter[str]()

    def take(self, caller: str) -> None:
        """Open one. Raises RefusedError with 429 where the key has its share."""
        if self._open[caller] >= self._most - self._open.total():
            raise busy(f"{self._open[caller]} requests of this key are open, of {self._open.total()}")
        self._open[caller] += 1

    def give(self, caller: str) -> None:
        """Close one."""
        self._open[caller] -= 1
        if not self._open[caller]:
            del self._open[caller]


class Admission:
    """Lets requests in: by their key, its rate, its share of what is open, and the bytes and seconds of their bodies.

    `waiting_of` says how many answers of a key wait for a worker. Without a `keyring` everybody is the local operator,
    and the request must name the loopback as its host, or any web page could reach it under a name of its own.
    """

    def __init__(self, app: ASGIApp, *, keyring: Keyring | None, limits: Limits, rate: Rate,
                 waiting_of: Callable[[str], int]) -> None:
        self._app, self._keyring, self._limits, self._rate = app, keyring, limits, rate
        self._waiting_of, self._slots = waiting_of, Slots(limits.requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most, seconds = self._limits.body_bytes, self._limits.body_s
        if scope["path"] == SIGN_IN:
            most, seconds = SIGN_IN_BYTES, SIGN_IN_S
        counted = not _is_open(scope["path"]) and scope["path"] != UNCOUNTED
        try:
            self._check_headers(scope, most)
            if not _is_open(scope["path"]):
                scope[CALLER] = await self._caller(scope)
            if counted:
                self._count(scope[CALLER].id, scope["method"])
        except RefusedError as refused:
            await refuse(refused, scope["path"], send)
            return
        body = _Body(receive, most, seconds, numbers=scope["path"].endswith(NUMBERS))
        if counted:
            body.whole = lambda nodes: self._rate.add(scope[CALLER].id, nodes // NODES)
        try:
            await self._serve(scope, body, send)
        finally:
            if counted:
                self._slots.give(scope[CALLER].id)

    async def _serve(self, scope: Scope, body: _Body, send: Send) -> None:
        started = False

        async def answer(message: Message) -> None:
            # Frameworks turn what `receive` raises into errors of their own, so the refusal is put in their place.
            nonlocal started
            if body.refused is not None and not started:
                await refuse(body.refused, scope["path"], send)
            elif body.refused is None:
                await send(message)
            started = True

        await self._app(scope, body, answer)

    def _check_headers(self, scope: Scope, most: int) -> None:
        hosts = _values(scope, b"host")
        if self._keyring is None and not (len(hosts) == 1 and _names_loopback(hosts[0])):
            raise RefusedError(400, "host", "without keys the service answers to 127.0.0.1 and localhost only")
        if any(one.strip().lower() not in ("", "identity") for one in _values(scope, b"content-encoding")):
            raise RefusedError(400, "content_encoding", "the body is compressed; expected it plain, without "
                               "Content-Encoding")
        declared = _values(scope, b"content-length")
        if _values(scope, b"transfer-encoding") and (declared or scope["http_version"] == "1.0"):
            # Where a proxy before us reads the other one, what is left of the body would be a request of its own here.
            raise RefusedError(400, "content_length", "the body has two lengths, that of Transfer-Encoding and that of "
                               "Content-Length or of HTTP/1.0; expected one")
        if declared and not (declared[0].isascii() and declared[0].isdigit()):
            raise RefusedError(400, "content_length", "Content-Length is no number; expected the bytes of the body")
        if declared and int(declared[0][:20]) > most:
            raise _too_large(most)

    async def _caller(self, scope: Scope) -> Caller:
        """Who asks. Raises RefusedError: 401 without a known key, 503 where the file of keys cannot be read."""
        if self._keyring is None:
            return LOCAL
        token = _token(scope)
        try:  # In a thread: the file may be read again.
            caller = None if token is None else await run_in_threadpool(self._keyring.caller, token)
        except InputError:
            raise RefusedError(503, "keys", "the file of keys cannot be read, so that nobody can be let in; come again",
                               {"Retry-After": "5"}) from None
        if caller is None:
            given = "no" if token is None else "an unknown or ended"
            raise RefusedError(401, "unauthorised", f"{given} key was given; expected Authorization: Bearer <key> or "
                               "x-api-key: <key>",
                               {"WWW-Authenticate": "Bearer"})
        return caller

    def _count(self, caller: str, method: str) -> None:
        if method == "POST" and (waiting := self._waiting_of(caller)) >= self._limits.waiting:
            raise busy(f"{waiting} answers of this key wait to be judged")
        self._slots.take(caller)
        try:
            self._rate.count(caller)
        except RefusedError:
            self._slots.give(caller)
            raise


class _Body:
    """`receive` that raises RefusedError when the body outgrows a limit or is late, and remembers it. `whole` is called
    with the number of its objects, lists and commas once it has come."""

    def __init__(self, receive: Receive, most: int, seconds: float, *, numbers: bool) -> None:
        self._receive, self._left, self._most, self._numbers = receive, most, most, numbers
        self._until, self._whole, self._nodes = time.monotonic() + seconds, False, Nodes()
        self.refused: RefusedError | None = None
        self.whole: Callable[[int], None] = lambda nodes: None

    async def __call__(self) -> Message:
        try:
            async with asyncio.timeout(None if self._whole else max(0, self._until - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            self.refused = RefusedError(408, "late", "the body did not come within the time; expected as many bytes as "
                                        "Content-Length says")
            raise self.refused from None
        if self._whole:
            return message
        self._whole = not message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.refused = _too_large(self._most)
            raise self.refused
        if b"\0" in message.get("body", b""):  # No JSON in UTF-8 has one; in UTF-16 quotes are not where they seem.
            self.refused = RefusedError(400, "refused", "the body could not be read; expected JSON in UTF-8")
            raise self.refused
        self._nodes.read(message.get("body", b""))
        nodes, values = self._nodes.count, self._nodes.commas // (MANY_NUMBERS if self._numbers else 1)
        if nodes > MOST_NODES or values > MOST_VALUES:
            self.refused = RefusedError(413, "too_many", f"the body has over {MOST_NODES:,} objects and lists, or over "
                                        f"{MOST_VALUES:,} values; send less in one request")
            raise self.refused
        if self._whole:
            self.whole(nodes + values)
        return message


class Nodes:
    """Counts the objects and lists of JSON that comes in parts, every bracket that opens outside of a string, and the
    commas between values."""

    def __init__(self) -> None:
        self.count, self.commas, self._inside, self._rest = 0, 0, False, b""

    def read(self, part: bytes) -> None:
        """Count those of the next part."""
        part, self._rest = self._rest + part, b""
        if (len(part) - len(part.rstrip(b"\\"))) % 2:  # An escape, of which the end comes with the next part.
            part, self._rest = part[:-1], part[-1:]
        pieces = part.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(pieces[int(self._inside)::2])
        self.count += outside.count(b"{") + outside.count(b"[")
        self.commas += outside.count(b",")
        self._inside ^= len(pieces) % 2 == 0


def _is_open(path: str) -> bool:
    return path == "/" or path.startswith(OPEN)


def _values(scope: Scope, wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]


def _token(scope: Scope) -> str | None:
    """The key of the headers: `Authorization: Bearer`, else `x-api-key`."""
    for value in _values(scope, b"authorization")[:1]:
        scheme, _, token = value.partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return token.strip()
    return next(iter(_values(scope, b"x-api-key")), None) or None


def _names_loopback(host: str) -> bool:
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _too_large(most: int) -> RefusedError:
    setting = "" if most == SIGN_IN_BYTES else ", or have limits.body_bytes raised in the settings"
    return RefusedError(413, "too_large", f"the body is over {most:,} bytes; send less in one request{setting}")
