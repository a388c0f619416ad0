from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.audit.train.tasks import nothing, task

from discreet.audit.train import Data, TrainingPlan, checked_training, child
from discreet.audit.train.base import checked_weights, rows_of, texts_of
from discreet.core.errors import InputError, UsageError


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


@pytest.mark.parametrize("odd", [np.ones((1, 6), dtype=int), np.full((2, 6), 0.5), np.full((2, 6), -1)])
def test_impossible_weights(odd: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected whole numbers from 0 of shape"):
        checked_weights(odd, np.arange(6) % 2, 2, 2)


def test_kinds_of_inputs() -> None:
    rows = np.zeros((2, 2, 3))
    assert rows_of(rows, "r").shape == (2, 6)
    with pytest.raises(UsageError, match=r"'r' takes texts and was given an array of shape \(2, 2, 3\)"):
        texts_of(rows, "r")
    with pytest.raises(UsageError, match="'r' takes an array"):
        rows_of(["a"], "r")


@pytest.mark.parametrize("odd", [
    {"rate": 0.0}, {"rate": float("nan")}, {"epochs": 0}, {"batch": 0}, {"micro_batch": 0, "batch": 4},
    {"batch": 12, "micro_batch": 8}, {"micro_batch": 8}, {"decay": -1.0}, {"decay": float("inf")}, {"warmup": 1.5},
    {"eval_every": 0}, {"smoothing": 1.0}, {"smoothing": -0.1}, {"patience": 0}, {"until_accuracy": 0.0},
    {"until_accuracy": 1.01},
])
def test_impossible_plans(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"({'|'.join(odd)}).*expected|expected.*({'|'.join(odd)})"):
        TrainingPlan(**{"rate": 0.1, **odd})
