"""Random Fourier features of the Gaussian kernel, from a seed, by fast Walsh–Hadamard transforms.

exp(−γ ‖x − y‖²) ≈ z(x)·z(y) with z = m^−½ [cos(Wx), sin(Wx)] (Rahimi & Recht 2007; cosine and sine in pairs have less
variance than cosines with random phases: Sutherland & Schneider 2015). W = √(2γ) R H D₁ H D₂ H D₃ with random signs
D, normalised Hadamard matrices H and the lengths R of Gaussian vectors: rows of a block are orthogonal, which at the
median distance takes away two thirds of the variance of independent rows and more (Yu et al. 2016, "Orthogonal
Random Features", where R is constant). No matrix is stored, and a transform is additions only, in one order for
every row, so that features do not depend on batch mates.

A saved model keeps the seed. Signs and lengths are drawn from the raw bits of Philox, a stream that numpy keeps as it
is, and not from its normal draws, which may change between versions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.guard.exact import FloatArray, as_rows, blocks
from discreet.guard.kernel_rows import CAPACITY, RowCache

LEAST_BLOCK = 64
"""Shorter rows are padded with zeros up to it, so that three rounds of signs look Gaussian."""
ROUNDS = 3
ROWS_AT_ONCE = 32
"""A block of rows stays in the second cache through the transform."""


@dataclass(frozen=True, slots=True, eq=False)
class RandomFeatures:
    """z: (n, d) → (n, 2m) with ‖z(x)‖ = 1.

    Attributes
    ----------
    seed : int
        Two feature maps of one seed have the same W but for γ; the errors of two scores then cancel in part when one
        is subtracted from the other.
    gamma : float
        Kernel width γ > 0.
    dim, n_frequencies : int
        d and m.
    """

    seed: int
    gamma: float
    dim: int
    n_frequencies: int
    _signs: FloatArray = field(init=False, repr=False)
    _lengths: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        p = max(LEAST_BLOCK, 1 << (self.dim - 1).bit_length())
        count = -(-self.n_frequencies // p)
        raw = np.random.Philox(self.seed)
        words = np.asarray(raw.random_raw(count * ROUNDS * p // 64), dtype=np.uint64)
        bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        object.__setattr__(self, "_signs", (2.0 * bits - 1.0).reshape(count, ROUNDS, p))
        lengths = chi_lengths(np.asarray(raw.random_raw(2 * count * p), dtype=np.uint64), p)
        # Each of the three transforms makes rows √p longer, and a row of H of length 1 is to become R long.
        object.__setattr__(self, "_lengths", np.sqrt(2.0 * self.gamma) * lengths / p**1.5)

    def transform(self, x: NDArray[Any]) -> FloatArray:
        """Features (n, 2m) of rows (n, d)."""
        rows = as_rows(x, self.dim)
        m = self.n_frequencies
        out = np.empty((rows.shape[0], 2 * m))
        for part in blocks(rows.shape[0], ROWS_AT_ONCE):
            angles = self._angles(rows[part])
            np.cos(angles, out=out[part, :m])
            np.sin(angles, out=out[part, m:])
        out *= m**-0.5
        return out

    def _angles(self, rows: NDArray[Any]) -> FloatArray:
        count, _, p = self._signs.shape
        out = np.empty((rows.shape[0], count * p))
        for block, signs in enumerate(self._signs):
            padded = np.zeros((rows.shape[0], p))
            padded[:, : self.dim] = rows
            for flips in signs:
                padded = walsh_hadamard(padded * flips)
            out[:, block * p : (block + 1) * p] = padded
        return np.ascontiguousarray((out * self._lengths)[:, : self.n_frequencies])


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


class FeatureRows:
    """`KernelRows` of z(x)·z(y): the features of all rows in single precision, and Gram rows from them."""

    def __init__(self, features: RandomFeatures, x: NDArray[Any], capacity: int = CAPACITY) -> None:
        self.n = x.shape[0]
        self._features = features
        self._z = np.empty((self.n, 2 * features.n_frequencies), dtype=np.float32)
        for part in blocks(self.n):
            self._z[part] = features.transform(x[part])
        self._cache = RowCache(self.n, np.float32, capacity)

    def rows(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Gram rows (k, n)."""
        absent = self._cache.missing(index)
        for part in blocks(absent.size, 512):
            self._cache.put(absent[part], self._z[absent[part]] @ self._z.T)
        return self._cache.get(index)

    def outlying(self) -> FloatArray:
        """Minus the mean kernel value to all rows."""
        mean = self._z.mean(axis=0, dtype=np.float64).astype(np.float32)
        return np.asarray(-(self._z @ mean), dtype=np.float64)

    def cross(self, other: NDArray[Any], weights: FloatArray) -> FloatArray:
        """Weighted sums of kernel values at other rows."""
        used = np.flatnonzero(np.any(weights != 0.0, axis=1))
        vectors = project(self._features, (self._z[used[part]] for part in blocks(used.size)), weights[used])
        out = np.empty((other.shape[0], weights.shape[1]))
        for part in blocks(other.shape[0]):
            out[part] = self._features.transform(other[part]) @ vectors
        return out


def project(features: RandomFeatures, parts: Iterable[NDArray[Any]], weights: FloatArray) -> FloatArray:
    """Σᵢ weights[i, c] zᵢ, shape (2m, c), for features zᵢ that come in `parts` of rows."""
    total = np.zeros((2 * features.n_frequencies, weights.shape[1]))
    begin = 0
    for part in parts:
        total += part.astype(np.float64).T @ weights[begin : begin + part.shape[0]]
        begin += part.shape[0]
    return total
