"""One-class SVM with an RBF kernel (Schölkopf et al. 2001; paper V-B, T3+OCSVM).

Keeps training embeddings: its support vectors. `stored_rows` says how many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.guard.density import DensityOptions, TooFewRowsError, checked_nu, densities, width
from discreet.guard.exact import FloatArray, as_rows
from discreet.guard.kernel_rows import KernelRows, RbfRows
from discreet.guard.smo import OneClassDual, solve
from discreet.guard.support import SupportScorer

LEAST_ROWS = 2
TOLERANCE = 1e-3
"""libsvm's, on its scale."""
NORMALISED_TOLERANCE = 1e-5
"""On the scale where weights sum to one; it binds where ν·n < 100."""


@densities.register("ocsvm")
@dataclass(frozen=True, slots=True)
class OneClassSvm:
    """σ = Σ αᵢ K(sᵢ, ·) − ρ; normalised by Σ αᵢ = ν·n, which libsvm's scale carries.

    `nu` in (0, 1]; `gamma` is "median" or a positive number; `tol` is libsvm's stopping tolerance, and
    NORMALISED_TOLERANCE holds as well.
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
        dual = fit_dual(RbfRows(rows, gamma), checked_nu(self.nu), tol=self.tol)
        held = np.flatnonzero(dual.alpha)
        scorer = SupportScorer.of(rows[held], dual.alpha[held], dual.rho, gamma)
        return replace(self, mass=self.nu * rows.shape[0], scorer=scorer)

    def score(self, x: NDArray[Any]) -> FloatArray:
        """libsvm's decision function (n,)."""
        return self._fitted().score(x)

    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """The decision function over ν·n: weights that sum to one, so σ lies in [−ρ', 1 − ρ']."""
        return self._fitted().score(x) / self.mass

    def stored_rows(self) -> int:
        """Support vectors."""
        return self._fitted().n_support

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        return self._fitted().state()

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        return {"kind": self.kind, "nu": self.nu, "mass": self.mass, **self._fitted().config()}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved."""
        scorer = SupportScorer.restore(config, state)
        try:
            nu, mass = float(config["nu"]), float(config["mass"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"a saved one-class SVM lacks or spoils {error}: expected what a fit saved") from None
        return cls(nu, scorer.gamma, mass=mass, scorer=scorer)

    def _fitted(self) -> SupportScorer:
        if self.scorer is None:
            raise ValueError("a one-class SVM scores after fit(x, rng=…), not before")
        return self.scorer


def fit_dual(
    kernel: KernelRows, nu: float, *, members: NDArray[np.bool_] | None = None, start: FloatArray | None = None,
    tol: float = TOLERANCE,
) -> OneClassDual:
    """`smo.solve` to the stricter of libsvm's tolerance and the one of the normalised scale."""
    mass = nu * (kernel.n if members is None else int(members.sum()))
    return solve(kernel, nu, members=members, start=start, tol=min(tol, NORMALISED_TOLERANCE * mass))
