from __future__ import annotations

import re

import pytest

from discreet.text.direct.cues import distance, is_money, is_other, named, named_hits
from discreet.text.direct.detect import Facts

CUE = re.compile(r"\bpin\b")


def near(text: str, value: str = "4711") -> int | None:
    start = text.index(value)
    return distance(Facts.of(text), start, start + len(value), CUE)


@pytest.mark.parametrize(("text", "characters"), [
    ("PIN 4711", 1), ("the pin that she chose is 4711", 19), ("4711 is her PIN", 9), ("4711 (PIN)", 3),
    ("pins and PIN: 4711", 2), ("pin 123456, 4711", 9), ("pin 12-3456 and 4711", 13),
])
def test_the_nearest_cue_counts(text: str, characters: int) -> None:
    assert near(text) == characters


@pytest.mark.parametrize(
    "text",
    ["4711", "pin of order 4711", "PIN 123456 was used, code 4711", "Wrong pin! 4711", "pin\n\n4711", "spin 4711",
     "the pin was lost. Later 4711", "pin" + " " * 60 + "4711", "4711. PIN", "pin\x004711"],
)
def test_a_cue_does_not_reach_over_another_number_sentence_or_claim(text: str) -> None:
    assert near(text) is None


@pytest.mark.parametrize("text", ["order 4711", "ISBN: 4711", "tracking no. 4711", "invoice #4711"])
def test_other_numbers_are_claimed(text: str) -> None:
    assert is_other(Facts.of(text), text.index("4711"))


@pytest.mark.parametrize(
    ("text", "money"),
    [("$4711", True), ("usd 4711", True), ("4711 dollars", True), ("4711%", True), ("a 4711 is", False)],
)
def test_amounts(text: str, money: bool) -> None:
    start = text.index("4711")
    assert is_money(Facts.of(text), start, start + 4) is money


@pytest.mark.parametrize(("text", "values"), [
    ("Tag no. A-4711", ["A-4711"]), ("**Tag:** 4711", ["4711"]), ("TAG number is 4711-22", ["4711-22"]),
    ("tag\n4711", ["4711"]), ("tags: 4711", ["4711"]), ("tag 47", []), ("the tag was seen in 4711", []),
    ("stag 4711", []), ("tag 4711x", []), ("tag 4711-x", []),
])
def test_a_keyed_value_stands_right_behind_its_key(text: str, values: list[str]) -> None:
    pattern = named("tag", r"[A-Z]?-?\d+(?:-\d+)?")
    assert [text[h.start : h.end] for h in named_hits(Facts.of(text), "tag", pattern, least_digits=3)] == values
