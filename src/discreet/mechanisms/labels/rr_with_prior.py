"""RRWithPrior: RRTop-k with the k that tells the truth most often under a prior (Ghazi et al. 2021, Algorithm 2).

    k* = argmax_k  e^ε / (e^ε + k − 1) · Σ_{y ∈ Y_k} prior(y)

Its ε is exactly ε where some example has k* >= 2, else 0: with k* = 1 the label is not looked at. With a uniform prior
k* = K, so that without a prior it is plain randomised response. Ties go to the larger k, which erases fewer labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray, IntArray
from discreet.mechanisms.labels.base import (
    LabelMechanism,
    checked_labels,
    checked_prior,
    label_mechanisms,
)
from discreet.mechanisms.labels.rr_top_k import respond_top_k, stay_top_k, top_k_transition, truth_of_k

TIE = 1e-12
"""Relative difference under which two k tell the truth equally often: sums of floats differ by less."""


def truth_by_k(prior: FloatArray, epsilon: float) -> FloatArray:
    """How often RRTop-k tells the truth for k = 1 … K, over the last axis of a prior (K,) or (N, K)."""
    falling = -np.sort(-prior, axis=-1)
    return np.asarray(truth_of_k(epsilon, np.arange(1, prior.shape[-1] + 1)) * np.cumsum(falling, axis=-1))


def best_k(prior: FloatArray, epsilon: float) -> IntArray:
    """k* of a prior (K,), shape (), or of each of (N, K), shape (N,)."""
    truth = truth_by_k(prior, epsilon)
    best = truth >= truth.max(axis=-1, keepdims=True) * (1.0 - TIE)
    return np.asarray(prior.shape[-1] - np.argmax(best[..., ::-1], axis=-1), dtype=np.int64)


@label_mechanisms.register("rr_with_prior")
@dataclass(frozen=True)
class RRWithPrior(LabelMechanism):
    """RRWithPrior at `epsilon` above 0 over `n_classes` >= 2; ValueError for others."""

    takes_prior: ClassVar[str] = "optional"

    def apply(self, labels: ArrayLike, rng: Generator, prior: ArrayLike | None = None) -> IntArray:
        """The labels to train on, (N,)."""
        given = checked_labels(labels, self.n_classes)
        weights = self._prior(prior, given.size)
        return respond_top_k(given, weights, best_k(weights, self.epsilon), self.epsilon, rng)

    def transition(self, prior: ArrayLike | None = None) -> FloatArray:
        """(K, K) for one prior (K,) or None. ValueError for one per example."""
        weights = self._prior(prior, None)
        return top_k_transition(weights, int(best_k(weights, self.epsilon)), self.epsilon)

    def should_stay(self, labels: ArrayLike, prior: ArrayLike | None = None) -> FloatArray:
        """As `stay_top_k`, with the k* of each example."""
        given = checked_labels(labels, self.n_classes)
        weights = self._prior(prior, given.size)
        return stay_top_k(given, weights, best_k(weights, self.epsilon), self.epsilon)

    def exact_epsilon(self, prior: ArrayLike | None = None) -> float:
        """`epsilon`, or 0 where k* is 1 for every example of the prior."""
        n = None if prior is None or np.ndim(prior) != 2 else len(np.asarray(prior))
        return self.epsilon if (best_k(self._prior(prior, n), self.epsilon) > 1).any() else 0.0

    def _prior(self, prior: ArrayLike | None, n: int | None) -> FloatArray:
        given = checked_prior(prior, self.n_classes, n)
        return np.full(self.n_classes, 1.0 / self.n_classes) if given is None else given
