"""Typicality features: where a row lies among the rows of a class (T3/Forte).

The class's rows are halved once into A and B. With d Euclidean, k = 5, and per encoder block of the row:

    r_A(x) = distance of x ∈ A to its k-th neighbour in A, itself left out
    r_Q(y) = distance of y to its k-th neighbour in B, itself left out
    recall    = #{x ∈ A: d(x, y) < r_Q(y)} / |A|
    density   = #{x ∈ A: d(x, y) < r_A(x)} / k
    precision = 1 if any x ∈ A: d(x, y) < r_A(x), else 0
    coverage  = 1 if min over A of d(x, y) < r_Q(y), else 0

T3 takes r_Q within the batch of queries, so that a score depends on who else is asked about; here it comes from the
fixed half B, and a row's features are its own, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.types import FloatArray
from discreet.guard.density.base import Arrays, enough_rows, restoring
from discreet.guard.density.exact import RIGHT, as_rows, blocks, split, squared_distances, squared_norms, store

K, FEATURES, LEAST_HALVED = 5, 4, 4
"""Neighbours, features a block, and rows under which all of them serve as A and as B."""
ARRAYS = {"centre": np.float64, "a": np.float32, "b": np.float32, "radii": np.float64}


@dataclass(frozen=True, eq=False)
class Reference:
    """One encoder's block of A and B, relative to `centre` (w,) as `exact.store` cuts them; `radii` are squared r_A."""

    centre: FloatArray
    a: NDArray[np.float32] = field(repr=False)
    b: NDArray[np.float32] = field(repr=False)
    radii: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        width = self.centre.shape
        if len(width) != 1 or self.a.shape != self.radii.shape + width or self.b.shape != (len(self.b), *width):
            raise ValueError("arrays of unlike shapes")

    @classmethod
    def of(cls, a: NDArray[Any], b: NDArray[Any], k: int) -> Reference:
        """From rows of A (n, w) and B (m, w) of one encoder."""
        centre = a.mean(axis=0, dtype=np.float64)
        kept, others = store(a - centre)[0], store(b - centre)[0]
        norms = squared_norms([kept])
        radii = [_reach(squared_distances([kept[part]], [kept], norms[part], norms), k, part.start)
                 for part in blocks(len(kept))]
        return cls(centre, kept, others, np.concatenate(radii))

    @cached_property
    def _norms(self) -> tuple[FloatArray, FloatArray]:
        return squared_norms([self.a]), squared_norms([self.b])

    def features(self, rows: NDArray[Any], k: int, own: int | None = None) -> FloatArray:
        """(n, 4) of rows (n, w); with `own`, the rows are B's from that index on and leave themselves out of r_Q."""
        # As many bits as the reference, so that a row that is one of it has distance zero from itself.
        left = split(rows, RIGHT, centre=self.centre)
        norms = squared_norms(left)
        to_a = squared_distances(left, [self.a], norms, self._norms[0])
        reach = _reach(squared_distances(left, [self.b], norms, self._norms[1]), k, own)
        inside = np.count_nonzero(to_a < self.radii, axis=1)
        recall = np.count_nonzero(to_a < reach[:, None], axis=1) / len(self.a)
        return np.stack([recall, inside / k, inside > 0, to_a.min(axis=1) < reach], axis=1).astype(np.float64)


def _reach(squared: FloatArray, k: int, own: int | None) -> FloatArray:
    """The k-th smallest of each row (n,); with `own`, row i leaves column own + i out."""
    if own is not None:
        index = np.arange(len(squared))
        squared[index, own + index] = np.inf
    return np.asarray(np.partition(squared, k - 1, axis=1)[:, k - 1], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Typicality:
    """Features (n, 4 per encoder) against one class, with `k` neighbours (fewer where a half has 5 rows or fewer).

    Keeps all of the class's rows: A and B.
    """

    k: int
    references: tuple[Reference, ...] = field(repr=False)

    @classmethod
    def fit(cls, x: NDArray[Any], widths: Sequence[int] | None, rng: np.random.Generator, k: int = K) -> Self:
        """From the rows (n, d) of a class, n >= 2; `widths` of the encoders' blocks sum to d (None: one block)."""
        rows = enough_rows(x, "a class of typicality features")
        columns = _columns(widths, rows.shape[1])
        order = rng.permutation(len(rows))
        halves = np.split(order, [len(rows) // 2]) if len(rows) >= LEAST_HALVED else [order, order]
        a, b = (rows[np.sort(half)] for half in halves)
        fitting = min(k, len(a) - 1)
        return cls(fitting, tuple(Reference.of(a[:, part], b[:, part], fitting) for part in columns))

    def transform(self, x: NDArray[Any]) -> FloatArray:
        """Features (n, 4 · encoders) of any rows (n, d)."""
        widths = [one.centre.size for one in self.references]
        rows = as_rows(x, sum(widths))
        out = np.empty((len(rows), FEATURES * len(widths)))
        for i, (one, columns) in enumerate(zip(self.references, _columns(widths, sum(widths)), strict=True)):
            for part in blocks(len(rows)):
                out[part, FEATURES * i : FEATURES * (i + 1)] = one.features(rows[part, columns], self.k)
        return out

    def own(self) -> FloatArray:
        """Features of the rows of B, each left out of its own r_Q: what a density is fitted on."""
        return np.hstack([np.concatenate([one.features(one.b[part] + one.centre, self.k, part.start)
                                          for part in blocks(len(one.b))]) for one in self.references])

    def rows(self) -> FloatArray:
        """The rows of B (m, d), those of `own`, as they were (to the 24 bits that are kept)."""
        return np.hstack([one.b + one.centre for one in self.references])

    def stored(self) -> FloatArray:
        """All rows of the class (m, d)."""
        return np.hstack([np.vstack([one.a, one.b]) + one.centre for one in self.references])

    def stored_rows(self) -> int:
        """Training embeddings that are kept."""
        return len(self.references[0].a) + len(self.references[0].b)

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        return {f"{name}_{i}": getattr(one, name) for i, one in enumerate(self.references) for name in ARRAYS}

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        return {"k": self.k, "widths": [one.centre.size for one in self.references]}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Arrays) -> Self:
        """What `config` and `state` saved; InputError where it is not that."""
        with restoring("saved typicality features"):
            k, widths = int(config["k"]), list(config["widths"])
            found = tuple(Reference(*(np.asarray(state[f"{name}_{i}"], kind) for name, kind in ARRAYS.items()))
                          for i in range(len(widths)))
            if not found or widths != [one.centre.size for one in found] or len({len(one.a) for one in found}) > 1:
                raise ValueError(f"widths {widths}")
            if not 1 <= k <= min(min(len(one.a), len(one.b)) for one in found):
                raise ValueError(f"{k} neighbours of fewer rows")
            return cls(k, found)


def _columns(widths: Sequence[int] | None, d: int) -> list[slice]:
    given = [d] if widths is None else [int(width) for width in widths]
    if sum(given) != d or min(given) < 1:
        raise ValueError(f"encoder widths {given} do not sum to the {d} columns of x: expected the width of each block")
    return [slice(stop - width, stop) for stop, width in zip(np.cumsum(given).tolist(), given, strict=True)]
