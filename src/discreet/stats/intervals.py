"""Confidence intervals of shares, of the AUC, and of rates at a threshold that the same data chose.

| interval | holds |
|---|---|
| `clopper_pearson`, `tpr_at_fpr_interval`, `fpr_at_tpr_interval` | by construction, any n, any distribution |
| `auc_interval` | by simulation from 10 + 10 examples and AUC .5 to .99 (`tests/stats/test_auc_coverage.py`) |
| `wilson` | on average over shares |
| `delong_logit_interval` | where the smaller class has at least some 30 misordered examples |
| anything with `groups` | by simulation, from about 20 groups a class |
"""

from __future__ import annotations

from bisect import bisect_left
from math import exp, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.types import BoolArray, IntArray
from discreet.stats.arrays import binary_labels, counts, group_codes, scipy_module, scored_labels, share
from discreet.stats.roc import AucVariance, RocCore, kish_size


class Interval(NamedTuple):
    """Two ends, low <= high."""

    low: float
    high: float


def normal_quantile(level: float) -> float:
    """z with P(|Z| <= z) = level in (0, 1)."""
    return NormalDist().inv_cdf(0.5 + share(level, "level", open_interval=True) / 2.0)


def binomial_lower(k: float, n: float, alpha: float) -> float:
    """Exact lower confidence bound of a share, k of n: P(bound > share) <= alpha. k and n may be effective counts."""
    if k <= 0:
        return 0.0
    return float(scipy_module("special", "an exact interval").betaincinv(k, n - k + 1.0, alpha))


def binomial_upper(k: float, n: float, alpha: float) -> float:
    """Exact upper confidence bound of a share, k of n: P(bound < share) <= alpha. k and n may be effective counts."""
    if k >= n:
        return 1.0
    return float(scipy_module("special", "an exact interval").betaincinv(k + 1.0, n - k, 1.0 - alpha))


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Interval:
    """Exact interval of a share, k of n (Clopper & Pearson 1934): both tails at most (1 − level) / 2."""
    hits, total = counts(k, n)
    tail = (1.0 - share(level, "level", open_interval=True)) / 2.0
    return Interval(binomial_lower(hits, total, tail), binomial_upper(hits, total, tail))


def wilson(k: int, n: int, level: float = 0.95) -> Interval:
    """Score interval of a share, k of n (Wilson 1927). Narrower than the exact one; may cover less than `level`."""
    hits, total = counts(k, n)
    z2 = normal_quantile(level) ** 2
    centre = (hits + z2 / 2.0) / (total + z2)
    half = sqrt(z2 * (hits * (total - hits) / total + z2 / 4.0)) / (total + z2)
    return Interval(0.0 if hits == 0 else centre - half, 1.0 if hits == total else centre + half)


def rate_interval(hits: ArrayLike, level: float = 0.95, groups: ArrayLike | None = None) -> Interval:
    """Exact interval of the share of `hits` (n,) in {0, 1}; with `groups` (n,) at the effective sample size."""
    given = binary_labels(hits, "hits")
    if given.size == 0:
        raise ValueError("hits are empty: expected at least one example")
    tail = (1.0 - share(level, "level", open_interval=True)) / 2.0
    n = effective_sample(given, groups)
    k = float(given.mean()) * n
    return Interval(binomial_lower(k, n, tail), binomial_upper(k, n, tail))


def effective_size(value: float, variance: float, units: float) -> float:
    """How many independent 0/1 draws would know `value` in [0, 1] as well as `units` units with this `variance`.

    At the least `units` (every unit is worth one draw: Birnbaum & Klose 1957 for the AUC, a perfectly alike group
    for a share), at best value (1 − value) / variance. A variance estimated from few events is not to be trusted, so
    the ratio of the two is averaged with one half pseudo-event at the least: with none, the answer is `units`.
    """
    spread = value * (1.0 - value)
    if spread <= 0.0:
        return units
    events = units * min(value, 1.0 - value)
    ratio = variance * units / spread
    return units * (events + 0.5) / (events * ratio + 0.5)


def effective_sample(hits: BoolArray, groups: ArrayLike | None) -> float:
    """Effective sample size of a share over groups (Kish's design effect, shrunk as in `effective_size`)."""
    if groups is None:
        return float(hits.size)
    codes = group_codes(groups, hits.size)
    units, rate = kish_size(codes), float(hits.mean())
    residual = np.bincount(codes, weights=hits - rate)
    if residual.size < 2:
        return units
    variance = residual.size / (residual.size - 1) * float((residual**2).sum()) / hits.size**2
    return min(float(hits.size), effective_size(rate, variance, units))


def agresti_coull(value: float, n: float, level: float = 0.95) -> Interval:
    """Share `value` of an effective sample n: Agresti & Coull (1998), z² / 2 hits and misses added; cut to [0, 1]."""
    z2 = normal_quantile(level) ** 2
    centre = (value * n + z2 / 2.0) / (n + z2)
    half = sqrt(z2 * centre * (1.0 - centre) / (n + z2))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def auc_interval(spread: AucVariance, level: float = 0.95) -> Interval:
    """Interval of the AUC that holds in small samples and at AUC 0 or 1, with or without groups.

    Agresti–Coull at the effective sample size behind DeLong's (Obuchowski's) variance; see `effective_size`. Tends to
    DeLong's interval as misordered examples become many.
    """
    auc, variance, units_pos, units_neg = spread
    return agresti_coull(auc, effective_size(auc, variance, min(units_pos, units_neg)), level)


