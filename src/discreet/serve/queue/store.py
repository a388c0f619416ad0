"""Rows of tickets and what is sealed in them; each change is one transaction with its row in the audit. A service that
starts brings the database of an older version up to its own."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, and_, insert, inspect, or_, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from discreet.core.errors import ConflictError, InputError, NotFoundError, UnavailableError
from discreet.serve.queue import audit
from discreet.serve.queue.records import TicketRow
from discreet.serve.queue.tables import LOCK, Database, deliveries, tickets
from discreet.serve.queue.vault import Vault

FOLDER = Path(__file__).with_name("migrations")
HEAD = "0001"
"""The revision of this version's tables."""


def upgrade(database: Database) -> str | None:
    """Bring the database to this version's tables, in one transaction; the revision it had, None where it was empty.

    Of several processes that start at once one does it and the others wait. InputError for a database of a newer
    version, or one that holds tables of others under our names; UnavailableError where it cannot be used.
    """
    with database.reading() as connection:
        found = _revision(connection)
    if found == HEAD:
        return found
    # Before the lock: the others wait for it some seconds only, and on a busy machine an import may take as long.
    from alembic import command  # noqa: F401

    with database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        found = _revision(connection)
        if found != HEAD:
            _run(database, connection, found)
    return found


def _run(database: Database, connection: Connection, found: str | None) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {one.revision for one in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise InputError(f"the queue's database {database.name} has revision {found[:40]!r}, and this version knows "
                         f"those up to {HEAD}; install the version that wrote it, or a newer one")
    if found is None and {"tickets", "audit", "deliveries", "sessions"} & set(inspect(connection).get_table_names()):
        raise InputError(f"the queue's database {database.name} holds tables 'tickets', 'audit', 'deliveries' or "
                         "'sessions' that the queue did not make; expected an empty database, or the queue's own")
    try:
        command.upgrade(config, "head")
    except SQLAlchemyError as error:
        raise UnavailableError(f"the queue's database {database.name} could not be brought from revision {found} to "
                               f"{HEAD} ({type(error).__name__}); nothing was changed; expected a user that may create "
                               "tables, functions and triggers") from None


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


Fields = Mapping[Any, Any]
"""The columns of a ticket."""
ERASED: dict[str, Any] = {"key_name": None, "wrapped": None, "sealed": None, "edited": None}
THREADS = 32
"""Calls of a queue that may wait for its database at a time."""
T = TypeVar("T")
SYSTEM = "discreet"
"""Who acts in the audit where no person does."""
_DRAW = random.SystemRandom()


class Store:
    """The tickets' rows, and what time does to them; `Queue` adds what people do."""

    def __init__(self, url: str, vault: Vault, *, expires_s: float, recheck: float, notify: bool,
                 clock: Callable[[], float]) -> None:
        self.vault, self.database, self.clock = vault, Database(url), clock
        self.expires_s, self.recheck, self.notify = expires_s, recheck, notify
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="discreet-queue")
        upgrade(self.database)
        self.audit_key = vault.lasting()

    @property
    def has_own_keys(self) -> bool:
        """Whether the key folder is the one that the database was begun with: where it is lost or another one, what was
        sealed before cannot be read, and the audit cannot be checked."""
        return audit.was_begun_under(self.database, self.audit_key)

    def close(self) -> None:
        """Give back the database's connections."""
        self._threads.shutdown(wait=False)
        self.database.close()

    async def aside(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Call something of the queue in a thread of its own: where the database is locked, what judges goes on in
        others."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *given, **named))

    def row(self, ticket: str) -> Fields:
        """The ticket as it stands in the database. NotFoundError for none."""
        found = None
        if ticket.isalnum():  # PostgreSQL refuses an id with a NUL, which then looks as if the database were away.
            with self.database.reading() as connection:
                found = connection.execute(select(tickets).where(tickets.c.id == ticket)).mappings().first()
        if found is None:
            raise NotFoundError(f"there is no ticket {ticket[:40]!r}; expected an id that the queue gave")
        return found

    def settled(self, ticket: str) -> Fields:
        """The ticket after what is due: expired, or its decision final."""
        for _ in range(3):
            row = self.row(ticket)
            try:
                return self.settle(row)
            except ConflictError:
                continue  # another process settled it
        raise stale(ticket)

    def settle(self, row: Fields) -> Fields:
        """Expire, make final or erase one ticket where that is due. ConflictError where another was faster."""
        now = self.clock()
        if row["status"] == "pending" and row["deadline"] <= now:
            self._erased(row, "expire", None)
        elif row["status"] == "pending" and row["tell_by"] is not None and row["tell_by"] <= now:
            self._erased(row, "end", "caller_gone")  # its request broke off, or the process died that served it
        elif row["status"] == "decided" and row["final_at"] <= now:
            self._make_final(row, now)
        elif row["status"] in ("released", "blocked") and row["sealed"] is not None and row["erase_at"] <= now:
            self.change(row, SYSTEM, "erase", None, recheck=None, **ERASED)
        else:
            return row
        return self.row(row["id"])

    def _erased(self, row: Fields, action: str, why: str | None) -> None:
        self.change(row, SYSTEM, action, why, status="expired", ended=why, erase_at=self.clock(), reserved_by=None,
                    reserved_until=None, tell_by=None, **ERASED)

    def end(self, ticket: str, why: str) -> bool:
        """End a ticket that nobody awaits, unless it was decided: blocked, erased, and the reason in the audit. Whether
        it was ended.

        `why` is "caller_gone" or "key_removed". NotFoundError for no such ticket.
        """
        row = self.settled(ticket)
        if row["status"] != "pending":
            return False
        try:
            self._erased(row, "end", why)
        except ConflictError:
            return False  # somebody decides about it at this moment
        return True

    def end_of_keys(self, known: Callable[[str, str], bool]) -> int:
        """End the tickets that wait for keys which are gone, as nobody can fetch them; how many. `known` says whether
        there is a key of that name and mark."""
        c = tickets.c
        waiting = select(c.id, c.caller, c.caller_mark).where(c.status == "pending", c.caller_mark != "")
        with self.database.reading() as connection:
            found = list(connection.execute(waiting))
        there = {key: known(*key) for key in {(one.caller, one.caller_mark) for one in found}}
        return sum(self.end(one.id, "key_removed") for one in found if not there[one.caller, one.caller_mark])

    def told(self, ticket: str) -> None:
        """The caller has the id of its ticket, and may come back for it."""
        with self.database.writing() as connection:
            connection.execute(update(tickets).where(tickets.c.id == ticket).values(tell_by=None))

    def _make_final(self, row: Fields, now: float) -> None:
        """Let a decision take effect, unless nobody did so until the answer would have been erased again."""
        erase_at = max(row["deadline"], row["final_at"] + self.expires_s)
        released, drawn = row["decision"] != "block", erase_at > now and _DRAW.random() < self.recheck
        changes: dict[str, Any] = {"status": "released" if released else "blocked", "erase_at": now, **ERASED}
        action, code = "final", row["decision_code"]
        try:
            if released and erase_at <= now:
                raise NotFoundError("too late")
            if released or drawn:
                key = self.vault.unwrap(row["key_name"], row["id"], row["wrapped"])
                name, wrapped = self.vault.wrap(key, row["id"], erase_at)
                changes = {"status": changes["status"], "erase_at": erase_at, "key_name": name, "wrapped": wrapped,
                           "recheck": "open" if drawn else None}
        except NotFoundError:  # too late, or the key is destroyed: there is nothing left to release
            changes["status"], action, code = "expired", "expire", None
        self.change(row, SYSTEM, action, code, **changes)

    def change(self, row: Fields, actor: str, action: str, code: str | None, verdict: Fields | None = None,
               **changes: Any) -> int:
        """Write a new version of a ticket with its row in the audit; ConflictError where it is not as in `row`."""
        with self.database.writing() as connection:
            changed = connection.execute(update(tickets).where(
                tickets.c.id == row["id"], tickets.c.version == row["version"]).values(
                version=row["version"] + 1, **changes))
            if changed.rowcount != 1:
                raise stale(row["id"])
            after = {**row, **changes, "version": row["version"] + 1}
            if verdict is not None:
                after["verdict_hash"] = audit.hash_of(verdict)
            self.note(connection, after, actor, action, code)
            final = changes.get("status") in ("released", "blocked", "expired")
            if final and self.notify:
                # That it waits is no news any more.
                connection.execute(update(deliveries).where(
                    deliveries.c.ticket == row["id"], deliveries.c.status == "pending").values(next_at=None))
                self.announce(connection, after)
        return int(after["version"])

    def announce(self, connection: Connection, row: Fields) -> None:
        """Leave a row for the webhook, in the transaction that makes the ticket what it says."""
        if self.notify:
            connection.execute(insert(deliveries).values(
                ticket=row["id"], status=row["status"], caller=row["caller"], attempts=0, next_at=0.0))

    def note(self, connection: Connection, row: Fields, actor: str, action: str, code: str | None) -> None:
        """The audit's row of a change, or of a reading, in the transaction that makes it."""
        audit.append(connection, self.audit_key, at=self.clock(), ticket=row["id"], version=row["version"],
                     actor=actor, action=action, code=code, verdict_hash=row["verdict_hash"])

    def audited(self, after: int, limit: int, guards: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Rows of the audit as `audit.exported` gives them."""
        return list(audit.exported(self.database, after=after, limit=limit, guards=guards))

    def content(self, row: Fields, part: str) -> dict[str, Any]:
        """What is sealed in a ticket. NotFoundError where its key is destroyed."""
        key = self.vault.unwrap(row["key_name"], row["id"], row["wrapped"])
        sealed = row["sealed" if part == "content" else "edited"]
        found: dict[str, Any] = json.loads(self.vault.open(key, row["id"], part, sealed))
        return found

    def sealed(self, row: Fields, part: str, content: Mapping[str, Any]) -> bytes:
        """A further part, sealed under the ticket's data key."""
        key = self.vault.unwrap(row["key_name"], row["id"], row["wrapped"])
        return self.vault.seal(key, row["id"], part, json.dumps(content).encode())

    def sweep(self, limit: int = 1000) -> dict[str, int]:
        """Expire, make final and erase what is due, and destroy the keys of past periods; how many of each.

        Call it every few seconds. Reads of a single ticket do the same for that ticket.
        """
        now, c = self.clock(), tickets.c
        due = select(tickets).where(or_(
            and_(c.status == "pending", or_(c.deadline <= now, c.tell_by <= now)),
            and_(c.status == "decided", c.final_at <= now),
            and_(c.status.in_(("released", "blocked")), c.sealed.is_not(None), c.erase_at <= now))).limit(limit)
        done = {"expired": 0, "released": 0, "blocked": 0, "erased": 0, "keys": 0}
        with self.database.reading() as connection:
            found = list(connection.execute(due).mappings())
        broken: UnavailableError | None = None
        for before in found:
            try:
                status = self.settle(before)["status"]
            except ConflictError:
                continue  # another process was faster
            except UnavailableError as error:
                broken = error  # one damaged ticket does not keep the others
                continue
            done["erased" if status == before["status"] else status] += 1
        done["keys"] = self.vault.destroy(now)
        if any(done.values()):
            self.database.checkpoint()
        if broken is not None:
            raise broken
        return done


def row_of(row: Fields, *, blind: bool) -> TicketRow:
    """The record of a ticket; `blind` without what was decided about it."""
    hidden = ("first_by", "decided_by", "decision", "final_at") if blind else ()
    found: dict[str, Any] = {name: None if name in hidden else row[name] for name in TicketRow.__slots__
                             if name != "appeal"}
    found["appeal"] = bool(row["figures"].get("appeal"))
    if blind:
        found["status"] = "recheck"
    return TicketRow(**found)


def stale(ticket: str) -> ConflictError:
    """Somebody else has changed the ticket meanwhile."""
    return ConflictError(f"ticket {ticket} was changed by somebody else meanwhile; nothing was done: read it again")
