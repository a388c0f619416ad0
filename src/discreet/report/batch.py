"""Verdicts of one batch to a plain summary, and to the rows that a table shows.

A *row* is a verdict as JSON (`Verdict.to_json()`); it may also have `findings` (the evidence with `person`, `why`,
`layer`, `counts`) and, only where text may be shown, `answer`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

from discreet.core.records import ACTIONS

HELD = ("flag", "abstain", "failed")
ROWS_KEPT = 1000
REASONS_KEPT = 12


class BatchTally:
    """Counts verdicts as they come, so that a batch of any length needs little memory.

    At most `keep` rows are kept for the table: held answers first, then answers that passed, in the order they came.
    """

    def __init__(self, keep: int = ROWS_KEPT) -> None:
        self.keep = keep
        self._actions: Counter[str] = Counter()
        self._layers: Counter[tuple[str, str]] = Counter()
        self._reasons: Counter[tuple[str, str]] = Counter()
        self._cells: dict[tuple[str, str], Counter[str]] = {}
        self._latencies = array("d")
        self._held: list[tuple[int, Mapping[str, Any]]] = []
        self._passed: list[tuple[int, Mapping[str, Any]]] = []

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one row."""
        action = row["action"]
        number = self._actions.total()
        self._actions[action] += 1
        if action == "flag":
            self._layers[action, row["layer"] or "unnamed"] += 1
        self._reasons[action, row["reason"]] += 1
        for cell, mentions in Counter((e["type"], e["subject"]) for e in row["evidence"]).items():
            count = self._cells.setdefault(cell, Counter())
            count.update(answers=1, held=int(action in HELD), mentions=mentions)
        if row["latency_ms"] is not None:
            self._latencies.append(row["latency_ms"])
        kept = self._held if action in HELD else self._passed
        if len(kept) < self.keep:
            kept.append((number, row))

    def rows(self) -> list[Mapping[str, Any]]:
        """The kept rows in the order they came."""
        passed = self._passed[: max(0, self.keep - len(self._held))]
        return [row for _, row in sorted([*self._held, *passed], key=lambda pair: pair[0])]

    def summary(self) -> dict[str, Any]:
        """Counts of answers per action, layer, class and subject, reason; latency in milliseconds.

        `classes` is ordered by answers, most first; in it `answers` counts answers with that class bound to that
        subject, `held` those of them that were held, `mentions` the spans. `reasons` has held answers' first, then the
        most frequent first.
        """
        totals: Counter[str] = Counter()
        for (kind, _), count in self._cells.items():
            totals[kind] += count["answers"]
        order = sorted(totals, key=lambda kind: (-totals[kind], kind))
        return {
            "n": self._actions.total(),
            "held": sum(self._actions[a] for a in HELD),
            "actions": {a: self._actions[a] for a in ACTIONS},
            "flagged_by": {layer: n for (_, layer), n in sorted(self._layers.items())},
            "classes": [{"type": kind, "subjects": {s: dict(c) for (k, s), c in sorted(self._cells.items())
                                                    if k == kind}} for kind in order],
            "reasons": [{"action": action, "reason": reason, "answers": n}
                        for (action, reason), n in self._ranked_reasons()[:REASONS_KEPT]],
            "reasons_left_out": max(0, len(self._reasons) - REASONS_KEPT),
            "latency_ms": quantiles(self._latencies),
        }

    def _ranked_reasons(self) -> list[tuple[tuple[str, str], int]]:
        return sorted(self._reasons.items(), key=lambda item: (item[0][0] not in HELD, -item[1], item[0]))


def summarize(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary of rows that are at hand; see `BatchTally.summary`."""
    tally = BatchTally(keep=0)
    for row in rows:
        tally.add(row)
    return tally.summary()


def quantiles(values: Sequence[float]) -> dict[str, Any]:
    """`n`, median and 95th percentile (nearest rank: values that really occurred) and maximum; null where n = 0."""
    ranked = sorted(values)

    def at(share: float) -> float | None:
        return ranked[max(0, ceil(share * len(ranked)) - 1)] if ranked else None

    return {"n": len(ranked), "p50": at(0.5), "p95": at(0.95), "max": at(1.0)}


def grouped(row: Mapping[str, Any], *, every: bool = False) -> list[dict[str, Any]]:
    """What a row binds to whom: `{who, subject, items}` per person, items by position, without repeats.

    The items are the evidence of the verdict, or `every` finding, those included that do not count. `who` is the
    finding's opaque person label; without findings, or without a label, it is the subject.
    """
    findings = row.get("findings") or []
    persons = {_key(f): f["person"] for f in findings}
    items = findings if every else [{**e, "person": persons.get(_key(e))} for e in row["evidence"]]
    groups: dict[tuple[str, str], dict[Any, dict[str, Any]]] = {}
    for item in sorted(items, key=lambda e: (e["start"], e["end"], e["type"])):
        who = item.get("person") or item["subject"]
        groups.setdefault((who, item["subject"]), {}).setdefault(_key(item), dict(item))
    return [{"who": who, "subject": subject, "items": list(kept.values())}
            for (who, subject), kept in groups.items()]


def _key(item: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return item["type"], item["subject"], item["start"], item["end"]


def headline(summary: Mapping[str, Any]) -> str:
    """The batch in one sentence: "7 of 40 answers were held: 5 could single a person out, …"."""
    n, held = summary["n"], summary["held"]
    if not held:
        return f"{_of(n)} was held." if n != 1 else "The one answer was not held."
    by = summary["flagged_by"]
    parts = [
        _clause(by.get("contextual", 0), "could single a person out", "could single a person out"),
        _clause(by.get("direct", 0), "gives a direct identifier", "give a direct identifier"),
        _clause(by.get("unnamed", 0), "was flagged", "were flagged"),
        _clause(summary["actions"]["abstain"], "is left to a reviewer", "are left to a reviewer"),
        _clause(summary["actions"]["failed"], "could not be judged", "could not be judged"),
    ]
    said = [part for part in parts if part]
    if n == 1:
        return "The one answer was held: it " + said[0].split(" ", 1)[1] + "."
    return f"{held:,} of {n:,} answers {'was' if held == 1 else 'were'} held: {', '.join(said)}."


def _of(n: int) -> str:
    return f"None of {n:,} answers"


def _clause(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}" if count else ""
