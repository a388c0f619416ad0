"""The audit: who did what to which ticket, when and at which version; append-only, and without any text.

Each row carries an HMAC over itself and the HMAC of the row before it, under a key of the key folder. So a row that was
changed, put in or taken out shows, also to somebody who works around the database's triggers, unless they hold the key.
What no chain shows by itself is the loss of its end: compare `head` with one that was noted elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, text

from discreet.serve.queue.tables import LOCK, Database, audit, tickets

FIELDS = ("seq", "at", "ticket", "version", "actor", "action", "code", "verdict_hash")
START = "0" * 64


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """What a check of the audit found: its rows, the last row's HMAC, and what is wrong (None where nothing is)."""

    rows: int
    head: str
    wrong: str | None

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong."""
        return self.wrong is None


def append(connection: Connection, key: bytes, *, at: float, ticket: str, version: int, actor: str, action: str,
           code: str | None, verdict_hash: str) -> None:
    """Add a row inside the transaction of the change that it tells of."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    last = connection.execute(select(audit.c.seq, audit.c.mac).order_by(audit.c.seq.desc()).limit(1)).first()
    row: dict[str, Any] = {"seq": 1 if last is None else last.seq + 1, "at": at, "ticket": ticket, "version": version,
                           "actor": actor, "action": action, "code": code, "verdict_hash": verdict_hash}
    connection.execute(insert(audit).values(**row, mac=_mac(key, START if last is None else last.mac, row)))


def was_begun_under(database: Database, key: bytes) -> bool:
    """Whether the first row, if there is one, is of this key. Else the key folder is new or another queue's."""
    with database.reading() as connection:
        row = connection.execute(select(audit).where(audit.c.seq == 1)).mappings().first()
    return row is None or hmac.compare_digest(row["mac"], _mac(key, START, row))


def verify(database: Database, key: bytes, *, noted: tuple[int, str] | None = None) -> AuditCheck:
    """Check the whole chain, that every ticket stands at the version of its last row, and a row `noted` elsewhere.

    `noted` is `(rows, head)` of an earlier check: the chain must still contain it. Raises UnavailableError.
    """
    rows, mac, wrong = 0, START, None
    with database.reading() as connection:
        every = select(audit).order_by(audit.c.seq).execution_options(yield_per=1000)
        for row in connection.execute(every).mappings():
            rows += 1
            if wrong is None and row["seq"] != rows:
                wrong = f"row {rows} is missing: the next one says that it is row {row['seq']}"
            elif wrong is None and not hmac.compare_digest(row["mac"], _mac(key, mac, row)):
                wrong = f"row {rows} is not what was written: it, or a row before it, was changed"
            mac = row["mac"]
            if wrong is None and noted is not None and rows == noted[0] and mac != noted[1]:
                wrong = f"row {rows} is not the head that was noted then"
        if wrong is None and noted is not None and rows < noted[0]:
            wrong = f"{noted[0] - rows} rows are missing at the end: {noted[0]} were noted"
        latest = select(audit.c.ticket, func.max(audit.c.version).label("version")).group_by(audit.c.ticket).subquery()
        joined = tickets.outerjoin(latest, latest.c.ticket == tickets.c.id)
        unequal = connection.execute(select(tickets.c.id).select_from(joined).where(
            (latest.c.version.is_(None)) | (latest.c.version != tickets.c.version)).limit(1)).scalar()
    if wrong is None and unequal is not None:
        wrong = f"ticket {unequal} was changed without a row that says so"
    return AuditCheck(rows, mac, wrong)


def exported(database: Database, *, after: int = 0, limit: int | None = None,
             guards: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Rows for another system, the oldest first, of some guards or all: the columns, and `time` as ISO 8601. They begin
    with the one `after` a number.

    A row never changes, so the last `seq` that was read is where to go on. Raises UnavailableError.
    """
    wanted = select(audit).where(audit.c.seq > after).order_by(audit.c.seq).limit(limit)
    if guards is not None:
        wanted = wanted.join(tickets, tickets.c.id == audit.c.ticket).where(tickets.c.guard.in_(guards))
    with database.reading() as connection:
        for row in connection.execute(wanted.execution_options(yield_per=1000)).mappings():
            time = datetime.fromtimestamp(row["at"], UTC).isoformat(timespec="milliseconds")
            yield {"time": time, **{name: row[name] for name in (*FIELDS, "mac")}}


def hash_of(verdict: Mapping[str, Any]) -> str:
    """SHA-256 of a verdict's JSON, by which a row says which verdict was decided on."""
    return hashlib.sha256(json.dumps(verdict, sort_keys=True, default=str).encode()).hexdigest()


def _mac(key: bytes, before: str, row: Mapping[Any, Any]) -> str:
    said = json.dumps([before, *(row[name] for name in FIELDS)])
    return hmac.new(key, said.encode(), "sha256").hexdigest()


REVIEWED = ("id", "opened", "guard", "policy", "code", "decision", "reason", "recheck", "action", "layer", "score",
           "delta", "sigma_safe", "sigma_unsafe", "tau", "logit", "why")
"""Of an exported row; `recheck` is the blind second decision, `why` the cause of the verdict."""


def decided(database: Database, *, guard: str | None = None) -> Iterator[dict[str, Any]]:
    """Decided tickets as `REVIEWED`, for calibration: the numbers of each verdict with the decision, and no text. The
    oldest first, without those that callers appealed for: these they chose. Raises UnavailableError."""
    c = tickets.c
    wanted = select(c.id, c.opened, c.guard, c.policy, c.code, c.decision, c.decision_code, c.figures).where(
        c.status.in_(("released", "blocked"))).order_by(c.opened, c.id)
    again = select(audit.c.ticket, audit.c.action).where(audit.c.action.like("recheck_%"))
    with database.reading() as connection:
        second = {ticket: action.removeprefix("recheck_") for ticket, action in connection.execute(again)}
        for row in connection.execute(wanted if guard is None else wanted.where(c.guard == guard)).mappings():
            if row["figures"].get("appeal"):
                continue
            said = {**row, **row["figures"], "reason": row["decision_code"], "recheck": second.get(row["id"])}
            yield {name: said.get(name) for name in REVIEWED}
