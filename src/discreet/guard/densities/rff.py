"""One-class SVM seen through random Fourier features: a weight vector and a seed, and no training rows.

The dual is solved with the Gaussian kernel itself, as for `ocsvm`, and collapses into w = Σ αᵢ z(xᵢ), so that
w·z(x) − ρ is an unbiased estimate of the one-class SVM's score. (Solving in the space of the features instead lets
the solution fit their noise; it ranks worse and needs the features of all rows at once.)

The noise does not shrink with the number of rows, only with that of the frequencies. Both sides of a guard share
their frequencies, whose errors then largely cancel in δ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.guard.densities.ocsvm import LEAST_ROWS, TOLERANCE, fit_dual
from discreet.guard.density import DensityOptions, TooFewRowsError, as_float, checked_nu, densities, width
from discreet.guard.exact import FloatArray, as_rows, blocks, row_sums
from discreet.guard.fourier import RandomFeatures, project
from discreet.guard.kernel_rows import CAPACITY, RbfRows


@densities.register("rff")
@dataclass(frozen=True, slots=True)
class RandomFourier:
    """σ = w·z(x) − ρ; normalised by Σ αᵢ = ν·n as for `ocsvm`.

    `seed` is that of the frequencies; None draws one when fitting.
    """

    kind: ClassVar[str] = "rff"

    nu: float = 0.01
    gamma: float | str = "median"
    n_frequencies: int = 4096
    seed: int | None = None
    tol: float = TOLERANCE
    mass: float = 0.0
    rho: float = 0.0
    weights: FloatArray | None = field(default=None, repr=False, compare=False)
    features: RandomFeatures | None = None

    @classmethod
    def create(cls, options: DensityOptions) -> Self:
        """From the options that concern it: nu, gamma, n_frequencies, seed."""
        if options.n_frequencies < 1:
            raise ValueError(f"n_frequencies is {options.n_frequencies}: expected at least 1")
        return cls(checked_nu(options.nu), options.gamma, options.n_frequencies, options.seed)

    def fit(self, x: NDArray[Any], *, rng: np.random.Generator) -> Self:
        """Fitted to rows (n, d), n >= 2; `rng` draws the rows of the median heuristic, and a seed if none is given."""
        rows = as_rows(x)
        n, d = rows.shape
        if n < LEAST_ROWS:
            raise TooFewRowsError("a one-class SVM over random features", n, LEAST_ROWS)
        gamma = width(self.gamma, rows, rng)
        seed = int(rng.integers(2**53)) if self.seed is None else self.seed
        features = RandomFeatures(seed, gamma, d, self.n_frequencies)
        dual = fit_dual(RbfRows(rows, gamma, CAPACITY // 2), checked_nu(self.nu), tol=self.tol)
        held = np.flatnonzero(dual.alpha)
        parts = (features.transform(rows[held[part]]) for part in blocks(held.size))
        weights = project(features, parts, dual.alpha[held, None])[:, 0]
        return replace(self, seed=seed, mass=self.nu * n, rho=dual.rho, weights=weights, features=features)

    def score(self, x: NDArray[Any]) -> FloatArray:
        """w·z(x) − ρ (n,), on libsvm's scale."""
        features, weights = self._fitted()
        rows = as_rows(x, features.dim)
        out = np.empty(rows.shape[0])
        for part in blocks(rows.shape[0]):
            out[part] = row_sums(features.transform(rows[part]) * weights)
        return out - self.rho

    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """The same over ν·n."""
        return self.score(x) / self.mass

    def stored_rows(self) -> int:
        """None: a weight vector only."""
        return 0

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        return {"weights": self._fitted()[1]}

    def config(self) -> dict[str, Any]:
        """JSON values to save; the seed stands for the frequencies."""
        features, _ = self._fitted()
        return {
            "kind": self.kind, "nu": self.nu, "mass": self.mass, "rho": self.rho, "gamma": features.gamma,
            "seed": features.seed, "dim": features.dim, "n_frequencies": features.n_frequencies,
        }

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved."""
        try:
            gamma, n_frequencies, seed = float(config["gamma"]), int(config["n_frequencies"]), int(config["seed"])
            weights = as_float(state["weights"])
            if weights.shape != (2 * n_frequencies,):
                raise ValueError("weights of another length")
            return cls(
                float(config["nu"]), gamma, n_frequencies, seed, mass=float(config["mass"]),
                rho=float(config["rho"]), weights=weights,
                features=RandomFeatures(seed, gamma, int(config["dim"]), n_frequencies),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"a saved random-feature SVM lacks or spoils {error}: expected what a fit saved") from None

    def _fitted(self) -> tuple[RandomFeatures, FloatArray]:
        if self.features is None or self.weights is None:
            raise ValueError("a one-class SVM over random features scores after fit(x, rng=…), not before")
        return self.features, self.weights
