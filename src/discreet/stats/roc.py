"""ROC curves: sort once, reweight as often as needed.

A ROC curve depends on the scores only through the order of positives and negatives. `RocCore` sorts once and keeps,
for every example, the *step* of the curve that it belongs to: neighbouring scores that hold only positives (or only
negatives) are one step, since no corner of the curve lies between them, and a score shared by both classes is a
step of its own (a diagonal). A bootstrap resample is then two histograms over steps and a running sum, O(n), and the
area and all operating points come from the same pass.

A higher score means "positive". The rule at threshold t is `score >= t`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.arrays import scored_labels, share


class RocCurve(NamedTuple):
    """Corners of the empirical curve, from (0, 0) at threshold +inf to (1, 1); three arrays of shape (k + 1,)."""

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RocCore:
    """Sorted scores of n examples of which both classes are present.

    Attributes
    ----------
    thresholds : array (k,)
        Distinct scores, falling.
    level_pos, level_neg : arrays (k,)
        Positives and negatives at each distinct score.
    step_of_level : array (k,)
        The step of the curve that each distinct score belongs to.
    level_of : array (n,)
        Index into `thresholds` of every example, in the order given.
    rows_pos, rows_neg : arrays (n_pos,), (n_neg,)
        Where positives and negatives stand in the order given.
    """

    thresholds: FloatArray
    level_pos: IntArray
    level_neg: IntArray
    step_of_level: IntArray
    level_of: IntArray
    rows_pos: IntArray
    rows_neg: IntArray

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike) -> RocCore:
        """Sort `scores` (n,) with `labels` (n,) in {0, 1}. ValueError for NaN, other labels, a missing class."""
        values, truth = scored_labels(scores, labels)
        n_pos = int(truth.sum())
        if n_pos in (0, truth.size):
            raise ValueError(f"labels hold {n_pos} positives of {truth.size}: expected both classes")
        order = np.argsort(-values)
        falling = values[order]
        new = np.concatenate(([True], falling[1:] != falling[:-1]))
        level_of = np.empty(truth.size, dtype=np.int64)
        level_of[order] = np.cumsum(new) - 1
        thresholds = falling[new]
        level_pos = np.bincount(level_of[truth], minlength=thresholds.size)
        level_neg = np.bincount(level_of[~truth], minlength=thresholds.size)
        return cls(
            thresholds, level_pos, level_neg, _steps(level_pos, level_neg), level_of,
            np.flatnonzero(truth), np.flatnonzero(~truth),
        )

    @property
    def n_pos(self) -> int:
        """Number of positives."""
        return self.rows_pos.size

    @property
    def n_neg(self) -> int:
        """Number of negatives."""
        return self.rows_neg.size

    @property
    def n_steps(self) -> int:
        """Number of steps of the curve."""
        return int(self.step_of_level[-1]) + 1

    @property
    def labels(self) -> BoolArray:
        """The labels, in the order given."""
        truth = np.zeros(self.level_of.size, dtype=np.bool_)
        truth[self.rows_pos] = True
        return truth

    def steps_of(self, rows: IntArray) -> IntArray:
        """The step of each of the examples `rows`."""
        return self.step_of_level[self.level_of[rows]]

    def counts(self) -> StepCounts:
        """The sample as it is: one row."""
        pos = np.bincount(self.step_of_level, weights=self.level_pos, minlength=self.n_steps).astype(np.int64)
        neg = np.bincount(self.step_of_level, weights=self.level_neg, minlength=self.n_steps).astype(np.int64)
        return StepCounts.of(pos[None, :], neg[None, :])

    def reweight(self, weights: ArrayLike) -> Iterator[StepCounts]:
        """Blocks of rows under whole-number weights per example, without sorting again.

        `weights` has shape (B, n) in the order given to `of`: how often each example stands in each of B resamples.
        Equal to repeating the rows physically. ValueError if a row leaves a class empty.
        """
        given = np.asarray(weights)
        n = self.level_of.size
        if given.ndim != 2 or given.shape[1] != n:
            raise ValueError(f"weights have shape {given.shape}: expected (resamples, {n})")
        if given.dtype.kind not in "biu" or (given.size and given.min() < 0):
            raise ValueError(f"weights of type {given.dtype} must be whole numbers >= 0")
        rows = max(1, CELLS // n)
        reweighting = Reweighting.of(self, np.arange(n))
        for start in range(0, given.shape[0], rows):
            step_counts = reweighting.counts(given[start : start + rows].astype(np.int64))
            empty = np.flatnonzero((step_counts.cum_pos[:, -1] == 0) | (step_counts.cum_neg[:, -1] == 0))
            if empty.size:
                raise ValueError(f"weights[{start + empty[0]}] leave a class empty: expected both in every row")
            yield step_counts

    def auroc(self) -> float:
        """Area under the curve (Mann–Whitney, ties one half)."""
        return float(self.counts().auroc()[0])

    def fpr_at_tpr(self, tpr: float) -> float:
        """Smallest FPR over thresholds whose TPR >= `tpr` in [0, 1]."""
        return float(self.counts().fpr_at_tpr(share(tpr, "tpr"))[0])

    def tpr_at_fpr(self, fpr: float) -> float:
        """Largest TPR over thresholds whose FPR <= `fpr` in [0, 1]."""
        return float(self.counts().tpr_at_fpr(share(fpr, "fpr"))[0])

    def curve(self) -> RocCurve:
        """All corners, ties grouped, one per distinct score."""
        tpr = np.concatenate(([0], np.cumsum(self.level_pos))) / self.n_pos
        fpr = np.concatenate(([0], np.cumsum(self.level_neg))) / self.n_neg
        return RocCurve(fpr, tpr, np.concatenate(([np.inf], self.thresholds)))

    def threshold_at_tpr(self, tpr: float) -> float:
        """Highest threshold whose TPR >= `tpr`."""
        curve = self.curve()
        return float(curve.thresholds[np.flatnonzero(curve.tpr >= share(tpr, "tpr"))[0]])


class Reweighting(NamedTuple):
    """Sums the weights of units over the steps of a core. Units are examples, or groups of examples.

    `units_pos` and `units_neg` name the unit of each example of a class in step order; `starts_…` say where in that
    order each of the steps `steps_…` begins.
    """

    n_steps: int
    units_pos: IntArray
    starts_pos: IntArray
    steps_pos: IntArray
    units_neg: IntArray
    starts_neg: IntArray
    steps_neg: IntArray

    @classmethod
    def of(cls, core: RocCore, unit_of: IntArray) -> Reweighting:
        """Sort once: `unit_of` (n,) holds the unit of every example, in the order given to the core."""
        parts: list[IntArray] = []
        for rows in (core.rows_pos, core.rows_neg):
            step = core.steps_of(rows)
            order = np.argsort(step, kind="stable")
            steps, starts = np.unique(step[order], return_index=True)
            parts += [unit_of[rows[order]], starts, steps]
        return cls(core.n_steps, *parts)

    def counts(self, weights: IntArray) -> StepCounts:
        """One row of counts per row of `weights` (rows, units)."""
        pos = np.zeros((weights.shape[0], self.n_steps), dtype=np.int64)
        neg = np.zeros_like(pos)
        pos[:, self.steps_pos] = np.add.reduceat(weights.take(self.units_pos, axis=1), self.starts_pos, axis=1)
        neg[:, self.steps_neg] = np.add.reduceat(weights.take(self.units_neg, axis=1), self.starts_neg, axis=1)
        return StepCounts.of(pos, neg)


def _steps(level_pos: IntArray, level_neg: IntArray) -> IntArray:
    """Join neighbouring levels of one class; a level with both classes stays alone."""
    kind = (level_pos > 0).astype(np.int64) - (level_neg > 0)
    new = (kind[1:] != kind[:-1]) | (kind[1:] == 0)
    return np.concatenate(([0], np.cumsum(new)))


def auroc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve, P(s₊ > s₋) + ½ P(s₊ = s₋).

    `scores` and `labels` have shape (n,); labels are 0 and 1. ValueError for anything else (NaN, one class).
    """
    return RocCore.of(scores, labels).auroc()


