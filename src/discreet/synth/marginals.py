"""How far the levels of an axis are from what was asked for: the paper promises ±5% after validation (appendix B).

Pure functions of counts. The paper drops a record whose retries are used up, and its own shares of two, three and four
classes came out as .53, .34 and .13 for .45, .35 and .20.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

BAND = 0.05
"""Largest difference from a share, as a part of it, that appendix B allows."""
PAPER_K = {"asked": {"2": 45, "3": 35, "4": 20}, "found": {"2": 53, "3": 34, "4": 13}}
"""Classes in a record, of a hundred: those of section IV-B, and what validation left of them (appendix B)."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Counts of the levels of one axis against the shares that were asked for.

    `n` records were counted; `total_variation`, in [0, 1], is half the sum of the differences of all shares;
    `deviation` the largest difference of a share, `relative` the largest as a part of the share that was asked for
    (infinite where a level was found that nobody asked for), and `level` where that is.
    """

    n: int
    total_variation: float
    deviation: float
    relative: float
    level: str

    def within(self) -> bool:
        """Whether every share is within `BAND`, as a part of it, of what was asked for."""
        # Whole records cannot do better than one record on a level.
        return self.relative <= BAND or self.deviation * self.n < 1


def distance(found: Mapping[str, int], asked: Mapping[str, float]) -> Distance | None:
    """The distance of counts from the counts or shares that were asked for; None where either has none.

    Raises ValueError for a count that is negative.
    """
    if min([0, *found.values(), *asked.values()]) < 0:
        raise ValueError("a count is negative; expected numbers from 0")
    n, whole = sum(found.values()), sum(asked.values())
    if not n or not whole:
        return None
    gaps = {level: abs(found.get(level, 0) / n - asked.get(level, 0) / whole) for level in sorted({*found, *asked})}

    def part(level: str) -> float:
        share = asked.get(level, 0) / whole
        return gaps[level] / share if share else (float("inf") if gaps[level] else 0.0)

    worst = max(gaps, key=part)
    return Distance(n, sum(gaps.values()) / 2, max(gaps.values()), part(worst), worst)


def distances(found: Mapping[str, Mapping[str, int]], asked: Mapping[str, Mapping[str, int]]
              ) -> dict[str, dict[str, Any] | None]:
    """`distance` of every axis that was asked for, as JSON has it; None where no record counts, and for `relative`
    where a level was found that nobody asked for."""
    out: dict[str, dict[str, Any] | None] = {}
    for axis, levels in asked.items():
        one = distance(found.get(axis, {}), levels)
        out[axis] = None if one is None else {
            **asdict(one), "relative": one.relative if isfinite(one.relative) else None, "within": one.within()}
    return out
