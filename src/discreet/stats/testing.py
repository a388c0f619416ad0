"""Tests, multiplicity, and seeded bootstrap and permutation over units.

A unit is an example, or a group of examples (a user) that is drawn, or relabelled, as a whole. The bootstrap is
stratified: units are drawn within strata of what they hold (only positives, only negatives, both), so no resample
loses a class. Its percentiles say nothing where the statistic sits at an end of its range (TPR at zero false
positives, AUC 1), and are too close with few units; `intervals` has methods for those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from discreet.core.types import FloatArray, IntArray
from discreet.stats.arrays import counts, group_codes, scipy_module, share
from discreet.stats.intervals import normal_quantile
from discreet.stats.roc import CELLS, RocCore, StepCounts, auc_covariance

Statistic: TypeAlias = Callable[[StepCounts], FloatArray]
"""From resampled counts to one number per row, e.g. `StepCounts.auroc` or `lambda c: c.fpr_at_tpr(.95)`."""

Alternative: TypeAlias = Literal["greater", "less", "two-sided"]

# Chunks of draws stay under malloc's mmap threshold (128 KB): fresh pages cost more than the draws themselves.
_CHUNK = 1 << 13


class PairedAuc(NamedTuple):
    """Two AUCs on the same examples: a − b with its Wald interval and two-sided p value."""

    difference: float
    low: float
    high: float
    p_value: float
    auc_a: float
    auc_b: float


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's (1979) adjusted p values (k,), in the order given: family-wise error, any dependence."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError(f"p values have shape {p.shape}: expected (k,) numbers from 0 to 1")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return adjusted


def fisher_exact(k_a: int, n_a: int, k_b: int, n_b: int, alternative: Alternative = "two-sided") -> float:
    """Fisher's exact p for two shares, k_a of n_a against k_b of n_b; "greater" means share a > share b.

    Two-sided: the sum over tables at most as likely as the observed one.
    """
    hits_a, total_a = counts(k_a, n_a, "k_a")
    hits_b, total_b = counts(k_b, n_b, "k_b")
    table = [[hits_a, total_a - hits_a], [hits_b, total_b - hits_b]]
    return float(scipy_module("stats", "Fisher's exact test").fisher_exact(table, alternative=alternative)[1])


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Exact two-sided McNemar p from the discordant pairs: `only_a` right under a alone, `only_b` under b alone.

    A fair coin over the discordant pairs; 1 where there are none.
    """
    if only_a != int(only_a) or only_b != int(only_b) or min(only_a, only_b) < 0:
        raise ValueError(f"discordant pairs are {only_a} and {only_b}: expected whole numbers >= 0")
    total = int(only_a + only_b)
    if total == 0:
        return 1.0
    bdtr = scipy_module("special", "McNemar's exact test").bdtr
    return float(min(1.0, 2.0 * bdtr(min(only_a, only_b), total, 0.5)))


def delong_test(
    scores_a: ArrayLike, scores_b: ArrayLike, labels: ArrayLike, *, level: float = 0.95,
    groups: ArrayLike | None = None,
) -> PairedAuc:
    """DeLong's paired test of two scores (n,) on the same examples; with `groups` Obuchowski's variance.

    ValueError where both AUCs are known without spread but differ (all placements equal): use a permutation.
    """
    return paired_auc(RocCore.of(scores_a, labels), RocCore.of(scores_b, labels), level=level, groups=groups)


def paired_auc(a: RocCore, b: RocCore, *, level: float = 0.95, groups: ArrayLike | None = None) -> PairedAuc:
    """`delong_test` of scores that are sorted already."""
    auc_a, auc_b = a.auroc(), b.auroc()
    covariance = auc_covariance([a, b], groups)
    variance = float(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])
    difference = auc_a - auc_b
    # Equal scores leave rounding of order 1e-17 where the variance is 0.
    if variance <= 1e-15 * float(covariance[0, 0] + covariance[1, 1]):
        if abs(difference) > 1e-12:
            raise ValueError(f"AUCs {auc_a} and {auc_b} differ without any spread: use a permutation of the pairs")
        return PairedAuc(difference, difference, difference, 1.0, auc_a, auc_b)
    error = sqrt(variance)
    half = normal_quantile(level) * error
    p_value = 2.0 * NormalDist().cdf(-abs(difference) / error)
    return PairedAuc(difference, max(-1.0, difference - half), min(1.0, difference + half), p_value, auc_a, auc_b)


def rank_sum_p(scores: ArrayLike, labels: ArrayLike, groups: ArrayLike | None = None) -> float:
    """One-sided p of AUC > ½ for `scores` (n,) of `labels` (n,) in {0, 1}: the rank sum of the positives against its
    mean and variance when labels are permuted among the examples, or among whole `groups` (n,); normal approximation.

    Without groups this is the Mann–Whitney test with its correction for ties. 1 where every permutation is the same.
    ValueError for a group with both labels, and where all labels are the same.
    """
    return rank_p(RocCore.of(scores, labels), groups)