def roc_curve(scores: ArrayLike, labels: ArrayLike) -> RocCurve:
    """The empirical curve with every distinct score as a corner, from (0, 0) at +inf to (1, 1)."""
    return RocCore.of(scores, labels).curve()


def fpr_at_tpr(scores: ArrayLike, labels: ArrayLike, tpr: float = 0.95) -> float:
    """Smallest false positive rate over thresholds whose true positive rate is at least `tpr` (FPR95, FPR90)."""
    return RocCore.of(scores, labels).fpr_at_tpr(tpr)


def tpr_at_fpr(scores: ArrayLike, labels: ArrayLike, fpr: float = 0.01) -> float:
    """Largest true positive rate over thresholds whose false positive rate is at most `fpr`; no interpolation."""
    return RocCore.of(scores, labels).tpr_at_fpr(fpr)


def weighted_tpr_at_fpr(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike, fpr: float = 0.01) -> FloatArray:
    """`tpr_at_fpr` under each of B rows of whole-number weights (B, n); shape (B,)."""
    target = share(fpr, "fpr")
    blocks = [block.tpr_at_fpr(target) for block in RocCore.of(scores, labels).reweight(weights)]
    return np.concatenate(blocks) if blocks else np.zeros(0)


CELLS = 1 << 16
"""Cells of a block of resamples (rows × steps, rows × examples): a few arrays of half a megabyte at a time."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepCounts:
    """How often each step was drawn, and the statistics of those resamples.

    All four arrays have shape (rows, steps): counts per step in order of falling score, and their running sums.
    Every row must hold at least one positive and one negative. Buffers may be reused by the loop that yields them.
    """

    pos: IntArray
    neg: IntArray
    cum_pos: IntArray
    cum_neg: IntArray

    @classmethod
    def of(cls, pos: IntArray, neg: IntArray) -> StepCounts:
        """Counts with their running sums."""
        return cls(pos, neg, np.cumsum(pos, axis=1), np.cumsum(neg, axis=1))

    @classmethod
    def empty(cls, rows: int, steps: int) -> StepCounts:
        """Buffers to be filled; call `sum` after every filling."""
        return cls(*(np.zeros((rows, steps), dtype=np.int64) for _ in range(4)))

    def sum(self) -> StepCounts:
        """Renew the running sums in place."""
        np.cumsum(self.pos, axis=1, out=self.cum_pos)
        np.cumsum(self.neg, axis=1, out=self.cum_neg)
        return self

    def auroc(self) -> FloatArray:
        """Mann–Whitney U / (n₊ n₋) of each row, ties counted one half; shape (rows,).

        Twice U is summed in whole numbers, so the value is exact up to one division.
        """
        above = np.einsum("bk,bk->b", self.neg, self.cum_pos)
        tied = np.einsum("bk,bk->b", self.neg, self.pos)
        pairs = self.cum_pos[:, -1] * self.cum_neg[:, -1]
        return np.asarray((2 * above - tied) / (2 * pairs), dtype=np.float64)

    def fpr_at_tpr(self, tpr: float) -> FloatArray:
        """Smallest FPR over thresholds whose TPR >= `tpr`; shape (rows,)."""
        needed = least_count(tpr, self.cum_pos[:, -1])
        first = np.argmax(self.cum_pos >= needed[:, None], axis=1)
        reached = self.cum_neg[self._rows(), first] / self.cum_neg[:, -1]
        # Nothing needed: the threshold +inf, which is no step, passes nobody.
        return np.where(needed <= 0, 0.0, reached)

    def tpr_at_fpr(self, fpr: float) -> FloatArray:
        """Largest TPR over thresholds whose FPR <= `fpr` (the empirical step, no interpolation); shape (rows,)."""
        allowed = most_count(fpr, self.cum_neg[:, -1])
        last = (self.cum_neg <= allowed[:, None]).sum(axis=1) - 1
        reached = self.cum_pos[self._rows(), np.maximum(last, 0)] / self.cum_pos[:, -1]
        return np.where(last < 0, 0.0, reached)

    def _rows(self) -> IntArray:
        return np.arange(self.pos.shape[0])


def least_count(rate: float, total: IntArray) -> IntArray:
    """Smallest whole k with k / total >= rate, comparing the quotient itself (.55 of 100 is 55, not 56)."""
    k = np.ceil(rate * total).astype(np.int64)
    k = k - ((k - 1) / total >= rate)
    return np.asarray(k + (k / total < rate), dtype=np.int64)


def most_count(rate: float, total: IntArray) -> IntArray:
    """Largest whole k with k / total <= rate."""
    k = np.floor(rate * total).astype(np.int64)
    k = k + ((k + 1) / total <= rate)
    return np.asarray(k - (k / total > rate), dtype=np.int64)
