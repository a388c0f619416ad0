"""What the strongest of several attackers is shown to do: exact bounds that hold for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.arrays import midranks, share
from discreet.stats.intervals import Interval, tpr_at_fpr_interval
from discreet.stats.roc import RocCore


class AttackScores(NamedTuple):
    """One attacker's scores (n,), higher = "member"; who is a member (n,); codes of groups (n,), or None."""

    scores: FloatArray
    member: BoolArray
    groups: IntArray | None = None


class StrongestRate(NamedTuple):
    """The largest TPR of several attackers at one FPR, in [0, 1], its bounds, and whose it is (a place)."""

    value: float
    low: float
    high: float
    place: int


def tpr_bounds(scores: ArrayLike, member: ArrayLike, fpr: float, *, level: float = 0.95, attacks: int = 1,
               groups: ArrayLike | None = None) -> Interval:
    """Bounds of the TPR at the threshold whose true FPR is `fpr` in (0, 1), for one of so many attacks.

    Of all `attacks` >= 1 together, the true TPRs are below their upper ends with probability `level` at least, and
    above their lower ends likewise (two statements, Bonferroni over attacks in each). Exact for independent examples
    and every distribution: order statistics of non-members bound the threshold, Clopper–Pearson the TPR beyond it.
    ValueError for `attacks` below 1, and as `tpr_at_fpr_interval`.
    """
    if attacks < 1:
        raise ValueError(f"attacks is {attacks}: expected a whole number of at least 1")
    alpha = (1.0 - share(level, "level", open_interval=True)) / attacks
    # Either end of a two-sided interval misses half as often as both; its level is never below 0.
    return tpr_at_fpr_interval(scores, member, fpr, max(1.0 - 2.0 * alpha, 1e-9), groups)


def distinct_attacks(given: Sequence[AttackScores]) -> list[int]:
    """The places of the attacks that differ, each first of its kind: those that order the same examples alike name the
    same ones at every threshold, and are one attacker."""
    kept: dict[tuple[bytes, bytes], int] = {}
    for place, one in enumerate(given):
        kept.setdefault((midranks(one.scores).tobytes(), np.asarray(one.member, dtype=np.bool_).tobytes()), place)
    return sorted(kept.values())


def strongest_rate(given: Sequence[AttackScores], fpr: float, *, level: float = 0.95) -> StrongestRate:
    """The largest TPR over all attackers at an FPR of `fpr`, with the bounds of `tpr_bounds` over all of them.

    `value` is the largest empirical TPR at an empirical FPR <= `fpr`. With probability `level` none of the attackers
    has a true TPR above `high`; with the same probability one has at least `low`. ValueError without attackers.
    """
    if not given:
        raise ValueError("no attackers were given: expected the scores of at least one")
    values = [RocCore.of(one.scores, one.member).tpr_at_fpr(fpr) for one in given]
    ends = [tpr_bounds(one.scores, one.member, fpr, level=level, attacks=len(given), groups=one.groups)
            for one in given]
    place = int(np.argmax(values))
    return StrongestRate(values[place], max(one.low for one in ends), max(one.high for one in ends), place)