def rank_p(core: RocCore, groups: ArrayLike | None = None) -> float:
    """`rank_sum_p` of scores that are sorted already."""
    n, n_pos = core.level_of.size, core.n_pos
    ranks = core.midranks() - (n + 1) / 2.0
    of_pos, squares = float((ranks * core.level_pos).sum()), ranks**2 * (core.level_pos + core.level_neg)
    if groups is not None:
        unit = group_codes(groups, n)
        of_group = np.bincount(unit[core.rows_pos], minlength=int(unit.max()) + 1) > 0
        if of_group[unit[core.rows_neg]].any():
            raise ValueError("a group has positives and negatives: expected whole groups to be one or the other")
        summed = np.bincount(unit, weights=ranks[core.level_of])
        n, n_pos, of_pos, squares = summed.size, int(of_group.sum()), float(summed[of_group].sum()), summed**2
    deviation = sqrt(n_pos * (n - n_pos) / (n * max(n - 1, 1)) * float(squares.sum()))
    return 1.0 if deviation == 0.0 else NormalDist().cdf(-of_pos / deviation)


def bootstrap_roc(core: RocCore, statistics: Sequence[Statistic], rng: Generator, *, n_resamples: int = 1000
                  ) -> FloatArray:
    """Resampled statistics of one ROC curve, shape (len(statistics), n_resamples).

    All statistics come from the same resamples of examples and one pass. Memory is bounded whatever n and n_resamples
    are; only the result grows with n_resamples.
    """
    _positive(n_resamples)
    blocks = [np.stack([statistic(drawn) for statistic in statistics])
              for drawn in _drawn_examples(core, rng, n_resamples)]
    return np.concatenate(blocks, axis=1).reshape(len(statistics), -1)


