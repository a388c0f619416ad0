"""What the contract of recipes does not say of mlp, cnn, resnet18, rnn and token-transformer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError, UsageError
from discreet.core.folders import read_manifest, write_manifest
from discreet.train import Data, load_fitted
from discreet.train.networks.inputs import images
from discreet.train.recipes.cnn import Cnn
from discreet.train.recipes.mlp import Mlp
from discreet.train.recipes.resnet import Resnet18
from discreet.train.recipes.rnn import Rnn
from discreet.train.recipes.token_transformer import TokenTransformer
from discreet.train.saved import FORM, MANIFEST, VERSION

SEEDS = np.random.SeedSequence(2)
N = 12


def none(like: Data) -> Data:
    return like.take(np.array([], dtype=np.int64))


def noise(shape: tuple[int, ...] | None) -> Data:
    """Examples whose labels nothing tells: what fits them has memorised them."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(N) % 3)
    if shape is None:
        return Data(tuple(" ".join(f"w{i}" for i in rng.integers(0, 90, 6)) for _ in range(N)), labels)
    return Data(rng.integers(0, 256, (N, *shape)).astype(np.uint8), labels)


MEMORISERS: list[tuple[Any, tuple[int, ...] | None]] = [
    (Mlp(hidden=32, epochs=200, batch=6, rate=0.01), (7,)), (Cnn(width=4, hidden=16, epochs=120, batch=6), (9, 8)),
    (Resnet18(width=4, epochs=30, batch=6), (3, 9, 10)),
    (Rnn(vocabulary=300, tokens=8, embedding=8, hidden=16, epochs=60, batch=6, rate=0.02), None),
    (Rnn(kind="gru", pool="last", vocabulary=300, tokens=8, embedding=8, hidden=16, epochs=60, batch=6, rate=0.02),
     None),
    (TokenTransformer(vocabulary=300, tokens=8, width=16, heads=2, epochs=50, batch=6, rate=0.005), None),
]


@pytest.mark.parametrize(("recipe", "shape"), MEMORISERS, ids=lambda one: getattr(one, "name", ""))
def test_memorises_labels_that_nothing_tells(recipe: Any, shape: tuple[int, ...] | None) -> None:
    # Centred, or an input of 0 … 255 would swamp the first steps of the perceptron.
    data = noise(shape)
    if recipe.name == "mlp":
        data = Data(np.asarray(data.inputs, dtype=np.float64) / 128.0 - 1.0, data.labels)
    found = recipe.fit(data, none(data), 3, SEEDS)
    assert (found.logits(data.inputs).argmax(axis=1) == data.labels).all()
    assert found.facts["epochs_done"] == recipe.epochs == len(found.facts["train_accuracy"])
    assert found.facts["train_accuracy"][-1] > found.facts["train_accuracy"][0]
    assert found.facts["training_rows"] == N


def test_stops_at_the_accuracy_and_then_trains_as_long_without_it() -> None:
    data = noise((7,))
    data = Data(np.asarray(data.inputs, dtype=np.float64) / 128.0 - 1.0, data.labels)
    facts = Mlp(epochs=300, batch=6, rate=0.01, until_accuracy=0.75).fit(data, none(data), 3, SEEDS).facts
    assert facts["epochs_done"] < 300
    assert facts["reached"] is True
    assert facts["accuracy_after"][-1] >= 0.75 > max(facts["accuracy_after"][:-1])
    again = Mlp(epochs=facts["epochs_done"], batch=6, rate=0.01).fit(data, none(data), 3, SEEDS)
    assert (again.logits(data.inputs).argmax(axis=1) == data.labels).mean() == facts["accuracy_after"][-1]
    assert "reached" not in again.facts
    short = Mlp(epochs=1, batch=6, rate=1e-6, until_accuracy=1.0).fit(data, none(data), 3, SEEDS).facts
    assert short["reached"] is False
    assert short["epochs_done"] == 1


def test_images_are_channels_first() -> None:
    given = np.arange(2 * 5 * 6, dtype=np.uint8).reshape(2, 5, 6)
    found = images(given, "cnn", 4)
    assert found.shape == (2, 1, 5, 6)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:, 0], given / 127.5 - 1.0, atol=1e-6)
    real = np.random.default_rng(0).normal(size=(2, 3, 5, 6))
    np.testing.assert_array_equal(images(real, "cnn", 4), real.astype(np.float32))
    for odd, said in ((np.zeros((2, 8, 8, 3)), "channels last"), (np.zeros((2, 9)), "was given shape"),
                      (np.zeros((2, 1, 3, 9)), "3 x 9: the recipe 'cnn' needs 4 x 4"), (("a", "b"), "was given texts")):
        with pytest.raises(UsageError, match=said) as caught:
            images(odd, "cnn", 4)
        assert "\n" not in str(caught.value)


