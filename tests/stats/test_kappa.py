from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from discreet.stats import cohen_kappa, kappa_interval, kappa_variance, rating_table

tables = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 30), min_size=k, max_size=k), min_size=k, max_size=k)
).map(np.array).filter(lambda t: t.sum() > 1 and ((t.sum(0) > 0) | (t.sum(1) > 0)).sum() > 1)


def ratings(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = np.indices(table.shape)
    return np.repeat(rows.ravel(), table.ravel()), np.repeat(columns.ravel(), table.ravel())


@given(tables)
def test_kappa_is_scikit_learns(table: np.ndarray) -> None:
    first, second = ratings(table)
    found = cohen_kappa(rating_table(first, second)).value
    if found is None:
        assert set(first) == set(second)
    else:
        assert found == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)


def test_kappa_by_hand() -> None:
    table = rating_table(list("aabbb" * 10), list("ababb" * 10))
    assert table.tolist() == [[10, 10], [10, 20]]
    assert cohen_kappa(table) == pytest.approx(((0.6 - 0.52) / 0.48, 0.6, 0.52))
    # Perfect agreement is not certainty.
    perfect = np.diag([20, 20])
    assert kappa_variance(perfect) == pytest.approx(0.0, abs=1e-12)
    ends, _ = kappa_interval(perfect)
    assert 0.6 < ends.low < 0.9 < ends.high == 1.0


@given(tables)
def test_variance_is_the_delta_method(table: np.ndarray) -> None:
    """Numerical gradient of κ over the cells, under multinomial sampling, instead of the published formula."""
    p = (table + 0.5) / (table + 0.5).sum()
    n = 250.0

    def kappa(cells: np.ndarray) -> float:
        observed, chance = np.trace(cells), cells.sum(axis=1) @ cells.sum(axis=0)
        return float((observed - chance) / (1 - chance))

    step, gradient = 1e-6, np.zeros_like(p)
    for cell in np.ndindex(p.shape):
        up, down = p.copy(), p.copy()
        up[cell] += step
        down[cell] -= step
        gradient[cell] = (kappa(up) - kappa(down)) / (2 * step)
    expected = ((p * gradient**2).sum() - (p * gradient).sum() ** 2) / n
    assert kappa_variance(p * n) == pytest.approx(expected, rel=1e-4, abs=1e-8)


def test_odd_tables_are_refused() -> None:
    for table in ([[1, 2, 3]], [[-1, 2], [3, 4]], [[np.nan, 1], [1, 1]], np.zeros((0, 0))):
        with pytest.raises(ValueError, match=r"expected counts \(k, k\)"):
            cohen_kappa(np.array(table))
    with pytest.raises(ValueError, match="at least one item"):
        cohen_kappa([[0, 0], [0, 0]])
    with pytest.raises(ValueError, match="second ratings have length 1: expected 2"):
        rating_table([1, 2], [1])
    with pytest.raises(ValueError, match=r"ratings have shape \(0,\)"):
        rating_table([], [])
    with pytest.raises(ValueError, match="one and the same category"):
        kappa_interval([[5]])
    with pytest.raises(ValueError, match="one and the same category"):
        kappa_variance([[5]])
