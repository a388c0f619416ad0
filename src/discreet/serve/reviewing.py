"""What a reviewer may do with tickets, in the console and by the JSON door alike: the guards of the key, reservations,
and what the guard says of an edited text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.core.errors import ConflictError, NotFoundError
from discreet.core.records import Answer, Code, Prompts
from discreet.guard.decide import Judgement
from discreet.serve.keys import Caller
from discreet.serve.outcome import worst_of
from discreet.serve.queue.records import TicketRow, TicketView

if TYPE_CHECKING:
    from discreet.serve.queue.tickets import Queue

Judge: TypeAlias = Callable[[str, Answer], Awaitable[Judgement]]

MOST = 500
"""Tickets that a list reads."""


@dataclass(frozen=True, slots=True)
class EditRefused:
    """The guard's word on an edited text that was not written: the code and the judgements, one for each text.

    `digest` is of exactly these texts where the guard could not decide: who sends it with them confirms them. Empty
    where nothing confirms them.
    """

    code: Code
    digest: str
    texts: tuple[str, ...] = field(repr=False)
    judgements: tuple[Judgement, ...] = field(repr=False)


class Reviewing:
    """Lists, reads and decides for reviewers. A key has the tickets of its guards only.

    Methods of one ticket raise NotFoundError where it is not there for this reviewer; all raise UnavailableError as the
    queue does. `judge` judges an edited text by the name of a guard.
    """

    def __init__(self, queue: Queue, judge: Judge, clock: Callable[[], float] = time.time) -> None:
        self.queue, self._judge, self._clock = queue, judge, clock

    def tickets(self, caller: Caller, kind: str = "pending") -> list[TicketRow]:
        """Tickets by deadline: those that wait ("pending"), or that are asked about a second time ("recheck")."""
        return self.queue.tickets(status=kind, guards=caller.guards, limit=MOST)

    def reserved(self, row: TicketRow) -> bool:
        """Whether a reviewer has the ticket now."""
        return row.reserved_by is not None and (row.reserved_until or 0) > self._clock()

    def is_free(self, row: TicketRow, caller: Caller) -> bool:
        """Whether the reviewer may read the ticket: nobody else has it, and they have not proposed its release."""
        return row.first_by != caller.id and (not self.reserved(row) or row.reserved_by == caller.id)

    def own(self, ticket: str, caller: Caller) -> Mapping[str, Any]:
        """The ticket's columns, after what is due."""
        row = self.queue.settled(ticket)
        if not caller.may_use(row["guard"]):
            raise NotFoundError("there is no such ticket of this key's guards")
        return row

    def read(self, ticket: str, caller: Caller) -> TicketView | None:
        """Reserve a ticket that is free, and read it; None, and no text, where this reviewer may not read it now."""
        row = self.own(ticket, caller)
        allowed = {one.action for one in self.queue.allowed(row, caller.id)}
        if "release" not in allowed:
            return None
        try:
            if "reserve" in allowed:
                self.queue.reserve(ticket, caller.id, row["version"])
            return self.queue.read(ticket, caller.id)
        except ConflictError:
            return None  # Somebody was faster.

    async def decide(self, ticket: str, caller: Caller, *, action: str, code: str, version: int,
                     texts: Sequence[str] | None = None, confirmed: str = "") -> EditRefused | None:
        """Write a decision; None, or the guard's refusal of the edited `texts`, where nothing was written.

        An edited text is judged by the guard of the ticket, with the user's own words as they were known. What is
        flagged or not judged is refused; what the guard cannot decide on needs `confirmed`, the digest of exactly that
        text. UsageError and ConflictError as `Queue.decide`.
        """
        row = await self.queue.aside(self.own, ticket, caller)
        given: dict[str, Any] = {"action": action, "code": code, "version": version}
        if action == "release_edited" and texts is not None:
            judgements = await self._judged(row, caller, tuple(texts))
            found, worst = worst_of(judgements)
            digest = sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
            undecided = found == "privacy/undecided"
            if worst is None or not (found == "ok" or undecided and confirmed == digest):
                return EditRefused(found, digest if undecided else "", tuple(texts), judgements)
            given["verdict"] = worst.verdict.to_json()
        await self.queue.aside(lambda: self.queue.decide(
            ticket, caller.id, text=None if texts is None else tuple(texts), **given))
        return None

    async def _judged(self, row: Mapping[str, Any], caller: Caller, texts: Sequence[str]) -> tuple[Judgement, ...]:
        """Judgements on edited texts, where the reviewer may write them now; else ConflictError, and none is read."""
        if "release_edited" not in {one.action for one in self.queue.allowed(row, caller.id)}:
            raise ConflictError(f"ticket {row['id']} may not be edited by this reviewer now: reserved, decided, or "
                                "another person's turn; read it again")
        view = await self.queue.aside(self.queue.read, row["id"], caller.id)
        return tuple(await asyncio.gather(*(
            self._judge(row["guard"], Answer(f"{row['id']}-{n}", text, view.question, prompts=Prompts("prompt"),
                                             user_words=view.user_words or None)) for n, text in enumerate(texts))))
