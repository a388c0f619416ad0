"""Randomised response that draws its lie from *all* K classes: broken on purpose, and a common mistake.

The label is kept with probability p = e^ε / (e^ε + K − 1), else one of all K is drawn, the truth among them. So it
lies with probability (1 − p)(K − 1) / K only, half as often for K = 2, and its real ε is not the one that it claims
but ln(1 + K e^ε / (K − 1)), which is ln(1 + 2 e^ε) for K = 2: 1.31 where .3 is claimed, 1.86 where 1 is. The train
accuracies of the label inference paper fit it on four of its data sets; OpenDP once had the mistake
(opendp/opendp#480). Only reproductions and conformance tests accept it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, log1p
from typing import ClassVar

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


def halved_truth(epsilon: float, n_classes: int) -> float:
    """p + (1 − p) / K with p = e^ε / (e^ε + K − 1): how often the label survives."""
    kept = truth_probability(epsilon, n_classes)
    return kept + (1.0 - kept) / n_classes


@label_mechanisms.register("rr_halved")
@dataclass(frozen=True)
class HalvedRandomisedResponse(LabelMechanism):
    """Claims `epsilon` above 0 over `n_classes` >= 2 and does not hold it; ValueError for others."""

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
