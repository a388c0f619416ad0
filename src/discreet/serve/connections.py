"""Connections that a client keeps open without asking for anything."""

from __future__ import annotations

import asyncio
import re
import resource
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.serve.admission import SIGN_IN

if TYPE_CHECKING:
    Base = Any
else:
    Base = H11Protocol  # httptools, which uvicorn prefers where it finds it, keeps a head however long it is.

ABSOLUTE = re.compile(rb"https?://([^/?#@]+)(/.*)?", re.IGNORECASE)
"""A path that names its host too."""
FILES = 65_536
"""Open files that a process asks for, where it may have as many: the soft limit is often 1,024."""


class Patient(Base):  # type: ignore[misc]
    """uvicorn's protocol of HTTP, for which nobody without a key uses up the connections of a process.

    A connection *waits* between requests, until the head of the next one is whole, and for the body of a sign-in. One
    that waits longer than `head_s` is closed. Of more than `most_waiting` the one that has waited longest is closed,
    so that who sends a request at once finds room.

    A class of the module: worker processes get it by its name.
    """

    head_s: ClassVar[float] = 10.0
    """Seconds in which the head of a request must come."""
    most_waiting: ClassVar[int] = 4096
    """Connections of a process that may wait at a time."""
    waiting: ClassVar[dict[Patient, asyncio.TimerHandle]] = {}
    """Connections of this process that wait, the longest first, with what will close them."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """A part of a request has come."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """A request was answered."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        self._stop_waiting()

    def handle_events(self) -> None:
        """Read what has come. A request for `http://host/path` is one for the path, and its host is that of the
        address: every server must understand it (RFC 9112, 3.2.2). It is served later, so that it may be changed here.
        """
        super().handle_events()
        scope = self.scope or {"raw_path": b"/"}
        if found := ABSOLUTE.fullmatch(scope["raw_path"]):
            path = found[2] or b"/"
            hosts = [(name, found[1] if name == b"host" else value) for name, value in scope["headers"]]
            scope |= {"raw_path": path, "path": unquote(path.decode("ascii")), "headers": hosts}

    def _look(self) -> None:
        if not self._waits():
            self._stop_waiting()
        elif self not in self.waiting:
            self.waiting[self] = self.loop.call_later(self.head_s, self._give_up)
            if len(self.waiting) > self.most_waiting:
                next(iter(self.waiting))._give_up()

    def _waits(self) -> bool:
        if self.transport.is_closing():
            return False
        between_requests = self.cycle is None or bool(self.cycle.response_complete)
        return between_requests or bool(self.cycle.more_body and self.cycle.scope["path"] == SIGN_IN)

    def _stop_waiting(self) -> None:
        if (timer := self.waiting.pop(self, None)) is not None:
            timer.cancel()

    def _give_up(self) -> None:
        self._stop_waiting()
        self.transport.close()


def make_room() -> None:
    """Have this process open as many files as it may, and leave half of them to what does not wait."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if soft != resource.RLIM_INFINITY:
        Patient.most_waiting = min(Patient.most_waiting, soft // 2)
