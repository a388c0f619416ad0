"""Latent classes: a table of people as a mixture, in whose classes the columns are independent of each other.

A table of N rows and C columns of categories is explained by K classes: a row belongs to class k with probability π_k,
and within k each column has its own distribution. The probability of a cluster of attributes (age 50 to 54, widowed) is
Σ_k π_k Π_c P(value of c in the set | k): one product per attribute, whatever the number of cells. Lazarsfeld and
Henry (1968); Dunson and Xing (JASA 2009) show that such mixtures approximate any joint distribution of categories.

Categories of all columns stand side by side: column c of `sizes` S takes the places sum(S[:c]) ... sum(S[:c+1]) − 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.core.types import FloatArray, IntArray

CHUNK = 4096
"""Rows that an E step holds at a time."""
FIRST_ROWS, LAST_STEPS, LEAST_STEPS, TOLERANCE = 20_000, 15, 5, 1e-4
"""Of more than three times so many different rows, EM first sees so many, then all in its last steps."""
TINY = 1e-30


@dataclass(frozen=True)
class LatentClasses:
    """A fitted mixture.

    Attributes
    ----------
    shares : (K,) array
        π, sums to 1.
    tables : (V, K) array
        P(category | class), the categories of all columns one below the other; sums to 1 per column and class.
    sizes : tuple of int
        Number of categories of each column; sums to V.
    """

    shares: FloatArray
    tables: FloatArray
    sizes: tuple[int, ...]

    @property
    def offsets(self) -> IntArray:
        """(C + 1,) where each column begins in `tables`; the last is V."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def probabilities(self, codes: IntArray, used: NDArray[np.bool_]) -> FloatArray:
        """(N,) probabilities of the cells of (N, C) `codes`, each over its own columns: those where `used` is True."""
        start = self.offsets
        found = np.empty(len(codes))
        for at in range(0, len(codes), CHUNK):
            product = np.repeat(self.shares[None], len(codes[at:at + CHUNK]), 0)
            for column in range(codes.shape[1]):
                rows = np.flatnonzero(used[at:at + CHUNK, column])
                product[rows] *= self.tables[start[column] + codes[at:at + CHUNK][rows, column]]
            found[at:at + CHUNK] = product.sum(1)
        return found

    def log_likelihood(self, codes: IntArray, weights: FloatArray | None = None) -> float:
        """Mean log probability of whole rows, in nats a row; weighted by `weights`."""
        every = np.ones(codes.shape, np.bool_)
        logs = np.log(np.maximum(self.probabilities(codes, every), 1e-300))
        return float(np.average(logs, weights=weights))

    def sample(self, n: int, rng: Generator) -> IntArray:
        """(n, C) codes of `n` made-up persons."""
        classes = rng.choice(len(self.shares), n, p=self.shares / self.shares.sum())
        start = self.offsets
        drawn = np.empty((n, len(self.sizes)), np.int64)
        for column in range(len(self.sizes)):
            steps = np.cumsum(self.tables[start[column]:start[column + 1]], 0)
            steps /= steps[-1]
            at = rng.random(n)
            for k in np.unique(classes):
                rows = classes == k
                drawn[rows, column] = np.searchsorted(steps[:, k], at[rows], side="right")
        return drawn


def joined(mixtures: Sequence[LatentClasses]) -> LatentClasses:
    """The average of several fits as one mixture of all their classes. ValueError for none or for other columns."""
    if not mixtures or len({one.sizes for one in mixtures}) != 1:
        raise ValueError(f"{len(mixtures)} mixtures: expected at least one, all over the same columns")
    return LatentClasses(np.concatenate([one.shares for one in mixtures]) / len(mixtures),
                         np.concatenate([one.tables for one in mixtures], 1), mixtures[0].sizes)


