"""What every request of a campaign was, and what it cost: one SQLite file without a word of any text.

It is the campaign's memory (a request with an outcome is never made again), its budget (the most that a request may
cost is reserved before it is made, and what it did cost is put in its place) and its report. States of a row:

    reserved    about to be made; after a crash it was not, and costs nothing
    sent        on its way; after a crash it is `lost`: perhaps paid for, so its reservation counts as spent
    kept        its answer passed, and is among the records
    rejected    its answer failed the validator, or was one that is there already; `reasons` say why
    failed      there was no whole answer; `error` says why
    lost        see above
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import InputError
from discreet.stats import rate_estimate

State = Literal["reserved", "sent", "kept", "rejected", "failed", "lost"]
LEDGER = "ledger.sqlite"
_COLUMNS = """
    id INTEGER PRIMARY KEY, shard TEXT NOT NULL, spec INTEGER NOT NULL, attempt INTEGER NOT NULL, hash TEXT NOT NULL,
    partition TEXT NOT NULL, role TEXT NOT NULL, generator TEXT NOT NULL, mode TEXT NOT NULL, state TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0, error TEXT, reasons TEXT, finish TEXT, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, counted_by TEXT NOT NULL DEFAULT 'reserved', cost REAL NOT NULL,
    began REAL NOT NULL, seconds REAL
"""


class BudgetError(Exception):
    """The next request could break the budget: it was not made."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: which draft of which specification it is, by whom, and the most that it can take."""

    shard: str
    spec: int
    attempt: int
    hash: str
    partition: str
    role: str
    generator: str
    mode: str
    prompt_tokens: int
    completion_tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class Result:
    """How a request that is over ended."""

    state: State
    error: str | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spent:
    """Money in the file's currency and tokens of prompts and answers: spent, and reserved by what is under way."""

    cost: float
    tokens: int
    reserved_cost: float
    reserved_tokens: int


