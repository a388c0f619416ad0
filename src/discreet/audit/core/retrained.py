"""A figure over retrainings: the mean over seeds of the mean over targets; seeds and records are sources of error."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from statistics import NormalDist, fmean
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.records import Estimate
from discreet.stats.arrays import finite_scores, same_length, scipy_module, share


class RetrainedMean(NamedTuple):
    """The mean over N retrainings, its standard error, degrees of freedom, and the standard deviation over them."""

    value: float
    error: float
    freedom: float
    spread: float

    def bound(self, level: float) -> float:
        """How far a one-sided bound of this level, in (0, 1), lies from the mean."""
        quantile = scipy_module("stats", "an interval over retrainings").t.ppf(share(level, "level"), self.freedom)
        return float(quantile) * self.error if self.error > 0.0 else 0.0

    def p_above(self, null: float) -> float:
        """One-sided p of a mean above `null`."""
        if self.error == 0.0:
            return float(self.value <= null)
        t = scipy_module("stats", "a test over retrainings").t
        return float(t.sf((self.value - null) / self.error, self.freedom))


def retrained_mean(values: ArrayLike, errors: ArrayLike) -> RetrainedMean:
    """The mean of `values` (N,), N >= 2, with the retraining and the records as sources of error.

    `errors` (N,) are the standard errors of each value over records. Obuchowski & Rockette (1995) with models as
    readers and degrees of freedom by Hillis (2007): variance s² / N + covariance of two retrainings over records,
    freedom (N − 1) · (variance / (s² / N))². The covariance is replaced by the mean squared error, which it never
    exceeds: the records count as if all retrainings erred alike on them. ValueError for fewer than two values, or a
    negative error.
    """
    found, error = finite_scores(values, "values"), finite_scores(errors, "errors")
    same_length(error, found.size, "errors")
    if found.size < 2 or (error < 0.0).any():
        raise ValueError(f"{found.size} values with errors from {error.min(initial=0.0)}: expected two values or more, "
                         "and errors of at least 0")
    between = float(np.var(found, ddof=1)) / found.size
    variance = between + float((error**2).mean())
    freedom = inf if between == 0.0 else (found.size - 1) * (variance / between) ** 2
    return RetrainedMean(float(found.mean()), sqrt(variance), freedom, sqrt(between * found.size))


Means: TypeAlias = tuple[RetrainedMean, RetrainedMean] | None
"""The mean with its error towards lower and towards higher values; None where a figure is unresolved."""
NOT_ALL = Estimate.unresolved("not every retraining has this figure", unit="retraining")


def means_of(estimates: Sequence[Sequence[Estimate]]) -> Means:
    """The mean over retrainings of the mean over the figures of each.

    Errors are read off the intervals; figures of one retraining count as if they erred alike. One retraining is for a
    recipe that draws nothing: then records are the only source of error.
    """
    every = [one for of_seed in estimates for one in of_seed]
    if any(one.value is None or one.low is None or one.high is None for one in every):
        return None
    z = {one.level: NormalDist().inv_cdf(0.5 + one.level / 2.0) for one in every}
    values = [fmean(one.value or 0.0 for one in of_seed) for of_seed in estimates]
    low = [fmean(((one.value or 0.0) - (one.low or 0.0)) / z[one.level] for one in of_seed) for of_seed in estimates]
    high = [fmean(((one.high or 0.0) - (one.value or 0.0)) / z[one.level] for one in of_seed) for of_seed in estimates]
    return _mean(values, low), _mean(values, high)


def _mean(values: Sequence[float], errors: Sequence[float]) -> RetrainedMean:
    if len(values) == 1:
        return RetrainedMean(values[0], errors[0], inf, 0.0)
    return retrained_mean(values, errors)


def estimate_of(means: Means, n: int, within: tuple[float, float], level: float = 0.95) -> Estimate:
    """The mean over `n` retrainings with its interval of this level, inside of the range `within`."""
    if means is None:
        return NOT_ALL
    lower, upper = means
    end = 0.5 + level / 2.0
    return Estimate(lower.value, max(within[0], lower.value - lower.bound(end)),
                    min(within[1], upper.value + upper.bound(end)), level=level, n=n, unit="retraining",
                    method="Obuchowski–Rockette over retrainings and records" if n > 1 else "normal, over records")


def two_sided_p(means: Means, null: float = 0.0) -> float | None:
    """Two-sided p of a mean that differs from `null`; None where there is no mean."""
    if means is None:
        return None
    lower, upper = means
    below = RetrainedMean(-upper.value, upper.error, upper.freedom, upper.spread).p_above(-null)
    return min(1.0, 2.0 * min(lower.p_above(null), below))
