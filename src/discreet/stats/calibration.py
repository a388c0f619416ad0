"""Whether probabilities mean what they say, and statistics without a formula by resampling groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.records import Estimate
from discreet.core.types import FloatArray, IntArray
from discreet.stats.arrays import group_codes, scored_labels
from discreet.stats.estimates import rate_estimate
from discreet.stats.testing import bootstrap_weights, percentile_interval

SEED, RESAMPLES = 42, 1000


class Bin(NamedTuple):
    """Probabilities from `low` to `high`: their mean, None where there are none, and the share that came true."""

    low: float
    high: float
    mean: float | None
    observed: Estimate


def bootstrap_estimate(statistic: Callable[[IntArray], FloatArray], n: int, *, groups: ArrayLike | None = None,
                       unit: str = "example", level: float = 0.95, seed: int = SEED, reason: str = "") -> Estimate:
    """A statistic of weights (rows, n), which gives (rows,) and NaN where it has no value, with a percentile interval.

    Groups are resampled where there are any, else the n examples. Unresolved, for the `reason`, where it has no value
    on the sample itself; without an interval where it has none in over 5% of the resamples, or they do not vary.
    """
    value = float(statistic(np.ones((1, n), dtype=np.int64))[0]) if n else float("nan")
    units = n if groups is None else int(group_codes(groups, n).max(initial=-1)) + 1
    if np.isnan(value):
        return Estimate.unresolved(reason or "no value on this sample", level=level, n=units, unit=unit)
    drawn = np.concatenate([statistic(block) for block in bootstrap_weights(
        n, np.random.default_rng(seed), n_resamples=RESAMPLES, groups=groups)])
    drawn = drawn[~np.isnan(drawn)]
    few = drawn.size < 0.95 * RESAMPLES or not np.ptp(drawn)
    low, high = (None, None) if few else percentile_interval(drawn, level)
    return Estimate(value, low, high, level=level, n=units, unit=unit,
                    method="no interval: the resamples do not vary, or lack a value" if few else
                    f"percentile bootstrap over {unit}s, {RESAMPLES} resamples")


def reliability(probabilities: ArrayLike, labels: ArrayLike, *, bins: int = 10) -> list[Bin]:
    """The reliability diagram of probabilities (n,) in [0, 1] for labels (n,) in {0, 1}: bins of equal width."""
    p, y = scored_labels(probabilities, labels)
    edges = np.linspace(0.0, 1.0, bins + 1)
    of = _bins(p, bins)
    return [Bin(float(edges[b]), float(edges[b + 1]), float(p[of == b].mean()) if (of == b).any() else None,
                rate_estimate(int(y[of == b].sum()), int((of == b).sum()))) for b in range(bins)]


def calibration_error(probabilities: ArrayLike, labels: ArrayLike, *, bins: int = 10, groups: ArrayLike | None = None,
                      unit: str = "example", seed: int = SEED) -> Estimate:
    """Expected calibration error: over bins of equal width, the mean of |share that came true − mean probability|.

    It is biased upwards in small samples (`calibrated_error` says how far), and so is its interval.
    """
    p, y = scored_labels(probabilities, labels)
    return bootstrap_estimate(lambda weights: _error(weights, p, y.astype(np.float64), bins), p.size, groups=groups,
                              unit=unit, seed=seed, reason="no probabilities")


def calibrated_error(probabilities: ArrayLike, *, bins: int = 10, seed: int = SEED) -> float | None:
    """The control of `calibration_error`: its mean were each probability (n,) true; None for n = 0."""
    p = np.asarray(probabilities, dtype=np.float64)
    rng, one = np.random.default_rng(seed), np.ones((1, p.size), dtype=np.int64)
    drawn = [_error(one, p, (rng.random(p.size) < p).astype(np.float64), bins) for _ in range(200)] if p.size else []
    return float(np.mean(drawn)) if drawn else None


def _error(weights: IntArray, p: FloatArray, y: FloatArray, bins: int) -> FloatArray:
    of, gap = _bins(p, bins), y - p
    total = sum((np.abs(weights[:, of == b] @ gap[of == b]) for b in range(bins)), np.zeros(len(weights)))
    found: FloatArray = total / weights.sum(axis=1)
    return found


def _bins(p: FloatArray, bins: int) -> IntArray:
    if p.size and not (p.min() >= 0.0 and p.max() <= 1.0):
        raise ValueError(f"probabilities reach from {p.min():g} to {p.max():g}; expected shares from 0 to 1")
    return np.minimum((p * bins).astype(np.int64), bins - 1)
