from __future__ import annotations

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture as Peer

from discreet.guard.density.base import DensityOptions, TooFewRowsError
from discreet.guard.density.densities.gmm import GaussianMixture


def _clusters(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 4.0 * np.random.default_rng(0).standard_normal((3, d))
    scales = np.geomspace(1e-3, 3.0, d)
    return np.asarray(centres[rng.integers(3, size=n)] + scales * rng.standard_normal((n, d)))


def _fitted(x: np.ndarray, components: int, seed: int = 0) -> GaussianMixture:
    return GaussianMixture.fit(x, DensityOptions(n_components=components), rng=np.random.default_rng(seed))


@pytest.mark.parametrize(("d", "k"), [(1, 2), (5, 3), (60, 4), (200, 2)])
def test_log_densities_are_scikit_learns(d: int, k: int) -> None:
    peer = Peer(k, random_state=0).fit(_clusters(1200, d, 1))
    ours = GaussianMixture(k, 0.0, 1.0, True, peer.weights_, peer.means_, peer.precisions_cholesky_)
    x = np.concatenate([_clusters(300, d, 2), 5.0 + _clusters(20, d, 3)])
    reference = peer.score_samples(x)
    assert np.ptp(reference) > 1.0
    assert (np.abs(ours.score(x) - reference) <= 1e-8 * np.maximum(np.abs(reference), 1.0)).all()


def test_the_fit_is_scikit_learns_on_the_rows_not_held_out() -> None:
    x = _clusters(1000, 4, 4)
    ours = _fitted(x, 3, seed=5)
    rng = np.random.default_rng(5)
    order = rng.permutation(1000)
    peer = Peer(3, random_state=int(rng.integers(2**31 - 1))).fit(x[np.sort(order[200:])])
    y = _clusters(100, 4, 6)
    np.testing.assert_allclose(ours.score(y), peer.score_samples(y), rtol=1e-8)
    held = peer.score_samples(x[order[:200]])
    assert ours.centre == pytest.approx(np.median(held))
    assert ours.spread == pytest.approx((np.quantile(held, 0.75) - np.quantile(held, 0.25)) / 1.349)
    assert ours.converged


@pytest.mark.parametrize(("n", "d", "k"), [(2000, 10, 8), (200, 10, 8), (50, 10, 2), (12, 10, 1), (2, 1, 1)])
def test_components_shrink_with_rows(n: int, d: int, k: int) -> None:
    found = _fitted(np.random.default_rng(0).standard_normal((n, d)), 8)
    assert found.components == GaussianMixture.restore(found.config(), found.state()).components == (8, k)


def test_fixed_components_are_fitted_on_every_row_however_few() -> None:
    x = _clusters(200, 10, 7)
    options = DensityOptions(n_components=8, fixed_components=True)
    ours = GaussianMixture.fit(x, options, rng=np.random.default_rng(3))
    assert ours.components == (8, 8)
    rng = np.random.default_rng(3)
    order = rng.permutation(200)
    peer = Peer(8, random_state=int(rng.integers(2**31 - 1))).fit(x[np.sort(order)])
    np.testing.assert_allclose(ours.score(x), peer.score_samples(x), rtol=1e-6)
    assert ours.centre == pytest.approx(np.median(peer.score_samples(x)))
    with pytest.raises(TooFewRowsError, match="8 fixed components"):
        GaussianMixture.fit(x[:7], options, rng=rng)


def test_the_normalised_score_of_new_rows_of_the_class_is_near_zero() -> None:
    # The log density itself is some −130 nats, and far lower than in the fit: the rows held out say so.
    x = np.random.default_rng(0).standard_normal((600, 90))
    found = _fitted(x, 3)
    new = np.random.default_rng(1).standard_normal((2000, 90))
    assert abs(np.median(found.normalised(new))) < 0.3
    assert 0.7 < np.subtract(*np.quantile(found.normalised(new), [0.75, 0.25])) / 1.349 < 1.3
    assert np.median(found.score(new)) < np.median(found.score(x)) - 5.0


def test_fits_that_do_not_converge_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sklearn.mixture.GaussianMixture", lambda *a, **k: Peer(*a, **k, max_iter=1, tol=0.0))
    assert _fitted(_clusters(300, 4, 7), 3).config()["converged"] is False


def test_nothing_of_the_training_rows_is_kept() -> None:
    found = _fitted(_clusters(500, 6, 8), 2)
    assert found.stored_rows() == 0
    assert {n: a.shape for n, a in found.state().items()} == {"weights": (2,), "means": (2, 6), "precisions": (2, 6, 6)}
