"""Counts of positives and negatives over the steps of a ROC curve, many resamples at a time, and what follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.stats.arrays import FloatArray, IntArray

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
