"""What a reviewer sees of the queue and of a ticket, and what becomes of their decision; no HTTP and no HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

from discreet.core.errors import ConflictError, UsageError
from discreet.guard.decide import Judgement
from discreet.serve.console.pages import Legend, Piece, heading, label
from discreet.serve.console.statistics import audit_rows
from discreet.serve.keys import Caller
from discreet.serve.queue.records import Allowed, TicketRow, TicketView
from discreet.serve.queue.store import row_of
from discreet.serve.reviewing import Reviewing

DECIDING = ("release", "release_edited", "block")


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of the list: the ticket, whether this reviewer may open it, and who has it."""

    id: str
    row: TicketRow
    free: bool
    state: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The list: `pending` of all tickets that this reviewer may see, `rows` of those that the filters let through."""

    pending: int
    rows: Sequence[Listed]
    choices: Mapping[str, Sequence[tuple[str, str, int]]]


@dataclass(frozen=True, slots=True)
class Told:
    """What a page says after a form that did nothing: a notice, or the guard's refusal of the texts as `edited`."""

    status: int
    notice: str = ""
    refusal: str = ""
    code: str = ""
    digest: str = ""
    edited: tuple[str, ...] = field(default=(), repr=False)
    judgements: tuple[Judgement, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """A ticket's page. `view` is None, and with it every text, where this reviewer may not read it now. `actions` have
    the digit that chooses them, the same on every page."""

    status: int
    row: TicketRow
    heading: str
    explanation: str
    next: str | None
    previous: str | None
    view: TicketView | None = field(default=None, repr=False)
    actions: Sequence[tuple[int, Allowed]] = ()
    legend: Legend | None = None
    answers: Sequence[Sequence[Piece]] = field(default=(), repr=False)
    edited: Sequence[str] = field(default=(), repr=False)
    judged: Sequence[Sequence[Piece]] = field(default=(), repr=False)
    undo: bool = False


class Review:
    """What pages show of `Reviewing`, and what they say of a form that did nothing. Raises as `Reviewing` does."""

    def __init__(self, reviewing: Reviewing) -> None:
        self._reviewing, self._queue = reviewing, reviewing.queue
        self.own = reviewing.own

    def listing(self, caller: Caller, asked: Mapping[str, str]) -> Listing:
        """Tickets by deadline: those that wait, or with `kind` "recheck" those that are asked about a second time."""
        kinds = {kind: self._reviewing.tickets(caller, kind) for kind in ("pending", "recheck")}
        rows = kinds["recheck" if asked.get("kind") == "recheck" else "pending"]
        wanted = [one for one in rows if asked.get("guard") in ("", None, one.guard)
                  and asked.get("code") in ("", None, one.code)]
        choices: dict[str, list[tuple[str, str, int]]] = {
            "guard": [(name, name, n) for name, n in sorted(Counter(one.guard for one in rows).items())],
            "code": [(name, label("code", name), n) for name, n in sorted(Counter(one.code for one in rows).items())],
            "kind": [("recheck", "blind re-check", len(kinds["recheck"]))] if kinds["recheck"] else []}
        return Listing(len(kinds["pending"]), [self._listed(one, caller) for one in wanted], choices)

    def _listed(self, row: TicketRow, caller: Caller) -> Listed:
        reserved, me = self._reviewing.reserved(row), caller.id
        state = ("you" if row.reserved_by == me else str(row.reserved_by)) if reserved else "–"
        if row.status == "pending" and row.first_by is not None:
            state = "waits for a second reviewer" if row.first_by == me or not reserved else f"{state}, second"
        return Listed(row.id, row, self._reviewing.is_free(row, caller), state)

    def undoable(self, ticket: str, caller: Caller) -> Mapping[str, Any] | None:
        """What this reviewer decided about a ticket and may still undo: `{id, version, action, until}`."""
        row, me = self.own(ticket, caller), caller.id
        if row["status"] == "decided" and row["decided_by"] == me:
            return {"id": ticket, "version": row["version"], "action": row["decision"], "until": row["final_at"]}
        if row["status"] == "pending" and row["first_by"] == me:
            return {"id": ticket, "version": row["version"], "action": "propose", "until": None}
        return None

    def show(self, ticket: str, caller: Caller, told: Told | None = None) -> Shown:
        """Reserve a ticket that is free, and read it; else say why there is nothing to read."""
        view = self._reviewing.read(ticket, caller)
        row, me = self.own(ticket, caller), caller.id
        before, after = self._neighbours(row, caller)
        status = told.status if told is not None else 410 if row["status"] == "expired" else 200
        plain = row_of(row, blind=False)
        if view is None:
            return Shown(status, plain, *self._closed(plain, me), after, before,
                         undo="undo" in {one.action for one in self._queue.allowed(row, me)})
        findings = [{**one, "text": one.get("answer", 0)} for one in view.findings]
        edited, again = (told.edited, told.judgements) if told is not None else ((), ())
        judged = [[{**asdict(one), "text": place} for one in one_of.findings] for place, one_of in enumerate(again)]
        legend = Legend(findings, [one for found in judged for one in found])
        return Shown(
            status, view.row, heading(view.row.code, view.verdict), "", after, before, view,
            [(1 + DECIDING.index(one.action), one) for one in view.actions if one.action in DECIDING], legend,
            [legend.cut(text, [one for one in findings if one["text"] == place])
             for place, text in enumerate(view.texts)], edited or view.edited or view.texts,
            [legend.cut(text, found) for text, found in zip(edited, judged, strict=False)])

    def _neighbours(self, row: Mapping[str, Any], caller: Caller) -> tuple[str | None, str | None]:
        """The tickets before and after one by deadline that are free for this reviewer."""
        def place(one: TicketRow) -> tuple[float, str]:
            return one.deadline, one.id

        here = row["deadline"], row["id"]
        free = [one.row for one in self.listing(caller, {}).rows if one.free and one.id != row["id"]]
        before, after = [one.id for one in free if place(one) < here], [one.id for one in free if place(one) > here]
        return (before[-1] if before else None), (after[0] if after else None)

    def _closed(self, row: TicketRow, me: str) -> tuple[str, str]:
        """Why a ticket's text is not shown: a heading and a sentence."""
        if row.ended is not None:
            gone = "Who asked has gone" if row.ended == "caller_gone" else "The key that asked was removed"
            return ("Nobody awaits this ticket", f"{gone}. The answer was blocked and its text erased; it will not be "
                    "released.")
        if row.status == "expired":
            return ("This ticket has expired", "Nobody decided in time. The answer was blocked and its text erased; it "
                    "will not be released.")
        if row.status == "decided":
            who = "You have" if row.decided_by == me else f"{row.decided_by} has"
            return f"{who} decided: {label('action', str(row.decision)).lower()}", "The decision is not final yet."
        if row.status in ("released", "blocked"):
            return f"This ticket was {row.status}", "The decision is final. Its text is no longer shown."
        if row.first_by == me:
            return ("This ticket waits for a second reviewer", "You have proposed to release it. Another reviewer "
                    "decides whether it leaves.")
        return (f"{row.reserved_by} has this ticket", "It is shown to one reviewer at a time. It is free again when "
                "they give it back, or when their reservation ends.")

    def conflict(self, ticket: str) -> Told:
        """What happened to a ticket that a form came too late for."""
        rows = audit_rows(self._queue.database, ticket, None, None, 20)
        last = next((one for one in rows if one["action"] != "read"), None)
        what = "The ticket was changed." if last is None else (
            f"{last['actor']}: {label('step', last['action'])} (version {last['version']}).")
        return Told(409, f"{what} Nothing of yours was written; this is the ticket as it is now.")

    async def decide(self, ticket: str, caller: Caller, form: FormData) -> Told | None:
        """Write the decision of a form; None, or what to say because nothing was written."""
        action, _, code = str(form.get("choice", "")).partition(":")
        texts = None
        if action == "release_edited":
            texts = tuple(str(one).replace("\r\n", "\n") for one in form.getlist("text"))
        try:
            found = await self._reviewing.decide(
                ticket, caller, action=action, code=code, version=number_of(str(form.get("version", ""))), texts=texts,
                confirmed=str(form.get("confirmed", "")))
        except ConflictError:
            return await run_in_threadpool(self.conflict, ticket)
        except UsageError as error:
            return Told(422, f"Nothing was written: {error}.", edited=texts or ())
        return None if found is None else Told(
            422, refusal=label("refused", found.code), code=found.code, edited=found.texts, judgements=found.judgements,
            digest=found.digest)


def number_of(given: str) -> int:
    """A version in a form, or -1, which no ticket has."""
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else -1
