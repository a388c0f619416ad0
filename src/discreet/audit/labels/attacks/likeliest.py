"""The likeliest class, as it is or against how likely that class is over all rows: LIA-Threshold for K classes.

For two classes, with a mean or median to subtract, p₁ − τ >= p₀ − (1 − τ) just where p₁ >= τ: the paper's attack
(Algorithm 1), which has no other form there. The paper has none for K > 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.audit.labels.view import Guesses, LabelAttack, Settings, View, label_attacks
from discreet.core.types import FloatArray

Threshold = Literal["fixed", "mean", "median"]


@dataclass(frozen=True, slots=True)
class Likeliest:
    """Guess the class with the largest p_k − τ_k; of equals the last, as p₁ >= τ does.

    τ_k is 1 / K ("fixed"), the mean or the median of p_k over the rows at hand. Confidence is the gap to the second.
    """

    threshold: Threshold = "fixed"

    access: ClassVar[Literal["outputs"]] = "outputs"
    classes: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        if self.threshold not in ("fixed", "mean", "median"):
            raise ValueError(f"threshold is {self.threshold!r}: expected fixed, mean or median")

    @property
    def settings(self) -> Settings:
        """Attack and threshold."""
        return Settings("likeliest", threshold=self.threshold)

    def needs(self, view: View) -> str | None:
        """Nothing but outputs."""
        return None

    def guess(self, view: View) -> Guesses:
        """A guess for every row."""
        p = np.exp(view.log_p)
        if self.threshold == "mean":
            p = p - p.mean(axis=0)
        elif self.threshold == "median":
            p = p - np.median(p, axis=0)
        return best_class(p)


def best_class(scores: FloatArray) -> Guesses:
    """The class with the largest of (n, K) finite scores, of equals the last; confidence is its lead over the second.
    """
    last = scores.shape[1] - 1
    ordered = np.sort(scores, axis=1)
    return Guesses(last - np.argmax(scores[:, ::-1], axis=1).astype(np.int64), ordered[:, -1] - ordered[:, -2])


@label_attacks.register("likeliest")
class Likeliests:
    """For more than two classes; of two, LIA-Threshold says the same."""

    def variants(self, n_classes: int) -> tuple[LabelAttack, ...]:
        """Fixed, mean and median for more than two classes."""
        return tuple(Likeliest(kind) for kind in ("fixed", "mean", "median")) if n_classes > 2 else ()
