from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from discreet.train.products import BLOCK, exact_product, packed


def rows(kind: str, n: int, d: int, seed: int = 0) -> Any:
    made = np.random.default_rng(seed).normal(size=(n, d))
    if kind == "dense":
        return made
    return sparse.csr_matrix(np.where(np.random.default_rng(seed + 1).random((n, d)) < 0.4, made, 0.0))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@given(n=st.sampled_from([1, 2, 7, BLOCK, BLOCK + 3]), d=st.integers(1, 40), k=st.integers(1, 17))
def test_product_and_each_row_alone(kind: str, n: int, d: int, k: int) -> None:
    left, right = rows(kind, n, d), np.random.default_rng(9).normal(size=(d, k)).astype(np.float32)
    found = exact_product(left, right)
    wanted = (left if kind == "dense" else left.toarray()) @ right.astype(np.float64)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    for row in {0, n // 2, n - 1}:
        assert exact_product(left[row : row + 1], right).tobytes() == found[row].tobytes()
    assert exact_product(left[::-1], right)[::-1].tobytes() == found.tobytes()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_packed_rows_multiply_model_by_model(kind: str) -> None:
    parts = [rows(kind, n, 6, seed=n) for n in (4, 1, 5)]
    side = packed(parts)
    assert side.sizes == (4, 1, 5)
    right = np.random.default_rng(0).normal(size=(3, 6, 2)).astype(np.float32)
    left = np.zeros((3, 5, 2), dtype=np.float32)
    out = np.full((3, 6, 2), np.nan, dtype=np.float32)
    found = side.times(right)
    assert found.shape == (3, 5, 2)
    for m, part in enumerate(parts):
        plain = part if kind == "dense" else part.toarray()
        np.testing.assert_allclose(found[m, : len(plain)], plain @ right[m], atol=1e-5)
        assert not found[m, len(plain) :].any()
        left[m, : len(plain)] = np.random.default_rng(m).normal(size=(len(plain), 2))
    side.back(left, out)
    for m, part in enumerate(parts):
        plain = part if kind == "dense" else part.toarray()
        np.testing.assert_allclose(out[m], plain.T @ left[m, : len(plain)], atol=1e-5)
