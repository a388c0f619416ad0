"""K-ary randomised response (Warner 1965; Ghazi et al. 2021, "Deep learning with label differential privacy", §2).

The label is kept with probability e^ε / (e^ε + K − 1), else replaced by one of the *other* K − 1, each alike:
P(z | y) is e^ε / (e^ε + K − 1) for z = y and 1 / (e^ε + K − 1) for any other z. ε is exact. A lie drawn from all K
classes is another mechanism with a larger ε, see `rr_halved`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray, IntArray
from discreet.mechanisms.labels.base import (
    LabelMechanism,
    checked_labels,
    label_mechanisms,
    symmetric,
    truth_probability,
)


def randomised_response(labels: ArrayLike, truth: float, n_classes: int, rng: Generator) -> IntArray:
    """Labels (N,) in 0 … K − 1, each kept with probability `truth` in [0, 1], else one of the other K − 1."""
    given = checked_labels(labels, n_classes)
    kept = rng.random(given.size) < truth
    other = (given + rng.integers(1, n_classes, given.size)) % n_classes
    return np.where(kept, given, other)


@label_mechanisms.register("rr")
@dataclass(frozen=True)
class RandomisedResponse(LabelMechanism):
    """K-ary randomised response at `epsilon` above 0 over `n_classes` >= 2; ValueError for others."""

    def apply(self, labels: ArrayLike, rng: Generator, prior: ArrayLike | None = None) -> IntArray:
        """The labels to train on, (N,)."""
        return randomised_response(labels, truth_probability(self.epsilon, self.n_classes), self.n_classes, rng)

    def transition(self, prior: ArrayLike | None = None) -> FloatArray:
        """(K, K); the prior plays no part."""
        return symmetric(truth_probability(self.epsilon, self.n_classes), self.n_classes)
