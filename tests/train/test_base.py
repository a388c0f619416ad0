from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.train.tasks import nothing, task

from discreet.core.errors import InputError, UsageError
from discreet.train.base import (
    Data,
    checked_training,
    child,
)
from discreet.train.saved import load_fitted, saving
from discreet.train.spec import recipe_of


def test_take_repeats() -> None:
    data = Data(("a", "b", "c"), np.array([0, 1, 2], dtype=np.int32))
    found = data.take(np.array([2, 0, 2]))
    assert found.inputs == ("c", "a", "c")
    assert found.labels.tolist() == [2, 0, 2]
    assert found.labels.dtype == np.int64
    assert (len(data), len(found), len(nothing(data))) == (3, 3, 0)
    rows = Data(np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])).take(np.array([1, 1]))
    assert np.asarray(rows.inputs).tolist() == [[2.0, 3.0], [2.0, 3.0]]


def test_data_never_show_their_texts() -> None:
    assert "secret" not in repr(Data(("secret",), np.array([0])))


@pytest.mark.parametrize(("inputs", "labels", "said"), [
    (("a",), [0, 1], "1 inputs for 2 labels"), ("ab", [0, 1], "one string"), (("a",), [0.5], "float"),
    (("a",), [-1], "a label is -1"), (("a", 3), [0, 1], r"inputs\[1\] is of type int"), (("a",), [[0]], "shape"),
    (np.zeros(2), [0, 1], "shape"), (np.array([["a"]]), [0], "expected texts, or numbers"),
])
def test_impossible_data(inputs: Any, labels: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Data(inputs, np.array(labels))


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_arrays_must_be_finite(odd: float) -> None:
    rows = np.zeros((4, 2, 2))
    rows[2, 1, 0] = odd
    with pytest.raises(InputError, match=r"row 2 of the inputs holds NaN or infinity \(1 such rows\)"):
        Data(rows, np.zeros(4, dtype=int))
    assert len(Data(np.zeros((0, 3)), np.zeros(0, dtype=int))) == 0


def test_a_child_is_what_spawning_gives() -> None:
    seeds = np.random.SeedSequence(5, spawn_key=(1,))
    children = [child(seeds, place) for place in range(3)]
    assert seeds.n_children_spawned == 0
    wanted = seeds.spawn(3)
    assert [c.generate_state(4).tolist() for c in children] == [w.generate_state(4).tolist() for w in wanted]


@pytest.mark.parametrize("n_classes", [1, 0, True, 2.0])
def test_two_classes_are_needed(n_classes: Any) -> None:
    with pytest.raises(UsageError, match="at least 2"):
        checked_training(task(4, 2), task(4, 2), n_classes)


def test_a_validation_without_a_class_is_fine() -> None:
    data = task(6, 3)
    checked_training(data, nothing(data), 3)
    checked_training(data, data.take(np.array([0])), 3)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    train = task(8, 2)
    recipe = recipe_of("tfidf-mlp:columns=64,hidden=2,steps=2")
    recipe.fit(train, nothing(train), 2, np.random.SeedSequence(0)).save(tmp_path / "model")
    return tmp_path / "model"


def refused(folder: Path, said: str, spec: str | None = None) -> None:
    with pytest.raises(InputError, match=said) as caught:
        load_fitted(folder, None if spec is None else recipe_of(spec))
    assert "\n" not in str(caught.value)


def test_folders_that_hold_no_such_model(saved: Path, tmp_path: Path) -> None:
    load_fitted(saved)
    refused(tmp_path, "holds no recipe.json")
    refused(tmp_path / "none", "is no folder")
    refused(saved, "recipe 'tfidf-mlp'; expected 'head'", "head")
    refused(saved, "'tfidf-mlp' with other options; expected 'tfidf-mlp'", "tfidf-mlp")
    (saved / "model.safetensors").unlink()
    refused(saved, "is missing")
    path = saved / "recipe.json"
    path.write_bytes(path.read_bytes()[:-30])
    refused(saved, "truncated or no JSON")


@pytest.mark.parametrize(("key", "value", "said"), [
    ("version", 2, "version 2"), ("format", "other", "no manifest of the format"), ("n_classes", 3, "was changed"),
    ("n_classes", 1, "n_classes >= 2"), ("facts", {}, "was changed"), ("facts", None, "and facts"),
    ("recipe", {"name": "gone"}, "no recipes plug-in is called 'gone'"), ("recipe", 3, "must give 'recipe'"),
    ("recipe", {"name": "tfidf-mlp", "hidden": 4}, "was changed"), ("files", {}, "no model.safetensors|cannot be read"),
])
def test_changed_manifests(saved: Path, key: str, value: Any, said: str) -> None:
    path = saved / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    if key == "files":
        (saved / "model.safetensors").write_bytes(b"no")
    refused(saved, said)


def test_a_fact_with_text_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="may hold the text"), saving(
            tmp_path / "model", recipe_of("tfidf-mlp"), 2, {"text": "no"}):
        raise AssertionError("nothing is to be written")
    assert not (tmp_path / "model").exists()
