"""What a model is good for and what it remembers: accuracy, exposure, label memorisation, confidence.

**Exposure** (Carlini et al. 2019, "The Secret Sharer", §4): how far up its ranking a model puts a label, in bits. A
rank of 1 among R is log2 R bits, the last rank is 0. A label that nobody memorised has a uniform rank, whose mean
exposure is not 0 but log2 R − log2(R!) / R, 1.44 bits for large R: an exposure is compared with that of held-out
canaries.

**Label memorisation** (Feldman & Zhang 2020, 2008.03703, equation 1): P[h(x) = y | (x, y) in training] − P[h(x) = y |
x not in training], over models. Of one model, its mean over canaries is known all the same: held-out canaries are
examples drawn alike, with labels drawn alike, that were not in training.
"""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.audit.labels.attacker_view import CanaryRows, Truth
from discreet.audit.labels.rows import EvaluationSets
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, TRAIN, UNKNOWN, ScoreTable
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.arrays import finite_scores, scipy_module
from discreet.stats.estimates import rate_estimate
from discreet.stats.intervals import binomial_lower, binomial_upper

BINS = 20


def class_exposure(scores: ArrayLike, labels: ArrayLike) -> FloatArray:
    """log2 K − log2 rank of the canary label among the K classes of its own example, (n,) in [0, log2 K].

    `scores` are (n, K) and finite, the higher the likelier the class: logits or log probabilities; `labels` (n,) in
    0 … K − 1. Of equal scores that of the label counts as the lowest.
    """
    given, label = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if given.ndim != 2 or given.shape[1] < 2 or not np.isfinite(given).all():
        raise ValueError(f"scores have shape {given.shape}: expected finite numbers (n, K) with K >= 2")
    whole = label.shape == (len(given),) and (label.dtype.kind in "iu" or label.size == 0)
    if not whole or not ((label >= 0) & (label < given.shape[1])).all():
        raise ValueError(
            f"labels have shape {label.shape}: expected {len(given)} whole numbers from 0 to {given.shape[1] - 1}")
    own = given[np.arange(len(given)), label.astype(np.int64)]
    return np.asarray(log2(given.shape[1]) - np.log2((given >= own[:, None]).sum(axis=1)), dtype=np.float64)


def mean_exposure(exposures: ArrayLike) -> Estimate:
    """Mean of exposures (n,) with Student's 95% interval, an approximation; unresolved with fewer than 2."""
    given = finite_scores(exposures, "exposures")
    if given.size < 2:
        return Estimate.unresolved(f"a mean exposure over {given.size} canaries: at least 2 are needed", n=given.size,
                                   unit="canary")
    quantile = float(scipy_module("stats", "an interval of exposure").t.ppf(0.975, given.size - 1))
    mean, half = float(given.mean()), quantile * float(given.std(ddof=1)) / given.size**0.5
    return Estimate(mean, mean - half, mean + half, n=given.size, unit="canary",
                    method="mean of log2 ranks, Student's t")


def memorisation_interval(hits_in: int, n_in: int, hits_out: int, n_out: int, *, level: float = 0.95) -> Estimate:
    """The difference of two shares of n >= 1, with an exact if wide interval: Clopper–Pearson of both, Bonferroni."""
    tail = (1.0 - level) / 4.0
    low = binomial_lower(hits_in, n_in, tail) - binomial_upper(hits_out, n_out, tail)
    high = binomial_upper(hits_in, n_in, tail) - binomial_lower(hits_out, n_out, tail)
    return Estimate(hits_in / n_in - hits_out / n_out, low, high, level=level, n=n_in + n_out, n_pos=n_in, n_neg=n_out,
                    unit="canary", method="difference of two Clopper–Pearson intervals, Bonferroni")


def mean_memorisation(sets: EvaluationSets) -> dict[Truth, Estimate]:
    """How often a model predicts a canary's label, less how often a held-out canary's: at the canary label and at the
    label that was trained on. Unresolved without held-out canaries, or where labels are not known."""
    found: dict[Truth, Estimate] = {}
    truths: tuple[Truth, ...] = ("canary", "trained")
    for truth in truths:
        hits: list[int] = []
        for rows in (sets.canaries, sets.held_out):
            if rows is not None and not (truth == "trained" and (rows.trained == UNKNOWN).any()):
                hits += [int((np.argmax(rows.view.log_p, axis=1) == rows.truth(truth)).sum()), len(rows)]
        found[truth] = (memorisation_interval(*hits) if len(hits) == 4 else Estimate.unresolved(
            "the label is not known of all canaries, or there are no held-out canaries", unit="canary"))
    return found


def exposure_of(sets: EvaluationSets) -> dict[str, Estimate]:
    """Mean exposure of the canary labels among the K classes, in bits, of canaries and of held-out ones."""
    return {name: Estimate.unresolved("there are no held-out canaries", n=0, unit="canary")
            if rows is None else mean_exposure(class_exposure(rows.view.log_p, rows.canary))
            for name, rows in (("canary", sets.canaries), ("control", sets.held_out))}


def histogram_of(sets: EvaluationSets) -> dict[str, Any]:
    """How sure the model is of each canary label: `{"edges" (21), "canary" (20), "control" (20) or None}`, counts.

    Without memory the two are alike, as the labels are drawn by chance.
    """
    edges = np.linspace(0.0, 1.0, BINS + 1)

    def binned(rows: CanaryRows | None) -> list[int] | None:
        if rows is None:
            return None
        p = np.exp(rows.view.log_p[np.arange(len(rows)), rows.canary])
        return [int(one) for one in np.histogram(np.clip(p, 0.0, 1.0), edges)[0]]

    return {"edges": edges.round(10).tolist(), "canary": binned(sets.canaries), "control": binned(sets.held_out)}


def utility_of(table: ScoreTable, target: int) -> dict[str, Any]:
    """`{"train_accuracy": {"trained", "canary", "original"}, "test_accuracy"}` of one model.

    Train accuracy over the rows of the table that it was trained on (canaries and train), against each of the labels;
    test accuracy over those that it was not (heldout and held-out canaries), against the data set's own.
    """
    role, guess = table.canaries.role[target], np.argmax(table.logits[target, :, 0], axis=1)
    inside, outside = np.isin(role, (CANARY, TRAIN)), np.isin(role, (HELDOUT, CONTROL))
    trained = table.canaries.trained[target]

    def accuracy(labels: IntArray, rows: BoolArray) -> Estimate:
        return rate_estimate(int((guess == labels)[rows].sum()), int(rows.sum()), of="rows")

    return {"train_accuracy": {"trained": accuracy(trained, inside & (trained != UNKNOWN)),
                               "canary": accuracy(table.canaries.label[target], inside),
                               "original": accuracy(table.examples.label, inside)},
            "test_accuracy": accuracy(table.examples.label, outside)}
