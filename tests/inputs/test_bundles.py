from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.core.errors import InputError
from discreet.inputs.bundles import Source, bundle, pool
from discreet.inputs.texts import LabelledText


def parts_of(row: LabelledText) -> list[int]:
    """The numbers of the conversations in an input, in order."""
    return [int(number) for number in re.findall(r"<\|user\|> text (\d+)", row.text)]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def conversation(number: int, label: str = "0", group: str | None = None, **more: Any) -> LabelledText:
    return LabelledText(f"c{number}", f"<|user|> text {number}\n<|assistant|> reply {number}", label, group,
                        structure="multi-turn", **more)


def many(n: int, group: str | None = None, label: str = "0", start: int = 0) -> list[LabelledText]:
    return [conversation(number, label, group) for number in range(start, start + n)]


KEYS = st.tuples(st.sampled_from("01"), st.sampled_from([None, None, "u", "v", "w"]))


@given(st.lists(KEYS, min_size=1, max_size=40), st.integers(2, 4), st.integers(0, 3), st.integers(0, 99))
def test_bundles_hold_each_conversation_once_in_order(keys: list[tuple[str, str | None]], low: int, more: int,
                                                      seed: int) -> None:
    rows = [conversation(number, label, group) for number, (label, group) in enumerate(keys)]
    found = bundle(rows, rng(seed), sizes=(low, low + more))
    inside = [number for row in found for number in parts_of(row)]
    assert len(set(inside)) == len(inside)
    for row in found:
        part = parts_of(row)
        among = [rows[place] for place in part]
        assert low <= len(part) <= low + more
        assert part == sorted(part)
        assert len({(one.label, one.group) for one in among}) == 1
        assert row.label == among[0].label
        assert row.group == (among[0].group or f"synthetic:{row.id}")
        assert row.text == "\n\n".join(one.text for one in among)
        assert row.structure == "multi-conversation"
        assert row.id == f"{among[0].id}+{len(part) - 1}"
    # Of a user's conversations of one label, at most what no sizes would use up is left.
    for key, there in Counter(keys).items():
        left = there - sum(keys[number] == key for number in inside)
        assert left < low or left == there
        assert left == 0 or there < low or more < low - 1
    assert len({row.id for row in found}) == len(found)


def test_a_users_conversations_go_in_the_order_of_time() -> None:
    rows = many(9, "u")
    found = bundle(rows, rng(5), sizes=(2, 3))
    assert [number for row in found for number in parts_of(row)] == list(range(9))
    assert {row.group for row in found} == {"u"}


def test_synthetic_users_are_drawn_anew_for_every_seed() -> None:
    rows = many(30)

    def parts(seed: int) -> list[list[int]]:
        return [parts_of(row) for row in bundle(rows, rng(seed))]

    assert parts(1) == parts(1)
    assert parts(1) != parts(2)
    assert any(np.ptp(part) >= len(part) for part in parts(1))
    assert set(map(len, parts(1))) == {2, 3, 4}


def test_what_a_bundle_takes_over() -> None:
    one = conversation(1, group="u", categories=frozenset({"x"}), split="train")
    two = LabelledText("c2", "just asking", "0", "u", frozenset({"y"}), "train", structure="single-turn")
    three = conversation(3, group="u", split="test")
    [row] = bundle([one, two, three], rng())
    assert row.text == f"{one.text}\n\n<|user|> just asking"
    assert (row.categories, row.split, row.planted) == (frozenset({"x", "y"}), "train", 0)


def test_what_cannot_be_bundled() -> None:
    made = bundle(many(3), rng())[0]
    with pytest.raises(InputError, match="row 1 is a bundle before bundling"):
        bundle([conversation(9), made], rng())
    with pytest.raises(InputError, match="row 0 is planted before bundling"):
        bundle([conversation(9, planted=4)], rng())
    with pytest.raises(InputError, match="1 rows have the id of a bundle"):
        bundle([*many(2, "u"), replace(conversation(7, group="v"), id="c0+1")], rng(), sizes=(2, 2))
    for sizes in ((1, 3), (4, 3)):
        with pytest.raises(ValueError, match="expected at least 2"):
            bundle([], rng(), sizes=sizes)
    assert bundle(many(1), rng()) == []


