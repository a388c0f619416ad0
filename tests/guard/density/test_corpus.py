from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.jsonl import jsonl

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Answer
from discreet.guard.density.corpus import PARTS, Kind, Sample, normalised, read_side, split, without_repeats


def sample(text: str, kind: Kind = "safe", group: str | None = None) -> Sample:
    return Sample(Answer(text, text), kind, group)


def test_a_file_of_several_sides(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "all.jsonl", [
        {"id": 1, "answer": "a", "kind": "safe", "domain": "law", "document": "d"},
        {"id": 2, "answer": "b", "kind": "unsafe", "domain": "law"},
        {"id": 3, "answer": "c", "kind": "safe", "domain": "medical"}, {"id": 4, "answer": "d"}])
    found = read_side([path], "safe", "law")
    assert [(s.answer.id, s.kind, s.group) for s in found] == [("1", "safe", "d"), ("4", "safe", None)]
    only = jsonl(tmp_path / "unsafe.jsonl", [{"id": 2, "answer": "b", "kind": "unsafe", "domain": "law"}])
    with pytest.raises(InputError, match=r"unsafe\.jsonl holds no safe text of law"):
        read_side([path, only], "safe", "law")


def test_repeats_and_contradictions() -> None:
    given = [sample("One  text."), sample("one TEXT."), sample("ｏne text."), sample("Both", "safe"),
             sample("both", "unsafe"), sample("Both", "borderline"), sample("Three", "unsafe")]
    kept, counts = without_repeats(given)
    assert [s.answer.answer for s in kept] == ["One  text.", "Three"]
    assert counts == {"repeated": 2, "contradictory": 3}
    assert normalised(" A\n b\t") == "a b"


def many(n: int = 200, groups: int | None = None) -> list[Sample]:
    kinds: tuple[Kind, ...] = ("safe", "unsafe", "borderline")
    return [sample(f"text {i}", kinds[i % 3], None if groups is None else str(i % groups)) for i in range(n)]


def test_shares_kind_by_kind() -> None:
    given = many(600)
    found = Counter(zip(split(given, 1), (s.kind for s in given), strict=True))
    assert all([found[(part, kind)] for part in PARTS] == [140, 30, 30] for kind in ("safe", "unsafe", "borderline"))


def test_groups_stay_together() -> None:
    given = many(600, groups=41)
    parts: dict[str | None, set[str]] = {}
    for part, s in zip(split(given, 3), given, strict=True):
        parts.setdefault(s.group, set()).add(part)
    assert all(len(found) == 1 for found in parts.values())
    shares = Counter(split(given, 3))
    assert abs(shares["fit"] / 600 - 0.7) < 0.07


def test_the_order_of_the_file_does_not_matter_and_the_seed_does() -> None:
    given = many()
    shuffled = given.copy()
    random.Random(0).shuffle(shuffled)
    home = dict(zip((s.answer.id for s in given), split(given, 5), strict=True))
    assert home == dict(zip((s.answer.id for s in shuffled), split(shuffled, 5), strict=True))
    assert home != dict(zip((s.answer.id for s in given), split(given, 6), strict=True))


def test_too_few() -> None:
    with pytest.raises(InputError, match="39 unsafe texts are left to fit on: at least 40"):
        split([sample(f"s{i}") for i in range(50)] + [sample(f"u{i}", "unsafe") for i in range(39)], 0)
    with pytest.raises(InputError, match="groups of the unsafe texts are so few"):
        split([sample(f"s{i}") for i in range(50)] + [sample(f"u{i}", "unsafe", "one") for i in range(50)], 0)


def test_texts_in_memory_are_those_of_a_file(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": "1", "answer": "a", "question": "q", "document": "d"},
                                  {"id": "2", "answer": "b", "kind": "unsafe"}, {"id": "3", "answer": "c"}]
    path = jsonl(tmp_path / "rows.jsonl", rows)
    by_file = read_side(path, "safe", "law")
    assert read_side(str(path), "safe", "law") == read_side([path], "safe", "law") == by_file
    table: Any = pd.DataFrame(rows).fillna("")
    assert read_side(rows, "safe", "law") == read_side(table, "safe", "law") == by_file
    mixed = read_side([path, "d", Answer("x", "e"), {"answer": "f"}], "safe", "law")
    assert [(s.answer.id, s.answer.answer) for s in mixed] == [
        ("1", "a"), ("3", "c"), ("safe-1", "d"), ("x", "e"), ("safe-3", "f")]
    assert read_side((), "safe", "law") == []


@pytest.mark.parametrize(("given", "error", "said"), [
    ([{"answer": "a", "group": [1]}], InputError, "item 1: 'group' is no word"),
    (["a", 7], InputError, "the safe texts, item 2: found a int; expected a string"),
    ([{"text": "a"}], InputError, "item 1: there is no 'answer'"),
    ([{"id": 1, "answer": "a"}, {"id": 1, "answer": "b"}], InputError, "item 2: the id of this row was used before"),
    ([__file__], UsageError, "item 1 is the name of a file; in a list, give files as pathlib.Path"),
])
def test_what_is_no_text(given: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        read_side(given, "safe", "law")
