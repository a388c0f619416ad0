"""ROC curves, sorted once and reweighted as often as needed, and the variance of the area under them.

A ROC curve depends on the scores only through the order of positives and negatives. `RocCore` sorts once and keeps,
for every example, the *step* of the curve that it belongs to: neighbouring scores that hold only positives (or only
negatives) are one step, a score shared by both classes is a step of its own (a diagonal). A bootstrap resample is then
two histograms over steps and a running sum, O(n), from which the area and all operating points come. A higher score
means "positive"; the rule at threshold t is `score >= t`.

DeLong, DeLong & Clarke-Pearson (1988): the placement of a positive is the share of negatives below it (ties one half),
that of a negative the share of positives above it; the AUC is the mean of either, its variance var(positives'
placements) / n₊ + var(negatives') / n₋. Placements come from running sums (Sun & Xu 2014), never from the n₊ × n₋
matrix. With groups (users): Obuchowski (1997), eq. 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray, IntArray
from discreet.stats.arrays import group_codes, same_length, scored_labels, share

CELLS = 1 << 16
"""Cells of a block of resamples (rows × steps, rows × examples): a few arrays of half a megabyte at a time."""


class RocCurve(NamedTuple):
    """Corners of the empirical curve, from (0, 0) at threshold +inf to (1, 1); three arrays of shape (k + 1,)."""

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class RocCore:
    """Sorted scores of n examples of which both classes are present.

    Attributes
    ----------
    thresholds : array (k,)
        Distinct scores, falling.
    level_pos, level_neg : arrays (k,)
        Positives and negatives at each distinct score.
    level_of : array (n,)
        Index into `thresholds` of every example, in the order given.
    rows_pos, rows_neg : arrays (n_pos,), (n_neg,)
        Where positives and negatives stand in the order given.
    """

    thresholds: FloatArray
    level_pos: IntArray
    level_neg: IntArray
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
        first = np.flatnonzero(new)
        pos = np.add.reduceat(truth[order], first, dtype=np.int64)
        neg = np.diff(first, append=truth.size) - pos
        return cls(falling[first], pos, neg, level_of, np.flatnonzero(truth), np.flatnonzero(~truth))

    @cached_property
    def step_of_level(self) -> IntArray:
        """(k,) the step of the curve that each distinct score belongs to."""
        # Neighbouring levels of one class are one step; a level with both classes stays alone.
        kind = (self.level_pos > 0).astype(np.int64) - (self.level_neg > 0)
        return np.concatenate(([0], np.cumsum((kind[1:] != kind[:-1]) | (kind[1:] == 0))))

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

    def steps_of(self, rows: IntArray) -> IntArray:
        """The step of each of the examples `rows`."""
        return self.step_of_level[self.level_of[rows]]

    @cached_property
    def counts(self) -> StepCounts:
        """The sample as it is: one row, each distinct score a step."""
        return StepCounts.of(self.level_pos[None, :], self.level_neg[None, :])

    def auroc(self) -> float:
        """Area under the curve (Mann–Whitney, ties one half)."""
        return float(self.counts.auroc()[0])

    def fpr_at_tpr(self, tpr: float) -> float:
        """Smallest FPR over thresholds whose TPR >= `tpr` in [0, 1]."""
        return float(self.counts.fpr_at_tpr(share(tpr, "tpr"))[0])

    def tpr_at_fpr(self, fpr: float) -> float:
        """Largest TPR over thresholds whose FPR <= `fpr` in [0, 1]."""
        return float(self.counts.tpr_at_fpr(share(fpr, "fpr"))[0])

    def curve(self) -> RocCurve:
        """All corners, ties grouped, one per distinct score."""
        tpr = np.concatenate(([0], self.counts.cum_pos[0])) / self.n_pos
        fpr = np.concatenate(([0], self.counts.cum_neg[0])) / self.n_neg
        return RocCurve(fpr, tpr, np.concatenate(([np.inf], self.thresholds)))

    def midranks(self) -> FloatArray:
        """(k,) the rank of each distinct score among all examples, 1 the lowest, ties averaged."""
        tied = self.level_pos + self.level_neg
        return self.level_of.size - np.cumsum(tied) + (tied + 1) / 2.0

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
        """One row of counts per row of whole-number `weights` (rows, units): equal to repeating rows physically."""
        pos = np.zeros((weights.shape[0], self.n_steps), dtype=np.int64)
        neg = np.zeros_like(pos)
        pos[:, self.steps_pos] = np.add.reduceat(weights.take(self.units_pos, axis=1), self.starts_pos, axis=1)
        neg[:, self.steps_neg] = np.add.reduceat(weights.take(self.units_neg, axis=1), self.starts_neg, axis=1)
        return StepCounts.of(pos, neg)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepCounts:
    """How often each step was drawn, and the statistics of those resamples, each of shape (rows,).

    All four arrays have shape (rows, steps): counts per step in order of falling score, and their running sums.
    Every row must hold at least one positive and one negative. `pos` and `neg` may be reused by the loop that yields
    them.
    """

    pos: IntArray
    neg: IntArray
    cum_pos: IntArray
    cum_neg: IntArray

    @classmethod
    def of(cls, pos: IntArray, neg: IntArray) -> StepCounts:
        """Counts with their running sums."""
        return cls(pos, neg, np.cumsum(pos, axis=1), np.cumsum(neg, axis=1))

    def auroc(self) -> FloatArray:
        """Mann–Whitney U / (n₊ n₋), ties one half; twice U is summed in whole numbers, so exact up to one division."""
        above = np.einsum("bk,bk->b", self.neg, self.cum_pos)
        tied = np.einsum("bk,bk->b", self.neg, self.pos)
        pairs = self.cum_pos[:, -1] * self.cum_neg[:, -1]
        return np.asarray((2 * above - tied) / (2 * pairs), dtype=np.float64)

    def fpr_at_tpr(self, tpr: float) -> FloatArray:
        """Smallest FPR over thresholds whose TPR >= `tpr`."""
        needed = least_count(tpr, self.cum_pos[:, -1])
        first = np.argmax(self.cum_pos >= needed[:, None], axis=1)
        reached = self.cum_neg[np.arange(first.size), first] / self.cum_neg[:, -1]
        # Nothing needed: the threshold +inf, which is no step, passes nobody.
        return np.where(needed <= 0, 0.0, reached)

    def tpr_at_fpr(self, fpr: float) -> FloatArray:
        """Largest TPR over thresholds whose FPR <= `fpr` (the empirical step, no interpolation)."""
        allowed = most_count(fpr, self.cum_neg[:, -1])
        last = (self.cum_neg <= allowed[:, None]).sum(axis=1) - 1
        reached = self.cum_pos[np.arange(last.size), np.maximum(last, 0)] / self.cum_pos[:, -1]
        return np.where(last < 0, 0.0, reached)


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


def auroc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve, P(s₊ > s₋) + ½ P(s₊ = s₋).

    `scores` and `labels` have shape (n,); labels are 0 and 1. ValueError for anything else (NaN, one class).
    """
    return RocCore.of(scores, labels).auroc()


