"""Who is signed in: sessions in the queue's database, the token that forms carry, and the headers of every page.

The cookie holds random bits, never a key: HttpOnly, SameSite=Strict, Secure over HTTPS. The database holds their
SHA-256. A session ends when somebody signs out, wherever the cookie was copied to; after some hours; and at once when
its key is removed or replaced.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, insert, select
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.serve.keys import Caller
from discreet.serve.queue.tables import Database, sessions

COOKIE = "discreet-session"
HOURS = 8
WRONG_A_MINUTE = 10
"""Wrong keys that one address may try in a minute."""
ADDRESSES = 10_000
"""Addresses that are remembered; the oldest is forgotten first."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
                               "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex",
}
NO_STORE = "no-store, max-age=0"


@dataclass(frozen=True, slots=True)
class Session:
    """Who works in a browser, and the token that this session's forms carry."""

    caller: Caller
    token: str


class Sessions:
    """Opens, reads and ends sessions.

    Parameters
    ----------
    database : Database
        The queue's, which the processes of one service share.
    known : callable
        Id of a key, and the part of a hash that says which of its tokens was shown, to its caller; None where it was
        removed, replaced or has ended since. With the values of the provider's claim for whom it signed in.
    clock : callable
        Seconds since the epoch.
    """

    def __init__(self, database: Database, known: Callable[[str, str, Sequence[str] | None], Caller | None],
                 clock: Callable[[], float] = time.time) -> None:
        self._database, self._known, self._clock = database, known, clock

    def open(self, response: Response, request: Request, caller: Caller, groups: Sequence[str] | None = None) -> None:
        """Begin a session, and set its cookie; `groups` where a provider signed in. Raises UnavailableError."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.ends <= now))
            connection.execute(insert(sessions).values(
                id=_digest("session", secret), key_id=caller.id, key_token=caller.token, ends=now + HOURS * 3600,
                groups=None if groups is None else list(groups)))
        response.set_cookie(COOKIE, secret, path=request.scope["root_path"] or "/", httponly=True, samesite="strict",
                            secure=request.url.scheme == "https", max_age=HOURS * 3600)

    def close(self, response: Response, request: Request) -> None:
        """End the session for every copy of its cookie, and delete the cookie. Raises UnavailableError."""
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.id == _digest("session", _cookie(request))))
        response.delete_cookie(COOKIE, path=request.scope["root_path"] or "/", httponly=True, samesite="strict",
                               secure=request.url.scheme == "https")

    def read(self, request: Request) -> Session | None:
        """The session of a request; None where there is none, where it is over, or where its key is gone."""
        if not (secret := _cookie(request)):
            return None
        wanted = select(sessions).where(sessions.c.id == _digest("session", secret), sessions.c.ends > self._clock())
        with self._database.reading() as connection:
            found = connection.execute(wanted).mappings().first()
        caller = None if found is None else self._known(
            found["key_id"], found["key_token"], found["groups"])
        return None if caller is None else Session(caller, _digest("form", secret))


def base_of(request: Request) -> str:
    """The path that the console is mounted at."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def _cookie(request: Request) -> str:
    return request.cookies.get(COOKIE, "")


def _digest(of: str, secret: str) -> str:
    return hashlib.sha256(f"{of}:{secret}".encode("utf-8", "surrogatepass")).hexdigest()


class Attempts:
    """Keys that were tried by address in the last minute, but for those that were right."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._wrong = clock, dict[str, deque[float]]()

    def tried(self, address: str) -> int:
        """Count a key, before it is compared. Seconds until the address may try one; 0 where it may now."""
        seen, now = self._wrong.setdefault(address, deque()), self._clock()
        while seen and seen[0] <= now - 60:
            seen.popleft()
        if len(seen) >= WRONG_A_MINUTE:
            return 1 + int(seen[0] + 60 - now)
        seen.append(now)
        while len(self._wrong) > ADDRESSES:
            del self._wrong[next(iter(self._wrong))]
        return 0

    def right(self, address: str) -> None:
        """The last key was right, or could not be compared."""
        if self._wrong.get(address):
            self._wrong[address].pop()


class Guarded:
    """Puts the headers on every answer of an application: nothing is framed, fetched from elsewhere or kept."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", NO_STORE)
            await send(message)

        await self._app(scope, receive, sent)
