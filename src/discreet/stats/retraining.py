"""The mean of a figure over retrainings of a model that are all measured on the same records."""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

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
