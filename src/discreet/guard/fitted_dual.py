"""Two densities on one scale, fitted: σ_s, σ_u and δ = σ_u − σ_s of rows, with numpy alone (paper V-B, V-C)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.guard.densities.gmm import GaussianMixture
from discreet.guard.density import Density, as_float, prefixed, restore_density, restoring, under
from discreet.guard.exact import LEFT, FloatArray, as_rows, blocks, dots, split, store
from discreet.guard.typicality import Typicality

Scale = Literal["normalised", "libsvm"]
SCALES: tuple[Scale, ...] = ("normalised", "libsvm")
SIDES = ("safe", "unsafe")
ROWS_AT_ONCE = 2_048


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """x ↦ (x − mean) · componentsᵀ: principal components shared by both sides.

    `mean` (d,); `components` (p, d) float32, as `exact.store` cuts them.
    """

    mean: FloatArray
    components: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, mean: ArrayLike, components: ArrayLike) -> Projection:
        """From the mean (d,) and the components (p, d) of a fit."""
        return cls(as_float(mean), store(np.asarray(components))[0])

    def transform(self, x: NDArray[Any]) -> FloatArray:
        """(n, p); a row depends on itself alone, bit for bit."""
        rows = as_rows(x, self.mean.size)
        out = np.empty((rows.shape[0], self.components.shape[0]))
        for part in blocks(rows.shape[0]):
            out[part] = dots(split(rows[part], LEFT, centre=self.mean), [self.components])
        return out


@dataclass(frozen=True, slots=True)
class Components:
    """Mixture components asked for, and how many were fitted on each side: fewer where its rows do not carry them."""

    requested: int
    safe: int
    unsafe: int

    def __str__(self) -> str:
        return f"K = {self.safe} on the safe side, K = {self.unsafe} on the unsafe side; {self.requested} requested"

    def to_json(self) -> dict[str, int]:
        """`{requested, safe, unsafe}`."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class FittedDual:
    """A fitted pair of densities.

    Attributes
    ----------
    dim : int
        Columns of the rows that are scored.
    scale : "normalised" or "libsvm"
        Scale of both σ. "libsvm" is the raw form of the paper: with ν·n in every σ, τ = 0 shifts with the ratio of
        the class sizes, and any other threshold with ν and n as well.
    safe, unsafe : Density
    projection : Projection or None
        Applied to rows first.
    views : pair of Typicality, or None
        With typicality features, what each side sees of a row; each density then reads its own side's view.
    """

    dim: int
    scale: Scale
    safe: Density
    unsafe: Density
    projection: Projection | None = None
    views: tuple[Typicality, Typicality] | None = None

    def sigmas(self, x: ArrayLike) -> FloatArray:
        """σ_s and σ_u (n, 2) of rows (n, d), higher = more typical. ValueError for another width or NaN.

        A row's scores depend on that row alone, bit for bit, whatever its batch.
        """
        rows = as_rows(np.asarray(x), self.dim)
        out = np.empty((rows.shape[0], 2))
        for part in blocks(rows.shape[0], ROWS_AT_ONCE):
            seen = rows[part] if self.projection is None else self.projection.transform(rows[part])
            for side, density in enumerate((self.safe, self.unsafe)):
                view = seen if self.views is None else self.views[side].transform(seen)
                out[part, side] = density.normalised(view) if self.scale == "normalised" else density.score(view)
        return out

    def delta(self, x: ArrayLike) -> FloatArray:
        """δ = σ_u − σ_s (n,); higher = closer to the unsafe class (paper V-C)."""
        sigmas = self.sigmas(x)
        return np.asarray(sigmas[:, 1] - sigmas[:, 0], dtype=np.float64)

    def stored_rows(self) -> dict[str, int]:
        """Training embeddings that each side keeps, for the card."""
        if self.views is not None:
            return {side: view.stored_rows() for side, view in zip(SIDES, self.views, strict=True)}
        return {"safe": self.safe.stored_rows(), "unsafe": self.unsafe.stored_rows()}

    def components(self) -> Components | None:
        """Mixture components of both sides; None where the densities are no mixtures."""
        if not isinstance(self.safe, GaussianMixture) or not isinstance(self.unsafe, GaussianMixture):
            return None
        return Components(self.safe.n_components, self.safe.components, self.unsafe.components)

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save, named `safe/…`, `unsafe/…`, `projection/…`, `view_safe/…`, `view_unsafe/…`."""
        named = prefixed("safe", self.safe.state()) | prefixed("unsafe", self.unsafe.state())
        if self.projection is not None:
            named |= {"projection/mean": self.projection.mean, "projection/components": self.projection.components}
        if self.views is not None:
            for side, view in zip(SIDES, self.views, strict=True):
                named |= prefixed(f"view_{side}", view.state())
        return named

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        views = None
        if self.views is not None:
            views = {side: view.config() for side, view in zip(SIDES, self.views, strict=True)}
        return {
            "dim": self.dim, "scale": self.scale, "projection": self.projection is not None, "views": views,
            "safe": self.safe.config(), "unsafe": self.unsafe.config(), "stored_rows": self.stored_rows(),
        }

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved; InputError where it is not that."""
        with restoring("a saved pair of densities"):
            scale, dim, seen = config["scale"], int(config["dim"]), config["views"]
            if scale not in SCALES:
                raise ValueError(f"scale {scale!r}")
            projection = _projection(config, state, dim)
            views = None
            if seen is not None:
                safe, unsafe = (Typicality.restore(seen[side], under(f"view_{side}", state)) for side in SIDES)
                views = safe, unsafe
            sides = [restore_density(config[side], under(side, state)) for side in SIDES]
            return cls(dim, scale, sides[0], sides[1], projection, views)


def _projection(config: Mapping[str, Any], state: Mapping[str, NDArray[Any]], dim: int) -> Projection | None:
    if not config["projection"]:
        return None
    mean = as_float(state["projection/mean"])
    components = np.asarray(state["projection/components"], dtype=np.float32)
    if mean.shape != (dim,) or components.ndim != 2 or components.shape[1] != dim:
        raise ValueError("projection arrays of another shape")
    return Projection(mean, components)
