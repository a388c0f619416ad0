"""The units of an audit, and operating points of many scores on the same examples under the same bootstrap resamples.

Only the top of each ranking decides the TPR at a small FPR, so each resample reads that part alone; one set of
resamples serves all scores, which makes their differences paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt

import numpy as np
from numpy.random import Generator

from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import ScoreTable
from discreet.stats import bootstrap_weights
from discreet.stats.roc import most_count


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is counted, permuted and resampled: examples, or the groups that they belong to.

    `users` is whether the groups are users or documents, and not near-duplicate texts.
    """

    group: IntArray | None
    users: bool = True

    @classmethod
    def of(cls, table: ScoreTable) -> Units:
        """Of a table."""
        return cls(table.examples.group, table.examples.has_users)

    @property
    def name(self) -> str:
        """For `Estimate.unit`."""
        return "example" if self.group is None else "group"

    def at(self, rows: IntArray) -> IntArray | None:
        """Group codes of `rows`."""
        return None if self.group is None else self.group[rows]

    def means(self, scores: FloatArray, rows: IntArray, truth: BoolArray) -> tuple[FloatArray, BoolArray]:
        """The mean score of each unit among `rows` (m,) with `truth` (m,), and its truth; rows without groups."""
        if self.group is None:
            return scores[rows], truth
        codes, place, counts = np.unique(self.group[rows] * 2 + truth, return_inverse=True, return_counts=True)
        return np.bincount(place.reshape(-1), weights=scores[rows]) / counts, codes % 2 == 1


@dataclass(frozen=True, slots=True, eq=False)
class Tops:
    """The best-scored part of a sample by each of k scores, positives and negatives apart.

    Attributes
    ----------
    negatives : (k, t) int array
        The t negatives with the highest scores, scores falling.
    above : (k, t + 1) int array
        How many positives score higher than each of `negatives`; the last is all that are kept.
    positives : (p,) int array
        The positives, scores falling, one score behind the other.
    start : (k,) int array
        Where the positives of each score begin.
    whole : bool
        Whether that is the entire sample.
    """

    negatives: IntArray
    above: IntArray
    positives: IntArray
    start: IntArray
    whole: bool

    @classmethod
    def of(cls, scores: Sequence[FloatArray], member: BoolArray, n_negatives: int) -> Tops:
        """The part that holds `n_negatives` of the negatives and every positive that scores higher."""
        pos, neg = np.flatnonzero(member), np.flatnonzero(~member)
        whole = n_negatives >= neg.size
        negatives, above, positives = [], [], []
        for one in scores:
            found = neg[np.argsort(-one[neg])[:n_negatives]]
            higher = pos if whole else pos[one[pos] > one[found[-1]]]
            higher = higher[np.argsort(-one[higher])]
            negatives.append(found)
            above.append(np.append(np.searchsorted(-one[higher], -one[found], side="left"), higher.size))
            positives.append(higher)
        sizes = [higher.size for higher in positives]
        return cls(np.stack(negatives), np.stack(above), np.concatenate(positives), np.cumsum([0, *sizes[:-1]]), whole)

    def tpr(self, weights: IntArray, allowed: IntArray, n_pos: IntArray) -> FloatArray | None:
        """(k, f, b) under weights (b, n) of all examples, where `allowed` (f, b) negatives may pass.

        `n_pos` (b,) or (1,) are all positives drawn. None where this part does not reach far enough.
        """
        rows = np.arange(weights.shape[0])[:, None]
        drawn = np.cumsum(weights.take(self.negatives, axis=1), axis=2)
        if not self.whole and (drawn[..., -1] <= allowed.max(axis=0)[:, None]).any():
            return None
        # The threshold stands just above the first negative that is one too many: ties with it stay below.
        within = np.stack([(drawn <= most[:, None, None]).sum(axis=2) for most in allowed])
        upto = self.start + self.above[np.arange(self.start.size), within]
        passed = np.zeros((rows.size, self.positives.size + 1), dtype=np.int64)
        np.cumsum(weights.take(self.positives, axis=1), axis=1, out=passed[:, 1:])
        found = (passed[rows, upto] - passed[rows, self.start]) / n_pos[:, None]
        return np.asarray(np.moveaxis(found, 2, 0), dtype=np.float64)


def joint_tpr(
    scores: Sequence[FloatArray], member: BoolArray, fprs: Sequence[float], rng: Generator, *,
    n_resamples: int = 1000, groups: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """TPR at each empirical FPR for k scores (n,): as they are (k, f), and under shared resamples (k, f, n_resamples).

    Resamples are stratified by membership, groups are drawn whole (`discreet.stats.bootstrap_weights`). The TPR is the
    largest over thresholds whose FPR is at most the one asked for, as in `discreet.stats.tpr_at_fpr`.
    """
    n_pos, n_neg = int(member.sum()), int((~member).sum())
    reach = max(fprs) * n_neg
    top = Tops.of(scores, member, int(reach + 8 * sqrt(reach + 1) + 8))
    as_it_is = np.ones((1, member.size), dtype=np.int64)
    resampled = bootstrap_weights(member.size, rng, n_resamples=n_resamples, strata=member, groups=groups)
    parts = []
    for weights in chain([as_it_is], resampled):
        drawn = np.array([n_pos]), np.array([n_neg])
        if groups is not None:  # else as many members and non-members as there are
            drawn = weights.sum(axis=1, where=member), weights.sum(axis=1, where=~member)
        allowed = np.stack([np.broadcast_to(most_count(fpr, drawn[1]), weights.shape[:1]) for fpr in fprs])
        found = top.tpr(weights, allowed, drawn[0])
        if found is None:
            # Large groups may do so again and again: from here on everything is read.
            top = Tops.of(scores, member, n_neg)
            found = top.tpr(weights, allowed, drawn[0])
            assert found is not None
        parts.append(found)
    found = np.concatenate(parts, axis=2)
    return found[..., 0], found[..., 1:]
