"""Dot products whose bits do not depend on batch mates, order, block sizes or threads.

A BLAS adds the d products of a dot in an order that changes with the shape of the batch; the last bits of a score would
then depend on who else is judged. Here every row is first rounded to a grid of its own, a power of two so coarse that
every product and every partial sum of a dot fits the 53 bits of a double: the sum is exact, and exact sums have no
order. (Ozaki, Ogita, Oishi & Rump 2012, "Error-free transformations of matrix multiplication", with Cauchy–Schwarz in
place of their bound: no partial sum exceeds ‖x‖‖y‖.) What the rounding loses can be kept in a second, finer slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.types import FloatArray

Slices: TypeAlias = Sequence[NDArray[Any]]

LEFT, RIGHT = 28, 24
"""Bits of queries and of what is stored, 52 together; float32 holds multiples of at most 2²⁴ steps exactly."""
SMALLEST = 2.0**-400
"""Rows shorter than this are taken as zero, so that squares stay normal numbers."""
LARGEST = 1e100
"""No value of a query may be larger, so that squares stay finite."""
BLOCK = 256
"""Rows of queries per product."""
ROWS_AT_ONCE = 32
"""Rows that are rounded together: several copies of them stay in the second cache."""


def row_sums(values: FloatArray) -> FloatArray:
    """Sums along the last axis of a C-contiguous (n, d) array, each row by itself in numpy's pairwise order."""
    return np.asarray(np.add.reduce(np.ascontiguousarray(values), axis=1), dtype=np.float64)


def to_grid(rows: NDArray[Any], bits: int) -> FloatArray:
    """Each row of (n, d), as float64, rounded to multiples of 2^(e − bits) where 2^(e − 1) <= its norm < 2^e."""
    given = np.ascontiguousarray(rows, dtype=np.float64)
    squares = row_sums(given * given)
    _, exponents = np.frexp(squares)
    # Adding and taking away 1.5 · 2⁵² steps rounds to whole steps, half to even.
    shift = np.ldexp(1.5, (exponents + 1) // 2 - bits + 52)[:, None]
    rounded: FloatArray = given + shift
    rounded -= shift
    rounded[squares < SMALLEST**2] = 0.0
    return rounded


def split(rows: NDArray[Any], bits: int, count: int = 1, centre: FloatArray | None = None) -> tuple[FloatArray, ...]:
    """`count` slices of each row, less `centre`, the coarsest first: their sum is the row to count · bits bits."""
    given = np.asarray(rows)
    slices = tuple(np.empty(given.shape) for _ in range(count))
    for part in blocks(given.shape[0], ROWS_AT_ONCE):
        rest = given[part].astype(np.float64) if centre is None else given[part] - centre
        for piece in slices:
            piece[part] = to_grid(rest, bits)
            if count > 1:
                rest = rest - piece[part]
    return slices


def store(rows: NDArray[Any], count: int = 1) -> tuple[NDArray[np.float32], ...]:
    """`split` with the bits of what is stored. ValueError for numbers outside the range of float32."""
    given = np.asarray(rows, dtype=np.float64)
    largest = float(np.abs(given).max(initial=0.0))
    if largest > 1e30:
        raise ValueError(f"rows to be stored hold a value of size {largest:g}: expected at most 1e30")
    return tuple(part.astype(np.float32) for part in split(given, RIGHT, count))


def dots(left: Slices, right: Slices) -> FloatArray:
    """Dot products (n, m) of rows cut by `split` (n, d) and `store` (m, d); equal bits for a row in any batch.

    With k slices on either side the k (k + 1) / 2 largest of their products are added, the smallest first.
    """
    depth = max(len(left), len(right))
    pairs = [(i, j) for i in range(len(left)) for j in range(len(right)) if i + j < depth]
    pairs.sort(key=lambda p: (-sum(p), p))
    first, *others = (np.asarray(left[i], np.float64) @ np.asarray(right[j], np.float64).T for i, j in pairs)
    return sum(others, first)


def squared_norms(slices: Slices) -> FloatArray:
    """‖row‖² (n,) of the sum of the slices."""
    out = np.empty(slices[0].shape[0])
    for part in blocks(out.size, ROWS_AT_ONCE):
        whole = sum((piece[part] for piece in slices[1:]), slices[0][part].astype(np.float64))
        out[part] = row_sums(whole * whole)
    return out


def squared_distances(left: Slices, right: Slices, left_norms: FloatArray, right_norms: FloatArray) -> FloatArray:
    """Squared Euclidean distances (n, m), never negative; norms as `squared_norms` gives them."""
    products = dots(left, right)
    products *= -2.0
    products += left_norms[:, None]
    products += right_norms[None, :]
    return np.maximum(products, 0.0, out=products)


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def as_rows(x: NDArray[Any], d: int | None = None, what: str = "x") -> NDArray[Any]:
    """A 2-D array of finite numbers with d columns. ValueError otherwise."""
    given = np.asarray(x)
    if given.ndim != 2 or (d is not None and given.shape[1] != d):
        expected = "(rows, features)" if d is None else f"(rows, {d})"
        raise ValueError(f"{what} has shape {given.shape}: expected {expected}")
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{what} holds values of type {given.dtype}: expected numbers")
    # The largest of numbers one of which is NaN is NaN.
    largest = max(float(given.max()), -float(given.min())) if given.size and given.dtype.kind != "b" else 0.0
    if not np.isfinite(largest):
        raise ValueError(f"{what} holds NaN or infinite values: expected finite numbers")
    if largest > LARGEST:
        raise ValueError(f"{what} holds a value of size {largest:g}: expected at most {LARGEST:g}")
    return given
