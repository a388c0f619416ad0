
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.inputs.splits import PAPER_SIZES, SIDES, Split, halves, rounded_shares, split_texts

SMALL = st.dictionaries(st.sampled_from(SIDES), st.integers(0, 12), min_size=1)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def check_sides(split: Split, n: int, groups: IntArray | None = None) -> None:
    """What holds of every split: rows of the table, each once, rising; groups on one side or on none."""
    parts = [*split.sides.values(), split.planted]
    rows = np.concatenate(parts)
    assert tuple(split.sides) == SIDES
    assert np.unique(rows).size == rows.size
    assert rows.size == 0 or (rows.min() >= 0 and rows.max() < n)
    assert all(part.dtype == np.int64 and (np.diff(part) > 0).all() for part in parts)
    if groups is not None:
        held = [set(groups[part].tolist()) for part in parts]
        assert sum(map(len, held)) == len(set().union(*held))
        assert len(held[-1]) == split.planted.size


def counts(labels: IntArray, rows: IntArray, k: int) -> list[int]:
    return [int(number) for number in np.bincount(labels[rows], minlength=k)]


@given(st.lists(st.integers(0, 2), min_size=60, max_size=250), SMALL, st.integers(0, 10), st.integers(0, 99),
       st.booleans())
def test_without_groups_sizes_and_strata_are_exact(given_labels: list[int], sizes: dict[str, int], planted: int,
                                                   seed: int, balance: bool) -> None:
    labels = np.array([0, 1, 2, *given_labels])
    have = np.bincount(labels)
    supply = np.full(3, have.min()) if balance else have
    assume(sum(sizes.values()) + planted <= supply.sum())
    try:
        split = split_texts(labels, None, sizes, rng(seed), balance=balance, planted=planted)
    except InputError:
        # Only a class whose share of some side is less than one row is refused here.
        asked = [size for size in (*sizes.values(), planted) if size >= 3]
        assert not balance
        assert min(asked) * have.min() < have.sum()
        return
    check_sides(split, labels.size)
    for side, rows in [*split.sides.items(), ("planted", split.planted)]:
        size = planted if side == "planted" else sizes.get(side, 0)
        assert rows.size == size
        share = supply / supply.sum() * size
        assert (np.abs(np.array(counts(labels, rows, 3)) - share) < 1 - 1e-9).all()
    assert len(split.notes) == 1


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9)), min_size=80, max_size=200), SMALL,
       st.integers(0, 4), st.integers(0, 99))
def test_with_groups_classes_are_balanced_and_groups_whole(table: list[tuple[int, int]], sizes: dict[str, int],
                                                           planted: int, seed: int) -> None:
    labels, groups = np.array([label for label, _ in table]), np.array([group for _, group in table])
    try:
        split = split_texts(labels, groups, sizes, rng(seed), planted=planted)
    except InputError:
        return
    check_sides(split, labels.size, groups)
    short = [side for side in SIDES if split.sides[side].size < sizes.get(side, 0)]
    for side, rows in split.sides.items():
        assert rows.size <= sizes.get(side, 0)
        assert np.ptp(counts(labels, rows, 2)) <= 1
    assert len(split.notes) == 1 + len(short)
    assert all(any(repr(side) in note for note in split.notes) for side in short)


