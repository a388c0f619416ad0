"""Rows of a Gram matrix, computed when first needed and shared by every fit on the same data.

One-class fits over folds and ν touch the same few rows again and again (those of support vectors and candidates). A
row of 20,000 × 3,072 costs a matrix–vector product; kept, it costs a look. Rows lie in one array that the operating
system backs with memory as it is filled.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.guard.exact import FloatArray, blocks, row_sums

FULL_PRECISION_ROWS = 4_096
"""Up to that many rows the Gram is computed and kept in double precision."""
FLAT = 64.0
"""γ‖x‖² up to which single precision leaves an error under 1e-5 in a kernel value."""
CAPACITY = 2 << 30
"""Bytes of rows kept at the most."""


class KernelRows(Protocol):
    """A Gram matrix with a unit diagonal over n rows."""

    n: int

    def rows(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Gram rows (k, n) of `index` (k,); a view or a copy, not to be written to."""
        ...

    def outlying(self) -> FloatArray:
        """(n,) larger = further out, a guess at who becomes a support vector."""
        ...

    def cross(self, other: NDArray[Any], weights: FloatArray) -> FloatArray:
        """Σᵢ weights[i, c] K(xᵢ, other) for other rows (m, d) and weights (n, c): (m, c)."""
        ...


class RowCache:
    """Gram rows by index, at most `capacity` bytes of them; when full it starts again with what is asked for."""

    def __init__(self, n: int, dtype: type[np.floating[Any]], capacity: int = CAPACITY) -> None:
        room = max(1, min(n, capacity // (n * np.dtype(dtype).itemsize)))
        self._store = np.empty((room, n), dtype=dtype)
        self._slot = np.full(n, -1, dtype=np.int64)
        self._used = 0

    def missing(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of `index` that are not kept; makes room for them."""
        absent = index[self._slot[index] < 0]
        if self._used + absent.size > self._store.shape[0]:
            self._slot[:] = -1
            self._used = 0
            if index.size > self._store.shape[0]:
                self._store = np.empty((index.size, self._store.shape[1]), dtype=self._store.dtype)
            return index
        return absent

    def put(self, index: NDArray[np.int64], rows: NDArray[Any]) -> None:
        """Keep rows that were missing."""
        end = self._used + index.size
        self._store[self._used : end] = rows
        self._slot[index] = np.arange(self._used, end)
        self._used = end

    def get(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Rows that are kept, (k, n)."""
        return np.asarray(self._store[self._slot[index]])


class RbfRows:
    """exp(−γ ‖x − y‖²) over rows (n, d)."""

    def __init__(self, x: NDArray[Any], gamma: float, capacity: int = CAPACITY) -> None:
        self.n = x.shape[0]
        self.gamma = gamma
        self._centre = x.mean(axis=0, dtype=np.float64)
        self._norms = _squared_norms(x, self._centre)
        flat = gamma * float(self._norms.max(initial=0.0)) <= FLAT
        self._dtype = np.float32 if self.n > FULL_PRECISION_ROWS and flat else np.float64
        self._x = np.empty(x.shape, dtype=self._dtype)
        for part in blocks(self.n, 1024):
            self._x[part] = x[part] - self._centre
        self._cache = RowCache(self.n, self._dtype, capacity)

    def rows(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Gram rows (k, n)."""
        absent = self._cache.missing(index)
        for part in blocks(absent.size, 512):
            chosen = absent[part]
            kernel = self._kernel(self._x[chosen], self._norms[chosen], self._x, self._norms)
            kernel[np.arange(chosen.size), chosen] = 1.0
            self._cache.put(chosen, kernel)
        return self._cache.get(index)

    def outlying(self) -> FloatArray:
        """Squared distance from the mean."""
        return self._norms

    def cross(self, other: NDArray[Any], weights: FloatArray) -> FloatArray:
        """Weighted sums of kernel values at other rows."""
        used = np.flatnonzero(np.any(weights != 0.0, axis=1))
        support, norms, among = self._x[used], self._norms[used], weights[used]
        out = np.zeros((other.shape[0], weights.shape[1]))
        for part in blocks(other.shape[0], 512):
            y = (other[part] - self._centre).astype(self._dtype)
            theirs = _squared_norms(other[part], self._centre)
            out[part] = self._kernel(y, theirs, support, norms).astype(np.float64) @ among
        return out

    def _kernel(
        self, left: NDArray[Any], left_norms: FloatArray, right: NDArray[Any], right_norms: FloatArray
    ) -> NDArray[Any]:
        kernel = left @ right.T
        kernel *= 2.0
        kernel -= left_norms.astype(self._dtype)[:, None]
        kernel -= right_norms.astype(self._dtype)[None, :]
        np.minimum(kernel, 0.0, out=kernel)
        kernel *= self.gamma
        return np.asarray(np.exp(kernel, out=kernel))


def _squared_norms(x: NDArray[Any], centre: FloatArray) -> FloatArray:
    out = np.empty(x.shape[0])
    for part in blocks(x.shape[0], 1024):
        rows = x[part] - centre
        out[part] = row_sums(rows * rows)
    return out
