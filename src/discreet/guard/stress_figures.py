"""Figures of the stress test from scores of shape (n,), higher = unsafe: pairings, their difference, both controls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.records import Estimate
from discreet.stats import (
    auroc_estimate,
    bootstrap_weights,
    fisher_exact,
    fpr_at_tpr_estimate,
    percentile_interval,
    permuted_labels,
    share_estimate,
)
from discreet.stats.arrays import BoolArray, FloatArray
from discreet.stats.estimates import MISORDERED
from discreet.stats.roc import Reweighting, RocCore

LEVEL = 0.95
RESAMPLES = 1000


def _labelled(positives: FloatArray, negatives: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.concatenate((positives, negatives)), np.repeat([1.0, 0.0], [positives.size, negatives.size])


def _core(positives: FloatArray, negatives: FloatArray) -> RocCore:
    return RocCore.of(*_labelled(positives, negatives))


def _auroc(positives: FloatArray, negatives: FloatArray, level: float = LEVEL) -> Estimate:
    scores, labels = _labelled(positives, negatives)
    # A constant score has no variance, hence no logit-scale interval.
    return auroc_estimate(scores, labels, level=level, method="auto" if np.ptp(scores) else "score")


def share(hits: Any, **sizes: int) -> Estimate:
    found = share_estimate(hits, level=LEVEL)
    return Estimate(found.value, found.low, found.high, LEVEL, found.n, method=found.method, unit=found.unit, **sizes)


def rates(unsafe: FloatArray, negatives: FloatArray, tpr: float, threshold: float | None) -> dict[str, Estimate]:
    rates = {"fpr_at_tpr": fpr_at_tpr_estimate(*_labelled(unsafe, negatives), tpr, level=LEVEL)}
    if threshold is not None:
        rates["fpr_at_threshold"] = share(negatives >= threshold, n_neg=negatives.size)
    return rates


def pairing(unsafe: FloatArray, negatives: FloatArray, tpr: float, threshold: float | None) -> dict[str, Estimate]:
    fixed = {f"fpr{100 * at:.0f}": fpr_at_tpr_estimate(*_labelled(unsafe, negatives), at, level=LEVEL)
             for at in (0.95, 0.90)}
    return {"auroc": _auroc(unsafe, negatives), **fixed, **rates(unsafe, negatives, tpr, threshold)}


def auroc_difference(unsafe: FloatArray, safe: FloatArray, borderline: FloatArray, rng: Generator) -> Estimate:
    """AUROC within less AUROC on the borderline; every resample draws the same unsafe for both.

    Where both AUROCs rest on fewer than 30 misordered examples a percentile bootstrap is too short (it has no width
    at all at AUROC 1), and the two intervals that hold there are joined instead (Bonferroni).
    """
    facts: dict[str, Any] = {"level": LEVEL, "n": unsafe.size + safe.size + borderline.size, "n_pos": unsafe.size,
                             "n_neg": safe.size + borderline.size, "unit": "example"}
    first, second = (_auroc(unsafe, negatives, (1.0 + LEVEL) / 2.0) for negatives in (safe, borderline))
    if first.value is None or second.value is None:
        return Estimate.unresolved(str(first.reason or second.reason), **facts)
    value = first.value - second.value
    misordered = max(min(unsafe.size, negatives.size) * min(auc, 1.0 - auc)
                     for negatives, auc in ((safe, first.value), (borderline, second.value)))
    if misordered < MISORDERED or not np.ptp(np.concatenate((unsafe, safe, borderline))):
        low, high = first.low - second.high, first.high - second.low  # type: ignore[operator]
        return Estimate(value, max(-1.0, low), min(1.0, high), method="intervals of both AUROCs, Bonferroni", **facts)
    draws = bootstrap_differences(unsafe, safe, borderline, rng)
    low, high = percentile_interval(draws, LEVEL)
    return Estimate(value, low, high, method=f"percentile bootstrap paired on the unsafe, {draws.size} resamples",
                    **facts)


def bootstrap_differences(
    unsafe: FloatArray, safe: FloatArray, borderline: FloatArray, rng: Generator, n_resamples: int = RESAMPLES
) -> FloatArray:
    """Resampled AUROC(unsafe, safe) − AUROC(unsafe, borderline), shape (n_resamples,), the unsafe drawn once for both.

    Each of the three sets is drawn with replacement at its own size.
    """
    sizes = [unsafe.size, safe.size, borderline.size]
    of_unsafe, of_safe, of_borderline = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    weighings = [
        Reweighting.of(_core(unsafe, negatives), np.concatenate((of_unsafe, rows)))
        for negatives, rows in ((safe, of_safe), (borderline, of_borderline))
    ]
    blocks = bootstrap_weights(sum(sizes), rng, n_resamples=n_resamples, strata=np.repeat([0, 1, 2], sizes))
    pairs = ([weighing.counts(block).auroc() for weighing in weighings] for block in blocks)
    return np.concatenate([first - second for first, second in pairs])


def placebo(unsafe: FloatArray, borderline: FloatArray, rng: Generator) -> Estimate:
    """AUROC of unsafe against borderline under labels dealt at random: its mean and central 95%."""
    scores, labels = _labelled(unsafe, borderline)
    facts: dict[str, Any] = {"level": LEVEL, "n": scores.size, "n_pos": unsafe.size, "n_neg": borderline.size,
                             "unit": "example"}
    _, level_of, tied = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(tied) - (tied - 1) / 2.0)[level_of.reshape(-1)]
    least = unsafe.size * (unsafe.size + 1) / 2.0
    sums = np.array([ranks[dealt > 0].sum() for dealt in permuted_labels(labels, rng, RESAMPLES)])
    draws = (sums - least) / (unsafe.size * borderline.size)
    low, high = percentile_interval(draws, LEVEL)
    return Estimate(float(draws.mean()), low, high, method=f"labels permuted, {RESAMPLES} times", **facts)


def planted(
    unsafe: FloatArray, borderline: FloatArray, tpr: float, threshold: float | None, rng: Generator
) -> tuple[Estimate, Estimate, bool]:
    """Borderline FPR with half of the unsafe planted among it, without, and whether planting raised it."""
    n = unsafe.size // 2
    if n == 0:
        lacking = Estimate.unresolved("1 unsafe example cannot be planted and set the threshold: 2 needed at the least",
                                      level=LEVEL, n=borderline.size, unit="example")
        return lacking, lacking, False
    order = rng.permutation(unsafe.size)
    planted, others = unsafe[order[:n]], unsafe[order[n:]]
    at = _core(others, borderline).threshold_at_tpr(tpr) if threshold is None else threshold
    hits, clean = planted >= at, borderline >= at
    rises = fisher_exact(int(hits.sum()), hits.size, int(clean.sum()), clean.size, "greater") < 1.0 - LEVEL
    return share(np.concatenate((clean, hits))), share(clean, n_neg=clean.size), rises
