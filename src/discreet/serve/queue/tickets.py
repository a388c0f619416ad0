"""The review queue: what the guard does not decide waits here, encrypted, until a person decides or it expires.

Expired means blocked and erased, and never replayed. Every change is one transaction, checked against the version that
its maker saw, and has its row in the audit; so a process that dies leaves each ticket as it was or as it was to be.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update

from discreet.core.errors import ConflictError, NotFoundError, UsageError
from discreet.serve.queue import audit
from discreet.serve.queue.records import (
    CODES,
    Allowed,
    CallerTicket,
    Decision,
    Status,
    TicketRow,
    TicketState,
    TicketView,
    edited_payload,
)
from discreet.serve.queue.store import ERASED, Fields, Store, row_of, stale
from discreet.serve.queue.tables import tickets
from discreet.serve.queue.vault import DAY, Vault

FIGURES = ("action", "layer", "score", "delta", "sigma_safe", "sigma_unsafe", "tau", "logit")
"""What is kept of a verdict after its text is erased, for calibration."""


class Queue(Store):
    """The tickets of one database and key folder; safe to use from many threads and processes.

    Raises UnavailableError from every method where the database or the key folder cannot be used.

    Parameters
    ----------
    url : str
        SQLAlchemy's URL of the database: SQLite in a file, or PostgreSQL.
    key_folder : Path
        Where the keys are, outside of the database and its backups; see `Vault`.
    expires_s : float
        How long a ticket may be decided, and then a released payload fetched.
    undo_s : float
        How long a decision can be undone before it takes effect.
    reserve_s : float
        How long a reservation lasts without a heartbeat.
    second_reviewer : bool
        Whether a release takes two reviewers. To block takes one.
    recheck : float
        Share of decided tickets, drawn at random, that another reviewer is asked about blindly.
    notify : bool
        Whether tickets leave rows for the webhook, when they are new and when they are final; see `Announcer`.
    key_period_s : float
        Seconds of the period of the keys, a day at most: that long after it expires a ticket can be read by who has
        the database and the keys.
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, url: str, key_folder: Path, *, expires_s: float = 3600, undo_s: float = 10,
                 reserve_s: float = 300, second_reviewer: bool = False, recheck: float = 0.0,
                 notify: bool = False, key_period_s: float = 3600,
                 clock: Callable[[], float] = time.time) -> None:
        for name, value, least in (("expires_s", expires_s, 1), ("undo_s", undo_s, 0), ("reserve_s", reserve_s, 1)):
            if not least <= value <= 30 * DAY:
                raise UsageError(f"{name} is {value:g}; expected seconds from {least} to {30 * DAY:g}")
        if not 0 <= recheck <= 1:
            raise UsageError(f"recheck is {recheck:g}; expected a share from 0 to 1")
        super().__init__(url, Vault(Path(key_folder), key_period_s), expires_s=expires_s, recheck=recheck,
                         notify=notify, clock=clock)
        self.undo_s, self.reserve_s, self.second_reviewer = undo_s, reserve_s, second_reviewer

    def open(self, *, caller: str, guard: str, code: str, policy: str, texts: Sequence[str], question: str | None,
             verdict: Mapping[str, Any], findings: Sequence[Mapping[str, Any]], payload: Mapping[str, Any],
             user_words: str = "", mark: str = "", tell_s: float | None = None, appeal: bool = False) -> str:
        """Put an answer into the queue; its ticket's id, once everything is on the disk.

        `mark` is that of the caller's key: a later key of the same name does not read the ticket. With `tell_s` the
        ticket ends unless `told` is called in that many seconds: nobody awaits a ticket whose id went nowhere.
        With `appeal` the caller says that the flag is wrong. `question` is for the reviewer to read; `user_words` is
        what of the request are the user's own words, in which an edited text is judged.
        `payload` is what the caller is to receive if it is released; `verdict` and `findings` as JSON. A verdict may
        also have `logit`, the log-odds of evidence, which `guard calibrate --reviews` reads.
        """
        now, ticket = self.clock(), secrets.token_hex(16)
        key, name, wrapped = self.vault.data_key(ticket, now + self.expires_s)
        held = {"texts": list(texts), "question": question, "user_words": user_words, "verdict": dict(verdict),
                "findings": [dict(one) for one in findings], "payload": dict(payload)}
        row = {"id": ticket, "caller": caller, "caller_mark": mark, "guard": guard, "code": code, "policy": policy,
               "status": "pending", "version": 1, "opened": now, "deadline": now + self.expires_s,
               "erase_at": now + self.expires_s, "verdict_hash": audit.hash_of(verdict), "key_name": name,
               "wrapped": wrapped, "tell_by": None if tell_s is None else now + tell_s,
               "figures": {**{one: verdict.get(one) for one in FIGURES},
                           "why": (verdict.get("cause") or {}).get("cause"), **({"appeal": True} if appeal else {})},
               "sealed": self.vault.seal(key, ticket, "content", json.dumps(held).encode())}
        with self.database.writing() as connection:
            connection.execute(insert(tickets).values(**row))
            self.note(connection, row, caller, "appeal" if appeal else "open", code)
            self.announce(connection, row)
        return ticket

    def state(self, ticket: str, caller: str, mark: str = "") -> TicketState:
        """What the caller may know of its ticket. NotFoundError for none, or one of another caller or mark."""
        row = self.settled(ticket)
        if (row["caller"], row["caller_mark"]) != (caller, mark):
            raise NotFoundError(f"there is no ticket {ticket[:40]!r} of this caller; expected the id that came with "
                                "the answer")
        status = _status_of(row, self.clock())
        payload = None
        if status == "released" and row["sealed"] is not None:
            try:
                payload = self.content(row, "edited" if row["edited"] is not None else "content")["payload"]
            except NotFoundError:
                payload = None  # its key is destroyed: it was released and may no longer be fetched
        return TicketState(row["id"], status, row["version"], row["deadline"], payload)

    def of_caller(self, caller: str, mark: str = "", *, before: float | None = None, limit: int = 100
                  ) -> list[CallerTicket]:
        """The caller's own tickets, the newest first, without text; opened `before` a moment. One that is due to
        expire has expired."""
        c, now = tickets.c, self.clock()
        wanted = select(tickets).where(c.caller == caller, c.caller_mark == mark).order_by(
            c.opened.desc(), c.id).limit(max(1, min(limit, 500)))
        with self.database.reading() as connection:
            rows = connection.execute(wanted if before is None else wanted.where(c.opened < before)).mappings().all()
        return [CallerTicket(row["id"], _status_of(row, now), row["guard"], row["code"], row["opened"], row["deadline"])
                for row in rows]

    def tickets(self, *, status: str = "pending", guards: Sequence[str] | None = None,
                limit: int = 50) -> list[TicketRow]:
        """Tickets by deadline, the nearest first.

        `status` is as stored ("pending", "decided", "released", "blocked", "expired"), or "recheck".
        """
        c = tickets.c
        wanted = select(tickets).order_by(c.deadline, c.id).limit(max(1, min(limit, 500)))
        wanted = wanted.where(c.recheck == "open" if status == "recheck" else c.status == status)
        wanted = wanted if guards is None else wanted.where(c.guard.in_(guards))
        if status == "pending":
            wanted = wanted.where(c.deadline > self.clock())
        with self.database.reading() as connection:
            return [row_of(one, blind=status == "recheck") for one in connection.execute(wanted).mappings()]

    def read(self, ticket: str, reviewer: str) -> TicketView:
        """Text, question, verdict, findings and what this reviewer may do. The audit notes that they read it.

        NotFoundError for no such ticket; ConflictError where it is erased.
        """
        row = self.settled(ticket)
        if row["sealed"] is None:
            raise ConflictError(f"ticket {ticket} is {row['status']} and erased; choose another one")
        content = self.content(row, "content")
        edited = None if row["edited"] is None else tuple(self.content(row, "edited")["texts"])
        with self.database.writing() as connection:
            self.note(connection, row, reviewer, "read", None)
        return TicketView(row_of(row, blind=row["recheck"] == "open"), self.allowed(row, reviewer),
                          tuple(content["texts"]), content["question"], content["user_words"], content["verdict"],
                          tuple(content["findings"]), None if row["recheck"] == "open" else edited)

    def allowed(self, row: Fields, reviewer: str) -> tuple[Allowed, ...]:
        """What this reviewer may do with a ticket now."""
        if row["recheck"] == "open":
            rules = () if reviewer in (row["first_by"], row["decided_by"]) else ("release", "block")
            return tuple(Allowed(one, CODES[one]) for one in rules)  # type: ignore[arg-type]
        if row["status"] == "decided":
            return (Allowed("undo"),) if row["decided_by"] == reviewer else ()
        if row["status"] != "pending" or self._reserved_by_other(row, reviewer):
            return ()
        found = [Allowed("release", CODES["release"]), Allowed("release_edited", CODES["release_edited"]),
                 Allowed("block", CODES["block"])]
        if row["first_by"] == reviewer:
            found = [Allowed("block", CODES["block"]), Allowed("undo")]
        mine = row["reserved_by"] == reviewer and row["reserved_until"] > self.clock()
        return (*found, Allowed("leave") if mine else Allowed("reserve"))

    def reserve(self, ticket: str, reviewer: str, version: int) -> int:
        """Keep the ticket for this reviewer for `reserve_s`; the new version. ConflictError where it cannot be."""
        row = self._pending(ticket, reviewer, version)
        return self.change(row, reviewer, "reserve", None, reserved_by=reviewer,
                            reserved_until=self.clock() + self.reserve_s)

    def heartbeat(self, ticket: str, reviewer: str, version: int) -> float:
        """Prolong one's reservation; until when it lasts. ConflictError where it is gone."""
        row, until = self._pending(ticket, reviewer, version), self.clock() + self.reserve_s
        if row["reserved_by"] != reviewer:
            raise ConflictError(f"ticket {ticket} is not reserved by this reviewer; reserve it first")
        with self.database.writing() as connection:
            changed = connection.execute(update(tickets).where(
                tickets.c.id == ticket, tickets.c.version == version).values(reserved_until=until))
        if changed.rowcount != 1:
            raise stale(ticket)
        return until

    def leave(self, ticket: str, reviewer: str, version: int) -> int:
        """Give up one's reservation; the new version."""
        row = self._pending(ticket, reviewer, version)
        if row["reserved_by"] != reviewer:
            raise ConflictError(f"ticket {ticket} is not reserved by this reviewer; there is nothing to leave")
        return self.change(row, reviewer, "leave", None, reserved_by=None, reserved_until=None)

    def decide(self, ticket: str, reviewer: str, *, action: Decision, code: str, version: int,
               text: str | Sequence[str] | None = None, verdict: Mapping[str, Any] | None = None) -> int:
        """Decide about a ticket; its new version. The decision takes effect when the undo window is over.

        `text` goes with "release_edited", and so does `verdict`, the guard's verdict on the edited text, which the
        caller has judged again. With a second reviewer the first release is a proposal. UsageError for an unknown
        action or code, or an edited text that is flagged or could not be judged; ConflictError for a stale version,
        another's reservation, or what this reviewer may not do now.
        """
        if action not in CODES or code not in CODES[action]:
            raise UsageError(f"{action[:40]!r} with the reason code {str(code)[:40]!r}: expected one of "
                             + "; ".join(f"{one}: {', '.join(codes)}" for one, codes in CODES.items()))
        edits = action == "release_edited"
        if edits != (text is not None):
            raise UsageError(f"{action} came {'without' if edits else 'with'} a text; only release_edited takes one")
        row = self.settled(ticket)
        if row["version"] != version:
            raise stale(ticket)
        if action not in {one.action for one in self.allowed(row, reviewer)}:
            raise ConflictError(f"ticket {ticket} is {row_of(row, blind=row['recheck'] == 'open').status} and this "
                                f"reviewer may not {action} it now: reserved, decided, or another person's turn; read "
                                "it again")
        if row["recheck"] == "open":
            gone = {} if row["status"] == "released" else ERASED
            return self.change(row, reviewer, f"recheck_{action}", code, recheck="done", **gone)
        changes: dict[str, Any] = {"reserved_by": None, "reserved_until": None}
        if text is not None:
            changes["edited"] = self._edited(row, (text,) if isinstance(text, str) else tuple(text), verdict)
        elif action == "release" and row["first_action"] == "release_edited":
            action = "release_edited"  # what the first reviewer proposed
        if action != "block" and self.second_reviewer and (row["first_by"] is None or edits):
            return self.change(row, reviewer, f"propose_{action}", code, first_by=reviewer, first_action=action,
                                **changes)
        return self.change(row, reviewer, action, code, verdict, status="decided", decision=action,
                            decision_code=code, decided_by=reviewer, final_at=self.clock() + self.undo_s, **changes)

    def undo(self, ticket: str, reviewer: str, version: int) -> int:
        """Undo one's decision, or one's proposal of a release, before it takes effect; the new version."""
        row = self.settled(ticket)
        if row["version"] != version:
            raise stale(ticket)
        if "undo" not in {one.action for one in self.allowed(row, reviewer)}:
            raise ConflictError(f"ticket {ticket} is {row['status']}: only the reviewer who decided may undo, before "
                                "the decision takes effect")
        changes: dict[str, Any] = {"status": "pending", "decision": None, "decision_code": None, "decided_by": None,
                                   "final_at": None}
        if row["first_by"] in (None, reviewer):
            changes |= {"first_by": None, "first_action": None, "edited": None}
        return self.change(row, reviewer, "undo", None, **changes)

    def _pending(self, ticket: str, reviewer: str, version: int) -> Fields:
        """The ticket, where it waits for a decision and no other reviewer reserved it."""
        row = self.settled(ticket)
        if row["version"] != version:
            raise stale(ticket)
        if row["status"] != "pending":
            raise ConflictError(f"ticket {ticket} is {row['status']}; expected one that is pending: choose another one")
        if self._reserved_by_other(row, reviewer):
            raise ConflictError(f"ticket {ticket} is reserved by another reviewer; choose another one, or wait")
        return row

    def _reserved_by_other(self, row: Fields, reviewer: str) -> bool:
        return row["reserved_by"] not in (None, reviewer) and bool(row["reserved_until"] > self.clock())

    def _edited(self, row: Fields, edited: tuple[str, ...], verdict: Mapping[str, Any] | None) -> bytes:
        """The edited texts and their payload, sealed."""
        action = None if verdict is None else verdict.get("action")
        if action not in ("safe", "abstain"):
            how = "without a verdict" if action is None else "flagged, or not judged"
            raise UsageError(f"the edited text came {how}; expected one that the guard judged and does not flag: edit "
                             "it again, or block")
        content = self.content(row, "content")
        texts = tuple(content["texts"])
        if len(edited) != len(texts):
            raise UsageError(f"{len(edited)} edited texts came for {len(texts)}; expected one for each")
        payload = edited_payload(content["payload"], texts, edited)
        if payload is None:
            raise UsageError(f"the texts of ticket {row['id']} do not stand in its payload, so that they cannot be "
                             "replaced; release or block it")
        return self.sealed(row, "edited", {"texts": list(edited), "payload": payload})


def _status_of(row: Fields, now: float) -> Status:
    """The status as a caller reads it: a decision that can still be undone is none yet."""
    if row["status"] == "pending" and row["deadline"] <= now:
        return "expired"
    return "pending" if row["status"] == "decided" else row["status"]
