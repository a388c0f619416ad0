from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import UsageError
from discreet.encode.pooling import POOLINGS, pool, unit


def slowly(hidden: list[list[float]], mask: list[int], how: str) -> list[float]:
    kept = [row for row, m in zip(hidden, mask, strict=True) if m]
    if how == "mean":
        pooled = [sum(column) / len(kept) for column in zip(*kept, strict=True)]
    else:
        pooled = kept[0 if how == "cls" else -1]
    norm = sum(v * v for v in pooled) ** 0.5
    return [v / norm for v in pooled]


@pytest.mark.parametrize("how", POOLINGS)
@given(seed=st.integers(0, 999), n=st.integers(1, 4), tokens=st.integers(1, 9), left=st.booleans())
def test_pooling_against_loops(how: str, seed: int, n: int, tokens: int, left: bool) -> None:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, tokens, 5)).astype(np.float32)
    lengths = rng.integers(1, tokens + 1, n)
    mask = (np.arange(tokens) < lengths[:, None]).astype(np.int64)
    mask = mask[:, ::-1] if left else mask
    found = pool(hidden, mask, how)
    wanted = [slowly(h.tolist(), m.tolist(), how) for h, m in zip(hidden, mask, strict=True)]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_unit_keeps_zero() -> None:
    rows = unit(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(rows, np.array([[0.6, 0.8], [0, 0]], dtype=np.float32))


def test_unknown_pooling() -> None:
    with pytest.raises(UsageError, match="unknown pooling 'max'"):
        pool(np.ones((1, 2, 3), np.float32), np.ones((1, 2)), "max")