def fpr_at_tpr(scores: ArrayLike, labels: ArrayLike, tpr: float = 0.95) -> float:
    """Smallest false positive rate over thresholds whose true positive rate is at least `tpr` (FPR95, FPR90)."""
    return RocCore.of(scores, labels).fpr_at_tpr(tpr)


def tpr_at_fpr(scores: ArrayLike, labels: ArrayLike, fpr: float = 0.01) -> float:
    """Largest true positive rate over thresholds whose false positive rate is at most `fpr`; no interpolation."""
    return RocCore.of(scores, labels).tpr_at_fpr(fpr)


class AucVariance(NamedTuple):
    """An AUC, its sampling variance and how many independent units of each class stand behind it.

    `units_pos`, `units_neg` are the class sizes; with groups, Kish's effective number (Σ m)² / Σ m² over the groups'
    sizes m within the class. `variance` is never negative, and 0 where every unit has the same placement.
    """

    auc: float
    variance: float
    units_pos: float
    units_neg: float


def placements(core: RocCore) -> tuple[FloatArray, FloatArray]:
    """Placements of the positives (n_pos,) and of the negatives (n_neg,), each in [0, 1], in the order given."""
    below, above = _by_level(core)
    return below[core.level_of[core.rows_pos]], above[core.level_of[core.rows_neg]]


