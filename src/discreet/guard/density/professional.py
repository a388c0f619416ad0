"""Broad professional text, as the learned reader sees it, and how far a text is from it.

Mean, leading principal components and variances of the reader's vectors over the passages that taught it. The distance
of a vector x with coordinates z on k components of d, of variances λ, is that of probabilistic principal components
(Tipping and Bishop, J. R. Stat. Soc. B 1999): (Σ z²/λ + ‖rest‖²/λ_rest) / d, about 1 for a text like these. The limits
were set with families left out in turn (`benchmarks/reader/professional.py`); the reader's card names them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import read_arrays
from discreet.core.errors import DetectorError
from discreet.core.types import BoolArray, FloatArray
from discreet.guard.density.base import as_float
from discreet.guard.density.exact import row_sums
from discreet.guard.density.fitted_dual import Projection
from discreet.guard.text import reader

ARRAYS = "professional.safetensors"
"""Beside the reader's weights: `mean` (d,), `components` (k, d), `variances` (k,), `rest` (1,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Professional:
    """Distances from broad professional text; beyond `limit` a text is out of distribution. `unsure` are the log-odds
    of each operating point above which a fitted guard does not call an answer safe; `sha256` that of the arrays."""

    projection: Projection = field(repr=False)
    variances: FloatArray = field(repr=False)
    rest: float
    limit: float
    unsure: Mapping[str, float]
    sha256: str

    def distances(self, vectors: NDArray[np.float32]) -> FloatArray:
        """(n,) of vectors (n, d), each its own, bit for bit."""
        apart = np.asarray(vectors, dtype=np.float64) - self.projection.mean
        along = self.projection.transform(np.asarray(vectors))
        outside = np.maximum(row_sums(apart * apart) - row_sums(along * along), 0.0)
        return (row_sums(along * along / self.variances) + outside / self.rest) / self.projection.mean.size

    def unsure_above(self, point: str) -> float:
        """The log-odds above which a fitted guard that does not flag abstains; those of conservative at "costs"."""
        return self.unsure.get(point, self.unsure["conservative"])

    def out_of_distribution(self, vectors: NDArray[np.float32]) -> BoolArray:
        """Whether each of the vectors (n, d) is further away than the limit."""
        return np.asarray(self.distances(vectors) > self.limit)


def weights() -> dict[str, str]:
    """Hashes of what a guard that is fitted with the reader depends on: the reader's weights, and the reference."""
    return {"weights": reader.packaged().card["sha256"][reader.MODEL], "professional": professional().sha256}


@cache
def professional() -> Professional:
    """The reference that ships with the reader. Raises DetectorError where it is missing, changed, or of other weights.
    """
    try:
        card = reader.packaged().card
        said, found = card["professional"], hashlib.sha256((reader.FOLDER / ARRAYS).read_bytes()).hexdigest()
        if found != said["sha256"] or said["weights"] != card["sha256"][reader.MODEL]:
            raise ValueError("changed")
        arrays = read_arrays(reader.FOLDER / ARRAYS)
        limit, unsure = float(said["limit"]), {name: float(odds) for name, odds in said["unsure"].items()}
        if not all(map(isfinite, (limit, *unsure.values()))):
            raise ValueError("limits")
        return Professional(Projection.of(arrays["mean"], arrays["components"]), as_float(arrays["variances"]),
                            float(arrays["rest"][0]), limit, unsure, found)
    except DetectorError:
        raise
    except Exception as error:
        raise DetectorError("the reference of professional text", type(error).__name__) from None
