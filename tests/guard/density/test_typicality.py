from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from discreet.core.errors import InputError
from discreet.guard.density.base import TooFewRowsError
from discreet.guard.density.typicality import Typicality

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
    blocks = [slice(*ends) for ends in pairwise(np.cumsum((0, *WIDTHS)))]
    slow = np.array([[f for at in blocks for f in _slowly(row[at], a[:, at], b[:, at], 5)] for row in y])
    found = fitted.transform(y)
    np.testing.assert_allclose(found, slow, atol=1e-12)
    # Each feature says something here.
    assert (np.ptp(found, axis=0) > 0.0).all()
    # Rows of B leave themselves out.
    slow = np.array([[f for at in blocks for f in _slowly(row[at], a[:, at], np.delete(b, i, axis=0)[:, at], 5)]
                     for i, row in enumerate(b)])
    np.testing.assert_allclose(fitted.own(), slow, atol=1e-12)
    np.testing.assert_allclose(fitted.rows(), b, atol=1e-6)


def test_a_reference_row_is_at_no_distance_from_itself() -> None:
    x = _rows(40, 9) + 100.0
    features = Typicality.fit(x, None, np.random.default_rng(0)).transform(x[_halves(40, 0)[0]])
    assert (features[:, 2:] == 1.0).all()


def test_state_brings_back_the_same_bits_and_spoilt_it_is_an_input_error(fitted: Typicality) -> None:
    config, state = json.loads(json.dumps(fitted.config())), {k: v.copy() for k, v in fitted.state().items()}
    restored = Typicality.restore(config, state)
    assert np.array_equal(restored.transform(_rows(40, 12)), fitted.transform(_rows(40, 12)))
    assert np.array_equal(restored.own(), fitted.own())
    assert restored.stored_rows() == fitted.stored_rows() == 61
    spoilt = [(wrong, state) for wrong in (
        {"k": 5}, {"k": 1000, "widths": list(WIDTHS)}, {"k": 5, "widths": [3]}, {"k": 5, "widths": []})]
    for one in [*spoilt, *((config, {k: v for k, v in state.items() if k != name}) for name in state)]:
        with pytest.raises(InputError, match="saved typicality features"):
            Typicality.restore(*one)


@pytest.mark.parametrize(("n", "k", "kept"), [(2, 1, 4), (3, 2, 6), (4, 1, 4), (9, 3, 9), (40, 5, 40)])
def test_neighbours_shrink_with_rows(n: int, k: int, kept: int) -> None:
    fitted = Typicality.fit(_rows(n, 13), WIDTHS, np.random.default_rng(0))
    assert (fitted.k, fitted.stored_rows()) == (k, kept)
    assert np.isfinite(fitted.transform(_rows(3, 14))).all()
    assert np.isfinite(fitted.own()).all()


def test_one_row_is_refused() -> None:
    with pytest.raises(TooFewRowsError, match="at least 2"):
        Typicality.fit(_rows(1, 0), None, np.random.default_rng(0))