def test_token_numbers_instead_of_texts() -> None:
    labels = np.arange(8) % 2
    ids = np.where(labels[:, None] == 1, 3, 5) * np.ones((8, 4), dtype=np.int64)
    for recipe in (Rnn(vocabulary=6, tokens=5, embedding=4, hidden=4, epochs=30, batch=4, rate=0.05),
                   TokenTransformer(vocabulary=6, tokens=5, width=8, heads=2, layers=1, epochs=20, batch=4, rate=0.02)):
        data = Data(ids, labels)
        found = recipe.fit(data, none(data), 2, SEEDS)
        assert (found.logits(ids).argmax(axis=1) == labels).all()
        # Nothing behind the last token changes a score.
        assert found.logits(np.pad(ids, ((0, 0), (0, 1)))).tobytes() == found.logits(ids).tobytes()
        for odd, error, said in ((ids + 3, InputError, "reach from 6 to 8: expected 0 to 5"),
                                 (-ids, InputError, "reach from -5"), (np.tile(ids, 2), UsageError, "takes texts"),
                                 (ids.astype(float), UsageError, "takes texts")):
            with pytest.raises(error, match=said) as caught:
                found.logits(odd)
            assert "\n" not in str(caught.value)


def test_not_finite_and_misshapen_inputs() -> None:
    data = Data(np.random.default_rng(0).normal(size=(6, 1, 8, 8)), np.arange(6) % 2)
    found = Cnn(width=2, hidden=2, epochs=1).fit(data, none(data), 2, SEEDS)
    spoilt = np.asarray(data.inputs).copy()
    spoilt[4, 0, 0, 0] = np.inf
    with pytest.raises(InputError, match="row 4 of the inputs holds NaN or infinity"):
        found.logits(spoilt)
    with pytest.raises(InputError, match=r"rows of shape \(1, 8, 9\) and the model was trained on \(1, 8, 8\)"):
        found.logits(np.zeros((1, 8, 9)))
    assert found.hidden(np.zeros((0, 8, 8))).shape == (0, 2)


@pytest.mark.parametrize(("maker", "options", "said"), [
    (Mlp, {"layers": 0}, "0 layers"), (Mlp, {"hidden": 3, "layers": 3}, "3 layers of 3 units"),
    (Cnn, {"width": 0}, "width is 0"), (Cnn, {"hidden": 0}, "hidden is 0"),
    (Resnet18, {"width": 0}, "width is 0"), (Rnn, {"hidden": 0}, "hidden is 0"),
    (Rnn, {"embedding": -1}, "embedding is -1"), (Rnn, {"vocabulary": 1}, "vocabulary is 1"),
    (Rnn, {"tokens": 0}, "tokens is 0"),
    (TokenTransformer, {"width": 30}, "width is 30: expected a multiple of heads, 4"),
    (TokenTransformer, {"heads": 0}, "heads is 0"), (TokenTransformer, {"tokens": 5000}, "tokens is 5000"),
    (Mlp, {"epochs": 0}, "epochs is 0"), (Resnet18, {"until_accuracy": 2.0}, "until_accuracy is 2"),
])
def test_impossible_options(maker: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        maker(**options)


def test_a_folder_with_other_numbers_is_refused(tmp_path: Path) -> None:
    data = Data(np.random.default_rng(0).normal(size=(6, 4)), np.arange(6) % 2)
    Mlp(hidden=4, epochs=1).fit(data, none(data), 2, SEEDS).save(tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    good = read_arrays(weights)
    recipe = Mlp(hidden=4, epochs=1)
    for change, said in (({"weight0": None}, "'weight0' is missing"),
                         ({"bias1": np.full((1, 2), np.nan, "f4")}, "'bias1'"),
                         ({"weight1": np.zeros((9, 2), "f4")}, "'weight1'"), ({"more": np.zeros(1, "f4")}, "'more'")):
        arrays = {name: one for name, one in {**good, **change}.items() if one is not None}
        write_arrays(weights, arrays)
        with pytest.raises(InputError, match=said) as caught:
            recipe.load(tmp_path / "model", read_manifest(tmp_path / "model", MANIFEST, FORM, VERSION))
        assert "\n" not in str(caught.value)
    write_arrays(weights, good)
    manifest = json.loads((tmp_path / "model" / MANIFEST).read_text())
    facts = {key: value for key, value in manifest.items() if key not in ("format", "version", "files")}
    facts["facts"]["row_shape"] = ["four"]
    write_manifest(tmp_path / "model", MANIFEST, FORM, VERSION, facts)
    with pytest.raises(InputError, match="must give row_shape"):
        recipe.load(tmp_path / "model", read_manifest(tmp_path / "model", MANIFEST, FORM, VERSION))


def test_a_saved_resnet_keeps_its_running_means(tmp_path: Path) -> None:
    data = noise((1, 9, 9))
    found = Resnet18(width=2, epochs=3, batch=6).fit(data, none(data), 3, SEEDS)
    found.save(tmp_path / "model")
    saved = read_arrays(tmp_path / "model" / "model.safetensors")
    assert np.abs(saved["stem.mean"]).max() > 0
    assert load_fitted(tmp_path / "model").logits(data.inputs).tobytes() == found.logits(data.inputs).tobytes()
