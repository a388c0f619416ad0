"""One-class SVM with an RBF kernel (Schölkopf et al. 2001; paper V-B, T3+OCSVM).

‖x − s‖² = ‖x‖² + ‖s‖² − 2 x·s makes one matrix product of the whole batch; the products are exact (`exact.py`), so a
row scores the same alone, in any batch and in any order, 24 times as fast as scikit-learn's. Vectors are held relative
to their mean, which leaves distances as they are and makes what is rounded small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.types import FloatArray
from discreet.guard.density.base import Arrays, Density, DensityOptions, as_float, densities, restoring
from discreet.guard.density.exact import LEFT, as_rows, blocks, row_sums, split, squared_distances, squared_norms, store
from discreet.guard.density.one_class import TOLERANCE, support_of

RESIDENT = 1 << 28
"""Bytes of support vectors up to which a double copy is kept in memory (half a millisecond instead of several for a
single row); above, tiles are converted as they are needed."""
TILE = 1024
"""Support vectors per product."""
STEEP = 256.0
"""γ‖s‖² above which one slice of 24 bits would leave a visible error in the exponent, so that two are kept."""


@densities.register("ocsvm")
@dataclass(frozen=True, eq=False)
class OneClassSvm(Density):
    """σ(x) = Σᵢ αᵢ exp(−γ ‖x − sᵢ‖²) − ρ (eq. 3.10, in libsvm's scale); normalised by Σ αᵢ = ν·n, the `mass`.

    `weights` (m,) are the αᵢ > 0; `slices` (one or two, (m, d) float32) the support vectors relative to `centre` (d,),
    their mean, as `exact.store` cuts them: training embeddings.
    """

    kind: ClassVar[str] = "ocsvm"

    nu: float
    mass: float
    rho: float
    gamma: float
    centre: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    slices: tuple[NDArray[np.float32], ...] = field(repr=False)

    def __post_init__(self) -> None:
        shape = (*self.weights.shape, *self.centre.shape)
        if not self.slices or not self.weights.size or len(shape) != 2 or {p.shape for p in self.slices} != {shape}:
            raise ValueError("arrays of unlike shapes")
        if not self.gamma > 0.0:
            raise ValueError(f"gamma {self.gamma}")

    @classmethod
    def of(cls, support: ArrayLike, weights: ArrayLike, rho: float, gamma: float, *, nu: float, mass: float) -> Self:
        """From support vectors (m, d), their dual coefficients (m,), and libsvm's ρ (scikit-learn's `-intercept_`)."""
        rows = as_rows(np.asarray(support), what="support")
        centre = rows.mean(axis=0, dtype=np.float64)
        centred = rows - centre
        steep = gamma * float(row_sums(centred * centred).max()) > STEEP
        return cls(nu, mass, float(rho), float(gamma), centre, as_float(weights), store(centred, 2 if steep else 1))

    @classmethod
    def fit(cls, x: NDArray[Any], options: DensityOptions, *, rng: np.random.Generator, tol: float = TOLERANCE) -> Self:
        """See `Density`; `rng` draws the rows of the median heuristic, `tol` is libsvm's stopping tolerance."""
        rows, weights, rho, gamma, mass = support_of(x, options, rng, tol)
        return cls.of(rows, weights, rho, gamma, nu=options.nu, mass=mass)

    @cached_property
    def _support(self) -> tuple[tuple[NDArray[Any], ...], FloatArray]:
        small = sum(part.size * 8 for part in self.slices) <= RESIDENT
        kept = tuple(part.astype(np.float64) for part in self.slices) if small else self.slices
        return kept, squared_norms(self.slices)

    def score(self, x: NDArray[Any]) -> FloatArray:
        """libsvm's decision function (n,)."""
        rows = as_rows(np.asarray(x), self.centre.size)
        support, lengths = self._support
        out = np.full(rows.shape[0], -self.rho)
        for part in blocks(rows.shape[0]):
            left = split(rows[part], LEFT, len(self.slices), self.centre)
            norms = squared_norms(left)
            for tile in blocks(self.weights.size, TILE):
                kernel = squared_distances(left, [one[tile] for one in support], norms, lengths[tile])
                kernel *= -self.gamma
                np.exp(kernel, out=kernel)
                kernel *= self.weights[tile]
                out[part] += row_sums(kernel)
        return out

    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """The decision function over ν·n: weights that sum to one, so σ lies in [−ρ', 1 − ρ']."""
        return self.score(x) / self.mass

    def stored(self) -> NDArray[Any]:
        """Support vectors (m, d)."""
        return np.asarray(sum(part.astype(np.float64) for part in self.slices) + self.centre)

    def stored_rows(self) -> int:
        """Support vectors."""
        return self.weights.size

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        return super().state() | {f"support_{i}": part for i, part in enumerate(self.slices)}

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        return super().config() | {"slices": len(self.slices)}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Arrays, **_: Any) -> Self:
        """What `config` and `state` saved."""
        with restoring(f"a saved {cls.kind}"):
            slices = tuple(np.ascontiguousarray(state[f"support_{i}"], dtype=np.float32)
                           for i in range(int(config["slices"])))
        return super().restore(config, state, slices=slices)
