"""A Gaussian copula over categories, as Rocher, Hendrickx and de Montjoye (Nature Communications 10:3069, 2019) use it.

Each column is a normal variable cut at the quantiles of its marginal; the correlation of two columns is the one whose cut
normals have the mutual information of the table, with the sign of the rank correlation. Ours, from the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import multivariate_normal, norm

from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.guard.population.classes import marginals

GRID = np.linspace(0, 0.98, 15)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class Copula:
    cuts: tuple[FloatArray, ...]
    correlations: FloatArray

    def probabilities(self, codes: IntArray, used: BoolArray, rng: np.random.Generator) -> FloatArray:
        found = np.empty(len(codes))
        for at, (row, told) in enumerate(zip(codes, used, strict=True)):
            columns = np.flatnonzero(told)
            low = np.array([self.cuts[c][row[c]] for c in columns])
            high = np.array([self.cuts[c][row[c] + 1] for c in columns])
            found[at] = multivariate_normal.cdf(
                np.minimum(high, 9), cov=self.correlations[np.ix_(columns, columns)], lower_limit=np.maximum(low, -9),
                abseps=1e-9, releps=1e-2, maxpts=4000, rng=rng)
        return np.maximum(found, 1e-12)


def fit_copula(codes: IntArray, sizes: list[int]) -> Copula:
    weights = np.ones(len(codes))
    base = np.split(marginals(codes, weights, sizes), np.cumsum(sizes)[:-1])
    cuts = [norm.ppf(np.clip(np.concatenate([[0], np.cumsum(part)[:-1], [1]]), 0, 1)) for part in base]
    middle = np.column_stack([norm.ppf(np.clip(np.cumsum(part) - part / 2, 1e-6, 1 - 1e-6))[codes[:, c]]
                              for c, part in enumerate(base)])
    signs = np.sign(np.nan_to_num(np.corrcoef(middle.T)))
    found = np.eye(len(sizes))
    for i in range(len(sizes)):
        for j in range(i):
            table = np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j])
            table = table.reshape(sizes[i], sizes[j])
            seen = [table[table.any(1)][:, table.any(0)].shape][0]
            # Miller and Madow: what chance adds to the mutual information of so many cells.
            bias = ((table > 0).sum() - seen[0] - seen[1] + 1) / (2 * len(codes))
            wanted = max(0.0, information(table / len(codes)) - max(0.0, bias))
            levels = [information(cut_normal(cuts[i], cuts[j], rho)) for rho in GRID]
            found[i, j] = found[j, i] = signs[i, j] * np.interp(wanted, np.maximum.accumulate(levels), GRID)
    values, vectors = np.linalg.eigh(found)
    found = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    scale = np.sqrt(np.diag(found))
    return Copula(tuple(cuts), found / np.outer(scale, scale))


def information(shares: FloatArray) -> float:
    """Mutual information of a table of shares, in nats."""
    apart = shares.sum(1, keepdims=True) * shares.sum(0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nansum(np.where(shares > 0, shares * np.log(shares / apart), 0.0)))


def cut_normal(one: FloatArray, other: FloatArray, rho: float) -> FloatArray:
    """Cell probabilities of a bivariate normal cut at `one` and `other` (Plackett's identity, Gauss-Legendre)."""
    h, k = np.clip(one, -8, 8)[:, None], np.clip(other, -8, 8)[None]
    total = norm.cdf(one)[:, None] * norm.cdf(other)[None]
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        r = rho * (node + 1) / 2
        density = np.exp(-(h * h - 2 * r * h * k + k * k) / (2 * (1 - r * r))) / (2 * np.pi * np.sqrt(1 - r * r))
        total = total + rho / 2 * weight * density
    return np.asarray(np.maximum(np.diff(np.diff(total, axis=0), axis=1), 0.0))
