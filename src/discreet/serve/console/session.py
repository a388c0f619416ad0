"""Who is signed in: a session cookie that the server sealed, the token that forms carry, and the headers of every page.

The cookie holds the id of a key, never the key: HttpOnly, SameSite=Strict, Secure over HTTPS, sealed with Fernet. A
session ends after some hours, and at once when its key is removed or replaced.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.core.folders import make_once
from discreet.serve.keys import Caller

COOKIE = "discreet-session"
HOURS = 8

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


def session_key(folder: Path) -> bytes:
    """The key that seals sessions, in `folder`; made when there is none, by one of several processes."""
    path = folder / "console.key"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_once(path, Fernet.generate_key())
    return path.read_bytes()


@dataclass(frozen=True, slots=True)
class Session:
    """Who works in a browser, and the token that this session's forms carry."""

    caller: Caller
    token: str


class Sessions:
    """Opens and reads session cookies.

    Parameters
    ----------
    key : bytes
        A Fernet key; see `session_key`.
    known : callable
        Id of a key and mark of that key to its caller, None where it was removed or replaced since.
    clock : callable
        Seconds since the epoch.
    """

    def __init__(self, key: bytes, known: Callable[[str, str], Caller | None],
                 clock: Callable[[], float] = time.time) -> None:
        self._fernet, self._known, self._clock = Fernet(key), known, clock

    def open(self, response: Response, request: Request, caller: Caller, mark: str) -> None:
        """Set the cookie of a new session."""
        sealed = self._fernet.encrypt_at_time(json.dumps([caller.id, mark, secrets.token_urlsafe(24)]).encode(),
                                              int(self._clock()))
        response.set_cookie(COOKIE, sealed.decode("ascii"), path=request.scope["root_path"] or "/", httponly=True,
                            samesite="strict", secure=request.url.scheme == "https", max_age=HOURS * 3600)

    def close(self, response: Response, request: Request) -> None:
        """Delete the cookie in the browser; a copy of it ends with its key, or after `HOURS`."""
        response.delete_cookie(COOKIE, path=request.scope["root_path"] or "/", httponly=True, samesite="strict",
                               secure=request.url.scheme == "https")

    def read(self, request: Request) -> Session | None:
        """The session of a request; None where there is none, where it is over, or where its key is gone."""
        try:
            opened = self._fernet.decrypt_at_time(request.cookies.get(COOKIE, "").encode(), HOURS * 3600,
                                                  int(self._clock()))
        except (InvalidToken, UnicodeEncodeError):
            return None
        name, mark, token = json.loads(opened)
        caller = self._known(name, mark)
        return None if caller is None else Session(caller, token)


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
