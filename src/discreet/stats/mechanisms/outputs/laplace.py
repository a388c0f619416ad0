"""Laplace noise on the logits, drawn anew for every query (membership paper, section 7.2), and its exact local ε.

z̃ = z + η with η_i ~ Laplace(0, σ) independent, and softmax(z̃) is released. An attacker who asks k times and averages
the log probabilities of the answers, up to their normaliser, has softmax of z plus the mean of k draws, whose standard
deviation is σ √(2 / k): the noise averages out.

The local ε. Logits without a bound have none: for every ε there are two vectors too far apart. With `clip` = c the
logits are centred (their mean per row subtracted, which no softmax sees) and clipped to [−c, c]. Two vectors then
differ by at most 2c in each of K coordinates, and z̃ itself would have ε = 2cK / σ. The softmax forgets a common shift
t, so the loss between vectors that differ by δ is min_t Σ |δ_i − t| / σ; half of the δ_i at 2c and half at −2c make it
largest (one left over where K is odd), so

    ε = 4c ⌊K / 2⌋ / σ

for one answer. It is exact: approached, not attained, where the released log odds go to infinity. Fresh answers to
k queries have k ε. Near-duplicates gain nothing that the same query does not. The bound is for real numbers: doubles
leak in their last bits (Mironov, CCS 2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from discreet.core.types import FloatArray
from discreet.stats.mechanisms.base import Noise, OutputMechanism, checked_logits, checked_queries, output_mechanisms

SIGMAS = (0.25, 0.5, 1.0, 2.0)


@output_mechanisms.register("laplace")
@dataclass(frozen=True, slots=True)
class Laplace(OutputMechanism):
    """Fresh Laplace noise of scale `sigma` >= 0 on logits, which are centred and clipped first if `clip` > 0 is given.

    ValueError for another `sigma` or `clip`.
    """

    sigma: float
    clip: float | None = None

    knob: ClassVar[str | None] = "sigma"
    strengths: ClassVar[tuple[float, ...]] = SIGMAS
    noise: ClassVar[Noise] = "fresh"

    def __post_init__(self) -> None:
        check_scale(self.sigma, self.clip)

    @classmethod
    def at(cls, strength: float | None, clip: float | None, rng: Generator) -> Self:
        """`strength` is σ."""
        return cls(needed(strength, "sigma"), clip)

    def pooled(self, logits: FloatArray, inputs: Sequence[bytes], queries: int, rng: Generator) -> FloatArray:
        """z plus the mean of `queries` draws, at the cost of one."""
        bounded = clipped(checked_logits(logits, inputs), self.clip)
        return bounded + self.sigma * mean_laplace(bounded.shape, queries, rng)

    def epsilon(self, n_classes: int, queries: int = 1) -> float | None:
        """`queries` × 4c⌊K / 2⌋ / σ; None without `clip` or without noise."""
        one = laplace_epsilon(n_classes, self.sigma, self.clip)
        return None if one is None else one * checked_queries(queries)


def mean_laplace(shape: tuple[int, ...], queries: int, rng: Generator) -> FloatArray:
    """Means of `queries` independent Laplace(0, 1) variates, an array of `shape`, at the cost of one.

    A Laplace variate is the difference of two exponentials, so a sum of k is the difference of two Gamma(k, 1).
    """
    k = checked_queries(queries)
    first, second = rng.standard_gamma(k, shape), rng.standard_gamma(k, shape)
    return (first - second) / k


def laplace_epsilon(n_classes: int, sigma: float, clip: float | None) -> float | None:
    """Exact local ε of softmax(z + Laplace(σ)) for z in [−clip, clip]^K; None where there is no finite one."""
    if n_classes < 2:
        raise ValueError(f"n_classes is {n_classes}: expected at least 2")
    check_scale(sigma, clip)
    if clip is None or sigma == 0.0:
        return None
    return 4.0 * clip * (n_classes // 2) / sigma


def clipped(logits: FloatArray, clip: float | None) -> FloatArray:
    """`logits` (N, K) centred per row and clipped to [−clip, clip]; as they are where `clip` is None."""
    if clip is None:
        return logits
    return np.asarray(np.clip(logits - logits.mean(axis=1, keepdims=True), -clip, clip), dtype=np.float64)


def check_scale(sigma: float, clip: float | None) -> None:
    """ValueError for a scale that is negative or infinite, or a bound that is not positive."""
    if not (isfinite(sigma) and sigma >= 0.0):
        raise ValueError(f"sigma is {sigma}: expected a finite number, 0 or more")
    if clip is not None and not (isfinite(clip) and clip > 0.0):
        raise ValueError(f"clip is {clip}: expected a finite number above 0, or None")


def needed(strength: float | None, name: str) -> float:
    """`strength`, or ValueError where a mechanism that has one was given none."""
    if strength is None:
        raise ValueError(f"{name} is None: expected a number")
    return float(strength)