def test_groups_that_can_fill_every_side_do() -> None:
    generator = rng(3)
    labels = generator.integers(0, 2, 3000)
    groups = np.where(np.arange(3000) < 900, generator.integers(0, 30, 3000), np.arange(3000) + 30)
    sizes = {"a": 600, "b": 600, "val": 200, "cal": 300, "eval": 600}
    split = split_texts(labels, groups, sizes, rng(1))
    check_sides(split, 3000, groups)
    assert {side: rows.size for side, rows in split.sides.items() if rows.size} == sizes
    assert all(counts(labels, split.sides[side], 2) == [size // 2] * 2 for side, size in sizes.items())
    # Nearly no row of a group of many is lost where there is room.
    used = np.isin(np.arange(900), np.concatenate(list(split.sides.values()))).mean()
    assert used > 0.7


@pytest.mark.parametrize("seed", range(15))
def test_large_groups_go_first_and_where_they_fit(seed: int) -> None:
    # One group of 20, ten of 2, four rows alone, with as much of each class; the first fits on two sides only.
    labels = np.arange(44) % 2
    groups = np.concatenate([np.zeros(20), np.repeat(np.arange(1, 11), 2), np.arange(11, 15)])
    split = split_texts(labels, groups, {"a": 20, "b": 20, "val": 4}, rng(seed))
    assert [split.sides[side].size for side in ("a", "b", "val")] == [20, 20, 4]


def test_what_is_left_out_is_drawn() -> None:
    labels, groups = np.repeat([0, 1], [20, 8]), np.append(np.arange(20) // 10, np.arange(2, 10))
    for groups_given in (None, groups):
        used = np.zeros(28, dtype=int)
        for seed in range(60):
            split = split_texts(labels, groups_given, {"a": 8, "b": 8}, rng(seed))
            used[np.concatenate(list(split.sides.values()))] += 1
        assert used[20:].tolist() == [60] * 8
        # Each of 20 rows is among 8 that are used: Binomial(60, .4), beyond 9 or 40 less than once in ten thousand.
        assert used[:20].min() > 9
        assert used[:20].max() < 40


def test_a_side_is_cut_to_the_class_it_has_least_of() -> None:
    labels = np.repeat([0, 1, 0, 1], [20, 20, 9, 3])
    groups = np.repeat([0, 1, 2], [20, 20, 12])
    split = split_texts(labels, groups, {"a": 24}, rng())
    check_sides(split, 52, groups)
    assert counts(labels, split.sides["a"], 2) == [12, 12]
    mixed = split_texts(labels[40:], groups[40:], {"a": 6}, rng())
    assert counts(labels[40:], mixed.sides["a"], 2) == [3, 3]
    two = split_texts(np.repeat([0, 1, 0, 1], [9, 3, 3, 9]), np.repeat([0, 1], 12), {"a": 12, "b": 12}, rng())
    assert [two.sides[side].size for side in ("a", "b")] == [6, 6]
    assert two.notes[1:] == tuple(f"set {side!r} has 6 rows of 12: groups stay whole" for side in "ab")
    kept = split_texts(np.repeat([0, 1, 0, 1], [9, 3, 3, 9]), np.repeat([0, 1], 12), {"a": 12, "b": 12}, rng(),
                       balance=False)
    assert [kept.sides[side].size for side in ("a", "b")] == [9, 9]


def test_default_sizes_are_the_papers_scaled() -> None:
    labels = np.arange(13000) % 2
    split = split_texts(labels, None, None, rng())
    assert {side: rows.size for side, rows in split.sides.items()} == PAPER_SIZES
    assert len(split.notes) == 1
    split = split_texts(np.arange(6000) % 3, None, None, rng(), planted=30)
    # 5,970 of 12,000: every side is .4975 of the paper's, down to a multiple of 3.
    assert {side: rows.size for side, rows in split.sides.items()} == {
        "a": 993, "b": 993, "val": 396, "cal": 597, "eval": 993, "neutral": 993, "control": 993}
    assert split.planted.size == 30
    assert "scaled to 0.496 of the paper's" in split.notes[1]


def test_default_sizes_shrink_until_groups_fit() -> None:
    # One user holds half of class 1: sides of the size that rows alone allow cannot be filled.
    labels = np.repeat([0, 1], [2400, 1200])
    groups = np.where(np.arange(3600) >= 3000, 0, np.arange(3600) + 1)
    split = split_texts(labels, groups, None, rng(2))
    check_sides(split, 3600, groups)
    sizes = [split.sides[side].size for side in ("a", "b", "eval", "neutral", "control")]
    assert len(set(sizes)) == 1
    assert 150 < sizes[0] < 400
    assert not any("groups stay whole" in note for note in split.notes)


def test_one_side_is_as_likely_as_another_of_its_size() -> None:
    labels = np.arange(60) % 2
    groups = np.where(np.arange(60) < 12, 0, np.arange(60))
    where: Counter[str] = Counter()
    for seed in range(200):
        split = split_texts(labels, groups, {"a": 14, "b": 14, "eval": 14}, rng(seed))
        where.update(side for side, rows in split.sides.items() if (groups[rows] == 0).any())
    assert sum(where.values()) == 200
    # Binomial(200, 1/3): below 45 or above 90 less than once in a thousand.
    assert all(45 <= where[side] <= 90 for side in ("a", "b", "eval"))


def test_groups_may_be_names_and_planted_records_have_their_own() -> None:
    labels = np.arange(90) % 2
    names = np.array([f"user {place // 2}" for place in range(90)])
    split = split_texts(labels, names, {"a": 20, "b": 20}, rng(), planted=8)
    check_sides(split, 90, np.unique(names, return_inverse=True)[1])
    assert counts(labels, split.planted, 2) == [4, 4]
    assert split.sides["a"].size == split.sides["b"].size == 20
    # The generator decides.
    again, other = (split_texts(labels, names, {"a": 20, "b": 20}, rng(seed), planted=8) for seed in (0, 1))
    assert again.sides["a"].tolist() == split.sides["a"].tolist() != other.sides["a"].tolist()


@pytest.mark.parametrize(("labels", "sizes", "options", "message"), [
    ([0] * 50 + [1] * 5, {"a": 12}, {}, r"class 1 has 5 examples and 6 are needed \(the sets take 12 rows in 2"),
    ([0] * 50 + [1] * 5, {"a": 4, "b": 4}, {"planted": 4, "names": ["safe", "unsafe"]},
     "class 'unsafe' has 5 examples and 6 are needed"),
    ([0] * 50 + [1] * 9, None, {}, r"class 1 has 9 examples and 15 are needed \(the smallest set needs one of each"),
    ([0] * 50 + [1] * 17, None, {"planted": 5}, "class 1 has 17 examples and 18 are needed"),
    ([0] * 50 + [2] * 50, {"a": 3}, {}, "class 1 has 0 examples and 1 are needed"),
    ([0] * 50 + [1] * 50, {"a": 3}, {"names": ["x", "y", "z"]}, "class 'z' has 0 examples and 1 are needed"),
    ([0] * 98 + [1] * 2, {"a": 10, "b": 10}, {"balance": False},
     r"class 1 has 2 examples and 10 are needed \(its share of a set is less than one row\)"),
    ([0] * 50 + [1] * 2, {"a": 60}, {"balance": False}, "class 1 has 2 examples and 30 are needed"),
])
def test_too_few_examples(labels: list[int], sizes: Mapping[str, int] | None, options: dict[str, Any], message: str
                          ) -> None:
    with pytest.raises(InputError, match=message) as caught:
        split_texts(labels, None, sizes, rng(), **options)
    assert "\n" not in str(caught.value)
    if np.max(labels) == 1 and options.get("balance", True) and len(options.get("names", "ab")) == 2:
        # The number in the message suffices.
        enough = int(str(caught.value).split(" are needed")[0].split()[-1])
        split_texts([0] * 50 + [1] * enough, None, sizes, rng(), **options)


def test_too_few_groups() -> None:
    labels, groups = np.arange(40) % 2, np.zeros(40, dtype=int)
    with pytest.raises(InputError, match=r"set '(a|b)' got 0 examples of class 0 and at least 1 is needed: groups"):
        split_texts(labels, groups, {"a": 10, "b": 10}, rng())
    with pytest.raises(InputError, match="class 0 has 1 group to plant records of and 2 are needed"):
        split_texts(labels, groups, {}, rng(), planted=4)


@pytest.mark.parametrize(("labels", "groups", "options", "message"), [
    ([0.5, 1], None, {}, "expected .n,. class numbers from 0"), ([-1, 1], None, {}, "class numbers"),
    ([], None, {}, "class numbers"), ([[0], [1]], None, {}, "class numbers"),
    ([0, 1], [1], {}, "groups have shape"), ([0, 1], None, {"sizes": {"test": 1}}, "there is no side 'test'"),
    ([0, 1], None, {"sizes": {"planted": 1}}, "there is no side 'planted'"),
    ([0, 1], None, {"sizes": {"a": -1}}, "the size of 'a' is -1"), ([0, 1], None, {"planted": -1}, "'planted' is -1"),
    ([0, 1, 2], None, {"names": ["x"]}, "names holds 1 names: expected one for each of 3 classes"),
])
def test_mistakes(labels: Any, groups: Any, options: dict[str, Any], message: str) -> None:
    sizes = options.pop("sizes", {"a": 2})
    with pytest.raises(ValueError, match=message):
        split_texts(labels, groups, sizes, rng(), **options)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 15)), min_size=4, max_size=80), st.integers(0, 99),
       st.booleans())
