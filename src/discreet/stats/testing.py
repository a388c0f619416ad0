"""Hypothesis tests and multiplicity. (Not called `tests`: that is where the package's own tests live.)"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray
from discreet.stats.arrays import counts, scipy_module
from discreet.stats.delong import auc_covariance
from discreet.stats.intervals import normal_quantile
from discreet.stats.roc import RocCore


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
    p, order = _ordered(p_values)
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _restored(stepped, order)


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini & Hochberg's (1995) adjusted p values (k,), in the order given: false discovery rate."""
    p, order = _ordered(p_values)
    stepped = p[order] * p.size / np.arange(1, p.size + 1)
    return _restored(np.minimum.accumulate(stepped[::-1])[::-1], order)


def fisher_exact(
    k_a: int, n_a: int, k_b: int, n_b: int, alternative: Literal["two-sided", "greater", "less"] = "two-sided"
) -> float:
    """Fisher's exact p for two shares, k_a of n_a against k_b of n_b; "greater" means share a > share b.

    Two-sided: the sum over tables at most as likely as the observed one.
    """
    hits_a, total_a = counts(k_a, n_a, "k_a")
    hits_b, total_b = counts(k_b, n_b, "k_b")
    stats = scipy_module("stats", "Fisher's exact test")
    table = [[hits_a, total_a - hits_a], [hits_b, total_b - hits_b]]
    return float(stats.fisher_exact(table, alternative=alternative)[1])


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
    cores = [RocCore.of(scores_a, labels), RocCore.of(scores_b, labels)]
    auc_a, auc_b = cores[0].auroc(), cores[1].auroc()
    covariance = auc_covariance(cores, groups)
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


def _ordered(p_values: ArrayLike) -> tuple[FloatArray, np.ndarray[tuple[int, ...], np.dtype[np.intp]]]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError(f"p values have shape {p.shape}: expected (k,) numbers from 0 to 1")
    return p, np.argsort(p, kind="stable")


def _restored(
    stepped: FloatArray, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]
) -> FloatArray:
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
