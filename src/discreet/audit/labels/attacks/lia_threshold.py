"""LIA-Threshold (label-inference paper, Algorithm 1): class 1 where the target's probability of it reaches τ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.audit.labels.view import Guesses, LabelAttack, Settings, View, label_attacks
from discreet.core.types import FloatArray, IntArray

Threshold = Literal["fixed", "mean", "median"]

FIXED = 0.5
NEAREST = 1e-12
"""τ as it enters the confidence lies so far from 0 and 1 at the least."""


@dataclass(frozen=True, slots=True)
class LiaThreshold:
    """Guess 1 where p₁ >= τ, else 0; two classes.

    Parameters
    ----------
    threshold : "fixed", "mean", "median" or a number in [0, 1]
        τ: ½, the mean or the median of p₁ over the rows at hand, or a number that was tuned on other rows.

    Confidence is how far the log odds of p₁ are from those of τ.
    """

    threshold: Threshold | float = "fixed"

    access: ClassVar[Literal["outputs"]] = "outputs"
    classes: ClassVar[int | None] = 2

    def __post_init__(self) -> None:
        known = self.threshold in ("fixed", "mean", "median") if isinstance(self.threshold, str) else (
            0.0 <= self.threshold <= 1.0)
        if not known:
            raise ValueError(f"threshold is {self.threshold!r}: expected fixed, mean, median or a number from 0 to 1")

    @property
    def settings(self) -> Settings:
        """Attack and threshold."""
        return Settings("lia_threshold", threshold=self.threshold)

    def needs(self, view: View) -> str | None:
        """Nothing but outputs."""
        return None

    def guess(self, view: View) -> Guesses:
        """A guess for every row. ValueError for another number of classes than two."""
        if view.n_classes != 2:
            raise ValueError(f"outputs of {view.n_classes} classes: expected two")
        p1 = np.exp(view.log_p[:, 1])
        tau = self._tau(p1)
        odds = view.log_p[:, 1] - view.log_p[:, 0]
        inside = min(max(tau, NEAREST), 1.0 - NEAREST)
        return Guesses((p1 >= tau).astype(np.int64), np.abs(odds - np.log(inside) + np.log1p(-inside)))

    def _tau(self, p1: FloatArray) -> float:
        if isinstance(self.threshold, float | int):
            return float(self.threshold)
        return {"fixed": lambda: FIXED, "mean": lambda: float(np.mean(p1)),
                "median": lambda: float(np.median(p1))}[self.threshold]()


def best_threshold(p1: FloatArray, labels: IntArray) -> float:
    """The τ in [0, 1] with most of `labels` (n,) in {0, 1} right for `p1 >= τ`: for rows on which nothing is reported.

    Of equally good ones the nearest to ½. Halfway between neighbours of the sorted p₁, or an end. ValueError for n = 0.
    """
    if p1.ndim != 1 or p1.size == 0 or labels.shape != p1.shape:
        raise ValueError(f"p1 has shape {p1.shape} and labels {labels.shape}: expected (n,) of both, n >= 1")
    order = np.argsort(p1, kind="stable")
    ranked = p1[order]
    ones = labels[order] == 1
    # A cut at place j guesses 0 for the j smallest.
    right = np.concatenate(([0], np.cumsum(~ones))) + np.concatenate((np.cumsum(ones[::-1])[::-1], [0]))
    middle = (ranked[1:] + ranked[:-1]) / 2.0
    cuts = np.concatenate(([0.0], np.where(middle > ranked[:-1], middle, ranked[1:]), [1.0]))
    # Equal probabilities cannot be cut apart, and 1 reaches every τ.
    possible = np.concatenate(([True], ranked[1:] > ranked[:-1], [ranked[-1] < 1.0]))
    right = np.where(possible, right, -1)
    best = np.flatnonzero(right == right.max())
    return float(cuts[best[np.argmin(np.abs(cuts[best] - FIXED))]])


@label_attacks.register("lia_threshold")
class LiaThresholds:
    """All three types of the paper."""

    def variants(self, n_classes: int) -> tuple[LabelAttack, ...]:
        """Fixed, mean and median for two classes."""
        return tuple(LiaThreshold(kind) for kind in ("fixed", "mean", "median")) if n_classes == 2 else ()
