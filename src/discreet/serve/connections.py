"""Connections that a client keeps open without asking for anything."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    Base = Any
else:
    Base = AutoHTTPProtocol


class Patient(Base):  # type: ignore[misc]
    """uvicorn's protocol of HTTP, which closes a connection whose next request has no whole head after `head_s`.

    A class of the module: worker processes get it by its name.
    """

    head_s: ClassVar[float] = 10.0
    """Seconds in which the head of a request must come."""
    late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """A part of a request has come."""
        super().data_received(data)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        if self.late is not None:
            self.late.cancel()

    def _expect_head(self) -> None:
        if self._between_requests():
            self.late = self.late or self.loop.call_later(self.head_s, self._give_up)
        elif self.late is not None:
            self.late.cancel()
            self.late = None

    def _between_requests(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _give_up(self) -> None:
        self.late = None
        if self._between_requests() and not self.transport.is_closing():
            self.transport.close()
