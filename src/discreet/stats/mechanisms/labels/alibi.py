"""ALIBI: Laplace noise on one-hot labels, and the posterior (Malek Esmaeili et al. 2021, "Antipodes of label
differential privacy: PATE and ALIBI", §4; arXiv 2106.03408).

What is released, once, is x = onehot(y) + Laplace(0, b)^K with b = 2 / ε. Two labels' one-hot vectors are 2 apart in L1
norm and both ends are attained, so ε is exact. Whatever is made of x is post-processing: the posterior

    P(y = i | x) ∝ prior_i · exp(−Σ_j |x_j − 1{j = i}| / b) ∝ prior_i · exp(clip(2 x_i − 1, −1, 1) / b),

since only the i-th term of the sum differs between candidates and |x| − |x − 1| = clip(2x − 1, −1, 1). It takes O(K) an
example. Its prior is the current model's softmax and may change every epoch; the noise is never drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from math import exp, inf
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray, IntArray
from discreet.stats.mechanisms.base import softmax
from discreet.stats.mechanisms.labels.base import (
    LabelMechanism,
    checked_labels,
    checked_prior,
    label_mechanisms,
    symmetric,
)

NODES = 96
"""Gauss–Legendre nodes of `map_truth`; five times as many change the result by less than 1e-12, to K = 1000."""
NOTHING = 40.0
"""e^-40 is below the rounding of a probability."""


def log_weights(observed: FloatArray, prior: FloatArray | None, scale: float) -> FloatArray:
    """ln P(y = i | x) up to a constant per row, (N, K); `scale` > 0."""
    evidence = np.clip(2.0 * observed - 1.0, -1.0, 1.0) / scale
    with np.errstate(divide="ignore"):
        return np.asarray(evidence if prior is None else evidence + np.log(prior), dtype=np.float64)


def map_truth(epsilon: float, n_classes: int) -> float:
    """How often the likeliest label under a uniform prior is the label, P(argmax x = y).

    With d = ε / 2 and u ~ Laplace(0, 1) it is E[F(u + d)^(K − 1)], F the Laplace distribution function. It is in closed
    form for u > 0 and for u < −d, and an integral of a smooth function in between, taken by Gauss–Legendre.
    """
    if epsilon == inf:
        return 1.0
    d, k = epsilon / 2.0, n_classes
    tail = exp(-d)
    # (1 − (1 − tail/2)^k) / (k tail) → 1/2 as tail → 0.
    above = 0.5 if tail < 1e-12 else float(-np.expm1(k * np.log1p(-tail / 2.0)) / (k * tail))
    below = 0.5**k * tail / k
    bottom = -min(d, NOTHING)
    nodes, weights = QUADRATURE()
    u = bottom * (1.0 - nodes) / 2.0
    middle = 0.5 * np.exp(u + (k - 1) * np.log1p(-0.5 * np.exp(-d - u)))
    return above + below - bottom / 2.0 * float(weights @ middle)


QUADRATURE = lru_cache(maxsize=1)(partial(np.polynomial.legendre.leggauss, NODES))
"""An eigenvalue problem, and always the same one."""


@label_mechanisms.register("alibi")
@dataclass(frozen=True)
class Alibi(LabelMechanism):
    """ALIBI: its ε is that of the noisy one-hot vector; hard and soft labels made of it have no more."""

    takes_prior: ClassVar[str] = "optional"

    @property
    def scale(self) -> float:
        """b = 2 / ε; 0 without noise."""
        return 2.0 / self.epsilon

    def observe(self, labels: ArrayLike, rng: Generator) -> FloatArray:
        """What is released of labels (N,): (N, K), drawn once."""
        given = checked_labels(labels, self.n_classes)
        released = np.zeros((given.size, self.n_classes))
        if self.scale > 0.0:
            released = self.scale * rng.laplace(size=released.shape)
        released[np.arange(given.size), given] += 1.0
        return released

    def posterior(self, observed: ArrayLike, prior: ArrayLike | None = None) -> FloatArray:
        """Soft labels (N, K) that sum to 1. Without noise they are the labels, whatever the prior."""
        x = self._observed(observed)
        if self.scale == 0.0:
            return x
        return softmax(log_weights(x, checked_prior(prior, self.n_classes, len(x)), self.scale))

    def likeliest(self, observed: ArrayLike, prior: ArrayLike | None = None) -> IntArray:
        """Hard labels (N,): the largest posterior.

        Classes whose x is 1 or more tell nothing apart; among equals the larger x wins, so that no class is favoured.
        """
        x = self._observed(observed)
        if self.scale == 0.0:
            return np.asarray(x.argmax(axis=1), dtype=np.int64)
        scores = log_weights(x, checked_prior(prior, self.n_classes, len(x)), self.scale)
        best = scores == scores.max(axis=1, keepdims=True)
        return np.asarray(np.where(best, x, -np.inf).argmax(axis=1), dtype=np.int64)

    def apply(self, labels: ArrayLike, rng: Generator, prior: ArrayLike | None = None) -> IntArray:
        """Hard labels to train on, (N,), by the prior as it is now."""
        return self.likeliest(self.observe(labels, rng), prior)

    def transition(self, prior: ArrayLike | None = None) -> FloatArray | None:
        """(K, K) of the hard labels without a prior; None with one. Its own ε is below that of what is released."""
        return None if prior is not None else symmetric(map_truth(self.epsilon, self.n_classes), self.n_classes)

    def should_stay(self, labels: ArrayLike, prior: ArrayLike | None = None) -> FloatArray | None:
        """`map_truth` for every label, (N,), without a prior; None with one."""
        matrix = self.transition(prior)
        return None if matrix is None else np.diag(matrix)[checked_labels(labels, self.n_classes)]

    def _observed(self, observed: ArrayLike) -> FloatArray:
        given = np.asarray(observed, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != self.n_classes:
            raise ValueError(f"observed has shape {given.shape}: expected (N, {self.n_classes})")
        if not np.isfinite(given).all():
            raise ValueError("observed holds NaN or infinity: expected what `observe` released")
        return given
