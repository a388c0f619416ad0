from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from discreet.guard.densities.ocsvm import OneClassSvm
from discreet.guard.density import median_gamma


def _embeddings(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 15)) @ np.random.default_rng(0).standard_normal((15, d)) + rng.standard_normal((n, d))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize("nu", [0.005, 0.05, 0.3])
def test_scores_are_those_of_scikit_learns_fit(nu: float) -> None:
    x, y = _embeddings(800, 128, 1), _embeddings(300, 128, 2)
    gamma = median_gamma(x, np.random.default_rng(3))
    ours = OneClassSvm(nu, tol=1e-6).fit(x, rng=np.random.default_rng(3))
    peer = OneClassSVM(gamma=gamma, nu=nu, tol=1e-7).fit(x)
    np.testing.assert_allclose(ours.score(y), peer.decision_function(y), atol=2e-5, rtol=0)
    np.testing.assert_allclose(ours.normalised(y), peer.decision_function(y) / (nu * 800), atol=2e-6, rtol=0)
    # Which weights are exactly zero differs with the way to the optimum.
    assert abs(ours.stored_rows() - peer.support_.size) <= 0.05 * peer.support_.size


def test_weights_sum_to_nu_n_and_normalised_ones_to_one() -> None:
    found = OneClassSvm(0.04, gamma=2.0).fit(_embeddings(500, 32, 1), rng=np.random.default_rng(0))
    assert found.scorer is not None
    assert found.mass == pytest.approx(20.0)
    assert found.scorer.weights.sum() == pytest.approx(20.0)
    x = _embeddings(50, 32, 2)
    np.testing.assert_allclose(found.normalised(x) * 20.0, found.score(x), atol=1e-12)


def test_nu_bounds_the_share_outside() -> None:
    # In many dimensions every support vector is free and none is outside: Schölkopf et al., proposition 3.
    x = np.random.default_rng(4).standard_normal((1000, 2))
    for nu in (0.05, 0.2):
        outside = (OneClassSvm(nu, tol=1e-6).fit(x, rng=np.random.default_rng(0)).score(x) < -1e-5).mean()
        assert nu - 0.02 < outside <= nu


def test_a_copy_of_every_row_leaves_the_normalised_score() -> None:
    x, y = _embeddings(300, 20, 5), _embeddings(100, 20, 6)
    once = OneClassSvm(0.1, gamma=1.0, tol=1e-7).fit(x, rng=np.random.default_rng(0))
    twice = OneClassSvm(0.1, gamma=1.0, tol=1e-7).fit(np.concatenate([x, x]), rng=np.random.default_rng(0))
    np.testing.assert_allclose(twice.normalised(y), once.normalised(y), atol=1e-6)
    np.testing.assert_allclose(twice.score(y), 2.0 * once.score(y), atol=1e-4)


def test_a_tiny_nu_n_is_fitted_as_exactly() -> None:
    x, y = _embeddings(30, 8, 7), _embeddings(50, 8, 8)
    loose = OneClassSvm(0.005).fit(x, rng=np.random.default_rng(0))
    tight = OneClassSvm(0.005, tol=1e-6).fit(x, rng=np.random.default_rng(0))
    np.testing.assert_allclose(loose.normalised(y), tight.normalised(y), atol=2e-3)
