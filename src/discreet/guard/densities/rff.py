"""One-class SVM over random Fourier features (Rahimi & Recht 2007): a weight vector, and no training rows.

k(x, y) = exp(−γ ‖x − y‖²) ≈ z(x)·z(y) with z = m^−½ [cos(Wx), sin(Wx)], the rows of W drawn from N(0, 2γ I) (the pair
of cosine and sine has less variance than a cosine with a random phase: Sutherland & Schneider 2015). The dual over
z is solved exactly, as for `ocsvm`, and collapses into w = Σ αᵢ z(xᵢ).

What is saved is a seed: W is drawn again from the raw bits of Philox, whose stream numpy guarantees, by Box–Muller,
which is ours; numpy's own normal draws may change between versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.guard.density import DensityOptions, TooFewRowsError, as_float, checked_nu, densities, width
from discreet.guard.exact import LEFT, FloatArray, as_rows, blocks, dots, row_sums, split, store
from discreet.guard.kernel_rows import CAPACITY, RowCache
from discreet.guard.smo import solve

LEAST_ROWS = 2
TOLERANCE = 1e-3
RESIDENT = 1 << 28


def standard_normals(seed: int, shape: tuple[int, int]) -> FloatArray:
    """Standard normal draws that depend on the seed and the shape alone (Box & Muller 1958 on Philox's raw bits)."""
    size = shape[0] * shape[1]
    half = (size + 1) // 2
    bits = np.asarray(np.random.Philox(seed).random_raw(2 * half), dtype=np.uint64)
    # 53 bits each; the first uniform lies in (0, 1], so that its logarithm is finite.
    uniform = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    radius = np.sqrt(-2.0 * np.log1p(-uniform[:half]))
    angle = 2.0 * np.pi * uniform[half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size].reshape(shape)


@dataclass(frozen=True, slots=True, eq=False)
class RandomFeatures:
    """z: (n, d) -> (n, 2m) with ‖z(x)‖ = 1; a row's features depend on that row alone, bit for bit."""

    seed: int
    gamma: float
    dim: int
    n_frequencies: int
    _frequencies: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        drawn = standard_normals(self.seed, (self.n_frequencies, self.dim)) * np.sqrt(2.0 * self.gamma)
        kept = store(drawn)[0]
        small = kept.size * 8 <= RESIDENT
        object.__setattr__(self, "_frequencies", kept.astype(np.float64) if small else kept)

    def transform(self, x: NDArray[Any]) -> FloatArray:
        """Features of rows."""
        angles = dots(split(as_rows(x, self.dim), LEFT), [self._frequencies])
        out = np.empty((angles.shape[0], 2 * self.n_frequencies))
        np.cos(angles, out=out[:, : self.n_frequencies])
        np.sin(angles, out=out[:, self.n_frequencies :])
        out *= self.n_frequencies**-0.5
        return out

    def rows_of(self, x: NDArray[Any]) -> FeatureRows:
        """The Gram matrix over the features of rows (n, d)."""
        return FeatureRows(self, x)


class FeatureRows:
    """`KernelRows` of z(x)·z(y): features of all rows in single precision, never the Gram."""

    def __init__(self, features: RandomFeatures, x: NDArray[Any], capacity: int = CAPACITY // 4) -> None:
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

    def combine(self, weights: FloatArray) -> FloatArray:
        """Σᵢ weights[i, c] z(xᵢ) for weights (n, c), shape (2m, c)."""
        used = np.flatnonzero(np.any(weights != 0.0, axis=1))
        total = np.zeros((self._z.shape[1], weights.shape[1]))
        for part in blocks(used.size, 1024):
            total += self._z[used[part]].astype(np.float64).T @ weights[used[part]]
        return total

    def cross(self, other: NDArray[Any], weights: FloatArray) -> FloatArray:
        """Weighted sums of kernel values at other rows."""
        vectors = self.combine(weights)
        out = np.empty((other.shape[0], weights.shape[1]))
        for part in blocks(other.shape[0]):
            out[part] = self._features.transform(other[part]) @ vectors
        return out


@densities.register("rff")
@dataclass(frozen=True, slots=True)
class RandomFourier:
    """σ = w·z(x) − ρ; normalised by Σ αᵢ = ν·n as for `ocsvm`."""

    kind: ClassVar[str] = "rff"

    nu: float = 0.01
    gamma: float | str = "median"
    n_frequencies: int = 2048
    tol: float = TOLERANCE
    mass: float = 0.0
    rho: float = 0.0
    weights: FloatArray | None = field(default=None, repr=False, compare=False)
    features: RandomFeatures | None = None

    @classmethod
    def create(cls, options: DensityOptions) -> Self:
        """From the options that concern it: nu, gamma, n_frequencies."""
        if options.n_frequencies < 1:
            raise ValueError(f"n_frequencies is {options.n_frequencies}: expected at least 1")
        return cls(checked_nu(options.nu), options.gamma, options.n_frequencies)

    def fit(self, x: NDArray[Any], *, rng: np.random.Generator) -> Self:
        """Fitted to rows (n, d), n >= 2; `rng` draws the rows of the median heuristic and the seed of W."""
        rows = as_rows(x)
        n, d = rows.shape
        if n < LEAST_ROWS:
            raise TooFewRowsError("a one-class SVM over random features", n, LEAST_ROWS)
        gamma = width(self.gamma, rows, rng)
        features = RandomFeatures(int(rng.integers(2**63 - 1)), gamma, d, self.n_frequencies)
        kernel = features.rows_of(rows)
        mass = checked_nu(self.nu) * n
        dual = solve(kernel, self.nu, tol=self.tol * min(1.0, mass))
        weights = kernel.combine(dual.alpha[:, None])[:, 0]
        return replace(self, gamma=gamma, mass=mass, rho=dual.rho, weights=weights, features=features)

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
            gamma, n_frequencies = float(config["gamma"]), int(config["n_frequencies"])
            weights = as_float(state["weights"])
            if weights.shape != (2 * n_frequencies,):
                raise ValueError("weights of another length")
            features = RandomFeatures(int(config["seed"]), gamma, int(config["dim"]), n_frequencies)
            return cls(
                float(config["nu"]), gamma, n_frequencies, mass=float(config["mass"]), rho=float(config["rho"]),
                weights=weights, features=features,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"a saved random-feature SVM lacks or spoils {error}: expected what a fit saved") from None

    def _fitted(self) -> tuple[RandomFeatures, FloatArray]:
        if self.features is None or self.weights is None:
            raise ValueError("a one-class SVM over random features scores after fit(x, rng=…), not before")
        return self.features, self.weights
