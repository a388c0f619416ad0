"""What every function of this room accepts: finite scores, labels 0 and 1, groups, shares of one.

Messages name positions and numbers, never the names of groups, which may be user ids.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import MissingExtraError
from discreet.core.types import BoolArray, FloatArray, IntArray


def finite_scores(scores: ArrayLike, name: str = "scores") -> FloatArray:
    """One finite number per example, as float64 of shape (n,)."""
    values = _numbers(scores, name, "numbers").astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {values[bad[0]]} ({bad.size} such): expected finite numbers")
    return values


def binary_labels(labels: ArrayLike, name: str = "labels") -> BoolArray:
    """Labels that are all 0 or 1 (or booleans), as booleans of shape (n,)."""
    given = _numbers(labels, name, "0 and 1")
    odd = np.flatnonzero((given != 0) & (given != 1))
    if odd.size:
        raise ValueError(f"{name}[{odd[0]}] is {given[odd[0]]} ({odd.size} such): expected only 0 and 1")
    return given.astype(np.bool_)


def _numbers(values: ArrayLike, name: str, expected: str) -> NDArray[Any]:
    given = np.asarray(values)
    if given.size and given.dtype.kind not in "biuf":
        raise ValueError(f"{name} hold values of type {given.dtype}: expected {expected}")
    _one_axis(given, name)
    return given


def scored_labels(scores: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Scores and labels of the same examples."""
    values, truth = finite_scores(scores), binary_labels(labels)
    same_length(truth, values.size, "labels")
    return values, truth


def group_codes(groups: ArrayLike, n: int, name: str = "groups") -> IntArray:
    """Groups of any sortable type as codes 0…G−1, shape (n,)."""
    given = np.asarray(groups)
    _one_axis(given, name)
    same_length(given, n, name)
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError(f"{name}[{np.flatnonzero(np.isnan(given))[0]}] is nan: expected a group for every example")
    return np.unique(given, return_inverse=True)[1].astype(np.int64).reshape(-1)


def same_length(array: NDArray[Any], n: int, name: str) -> None:
    """Refuse arrays that do not describe the same n examples."""
    if array.shape[0] != n:
        raise ValueError(f"{name} have length {array.shape[0]}: expected {n}, one per example")


def share(value: float, name: str, *, open_interval: bool = False) -> float:
    """A number in [0, 1], or in (0, 1) where the ends make no sense."""
    inside = 0.0 < value < 1.0 if open_interval else 0.0 <= value <= 1.0
    if not inside:
        raise ValueError(f"{name} is {value}: expected a number {'strictly ' if open_interval else ''}from 0 to 1")
    return float(value)


def counts(k: int, n: int, name: str = "k") -> tuple[int, int]:
    """k of n, whole numbers with 0 <= k <= n and n >= 1."""
    if k != int(k) or n != int(n) or n < 1 or not 0 <= k <= n:
        raise ValueError(f"{name} of n is {k} of {n}: expected whole numbers with 0 <= {name} <= n and n >= 1")
    return int(k), int(n)


def _one_axis(given: NDArray[Any], name: str) -> None:
    if given.ndim != 1:
        raise ValueError(f"{name} have shape {given.shape}: expected one value per example, shape (n,)")


def midranks(values: FloatArray) -> FloatArray:
    """Ranks 1 … n of (n,) values, ties averaged."""
    _, place, tied = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(tied) - (tied - 1) / 2.0)[place.reshape(-1)], dtype=np.float64)


def scipy_module(name: str, purpose: str) -> Any:
    """`scipy.<name>`, or MissingExtraError saying that `purpose` needs the extra `audit`."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        raise MissingExtraError(purpose, "audit", "scipy") from None