def distinct(codes: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Different rows with the sum of their weights: what a fit needs to see of a table."""
    packed = np.ascontiguousarray(codes.astype(np.int32))
    keys = packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return codes[first], np.bincount(inverse.ravel(), weights, len(first)).astype(np.float64)


def marginals(codes: IntArray, weights: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """(V,) share of each category in its column, with half a row added to each so that none is zero."""
    counts = [np.bincount(codes[:, c], weights, size) + 0.5 for c, size in enumerate(sizes)]
    return np.concatenate([one / one.sum() for one in counts])


def smoother(size: int, width: float) -> FloatArray:
    """(size, size) kernel that spreads the count of each of `size` ordered categories over its neighbours.

    Discretised Gaussian of standard deviation `width` categories, each row sums to 1; the identity for 0.
    """
    if width <= 0:
        return np.eye(size)
    away = np.arange(size)[:, None] - np.arange(size)
    kernel = np.exp(-0.5 * (away / width) ** 2)
    return np.asarray(kernel / kernel.sum(1, keepdims=True))


def fit_classes(codes: IntArray, weights: FloatArray, sizes: Sequence[int], n_classes: int, rng: Generator, *,
                prior: float = 1.0, widths: Sequence[float] | None = None, iterations: int = 60
                ) -> LatentClasses:
    """Fit by EM, each class and column drawn towards the whole table by `prior` rows.

    Parameters
    ----------
    codes : (N, C) integers, below `sizes`
    weights : (N,) array
        Positive weight of each row. Only their ratios to the mean matter: `prior` is in rows of mean weight.
    n_classes : int
        Classes to begin with; those that end empty keep the marginal distribution.
    prior : float
        Rows that every class gets in every column, distributed as the whole table is (maximum a posteriori under a
        Dirichlet prior; > 0, so that no category of the schema has probability 0).
    widths : (C,) floats, optional
        Standard deviation, in categories, by which the counts of an ordered column are smoothed in each M step (EMS,
        Silverman et al., JRSS B 1990); 0 for columns without order.
    iterations : int
        At most so many steps, and fewer where the mean log likelihood changes by less than TOLERANCE nats. A large
        table takes so many steps on a part of its rows, then LAST_STEPS on all.

    Raises ValueError for codes outside `sizes`, weights that are not positive, or fewer than one class.
    """
    codes, weights, start = _checked(codes, weights, sizes, n_classes, prior)
    base = marginals(codes, weights, sizes)
    codes, whole = distinct(codes, weights)
    weight = whole.astype(np.float32)
    kernels = [smoother(size, width).astype(np.float32) if width > 0 else None
               for size, width in zip(sizes, widths or [0.0] * len(sizes), strict=True)]
    places = (codes + start[:-1]).astype(np.int64)
    tables = _seeds(places, weight, base, n_classes, rng)
    shares = np.full(n_classes, 1 / n_classes, np.float32)
    before, few = -np.inf, len(places) > 3 * FIRST_ROWS
    first = rng.choice(len(places), FIRST_ROWS, replace=False) if few else np.arange(len(places))
    for step in range(iterations + LAST_STEPS * few):
        seen = slice(None) if few and step >= iterations else first
        counts, members, likelihood = _expected(places[seen], weight[seen], shares, tables)
        for column, kernel in enumerate(kernels):
            if kernel is not None:
                counts[start[column]:start[column + 1]] = kernel.T @ counts[start[column]:start[column + 1]]
        tables = (counts + prior * base[:, None]) / (members + prior)
        tables = tables.astype(np.float32)
        shares = ((members + 1e-3) / (members + 1e-3).sum()).astype(np.float32)
        if step >= LEAST_STEPS and abs(likelihood - before) < TOLERANCE and not few:
            break
        before = likelihood
    exact = tables.astype(np.float64)
    for at, end in pairwise(start):
        exact[at:end] /= exact[at:end].sum(0)
    return LatentClasses(shares.astype(np.float64) / float(shares.sum()), exact, tuple(sizes))


def _checked(codes: IntArray, weights: FloatArray, sizes: Sequence[int], n_classes: int, prior: float
             ) -> tuple[IntArray, FloatArray, IntArray]:
    codes, weights = np.asarray(codes, np.int64), np.asarray(weights, np.float64)
    if codes.ndim != 2 or codes.shape[1] != len(sizes) or weights.shape != codes.shape[:1] or not len(codes):
        raise ValueError(f"codes have shape {codes.shape} and weights {weights.shape}: expected (N, {len(sizes)}) and "
                         "(N,) with N >= 1")
    if (codes < 0).any() or (codes >= np.asarray(sizes)).any():
        raise ValueError(f"codes lie outside their columns: expected 0 to {tuple(s - 1 for s in sizes)}")
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError("some weights are zero, negative or not finite: leave these rows out")
    if n_classes < 1 or prior <= 0:
        raise ValueError(f"{n_classes} classes with prior {prior}: expected at least one class and a positive prior")
    return codes, weights / weights.mean(), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _seeds(places: IntArray, weights: NDArray[np.float32], base: FloatArray, n_classes: int, rng: Generator
           ) -> NDArray[np.float32]:
    """(V, K) first tables: each class a person drawn by weight, mixed with the whole table."""
    drawn = rng.choice(len(places), n_classes, p=weights / weights.sum(dtype=np.float64))
    tables = np.repeat(0.7 * base[:, None], n_classes, 1)
    for k, row in enumerate(drawn):
        tables[places[row], k] += 0.3
    return tables.astype(np.float32)


def _expected(places: IntArray, weights: NDArray[np.float32], shares: NDArray[np.float32],
              tables: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """E step: (V, K) expected counts, (K,) members, and the mean log likelihood; in chunks, the counts by BLAS."""
    logs, log_shares = np.log(np.maximum(tables, TINY)), np.log(np.maximum(shares, TINY))
    counts = np.zeros(tables.shape, np.float32)
    members = np.zeros(len(shares), np.float64)
    total = 0.0
    for at in range(0, len(places), CHUNK):
        rows, weight = places[at:at + CHUNK], weights[at:at + CHUNK]
        found = np.repeat(log_shares[None], len(rows), 0)
        for column in range(rows.shape[1]):
            found += logs[rows[:, column]]
        top = found.max(1, keepdims=True)
        np.exp(found - top, out=found)
        mass = found.sum(1, keepdims=True)
        total += float(np.dot(weight.astype(np.float64), (np.log(mass) + top)[:, 0]))
        found *= weight[:, None] / mass
        hot = np.zeros((len(rows), len(tables)), np.float32)
        hot[np.arange(len(rows))[:, None], rows] = 1
        counts += hot.T @ found
        members += found.sum(0, dtype=np.float64)
    return counts, members.astype(np.float32), total / float(weights.sum(dtype=np.float64))
