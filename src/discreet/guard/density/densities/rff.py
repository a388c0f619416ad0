"""One-class SVM seen through random Fourier features: a weight vector and a seed, and no training rows.

The dual is solved with the Gaussian kernel itself, as for `ocsvm`, and collapses into w = Σ αᵢ z(xᵢ), so that
w·z(x) − ρ is an unbiased estimate of the one-class SVM's score. Its noise shrinks with the number of frequencies; both
sides of a guard share theirs, whose errors then largely cancel in δ.

exp(−γ ‖x − y‖²) ≈ z(x)·z(y) with z = m^−½ [cos(Wx), sin(Wx)] (Rahimi & Recht 2007; Sutherland & Schneider 2015 on the
pairs). W = √(2γ) R H D₁ H D₂ H D₃ with random signs D, normalised Hadamard matrices H and the lengths R of Gaussian
vectors: orthogonal rows have a third of the variance of independent ones (Yu et al. 2016, "Orthogonal Random
Features", where R is constant). A transform is additions only, in one order for every row.

A saved model keeps the seed. Signs and lengths are drawn from the raw bits of Philox, a stream that numpy keeps as it
is, and not from its normal draws, which may change between versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.types import FloatArray
from discreet.guard.density.base import Density, DensityOptions, as_float, densities
from discreet.guard.density.exact import as_rows, blocks, row_sums
from discreet.guard.density.one_class import support_of

LEAST_BLOCK, ROUNDS = 64, 3
"""Shorter rows are padded with zeros up to it, so that three rounds of signs look Gaussian."""
ROWS_AT_ONCE = 32
"""A block of rows stays in the second cache through the transform."""


@dataclass(frozen=True)
class RandomFeatures:
    """z: (n, d) → (n, 2m) with ‖z(x)‖ = 1, of kernel width γ, d = `dim`, m = `n_frequencies`.

    Two maps of one seed have the same W but for γ.
    """

    seed: int
    gamma: float
    dim: int
    n_frequencies: int

    @cached_property
    def _signs_and_lengths(self) -> tuple[FloatArray, FloatArray]:
        p = max(LEAST_BLOCK, 1 << (self.dim - 1).bit_length())
        count = -(-self.n_frequencies // p)
        raw = np.random.Philox(self.seed)
        words = np.asarray(raw.random_raw(count * ROUNDS * p // 64), dtype=np.uint64)
        bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        lengths = chi_lengths(np.asarray(raw.random_raw(2 * count * p), dtype=np.uint64), p)
        # Each of the three transforms makes rows √p longer, and a row of H of length 1 is to become R long.
        signs = (2.0 * bits - 1.0).reshape(count, ROUNDS, p)
        return as_float(signs), as_float(np.sqrt(2.0 * self.gamma) * lengths / p**1.5)

    def transform(self, x: NDArray[Any]) -> FloatArray:
        """Features (n, 2m) of rows (n, d)."""
        rows, m = as_rows(x, self.dim), self.n_frequencies
        every, lengths = self._signs_and_lengths
        count, _, p = every.shape
        out = np.empty((rows.shape[0], 2 * m))
        for part in blocks(rows.shape[0], ROWS_AT_ONCE):
            angles = np.empty((part.stop - part.start, count * p))
            for block, signs in enumerate(every):
                padded = np.zeros((angles.shape[0], p))
                padded[:, : self.dim] = rows[part]
                for flips in signs:
                    padded = walsh_hadamard(padded * flips)
                angles[:, block * p : (block + 1) * p] = padded
            angles *= lengths
            np.cos(angles[:, :m], out=out[part, :m])
            np.sin(angles[:, :m], out=out[part, m:])
        out *= m**-0.5
        return out


def walsh_hadamard(rows: FloatArray) -> FloatArray:
    """H x of each row of (n, p), p a power of two, H of entries ±1; overwrites `rows`.

    Every stage adds and subtracts the two halves and shuffles them, so that all loops are long.
    """
    half = rows.shape[1] // 2
    given, made = rows, np.empty_like(rows)
    for _ in range(rows.shape[1].bit_length() - 1):
        np.add(given[:, :half], given[:, half:], out=made[:, 0::2])
        np.subtract(given[:, :half], given[:, half:], out=made[:, 1::2])
        given, made = made, given
    return given


def chi_lengths(words: NDArray[np.uint64], p: int) -> FloatArray:
    """Lengths of standard Gaussian vectors in p dimensions, one per pair of words.

    Box & Muller (1958) for a normal z, Wilson & Hilferty (1931) for the length: χ²ₚ ≈ p (1 − 2/9p + z √(2/9p))³.
    """
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    half = uniform.size // 2
    normal = np.sqrt(-2.0 * np.log1p(-uniform[:half])) * np.cos(2.0 * np.pi * uniform[half:])
    ninth = 2.0 / (9.0 * p)
    return np.asarray(np.sqrt(p * np.maximum(1.0 - ninth + normal * np.sqrt(ninth), 0.0) ** 3), dtype=np.float64)


@densities.register("rff")
@dataclass(frozen=True, eq=False)
class RandomFourier(Density):
    """σ = w·z(x) − ρ, with `weights` w (2m,); normalised by Σ αᵢ = ν·n as for `ocsvm`."""

    kind: ClassVar[str] = "rff"

    nu: float
    mass: float
    rho: float
    gamma: float
    seed: int
    dim: int
    n_frequencies: int
    weights: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        if self.weights.shape != (2 * self.n_frequencies,):
            raise ValueError("weights of another length")

    @cached_property
    def _features(self) -> RandomFeatures:
        return RandomFeatures(self.seed, self.gamma, self.dim, self.n_frequencies)

    @classmethod
    def fit(cls, x: NDArray[Any], options: DensityOptions, *, rng: np.random.Generator) -> Self:
        """See `Density`; `rng` draws the rows of the median heuristic, and a seed if none is given."""
        rows, alpha, rho, gamma, mass = support_of(x, options, rng)
        seed = int(rng.integers(2**53)) if options.seed is None else options.seed
        features = RandomFeatures(seed, gamma, rows.shape[1], options.n_frequencies)
        weights = np.zeros(2 * options.n_frequencies)
        for part in blocks(alpha.size):
            weights += features.transform(rows[part]).T @ alpha[part]
        return cls(options.nu, mass, rho, gamma, seed, rows.shape[1], options.n_frequencies, weights)

    def score(self, x: NDArray[Any]) -> FloatArray:
        """w·z(x) − ρ (n,), on libsvm's scale."""
        rows = as_rows(x, self.dim)
        out = np.empty(rows.shape[0])
        for part in blocks(rows.shape[0]):
            out[part] = row_sums(self._features.transform(rows[part]) * self.weights)
        return out - self.rho

    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """The same over ν·n."""
        return self.score(x) / self.mass
