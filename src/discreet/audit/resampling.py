"""Operating points of many scores on the same examples, under the same bootstrap resamples.

Only the top of each ranking decides the TPR at a small FPR, so each resample reads that part alone; one set of
resamples serves all scores, which makes their differences paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.random import Generator

from discreet.audit.table import BoolArray, FloatArray, IntArray
from discreet.stats import bootstrap_weights
from discreet.stats.steps import most_count


@dataclass(frozen=True, slots=True, eq=False)
class Top:
    """The best-scored part of a sample.

    Attributes
    ----------
    rows : (t,) int array
        Examples of the highest scores, falling, whole levels only.
    ends : (l,) int array
        Last place in `rows` of each distinct score.
    member : (t,) bool array
    whole : bool
        Whether that is the entire sample.
    """

    rows: IntArray
    ends: IntArray
    member: BoolArray
    whole: bool

    @classmethod
    def of(cls, scores: FloatArray, member: BoolArray, n_negatives: int) -> Top:
        """The part that holds the `n_negatives` highest negatives, ties included."""
        negatives = scores[~member]
        least = -np.inf
        if n_negatives < negatives.size:
            least = np.partition(negatives, negatives.size - n_negatives)[negatives.size - n_negatives]
        rows = np.flatnonzero(scores >= least)
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        falling = scores[rows]
        ends = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
        return cls(rows, ends, member[rows], rows.size == scores.size)

    def tpr(self, weights: IntArray, fprs: Sequence[float], n_pos: IntArray, n_neg: IntArray) -> FloatArray | None:
        """(len(fprs), b) under weights (b, n) of all examples; None where this part does not reach far enough."""
        drawn = weights.take(self.rows, axis=1)
        cum = np.cumsum(drawn, axis=1)
        cum_pos = np.cumsum(drawn * self.member, axis=1)
        cum_neg = cum - cum_pos
        if self.ends.size < self.rows.size:
            cum_pos, cum_neg = cum_pos[:, self.ends], cum_neg[:, self.ends]
        found = np.zeros((len(fprs), weights.shape[0]))
        for at, fpr in enumerate(fprs):
            allowed = most_count(fpr, n_neg)
            if not self.whole and (cum_neg[:, -1] <= allowed).any():
                return None
            for row, most in enumerate(allowed):
                within = int(np.searchsorted(cum_neg[row], most, side="right"))
                if within:
                    found[at, row] = cum_pos[row, within - 1] / n_pos[row]
        return found


def joint_tpr(
    scores: Sequence[FloatArray], member: BoolArray, fprs: Sequence[float], rng: Generator, *,
    n_resamples: int = 1000, groups: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """TPR at each empirical FPR for k scores (n,): as they are (k, f), and under shared resamples (k, f, n_resamples).

    Resamples are stratified by side, groups are drawn whole (`discreet.stats.bootstrap_weights`). The TPR is the
    largest over thresholds whose FPR is at most the one asked for, as in `discreet.stats.tpr_at_fpr`.
    """
    n_neg = int((~member).sum())
    reach = max(fprs) * n_neg
    parts = [Top.of(one, member, int(reach + 8 * sqrt(reach + 1) + 8)) for one in scores]
    everyone = np.ones((1, member.size), dtype=np.int64)
    sizes = (everyone.sum(axis=1, where=member), everyone.sum(axis=1, where=~member))
    points = np.stack([_tpr(top, one, everyone, member, fprs, *sizes)[:, 0]
                       for top, one in zip(parts, scores, strict=True)])
    draws = np.empty((len(scores), len(fprs), n_resamples))
    done = 0
    for weights in bootstrap_weights(member.size, rng, n_resamples=n_resamples, strata=member, groups=groups):
        upto = done + weights.shape[0]
        drawn = (weights.sum(axis=1, where=member), weights.sum(axis=1, where=~member))
        for place, (top, one) in enumerate(zip(parts, scores, strict=True)):
            draws[place, :, done:upto] = _tpr(top, one, weights, member, fprs, *drawn)
        done = upto
    return points, draws


def _tpr(
    top: Top, scores: FloatArray, weights: IntArray, member: BoolArray, fprs: Sequence[float], n_pos: IntArray,
    n_neg: IntArray,
) -> FloatArray:
    found = top.tpr(weights, fprs, n_pos, n_neg)
    if found is None:
        found = Top.of(scores, member, member.size).tpr(weights, fprs, n_pos, n_neg)
        assert found is not None
    return found
