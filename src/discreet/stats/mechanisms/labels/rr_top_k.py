"""RRTop-k: randomised response over the k likeliest classes of a prior (Ghazi et al. 2021, Algorithm 1).

Y_k holds the k classes with the largest prior. A label inside Y_k is kept with probability e^ε / (e^ε + k − 1), else
replaced by another of Y_k; a label outside is replaced by any of Y_k, each alike. With k >= 2 its ε is exactly ε, with
k = 1 it releases the prior's likeliest class whatever the label is, and its ε is 0.

A label outside Y_k is erased: a canary whose secret may fall there shows nothing. Draw canaries inside Y_k.

RRWithPrior: RRTop-k with the k that tells the truth most often under a prior (Ghazi et al. 2021, Algorithm 2).

    k* = argmax_k  e^ε / (e^ε + k − 1) · Σ_{y ∈ Y_k} prior(y)

Its ε is exactly ε where some example has k* >= 2, else 0: with k* = 1 the label is not looked at. With a uniform prior
k* = K, so that without a prior it is plain randomised response. Ties go to the larger k, which erases fewer labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from discreet.core.types import FloatArray, IntArray
from discreet.stats.mechanisms.labels.base import (
    LabelMechanism,
    checked_epsilon,
    checked_labels,
    checked_prior,
    label_mechanisms,
    truth_probability,
)

TIE = 1e-12
"""Relative difference under which two k tell the truth equally often: sums of floats differ by less."""


def ranked(prior: FloatArray) -> NDArray[np.intp]:
    """Classes from the likeliest to the least, over the last axis; the smaller class first among equals."""
    return np.argsort(-prior, axis=-1, kind="stable")


def truth_of_k(epsilon: float, k: IntArray) -> FloatArray:
    """e^ε / (e^ε + k − 1) for each k."""
    return np.asarray(1.0 / (1.0 + (k - 1) * np.exp(-epsilon)), dtype=np.float64)


def truth_by_k(prior: FloatArray, epsilon: float) -> FloatArray:
    """How often RRTop-k tells the truth for k = 1 … K, over the last axis of a prior (K,) or (N, K)."""
    falling = -np.sort(-prior, axis=-1)
    return np.asarray(truth_of_k(epsilon, np.arange(1, prior.shape[-1] + 1)) * np.cumsum(falling, axis=-1))


def best_k(prior: FloatArray, epsilon: float) -> IntArray:
    """k* of a prior (K,), shape (), or of each of (N, K), shape (N,)."""
    truth = truth_by_k(prior, epsilon)
    best = truth >= truth.max(axis=-1, keepdims=True) * (1.0 - TIE)
    return np.asarray(prior.shape[-1] - np.argmax(best[..., ::-1], axis=-1), dtype=np.int64)


class TopK(LabelMechanism):
    """RRTop-k with a prior (K,) or (N, K), and one k for all or one for each example, 1 … K."""

    def weights(self, prior: ArrayLike | None, n: int | None) -> tuple[FloatArray, IntArray]:
        """The prior of N examples, (K,) or (N, K), and k, () or (N,)."""
        raise NotImplementedError

    def apply(self, labels: ArrayLike, rng: Generator, prior: ArrayLike | None = None) -> IntArray:
        """The labels to train on, (N,)."""
        rank, order, each = self._ranks(labels, prior)
        kept = rng.random(rank.size) < truth_of_k(self.epsilon, each)
        # With k = 1 nothing is drawn: the truth, if it is inside, is kept for certain.
        other = (rank + rng.integers(1, np.maximum(each, 2))) % each
        released = np.where(rank < each, np.where(kept, rank, other), rng.integers(0, each))
        return np.asarray(np.take_along_axis(order, released[:, None], axis=1)[:, 0], dtype=np.int64)

    def should_stay(self, labels: ArrayLike, prior: ArrayLike | None = None) -> FloatArray:
        """The chance that each label is released as it is, (N,): e^ε / (e^ε + k − 1) inside Y_k, 0 outside."""
        rank, _, each = self._ranks(labels, prior)
        return np.where(rank < each, truth_of_k(self.epsilon, each), 0.0)

    def transition(self, prior: ArrayLike | None = None) -> FloatArray:
        """(K, K) for one prior (K,): columns outside Y_k are 0. ValueError for one per example."""
        weights, k_of = self.weights(prior, None)
        order, k = ranked(weights), int(k_of)
        matrix, truth = np.zeros((self.n_classes, self.n_classes)), truth_probability(self.epsilon, k)
        inside, outside = order[:k], order[k:]
        matrix[np.ix_(outside, inside)] = 1.0 / k
        matrix[np.ix_(inside, inside)] = (1.0 - truth) / max(1, k - 1)
        matrix[inside, inside] = truth
        return matrix

    def _ranks(self, labels: ArrayLike, prior: ArrayLike | None) -> tuple[IntArray, NDArray[np.intp], IntArray]:
        """Where each label stands in its example's order, from 0; the orders (N, K); and k, (N,)."""
        given = checked_labels(labels, self.n_classes)
        weights, k = self.weights(prior, given.size)
        order = np.broadcast_to(ranked(weights), (given.size, self.n_classes))
        return (order == given[:, None]).argmax(axis=1).astype(np.int64), order, np.broadcast_to(k, given.shape)


@label_mechanisms.register("rr_top_k")
@dataclass(frozen=True)
class RRTopK(TopK):
    """RRTop-k with a k that was fixed beforehand, 1 <= k <= K; needs a prior. ValueError for others."""

    k: int

    takes_prior: ClassVar[str] = "needed"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k != int(self.k) or not 1 <= self.k <= self.n_classes:
            raise ValueError(f"k is {self.k}: expected a whole number from 1 to {self.n_classes}")

    @classmethod
    def at(cls, epsilon: float, n_classes: int, k: int | None = None) -> Self:
        """With `k` None: half of the classes, rounded up, but 2 at the least."""
        value, classes = checked_epsilon(epsilon, n_classes)
        return cls(value, classes, max(2, (classes + 1) // 2) if k is None else k)

    def exact_epsilon(self, prior: ArrayLike | None = None) -> float:
        """`epsilon`, or 0 where k = 1."""
        return self.epsilon if self.k > 1 else 0.0

    def weights(self, prior: ArrayLike | None, n: int | None) -> tuple[FloatArray, IntArray]:
        """ValueError without a prior."""
        given = checked_prior(prior, self.n_classes, n)
        if given is None:
            raise ValueError("rr_top_k was given no prior: expected the weights of the classes, else use rr")
        return given, np.asarray(self.k, dtype=np.int64)


@label_mechanisms.register("rr_with_prior")
@dataclass(frozen=True)
class RRWithPrior(TopK):
    """RRWithPrior at `epsilon` above 0 over `n_classes` >= 2; ValueError for others."""

    takes_prior: ClassVar[str] = "optional"

    def exact_epsilon(self, prior: ArrayLike | None = None) -> float:
        """`epsilon`, or 0 where k* is 1 for every example of the prior."""
        n = None if prior is None or np.ndim(prior) != 2 else len(np.asarray(prior))
        return self.epsilon if (self.weights(prior, n)[1] > 1).any() else 0.0

    def weights(self, prior: ArrayLike | None, n: int | None) -> tuple[FloatArray, IntArray]:
        """Without a prior all classes are alike."""
        given = checked_prior(np.ones(self.n_classes) if prior is None else prior, self.n_classes, n)
        assert given is not None
        return given, best_k(given, self.epsilon)
