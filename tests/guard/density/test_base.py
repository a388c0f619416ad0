"""What holds of every density and every pair of them, and what they share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from safetensors.numpy import load, save

from discreet.core.errors import InputError, UsageError
from discreet.guard.density.base import (
    Density,
    DensityOptions,
    TooFewRowsError,
    densities,
    median_gamma,
    restore_density,
)
from discreet.guard.density.dual_density import DualDensity
from discreet.guard.density.fitted_dual import FittedDual, Projection

KINDS = ("gmm", "ocsvm", "rff")
OPTIONS = DensityOptions(nu=0.1, n_components=3, n_frequencies=300)
DUALS: dict[str, dict[str, Any]] = {
    "both": {"nu": 0.05}, "both raw": {"nu": 0.05, "scale": "libsvm"}, "both reduced": {"nu": 0.1, "pca": 4},
    "both gmm": {"density": "gmm", "n_components": 2, "pca": 6},
    "both rff": {"density": "rff", "nu": 0.05, "n_frequencies": 128},
    "both typicality": {"nu": 0.1, "features": "typicality", "widths": (5, 7)},
}  # fmt: skip


def _blob(n: int, d: int = 12, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module", params=KINDS)
def fitted(request: pytest.FixtureRequest) -> Density:
    return densities[request.param].fit(_blob(300), OPTIONS, rng=_rng())


class Saved(NamedTuple):
    """A density, or a pair of them."""

    one: Density | FittedDual
    scores: tuple[Callable[[Any, np.ndarray], np.ndarray], ...]
    restore: Callable[..., Any]


@pytest.fixture(scope="module", params=[*KINDS, *DUALS])
def saved(request: pytest.FixtureRequest) -> Saved:
    if request.param in KINDS:
        one = densities[request.param].fit(_blob(300), OPTIONS, rng=_rng())
        return Saved(one, (type(one).score, type(one).normalised), restore_density)
    x = np.concatenate([_blob(80), _blob(120, seed=1) + 1.0])
    dual = DualDensity(**DUALS[request.param], random_state=3).fit(x, np.repeat([0, 1], [80, 120])).fitted_
    return Saved(dual, (FittedDual.sigmas,), FittedDual.restore)


def test_a_row_scores_the_same_alone_in_a_batch_and_in_any_order(saved: Saved) -> None:
    x = np.concatenate([_blob(300, seed=4), 1e4 * _blob(3, seed=5), np.zeros((1, 12))]).astype(np.float32)
    order = _rng(6).permutation(x.shape[0])
    for score in saved.scores:
        batch = score(saved.one, x)
        assert np.isfinite(batch).all()
        assert np.array_equal(score(saved.one, x[order]), batch[order])
        assert np.array_equal(np.concatenate([score(saved.one, row[None, :]) for row in x]), batch)


def test_what_is_saved_scores_the_same_bits(saved: Saved) -> None:
    restored = saved.restore(json.loads(json.dumps(saved.one.config())), load(save(saved.one.state())))
    x = _blob(50, seed=8)
    for score in saved.scores:
        assert np.array_equal(score(restored, x), score(saved.one, x))
    assert restored.stored_rows() == saved.one.stored_rows()
    assert restored.config() == saved.one.config()


def test_every_missing_or_spoilt_part_is_an_input_error(saved: Saved) -> None:
    config, state = saved.one.config(), saved.one.state()
    spoilt = [({k: v for k, v in config.items() if k != name}, state) for name in config if name != "stored_rows"]
    spoilt += [(config, {k: v for k, v in state.items() if k != name}) for name in state]
    spoilt += [(config, {**state, name: np.zeros((2, 2, 2, 2))}) for name in state]
    if isinstance(saved.one, FittedDual):
        spoilt += [({**config, "scale": "log"}, state), ({**config, "views": {}}, state)]
    for one in spoilt:
        with pytest.raises(InputError, match="saved"):
            saved.restore(*one)


def test_rows_of_another_width_are_refused(saved: Saved) -> None:
    with pytest.raises(ValueError, match=r"expected \(rows, 12\)"):
        saved.scores[0](saved.one, np.zeros((2, 11)))


def test_typical_rows_score_higher_and_both_scales_rank_alike(fitted: Density) -> None:
    near, far = _blob(200, seed=2), 2.0 * _blob(200, seed=3) + 1.0
    raw, common = fitted.score(near), fitted.normalised(near)
    assert np.median(raw) > np.quantile(fitted.score(far), 0.9)
    slope, offset = np.polyfit(raw, common, 1)
    assert slope > 0.0
    np.testing.assert_allclose(common, slope * raw + offset, atol=1e-9)


def test_the_same_draws_make_the_same_density(fitted: Density) -> None:
    again = densities[fitted.kind].fit(_blob(300), OPTIONS, rng=_rng())
    assert np.array_equal(again.score(_blob(50, seed=8)), fitted.score(_blob(50, seed=8)))


@pytest.mark.parametrize("kind", KINDS)
def test_few_and_constant_rows_are_enough_and_one_is_not(kind: str) -> None:
    for n in (2, 3, 5, 30):
        found = densities[kind].fit(_blob(n, 4), DensityOptions(n_frequencies=64), rng=_rng())
        assert np.isfinite(found.normalised(_blob(10, 4, seed=1))).all()
    constant = densities[kind].fit(np.ones((30, 3)), OPTIONS, rng=_rng())
    assert np.isfinite(constant.normalised(np.ones((2, 3)))).all()
    assert constant.score(np.ones((1, 3)))[0] >= constant.score(np.full((1, 3), 5.0))[0]
    with pytest.raises(TooFewRowsError, match="n_samples=1 rows: at least 2") as caught:
        densities[kind].fit(_blob(1), OPTIONS, rng=_rng())
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("options", [
    {"nu": 0.0}, {"nu": 1.5}, {"n_components": 0}, {"n_frequencies": 0}, {"gamma": 0.0}, {"gamma": "scale"},
    {"gamma": float("nan")},
])
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        DensityOptions(**options)


def test_unknown_kinds_are_refused() -> None:
    assert tuple(densities) == KINDS
    with pytest.raises(InputError, match="expected one of gmm, ocsvm, rff"):
        restore_density({}, {})
    with pytest.raises(UsageError, match=r"none of the densities.*expected some of gmm, ocsvm, rff"):
        restore_density({"kind": "kde"}, {})


def test_gamma_is_one_over_the_median_squared_distance() -> None:
    x = _blob(301, 7) + 50.0
    slow = np.median([((a - b) ** 2).sum() for i, a in enumerate(x) for b in x[:i]])
    assert median_gamma(x, _rng()) == pytest.approx(1.0 / slow, rel=1e-9)
    drawn = median_gamma(_blob(5000, 7), _rng())
    assert drawn == pytest.approx(1.0 / slow, rel=0.1)
    assert drawn == median_gamma(_blob(5000, 7), _rng())
    assert (DensityOptions(gamma=0.5).width(x, _rng()), DensityOptions().width(x, _rng())) == (
        0.5, median_gamma(x, _rng()))


def test_gamma_survives_rows_that_coincide() -> None:
    apart = np.zeros((20, 1))
    apart[0] = 2.0
    found = [median_gamma(x, _rng()) for x in (np.ones((20, 3)), np.ones((1, 3)), apart)]
    assert found == pytest.approx([1.0, 1.0, 0.25])


def test_a_projection_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    components, _ = np.linalg.qr(rng.standard_normal((300, 20)))
    mean, x = rng.standard_normal(300), rng.standard_normal((600, 300))
    found = Projection.of(mean, components.T).transform(x)
    np.testing.assert_allclose(found, (x - mean) @ components, atol=1e-5)
