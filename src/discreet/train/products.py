"""Matrix products whose rows do not know of one another, and the features of several models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.train.base import FloatArray
from discreet.train.features import Matrix

Single = NDArray[np.float32]

BLOCK = 256
"""Rows that a product is made of at a time, to stay in the processor's cache."""


def exact_product(rows: Matrix, right: NDArray[np.floating]) -> FloatArray:
    """rows (n, d) times right (d, k) in float64, (n, k): each row bit for bit the same in any company.

    BLAS gives a row other last bits in another batch; here every row adds its terms in the order of the columns.
    """
    wide = right.astype(np.float64)
    if not isinstance(rows, np.ndarray):
        return np.asarray(rows.astype(np.float64) @ wide, dtype=np.float64)
    out = np.zeros((rows.shape[0], right.shape[1]))
    for start in range(0, rows.shape[0], BLOCK):
        part, sums = rows[start : start + BLOCK].T.astype(np.float64), out[start : start + BLOCK]
        for column, factors in zip(part, wide, strict=True):
            sums += column[:, None] * factors
    return out


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """The rows of M models as one block-diagonal CSR matrix (M · most, M · d), and its transpose.

    `sizes` are the rows of each model; those from there to `most` are empty.
    """

    blocks: Matrix
    turned: Matrix
    sizes: tuple[int, ...]

    def times(self, right: Single) -> Single:
        """Each model's rows times its (d, h) of `right` (M, d, h): (M, most, h)."""
        product = self.blocks @ right.reshape(-1, right.shape[2])
        return np.asarray(product, dtype=np.float32).reshape(len(self.sizes), -1, right.shape[2])

    def back(self, left: Single, out: Single) -> None:
        """Into `out` (M, d, h): each model's transposed rows times its (most, h) of `left`."""
        out[:] = (self.turned @ left.reshape(-1, left.shape[2])).reshape(out.shape)


@dataclass(frozen=True, slots=True, eq=False)
class DenseRows:
    """The rows of M models, an array (sizes[m], d) each."""

    rows: tuple[Single, ...]
    sizes: tuple[int, ...]

    def times(self, right: Single) -> Single:
        """As `SparseRows.times`; rows beyond a model's are zero."""
        out = np.zeros((len(self.sizes), max(self.sizes), right.shape[2]), dtype=np.float32)
        for m, size in enumerate(self.sizes):
            np.matmul(self.rows[m], right[m], out=out[m, :size])
        return out

    def back(self, left: Single, out: Single) -> None:
        """As `SparseRows.back`."""
        for m, size in enumerate(self.sizes):
            np.matmul(self.rows[m].T, left[m, :size], out=out[m])


def packed(features: Sequence[Matrix]) -> SparseRows | DenseRows:
    """The scaled features of M models, (n_m, d) each, all arrays or all CSR, as float32."""
    sizes = tuple(int(one.shape[0]) for one in features)
    if all(isinstance(one, np.ndarray) for one in features):
        return DenseRows(tuple(np.ascontiguousarray(one, dtype=np.float32) for one in features), sizes)
    from scipy.sparse import csr_matrix

    most, dim = max(sizes), int(features[0].shape[1])
    ends = np.concatenate([np.pad(np.diff(one.indptr), (0, most - one.shape[0])) for one in features])
    columns = np.concatenate([one.indices.astype(np.int64) + m * dim for m, one in enumerate(features)])
    data = np.concatenate([one.data for one in features]).astype(np.float32)
    blocks = csr_matrix((data, columns, np.concatenate([[0], np.cumsum(ends)])), shape=(len(sizes) * most,
                                                                                         len(sizes) * dim))
    return SparseRows(blocks, blocks.T.tocsr(), sizes)
