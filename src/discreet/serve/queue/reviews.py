"""What reviewers decided, for calibration: the numbers of each verdict with the decision, and no text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select

from discreet.serve.queue.tables import Database, audit, tickets

COLUMNS = ("id", "opened", "guard", "policy", "code", "decision", "reason", "recheck", "action", "layer", "score",
           "delta", "sigma_safe", "sigma_unsafe", "tau", "logit", "why")
"""Of an exported row; `recheck` is the blind second decision, `why` the cause of the verdict."""


def exported(database: Database, *, guard: str | None = None) -> Iterator[dict[str, Any]]:
    """Decided tickets as `COLUMNS`, the oldest first, without those that callers appealed for: these they chose. Raises
    UnavailableError."""
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
            yield {name: said.get(name) for name in COLUMNS}