def delong_logit_interval(spread: AucVariance, level: float = 0.95) -> Interval:
    """DeLong's interval on the logit scale (Pepe 2003, §5.2). ValueError at AUC 0 or 1 or where nothing varies."""
    auc, variance = spread.auc, spread.variance
    if not 0.0 < auc < 1.0 or variance <= 0.0:
        raise ValueError(f"AUC {auc} with variance {variance} has no logit-scale interval: use auc_interval")
    centre = log(auc / (1.0 - auc))
    half = normal_quantile(level) * sqrt(variance) / (auc * (1.0 - auc))
    return Interval(1.0 / (1.0 + exp(half - centre)), 1.0 / (1.0 + exp(-half - centre)))


def tpr_at_fpr_interval(
    scores: ArrayLike, labels: ArrayLike, fpr: float, level: float = 0.95, groups: ArrayLike | None = None
) -> Interval:
    """Interval of the TPR at the threshold whose *true* FPR is `fpr` in (0, 1), a threshold that the data must find.

    Order statistics of the negatives bound the threshold on either side, Clopper–Pearson bounds the TPR beyond each;
    the four tails get a quarter of 1 − level each (Bonferroni), so it holds for every distribution, ties included.
    Where there are too few negatives to bound the threshold the end is 0 or 1. With `groups` (n,) both parts use
    effective sample sizes. ValueError if a class is absent.
    """
    core = RocCore.of(scores, labels)
    return tpr_ends(core, fpr, level, None if groups is None else group_codes(groups, core.level_of.size))


def tpr_ends(core: RocCore, fpr: float, level: float, groups: IntArray | None) -> Interval:
    """`tpr_at_fpr_interval` of scores that are sorted already; `groups` are codes."""
    share(fpr, "fpr", open_interval=True)
    alpha = (1.0 - share(level, "level", open_interval=True)) / 4.0
    of_pos, of_neg = (None, None) if groups is None else (groups[core.rows_pos], groups[core.rows_neg])
    size = float(core.n_neg)
    if of_neg is not None:
        size = effective_sample(core.level_of[core.rows_neg] <= _level(core, max(round(fpr * core.n_neg), 1)), of_neg)
    above, below = threshold_ranks(size, fpr, alpha)
    low, high = 0.0, 1.0
    if above > 0:
        share_beyond, n = _beyond(core, _level(core, max(int(above * core.n_neg / size), 1)) - 1, of_pos)
        low = binomial_lower(share_beyond * n, n, alpha)
    if below is not None:
        rank = min(int(np.ceil(below * core.n_neg / size)), core.n_neg)
        share_beyond, n = _beyond(core, _level(core, rank), of_pos)
        high = binomial_upper(share_beyond * n, n, alpha)
    return Interval(low, high)


def _level(core: RocCore, rank: int) -> int:
    """The level of the negative at this rank, the highest being at rank 1."""
    return int(np.searchsorted(core.counts.cum_neg[0], rank))


def _beyond(core: RocCore, level: int, of_pos: IntArray | None) -> tuple[float, float]:
    """The share of positives at this level or a higher one (none for −1), and the effective number of positives."""
    passed = 0 if level < 0 else int(core.counts.cum_pos[0, level])
    size = core.n_pos if of_pos is None else effective_sample(core.level_of[core.rows_pos] <= level, of_pos)
    return passed / core.n_pos, float(size)


def fpr_at_tpr_interval(
    scores: ArrayLike, labels: ArrayLike, tpr: float, level: float = 0.95, groups: ArrayLike | None = None
) -> Interval:
    """Interval of the FPR at the threshold whose true TPR is `tpr`: `tpr_at_fpr_interval` of the negated score."""
    values, truth = scored_labels(scores, labels)
    mirrored = tpr_at_fpr_interval(-values, ~truth, 1.0 - share(tpr, "tpr", open_interval=True), level, groups)
    return Interval(1.0 - mirrored.high, 1.0 - mirrored.low)


def threshold_ranks(n: float, rate: float, alpha: float) -> tuple[int, int | None]:
    """Ranks, from the top of n scores, between which the score with a share `rate` above it lies.

    `above`: the highest of n is at rank 1; the score at rank `above` exceeds the quantile except with probability
    alpha; 0 where no rank does. `below`: the score at that rank is under the quantile except with probability alpha;
    None where no rank is. Binomial tails, valid for every distribution.
    """
    betainc = scipy_module("special", "a bound on a threshold").betainc
    ranks = range(1, int(n) + 1)
    above = bisect_left(ranks, True, key=lambda rank: betainc(n - rank + 1.0, rank, 1.0 - rate) > alpha)
    below = bisect_left(ranks, True, key=lambda rank: betainc(rank, n - rank + 1.0, rate) <= alpha)
    return above, below + 1 if below < len(ranks) else None
