"""Sums that are exact have no order: bits must not depend on batch mates, order, shape or threads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from discreet.guard.density.exact import (
    LEFT,
    RIGHT,
    as_rows,
    dots,
    row_sums,
    split,
    squared_distances,
    squared_norms,
    store,
    to_grid,
)

SEEDS = st.integers(0, 2**32)


def _rows(seed: int, n: int, d: int) -> np.ndarray:
    """Rows of very unlike lengths."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.lognormal(0.0, 3.0, (n, 1))


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 40), st.integers(1, 60), st.integers(1, 300), st.integers(1, 2))
def test_a_row_has_the_same_dots_alone_in_a_batch_and_in_any_order(seed: int, n: int, m: int, d: int,
                                                                   slices: int) -> None:
    x, kept = _rows(seed, n, d), store(_rows(seed + 1, m, d), slices)
    batch = dots(split(x, LEFT, slices), kept)
    order = np.random.default_rng(seed).permutation(n)
    assert np.array_equal(dots(split(x[order], LEFT, slices), kept), batch[order])
    for i in range(n):
        assert np.array_equal(dots(split(x[i : i + 1], LEFT, slices), kept)[0], batch[i])


def test_dots_are_the_exact_sums_of_the_rounded_rows() -> None:
    left, right = split(_rows(0, 6, 700), LEFT), store(_rows(1, 5, 700))
    # A product of 28 and 24 bits is a double, and fsum adds doubles exactly.
    slow = [[math.fsum(a * b.astype(np.float64)) for b in right[0]] for a in left[0]]
    assert np.array_equal(dots(left, right), np.array(slow))


def test_the_number_of_threads_changes_no_bit() -> None:
    x, kept = split(_rows(3, 64, 2000), LEFT), store(_rows(4, 300, 2000))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(dots(x, kept))
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize(("slices", "error"), [(1, 3e-7), (2, 1e-12)])
def test_dots_are_near_the_true_ones(slices: int, error: float) -> None:
    x, y = _rows(5, 20, 3072), _rows(6, 30, 3072)
    true = x.astype(np.longdouble) @ y.astype(np.longdouble).T
    size = np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(y, axis=1)[None, :]
    assert np.abs((dots(split(x, LEFT, slices), store(y, slices)) - true) / size).max() < error


@given(SEEDS, st.integers(1, 200), st.integers(-300, 100), st.sampled_from([RIGHT, LEFT]))
@settings(max_examples=60, deadline=None)
def test_the_grid_is_as_fine_as_its_bits(seed: int, d: int, exponent: int, bits: int) -> None:
    x = _rows(seed, 3, d) * 2.0**exponent
    rounded = to_grid(x, bits)
    norms = np.linalg.norm(x * 2.0**-exponent, axis=1) * 2.0**exponent
    assert (np.abs(rounded - x).max(axis=1) <= norms * 2.0**-bits).all()
    assert np.array_equal(to_grid(rounded, bits), rounded)


def test_float32_holds_what_is_stored() -> None:
    y = _rows(7, 50, 333)
    for kept, cut in zip(store(y, 2), split(y, RIGHT, 2), strict=True):
        assert kept.dtype == np.float32
        assert np.array_equal(kept.astype(np.float64), cut)
    with pytest.raises(ValueError, match="at most 1e30"):
        store(np.array([[1e31, 0.0]]))


def test_zero_rows_and_hardly_more_than_zero_rows() -> None:
    x = np.array([[0.0, 0.0], [1e-200, 1e-210], [3.0, 4.0]])
    assert np.array_equal(to_grid(x, LEFT), [[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    extreme = np.array([[3e90, 4e90], [3e-90, 4e-90]])
    np.testing.assert_allclose(to_grid(extreme, LEFT), extreme)


def test_squared_distances_are_zero_to_itself_and_never_negative() -> None:
    x = _rows(8, 30, 40)
    left, right = split(x, RIGHT), store(x)
    norms = squared_norms(right)
    squared = squared_distances(left, right, norms, norms)
    assert (squared >= 0.0).all()
    assert np.abs(np.diagonal(squared)).max() <= 1e-15 * norms.max()
    np.testing.assert_allclose(squared, ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2), atol=1e-6 * norms.max())


@given(SEEDS, st.integers(1, 30), st.integers(1, 9000))
@settings(max_examples=25, deadline=None)
def test_row_sums_are_each_rows_own(seed: int, n: int, d: int) -> None:
    x = _rows(seed, n, d)
    assert np.array_equal(np.concatenate([row_sums(row[None, :].copy()) for row in x]), row_sums(x))


@pytest.mark.parametrize(("x", "said"), [
    (np.zeros(3), r"shape \(3,\)"), (np.zeros((2, 4)), r"shape \(2, 4\): expected \(rows, 3\)"),
    (np.array([["a", "b", "c"]]), "expected numbers"), (np.array([[0.0, np.nan, 0.0]]), "NaN or infinite"),
    (np.array([[0.0, np.inf, 0.0]]), "NaN or infinite"), (np.array([[0.0, 1e101, 0.0]]), "at most 1e"),
])
def test_wrong_rows_are_refused(x: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        as_rows(x, 3)
