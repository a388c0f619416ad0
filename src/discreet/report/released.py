"""A saved defence frontier, read row by row: what the page, the figure and the terminal all ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.report.audited import Record

WORDS = {"none": "all scores, as they are", "laplace": "fresh noise", "keyed": "keyed noise",
         "rounding": "rounding", "top_label": "top label only"}


@dataclass(frozen=True, slots=True)
class Released:
    """One mechanism at one strength, asked for the same input or for near-duplicates, over all numbers of queries.

    `points` are those of the record, as they come there.
    """

    mechanism: str
    knob: str | None
    strength: float | None
    queried: str
    points: tuple[Record, ...]

    @property
    def name(self) -> str:
        """ "laplace sigma 0.5", as the record calls it."""
        strength = "" if self.strength is None else f" {self.knob} {self.strength:g}"
        return f"{self.mechanism}{strength}{self._near}"

    @property
    def words(self) -> str:
        """ "fresh noise, sigma 0.5"."""
        strength = "" if self.strength is None else f", {self.knob} {self.strength:g}"
        return f"{WORDS.get(self.mechanism, self.mechanism.replace('_', ' '))}{strength}{self._near}"

    @property
    def _near(self) -> str:
        return ", near-duplicates" if self.queried != "same" else ""


def released(record: Record) -> list[Released]:
    """The mechanisms of a frontier in order, the undefended one first."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for point in record["points"]:
        found.setdefault(tuple(point[name] for name in ("mechanism", "knob", "strength", "queried")), []).append(point)
    return [Released(mechanism, knob, strength, queried, tuple(points))
            for (mechanism, knob, strength, queried), points in found.items()]


def attacked(record: Record, point: Record, selection: str = "global") -> Record | None:
    """The row of the attack that is shown first, on all judged examples or at the boundary; None without one."""
    wanted = {**record["primary"], "selection": selection}
    return next((row for row in point["attacks"] if all(row[name] == value for name, value in wanted.items())
                 and not row["oracle"]), None)


def by_queries(record: Record, one: Released, selection: str = "global") -> list[tuple[str, Record]]:
    """Rows with how many queries they hold for, ("1 to 16", row); runs of queries that change nothing stand once."""
    runs: list[tuple[list[int], Record]] = []
    for point in one.points:
        row = attacked(record, point, selection)
        if row is None:
            continue
        if runs and runs[-1][1] == row:
            runs[-1][0].append(point["queries"])
        else:
            runs.append(([point["queries"]], row))
    return [(_range(queries), row) for queries, row in runs]


def _range(queries: Sequence[int]) -> str:
    least, most = min(queries), max(queries)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