def bootstrap_weights(
    n: int, rng: Generator, *, n_resamples: int = 1000, strata: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Iterator[IntArray]:
    """Blocks (rows, n) of how often each of n examples is drawn, for statistics other than the ROC.

    `strata` (n,), such as labels: units are drawn within their stratum; a group that spans several strata belongs to
    the stratum "all of those". Without `groups` every example is its own unit.
    """
    _positive(n_resamples)
    unit_of = None if groups is None else group_codes(groups, n)
    members = _units_by_stratum(n, unit_of, None if strata is None else group_codes(strata, n, "strata"))
    for drawn in _drawn_units(members, rng, n_resamples, max(1, CELLS // n)):
        yield drawn if unit_of is None else drawn.take(unit_of, axis=1)


def percentile_interval(draws: ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """The central `level` of resampled values (m,), linear between order statistics."""
    tail = (1.0 - share(level, "level", open_interval=True)) / 2.0
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"draws have shape {values.shape}: expected (m,) finite numbers with m >= 1")
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)


def permutation_p(observed: float, null: ArrayLike, alternative: Alternative = "greater") -> float:
    """p = (b + 1) / (m + 1), b of m null draws at least as extreme (Davison & Hinkley 1997, eq. 4.11).

    Never zero. "two-sided" doubles the smaller tail, at most 1.
    """
    draws = np.asarray(null, dtype=np.float64)
    if draws.ndim != 1 or draws.size == 0 or not (np.isfinite(draws).all() and np.isfinite(observed)):
        raise ValueError(f"null has shape {draws.shape}: expected (m,) finite numbers with m >= 1")
    above = (int((draws >= observed).sum()) + 1) / (draws.size + 1)
    below = (int((draws <= observed).sum()) + 1) / (draws.size + 1)
    if alternative == "greater":
        return above
    return below if alternative == "less" else min(1.0, 2.0 * min(above, below))


def permuted_labels(labels: ArrayLike, rng: Generator, n_permutations: int) -> Iterator[NDArray[Any]]:
    """`n_permutations` relabellings of shape (n,), for a statistic that is recomputed whole, selection and all."""
    given = np.asarray(labels)
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"labels have shape {given.shape}: expected (n,) with n >= 1")
    for _ in range(n_permutations):
        yield rng.permutation(given)


def max_t_p(observed: ArrayLike, null: ArrayLike) -> FloatArray:
    """Family-wise p values of k statistics, large = extreme, under one joint null (Westfall & Young 1993, max-T).

    `observed` (k,), `null` (m, k) with every row one relabelling seen by all k statistics. Single step:
    p_j = (#{max over the family >= observed_j} + 1) / (m + 1). Put the statistics on one scale first.
    """
    seen, draws = _joint_null(observed, null)
    largest = np.sort(draws.max(axis=1))
    at_least = largest.size - np.searchsorted(largest, seen, side="left")
    return np.asarray((at_least + 1) / (largest.size + 1), dtype=np.float64)


def step_down_p(observed: ArrayLike, null: ArrayLike) -> FloatArray:
    """As `max_t_p`, step-down (Westfall & Young 1993, algorithm 2.8; Ge, Dudoit & Speed 2003, box 2): never larger.

    The j-th largest statistic is compared with the maximum over itself and the smaller ones; p values never fall on
    the way down. Strong control where the statistics that are null keep their joint null whatever the others are.
    """
    seen, draws = _joint_null(observed, null)
    order = np.argsort(-seen, kind="stable")
    largest = np.maximum.accumulate(draws[:, order[::-1]], axis=1)[:, ::-1]
    p = np.empty_like(seen)
    p[order] = np.maximum.accumulate((1 + (largest >= seen[order]).sum(axis=0)) / (len(draws) + 1))
    return p


def _joint_null(observed: ArrayLike, null: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The two as arrays (k,) and (m, k). ValueError for other shapes, and for NaN or infinity."""
    seen, draws = np.asarray(observed, dtype=np.float64), np.asarray(null, dtype=np.float64)
    if seen.ndim != 1 or draws.ndim != 2 or draws.shape[0] == 0 or draws.shape[1] != seen.size or seen.size == 0:
        raise ValueError(f"observed {seen.shape} and null {draws.shape}: expected (k,) and (m, k), m and k >= 1")
    if not (np.isfinite(seen).all() and np.isfinite(draws).all()):
        raise ValueError("observed or null hold NaN or infinity: expected finite statistics")
    return seen, draws


def _drawn_units(members: list[IntArray], rng: Generator, n_resamples: int, rows: int) -> Iterator[IntArray]:
    """Blocks (rows, units) of how often each unit is drawn, as many draws per stratum as it has `members`."""
    every, n_units = np.concatenate(members), sum(units.size for units in members)
    place = None if (np.diff(every) > 0).all() else np.argsort(every)
    for start in range(0, n_resamples, rows):
        if min(rows, n_resamples - start) == 1:
            tallies = np.concatenate([
                np.bincount(rng.integers(0, units.size, units.size), minlength=units.size) for units in members])
            yield (tallies if place is None else tallies.take(place))[None, :]
            continue
        drawn = np.zeros((min(rows, n_resamples - start), n_units), dtype=np.int64)
        for units in members:
            tally = np.zeros((drawn.shape[0], units.size), dtype=np.int64)
            _tally(np.arange(units.size), tally, rng)
            drawn[:, units] = tally
        yield drawn


def _drawn_examples(core: RocCore, rng: Generator, n_resamples: int) -> Iterator[StepCounts]:
    """Draw examples within each class straight into histograms over steps: no weights, no sort."""
    tables = core.steps_of(core.rows_pos), core.steps_of(core.rows_neg)
    rows = max(1, min(n_resamples, CELLS // core.level_of.size))
    buffers = np.zeros((2, rows, core.n_steps), dtype=np.int64)
    for start in range(0, n_resamples, rows):
        pos, neg = (buffer[: n_resamples - start] for buffer in buffers)
        for table, histogram in zip(tables, (pos, neg), strict=True):
            _tally(table, histogram, rng)
        yield StepCounts.of(pos, neg)


def _tally(table: IntArray, histogram: IntArray, rng: Generator) -> None:
    """Fill a histogram (rows, steps) with n draws per row from a table (n,) of steps."""
    n, rows = table.size, histogram.shape[0]
    histogram.fill(0)
    for start in range(0, rows * n, _CHUNK):
        drawn = rng.integers(0, n, min(_CHUNK, rows * n - start))
        at = table[drawn]
        if rows > 1:
            at += np.arange(start, start + drawn.size) // n * histogram.shape[1]
        np.add.at(histogram.reshape(-1), at, 1)


def _units_by_stratum(n: int, unit_of: IntArray | None, strata: IntArray | None) -> list[IntArray]:
    n_units = n if unit_of is None else int(unit_of.max()) + 1
    if strata is None:
        return [np.arange(n_units)]
    if unit_of is None:
        # In the order that compositions have below: what holds the last stratum alone comes first.
        return [np.flatnonzero(strata == code) for code in range(int(strata.max()), -1, -1)]
    holds = np.zeros((n_units, int(strata.max()) + 1), dtype=np.bool_)
    holds[unit_of, strata] = True
    composition = np.unique(holds, axis=0, return_inverse=True)[1].reshape(-1)
    return [np.flatnonzero(composition == code) for code in range(int(composition.max()) + 1)]


def _positive(n_resamples: int) -> None:
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}: expected at least 1")
