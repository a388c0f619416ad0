"""A fitted pair of densities on one scale: σ_s and σ_u of rows, with numpy alone (paper V-B, V-C)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.types import FloatArray
from discreet.guard.density.base import Arrays, Density, as_float, prefixed, restore_density, restoring, under
from discreet.guard.density.exact import LEFT, as_rows, blocks, dots, split, store
from discreet.guard.density.typicality import Typicality

ROWS_AT_ONCE = 2_048
SCALES, SIDES = ("normalised", "libsvm"), ("safe", "unsafe")


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """x ↦ (x − mean) · componentsᵀ: principal components shared by both sides, `mean` (d,), `components` (p, d)."""

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


@dataclass(frozen=True, slots=True, eq=False)
class FittedDual:
    """A fitted pair of densities, of the safe side and of the unsafe one, for rows of `dim` columns, projected first.

    With `views`, each density reads the typicality features of a row against its own side's class.

    `scale` is that of both σ. "libsvm" is the raw form of the paper: with ν·n in every σ, τ = 0 shifts with the ratio
    of the class sizes, and any other threshold with ν and n as well.
    """

    dim: int
    scale: str
    densities: tuple[Density, Density]
    projection: Projection | None = None
    views: tuple[Typicality, Typicality] | None = None

    def sigmas(self, x: ArrayLike) -> FloatArray:
        """σ_s and σ_u (n, 2) of rows (n, d), each row's own; ValueError for another width or NaN."""
        rows = as_rows(np.asarray(x), self.dim)
        out = np.empty((rows.shape[0], 2))
        for part in blocks(rows.shape[0], ROWS_AT_ONCE):
            seen = self.seen(rows[part])
            for side, density in enumerate(self.densities):
                view = seen if self.views is None else self.views[side].transform(seen)
                out[part, side] = density.normalised(view) if self.scale == "normalised" else density.score(view)
        return out

    def seen(self, x: NDArray[Any]) -> NDArray[Any]:
        """Rows (n, d) as the densities, or their views, get them."""
        return x if self.projection is None else self.projection.transform(x)

    def stored(self, side: int) -> NDArray[Any] | None:
        """Training embeddings that a side keeps, as of `seen`; None where it keeps none."""
        return (self.densities if self.views is None else self.views)[side].stored()

    def stored_rows(self) -> dict[str, int]:
        """Training embeddings that each side keeps, for the card."""
        keepers: Sequence[Density | Typicality] = self.views or self.densities
        return {side: one.stored_rows() for side, one in zip(SIDES, keepers, strict=True)}

    def components(self) -> dict[str, int] | None:
        """Mixture components `requested`, and fitted on each side (fewer where its rows do not carry them)."""
        safe, unsafe = (density.components for density in self.densities)
        return None if safe is None or unsafe is None else {
            "requested": safe[0], "safe": safe[1], "unsafe": unsafe[1]}

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save, named `safe/…`, `unsafe/…`, `projection/…`, `view_safe/…`, `view_unsafe/…`."""
        named: dict[str, NDArray[Any]] = {}
        for side, density in zip(SIDES, self.densities, strict=True):
            named |= prefixed(side, density.state())
        if self.projection is not None:
            named |= {"projection/mean": self.projection.mean, "projection/components": self.projection.components}
        if self.views is not None:
            for side, view in zip(SIDES, self.views, strict=True):
                named |= prefixed(f"view_{side}", view.state())
        return named

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        safe, unsafe = (density.config() for density in self.densities)
        views = {} if self.views is None else {"views": dict(zip(SIDES, [v.config() for v in self.views], strict=True))}
        return {"dim": self.dim, "scale": self.scale, "projection": self.projection is not None, **views,
                "safe": safe, "unsafe": unsafe, "stored_rows": self.stored_rows()}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Arrays) -> Self:
        """What `config` and `state` saved; InputError where it is not that."""
        with restoring("a saved pair of densities"):
            scale, dim, projection, views = config["scale"], int(config["dim"]), None, None
            seen = config.get("views")
            if scale not in SCALES or (seen is None) == any(name.startswith("view_") for name in state):
                raise ValueError(f"scale {scale!r} or views")
            if seen is not None:
                of_safe, of_unsafe = (Typicality.restore(seen[side], under(f"view_{side}", state)) for side in SIDES)
                views = of_safe, of_unsafe
            if config["projection"]:
                projection = Projection(as_float(state["projection/mean"]), state["projection/components"])
                if projection.mean.shape != (dim,) or projection.components.shape[1:] != (dim,):
                    raise ValueError("projection arrays of another shape")
            safe, unsafe = (restore_density(config[side], under(side, state)) for side in SIDES)
            return cls(dim, scale, (safe, unsafe), projection, views)
