"""The positive control: are the labels of canaries that stand in training several times seen?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.random import Generator

from discreet.audit.labels.judge_rows import LabelRow, judge_model, planted_copies, sides_of
from discreet.audit.labels.view import LabelAttack
from discreet.scores.table import ScoreTable
from discreet.stats.testing import holm

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Planted:
    """Canaries that stood `copies` times in training: the row that shows most, and whether that is significant.

    `seen` is after Holm over all attacks on outputs, both labels and all numbers of copies of the model.
    """

    copies: int
    n: int
    row: LabelRow | None
    seen: bool

    def to_json(self) -> dict[str, Any]:
        """As the attributes."""
        return {"copies": self.copies, "n": self.n, "seen": self.seen,
                "row": None if self.row is None else self.row.to_json()}


def planted_of(table: ScoreTable, target: int, attacks: Sequence[LabelAttack], rng: Generator) -> tuple[Planted, ...]:
    """One entry for each number of copies, rising; empty without planted canaries."""
    model = table.models[target]
    honest = [attack for attack in attacks if attack.access == "outputs"]
    by_copies: dict[int, list[LabelRow]] = {}
    sizes = {}
    for copies in planted_copies(table, target):
        sides = sides_of(table, target, planted=copies)
        sizes[copies] = len(sides.canary)
        judged = judge_model(model, sides, honest, rng, permutations=0, tune=False)
        by_copies[copies] = [one.row for one in judged if one.row.decides]
    every = [row for rows in by_copies.values() for row in rows]
    p = [row.difference_p for row in every if row.difference_p is not None]
    adjusted: Iterator[float] = iter(holm(p) if p else [])
    found = []
    for copies, rows in by_copies.items():
        after = [replace(row, holm_p=float(next(adjusted))) for row in rows]
        best = min(after, default=None, key=lambda row: (row.vetoed, row.holm_p, -(row.excess or 0.0)))
        seen = any((row.holm_p or 0.0) < ALPHA and (row.excess or 0.0) > 0.0 and not row.vetoed for row in after)
        found.append(Planted(copies, sizes[copies], best, seen))
    return tuple(found)
