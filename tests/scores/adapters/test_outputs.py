from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.core.errors import InputError
from discreet.core.types import FloatArray
from discreet.scores.adapters.outputs import as_logits, class_codes, columns_like
from discreet.scores.adapters.scorer import Kind


def softmax(logits: FloatArray) -> FloatArray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


@given(arrays(np.float64, (5, 3), elements=st.floats(-8, 8)))
def test_probabilities_are_known_from_logits(logits: FloatArray) -> None:
    given_p = softmax(logits)
    kinds: tuple[Kind, ...] = ("prob", "either")
    for kind in kinds:
        found, given_as = as_logits(given_p, kind, "m")
        assert given_as == "prob"
        np.testing.assert_allclose(softmax(found), given_p, atol=1e-6)
    found, given_as = as_logits(logits - 9.0, "either", "m")
    assert given_as == "logit"
    np.testing.assert_array_equal(found, logits - 9.0)


def test_certainty_is_clipped() -> None:
    found, _ = as_logits(np.array([[1.0, 0.0]]), "prob", "m")
    np.testing.assert_allclose(found, [[np.log1p(-1e-7), np.log(1e-7)]])


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_one_column_is_the_log_odds_of_class_1(shape: tuple[int, ...]) -> None:
    found, given_as = as_logits(np.array([0.3, -2.0]).reshape(shape), "logit", "m")
    np.testing.assert_array_equal(found, [[0, 0.3], [0, -2.0]])
    assert given_as == "logit"


@pytest.mark.parametrize(("outputs", "kind", "message"), [
    ([[1.0, np.nan], [0.0, 1.0]], "logit", "scores of 1 of 2 texts are NaN"),
    ([np.inf, 1.0], "logit", "scores of 1 of 2 texts are NaN"),
    ([[0.5, 0.6], [0.5, 0.5]], "prob", "scores of 1 of 2 texts are no probabilities"),
    ([[0.9, 0.8], [0.5, 0.5]], "either", "scores of 1 of 2 texts are no probabilities"),
    ([[1.5, -0.5]], "prob", "are no probabilities"),
    ([0.5, 0.4], "either", r"shape \(2,\)"),
    ([[1.0], [0.9]], "prob", r"shape \(2, 1\)"),
    ([[[1.0, 2.0]]], "logit", r"shape \(1, 1, 2\)"),
])
def test_what_is_neither(outputs: list[float], kind: Kind, message: str) -> None:
    with pytest.raises(InputError, match=f"^m: .*{message}"):
        as_logits(np.array(outputs), kind, "m")


def test_columns_follow_the_names_of_the_target() -> None:
    target = ("safe", "unsafe", "other")
    assert columns_like(("Other", "safe", "UNSAFE"), target, "m", 3, 3).tolist() == [1, 2, 0]
    for generic in (None, ("LABEL_0", "LABEL_1", "LABEL_2"), ("0", "1", "2")):
        assert columns_like(generic, target, "m", 3, 3).tolist() == [0, 1, 2]
        assert columns_like(target, generic, "m", 3, 3).tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="m: its classes are safe, unsafe, mild, the target's safe, unsafe, other"):
        columns_like(("safe", "unsafe", "mild"), target, "m", 3, 3)
    with pytest.raises(InputError, match="m: it has 2 classes where the target has 3"):
        columns_like(None, target, "m", 2, 3)


def test_numbers_that_are_names_are_aligned_by_name() -> None:
    """Classes 2 and 1 of a classifier whose labels do not count from 0."""
    assert columns_like(("2", "1"), ("1", "2"), "m", 2, 2).tolist() == [1, 0]


@pytest.mark.parametrize(("labels", "classes", "expected"), [
    (["unsafe", "Safe", "unsafe"], ("safe", "unsafe"), [1, 0, 1]),
    (["1", "0", "1.0"], ("safe", "unsafe"), [1, 0, 1]),
    (["1", "0"], None, [1, 0]),
    (["1", "2", "2.0"], ("1", "2"), [0, 1, 1]),
    (["1", "0"], ("1", "0"), [0, 1]),
    (["label_1"], ("LABEL_0", "LABEL_1"), [1]),
])
def test_labels_by_name_or_by_number(labels: list[str], classes: tuple[str, ...] | None, expected: list[int]) -> None:
    assert class_codes(labels, classes, 2, "f").tolist() == expected


@pytest.mark.parametrize(("labels", "classes", "message"), [
    (["safe", "1"], ("safe", "unsafe"), "1 of 2 texts; expected a whole number from 0 to 1, or one of safe, unsafe"),
    (["harmful", "safe"], ("safe", "unsafe"), "for 1 of 2"),
    (["harmful", "harmful"], None, "for 2 of 2"),
    (["2", "0"], ("safe", "unsafe"), "for 1 of 2"),
    (["-1"], None, "expected a whole number from 0 to 1$"),
    (["unsafe"], ("LABEL_0", "LABEL_1"), "expected a whole number from 0 to 1$"),
])
def test_labels_outside_the_classes(labels: list[str], classes: tuple[str, ...] | None, message: str) -> None:
    with pytest.raises(InputError, match=f"^f: 'label' is outside .*{message}") as caught:
        class_codes(labels, classes, 2, "f")
    assert "harmful" not in str(caught.value)
