"""Exposure: how far up its ranking a model puts a secret, in bits (Carlini et al. 2019, "The Secret Sharer", §4).

A rank of 1 among R is log2 R bits, the last rank is 0. A secret that nobody memorised has a uniform rank, whose mean
exposure is not 0 but `null_exposure`, 1.44 bits for large R: an exposure is read beside that of placebo canaries.
"""

from __future__ import annotations

from math import lgamma, log, log2

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.records import Estimate
from discreet.core.types import FloatArray
from discreet.stats.arrays import finite_scores, scipy_module, share

LEAST_REFERENCE = 30
"""Fewer losses do not fix the three parameters of a skew normal."""


def class_exposure(scores: ArrayLike, labels: ArrayLike) -> FloatArray:
    """log2 K − log2 rank of the secret among the K classes of its own example, (n,) in [0, log2 K].

    Parameters
    ----------
    scores : (n, K) finite
        The higher the likelier the class: logits or log probabilities.
    labels : (n,) in 0 … K − 1
        The secrets. Of equal scores the secret's counts as the lowest.
    """
    given, secret = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if given.ndim != 2 or given.shape[1] < 2 or not np.isfinite(given).all():
        raise ValueError(f"scores have shape {given.shape}: expected finite numbers (n, K) with K >= 2")
    whole = secret.ndim == 1 and secret.size == len(given) and (secret.dtype.kind in "iu" or secret.size == 0)
    if not whole or not ((secret >= 0) & (secret < given.shape[1])).all():
        raise ValueError(f"labels have shape {secret.shape}: expected {len(given)} whole numbers from 0 to "
                         f"{given.shape[1] - 1}")
    own = given[np.arange(len(given)), secret.astype(np.int64)]
    rank = (given >= own[:, None]).sum(axis=1)
    return np.asarray(log2(given.shape[1]) - np.log2(rank), dtype=np.float64)


def rank_exposure(losses: ArrayLike, reference: ArrayLike) -> FloatArray:
    """log2(m + 1) − log2 rank of each loss (n,) among itself and m `reference` losses; equal losses rank before it.

    The reference is the loss, under the same model, of secrets that it was not trained on: placebo canaries.
    """
    given, others = finite_scores(losses, "losses"), np.sort(finite_scores(reference, "reference"))
    if others.size == 0:
        raise ValueError("reference is empty: expected at least one loss of a placebo canary")
    rank = 1 + np.searchsorted(others, given, side="right")
    return np.asarray(log2(others.size + 1) - np.log2(rank), dtype=np.float64)


def tail_exposure(losses: ArrayLike, reference: ArrayLike) -> FloatArray:
    """−log2 of the chance of so low a loss under a skew normal fitted to `reference` (m,), m >= 30; (n,) >= 0.

    Extrapolates beyond log2 m (The Secret Sharer, §4.3), and is as good as the fit there: print it as such.
    ValueError for fewer losses, or losses that are all alike.
    """
    given, others = finite_scores(losses, "losses"), finite_scores(reference, "reference")
    if others.size < LEAST_REFERENCE or np.ptp(others) == 0.0:
        raise ValueError(f"reference holds {np.unique(others).size} different losses of {others.size}: expected at "
                         f"least {LEAST_REFERENCE}, not all alike")
    skewnorm = scipy_module("stats", "extrapolated exposure").skewnorm
    fitted = skewnorm.fit(others)
    return np.asarray(np.maximum(0.0, -skewnorm.logcdf(given, *fitted) / log(2.0)), dtype=np.float64)


def null_exposure(size: int) -> float:
    """Mean exposure of a rank that is uniform on 1 … `size`: log2 R − log2(R!) / R."""
    if size != int(size) or size < 1:
        raise ValueError(f"size is {size}: expected a whole number, at least 1")
    return log2(size) - lgamma(size + 1.0) / (size * log(2.0))


def mean_exposure(exposures: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Mean of exposures (n,) with Student's interval, an approximation; unresolved with fewer than 2."""
    given = finite_scores(exposures, "exposures")
    share(level, "level", open_interval=True)
    if given.size < 2:
        return Estimate.unresolved(f"a mean exposure over {given.size} canaries: at least 2 are needed", level=level,
                                   n=given.size, unit="canary")
    quantile = float(scipy_module("stats", "an interval of exposure").t.ppf(0.5 + level / 2.0, given.size - 1))
    mean, half = float(given.mean()), quantile * float(given.std(ddof=1)) / given.size**0.5
    return Estimate(mean, mean - half, mean + half, level=level, n=given.size, unit="canary",
                    method="mean of log2 ranks, Student's t")
