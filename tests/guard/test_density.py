"""What holds of every density, and what they share."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.guard.density import (
    Density,
    DensityOptions,
    TooFewRowsError,
    densities,
    median_gamma,
    restore_density,
    width,
)

KINDS = ("gmm", "ocsvm", "rff")
OPTIONS = DensityOptions(nu=0.1, n_components=3, n_frequencies=300)


def _blob(n: int, d: int = 12, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.fixture(scope="module", params=KINDS)
def fitted(request: pytest.FixtureRequest) -> Density:
    return densities[request.param].create(OPTIONS).fit(_blob(300), rng=np.random.default_rng(1))


def test_the_three_of_the_paper_and_ours_are_registered() -> None:
    assert tuple(densities) == KINDS
    with pytest.raises(UsageError, match="expected one of gmm, ocsvm, rff"):
        densities["kde"]


def test_typical_rows_score_higher(fitted: Density) -> None:
    near, far = _blob(200, seed=2), 2.0 * _blob(200, seed=3) + 1.0
    for score in (fitted.score, fitted.normalised):
        assert np.median(score(near)) > np.quantile(score(far), 0.9)


def test_a_row_scores_the_same_alone_in_a_batch_and_in_any_order(fitted: Density) -> None:
    x = np.concatenate([_blob(300, seed=4), 1e6 * _blob(3, seed=5), np.zeros((1, 12))])
    order = np.random.default_rng(6).permutation(x.shape[0])
    for score in (fitted.score, fitted.normalised):
        batch = score(x)
        assert np.isfinite(batch).all()
        assert np.array_equal(score(x[order]), batch[order])
        assert np.array_equal(np.concatenate([score(row[None, :]) for row in x]), batch)


def test_both_scales_rank_alike(fitted: Density) -> None:
    x = _blob(100, seed=7)
    raw, common = fitted.score(x), fitted.normalised(x)
    slope, offset = np.polyfit(raw, common, 1)
    assert slope > 0.0
    np.testing.assert_allclose(common, slope * raw + offset, atol=1e-9)


def test_what_is_saved_scores_the_same_bits(fitted: Density) -> None:
    config = json.loads(json.dumps(fitted.config()))
    state = {name: np.array(array) for name, array in fitted.state().items()}
    restored = restore_density(config, state)
    x = _blob(50, seed=8)
    assert np.array_equal(restored.score(x), fitted.score(x))
    assert np.array_equal(restored.normalised(x), fitted.normalised(x))
    assert restored.stored_rows() == fitted.stored_rows()
    assert restored.config() == fitted.config()


def test_the_same_draws_make_the_same_density(fitted: Density) -> None:
    again = densities[fitted.kind].create(OPTIONS).fit(_blob(300), rng=np.random.default_rng(1))
    x = _blob(50, seed=8)
    assert np.array_equal(again.score(x), fitted.score(x))


def test_every_missing_part_is_an_input_error(fitted: Density) -> None:
    for name in fitted.state():
        with pytest.raises(InputError, match="a saved"):
            restore_density(fitted.config(), {k: v for k, v in fitted.state().items() if k != name})
        with pytest.raises(InputError, match="a saved"):
            restore_density(fitted.config(), {**fitted.state(), name: np.zeros((2, 2, 2, 2))})
    for name in set(fitted.config()) - {"slices", "converged"}:
        with pytest.raises(InputError, match="a saved"):
            restore_density({k: v for k, v in fitted.config().items() if k != name}, fitted.state())


def test_fitting_leaves_the_unfitted_density_as_it_is() -> None:
    for kind in KINDS:
        plain = densities[kind].create(OPTIONS)
        plain.fit(_blob(20), rng=np.random.default_rng(0))
        with pytest.raises(ValueError, match="after fit"):
            plain.score(_blob(2))
        with pytest.raises(ValueError, match="after fit"):
            plain.state()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5, 30])
def test_few_rows_are_enough(kind: str, n: int) -> None:
    found = densities[kind].create(DensityOptions(n_frequencies=64)).fit(_blob(n, 4), rng=np.random.default_rng(0))
    assert np.isfinite(found.normalised(_blob(10, 4, seed=1))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_rows_are_refused_in_one_line(kind: str) -> None:
    with pytest.raises(TooFewRowsError, match=r"n_samples=1 rows: at least 2") as caught:
        densities[kind].create(OPTIONS).fit(_blob(1), rng=np.random.default_rng(0))
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_rows_are_survived(kind: str) -> None:
    found = densities[kind].create(OPTIONS).fit(np.ones((30, 3)), rng=np.random.default_rng(0))
    assert np.isfinite(found.normalised(np.ones((2, 3)))).all()
    assert found.score(np.ones((1, 3)))[0] >= found.score(np.full((1, 3), 5.0))[0]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ocsvm", DensityOptions(nu=0.0)), ("rff", DensityOptions(nu=1.5)), ("gmm", DensityOptions(n_components=0)),
        ("rff", DensityOptions(n_frequencies=0)),
    ],
)
def test_impossible_options_are_refused(kind: str, options: DensityOptions) -> None:
    with pytest.raises(ValueError, match="expected"):
        densities[kind].create(options)


def test_unknown_saved_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="expected one of gmm, ocsvm, rff"):
        restore_density({}, {})
    with pytest.raises(UsageError, match="no densities plug-in"):
        restore_density({"kind": "kde"}, {})


def test_gamma_is_one_over_the_median_squared_distance() -> None:
    x = _blob(301, 7) + 50.0
    slow = np.median([((a - b) ** 2).sum() for i, a in enumerate(x) for b in x[:i]])
    assert median_gamma(x, np.random.default_rng(0)) == pytest.approx(1.0 / slow, rel=1e-9)
    drawn = median_gamma(_blob(5000, 7), np.random.default_rng(0))
    assert drawn == pytest.approx(1.0 / slow, rel=0.1)
    assert drawn == median_gamma(_blob(5000, 7), np.random.default_rng(0))


def test_gamma_survives_rows_that_coincide() -> None:
    rng = np.random.default_rng(0)
    assert median_gamma(np.ones((20, 3)), rng) == 1.0
    assert median_gamma(np.ones((1, 3)), rng) == 1.0
    x = np.zeros((20, 1))
    x[0] = 2.0
    assert median_gamma(x, rng) == pytest.approx(0.25)


def test_width_takes_a_number_or_the_median() -> None:
    rng = np.random.default_rng(0)
    assert width(0.5, _blob(5), rng) == 0.5
    for wrong in (0.0, -1.0, "scale", float("nan")):
        with pytest.raises(ValueError, match="'median' or a positive number"):
            width(wrong, _blob(5), rng)


def test_scoring_loads_neither_scipy_nor_scikit_learn() -> None:
    script = (
        "import sys, discreet.guard.fitted_dual as f; from discreet.guard.density import densities; list(densities);"
        "print([m for m in ('sklearn', 'scipy', 'torch', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
