"""Evaluation sets of an experiment: disjoint, balanced, planted records halved, users whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.experiments.membership.made_up import experiment_on, write_rows

from discreet.audit.experiments.membership.assign import (
    NUMBERS,
    SCORED,
    assign,
    planted_rows,
    records_to_plant,
    training_rows,
)
from discreet.core.errors import InputError, UsageError
from discreet.inputs.texts import LabelledText, read_texts

ASKED: dict[str, Any] = {"sizes": {}, "planted": [1, 4], "near": False, "balance": True}
ROLES = ("a", "b", "selector", "neutral", "control", "val")


def assigned(path: Path, seed: int = 0, **params: Any) -> tuple[list[LabelledText], dict[str, Any]]:
    rows = read_texts(path)
    return rows, assign(rows, {**ASKED, **params}, np.random.default_rng(seed), path.name)


def test_no_row_trains_two_models_of_different_sides(tmp_path: Path) -> None:
    rows, found = assigned(write_rows(tmp_path / "d.jsonl"))
    sides = [set(training_rows(found, role).tolist()) for role in ROLES] + [
        set(found["eval"].tolist()), set(found["aside"].tolist())]
    assert sum(map(len, sides)) == len(set().union(*sides))
    assert all(sides)
    for role in ("a", "b", "neutral", "control"):
        labels = [rows[row].label for row in found[role]]
        assert labels.count("safe") == labels.count("unsafe")


def test_classes_keep_their_shares_unless_they_are_balanced(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", 2000)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line for k, line in enumerate(lines) if '"safe"' in line or k % 20 == 1) + "\n",
                    encoding="utf-8")
    rows, found = assigned(path, balance=False, planted=[])
    whole = [row.label for row in rows].count("unsafe") / len(rows)
    assert whole < 0.1
    for role in ("a", "b", "neutral", "control"):
        labels = [rows[row].label for row in found[role]]
        assert abs(labels.count("unsafe") / len(labels) - whole) <= 1 / len(labels)
    assert found["sides"]["a"] > 5 * assigned(path, planted=[])[1]["sides"]["a"]


def test_labels_of_two_kinds_are_said(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", 900)
    assert not any("labels are numbers" in note for note in assigned(path, planted=[])[1]["notes"])
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.replace('"unsafe"', "1") if k % 4 == 1 else line for k, line in enumerate(lines)),
                    encoding="utf-8")
    _, found = assigned(path, planted=[])
    assert "labels are numbers in some rows (1) and words in others, and count as 3 classes" in found["notes"][0]


def test_planted_records_stand_on_one_side_as_often_as_asked(tmp_path: Path) -> None:
    _, found = assigned(write_rows(tmp_path / "d.jsonl", 1400))
    pool, times = found[SCORED][found["times"] > 0], found["times"][found["times"] > 0]
    counts = {role: np.bincount(training_rows(found, role), minlength=1400)[pool] for role in ("a", "b")}
    np.testing.assert_array_equal(np.where(counts["a"] > 0, counts["a"], counts["b"]), times)
    assert not ((counts["a"] > 0) & (counts["b"] > 0)).any()
    assert np.unique(times).tolist() == [1, 4]
    assert found["planted"] == {str(one): int((times == one).sum()) // 2 for one in (1, 4)}


def test_half_of_the_planted_records_of_each_kind_and_class_train_a(tmp_path: Path) -> None:
    path, first = write_rows(tmp_path / "d.jsonl", 1400), []
    for seed in range(5):
        rows, found = assigned(path, seed)
        each = next(iter(found["planted"].values()))
        for times in (1, 4):
            pool = found[SCORED][found["times"] == times]
            in_a = pool[found["in_a"][pool] > 0]
            assert (in_a.size, pool.size) == (each, 2 * each)
            assert abs(2 * sum(rows[row].label == "safe" for row in in_a) - each) <= 2
        first.append(tuple(np.flatnonzero(found["in_a"])))
    assert len(set(first)) == 5


def test_small_data_are_not_swamped(tmp_path: Path) -> None:
    _, found = assigned(write_rows(tmp_path / "d.jsonl", 1400), planted=[1, 4, 16])
    size = found["sides"]["a"]
    assert 200 < size < 240
    assert found["planted"] == {"1": size // 20, "4": size // 20}
    for role in ("a", "b"):
        assert training_rows(found, role).size <= 1.25 * size
    said = " ".join(found["notes"])
    assert "no records were planted 16 times: 10 of each number of repetitions are needed" in said
    assert "classes are balanced and 'safe' has 700" in said
    assert "where 0.8 was aimed at" in said
    # Nor where groups leave a set short.
    path = write_rows(tmp_path / "g.jsonl", 1500, users=120)
    for seed in range(3):
        _, found = assigned(path, seed)
        assert found["planted"]
        for role in ("a", "b"):
            planted = training_rows(found, role).size - found[role].size
            assert 10 <= planted <= 0.25 * min(found["a"].size, found["b"].size)


def test_sets_that_are_not_named_follow_a_and_no_room_for_a_control_is_said(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl")
    _, found = assigned(path, sizes={"a": 40, "eval": 100}, planted=[])
    assert found["sides"] == {"a": 40, "b": 40, "val": 16, "cal": 24, "eval": 100, "neutral": 40, "control": 40}
    _, found = assigned(path, sizes={"a": 36}, planted=[1, 4, 16])
    assert (found["planted"], found["times"].any()) == ({}, False)
    assert found["notes"][-1].endswith("so no model can pass")
    assert assigned(path, sizes={"a": 40, "val": 0}, planted=[])[1]["val"].size == 0


def test_a_user_stands_on_one_side(tmp_path: Path) -> None:
    rows, found = assigned(write_rows(tmp_path / "d.jsonl", 900, users=250))
    assert found["grouped"]
    side_of: dict[str | None, set[str]] = {}
    for role in (*ROLES, "eval", "aside"):
        for row in training_rows(found, role):
            side_of.setdefault(rows[row].group, set()).add(role)
    assert max(map(len, side_of.values())) == 1


def test_duplicates_and_conflicting_labels_are_left_out(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl")
    first, second = read_texts(path)[:2]
    lines = [f'{{"id": "twin", "text": "{first.text.upper()}", "label": "{first.label}"}}',
             f'{{"id": "clash", "text": "{second.text}", "label": "{first.label}"}}']
    path.write_text(path.read_text() + "\n".join(lines) + "\n")
    rows, found = assigned(path, near=True)
    used = {rows[row].id for role in (*ROLES, "eval", "aside") for row in training_rows(found, role)}
    assert not used & {"twin", "clash", second.id}
    assert found["duplicates"]


def test_near_duplicates_stand_together_unless_allowed(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for number in range(400):
        body = " ".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 40))
        rows += [LabelledText(f"{number}-{one}", f"{body} {one}", str(number % 2)) for one in ("x", "y")]

    def apart(near: bool) -> int:
        found = assign(rows, {"sizes": {}, "planted": [], "near": near, "balance": True}, np.random.default_rng(0), "f")
        side = np.full(len(rows), -1)
        for place, role in enumerate((*ROLES, "eval", "aside")):
            side[training_rows(found, role)] = place
        pairs = side.reshape(-1, 2)
        return int((pairs[(pairs >= 0).all(axis=1)][:, 0] != pairs[(pairs >= 0).all(axis=1)][:, 1]).sum())

    assert apart(True) == 0
    assert apart(False) > 50


@pytest.mark.parametrize(("sizes", "message"), [
    ({"a": 9000}, "class 'safe' has 300 examples"), ({"a": 1}, "set 'a' has 1 example, and none of class "),
    ({"a": 40, "cal": 2}, "set 'cal', halved, has 1 example, and none of class ")])
def test_what_cannot_be_assigned_is_one_line(tmp_path: Path, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as error:
        assigned(write_rows(tmp_path / "d.jsonl"), sizes=sizes, planted=[])
    assert str(error.value).startswith("d.jsonl: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("sizes", "message"), [
    ({"b": 9}, "sizes name b without a; expected the size of a"), ({"q": 9}, "sizes name a set 'q'; expected"),
    ({"a": 0}, "the size of a is 0; expected at least one example of each class"),
    ({"a": 40, "control": 0}, "the size of control is 0")])
def test_sizes_that_cannot_be_are_no_fault_of_the_file(tmp_path: Path, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        experiment_on(write_rows(tmp_path / "d.jsonl"), "tfidf-linear", sizes=sizes)
    assert experiment_on(tmp_path / "d.jsonl", "tfidf-linear", sizes={"a": 40, "val": 0}).sizes["val"] == 0


def test_labels_that_are_ids_are_named_as_such() -> None:
    rows = [LabelledText(str(n), f"text {n} of {7 * n}", f"case-{n}") for n in range(90)]
    with pytest.raises(InputError, match=r"one of 90 classes, has 1 example and .* see that the labels are classes"):
        assign(rows, ASKED, np.random.default_rng(0), "d")


def several(conflicting: int) -> list[LabelledText]:
    """300 rows, the first so many of which come in pairs with one text and two labels."""
    twins = [LabelledText(f"r{i}", f"text {i // 2} of {i // 2} things", ("no", "yes")[i % 2])
             for i in range(conflicting)]
    return twins + [LabelledText(f"s{i}", f"other text {i}, about {7 * i}", "no") for i in range(300 - conflicting)]


@pytest.mark.parametrize(("rows", "said"), [
    ([LabelledText(str(n), f"text {n}", "safe") for n in range(50)], "all 50 rows have one label"),
    ([LabelledText(str(n), f"text {n}", str(n % 2), group="u" if n < 9 else None) for n in range(50)],
     "41 of 50 rows have no group"),
    *((several(n), f"no example of class '{name}' is left: the texts of {n} of 300 rows have several labels, and such "
       "rows are left out; give each text one label$") for n, name in ((300, "no"), (200, "yes")))])
@pytest.mark.parametrize("near", [True, False])
def test_labels_and_groups_that_do_not_do_are_refused(rows: list[LabelledText], said: str, near: bool) -> None:
    with pytest.raises(InputError, match=f"^d: .*{said}"):
        assign(rows, {**ASKED, "near": near}, np.random.default_rng(0), "d")


def test_planted_records_are_enough_for_a_leak_to_be_seen() -> None:
    assert records_to_plant((1, 4, 16), 2000) == {1: 23, 4: 23, 16: 23}
    assert records_to_plant((1, 4, 16), 20000) == {1: 23, 4: 23, 16: 23}
    assert records_to_plant((16, 4, 1), 1000) == {1: 11, 4: 11, 16: 11}
    assert records_to_plant((1, 4, 16), 839) == {1: 23, 4: 23}
    assert records_to_plant((1, 4, 16), 218) == {1: 10, 4: 10}
    assert records_to_plant((1, 4, 16), 199) == {1: 24}
    assert records_to_plant((16,), 639) == records_to_plant((), 2000) == {}
    for size in range(2500):
        planted = records_to_plant((1, 4, 16), size)
        assert planted_rows(planted) <= size / 4
        assert all(number >= 10 for number in planted.values())


def test_rows_in_another_order_are_assigned_alike(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", 700, users=300)
    twins = [f'{{"id": "{row.id}twin", "text": "{row.text}", "label": "{row.label}", "group": "{row.group}"}}'
             for row in read_texts(path)[:20]]
    lines = path.read_text().splitlines() + twins
    found = []
    for order in (np.arange(len(lines)), np.random.default_rng(1).permutation(len(lines))):
        path.write_text("\n".join(lines[row] for row in order) + "\n")
        rows, one = assigned(path, near=True)
        said: dict[str, Any] = {name: [rows[row].id for row in one[name]] for name in NUMBERS}
        said["in_a"] = {rows[row].id for row in np.flatnonzero(one["in_a"])}
        groups = one["unit"][one["unit"] >= 0]
        said["unit"] = dict(zip([rows[row].id for row in np.flatnonzero(one["unit"] >= 0)], groups, strict=True))
        found.append({**said, "times": one["times"].tolist(), "counts": one["duplicates"], "notes": one["notes"]})
    assert found[0] == found[1]
    assert found[0]["in_a"]
