"""Gaussian mixture with full covariances (paper V-B, T3+GMM: K = 8 on PCA-512, reduced by the caller).

scikit-learn's EM fits; scoring is numpy, through the Cholesky factors of the precisions. Keeps no training rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import MissingExtraError
from discreet.guard.density import DensityOptions, TooFewRowsError, after_fit, as_float, densities, restoring
from discreet.guard.exact import LEFT, FloatArray, as_rows, blocks, dots, row_sums, split, store

LEAST_ROWS = 2
HELD_OUT = 0.2
LEAST_HELD_OUT = 20
ROWS_PER_DIMENSION = 2
"""A component must have that many rows per dimension on average; with fewer its covariance says little of others."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """log p(x) = logsumexp_k (log wₖ + log |Pₖ| − d/2 log 2π − ½ ‖(x − μₖ)ᵀ Pₖ‖²), Pₖ Pₖᵀ = Σₖ⁻¹.

    `weights` (K,), `means` (K, d), `precisions` (K, d, d) upper triangular, as scikit-learn names them.
    """

    weights: FloatArray
    means: FloatArray
    precisions: FloatArray
    _factors: tuple[NDArray[np.float32], ...] = field(init=False, repr=False)
    _offsets: FloatArray = field(init=False, repr=False)
    _centre: FloatArray = field(init=False, repr=False)
    _logs: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k, d = self.means.shape
        centre = self.weights @ self.means
        columns = np.ascontiguousarray(self.precisions.transpose(0, 2, 1)).reshape(k * d, d)
        scales = np.abs(columns).max(axis=1)
        offsets = np.einsum("kd,kdj->kj", self.means - centre, self.precisions).reshape(-1)
        # Columns are brought to size one, so that float32 slices hold them whatever the covariance.
        object.__setattr__(self, "_factors", store(columns / scales[:, None], 2))
        object.__setattr__(self, "_offsets", np.stack([offsets, scales]))
        object.__setattr__(self, "_centre", centre)
        diagonal = np.diagonal(self.precisions, axis1=1, axis2=2)
        logs = np.log(self.weights) + np.log(diagonal).sum(axis=1) - 0.5 * d * math.log(2.0 * math.pi)
        object.__setattr__(self, "_logs", logs)

    def log_density(self, x: NDArray[Any]) -> FloatArray:
        """log p (n,), nats."""
        k, d = self.means.shape
        rows = as_rows(x, d)
        out = np.empty(rows.shape[0])
        offsets, scales = self._offsets
        for part in blocks(rows.shape[0]):
            y = dots(split(rows[part], LEFT, 2, self._centre), self._factors) * scales - offsets
            squares = row_sums((y * y).reshape(-1, d)).reshape(-1, k)
            out[part] = _logsumexp(self._logs - 0.5 * squares)
        return out


def _logsumexp(values: FloatArray) -> FloatArray:
    """Along rows (n, K); the terms are added one after another, so that a row's sum has one order."""
    largest = values.max(axis=1)
    total = np.zeros(values.shape[0])
    for column in values.T:
        total += np.exp(column - largest)
    return np.asarray(largest + np.log(total), dtype=np.float64)


@densities.register("gmm")
@dataclass(frozen=True, slots=True)
class GaussianMixture:
    """σ = log density; normalised: minus its median on rows held out of the fit, over their spread.

    The spread is the interquartile range over 1.349 (one standard deviation of a normal). A fifth of the rows is held
    out where that is 20 or more; fewer rows serve both ends. Components shrink with n: at least two rows per
    dimension and component, one component at the least. `n_components` stays what was asked for; `components` says
    how many were fitted.
    """

    kind: ClassVar[str] = "gmm"

    n_components: int = 8
    centre: float = 0.0
    spread: float = 1.0
    converged: bool = False
    mixture: Mixture | None = None

    @classmethod
    def create(cls, options: DensityOptions) -> Self:
        """From the option that concerns it: n_components."""
        if options.n_components < 1:
            raise ValueError(f"n_components is {options.n_components}: expected at least 1")
        return cls(options.n_components)

    def fit(self, x: NDArray[Any], *, rng: np.random.Generator) -> Self:
        """Fitted to rows (n, d), n >= 2; `rng` draws the rows held out and seeds EM's start."""
        rows = as_float(as_rows(x))
        n, d = rows.shape
        if n < LEAST_ROWS:
            raise TooFewRowsError("a Gaussian mixture", n, LEAST_ROWS)
        order = rng.permutation(n)
        out = int(HELD_OUT * n)
        held, fitted = (order[:out], order[out:]) if out >= LEAST_HELD_OUT else (order, order)
        k = max(1, min(self.n_components, fitted.size // (ROWS_PER_DIMENSION * d)))
        mixture, converged = _expectation_maximisation(rows[np.sort(fitted)], k, int(rng.integers(2**31 - 1)))
        scores = mixture.log_density(rows[held])
        low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
        spread = float(high - low) / 1.349
        return replace(self, centre=float(middle), spread=spread if spread > 0.0 else 1.0, converged=converged,
                       mixture=mixture)

    def score(self, x: NDArray[Any]) -> FloatArray:
        """log density (n,), nats."""
        return after_fit(self.mixture, "a Gaussian mixture").log_density(x)

    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """0 = as typical as the median of the class, −1 = one robust standard deviation less."""
        return (after_fit(self.mixture, "a Gaussian mixture").log_density(x) - self.centre) / self.spread

    @property
    def components(self) -> int:
        """K as fitted, at most `n_components`."""
        return int(after_fit(self.mixture, "a Gaussian mixture").weights.size)

    def stored_rows(self) -> int:
        """None: means and covariances only."""
        return 0

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        m = after_fit(self.mixture, "a Gaussian mixture")
        return {"weights": m.weights, "means": m.means, "precisions": m.precisions}

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        after_fit(self.mixture, "a Gaussian mixture")
        return {"kind": self.kind, "n_components": self.n_components, "centre": self.centre, "spread": self.spread,
                "converged": self.converged}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved."""
        with restoring("a saved Gaussian mixture"):
            weights, means, precisions = (as_float(state[name]) for name in ("weights", "means", "precisions"))
            k, d = means.shape
            if weights.shape != (k,) or precisions.shape != (k, d, d):
                raise ValueError("arrays of unlike shapes")
            return cls(int(config["n_components"]), float(config["centre"]), float(config["spread"]),
                       bool(config["converged"]), Mixture(weights, means, precisions))


def _expectation_maximisation(rows: FloatArray, k: int, seed: int) -> tuple[Mixture, bool]:
    """scikit-learn's fit, and whether it converged."""
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture as Peer
    except ImportError:
        raise MissingExtraError("fitting a Gaussian mixture", "audit", "sklearn") from None
    peer = Peer(k, covariance_type="full", random_state=seed)
    with warnings.catch_warnings():
        # Whether EM converged is kept in the fitted density, and repeated rows make k-means say the obvious.
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(rows)
    arrays = (peer.weights_, peer.means_, peer.precisions_cholesky_)
    return Mixture(*(as_float(a) for a in arrays)), bool(peer.converged_)
