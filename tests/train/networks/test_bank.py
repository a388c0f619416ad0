from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from discreet.core.errors import InputError, UsageError
from discreet.train import Data
from discreet.train.networks.bank import Bank, fit_bank
from discreet.train.recipes import cnn
from discreet.train.recipes.cnn import Cnn, Convolutions
from discreet.train.recipes.mlp import Mlp
from discreet.train.recipes.rnn import Rnn

N, M = 26, 4


def seeds(count: int = M) -> list[np.random.SeedSequence]:
    return [np.random.SeedSequence(3, spawn_key=(m,)) for m in range(count)]


def labels(n_classes: int = 2) -> np.ndarray:
    found = np.random.default_rng(1).integers(0, n_classes, (M, N))
    found[:, :n_classes] = np.arange(n_classes)
    return found


def words() -> tuple[str, ...]:
    rng = np.random.default_rng(2)
    return tuple(" ".join(f"w{i}" for i in rng.integers(0, 50, rng.integers(2, 9))) for _ in range(N))


def inputs_of(name: str) -> Any:
    shape = {"mlp": (N, 5), "cnn": (N, 8, 8)}.get(name)
    return words() if shape is None else np.random.default_rng(0).normal(size=shape)


RECIPES: dict[str, Any] = {
    "mlp": Mlp(hidden=8, epochs=6, batch=8, rate=0.01), "cnn": Cnn(width=2, hidden=4, epochs=4, batch=8, rate=0.01),
    "rnn": Rnn(vocabulary=60, tokens=8, embedding=3, hidden=4, epochs=3, batch=8, rate=0.02),
}


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("name", list(RECIPES))
def test_a_bank_is_its_models_one_by_one(name: str, weighed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # As on a GPU: all convolutional models are one program.
    monkeypatch.setattr(Convolutions, "together", cnn.TOGETHER)
    recipe, inputs = RECIPES[name], inputs_of(name)
    weights = np.ones((M, N), dtype=np.int64)
    if weighed:
        weights[:, 4:] = np.random.default_rng(5).integers(0, 3, (M, N - 4))
    given = labels()
    unused = np.where(weights > 0, given, -1)
    bank = fit_bank(recipe, inputs, unused, 2, seeds(), weights=weights if weighed else None)
    logits = bank.logits(inputs)
    assert logits.shape == (M, N, 2)
    for m, alone in enumerate(bank.models):
        data = Data(inputs, given[m]).take(np.repeat(np.arange(N), weights[m]))
        one = recipe.fit(data, Data(inputs[:0], given[m, :0]), 2, seeds()[m])
        np.testing.assert_allclose(one.logits(inputs), logits[m], rtol=0, atol=1e-5)
        assert {**one.facts} == {**alone.facts}
        assert alone.logits(inputs).tobytes() == logits[m].tobytes()
    assert len(bank) == M
    assert min(np.abs(logits[m] - logits[m + 1]).max() for m in range(M - 1)) > 1e-3


def test_labels_of_one_model_do_not_reach_another() -> None:
    inputs, given = inputs_of("mlp"), labels()
    before = fit_bank(RECIPES["mlp"], inputs, given, 2, seeds()).logits(inputs)
    given[1] = 1 - given[1]
    after = fit_bank(RECIPES["mlp"], inputs, given, 2, seeds()).logits(inputs)
    moved = np.abs(before - after).max(axis=(1, 2))
    assert moved[1] > 0.05
    assert moved[[0, 2, 3]].max() == 0.0


def test_soft_labels_that_are_certain_are_labels() -> None:
    inputs, given = inputs_of("mlp"), labels(3)
    hard = fit_bank(RECIPES["mlp"], inputs, given, 3, seeds())
    soft = fit_bank(RECIPES["mlp"], inputs, given, 3, seeds(), soft=np.eye(3)[given])
    np.testing.assert_allclose(hard.logits(inputs), soft.logits(inputs), atol=1e-6)
    assert [dict(one.facts) for one in hard.models] == [dict(one.facts) for one in soft.models]


def refused(error: type[Exception], said: str, **options: Any) -> None:
    given: dict[str, Any] = {"recipe": RECIPES["mlp"], "inputs": inputs_of("mlp"), "labels": labels(), "n_classes": 2,
                             "seeds": seeds(), **options}
    with pytest.raises(error, match=said) as caught:
        fit_bank(**given)
    assert "\n" not in str(caught.value)


def test_impossible_data_are_refused_in_one_line() -> None:
    spoilt = inputs_of("mlp")
    spoilt[3, 1] = np.nan
    refused(InputError, "row 3 of the inputs holds NaN", inputs=spoilt)
    beyond, below, lacking = labels(), labels(), labels(3)
    beyond[2, 5], below[1, 0], lacking[3] = 2, -1, labels()[3]
    refused(InputError, "model 2 has labels from 0 to 2: expected 0 to 1", labels=beyond)
    refused(InputError, "model 1 has labels from -1 to 1", labels=below)
    refused(InputError, "model 3 has no training row of the label 2", labels=lacking, n_classes=3)
    refused(UsageError, "n_classes is 1", n_classes=1)
    refused(UsageError, "was given texts", inputs=words())
    refused(ValueError, r"labels are int64 of shape \(4, 25\)", labels=labels()[:, 1:])
    refused(ValueError, "labels are float64", labels=labels().astype(float))
    refused(ValueError, "weights are float64", weights=np.ones((M, N)))
    refused(ValueError, r"weights are int64 of shape \(26,\)", weights=np.ones(N, dtype=np.int64))
    refused(ValueError, "retarget is given without soft labels", retarget=lambda places, logits: logits)
    refused(ValueError, "soft labels have shape", soft=np.ones((M, N)))
    refused(ValueError, "rows that do not sum to 1", soft=np.full((M, N, 2), 0.4))
    none = np.ones((M, N), dtype=np.int64)
    none[0] = 0
    refused(InputError, "model 0 has no training row of the label 0", weights=none)


def test_inputs_of_another_form_are_refused() -> None:
    bank: Bank = fit_bank(RECIPES["mlp"], inputs_of("mlp"), labels(), 2, seeds())
    with pytest.raises(InputError, match=r"rows of shape \(6,\) and the model was trained on \(5,\)"):
        bank.logits(np.zeros((2, 6)))
    assert bank.logits(np.zeros((0, 5))).shape == (M, 0, 2)