def _by_level(core: RocCore) -> tuple[FloatArray, FloatArray]:
    """At each level the placement of a positive, and that of a negative."""
    below = core.n_neg - core.counts.cum_neg[0] + core.level_neg / 2
    above = core.counts.cum_pos[0] - core.level_pos / 2
    return below / core.n_neg, above / core.n_pos


def auc_variance(core: RocCore, groups: ArrayLike | None = None) -> AucVariance:
    """AUC with DeLong's variance, or Obuchowski's where `groups` (n,) says which examples belong together.

    ValueError where a class has fewer than two units: a single one shows no spread.
    """
    if groups is not None:
        variance = max(0.0, float(auc_covariance([core], groups)[0, 0]))
        unit_of = group_codes(groups, core.level_of.size)
        units = (kish_size(unit_of[rows]) for rows in (core.rows_pos, core.rows_neg))
        return AucVariance(core.auroc(), variance, *units)
    _need_two(core.n_pos, core.n_neg)
    variance = 0.0
    # From counts by level: the order of the examples does not touch the figure, not even in the last bit.
    for placement, count in zip(_by_level(core), (core.level_pos, core.level_neg), strict=True):
        n = int(count.sum())
        centred = placement - float((placement * count).sum()) / n
        variance += float((centred**2 * count).sum()) / (n * (n - 1))
    return AucVariance(core.auroc(), variance, float(core.n_pos), float(core.n_neg))


def auc_covariance(cores: list[RocCore], groups: ArrayLike | None = None) -> FloatArray:
    """Covariance matrix (k, k) of the AUCs of k scores on the same examples."""
    first = cores[0]
    n = first.level_of.size
    for core in cores[1:]:
        same_length(core.level_of, n, "scores")
        if not np.array_equal(core.rows_pos, first.rows_pos):
            raise ValueError("scores are compared on the same examples: expected equal labels in equal order")
    unit_of = None if groups is None else group_codes(groups, n)
    # Per unit and class the sum of (placement − AUC) / class size, (k, units), and the units that hold the class.
    sums, held = [], []
    for rows, values in zip((first.rows_pos, first.rows_neg), zip(*map(placements, cores), strict=True), strict=True):
        centred = np.stack(values)
        centred -= centred.mean(axis=1, keepdims=True)
        centred /= rows.size
        if unit_of is not None:
            n_units = int(unit_of.max()) + 1
            centred = np.stack([np.bincount(unit_of[rows], weights=row, minlength=n_units) for row in centred])
        sums.append(centred)
        held.append(rows.size if unit_of is None else np.unique(unit_of[rows]).size)
    (pos, neg), (n_pos, n_neg) = sums, held
    _need_two(n_pos, n_neg)
    covariance = n_pos / (n_pos - 1) * (pos @ pos.T) + n_neg / (n_neg - 1) * (neg @ neg.T)
    if groups is not None:
        cross = pos @ neg.T
        covariance = covariance + n_units / (n_units - 1) * (cross + cross.T)
    return np.asarray(covariance, dtype=np.float64)


def _need_two(n_pos: int, n_neg: int) -> None:
    if min(n_pos, n_neg) < 2:
        raise ValueError(f"{n_pos} units hold positives and {n_neg} negatives: a variance needs 2 each or more")


def kish_size(unit_of: IntArray) -> float:
    """Kish's effective number of units of sizes m, (Σ m)² / Σ m², from the unit of each example (n,)."""
    sizes = np.bincount(unit_of).astype(np.float64)
    return float(unit_of.size**2 / (sizes**2).sum())
