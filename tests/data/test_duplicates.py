from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InputError
from discreet.data.duplicates import find_duplicates, merged_groups, near_groups, without_duplicates
from discreet.data.texts import LabelledText

LONG = "one two three four five six seven eight nine ten eleven twelve"


def rows_of(*pairs: tuple[str, str], groups: tuple[str | None, ...] = ()) -> list[LabelledText]:
    groups = groups or (None,) * len(pairs)
    return [LabelledText(str(number), text, label, group)
            for number, ((text, label), group) in enumerate(zip(pairs, groups, strict=True))]


ROWS = rows_of(("A b", "0"), ("c", "0"), ("a  B", "0"), ("c", "1"), ("d", "1"), ("a b", "0"), ("C", "0"), ("e", "1"),
               ("e", "2"))


def test_what_is_dropped_and_kept() -> None:
    kept, found = without_duplicates(ROWS)
    assert [row.id for row in kept] == ["0", "4"]
    assert found.repeated.tolist() == [2, 5]
    assert found.conflicting.tolist() == [1, 3, 6, 7, 8]
    assert found.dropped.tolist() == [1, 2, 3, 5, 6, 7, 8]
    assert found.to_json() == {"rows": 9, "kept": 2, "repeated_rows": 2, "conflicting_rows": 5,
                               "conflicting_texts": 2, "near_clusters": None, "near_rows": None}
    assert str(found) == ("2 of 9 rows are kept; 2 repeat an earlier text; 5 rows of 2 texts have two labels")


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("01")), min_size=1, max_size=25))
def test_first_of_every_text_with_one_label(pairs: list[tuple[str, str]]) -> None:
    labels: dict[str, set[str]] = defaultdict(set)
    for text, label in pairs:
        labels[text].add(label)
    expected = [str(number) for number, (text, _) in enumerate(pairs)
                if len(labels[text]) == 1 and text not in [other for other, _ in pairs[:number]]]
    if not expected:
        with pytest.raises(InputError, match=f"all {len(pairs)} rows have texts that stand in the table with two"):
            without_duplicates(rows_of(*pairs))
        return
    kept, found = without_duplicates(rows_of(*pairs))
    assert [row.id for row in kept] == expected
    assert found.n_conflicting == sum(len(said) > 1 for said in labels.values())
    assert without_duplicates(kept)[1].dropped.size == 0


def test_nearly_the_same() -> None:
    rows = rows_of((LONG, "0"), ("other", "0"), (f"{LONG}!", "0"), (f"{LONG} z", "1"), (LONG, "0"), (f"{LONG} x", "0"),
                   (f"{LONG} x", "1"))
    kept, found = without_duplicates(rows, near=True)
    assert [row.id for row in kept] == ["0", "1", "2", "3"]
    assert found.near is not None
    assert [cluster.tolist() for cluster in found.near] == [[0, 2, 3]]
    assert found.to_json()["near_clusters"] == 1
    assert found.to_json()["near_rows"] == 3
    assert str(found).endswith("3 rows in 1 clusters are nearly the same")


def test_no_text_in_what_is_reported() -> None:
    found = find_duplicates(rows_of(("secret words", "0"), ("secret words", "1")), near=True)
    assert "secret" not in repr(found) + str(found) + json.dumps(found.to_json())
    assert find_duplicates([]).n == 0


def test_groups_of_users_and_of_near_texts_are_one() -> None:
    rows = rows_of((LONG, "0"), ("b", "0"), ("c", "0"), (f"{LONG} z", "0"), ("d", "0"), ("e", "1"), ("b", "0"),
                   groups=("u", "u", "v", "v", None, None, None))
    # u and v are joined by a text of each; the text of row 6 by row 1.
    assert near_groups(rows).tolist() == [0, 0, 0, 0, 1, 2, 0]
    assert near_groups(rows, groups=np.array([7, 8, 9, 9, 5, 5, 4])).tolist() == [0, 1, 0, 0, 2, 2, 1]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=15))
def test_merged_groups_is_the_finest_that_keeps_all_together(codes: list[tuple[int, int, int]]) -> None:
    n = len(codes)
    linked = np.array([[any(a == b for a, b in zip(one, two, strict=True)) for two in codes] for one in codes])
    reached = np.linalg.matrix_power(linked.astype(float), n) > 0
    found = merged_groups(*np.array(codes).T)
    assert ((found[:, None] == found) == reached).all()
    assert found.max() == np.unique(found).size - 1


def test_merged_groups_takes_names_and_refuses_other_shapes() -> None:
    assert merged_groups(["x", "y", "x"], [1, 2, 3]).tolist() == [0, 1, 0]
    for wrong in ([], [[1, 2], [1]], [[[1]]]):
        with pytest.raises(ValueError, match="expected one shape"):
            merged_groups(*wrong)
