"""Two fitted densities that score in numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.guard.density import Density, restore_density
from discreet.guard.exact import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class DualScores:
    """σ of both sides on the common scale."""

    safe: Density
    unsafe: Density

    def sigmas(self, x: NDArray[Any]) -> FloatArray:
        """σ_s and σ_u (n, 2)."""
        return np.stack([self.safe.normalised(x), self.unsafe.normalised(x)], axis=1)

    def stored_rows(self) -> dict[str, int]:
        """Training embeddings that each side keeps."""
        return {"safe": self.safe.stored_rows(), "unsafe": self.unsafe.stored_rows()}

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        both = {"safe": self.safe, "unsafe": self.unsafe}
        return {f"{side}/{name}": array for side, density in both.items() for name, array in density.state().items()}

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        return {"safe": self.safe.config(), "unsafe": self.unsafe.config()}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> DualScores:
        """What `config` and `state` saved; InputError where they describe none."""
        sides = []
        for side in ("safe", "unsafe"):
            if not isinstance(config.get(side), Mapping):
                raise InputError(f"a saved pair of densities lacks its side {side!r}: expected what a fit saved")
            under = {n.removeprefix(f"{side}/"): a for n, a in state.items() if n.startswith(f"{side}/")}
            sides.append(restore_density(config[side], under))
        return cls(*sides)
