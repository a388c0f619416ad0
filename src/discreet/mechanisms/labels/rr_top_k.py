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
from discreet.mechanisms.labels.base import (
    LabelMechanism,
    checked_epsilon,
    checked_labels,
    checked_prior,
    label_mechanisms,
    truth_probability,
)


def ranked(prior: FloatArray) -> NDArray[np.intp]:
    """Classes from the likeliest to the least, over the last axis; the smaller class first among equals."""
    return np.argsort(-prior, axis=-1, kind="stable")


def respond_top_k(
    labels: ArrayLike, prior: FloatArray, k: int | IntArray, epsilon: float, rng: Generator
) -> IntArray:
    """RRTop-k of labels (N,) with a prior (K,) or (N, K), and one k for all or one for each example, 1 … K."""
    given = checked_labels(labels, prior.shape[-1])
    order, each = ranked(prior), np.broadcast_to(np.asarray(k, dtype=np.int64), given.shape)
    rank = ranks_of(given, order)
    kept = rng.random(given.size) < truth_of_k(epsilon, each)
    # With k = 1 nothing is drawn: the truth, if it is inside, is kept for certain.
    other = (rank + rng.integers(1, np.maximum(each, 2))) % each
    anyone = rng.integers(0, each)
    released = np.where(rank < each, np.where(kept, rank, other), anyone)
    return np.asarray(order[released] if order.ndim == 1 else order[np.arange(given.size), released], dtype=np.int64)


def stay_top_k(labels: ArrayLike, prior: FloatArray, k: int | IntArray, epsilon: float) -> FloatArray:
    """The chance that each label is released as it is, (N,): e^ε / (e^ε + k − 1) inside Y_k, 0 outside."""
    given = checked_labels(labels, prior.shape[-1])
    each = np.broadcast_to(np.asarray(k, dtype=np.int64), given.shape)
    return np.where(ranks_of(given, ranked(prior)) < each, truth_of_k(epsilon, each), 0.0)


def top_k_transition(prior: FloatArray, k: int, epsilon: float) -> FloatArray:
    """(K, K) of RRTop-k with a prior (K,): columns outside Y_k are 0."""
    n_classes, order = prior.size, ranked(prior)
    matrix, truth = np.zeros((n_classes, n_classes)), truth_probability(epsilon, k)
    inside, outside = order[:k], order[k:]
    matrix[np.ix_(outside, inside)] = 1.0 / k
    matrix[np.ix_(inside, inside)] = (1.0 - truth) / max(1, k - 1)
    matrix[inside, inside] = truth
    return matrix


def ranks_of(labels: IntArray, order: NDArray[np.intp]) -> IntArray:
    """Where each label stands in its example's order (K,) or (N, K), from 0."""
    if order.ndim == 1:
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        return place[labels]
    return np.asarray((order == labels[:, None]).argmax(axis=1), dtype=np.int64)


def truth_of_k(epsilon: float, k: IntArray) -> FloatArray:
    """e^ε / (e^ε + k − 1) for each k."""
    return np.asarray(1.0 / (1.0 + (k - 1) * np.exp(-epsilon)), dtype=np.float64)


@label_mechanisms.register("rr_top_k")
@dataclass(frozen=True)
class RRTopK(LabelMechanism):
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

    def apply(self, labels: ArrayLike, rng: Generator, prior: ArrayLike | None = None) -> IntArray:
        """The labels to train on, (N,). ValueError without a prior."""
        given = checked_labels(labels, self.n_classes)
        return respond_top_k(given, self._needed(prior, given.size), self.k, self.epsilon, rng)

    def transition(self, prior: ArrayLike | None = None) -> FloatArray:
        """(K, K) for one prior (K,). ValueError for one per example, and without any."""
        return top_k_transition(self._needed(prior, None), self.k, self.epsilon)

    def should_stay(self, labels: ArrayLike, prior: ArrayLike | None = None) -> FloatArray:
        """As `stay_top_k`. ValueError without a prior."""
        given = checked_labels(labels, self.n_classes)
        return stay_top_k(given, self._needed(prior, given.size), self.k, self.epsilon)

    def exact_epsilon(self, prior: ArrayLike | None = None) -> float:
        """`epsilon`, or 0 where k = 1."""
        return self.epsilon if self.k > 1 else 0.0

    def _needed(self, prior: ArrayLike | None, n: int | None) -> FloatArray:
        given = checked_prior(prior, self.n_classes, n)
        if given is None:
            raise ValueError("rr_top_k was given no prior: expected the weights of the classes, else use rr")
        return given


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
