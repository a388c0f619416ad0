from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load, save

from discreet.core.errors import InputError
from discreet.guard.density.base import TooFewRowsError
from discreet.guard.density.discriminators import (
    DISCRIMINATORS,
    Discriminator,
    EvidenceLogistic,
    FeaturesLogistic,
    Perceptron,
    restore_discriminator,
)

KINDS = list(DISCRIMINATORS)


def data(n: int = 60, d: int = 40, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(np.int64)
    x = rng.normal(size=(n, d)) / np.sqrt(d)
    x[y == 1, :5] += 0.4
    return x.astype(np.float32), y


def fit(kind: str, x: Any, y: Any, seed: int = 0) -> Discriminator:
    return DISCRIMINATORS[kind].fit(x, y, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def fitted() -> dict[str, Discriminator]:
    return {kind: fit(kind, *data(), seed=1) for kind in KINDS}


@pytest.mark.parametrize("c", [0.1, 1.0, 30.0])
def test_logistic_is_scikit_learns(c: float) -> None:
    from sklearn.linear_model import LogisticRegression

    x, y = data()
    ours = FeaturesLogistic.fit(x, y, rng=np.random.default_rng(0), c=c)
    peer = LogisticRegression(C=c, class_weight="balanced", max_iter=2000).fit(x.astype(np.float64), y)
    new, _ = data(seed=5)
    assert np.abs(ours.delta(new) - peer.decision_function(new.astype(np.float64))).max() < 1e-9


def test_both_classes_weigh_the_same() -> None:
    """Ten safe rows for one unsafe do not move even odds towards safe."""
    x, y = data(n=60)
    few = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5]])
    for kind in (EvidenceLogistic.kind, FeaturesLogistic.kind):
        delta = fit(kind, x[few], y[few]).delta(x)
        assert (delta[y == 1] > 0).mean() > 0.6
        assert (delta[y == 0] > 0).mean() < 0.4


def test_perceptron_is_a_plain_forward_pass(fitted: dict[str, Discriminator]) -> None:
    found = fitted["mlp-v4"]
    assert isinstance(found, Perceptron)
    assert [w.shape for w in found.weights] == [(40, 512), (512, 128), (128, 1)]
    new, _ = data(seed=7)
    layer = (new.astype(np.float64) - found.centre) * found.scale
    for number, (w, b) in enumerate(zip(found.weights, found.biases, strict=True)):
        layer = layer @ w.astype(np.float64) + b
        layer = np.maximum(layer, 0) if number < 2 else layer
    assert np.abs(found.delta(new) - layer[:, 0]).max() < 1e-5
    x, y = data()
    delta = found.delta(x)
    assert np.mean(delta[y == 1][:, None] > delta[y == 0][None, :]) > 0.9


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 300))
@settings(max_examples=15, deadline=None)
def test_alone_as_in_any_batch(fitted: dict[str, Discriminator], kind: str, seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 40)).astype(np.float32) * rng.choice([1e-6, 1.0, 1e4], size=(size, 1))
    order = rng.permutation(size)
    whole = fitted[kind].delta(x)
    assert np.array_equal(fitted[kind].delta(x[order]), whole[order])
    pick = int(rng.integers(size))
    assert fitted[kind].delta(x[pick : pick + 1])[0] == whole[pick]


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_restored_bit_for_bit(fitted: dict[str, Discriminator], kind: str) -> None:
    found = fitted[kind]
    config = json.loads(json.dumps(found.config()))
    again = restore_discriminator(config, load(save(found.state())))
    x, _ = data(seed=3)
    assert type(again) is type(found)
    assert np.array_equal(again.delta(x), found.delta(x))
    assert again.unsure == found.unsure == pytest.approx(np.log(9) if kind == "mlp-v4" else 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_and_few_rows_still_fit(kind: str) -> None:
    for n in (8, 60):
        one, two = (fit(kind, *data(n), seed=4).delta(data(n)[0]) for _ in range(2))
        assert np.array_equal(one, two)
        assert np.isfinite(one).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_is_absent(kind: str) -> None:
    x, _ = data(n=10)
    with pytest.raises(TooFewRowsError, match=r"side unsafe.*n_samples=0.*at least 2"):
        fit(kind, x, np.zeros(10))
    with pytest.raises(ValueError, match=r"9 labels of 10 rows"):
        fit(kind, x, np.zeros(9))
    with pytest.raises(ValueError, match=r"0 .safe. or 1 .unsafe."):
        fit(kind, x, np.arange(10))


def test_rows_that_cannot_be(fitted: dict[str, Discriminator]) -> None:
    for found in fitted.values():
        with pytest.raises(ValueError, match="shape"):
            found.delta(np.zeros((2, 39), dtype=np.float32))
        with pytest.raises(ValueError, match="NaN"):
            found.delta(np.full((2, 40), np.nan, dtype=np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_spoilt_artifacts(fitted: dict[str, Discriminator], kind: str) -> None:
    config, state = fitted[kind].config(), fitted[kind].state()
    spoilt = [({k: v for k, v in config.items() if k != name}, state) for name in config if name != "kind"]
    spoilt += [(config, {k: v for k, v in state.items() if k != name}) for name in state]
    spoilt += [(config, {**state, name: np.zeros((2, 2, 2))}) for name in state]
    for one in spoilt:
        with pytest.raises(InputError, match="lacks or spoils"):
            restore_discriminator(*one)
    with pytest.raises(InputError, match="names the kind 'other'"):
        restore_discriminator({**config, "kind": "other"}, state)
