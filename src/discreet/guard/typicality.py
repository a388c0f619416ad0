"""Typicality features: where a row lies among the rows of a class (T3/Forte; research notes 5a, written from them).

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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.guard.density import TooFewRowsError, restoring
from discreet.guard.exact import RIGHT, FloatArray, as_rows, blocks, split, squared_distances, squared_norms, store

K = 5
LEAST_ROWS = 2
LEAST_HALVED = 4
"""With fewer rows all of them serve as A and as B."""
NAMES = ("recall", "density", "precision", "coverage")


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """One encoder's block of A and B.

    `centre` (w,) is taken off every row before distances are measured; `a`, `b` are rows relative to it as
    `exact.store` cuts them; `radii` (|A|,) are the squared r_A.
    """

    centre: FloatArray
    a: NDArray[np.float32] = field(repr=False)
    b: NDArray[np.float32] = field(repr=False)
    radii: FloatArray = field(repr=False)
    _norms: tuple[FloatArray, FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_norms", (squared_norms([self.a]), squared_norms([self.b])))

    @classmethod
    def of(cls, a: NDArray[Any], b: NDArray[Any], k: int) -> Reference:
        """From rows of A (n, w) and B (m, w) of one encoder."""
        centre = a.mean(axis=0, dtype=np.float64)
        kept, others = store(a - centre)[0], store(b - centre)[0]
        norms = squared_norms([kept])
        radii = np.empty(kept.shape[0])
        for part in blocks(kept.shape[0]):
            squared = squared_distances([kept[part]], [kept], norms[part], norms)
            radii[part] = _kth(_without_self(squared, part.start), k)
        return cls(centre, kept, others, radii)

    def features(self, rows: NDArray[Any], k: int, own: int | None = None) -> FloatArray:
        """(n, 4) of rows (n, w); with `own`, the rows are B's from that index on and leave themselves out of r_Q."""
        # As many bits as the reference, so that a row that stands in it has distance zero from itself.
        left = split(rows, RIGHT, centre=self.centre)
        norms = squared_norms(left)
        to_a = squared_distances(left, [self.a], norms, self._norms[0])
        to_b = squared_distances(left, [self.b], norms, self._norms[1])
        reach = _kth(to_b if own is None else _without_self(to_b, own), k)
        inside = np.count_nonzero(to_a < self.radii[None, :], axis=1)
        recall = np.count_nonzero(to_a < reach[:, None], axis=1) / self.a.shape[0]
        coverage = to_a.min(axis=1) < reach
        return np.stack([recall, inside / k, inside > 0, coverage], axis=1).astype(np.float64)


def _kth(squared: FloatArray, k: int) -> FloatArray:
    return np.asarray(np.partition(squared, k - 1, axis=1)[:, k - 1], dtype=np.float64)


def _without_self(squared: FloatArray, first: int) -> FloatArray:
    alone = squared.copy()
    row = np.arange(alone.shape[0])
    alone[row, first + row] = np.inf
    return alone


@dataclass(frozen=True, slots=True, eq=False)
class Typicality:
    """Features (n, 4 per encoder) against one class. Keeps all of the class's rows: A and B.

    Attributes
    ----------
    k : int
        Neighbours: 5, fewer where a half has 5 rows or fewer.
    references : one per encoder block
    """

    k: int
    references: tuple[Reference, ...] = field(repr=False)

    @classmethod
    def fit(cls, x: NDArray[Any], widths: Sequence[int] | None, rng: np.random.Generator, k: int = K) -> Self:
        """From the rows (n, d) of a class, n >= 2; `widths` of the encoders' blocks sum to d (None: one block)."""
        rows = as_rows(x)
        n, d = rows.shape
        if n < LEAST_ROWS:
            raise TooFewRowsError("a class of typicality features", n, LEAST_ROWS)
        ends = _ends(widths, d)
        order = rng.permutation(n)
        halves = (order[: n // 2], order[n // 2 :]) if n >= LEAST_HALVED else (order, order)
        a, b = (rows[np.sort(half)] for half in halves)
        fitting = min(k, a.shape[0] - 1)
        return cls(fitting, tuple(Reference.of(a[:, part], b[:, part], fitting) for part in ends))

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of each encoder."""
        return tuple(r.centre.size for r in self.references)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, encoder by encoder."""
        return tuple(f"{name}_{i}" for i in range(len(self.references)) for name in NAMES)

    def transform(self, x: NDArray[Any]) -> FloatArray:
        """Features (n, 4 · encoders) of any rows (n, d)."""
        rows = as_rows(x, sum(self.widths))
        out = np.empty((rows.shape[0], len(NAMES) * len(self.references)))
        for i, (reference, columns) in enumerate(zip(self.references, _ends(self.widths, rows.shape[1]), strict=True)):
            for part in blocks(rows.shape[0]):
                out[part, len(NAMES) * i : len(NAMES) * (i + 1)] = reference.features(rows[part, columns], self.k)
        return out

    def own(self) -> FloatArray:
        """Features of the rows of B, each left out of its own r_Q: what a density is fitted on."""
        columns = [np.concatenate([r.features(r.b[part].astype(np.float64) + r.centre, self.k, part.start)
                                   for part in blocks(r.b.shape[0])]) for r in self.references]
        return np.concatenate(columns, axis=1)

    def rows(self) -> FloatArray:
        """The rows of B (m, d), those of `own`, as they were (to the 24 bits that are kept)."""
        return np.concatenate([r.b.astype(np.float64) + r.centre for r in self.references], axis=1)

    def stored_rows(self) -> int:
        """Training embeddings that are kept."""
        first = self.references[0]
        return int(first.a.shape[0] + first.b.shape[0])

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        named: dict[str, NDArray[Any]] = {}
        for i, r in enumerate(self.references):
            named |= {f"centre_{i}": r.centre, f"a_{i}": r.a, f"b_{i}": r.b, f"radii_{i}": r.radii}
        return named

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        return {"k": self.k, "widths": list(self.widths)}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved; InputError where it is not that."""
        with restoring("saved typicality features"):
            k, widths = int(config["k"]), [int(w) for w in config["widths"]]
            references = []
            for i, width in enumerate(widths):
                centre, radii = (np.asarray(state[f"{name}_{i}"], np.float64) for name in ("centre", "radii"))
                a, b = (np.asarray(state[f"{name}_{i}"], np.float32) for name in ("a", "b"))
                if centre.shape != (width,) or a.shape != (radii.size, width) or b.shape[1:] != (width,):
                    raise ValueError("arrays of unlike shapes")
                references.append(Reference(centre, a, b, radii))
            if not references or not 1 <= k <= min(min(r.a.shape[0], r.b.shape[0]) for r in references):
                raise ValueError("k neighbours of fewer rows")
            return cls(k, tuple(references))


def _ends(widths: Sequence[int] | None, d: int) -> list[slice]:
    given = [d] if widths is None else [int(w) for w in widths]
    if sum(given) != d or any(w < 1 for w in given):
        raise ValueError(f"encoder widths {given} do not sum to the {d} columns of x: expected the width of each block")
    stops = np.cumsum(given).tolist()
    return [slice(stop - w, stop) for stop, w in zip(stops, given, strict=True)]