@given(st.lists(KEYS, min_size=1, max_size=30), st.lists(KEYS, min_size=1, max_size=20), st.floats(0, 1),
       st.integers(0, 99), st.integers(0, 15))
def test_no_conversation_is_in_two_inputs(first: list[tuple[str, str | None]], second: list[tuple[str, str | None]],
                                          share: float, seed: int, shared: int) -> None:
    one = [conversation(number, *key) for number, key in enumerate(first)]
    # The second source says some of what the first does.
    two = [conversation(number + len(one) - shared, *key) for number, key in enumerate(second)]
    assume(len(one) >= shared)
    sources = [Source("one", one, share, label="1"), Source("two", two, 1 - share, (2, 3), label="1")]
    found = pool(sources, rng(seed))
    inside = [number for row in found for number in parts_of(row)]
    assert len(set(inside)) == len(inside)
    # A user is in one structure only.
    roles: dict[str, set[bool]] = {}
    for row in found:
        assert (row.structure == "multi-conversation") == (len(parts_of(row)) > 1)
        if row.group and not row.group.startswith("synthetic"):
            roles.setdefault(row.group, set()).add(len(parts_of(row)) > 1)
    assert all(len(role) == 1 for role in roles.values())


def kinds(rows: list[LabelledText]) -> Counter[str]:
    return Counter(f"{row.id.split('/')[0]}, {row.structure}" for row in rows)


def test_shares_labels_and_names() -> None:
    prompts = [LabelledText(f"p{number}", f"prompt {number}", str(number % 2)) for number in range(10)]
    users = [row for number in range(20) for row in many(3, f"u{number}", "calm", 3 * number)]
    loners = many(40, None, "sad", 100)
    found = pool([Source("prompts", prompts, structure="single-turn"), Source("users", users, 0.5, label="0"),
                  Source("loners", loners, 0.25, (2, 2), label="1")], rng(1))
    assert kinds(found) == {"prompts, single-turn": 10, "users, multi-conversation": 10, "users, multi-turn": 30,
                            "loners, multi-conversation": 5, "loners, multi-turn": 30}
    assert {row.label for row in found} == {"0", "1"}
    synthetic = [row.id for row in found if (row.group or "").startswith("synthetic:")]
    assert len(synthetic) == 5
    assert all(name.startswith("loners/") for name in synthetic)
    assert {row.group for row in found if row.id.startswith("users/")} == {f"users/u{n}" for n in range(20)}


def test_users_are_set_aside_whole_and_only_where_they_can_be_bundled() -> None:
    several = [row for number in range(5) for row in many(4, f"u{number}", start=4 * number)]
    assert len(pool([Source("s", [*several, *many(10, None, start=50)], 0.0)], rng())) == 30
    for seed in range(5):
        # Three tenths of 20 are 6: one user of 4, since two would be too many.
        found = pool([Source("s", several, 0.3)], rng(seed))
        assert [kinds(found)["s, multi-turn"], sum(len(parts_of(row)) for row in found)] == [16, 20]
        # Who has one conversation stays outside, however much is asked for.
        once = [conversation(number, group=f"v{number}") for number in range(100, 108)]
        found = pool([Source("s", [*several, *once], 1.0)], rng(seed))
        assert kinds(found)["s, multi-turn"] == 8
        assert sum(len(parts_of(row)) for row in found) == 28


def test_one_turn_is_the_same_with_and_without_its_mark() -> None:
    rows = [LabelledText("a", "hello", "0"), LabelledText("b", "<|user|> Hello", "0"), LabelledText("c", "bye", "0")]
    found = pool([Source("s", rows)], rng())
    assert [row.id for row in found] == ["s/a", "s/c"]
    assert found[0].text == "hello"


def test_sources_that_cannot_be() -> None:
    one = Source("one", many(2))
    with pytest.raises(InputError, match="2 sources have 1 names"):
        pool([one, one], rng())
    with pytest.raises(InputError, match="0 sources have 0 names"):
        pool([], rng())
    with pytest.raises(InputError, match="the source two has no rows"):
        pool([one, Source("two", [])], rng())
    with pytest.raises(ValueError, match=r"bundled is 1\.5"):
        pool([Source("one", many(2), 1.5)], rng())
