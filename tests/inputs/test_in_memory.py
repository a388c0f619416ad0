from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from tests.heavy import need

from discreet.core.errors import InputError
from discreet.inputs.in_memory import feature_rows, input_keys, read_records, stacked_records, taken

TEXTS = ["one river", "two breads", "three forms"]
LABELS = ["a", "b", "a"]
NUMBERS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
TABLE: dict[str, list[Any]] = {"text": TEXTS, "label": LABELS, "group": [7, 7, 8], "category": ["x|y", "", "y"]}


class Polars:
    """What polars offers, where it is not installed: a frame of columns without pandas' `iloc`."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.held = columns

    @property
    def columns(self) -> list[str]:
        return list(self.held)

    @property
    def shape(self) -> tuple[int, int]:
        return len(next(iter(self.held.values()))), len(self.held)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.held[key]
        if isinstance(key, list):
            return Polars({name: self.held[name] for name in key})
        return Polars({name: [values[row] for row in key] for name, values in self.held.items()})

    def iter_rows(self) -> Any:
        return zip(*self.held.values(), strict=True)

    def to_dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.held, row, strict=True)) for row in self.iter_rows()]

    def vstack(self, other: Polars) -> Polars:
        return Polars({name: values + other.held[name] for name, values in self.held.items()})


@pytest.mark.parametrize("form", ["mapping", "pandas", "rows", "datasets", "polars"])
def test_tables_of_texts_are_read_alike(form: str) -> None:
    rows = [dict(zip(TABLE, values, strict=True)) for values in zip(*TABLE.values(), strict=True)]
    forms: dict[str, Callable[[], Any]] = {
        "mapping": lambda: TABLE, "pandas": lambda: pd.DataFrame(TABLE), "rows": lambda: rows,
        "datasets": lambda: need("datasets").Dataset.from_dict(dict(TABLE)), "polars": lambda: Polars(TABLE)}
    found = read_records(forms[form](), "members")
    assert found.inputs == TEXTS
    assert found.texts
    assert found.labels.tolist() == LABELS
    assert found.groups is not None
    assert found.groups.tolist() == ["7", "7", "8"]
    assert found.categories == (frozenset("xy"), frozenset(), frozenset("y"))


def test_real_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0, 1.0], "b": ["x", "y", "x"], "label": LABELS})
    found = read_records(frame, "members")
    assert found.inputs.columns == ["a", "b"]
    first, _, third = input_keys(found.inputs)
    assert first == third
    both = stacked_records([found, found.take(np.array([2]))])
    assert (both.inputs.shape, both.labels.tolist()) == ((4, 2), [*LABELS, "a"])
    assert feature_rows(both.inputs) == [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}, *2 * [{"a": 1.0, "b": "x"}]]
    assert read_records((polars.Series(TEXTS), polars.Series(LABELS)), "members").inputs == TEXTS


@pytest.mark.parametrize("given", [
    TEXTS, np.array(TEXTS), np.array(TEXTS, dtype=object), pd.Series(TEXTS), tuple(TEXTS)])
def test_texts_with_labels(given: Any) -> None:
    found = read_records((given, np.array([0, 1, 0])), "members")
    assert (found.inputs, found.labels.tolist(), found.groups) == (TEXTS, [0, 1, 0], None)


@pytest.mark.parametrize("given", [NUMBERS, NUMBERS.tolist(), csr_matrix(NUMBERS), pd.DataFrame(NUMBERS),
                                   Polars({"a": [1.0, 3.0, 5.0], "b": [2.0, 4.0, 6.0]})])
def test_numbers_are_taken_stacked_and_compared_by_row(given: Any) -> None:
    one = read_records((given, LABELS, ["u", "v", "u"]), "members")
    both = stacked_records([one, one.take(np.array([2, 0]))])
    assert len(both) == 5
    assert both.labels.tolist() == ["a", "b", "a", "a", "a"]
    assert both.groups is not None
    assert both.groups.tolist() == ["u", "v", "u", "u", "u"]
    keys = input_keys(both.inputs)
    assert (keys[3], keys[4]) == (keys[2], keys[0])
    assert len(set(keys)) == 3
    assert input_keys(taken(both.inputs, np.array([3]))) == [keys[2]]


def test_a_frame_without_texts_keeps_its_features() -> None:
    frame = pd.DataFrame({"id": [1, 2], "age": [30, 40], "town": ["Ely", "Rye"], "kind": ["n", "y"], "group": [1, 2]})
    found = read_records(frame, "members", label="kind")
    assert list(found.inputs.columns) == ["age", "town"]
    assert feature_rows(found.inputs) == [{"age": 30, "town": "Ely"}, {"age": 40, "town": "Rye"}]
    assert not found.texts


def test_class_labels_of_datasets_have_names() -> None:
    datasets = need("datasets")
    label = datasets.ClassLabel(names=["safe", "toxic"])
    features = datasets.Features({"text": datasets.Value("string"), "label": label})
    given = datasets.Dataset.from_dict({"text": TEXTS, "label": [0, 1, 1]}, features=features)
    assert read_records(given, "members").classes == ("safe", "toxic")
    numbers = read_records(datasets.Dataset.from_dict({"a": [1, 2], "label": [0, 1]}), "members")
    assert numbers.inputs["a"].tolist() == [1, 2]


def test_texts_are_one_up_to_case_and_white_space() -> None:
    keys = input_keys(["One  river", "one river ", "two"])
    assert keys[0] == keys[1] != keys[2]


def test_sparse_rows_are_one_whatever_their_storage() -> None:
    stored = csr_matrix((np.array([2.0, 0.0, 1.0, 1.0]), np.array([1, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3))
    assert len(set(input_keys(stored))) == 1


@pytest.mark.parametrize(("given", "match"), [
    (7, "members: a int was given; expected"),
    (TEXTS, "members: a list was given"),
    ({"text": TEXTS}, "no column 'label' among 'text'"),
    ({"words": TEXTS, "label": LABELS}, "no column 'text' among 'words', 'label'; expected the texts there"),
    ((TEXTS, LABELS[:2]), "3 inputs and 2 labels"),
    ((TEXTS, LABELS, ["u"]), "3 inputs and 1 groups"),
    (([], []), "0 inputs and 0 labels"),
    ((TEXTS, ["a", None, float("nan")]), "2 of 3 labels are missing"),
    ((["one", 2], [0, 1]), "partly str and partly int"),
    (([1.0, 2.0], [0, 1]), r"the inputs have the shape \(2,\)"),
    ((TEXTS, "aba"), "labels are a str"),
])
def test_refused(given: Any, match: str) -> None:
    with pytest.raises(InputError, match=match) as refused:
        read_records(given, "members")
    assert not any(text in str(refused.value) for text in TEXTS)


@pytest.mark.parametrize(("one", "other", "match"), [
    ((TEXTS, LABELS), (NUMBERS, LABELS), "inputs are given as list and ndarray"),
    ((NUMBERS, LABELS), (NUMBERS[:, :1], LABELS), r"shapes \(1,\) and \(2,\)"),
    ((TEXTS, LABELS, LABELS), (TEXTS, LABELS), "groups are given for some"),
    ((pd.DataFrame({"a": [1], "b": [2]}), [0]), (pd.DataFrame({"a": [1], "c": [2]}), [0]), "different columns"),
])
def test_sets_of_different_forms_are_not_stacked(one: Any, other: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        stacked_records([read_records(one, "members"), read_records(other, "non_members")])


def test_records_keep_the_ids_that_they_have() -> None:
    def ids(given: Any, row: int) -> list[str] | None:
        found = read_records(given, "members").take(np.array([row])).ids
        return None if found is None else list(found)

    texts = {"text": ["one", "two"], "label": [0, 1]}
    assert ids({**texts, "id": [7, 9]}, 0) == ["7"]
    assert ids(pd.DataFrame(texts, index=["a", "b"]), 1) == ["b"]
    # Rows that are merely counted have no names.
    assert ids(pd.DataFrame(texts), 0) is None
    assert ids(texts, 0) is None


def test_a_column_of_texts_that_is_named_must_be_there() -> None:
    table = pd.DataFrame({"words": TEXTS, "label": LABELS})
    assert read_records(table, "members", text="words").inputs == TEXTS
    assert list(read_records(table, "members").inputs.columns) == ["words"]
    with pytest.raises(InputError, match="there is no column 'wrods' among 'words', 'label'; expected the texts"):
        read_records(table, "members", text="wrods")
