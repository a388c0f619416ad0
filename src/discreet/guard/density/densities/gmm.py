"""Gaussian mixture with full covariances (paper V-B, T3+GMM: K = 8 on PCA-512, reduced by the caller).

scikit-learn's EM fits; scoring is numpy, through the Cholesky factors of the precisions. Keeps no training rows.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import need
from discreet.core.types import FloatArray
from discreet.guard.density.base import Density, DensityOptions, TooFewRowsError, as_float, densities, enough_rows
from discreet.guard.density.exact import LEFT, as_rows, blocks, dots, row_sums, split, store

HELD_OUT, LEAST_HELD_OUT = 0.2, 20
ROWS_PER_DIMENSION = 2
"""A component must have that many rows per dimension on average; with fewer its covariance says little of others."""


@densities.register("gmm")
@dataclass(frozen=True, eq=False)
class GaussianMixture(Density):
    """σ = log density; normalised: minus its median on rows held out of the fit, over their spread.

    log p(x) = logsumexp_k (log wₖ + log |Pₖ| − d/2 log 2π − ½ ‖(x − μₖ)ᵀ Pₖ‖²), Pₖ Pₖᵀ = Σₖ⁻¹, with `weights` (K,),
    `means` (K, d) and `precisions` (K, d, d) upper triangular, as scikit-learn names them. `centre` and `spread` are
    median and interquartile range over 1.349 (one standard deviation of a normal) of a fifth of the rows, held out
    where that is 20 or more; fewer rows serve both ends. `n_components` are asked for, `components` fitted: at least
    two rows per dimension and component, one component at the least. With `fixed_components` (the paper's form) as many
    are fitted as are asked for, on all rows, from which `centre` and `spread` come too.
    """

    kind: ClassVar[str] = "gmm"

    n_components: int
    centre: float
    spread: float
    converged: bool
    weights: FloatArray = field(repr=False)
    means: FloatArray = field(repr=False)
    precisions: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        k, d = self.means.shape
        if self.weights.shape != (k,) or self.precisions.shape != (k, d, d):
            raise ValueError("arrays of unlike shapes")

    @classmethod
    def fit(cls, x: NDArray[Any], options: DensityOptions, *, rng: np.random.Generator) -> Self:
        """See `Density`; `rng` draws the rows held out and seeds EM's start."""
        rows = as_float(enough_rows(x, "a Gaussian mixture"))
        mixture, exceptions = (need(f"sklearn.{name}", "fitting a Gaussian mixture", "audit")
                               for name in ("mixture", "exceptions"))
        n, d = rows.shape
        order = rng.permutation(n)
        out = int(HELD_OUT * n)
        held, fitted = order, order
        if out >= LEAST_HELD_OUT and not options.fixed_components:
            held, fitted = order[:out], order[out:]
        k = options.n_components
        if not options.fixed_components:
            k = max(1, min(k, fitted.size // (ROWS_PER_DIMENSION * d)))
        elif fitted.size < k:
            raise TooFewRowsError(f"a Gaussian mixture of {k} fixed components", fitted.size, k)
        peer = mixture.GaussianMixture(k, covariance_type="full", random_state=int(rng.integers(2**31 - 1)))
        with warnings.catch_warnings():
            # Whether EM converged is kept in the fitted density, and repeated rows make k-means say the obvious.
            warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
            peer.fit(rows[np.sort(fitted)])
        arrays = [as_float(a) for a in (peer.weights_, peer.means_, peer.precisions_cholesky_)]
        raw = cls(options.n_components, 0.0, 1.0, bool(peer.converged_), *arrays)
        low, middle, high = np.quantile(raw.score(rows[held]), [0.25, 0.5, 0.75])
        spread = float(high - low) / 1.349
        return cls(raw.n_components, float(middle), spread if spread > 0.0 else 1.0, raw.converged, *arrays)

    @cached_property
    def _factors(self) -> tuple[tuple[NDArray[np.float32], ...], FloatArray, FloatArray, FloatArray]:
        """Columns of the precisions, brought to size one so that float32 slices hold them whatever the covariance;
        those sizes; the means seen by the columns; the centre that all of it is relative to."""
        k, d = self.means.shape
        centre = self.weights @ self.means
        columns = np.ascontiguousarray(self.precisions.transpose(0, 2, 1)).reshape(k * d, d)
        sizes = np.abs(columns).max(axis=1)
        offsets = np.einsum("kd,kdj->kj", self.means - centre, self.precisions).reshape(-1)
        return store(columns / sizes[:, None], 2), sizes, offsets, centre

    def score(self, x: NDArray[Any]) -> FloatArray:
        """log density (n,), nats."""
        k, d = self.means.shape
        rows = as_rows(x, d)
        factors, sizes, offsets, centre = self._factors
        diagonal = np.diagonal(self.precisions, axis1=1, axis2=2)
        logs = np.log(self.weights) + np.log(diagonal).sum(axis=1) - 0.5 * d * math.log(2.0 * math.pi)
        out = np.empty(rows.shape[0])
        for part in blocks(rows.shape[0]):
            y = dots(split(rows[part], LEFT, 2, centre), factors) * sizes - offsets
            terms = logs - 0.5 * row_sums((y * y).reshape(-1, d)).reshape(-1, k)
            largest = terms.max(axis=1)
            # One after another, so that a row's sum has one order.
            out[part] = largest + np.log(sum(np.exp(term - largest) for term in terms.T))
        return out

    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """0 = as typical as the median of the class, −1 = one robust standard deviation less."""
        return (self.score(x) - self.centre) / self.spread

    @property
    def components(self) -> tuple[int, int]:
        """`n_components`, and K as fitted."""
        return self.n_components, self.weights.size
