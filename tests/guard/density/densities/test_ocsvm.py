from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from discreet.core.errors import InputError
from discreet.guard.density.base import DensityOptions, median_gamma
from discreet.guard.density.densities import ocsvm
from discreet.guard.density.densities.ocsvm import OneClassSvm

Case = tuple[OneClassSVM, OneClassSvm, np.ndarray]


def _embeddings(n: int, d: int, seed: int) -> np.ndarray:
    """Unit rows around a common direction, as embeddings are."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + 3.0 * np.random.default_rng(0).standard_normal(d)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _of(peer: OneClassSVM) -> OneClassSvm:
    return OneClassSvm.of(peer.support_vectors_, peer.dual_coef_[0], -peer.intercept_[0], peer.gamma, nu=peer.nu,
                          mass=float(peer.dual_coef_.sum()))


@pytest.fixture(scope="module")
def embedded() -> Case:
    peer = OneClassSVM(gamma=8.0, nu=0.2).fit(_embeddings(1500, 256, 1))
    return peer, _of(peer), np.concatenate([_embeddings(150, 256, 2), -_embeddings(20, 256, 3)])


@pytest.fixture(scope="module")
def steep() -> Case:
    """Outliers so far out that one slice would not do."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((300, 6))
    x[:60] = 300.0 + 0.1 * rng.standard_normal((60, 6))
    peer = OneClassSVM(gamma=1.0, nu=0.3).fit(x)
    return peer, _of(peer), np.concatenate([x[:80] + 0.01, rng.standard_normal((40, 6)), [[1e6] * 6]])


@pytest.mark.parametrize(("name", "slices"), [("embedded", 1), ("steep", 2)])
def test_scores_are_scikit_learns_decision_function(request: pytest.FixtureRequest, name: str, slices: int) -> None:
    peer, ours, x = request.getfixturevalue(name)
    reference = peer.decision_function(x)
    assert np.ptp(reference) > 0.1
    np.testing.assert_allclose(ours.score(x), reference, atol=2e-6, rtol=0)
    assert (ours.stored_rows(), len(ours.slices)) == (peer.support_.size, slices)
    assert np.array_equal(ours.score(np.concatenate([x, x, x])), np.tile(ours.score(x), 3))
    assert np.array_equal(ours.score(np.asfortranarray(x)), ours.score(x))
    assert np.array_equal(np.concatenate([ours.score(row[None, :]) for row in x]), ours.score(x))
    assert np.array_equal(OneClassSvm.restore(ours.config(), ours.state()).score(x), ours.score(x))
    assert ours.score(x[:0]).shape == (0,)


def test_tiles_and_conversion_on_the_fly_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    held, weights, x = rng.standard_normal((2500, 20)), rng.uniform(0.0, 1.0, 2500), rng.standard_normal((300, 20))
    kept, converted = (OneClassSvm.of(held, weights, 1.5, 0.05, nu=0.1, mass=1.0) for _ in range(2))
    squared = ((x[:, None, :] - held[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(kept.score(x), np.exp(-0.05 * squared) @ weights - 1.5, atol=1e-4, rtol=0)
    monkeypatch.setattr(ocsvm, "RESIDENT", 0)
    assert np.array_equal(converted.score(x), kept.score(x))


@pytest.mark.parametrize(("config", "state"), [
    ({}, {"weights": np.ones(3)}), ({}, {"centre": np.ones(3)}), ({"gamma": "wide"}, {}), ({"gamma": -1.0}, {}),
    ({"slices": 0}, {}),
])
def test_a_spoilt_state_is_an_input_error(embedded: Case, config: dict[str, Any], state: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="a saved ocsvm"):
        OneClassSvm.restore(embedded[1].config() | config, embedded[1].state() | state)


def _clouds(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 15)) @ np.random.default_rng(0).standard_normal((15, d)) + rng.standard_normal((n, d))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _fitted(x: np.ndarray, nu: float, gamma: float | str = "median", **more: float) -> OneClassSvm:
    return OneClassSvm.fit(x, DensityOptions(nu=nu, gamma=gamma), rng=np.random.default_rng(3), **more)


@pytest.mark.parametrize("nu", [0.005, 0.05, 0.3])
def test_scores_are_those_of_scikit_learns_fit(nu: float) -> None:
    x, y = _clouds(800, 128, 1), _clouds(300, 128, 2)
    ours = _fitted(x, nu, tol=1e-6)
    peer = OneClassSVM(gamma=median_gamma(x, np.random.default_rng(3)), nu=nu, tol=1e-7).fit(x)
    np.testing.assert_allclose(ours.score(y), peer.decision_function(y), atol=2e-5, rtol=0)
    np.testing.assert_allclose(ours.normalised(y), peer.decision_function(y) / (nu * 800), atol=2e-6, rtol=0)
    # Which weights are exactly zero differs with the way to the optimum.
    assert abs(ours.stored_rows() - peer.support_.size) <= 0.05 * peer.support_.size
    assert ours.mass == pytest.approx(ours.weights.sum()) == pytest.approx(nu * 800)


def test_nu_bounds_the_share_outside() -> None:
    # In many dimensions every support vector is free and none is outside: Schölkopf et al., proposition 3.
    x = np.random.default_rng(4).standard_normal((1000, 2))
    for nu in (0.05, 0.2):
        assert nu - 0.02 < (_fitted(x, nu, tol=1e-6).score(x) < -1e-5).mean() <= nu


def test_a_copy_of_every_row_leaves_the_normalised_score() -> None:
    x, y = _clouds(300, 20, 5), _clouds(100, 20, 6)
    once, twice = (_fitted(rows, 0.1, gamma=1.0, tol=1e-7) for rows in (x, np.concatenate([x, x])))
    np.testing.assert_allclose(twice.normalised(y), once.normalised(y), atol=1e-6)
    np.testing.assert_allclose(twice.score(y), 2.0 * once.score(y), atol=1e-4)


def test_a_tiny_nu_n_is_fitted_as_exactly() -> None:
    x, y = _clouds(30, 8, 7), _clouds(50, 8, 8)
    np.testing.assert_allclose(_fitted(x, 0.005).normalised(y), _fitted(x, 0.005, tol=1e-6).normalised(y), atol=2e-3)