class Ledger:
    """The ledger of a campaign's folder, of one process at a time.

    `cost` and `tokens` are the most that may be spent in all, None for no limit. Opening one settles what a process
    that died had left: see the states. InputError for a file that is no ledger.
    """

    def __init__(self, path: Path, *, cost: float | None = None, tokens: int | None = None) -> None:
        self._most = cost, tokens
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute(f"CREATE TABLE IF NOT EXISTS requests ({_COLUMNS})")
            self._db.execute("CREATE INDEX IF NOT EXISTS drafts ON requests (shard, spec, attempt)")
            self._db.execute("UPDATE requests SET state = 'lost', error = 'killed' WHERE state = 'sent'")
            self._db.execute("DELETE FROM requests WHERE state = 'reserved'")
            self._spent = _spent(self._db)
        except sqlite3.DatabaseError:
            raise InputError(f"{path} is not a ledger of requests; expected the one that synth run wrote") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def result(self, shard: str, spec: int, attempt: int) -> Result | None:
        """How a draft ended, the latest word on it; None where it was not asked for, or the answer was lost."""
        row = self._db.execute(
            "SELECT state, error, reasons FROM requests WHERE shard = ? AND spec = ? AND attempt = ? AND state IN "
            "('kept', 'rejected', 'failed') ORDER BY id DESC LIMIT 1", (shard, spec, attempt)).fetchone()
        return None if row is None else Result(row[0], row[1], tuple(filter(None, (row[2] or "").split(" "))))

    def reserve(self, asked: Asked) -> int:
        """Put a request down with the most it can cost; its row. BudgetError where the budget might not hold."""
        spent, (cost, tokens) = self._spent, self._most
        most = asked.prompt_tokens + asked.completion_tokens
        if (cost is not None and spent.cost + spent.reserved_cost + asked.cost > cost) or (
                tokens is not None and spent.tokens + spent.reserved_tokens + most > tokens):
            raise BudgetError
        names = ("shard", "spec", "attempt", "hash", "partition", "role", "generator", "mode", "prompt_tokens",
                 "completion_tokens", "cost")
        found = self._db.execute(
            f"INSERT INTO requests ({', '.join(names)}, state, began) VALUES ({', '.join('?' * len(names))}, "
            "'reserved', ?)", (*(getattr(asked, name) for name in names), time.time()))
        assert found.lastrowid is not None
        self._add(reserved_cost=asked.cost, reserved_tokens=most)
        return found.lastrowid

    def sent(self, row: int) -> None:
        """It is being made now."""
        self._db.execute("UPDATE requests SET state = 'sent', calls = calls + 1 WHERE id = ?", (row,))

    def sent_away(self, row: int) -> None:
        """The server turned it away unpaid, and it will be made again."""
        self._db.execute("UPDATE requests SET state = 'reserved' WHERE id = ?", (row,))

    def withdraw(self, row: int) -> None:
        """It is not made after all."""
        self._release(row)
        self._db.execute("DELETE FROM requests WHERE id = ? AND state = 'reserved'", (row,))

    def settle(self, row: int, result: Result, *, cost: float, prompt_tokens: int, completion_tokens: int,
               counted_by: Literal["provider", "estimate", "nobody"], finish: str | None = None,
               seconds: float | None = None) -> None:
        """It is over: what it was, and what it cost by the provider's count of tokens, or by ours."""
        self._release(row)
        self._add(cost=cost, tokens=prompt_tokens + completion_tokens)
        self._db.execute(
            "UPDATE requests SET state = ?, error = ?, reasons = ?, cost = ?, prompt_tokens = ?, completion_tokens = ?,"
            " counted_by = ?, finish = ?, seconds = ? WHERE id = ?",
            (result.state, result.error, " ".join(result.reasons) or None, cost, prompt_tokens, completion_tokens,
             counted_by, finish, seconds, row))

    def overrule(self, drafts: Iterable[tuple[str, int, int]], reason: str) -> None:
        """Drafts (shard, specification, attempt) that were kept are rejected after all: all of them or none."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("UPDATE requests SET state = 'rejected', reasons = ? WHERE shard = ? AND spec = ? AND "
                             "attempt = ? AND state = 'kept'", [(reason, *one) for one in drafts])
        self._db.execute("COMMIT")

    def spent(self) -> Spent:
        """The sums so far."""
        return self._spent

    def _release(self, row: int) -> None:
        cost, tokens = self._db.execute("SELECT cost, prompt_tokens + completion_tokens FROM requests WHERE id = ?",
                                        (row,)).fetchone()
        self._add(reserved_cost=-cost, reserved_tokens=-tokens)

    def _add(self, *, cost: float = 0.0, tokens: int = 0, reserved_cost: float = 0.0, reserved_tokens: int = 0) -> None:
        now = self._spent
        self._spent = Spent(now.cost + cost, now.tokens + tokens, now.reserved_cost + reserved_cost,
                            now.reserved_tokens + reserved_tokens)


def _spent(db: sqlite3.Connection) -> Spent:
    sums = {open_: (cost or 0.0, tokens or 0) for open_, cost, tokens in db.execute(
        "SELECT state = 'reserved' OR state = 'sent', SUM(cost), SUM(prompt_tokens + completion_tokens) "
        "FROM requests GROUP BY 1")}
    (cost, tokens), (reserved, reserved_tokens) = sums.get(0, (0.0, 0)), sums.get(1, (0.0, 0))
    return Spent(cost, tokens, reserved, reserved_tokens)


def read_ledger(path: Path) -> dict[str, Any]:
    """What a ledger says, by generator and mode, while a campaign runs or after it.

    `spent` as `Spent`; `rows`: for each partition, generator and mode the requests by state, and of the answers that
    came back whole the share that passed, with Wilson's interval; `errors`, `reasons`: counts. InputError where it
    cannot be read.
    """
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            grouped = db.execute(
                "SELECT partition, generator, mode, state, COUNT(*), SUM(cost), SUM(seconds) FROM requests "
                "GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3").fetchall()
            errors = dict(db.execute("SELECT error, COUNT(*) FROM requests WHERE error IS NOT NULL GROUP BY 1"))
            said = [row[0] for row in db.execute("SELECT reasons FROM requests WHERE reasons IS NOT NULL")]
            by = dict(db.execute("SELECT counted_by, COUNT(*) FROM requests WHERE state IN ('kept', 'rejected', "
                                 "'failed') GROUP BY 1"))
            spent = _spent(db)
    except sqlite3.DatabaseError:
        raise InputError(f"{path} cannot be read; expected the ledger of a campaign that synth run began") from None
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for partition, generator, mode, state, count, cost, seconds in grouped:
        row = rows.setdefault((partition, generator, mode), {
            "partition": partition, "generator": generator, "mode": mode, "states": {}, "cost": 0.0, "seconds": 0.0})
        row["states"][state] = count
        row["cost"] += cost or 0.0
        row["seconds"] += seconds or 0.0
    for row in rows.values():
        kept, rejected = row["states"].get("kept", 0), row["states"].get("rejected", 0)
        row["yield"] = rate_estimate(kept, kept + rejected, unit="answer", of="answers", method="wilson")
    reasons: dict[str, int] = {}
    for one in said:
        for reason in one.split(" "):
            reasons[reason] = reasons.get(reason, 0) + 1
    return {"spent": spent, "rows": list(rows.values()), "errors": _falling(errors), "reasons": _falling(reasons),
            "counted_by": by}


def _falling(counts: Mapping[str, int]) -> dict[str, int]:
    order: Sequence[tuple[str, int]] = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return dict(order)
