"""Variance of the AUROC from placements, in O(n log n).

DeLong, DeLong & Clarke-Pearson (1988): the placement of a positive is the share of negatives below it (ties one
half), that of a negative the share of positives above it; the AUC is the mean of either, its variance
var(positives' placements) / n₊ + var(negatives') / n₋. Placements come from running sums over the sorted scores
(Sun & Xu 2014), never from the n₊ × n₋ matrix. With groups (users): Obuchowski (1997), eq. 3.
"""

from __future__ import annotations

from math import isclose
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray, IntArray
from discreet.stats.arrays import group_codes, same_length
from discreet.stats.roc import RocCore


class AucVariance(NamedTuple):
    """An AUC, its sampling variance and how many independent units of each class stand behind it.

    `units_pos`, `units_neg` are the class sizes; with groups, Kish's effective number (Σ m)² / Σ m² over the groups'
    sizes m within the class. `variance` is never negative, and 0 where every unit has the same placement.
    """

    auc: float
    variance: float
    units_pos: float
    units_neg: float


def placements(core: RocCore) -> tuple[FloatArray, FloatArray]:
    """Placements of the positives (n_pos,) and of the negatives (n_neg,), each in [0, 1], in the order given."""
    below, above = _by_level(core)
    return below[core.level_of[core.rows_pos]], above[core.level_of[core.rows_neg]]


def _by_level(core: RocCore) -> tuple[FloatArray, FloatArray]:
    """At each level the placement of a positive, and that of a negative."""
    below = core.n_neg - np.cumsum(core.level_neg) + core.level_neg / 2
    above = np.cumsum(core.level_pos) - core.level_pos / 2
    return below / core.n_neg, above / core.n_pos


def auc_variance(core: RocCore, groups: ArrayLike | None = None) -> AucVariance:
    """AUC with DeLong's variance, or Obuchowski's where `groups` (n,) says which examples belong together.

    ValueError where a class has fewer than two units: a single one shows no spread.
    """
    if groups is None:
        return AucVariance(core.auroc(), _variance(core), float(core.n_pos), float(core.n_neg))
    covariance = auc_covariance([core], groups)
    unit_of = group_codes(groups, core.level_of.size)
    return AucVariance(
        core.auroc(), max(0.0, float(covariance[0, 0])),
        _effective_units(unit_of, core.rows_pos), _effective_units(unit_of, core.rows_neg),
    )


def _variance(core: RocCore) -> float:
    """The same from counts by level, which the order of the examples does not touch, not even in the last bit."""
    if min(core.n_pos, core.n_neg) < 2:
        raise _too_few(core.n_pos, core.n_neg)
    below, above = _by_level(core)
    return _spread(below, core.level_pos, core.n_pos) + _spread(above, core.level_neg, core.n_neg)


def _spread(placement: FloatArray, count: IntArray, n: int) -> float:
    """Variance of the mean placement of a class, from the placement at each level and how many stand there."""
    centred = placement - float((placement * count).sum()) / n
    return float((centred**2 * count).sum()) / (n * (n - 1))


def auc_covariance(cores: list[RocCore], groups: ArrayLike | None = None) -> FloatArray:
    """Covariance matrix (k, k) of the AUCs of k scores on the same examples."""
    first = cores[0]
    for core in cores[1:]:
        same_length(core.level_of, first.level_of.size, "scores")
        if not np.array_equal(core.rows_pos, first.rows_pos):
            raise ValueError("scores are compared on the same examples: expected equal labels in equal order")
    unit_of = None if groups is None else group_codes(groups, first.level_of.size)
    parts = [placements(core) for core in cores]
    pos, n_pos = _unit_sums(np.stack([part[0] for part in parts]), unit_of, first.rows_pos, first.level_of.size)
    neg, n_neg = _unit_sums(np.stack([part[1] for part in parts]), unit_of, first.rows_neg, first.level_of.size)
    if min(n_pos, n_neg) < 2:
        raise _too_few(n_pos, n_neg)
    covariance = n_pos / (n_pos - 1) * (pos @ pos.T) + n_neg / (n_neg - 1) * (neg @ neg.T)
    if unit_of is not None:
        cross = pos @ neg.T
        n_units = int(unit_of.max()) + 1
        covariance = covariance + n_units / (n_units - 1) * (cross + cross.T)
    return np.asarray(covariance, dtype=np.float64)


def _unit_sums(values: FloatArray, unit_of: IntArray | None, rows: IntArray, n: int) -> tuple[FloatArray, int]:
    """Per unit, the sum of (placement − AUC) / class size, shape (k, units); and the units that hold the class.

    Without `unit_of` each of the n examples is a unit of its own.
    """
    centred = (values - values.mean(axis=1, keepdims=True)) / rows.size
    if unit_of is None:
        sums = np.zeros((values.shape[0], n))
        sums[:, rows] = centred
        return sums, rows.size
    n_units = int(unit_of.max()) + 1
    sums = np.stack([np.bincount(unit_of[rows], weights=row, minlength=n_units) for row in centred])
    return np.asarray(sums, dtype=np.float64), np.unique(unit_of[rows]).size


def _too_few(n_pos: int, n_neg: int) -> ValueError:
    return ValueError(f"{n_pos} units hold positives and {n_neg} negatives: a variance needs 2 each or more")


def _effective_units(unit_of: IntArray, rows: IntArray) -> float:
    sizes = np.bincount(unit_of[rows]).astype(np.float64)
    kish = float(sizes.sum() ** 2 / (sizes**2).sum())
    whole = round(kish)
    return float(whole) if isclose(kish, whole) else kish
