"""K-ary randomised response (Warner 1965; Ghazi et al. 2021, "Deep learning with label differential privacy", §2).

The label is kept with probability e^ε / (e^ε + K − 1), else replaced by one of the *other* K − 1, each alike:
P(z | y) is e^ε / (e^ε + K − 1) for z = y and 1 / (e^ε + K − 1) for any other z. ε is exact. A lie drawn from all K
classes is another mechanism with a larger ε, see `HalvedRandomisedResponse`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, log1p
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray, IntArray
from discreet.stats.mechanisms.labels.base import (
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


def halved_truth(epsilon: float, n_classes: int) -> float:
    """p + (1 − p) / K with p = e^ε / (e^ε + K − 1): how often the label survives."""
    kept = truth_probability(epsilon, n_classes)
    return kept + (1.0 - kept) / n_classes


@label_mechanisms.register("rr_halved")
@dataclass(frozen=True)
class HalvedRandomisedResponse(LabelMechanism):
    """Randomised response that draws its lie from *all* K classes: broken on purpose, and a common mistake.

    Claims `epsilon` above 0 over `n_classes` >= 2 and does not hold it; ValueError for others.

    The label is kept with probability p = e^ε / (e^ε + K − 1), else one of all K is drawn, the truth among them. So it
    lies with probability (1 − p)(K − 1) / K only, half as often for K = 2, and its real ε is not the one that it claims
    but ln(1 + K e^ε / (K − 1)), which is ln(1 + 2 e^ε) for K = 2: 1.31 where .3 is claimed, 1.86 where 1 is. The train
    accuracies of the label inference paper fit it on four of its data sets; OpenDP once had the mistake
    (opendp/opendp#480). Only reproductions and conformance tests accept it.
    """

    broken: ClassVar[bool] = True

    def apply(self, labels: ArrayLike, rng: Generator, prior: ArrayLike | None = None) -> IntArray:
        """The labels to train on, (N,)."""
        given = checked_labels(labels, self.n_classes)
        kept = rng.random(given.size) < truth_probability(self.epsilon, self.n_classes)
        return np.where(kept, given, rng.integers(0, self.n_classes, given.size))

    def transition(self, prior: ArrayLike | None = None) -> FloatArray:
        """What it really does, (K, K)."""
        return symmetric(halved_truth(self.epsilon, self.n_classes), self.n_classes)

    def exact_epsilon(self, prior: ArrayLike | None = None) -> float:
        """ln(1 + K e^ε / (K − 1)), above the `epsilon` that it claims."""
        if self.epsilon == inf:
            return inf
        shifted = self.epsilon + log(self.n_classes / (self.n_classes - 1))
        return shifted + log1p(np.exp(-shifted))
