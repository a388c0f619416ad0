"""What reviewers decided, from the tickets' columns and the audit: shares with intervals, and no text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sqlalchemy import select

from discreet.core.records import Estimate
from discreet.serve.queue.tables import Database, audit, tickets
from discreet.serve.shadow import Row, Summary
from discreet.stats import kappa_estimate, rate_estimate

RELEASES = ("release", "release_edited")


@dataclass(frozen=True, slots=True)
class Group:
    """Tickets of one guard and code: how many ended how, and how long deciding took (seconds, None for none)."""

    guard: str
    code: str
    opened: int
    released: int
    edited: int
    blocked: int
    expired: int
    pending: int
    overruled: Estimate
    median_s: float | None


@dataclass(frozen=True, slots=True)
class Reviewing:
    """Statistics of the tickets that were opened since a moment.

    `released` is the share of decided tickets that were released. `overruled` is that share of tickets that the guard
    had flagged: there the reviewer decided against it. `appealed` is that share of those whose caller had called the
    flag wrong. `second` is how often the second reviewer released what the first had proposed to release. `rechecked`
    is how often a blind second decision, release or block, was the first one, and `kappa` that agreement beyond chance.
    """

    decisions: int
    released: Estimate
    overruled: Estimate
    appealed: Estimate
    second: Estimate
    rechecked: Estimate
    kappa: Estimate
    groups: Sequence[Group]
    reasons: Sequence[tuple[str, str, int]]


def reviewing(database: Database, since: float, guards: Sequence[str] | None = None) -> Reviewing:
    """The statistics of tickets opened from `since` on, in seconds since 1970, of some guards or all."""
    c = tickets.c
    wanted = select(c.id, c.guard, c.code, c.status, c.opened, c.decision, c.decision_code, c.final_at, c.first_by,
                    c.decided_by, c.figures).where(c.opened >= since)
    if guards is not None:
        wanted = wanted.where(c.guard.in_(guards))
    looked = select(audit.c.ticket, audit.c.action).join(tickets, c.id == audit.c.ticket).where(
        c.opened >= since, audit.c.action.in_(("recheck_release", "recheck_block")))
    with database.reading() as connection:
        rows = [dict(one) for one in connection.execute(wanted).mappings()]
        again = {ticket: action == "recheck_release" for ticket, action in connection.execute(looked)}
    final = [row for row in rows if row["status"] in ("released", "blocked")]

    def released(row: Mapping[str, Any]) -> bool:
        return row["decision"] in RELEASES

    flagged = [row for row in final if row["code"] in ("privacy/direct", "privacy/contextual", "privacy/verbatim")]
    seconded = [row for row in final if row["first_by"] not in (None, row["decided_by"])]
    pairs = [(released(row), again[row["id"]]) for row in final if row["id"] in again]
    reasons = Counter((str(row["decision"]), str(row["decision_code"])) for row in final)
    return Reviewing(
        len(final), _share([released(row) for row in final], "decisions"),
        _share([released(row) for row in flagged], "decided flags"),
        _share([released(row) for row in final if row["figures"].get("appeal")], "decided appeals"),
        _share([released(row) for row in seconded], "second decisions"),
        _share([first == second for first, second in pairs], "blind re-checks"), _kappa(pairs),
        _groups(rows, released), [(action, code, n) for (action, code), n in reasons.most_common()])


def _share(hits: Sequence[bool], of: str) -> Estimate:
    return rate_estimate(sum(hits), len(hits), unit="ticket", of=of, method="wilson")


def _kappa(pairs: Sequence[tuple[bool, bool]]) -> Estimate:
    if not pairs:
        return Estimate.unresolved("no blind re-check", n=0, unit="ticket")
    return kappa_estimate(*zip(*pairs, strict=True), unit="ticket")


def _groups(rows: Sequence[Mapping[str, Any]], released: Callable[[Mapping[str, Any]], bool]) -> list[Group]:
    found = []
    for guard, code in sorted({(row["guard"], row["code"]) for row in rows}):
        of = [row for row in rows if (row["guard"], row["code"]) == (guard, code)]
        final = [row for row in of if row["status"] in ("released", "blocked")]
        n = Counter(row["decision"] for row in final)
        times = [row["final_at"] - row["opened"] for row in final if row["final_at"] is not None]
        found.append(Group(
            guard, code, len(of), n["release"], n["release_edited"], n["block"],
            sum(row["status"] == "expired" for row in of), sum(row["status"] in ("pending", "decided") for row in of),
            _share([released(row) for row in final], "decisions"), median(times) if times else None))
    return found


@dataclass(frozen=True, slots=True)
class Observing:
    """What a guard that observes would withhold: shares of its requests, `undeclared` of the withheld, and causes."""

    guard: str
    requests: int
    withheld: Estimate
    undeclared: Estimate
    rows: Sequence[Row]


def observing(found: Summary, may_use: Callable[[str], bool]) -> list[Observing]:
    """The guards of a summary that somebody may use, with intervals."""
    return [Observing(guard, n, _of(found.withheld.get(guard, 0), n, "requests"),
                      _of(found.undeclared.get(guard, 0), found.withheld.get(guard, 0), "withheld requests"),
                      [row for row in found.rows if row.guard == guard])
            for guard, n in sorted(found.decided.items()) if may_use(guard)]


def _of(hits: int, n: int, of: str) -> Estimate:
    return rate_estimate(hits, n, unit="request", of=of, method="wilson")


def audit_rows(database: Database, ticket: str | None, guards: Sequence[str] | None, before: int | None,
               limit: int) -> list[dict[str, Any]]:
    """Rows of the audit, the latest first: of one ticket, of some guards, `before` a row's number."""
    wanted = select(audit).order_by(audit.c.seq.desc()).limit(limit)
    if ticket is not None:
        wanted = wanted.where(audit.c.ticket == ticket)
    if guards is not None:
        wanted = wanted.join(tickets, tickets.c.id == audit.c.ticket).where(tickets.c.guard.in_(guards))
    if before is not None:
        wanted = wanted.where(audit.c.seq < before)
    with database.reading() as connection:
        return [dict(one) for one in connection.execute(wanted).mappings()]
