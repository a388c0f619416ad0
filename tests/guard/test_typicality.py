from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from discreet.core.errors import InputError
from discreet.guard.density import TooFewRowsError
from discreet.guard.typicality import Typicality

WIDTHS = (7, 4, 5)


def _rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, sum(WIDTHS)))


def _halves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :])


# Distances are kept to 24 bits: where two differ by less, "<" may fall either way. None do in these draws.
def _slowly(y: np.ndarray, a: np.ndarray, b: np.ndarray, k: int) -> list[float]:
    """The definitions, one row and one distance at a time."""
    def reach(point: np.ndarray, among: np.ndarray) -> float:
        return sorted(float(np.linalg.norm(point - other)) for other in among)[k - 1]

    r_a = [reach(x, np.delete(a, i, axis=0)) for i, x in enumerate(a)]
    r_q = reach(y, b)
    distances = [float(np.linalg.norm(x - y)) for x in a]
    recall = sum(d < r_q for d in distances) / len(a)
    density = sum(d < r for d, r in zip(distances, r_a, strict=True))
    return [recall, density / k, float(density > 0), float(min(distances) < r_q)]


@pytest.fixture(scope="module")
def fitted() -> Typicality:
    return Typicality.fit(_rows(61, 21), WIDTHS, np.random.default_rng(2))


def test_features_are_their_definitions(fitted: Typicality) -> None:
    a, b = (_rows(61, 21)[half] for half in _halves(61, 2))
    y = np.concatenate([0.4 * _rows(20, 3), _rows(40, 4), 3.0 * _rows(8, 5)])
    ends = np.cumsum((0, *WIDTHS))
    slow = np.array([ [f for s, e in pairwise(ends) for f in _slowly(row[s:e], a[:, s:e], b[:, s:e], 5)] for row in y ])
    found = fitted.transform(y)
    assert found.shape == (68, 12)
    np.testing.assert_allclose(found, slow, atol=1e-12)
    # Each feature says something here.
    assert (np.ptp(found, axis=0) > 0.0).all()


def test_rows_of_b_leave_themselves_out(fitted: Typicality) -> None:
    a, b = (_rows(61, 21)[half] for half in _halves(61, 2))
    ends = np.cumsum((0, *WIDTHS))
    slow = np.array([
        [f for s, e in pairwise(ends) for f in _slowly(row[s:e], a[:, s:e], np.delete(b, i, axis=0)[:, s:e], 5)]
        for i, row in enumerate(b)
    ])
    np.testing.assert_allclose(fitted.own(), slow, atol=1e-12)
    np.testing.assert_allclose(fitted.rows(), b, atol=1e-6)


def test_a_row_has_the_same_features_alone_in_a_batch_and_in_any_order(fitted: Typicality) -> None:
    y = np.concatenate([_rows(300, 6), 1e5 * _rows(2, 7)])
    batch = fitted.transform(y)
    order = np.random.default_rng(8).permutation(len(y))
    assert np.array_equal(fitted.transform(y[order]), batch[order])
    assert np.array_equal(np.concatenate([fitted.transform(row[None, :]) for row in y]), batch)


def test_a_reference_row_is_at_no_distance_from_itself() -> None:
    x = _rows(40, 9) + 100.0
    fitted = Typicality.fit(x, None, np.random.default_rng(0))
    in_a = x[_halves(40, 0)[0]]
    features = fitted.transform(in_a)
    assert fitted.names == ("recall_0", "density_0", "precision_0", "coverage_0")
    assert (features[:, 2] == 1.0).all()
    assert (features[:, 3] == 1.0).all()


def test_typical_rows_are_told_from_others(fitted: Typicality) -> None:
    near, far = fitted.transform(_rows(50, 10)).mean(axis=0), fitted.transform(_rows(50, 11) + 6.0).mean(axis=0)
    density, precision = slice(1, None, 4), slice(2, None, 4)
    assert (near[density] > far[density]).all()
    assert (near[precision] > far[precision]).all()


def test_state_brings_back_the_same_bits(fitted: Typicality) -> None:
    config = json.loads(json.dumps(fitted.config()))
    restored = Typicality.restore(config, {k: v.copy() for k, v in fitted.state().items()})
    y = _rows(40, 12)
    assert np.array_equal(restored.transform(y), fitted.transform(y))
    assert np.array_equal(restored.own(), fitted.own())
    assert restored.stored_rows() == fitted.stored_rows() == 61


def test_a_spoilt_state_is_an_input_error(fitted: Typicality) -> None:
    for name in fitted.state():
        with pytest.raises(InputError, match="saved typicality features"):
            Typicality.restore(fitted.config(), {k: v for k, v in fitted.state().items() if k != name})
    for wrong in ({"k": 5}, {"k": 1000, "widths": list(WIDTHS)}, {"k": 5, "widths": [3]}, {"k": 5, "widths": []}):
        with pytest.raises(InputError, match="saved typicality features"):
            Typicality.restore(wrong, fitted.state())


@pytest.mark.parametrize(("n", "k", "kept"), [(2, 1, 4), (3, 2, 6), (4, 1, 4), (9, 3, 9), (40, 5, 40)])
def test_neighbours_shrink_with_rows(n: int, k: int, kept: int) -> None:
    fitted = Typicality.fit(_rows(n, 13), WIDTHS, np.random.default_rng(0))
    assert (fitted.k, fitted.stored_rows()) == (k, kept)
    assert np.isfinite(fitted.transform(_rows(3, 14))).all()
    assert np.isfinite(fitted.own()).all()


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="do not sum to the 16 columns"):
        Typicality.fit(_rows(20, 0), (8, 9), np.random.default_rng(0))
    with pytest.raises(TooFewRowsError, match="at least 2"):
        Typicality.fit(_rows(1, 0), None, np.random.default_rng(0))
