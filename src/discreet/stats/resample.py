"""Seeded bootstrap and permutation over units.

A unit is an example, or a group of examples (a user) that is drawn, or relabelled, as a whole. The bootstrap is
stratified: units are drawn within strata of what they hold (only positives, only negatives, both), so no resample
loses a class. It is a percentile bootstrap: it says nothing where the statistic sits at an end of its range (TPR at
zero false positives, AUC 1), and is too short with few units; `intervals` has methods for those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from discreet.core.types import FloatArray, IntArray
from discreet.stats.arrays import group_codes, same_length, share
from discreet.stats.roc import CELLS, Reweighting, RocCore, StepCounts

Statistic: TypeAlias = Callable[[StepCounts], FloatArray]
"""From resampled counts to one number per row, e.g. `StepCounts.auroc` or `lambda c: c.fpr_at_tpr(.95)`."""

Alternative: TypeAlias = Literal["greater", "less", "two-sided"]

# Chunks of draws stay under malloc's mmap threshold (128 KB): fresh pages cost more than the draws themselves.
_CHUNK = 1 << 13


class Permutation(NamedTuple):
    """Observed statistic, its null draws of shape (m,), and p = (b + 1) / (m + 1)."""

    observed: float
    null: FloatArray
    p_value: float


def bootstrap_roc(
    core: RocCore, statistics: Sequence[Statistic], rng: Generator, *, n_resamples: int = 1000,
    groups: ArrayLike | None = None,
) -> FloatArray:
    """Resampled statistics of one ROC curve, shape (len(statistics), n_resamples).

    All statistics come from the same resamples and one pass. `groups` (n,) are drawn whole. Memory is bounded
    whatever n and n_resamples are; only the result grows with n_resamples.
    """
    blocks = [np.stack([stat(counts) for stat in statistics]) for counts in _resampled(core, rng, n_resamples, groups)]
    return np.concatenate(blocks, axis=1).reshape(len(statistics), -1)


def bootstrap_weights(
    n: int, rng: Generator, *, n_resamples: int = 1000, strata: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Iterator[IntArray]:
    """Blocks (rows, n) of how often each of n examples is drawn, for statistics other than the ROC.

    `strata` (n,), such as labels: units are drawn within their stratum; a group that spans several strata belongs to
    the stratum "all of those". Without `groups` every example is its own unit.
    """
    unit_of = np.arange(n) if groups is None else group_codes(groups, n)
    members = _units_by_stratum(unit_of, None if strata is None else group_codes(strata, n, "strata"))
    for drawn in _drawn_units(members, rng, n_resamples, max(1, CELLS // n)):
        yield drawn if groups is None else drawn.take(unit_of, axis=1)


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


def permutation_test(
    statistic: Callable[[NDArray[Any]], float], labels: ArrayLike, rng: Generator, *, n_permutations: int = 999,
    groups: ArrayLike | None = None, alternative: Alternative = "greater",
) -> Permutation:
    """Permute `labels` (n,) and recompute the whole `statistic`, selection and all.

    With `groups` (n,) the labels of whole groups change places; each group must then have one label.
    """
    given = np.asarray(labels)
    _positive(n_permutations, "n_permutations")
    null = np.array([statistic(shuffled) for shuffled in permuted_labels(given, rng, n_permutations, groups)])
    observed = float(statistic(given))
    return Permutation(observed, null, permutation_p(observed, null, alternative))


def permuted_labels(
    labels: ArrayLike, rng: Generator, n_permutations: int, groups: ArrayLike | None = None
) -> Iterator[NDArray[Any]]:
    """`n_permutations` relabellings of shape (n,); with `groups` the labels of groups are permuted over groups."""
    given = np.asarray(labels)
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"labels have shape {given.shape}: expected (n,) with n >= 1")
    if groups is None:
        for _ in range(n_permutations):
            yield rng.permutation(given)
        return
    codes = group_codes(groups, given.size)
    _, first = np.unique(codes, return_index=True)
    of_group = given[first]
    mixed = np.flatnonzero(of_group[codes] != given)
    if mixed.size:
        raise ValueError(
            f"labels[{mixed[0]}] differs from another label of its group: expected one label per group"
        )
    for _ in range(n_permutations):
        yield rng.permutation(of_group)[codes]


def max_t_p(observed: ArrayLike, null: ArrayLike) -> FloatArray:
    """Family-wise p values of k statistics, large = extreme, under one joint null (Westfall & Young 1993, max-T).

    `observed` (k,), `null` (m, k) with every row one relabelling seen by all k statistics. Single step:
    p_j = (#{max over the family >= observed_j} + 1) / (m + 1). Put the statistics on one scale first.
    """
    seen, draws = np.asarray(observed, dtype=np.float64), np.asarray(null, dtype=np.float64)
    if seen.ndim != 1 or draws.ndim != 2 or draws.shape[0] == 0 or draws.shape[1] != seen.size or seen.size == 0:
        raise ValueError(f"observed {seen.shape} and null {draws.shape}: expected (k,) and (m, k), m and k >= 1")
    if not (np.isfinite(seen).all() and np.isfinite(draws).all()):
        raise ValueError("observed or null hold NaN or infinity: expected finite statistics")
    largest = np.sort(draws.max(axis=1))
    at_least = largest.size - np.searchsorted(largest, seen, side="left")
    return np.asarray((at_least + 1) / (largest.size + 1), dtype=np.float64)


def _resampled(core: RocCore, rng: Generator, n_resamples: int, groups: ArrayLike | None) -> Iterator[StepCounts]:
    if groups is None:
        yield from _drawn_examples(core, rng, n_resamples)
        return
    labels = core.labels
    unit_of = group_codes(groups, labels.size)
    reweighting = Reweighting.of(core, unit_of)
    members = _units_by_stratum(unit_of, labels.astype(np.int64))
    for drawn in _drawn_units(members, rng, n_resamples, max(1, CELLS // labels.size)):
        yield reweighting.counts(drawn)


def _drawn_units(members: list[IntArray], rng: Generator, n_resamples: int, rows: int) -> Iterator[IntArray]:
    """Blocks (rows, units) of how often each unit is drawn, as many draws per stratum as it has `members`."""
    _positive(n_resamples)
    n_units = sum(units.size for units in members)
    place = np.argsort(np.concatenate(members))
    for start in range(0, n_resamples, rows):
        if min(rows, n_resamples - start) == 1:
            tallies = [np.bincount(rng.integers(0, units.size, units.size), minlength=units.size) for units in members]
            yield np.concatenate(tallies).take(place)[None, :]
            continue
        drawn = np.zeros((min(rows, n_resamples - start), n_units), dtype=np.int64)
        for units in members:
            counts = np.zeros((drawn.shape[0], units.size), dtype=np.int64)
            _tally(np.arange(units.size), counts, rng)
            drawn[:, units] = counts
        yield drawn


def _drawn_examples(core: RocCore, rng: Generator, n_resamples: int) -> Iterator[StepCounts]:
    """Draw examples within each class straight into histograms over steps: no weights, no sort."""
    _positive(n_resamples)
    pos_steps, neg_steps = core.steps_of(core.rows_pos), core.steps_of(core.rows_neg)
    rows = max(1, min(n_resamples, CELLS // core.level_of.size))
    buffer = StepCounts.empty(rows, core.n_steps)
    for start in range(0, n_resamples, rows):
        if n_resamples - start < rows:
            buffer = StepCounts.empty(n_resamples - start, core.n_steps)
        _tally(pos_steps, buffer.pos, rng)
        _tally(neg_steps, buffer.neg, rng)
        yield buffer.sum()


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


def _units_by_stratum(unit_of: IntArray, strata: IntArray | None) -> list[IntArray]:
    n_units = int(unit_of.max()) + 1
    if strata is None:
        return [np.arange(n_units)]
    same_length(strata, unit_of.size, "strata")
    holds = np.zeros((n_units, int(strata.max()) + 1), dtype=np.bool_)
    holds[unit_of, strata] = True
    _, composition = np.unique(holds, axis=0, return_inverse=True)
    composition = composition.reshape(-1)
    return [np.flatnonzero(composition == code) for code in range(int(composition.max()) + 1)]


def _positive(n: int, name: str = "n_resamples") -> None:
    if n < 1:
        raise ValueError(f"{name} is {n}: expected at least 1")
