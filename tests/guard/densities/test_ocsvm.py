from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from discreet.core.errors import InputError
from discreet.guard.densities import ocsvm
from discreet.guard.densities.ocsvm import OneClassSvm, SupportScorer
from discreet.guard.density import median_gamma

Case = tuple[OneClassSVM, SupportScorer, np.ndarray]


def _embeddings(n: int, d: int, seed: int) -> np.ndarray:
    """Unit rows around a common direction, as embeddings are."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + 3.0 * np.random.default_rng(0).standard_normal(d)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _of(peer: OneClassSVM) -> SupportScorer:
    return SupportScorer.of(peer.support_vectors_, peer.dual_coef_[0], -peer.intercept_[0], peer.gamma)


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


@pytest.fixture(params=["embedded", "steep"])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.getfixturevalue(request.param)
    return found


def test_scores_are_scikit_learns_decision_function(case: Case) -> None:
    peer, scorer, x = case
    reference = peer.decision_function(x)
    assert np.ptp(reference) > 0.1
    # Asked for is 1e-4.
    np.testing.assert_allclose(scorer.score(x), reference, atol=2e-6, rtol=0)
    assert scorer.n_support == peer.support_.size


def test_precision_follows_steepness(embedded: Case, steep: Case) -> None:
    assert (len(embedded[1].slices), len(steep[1].slices)) == (1, 2)


def test_a_row_scores_the_same_alone_in_a_batch_and_in_any_order(case: Case) -> None:
    _, scorer, x = case
    batch = scorer.score(x)
    order = np.random.default_rng(5).permutation(x.shape[0])
    assert np.array_equal(scorer.score(x[order]), batch[order])
    assert np.array_equal(scorer.score(np.concatenate([x, x, x])), np.tile(batch, 3))
    assert np.array_equal(np.concatenate([scorer.score(row[None, :]) for row in x]), batch)
    assert np.array_equal(scorer.score(np.asfortranarray(x)), batch)


def test_tiles_and_conversion_on_the_fly_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    held, weights, x = rng.standard_normal((2500, 20)), rng.uniform(0.0, 1.0, 2500), rng.standard_normal((300, 20))
    kept = SupportScorer.of(held, weights, 1.5, 0.05)
    squared = ((x[:, None, :] - held[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(kept.score(x), np.exp(-0.05 * squared) @ weights - 1.5, atol=1e-4, rtol=0)
    monkeypatch.setattr(ocsvm, "RESIDENT", 0)
    converted = SupportScorer.of(held, weights, 1.5, 0.05)
    assert np.array_equal(converted.score(x), kept.score(x))


def test_state_brings_back_the_same_bits(case: Case) -> None:
    _, scorer, x = case
    config = json.loads(json.dumps(scorer.config()))
    state = {name: array.copy() for name, array in scorer.state().items()}
    assert np.array_equal(SupportScorer.restore(config, state).score(x), scorer.score(x))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda config, state: state.pop("weights"), lambda config, state: state.pop("support_0"),
        lambda config, state: state.update(weights=state["weights"][:-1]),
        lambda config, state: state.update(centre=state["centre"][:-1]), lambda config, state: config.pop("rho"),
        lambda config, state: config.update(gamma="wide"), lambda config, state: config.update(gamma=-1.0),
        lambda config, state: config.update(slices=0),
    ],
)
def test_a_spoilt_state_is_an_input_error(embedded: Case, spoil: Callable[..., object]) -> None:
    config, state = embedded[1].config(), dict(embedded[1].state())
    spoil(config, state)
    with pytest.raises(InputError, match="a saved one-class SVM"):
        SupportScorer.restore(config, state)


def test_wrong_input_is_refused(embedded: Case) -> None:
    scorer = embedded[1]
    with pytest.raises(ValueError, match="expected \\(rows, 256\\)"):
        scorer.score(np.zeros((2, 255)))
    with pytest.raises(ValueError, match="NaN"):
        scorer.score(np.full((1, 256), np.nan))
    with pytest.raises(ValueError, match="expected one each"):
        SupportScorer.of(np.zeros((3, 2)), np.ones(2), 0.0, 1.0)
    with pytest.raises(ValueError, match="gamma"):
        SupportScorer.of(np.zeros((3, 2)), np.ones(3), 0.0, 0.0)


def test_no_rows_have_no_scores(embedded: Case) -> None:
    assert embedded[1].score(np.empty((0, 256))).shape == (0,)


def _clouds(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 15)) @ np.random.default_rng(0).standard_normal((15, d)) + rng.standard_normal((n, d))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize("nu", [0.005, 0.05, 0.3])
def test_scores_are_those_of_scikit_learns_fit(nu: float) -> None:
    x, y = _clouds(800, 128, 1), _clouds(300, 128, 2)
    gamma = median_gamma(x, np.random.default_rng(3))
    ours = OneClassSvm(nu, tol=1e-6).fit(x, rng=np.random.default_rng(3))
    peer = OneClassSVM(gamma=gamma, nu=nu, tol=1e-7).fit(x)
    np.testing.assert_allclose(ours.score(y), peer.decision_function(y), atol=2e-5, rtol=0)
    np.testing.assert_allclose(ours.normalised(y), peer.decision_function(y) / (nu * 800), atol=2e-6, rtol=0)
    # Which weights are exactly zero differs with the way to the optimum.
    assert abs(ours.stored_rows() - peer.support_.size) <= 0.05 * peer.support_.size


def test_weights_sum_to_nu_n_and_normalised_ones_to_one() -> None:
    found = OneClassSvm(0.04, gamma=2.0).fit(_clouds(500, 32, 1), rng=np.random.default_rng(0))
    assert found.scorer is not None
    assert found.mass == pytest.approx(20.0)
    assert found.scorer.weights.sum() == pytest.approx(20.0)
    x = _clouds(50, 32, 2)
    np.testing.assert_allclose(found.normalised(x) * 20.0, found.score(x), atol=1e-12)


def test_nu_bounds_the_share_outside() -> None:
    # In many dimensions every support vector is free and none is outside: Schölkopf et al., proposition 3.
    x = np.random.default_rng(4).standard_normal((1000, 2))
    for nu in (0.05, 0.2):
        outside = (OneClassSvm(nu, tol=1e-6).fit(x, rng=np.random.default_rng(0)).score(x) < -1e-5).mean()
        assert nu - 0.02 < outside <= nu


def test_a_copy_of_every_row_leaves_the_normalised_score() -> None:
    x, y = _clouds(300, 20, 5), _clouds(100, 20, 6)
    once = OneClassSvm(0.1, gamma=1.0, tol=1e-7).fit(x, rng=np.random.default_rng(0))
    twice = OneClassSvm(0.1, gamma=1.0, tol=1e-7).fit(np.concatenate([x, x]), rng=np.random.default_rng(0))
    np.testing.assert_allclose(twice.normalised(y), once.normalised(y), atol=1e-6)
    np.testing.assert_allclose(twice.score(y), 2.0 * once.score(y), atol=1e-4)


def test_a_tiny_nu_n_is_fitted_as_exactly() -> None:
    x, y = _clouds(30, 8, 7), _clouds(50, 8, 8)
    loose = OneClassSvm(0.005).fit(x, rng=np.random.default_rng(0))
    tight = OneClassSvm(0.005, tol=1e-6).fit(x, rng=np.random.default_rng(0))
    np.testing.assert_allclose(loose.normalised(y), tight.normalised(y), atol=2e-3)
