"""What the strongest of several attackers is shown to do: exact bounds that hold for all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.numbers import counted
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.arrays import group_codes, share
from discreet.stats.estimates import Sample
from discreet.stats.intervals import Interval, tpr_ends
from discreet.stats.roc import RocCore


class StrongestRate(NamedTuple):
    """The largest TPR of several attackers at one FPR, in [0, 1], with its bounds, and whose it is: a place, None where
    the TPR is unresolved."""

    share: Estimate
    place: int | None = None


def tpr_bounds(scores: ArrayLike, member: ArrayLike, fpr: float, *, level: float = 0.95, attacks: int = 1,
               groups: ArrayLike | None = None) -> Interval:
    """Bounds of the TPR at the threshold whose true FPR is `fpr` in (0, 1), for one of so many attacks.

    Of all `attacks` >= 1 together, the true TPRs are below their upper ends with probability `level` at least, and
    above their lower ends likewise (two statements, Bonferroni over attacks in each). Exact for independent examples
    and every distribution: order statistics of non-members bound the threshold, Clopper–Pearson the TPR beyond it.
    ValueError for `attacks` below 1, and as `tpr_at_fpr_interval`.
    """
    core = RocCore.of(scores, member)
    return _bounds(core, fpr, level, attacks, None if groups is None else group_codes(groups, core.level_of.size))


def _bounds(core: RocCore, fpr: float, level: float, attacks: int, groups: IntArray | None) -> Interval:
    if attacks < 1:
        raise ValueError(f"attacks is {attacks}: expected a whole number of at least 1")
    alpha = (1.0 - share(level, "level", open_interval=True)) / attacks
    # Either end of a two-sided interval misses half as often as both; its level is never below 0.
    return tpr_ends(core, fpr, max(1.0 - 2.0 * alpha, 1e-9), groups)


def distinct_attacks(given: Iterable[tuple[FloatArray, BoolArray]]) -> list[int]:
    """The places of the attacks that differ, each first of its kind, by scores (n,) and who is a member (n,): attacks
    that order the same examples alike name the same ones at every threshold, and are one attacker."""
    kept = dict[tuple[bytes, bytes], int]()
    for place, (scores, member) in enumerate(given):
        order = np.unique(scores, return_inverse=True)[1]
        kept.setdefault((sha256(order.tobytes()).digest(), sha256(member.tobytes()).digest()), place)
    return list(kept.values())


def strongest_rates(given: Iterable[Sample], fprs: Sequence[float], attacks: int, *, level: float = 0.95
                    ) -> list[StrongestRate]:
    """The largest TPR over all attackers, `attacks` >= 1 in number, at an FPR of each of `fprs`, with the bounds of
    `tpr_bounds` over all of them. Attackers are read one after the other.

    The value is the largest empirical TPR at an empirical FPR of at most the one asked for. With probability `level`
    none of the attackers has a true TPR above `high`; with the same probability one has at least `low`. Unresolved
    where the non-members of an attack are too few (n < 1 / FPR). ValueError without attackers.
    """
    found = [[(point := one.tpr_at_fpr(fpr, level=level),
               _bounds(one.core, fpr, level, attacks, one.groups) if point.resolved else None) for fpr in fprs]
             for one in given]
    if not found:
        raise ValueError("no attackers were given: expected the scores of at least one")
    return [_strongest(at_fpr, attacks) for at_fpr in zip(*found, strict=True)]


def _strongest(found: Sequence[tuple[Estimate, Interval | None]], attacks: int) -> StrongestRate:
    ends = [one for _, one in found if one is not None]
    if len(ends) < len(found):
        return StrongestRate(next(point for point, _ in found if not point.resolved))
    values = [point.value or 0.0 for point, _ in found]
    place = int(np.argmax(values))
    point, value = found[place][0], values[place]
    return StrongestRate(replace(
        point, value=value, low=min(max(one.low for one in ends), value), high=max(*(one.high for one in ends), value),
        method=f"largest of {counted(attacks, 'attack')}, {point.method}, each end one-sided, Bonferroni over attacks"),
        place)
