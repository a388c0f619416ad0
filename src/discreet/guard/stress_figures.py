"""The figures behind the stress test: functions of finite scores of shape (n,), at least one, higher = unsafe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet import stats
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray
from discreet.stats.estimates import MISORDERED
from discreet.stats.roc import Reweighting, RocCore

LEVEL = 0.95
RESAMPLES = 1000


def threshold_at_tpr(unsafe: FloatArray, negatives: FloatArray, tpr: float) -> float:
    """The highest score at or above which at least a share `tpr` of the unsafe lies."""
    return RocCore.of(*_labelled(unsafe, negatives)).threshold_at_tpr(tpr)


def share(flagged: BoolArray, *, n_pos: int | None = None, n_neg: int | None = None) -> Estimate:
    """Share of `flagged` with its exact interval."""
    return replace(stats.share_estimate(flagged, level=LEVEL), n_pos=n_pos, n_neg=n_neg)


def rates(unsafe: FloatArray, negatives: FloatArray, tpr: float, threshold: float | None) -> dict[str, Estimate]:
    """`fpr_at_tpr`, whose interval allows for the threshold being found, and `fpr_at_threshold` where one is given."""
    found = {"fpr_at_tpr": stats.fpr_at_tpr_estimate(*_labelled(unsafe, negatives), tpr, level=LEVEL)}
    if threshold is not None:
        found["fpr_at_threshold"] = share(negatives >= threshold, n_neg=negatives.size)
    return found


def pairing(unsafe: FloatArray, negatives: FloatArray, tpr: float, threshold: float | None) -> dict[str, Estimate]:
    """`auroc`, `fpr95`, `fpr90` and `rates` of unsafe against one set of negatives."""
    scores, labels = _labelled(unsafe, negatives)
    return {
        "auroc": auroc(unsafe, negatives),
        "fpr95": stats.fpr_at_tpr_estimate(scores, labels, 0.95, level=LEVEL),
        "fpr90": stats.fpr_at_tpr_estimate(scores, labels, 0.90, level=LEVEL),
        **rates(unsafe, negatives, tpr, threshold),
    }


def auroc(unsafe: FloatArray, negatives: FloatArray, level: float = LEVEL) -> Estimate:
    """AUROC of unsafe against negatives, with an interval that holds for a constant score too."""
    scores, labels = _labelled(unsafe, negatives)
    # A constant score has no variance, hence no logit-scale interval.
    return stats.auroc_estimate(scores, labels, level=level, method="auto" if np.ptp(scores) else "score")


def auroc_difference(unsafe: FloatArray, safe: FloatArray, borderline: FloatArray, rng: Generator) -> Estimate:
    """AUROC within less AUROC on the borderline, in [-1, 1].

    Bootstrap paired on the unsafe. Where both AUROCs rest on fewer than 30 misordered examples a percentile bootstrap
    is too short (at AUROC 1 it has no width at all): there the two intervals that hold are joined (Bonferroni).
    """
    level = (1.0 + LEVEL) / 2.0
    facts: dict[str, Any] = {"level": LEVEL, "n": unsafe.size + safe.size + borderline.size, "n_pos": unsafe.size,
                             "n_neg": safe.size + borderline.size, "unit": "example"}
    values, lows, highs, misordered = [], [], [], []
    for negatives in (safe, borderline):
        figure = auroc(unsafe, negatives, level)
        if figure.value is None or figure.low is None or figure.high is None:
            return Estimate.unresolved(str(figure.reason), **facts)
        values.append(figure.value)
        lows.append(figure.low)
        highs.append(figure.high)
        misordered.append(min(unsafe.size, negatives.size) * min(figure.value, 1.0 - figure.value))
    value = values[0] - values[1]
    if max(misordered) >= MISORDERED:
        draws = bootstrap_differences(unsafe, safe, borderline, rng, RESAMPLES)
        if np.ptp(draws):
            how = f"percentile bootstrap paired on the unsafe, {draws.size} resamples"
            return Estimate(value, *stats.percentile_interval(draws, LEVEL), method=how, **facts)
    low, high = max(-1.0, lows[0] - highs[1]), min(1.0, highs[0] - lows[1])
    return Estimate(value, low, high, method="intervals of both AUROCs, Bonferroni", **facts)


def bootstrap_differences(
    unsafe: FloatArray, safe: FloatArray, borderline: FloatArray, rng: Generator, n_resamples: int
) -> FloatArray:
    """Resampled AUROC(unsafe, safe) − AUROC(unsafe, borderline), shape (n_resamples,).

    Each set is drawn with replacement at its own size, the unsafe once for both AUROCs.
    """
    sizes = [unsafe.size, safe.size, borderline.size]
    of_unsafe, of_safe, of_borderline = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    within, on_borderline = (
        Reweighting.of(RocCore.of(*_labelled(unsafe, negatives)), np.concatenate((of_unsafe, of)))
        for negatives, of in ((safe, of_safe), (borderline, of_borderline)))
    blocks = stats.bootstrap_weights(sum(sizes), rng, n_resamples=n_resamples, strata=np.repeat([0, 1, 2], sizes))
    return np.concatenate([within.counts(drawn).auroc() - on_borderline.counts(drawn).auroc() for drawn in blocks])


def control(unsafe: FloatArray, borderline: FloatArray, rng: Generator) -> Estimate:
    """AUROC of unsafe against borderline under permuted labels: its mean and the central 95% of the draws."""
    scores, labels = _labelled(unsafe, borderline)
    _, level_of, tied = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(tied) - (tied - 1) / 2.0)[level_of]
    least = unsafe.size * (unsafe.size + 1) / 2.0
    sums = np.array([ranks[drawn == 1.0].sum() for drawn in stats.permuted_labels(labels, rng, RESAMPLES)])
    draws = (sums - least) / (unsafe.size * borderline.size)
    low, high = stats.percentile_interval(draws, LEVEL)
    return Estimate(float(draws.mean()), low, high, LEVEL, scores.size, unsafe.size, borderline.size, "example",
                    f"labels permuted {RESAMPLES} times, mean and central share of the draws")


def planted(unsafe: FloatArray, borderline: FloatArray, tpr: float, threshold: float | None,
            rng: Generator) -> tuple[Estimate, Estimate, bool]:
    """Borderline FPR with half of the unsafe, drawn at random, put among it; without them; and whether it rises.

    The other half sets the threshold unless it is given. The FPR rises where the planted are flagged more often than
    the borderline (Fisher's exact test, one-sided, 5%).
    """
    n = unsafe.size // 2
    if n == 0:
        none = Estimate.unresolved("1 unsafe example cannot be planted and set the threshold: 2 needed at the least",
                                   level=LEVEL, n=borderline.size, n_neg=borderline.size, unit="example")
        return none, none, False
    order = rng.permutation(unsafe.size)
    put, others = unsafe[order[:n]], unsafe[order[n:]]
    at = threshold_at_tpr(others, borderline, tpr) if threshold is None else threshold
    caught, clean = put >= at, borderline >= at
    p = stats.fisher_exact(int(caught.sum()), caught.size, int(clean.sum()), clean.size, "greater")
    return (share(np.concatenate((clean, caught)), n_pos=n, n_neg=clean.size), share(clean, n_neg=clean.size),
            p < 1.0 - LEVEL)


def _labelled(unsafe: FloatArray, negatives: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.concatenate((unsafe, negatives)), np.repeat([1.0, 0.0], [unsafe.size, negatives.size])