def test_halves(table: list[tuple[int, int]], seed: int, grouped: bool) -> None:
    labels, groups = np.array([label for label, _ in table]), np.array([group for _, group in table])
    rows = np.flatnonzero(rng(seed).random(labels.size) < 0.8)
    assume(rows.size > 1 and (not grouped or np.unique(groups[rows]).size > 1))
    try:
        one, two = halves(rows, labels, groups if grouped else None, rng(seed))
    except InputError:
        assert grouped
        return
    assert np.sort(np.concatenate([one, two])).tolist() == rows.tolist()
    assert (np.diff(one) > 0).all()
    assert (np.diff(two) > 0).all()
    if grouped:
        assert not set(groups[one]) & set(groups[two])
    else:
        assert one.size - two.size in (0, 1)
        assert np.abs(np.array(counts(labels, one, 3)) - np.array(counts(labels, two, 3))).max() <= 1


def test_halves_of_a_sorted_side_hold_both_classes() -> None:
    labels = np.repeat([0, 1], 40)
    one, two = halves(np.arange(80), labels, np.arange(80) // 4, rng())
    assert counts(labels, one, 2) == counts(labels, two, 2) == [20, 20]
    with pytest.raises(InputError, match="80 rows in 1 groups cannot be halved"):
        halves(np.arange(80), labels, np.zeros(80), rng())


@given(st.lists(st.integers(0, 60), min_size=1, max_size=7), st.lists(st.integers(0, 90), min_size=1, max_size=6),
       st.booleans())
def test_cells_are_next_to_their_shares_and_sums_hold(sizes: list[int], supply: list[int], used_up: bool) -> None:
    rest = sum(supply) - sum(sizes)
    if rest < 0:
        with pytest.raises(ValueError, match="expected no more than"):
            rounded_shares(np.array(sizes), np.array(supply))
        return
    if used_up:
        sizes = [*sizes, rest]
    exact = np.outer(sizes, supply) / max(sum(supply), 1)
    found = rounded_shares(np.array(sizes), np.array(supply))
    assert (found[exact == exact.round()] == exact[exact == exact.round()]).all()
    assert found.sum(axis=1).tolist() == sizes
    assert (found.sum(axis=0) <= supply).all()
    if used_up:
        assert found.sum(axis=0).tolist() == supply
    assert (np.abs(found - exact) < 1 - 1e-9).all()
