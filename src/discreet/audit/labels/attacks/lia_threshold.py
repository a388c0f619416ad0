"""LIA-Threshold (label-inference paper, Algorithm 1), and its form for K classes, which the paper has not.

Two classes: class 1 where the target's probability of it reaches τ. K classes: the likeliest class, as it is or against
how likely that class is over all rows; for two classes, with a mean or median to subtract, p₁ − τ >= p₀ − (1 − τ) just
where p₁ >= τ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from discreet.audit.labels.attacker_view import Family, Guesses, LabelAttack, View, label_attacks
from discreet.core.types import FloatArray

Threshold = Literal["fixed", "mean", "median"]
THRESHOLDS: tuple[Threshold, ...] = get_args(Threshold)

FIXED = 0.5
NEAREST = 1e-12
"""τ as it enters the confidence lies so far from 0 and 1 at the least."""
CUTS = (FIXED, *(cut / 50.0 for cut in range(1, 50) if cut != 25))
"""Thresholds that are tried in tuning."""


@dataclass(frozen=True, slots=True)
class LiaThreshold(LabelAttack):
    """Guess 1 where p₁ >= τ, else 0; two classes. Confidence is how far the log odds of p₁ are from those of τ.

    Parameters
    ----------
    threshold : "fixed", "mean", "median" or a number in [0, 1]
        τ: ½, the mean or the median of p₁ over the rows at hand, or a number that was tuned on other rows.
    """

    threshold: Threshold | float = "fixed"

    name: ClassVar[str] = "lia_threshold"

    def __post_init__(self) -> None:
        known = self.threshold in THRESHOLDS if isinstance(self.threshold, str) else 0.0 <= self.threshold <= 1.0
        if not known:
            raise ValueError(f"threshold is {self.threshold!r}: expected fixed, mean, median or a number from 0 to 1")

    @property
    def classes(self) -> int | None:
        """Two."""
        return 2

    def guess(self, view: View) -> Guesses:
        """A guess for every row. ValueError for another number of classes than two."""
        if view.n_classes != 2:
            raise ValueError(f"outputs of {view.n_classes} classes: expected two")
        p1 = np.exp(view.log_p[:, 1])
        tau = float(np.mean(p1) if self.threshold == "mean" else np.median(p1) if self.threshold == "median" else FIXED
                    if self.threshold == "fixed" else self.threshold)
        odds = view.log_p[:, 1] - view.log_p[:, 0]
        inside = min(max(tau, NEAREST), 1.0 - NEAREST)
        return Guesses((p1 >= tau).astype(np.int64), np.abs(odds - np.log(inside) + np.log1p(-inside)))


@dataclass(frozen=True, slots=True)
class Likeliest(LabelAttack):
    """Guess the class with the largest p_k − τ_k; of equals the last, as p₁ >= τ does.

    τ_k is 1 / K ("fixed"), the mean or the median of p_k over the rows at hand. Confidence is the gap to the second.
    """

    threshold: Threshold = "fixed"

    name: ClassVar[str] = "likeliest"

    def __post_init__(self) -> None:
        if self.threshold not in THRESHOLDS:
            raise ValueError(f"threshold is {self.threshold!r}: expected fixed, mean or median")

    def guess(self, view: View) -> Guesses:
        """A guess for every row."""
        p = np.exp(view.log_p)
        if self.threshold == "fixed":
            return best_class(p)
        return best_class(p - (p.mean(axis=0) if self.threshold == "mean" else np.median(p, axis=0)))


def best_class(scores: FloatArray) -> Guesses:
    """The class with the largest of (n, K) finite scores, of equals the last; confidence is its lead."""
    last = scores.shape[1] - 1
    ordered = np.sort(scores, axis=1)
    return Guesses(last - np.argmax(scores[:, ::-1], axis=1).astype(np.int64), ordered[:, -1] - ordered[:, -2])


label_attacks.register("lia_threshold")(Family(lambda k: map(LiaThreshold, THRESHOLDS if k == 2 else ())))
# Of two classes LIA-Threshold says the same.
label_attacks.register("likeliest")(Family(lambda k: map(Likeliest, THRESHOLDS if k > 2 else ())))
