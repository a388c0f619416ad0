"""Banks of networks, and what the contract of recipes does not say of mlp, cnn, resnet18, rnn and token-transformer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.train.tasks import nothing, seeds
from tests.errors import refused

pytest.importorskip("torch")

from discreet.audit.train import Data
from discreet.audit.train.networks import fit_bank
from discreet.audit.train.recipes.images import TOGETHER, Cnn, Convolutions, Resnet18, images
from discreet.audit.train.recipes.mlp import Mlp
from discreet.audit.train.recipes.tokens import Rnn, TokenTransformer
from discreet.audit.train.spec import FORM, MANIFEST, VERSION
from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError, UsageError
from discreet.core.folders import read_manifest, write_manifest

N, M = 26, 4
RNG = np.random.default_rng
WORDS: Any = {"vocabulary": 300, "tokens": 8, "batch": 6}


def labels(n_classes: int = 2) -> np.ndarray:
    found = RNG(1).integers(0, n_classes, (M, N))
    found[:, :n_classes] = np.arange(n_classes)
    return found


def words(n: int = N) -> tuple[str, ...]:
    rng = RNG(2)
    return tuple(" ".join(f"w{i}" for i in rng.integers(0, 50, rng.integers(2, 9))) for _ in range(n))


ROWS = RNG(0).normal(size=(N, 5))
MLP = Mlp(hidden=8, epochs=6, batch=8, rate=0.01)


def test_a_bank_of_convolutions_on_a_gpu_is_its_models_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """All models are one program there, as perceptrons are everywhere (see the contract of recipes)."""
    monkeypatch.setattr(Convolutions, "together", TOGETHER)
    recipe, inputs = Cnn(width=2, hidden=4, epochs=4, batch=8, rate=0.01), RNG(0).normal(size=(N, 8, 8))
    weights = np.ones((M, N), dtype=np.int64)
    weights[:, 4:] = RNG(5).integers(0, 3, (M, N - 4))
    given = labels()
    bank = fit_bank(recipe, inputs, np.where(weights > 0, given, -1), 2, seeds(M), weights=weights)
    logits = bank.logits(inputs)
    assert logits.shape == (M, N, 2)
    for m, model in enumerate(bank.models):
        data = Data(inputs, given[m])
        one = recipe.fit(data.take(np.repeat(np.arange(N), weights[m])), nothing(data), 2, seeds(M)[m])
        np.testing.assert_allclose(one.logits(inputs), logits[m], rtol=0, atol=1e-5)
        assert {**one.facts} == {**model.facts}
        assert model.logits(inputs).tobytes() == logits[m].tobytes()
    assert min(np.abs(logits[m] - logits[m + 1]).max() for m in range(M - 1)) > 1e-3


def test_labels_of_one_model_do_not_reach_another() -> None:
    given = labels()
    before = fit_bank(MLP, ROWS, given, 2, seeds(M)).logits(ROWS)
    given[1] = 1 - given[1]
    moved = np.abs(before - fit_bank(MLP, ROWS, given, 2, seeds(M)).logits(ROWS)).max(axis=(1, 2))
    assert moved[1] > 0.05
    assert moved[[0, 2, 3]].max() == 0.0


def test_patience_needs_validation_rows_and_reads_them() -> None:
    recipe = Mlp(hidden=8, epochs=40, batch=8, rate=0.05, patience=2)
    data, checks = Data(ROWS, labels()[0]), Data(RNG(7).normal(size=(12, 5)), np.arange(12) % 2)
    with refused(InputError, "patience needs validation rows"):
        recipe.fit(data, nothing(data), 2, seeds(1)[0])
    with refused(InputError, "patience needs validation rows"):
        fit_bank(recipe, ROWS, labels(), 2, seeds(M))
    facts = recipe.fit(data, checks, 2, seeds(1)[0]).facts
    assert facts["epochs_done"] == len(facts["validation_curve"]) < 40
    assert facts["best_step"] == min(facts["validation_curve"], key=lambda one: one[1])[0] < facts["steps"]


def test_soft_labels_that_are_certain_are_labels() -> None:
    given = labels(3)
    hard = fit_bank(MLP, ROWS, given, 3, seeds(M))
    soft = fit_bank(MLP, ROWS, given, 3, seeds(M), soft=np.eye(3)[given])
    np.testing.assert_allclose(hard.logits(ROWS), soft.logits(ROWS), atol=1e-6)
    assert [dict(one.facts) for one in hard.models] == [dict(one.facts) for one in soft.models]


def test_impossible_data_are_refused_in_one_line() -> None:
    spoilt = ROWS.copy()
    spoilt[3, 1] = np.nan
    beyond, below, lacking, none = labels(), labels(), labels(3), np.ones((M, N), dtype=np.int64)
    beyond[2, 5], below[1, 0], lacking[3], none[0] = 2, -1, labels()[3], 0
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (InputError, "row 3 of the inputs holds NaN", {"inputs": spoilt}),
        (InputError, "model 2 has labels from 0 to 2: expected 0 to 1", {"labels": beyond}),
        (InputError, "model 1 has labels from -1 to 1", {"labels": below}),
        (InputError, "model 3 has no training row of the label 2", {"labels": lacking, "n_classes": 3}),
        (InputError, "model 0 has no training row of the label 0", {"weights": none}),
        (UsageError, "was given texts", {"inputs": words()}),
        (ValueError, "weights are float64", {"weights": np.ones((M, N))}),
    ]
    for error, said, options in cases:
        with refused(error, said):
            fit_bank(**{"recipe": MLP, "inputs": ROWS, "labels": labels(), "n_classes": 2, "seeds": seeds(M),
                        **options})


def noise(shape: tuple[int, ...] | None) -> Data:
    """12 examples whose labels nothing tells: what fits them has memorised them."""
    truth = RNG(0).permutation(np.arange(12) % 3)
    if shape is None:
        return Data(words(12), truth)
    given = RNG(0).integers(0, 256, (12, *shape)).astype(np.uint8)
    # Centred, or an input of 0 … 255 would swamp the first steps of a perceptron.
    return Data(given / 128.0 - 1.0 if len(shape) == 1 else given, truth)


def test_facts_say_whether_the_accuracy_was_reached() -> None:
    data = noise((7,))
    facts = Mlp(epochs=300, batch=6, rate=0.01, until_accuracy=1.0).fit(data, nothing(data), 3, seeds(1)[0]).facts
    assert (facts["reached"], facts["epochs_done"]) == (True, len(facts["accuracy_after"]))
    assert facts["accuracy_after"][-1] == 1.0 > max(facts["accuracy_after"][:-1])
    short = Mlp(epochs=1, batch=6, rate=1e-6, until_accuracy=1.0).fit(data, nothing(data), 3, seeds(1)[0]).facts
    assert (short["reached"], short["epochs_done"]) == (False, 1)


def test_images_are_channels_first() -> None:
    given = np.arange(2 * 5 * 6, dtype=np.uint8).reshape(2, 5, 6)
    found = images(given, "cnn", 4)
    assert found.shape == (2, 1, 5, 6)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:, 0], given / 127.5 - 1.0, atol=1e-6)
    real = RNG(0).normal(size=(2, 3, 5, 6))
    np.testing.assert_array_equal(images(real, "cnn", 4), real.astype(np.float32))
    for odd, said in ((np.zeros((2, 8, 8, 3)), "channels last"), (np.zeros((2, 9)), "was given shape"),
                      (np.zeros((2, 1, 3, 9)), "3 x 9: the recipe 'cnn' needs 4 x 4"), (("a", "b"), "was given texts")):
        with refused(UsageError, said):
            images(odd, "cnn", 4)


def test_token_numbers_instead_of_texts() -> None:
    truth = np.arange(8) % 2
    ids = np.where(truth[:, None] == 1, 3, 5) * np.ones((8, 4), dtype=np.int64)
    for recipe in (Rnn(vocabulary=6, tokens=5, embedding=4, hidden=4, epochs=30, batch=4, rate=0.05),
                   TokenTransformer(vocabulary=6, tokens=5, width=8, heads=2, layers=1, epochs=20, batch=4, rate=0.02)):
        data = Data(ids, truth)
        found = recipe.fit(data, nothing(data), 2, seeds(1)[0])
        assert (found.logits(ids).argmax(axis=1) == truth).all()
        # Nothing behind the last token changes a score.
        assert found.logits(np.pad(ids, ((0, 0), (0, 1)))).tobytes() == found.logits(ids).tobytes()
        for odd, error, said in ((ids + 3, InputError, "reach from 6 to 8: expected 0 to 5"),
                                 (-ids, InputError, "reach from -5"), (np.tile(ids, 2), UsageError, "takes texts"),
                                 (ids.astype(float), UsageError, "takes texts")):
            with refused(error, said):
                found.logits(odd)


def test_not_finite_and_misshapen_inputs() -> None:
    data = Data(RNG(0).normal(size=(6, 1, 8, 8)), np.arange(6) % 2)
    found = Cnn(width=2, hidden=2, epochs=1).fit(data, nothing(data), 2, seeds(1)[0])
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
    folder, recipe = tmp_path / "model", Mlp(hidden=4, epochs=1)
    data = Data(RNG(0).normal(size=(6, 4)), np.arange(6) % 2)
    recipe.fit(data, nothing(data), 2, seeds(1)[0]).save(folder)
    weights = folder / "model.safetensors"
    good = read_arrays(weights)
    for change, said in (({"weight0": None}, "'weight0' is missing"),
                         ({"bias1": np.full((1, 2), np.nan, "f4")}, "'bias1'"),
                         ({"weight1": np.zeros((9, 2), "f4")}, "'weight1'"), ({"more": np.zeros(1, "f4")}, "'more'")):
        write_arrays(weights, {name: one for name, one in {**good, **change}.items() if one is not None})
        with refused(InputError, said):
            recipe.load(folder, read_manifest(folder, MANIFEST, FORM, VERSION))
    manifest = json.loads((folder / MANIFEST).read_text())
    facts = {key: value for key, value in manifest.items() if key not in ("format", "version", "files")}
    facts["facts"]["row_shape"] = ["four"]
    write_manifest(folder, MANIFEST, FORM, VERSION, facts)
    with pytest.raises(InputError, match="must give row_shape"):
        recipe.load(folder, read_manifest(folder, MANIFEST, FORM, VERSION))
