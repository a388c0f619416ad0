from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.core.errors import InputError
from discreet.guard.density.base import TooFewRowsError
from discreet.guard.density.dual_density import DualDensity

Sample = tuple[np.ndarray, np.ndarray]


def _blobs(n_safe: int, n_unsafe: int, d: int = 6, apart: float = 2.0, seed: int = 0) -> Sample:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_safe + n_unsafe, d))
    x[n_safe:, 0] += apart
    return x, np.repeat([0, 1], [n_safe, n_unsafe])


# The array API check needs SCIPY_ARRAY_API, and skips itself.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([  # type: ignore[untyped-decorator]
    DualDensity(),
    DualDensity(nu=0.05, scale="libsvm", pca=4),
    DualDensity("gmm", n_components=2),
    DualDensity("rff", nu=0.05, n_frequencies=256),
    DualDensity(features="typicality", nu=0.05),
])
def test_scikit_learns_checks(estimator: DualDensity, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("settings", [
    {"nu": 0.1}, {"nu": 0.1, "scale": "libsvm"}, {"density": "gmm"}, {"density": "rff", "nu": 0.1}, {"nu": "sweep"},
    {"features": "typicality", "widths": (3, 3)},
])
def test_it_tells_blobs_apart(settings: dict[str, Any]) -> None:
    x, y = _blobs(300, 300, apart=4.0)
    new, truth = _blobs(300, 300, apart=4.0, seed=1)
    model = DualDensity(**settings, random_state=0).fit(x, y)
    assert (model.predict(new) == truth).mean() > 0.85
    sigmas = model.sigmas(new)
    assert sigmas.shape == (600, 2)
    assert np.array_equal(model.decision_function(new), sigmas[:, 1] - sigmas[:, 0])
    assert np.array_equal(model.predict(new), (model.decision_function(new) > 0).astype(int))


def test_labels_may_be_words_and_the_larger_is_unsafe() -> None:
    x, y = _blobs(80, 80)
    words = np.array(["safe", "unsafe"])[y]
    model = DualDensity(nu=0.1, random_state=0).fit(x, words)
    assert model.classes_.tolist() == ["safe", "unsafe"]
    assert np.array_equal(model.predict(x), words[[0, 80]][DualDensity(nu=0.1, random_state=0).fit(x, y).predict(x)])


def test_the_raw_scale_is_nu_n_times_the_normalised_one() -> None:
    x, y = _blobs(100, 250)
    raw, common = (DualDensity(nu=0.08, scale=s, random_state=1).fit(x, y).sigmas(x) for s in ("libsvm", "normalised"))
    np.testing.assert_allclose(raw, common * 0.08 * np.array([100, 250]), atol=1e-12)


def test_raw_zero_drifts_with_the_ratio_of_sizes_and_the_normalised_one_hardly() -> None:
    new, truth = _blobs(2000, 2000, d=2, seed=9)
    flagged: dict[str, list[float]] = {"libsvm": [], "normalised": []}
    for sizes in ((400, 1600), (800, 800), (1600, 400)):
        x, y = _blobs(*sizes, d=2, seed=2)
        for scale, shares in flagged.items():
            model = DualDensity(nu=0.1, scale=scale, random_state=0).fit(x, y)
            shares.append(float((model.decision_function(new)[truth == 0] > 0.0).mean()))
    raw, common = np.array(flagged["libsvm"]), np.array(flagged["normalised"])
    assert raw[0] > raw[1] > raw[2]
    assert np.ptp(raw) > 0.2
    assert np.ptp(common) < 0.25 * np.ptp(raw)


def test_pca_is_shared_and_shrinks_with_the_smaller_class() -> None:
    x, y = _blobs(60, 9, d=20)
    model = DualDensity("gmm", random_state=0).fit(x, y)
    assert model.fitted_.projection is not None
    assert model.fitted_.projection.components.shape == (4, 20)
    assert model.nu_ is None
    assert DualDensity(nu=0.1).fit(x, y).fitted_.projection is None
    reduced = DualDensity(nu=0.1, pca=3).fit(x, y).fitted_.projection
    assert reduced is not None
    axes = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][:3]
    np.testing.assert_allclose(np.abs((reduced.components @ axes.T).diagonal()), 1.0, atol=1e-6)


def test_the_sweep_chooses_nu_for_both_sides() -> None:
    x, y = _blobs(60, 60)
    model = DualDensity(random_state=0).fit(x, y)
    assert model.sweep_ is not None
    assert model.nu_ == model.sweep_.nu
    assert {s["nu"] for s in (model.fitted_.config()["safe"], model.fitted_.config()["unsafe"])} == {model.nu_}
    few = DualDensity(random_state=0).fit(*_blobs(3, 60))
    assert (few.sweep_, few.nu_) == (None, 0.005)


def test_the_card_counts_what_is_kept() -> None:
    x, y = _blobs(50, 70)
    assert 0 < DualDensity(nu=0.1).fit(x, y).fitted_.stored_rows()["safe"] < 50
    model = DualDensity("rff", nu=0.1, n_frequencies=64, random_state=0).fit(x, y)
    assert model.fitted_.stored_rows() == {"safe": 0, "unsafe": 0}
    assert DualDensity(nu=0.1, features="typicality").fit(x, y).fitted_.stored_rows() == {"safe": 50, "unsafe": 70}
    # Frequencies are shared by both sides.
    assert model.fitted_.config()["safe"]["seed"] == model.fitted_.config()["unsafe"]["seed"]


def test_a_random_state_is_taken_as_scikit_learn_takes_it() -> None:
    x, y = _blobs(60, 60)

    def scores(state: Any) -> np.ndarray:
        return DualDensity("rff", nu=0.1, n_frequencies=32, random_state=state).fit(x, y).decision_function(x)

    assert np.array_equal(scores(5), scores(np.random.RandomState(5)))
    assert not np.array_equal(scores(5), scores(6))
    shared = np.random.RandomState(5)
    assert not np.array_equal(scores(shared), scores(shared))


@pytest.mark.parametrize(("settings", "said"), [
    ({"scale": "log"}, "expected 'normalised' or 'libsvm'"), ({"nu": "auto"}, "expected 'sweep' or a number"),
    ({"nu": 0.0}, "nu is 0.0"), ({"pca": 0}, "pca is 0"), ({"pca": "all"}, "pca is 'all'"),
    ({"gamma": "scale"}, "'median' or a positive number"), ({"features": "words"}, "'embedding' or 'typicality'"),
    ({"features": "typicality", "widths": (1, 2)}, "do not sum to the 6 columns"),
])
def test_impossible_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DualDensity(**{"nu": 0.1, **settings}).fit(*_blobs(20, 20))


def test_three_classes_one_class_and_one_row_of_a_class_are_refused() -> None:
    x, y = _blobs(20, 20)
    with pytest.raises(ValueError, match="Only binary classification"):
        DualDensity(nu=0.1).fit(x, np.arange(40) % 3)
    with pytest.raises(ValueError, match="1 class"):
        DualDensity(nu=0.1).fit(x, np.zeros(40))
    with pytest.raises(TooFewRowsError, match="n_samples=1") as caught:
        DualDensity(nu=0.1).fit(x[:21], y[:21])
    assert isinstance(caught.value, InputError)
    with pytest.raises(NotFittedError):
        DualDensity().predict(x)
