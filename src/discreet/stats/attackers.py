"""What the strongest of several attackers is shown to do, and which records it can name.

Bounds are exact and hold for all attackers at once. A record is named where it is unlike all controls: conformal p
values of one score or of several, and q values over records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.numbers import counted
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.arrays import finite_scores, group_codes, midranks, scipy_module, share
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


def conformal_p(scores: ArrayLike, controls: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
    """(m,) p values of `scores` (m,) against those of n >= 1 `controls` (n,), higher = more unlike them.

    (1 + controls with such a score or a higher one) / (n + 1), never below 1 / (n + 1): for a record that is
    exchangeable with the controls P(p <= α) <= α (Vovk et al. 2005). With `groups` (n,) each group of controls counts
    as one, its records in equal shares (Lee, Barber & Willett 2023, hierarchical conformal prediction). ValueError
    without controls.
    """
    values, held = finite_scores(scores), finite_scores(controls, "controls")
    if not held.size:
        raise ValueError("there are no controls: expected the scores of at least one")
    if groups is None:
        held.sort()
        n, at_least = held.size, held.size - np.searchsorted(held, values, side="left")
    else:
        group = group_codes(groups, held.size)
        sizes = np.bincount(group)
        order, n = np.argsort(held, kind="stable"), sizes.size
        weights = np.append(np.cumsum((1.0 / sizes[group])[order][::-1])[::-1], 0.0)
        at_least = weights[np.searchsorted(held[order], values, side="left")]
    found = (1.0 + at_least) / (n + 1.0)
    return np.asarray(np.minimum(found, 1.0), dtype=np.float64)


def joint_scores(scores: FloatArray) -> FloatArray:
    """(n,) one score of k scores (k, n) of the same records: the mean of their normal scores, Φ⁻¹((rank − ½) / n).

    Ranks are among all records given, tests and controls together, whichever is which; a missing score (NaN) counts as
    Φ⁻¹(½) = 0. Such a score keeps test records
    that are exchangeable with controls exchangeable with them, so that its conformal p values are exact and
    Benjamini–Hochberg controls the false share (Marandon, Lei, Mary & Roquain, Annals of Statistics 2024, on adaptive
    novelty detection). Corrections over k attacks need k times as many controls; this score needs no more than one.
    """
    ndtri = scipy_module("special", "the joint score of several attacks").ndtri
    total = np.zeros(scores.shape[1])
    for one in scores:
        known = np.isfinite(one)
        total[known] += ndtri((midranks(one[known]) - 0.5) / max(int(known.sum()), 1))
    # Equal sums must stay ties whatever the order of addition.
    return np.asarray((total / len(scores)).round(12), dtype=np.float64)


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini & Hochberg's (1995) adjusted p values (k,), in the order given, called q values here.

    Of the records with q <= α, a share of at most α is expected to be null: for p values that are independent or
    positively dependent, as conformal ones are (Bates et al. 2023).
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError(f"p values have shape {p.shape}: expected (k,) numbers from 0 to 1")
    order = np.argsort(p, kind="stable")
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    q = np.empty_like(p)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def shortest_list(tests: int, controls: int, alpha: float) -> int:
    """Least number of `tests` records that can have q <= `alpha` together, where p is at least 1 / (`controls` + 1).

    Above `tests` none can, whatever their scores.
    """
    return ceil(tests / (share(alpha, "alpha", open_interval=True) * (controls + 1)) - 1e-9)


def controls_needed(tests: int, named: int, alpha: float) -> int:
    """Least number of controls with which a list of `named` >= 1 of `tests` records can have q <= `alpha`."""
    return ceil(tests / (share(alpha, "alpha", open_interval=True) * named) - 1e-9) - 1
