"""One-class SVM with an RBF kernel (Schölkopf et al. 2001; paper V-B, T3+OCSVM), and its scorer.

σ(x) = Σᵢ αᵢ exp(−γ ‖x − sᵢ‖²) − ρ (eq. 3.10, in libsvm's scale, where Σ αᵢ = ν·n). ‖x − s‖² = ‖x‖² + ‖s‖² − 2 x·s makes
one matrix product of the whole batch; the products are exact (`exact.py`), so a row scores the same alone, in any batch
and in any order, 24 times as fast as scikit-learn's. Vectors are held relative to their mean, which leaves distances as
they are and makes what is rounded small.

Keeps training embeddings: its support vectors. `stored_rows` says how many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.guard.density import (
    DensityOptions,
    TooFewRowsError,
    after_fit,
    as_float,
    checked_nu,
    densities,
    restoring,
    width,
)
from discreet.guard.exact import (
    LEFT,
    FloatArray,
    as_rows,
    blocks,
    row_sums,
    split,
    squared_distances,
    squared_norms,
    store,
)
from discreet.guard.one_class import TOLERANCE, GramRows, fit_dual

LEAST_ROWS = 2
RESIDENT = 1 << 28
"""Bytes of support vectors up to which a double copy is kept in memory (half a millisecond instead of several for a
single row); above, tiles are converted as they are needed."""
TILE = 1024
"""Support vectors per product."""
STEEP = 256.0
"""γ‖s‖² above which one slice of 24 bits would leave a visible error in the exponent, so that two are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class SupportScorer:
    """Support vectors with their weights.

    Attributes
    ----------
    centre : (d,) float64
        Mean of the support vectors.
    slices : one or two arrays (m, d) float32
        Support vectors relative to `centre`, as `exact.store` cuts them.
    weights : (m,) float64
        Dual coefficients αᵢ > 0.
    rho, gamma : float
        Offset ρ and kernel width γ > 0.
    """

    centre: FloatArray
    slices: tuple[NDArray[np.float32], ...] = field(repr=False)
    weights: FloatArray = field(repr=False)
    rho: float
    gamma: float
    _norms: FloatArray = field(init=False, repr=False)
    _operand: tuple[NDArray[Any], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_norms", squared_norms(self.slices))
        small = sum(part.size * 8 for part in self.slices) <= RESIDENT
        kept = tuple(part.astype(np.float64) for part in self.slices) if small else self.slices
        object.__setattr__(self, "_operand", kept)

    @classmethod
    def of(cls, support: ArrayLike, weights: ArrayLike, rho: float, gamma: float) -> SupportScorer:
        """From support vectors (m, d), their dual coefficients (m,), and libsvm's ρ (scikit-learn's `-intercept_`)."""
        rows = as_rows(np.asarray(support), what="support")
        alpha = np.asarray(weights, dtype=np.float64).reshape(-1)
        if rows.shape[0] == 0 or alpha.shape != (rows.shape[0],):
            raise ValueError(f"{alpha.size} weights of {rows.shape[0]} support vectors: expected one each, at least 1")
        if not gamma > 0.0:
            raise ValueError(f"gamma is {gamma}: expected a positive number")
        centre = rows.mean(axis=0, dtype=np.float64)
        centred = rows - centre
        steep = gamma * float(row_sums(centred * centred).max()) > STEEP
        return cls(centre, store(centred, 2 if steep else 1), alpha, float(rho), float(gamma))

    @property
    def n_support(self) -> int:
        """How many training embeddings are held."""
        return self.weights.size

    def score(self, x: ArrayLike) -> FloatArray:
        """σ (n,) of rows (n, d) in libsvm's scale, higher = more typical; ValueError for another width or NaN."""
        rows = as_rows(np.asarray(x), self.centre.size)
        out = np.empty(rows.shape[0])
        for part in blocks(rows.shape[0]):
            out[part] = self._block(rows[part])
        return out

    def _block(self, rows: NDArray[Any]) -> FloatArray:
        left = split(rows, LEFT, len(self.slices), self.centre)
        norms = squared_norms(left)
        total = np.full(rows.shape[0], -self.rho)
        for tile in blocks(self.weights.size, TILE):
            kernel = squared_distances(left, [part[tile] for part in self._operand], norms, self._norms[tile])
            kernel *= -self.gamma
            np.exp(kernel, out=kernel)
            kernel *= self.weights[tile]
            total += row_sums(kernel)
        return total

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        named = {f"support_{i}": part for i, part in enumerate(self.slices)}
        return {"centre": self.centre, "weights": self.weights, **named}

    def config(self) -> dict[str, Any]:
        """Numbers to save beside the arrays."""
        return {"rho": self.rho, "gamma": self.gamma, "slices": len(self.slices)}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> SupportScorer:
        """What `config` and `state` saved; InputError where it is not that."""
        with restoring("a saved one-class SVM"):
            slices = tuple(np.ascontiguousarray(state[f"support_{i}"], dtype=np.float32)
                           for i in range(int(config["slices"])))
            centre, weights = as_float(state["centre"]), as_float(state["weights"])
            rho, gamma = float(config["rho"]), float(config["gamma"])
            fits = slices and weights.size and all(part.shape == (weights.size, centre.size) for part in slices)
            if not fits or not gamma > 0.0:
                raise ValueError("arrays of unlike shapes")
            return cls(centre, slices, weights, rho, gamma)


@densities.register("ocsvm")
@dataclass(frozen=True, slots=True)
class OneClassSvm:
    """σ = Σ αᵢ K(sᵢ, ·) − ρ; normalised by Σ αᵢ = ν·n, which libsvm's scale carries.

    `nu` in (0, 1]; `gamma` is "median" or a positive number; `tol` is libsvm's stopping tolerance.
    """

    kind: ClassVar[str] = "ocsvm"

    nu: float = 0.01
    gamma: float | str = "median"
    tol: float = TOLERANCE
    mass: float = 0.0
    scorer: SupportScorer | None = None

    @classmethod
    def create(cls, options: DensityOptions) -> Self:
        """From the options that concern it: nu, gamma."""
        return cls(checked_nu(options.nu), options.gamma)

    def fit(self, x: NDArray[Any], *, rng: np.random.Generator) -> Self:
        """Fitted to rows (n, d), n >= 2; `rng` draws the rows of the median heuristic."""
        rows = as_rows(x)
        if rows.shape[0] < LEAST_ROWS:
            raise TooFewRowsError("a one-class SVM", rows.shape[0], LEAST_ROWS)
        gamma = width(self.gamma, rows, rng)
        dual = fit_dual(GramRows(rows, gamma), checked_nu(self.nu), tol=self.tol)
        held = np.flatnonzero(dual.alpha)
        scorer = SupportScorer.of(rows[held], dual.alpha[held], dual.rho, gamma)
        return replace(self, mass=self.nu * rows.shape[0], scorer=scorer)

    def score(self, x: NDArray[Any]) -> FloatArray:
        """libsvm's decision function (n,)."""
        return after_fit(self.scorer, "a one-class SVM").score(x)

    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """The decision function over ν·n: weights that sum to one, so σ lies in [−ρ', 1 − ρ']."""
        return after_fit(self.scorer, "a one-class SVM").score(x) / self.mass

    def stored_rows(self) -> int:
        """Support vectors."""
        return after_fit(self.scorer, "a one-class SVM").n_support

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        return after_fit(self.scorer, "a one-class SVM").state()

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        scorer = after_fit(self.scorer, "a one-class SVM")
        return {"kind": self.kind, "nu": self.nu, "mass": self.mass, **scorer.config()}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved."""
        scorer = SupportScorer.restore(config, state)
        with restoring("a saved one-class SVM"):
            return cls(float(config["nu"]), scorer.gamma, mass=float(config["mass"]), scorer=scorer)
