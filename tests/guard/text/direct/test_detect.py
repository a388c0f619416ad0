from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator
from itertools import pairwise
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import DetectorError, UsageError
from discreet.core.registry import Registry
from discreet.core.unicode import prepare
from discreet.guard.text.direct import detect as direct
from discreet.guard.text.direct.detect import (
    BOUND,
    CHECKED,
    SHAPED,
    DirectSpan,
    Facts,
    Hit,
    Recogniser,
    find_direct,
    recogniser,
    recognisers,
)
from discreet.guard.text.resources import patterns

BUILT_IN = list(recognisers)
FILES = ("addresses", "identifiers", "names")
PATTERNS = {(file, name): text for file in FILES for name, text in patterns(file).texts.items()}
ODD_TEXTS = [
    "", " ", "\n\t \u2003", "🙂🙂", "\ud800\udfff", "\x00", "İİİ Jane İ 402-555-0133", "ǅ", "a" * 300 + "@" + "b" * 300
]
HOSTILE = [
    "1", "1-", "1 ", "a.b@c.", "http://a.", "1:", "Jane, ", "A v. B ", "account 1", "+1", "DE89 1111 ", "A of the "
]


def texts(unit: str, size: int) -> Iterator[str]:
    yield (unit * (size // len(unit) + 1))[:size]
    yield (unit * (size // len(unit) + 1))[:size] + "!"


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("text", [*ODD_TEXTS, "x" * 200_000, "5" * 200_000], ids=lambda t: repr(t[:12]))
def test_hits_are_in_range_and_of_declared_types(name: str, text: str) -> None:
    item = recognisers[name]
    facts = Facts.of(text)
    assert len(facts.lower) == len(text)
    for hit in item.find(facts):
        assert 0 <= hit.start < hit.end <= len(text)
        assert hit.type in item.types
        assert hit.validity in (SHAPED, BOUND, CHECKED)


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_repetition_is_read_through(unit: str) -> None:
    for text in texts(unit, 50_000):
        for span in find_direct(prepare(text)):
            assert 0 <= span.start < span.end <= len(text)


def open_repeats(parsed: Iterable[Any], inside: bool = False) -> Iterator[bool]:
    """Whether each open-ended repetition in a parsed pattern stands inside another one."""
    for op, argument in parsed:
        nested = inside
        if op in (_parser.MAX_REPEAT, _parser.MIN_REPEAT):
            _, most, body = argument
            if most > 5000:
                yield inside
                nested = True
            yield from open_repeats(body, nested)
        else:
            parts = argument if isinstance(argument, (tuple, list)) else [argument]
            for part in parts:
                for inner in part if isinstance(part, list) else [part]:
                    if isinstance(inner, _parser.SubPattern):
                        yield from open_repeats(inner, nested)


@pytest.mark.parametrize(("file", "name"), PATTERNS)
def test_no_pattern_nests_open_repetitions(file: str, name: str) -> None:
    assert not any(open_repeats(_parser.parse(PATTERNS[file, name])))


def test_the_check_for_nested_repetitions_sees_them() -> None:
    assert any(open_repeats(_parser.parse("(?:a+)*b")))
    assert any(open_repeats(_parser.parse("(x(?:a|b*){2,})+")))
    assert not any(open_repeats(_parser.parse("(?:a{1,9})*b+")))


@pytest.fixture
def one(monkeypatch: pytest.MonkeyPatch) -> Registry[Recogniser]:
    """A register of its own, empty."""
    registry: Registry[Recogniser] = Registry("nothing-is-installed-here")
    monkeypatch.setattr(direct, "recognisers", registry)
    return registry


def literal(kind: str, word: str, validity: int = SHAPED, distance: int = 0, priority: int = 0) -> Recogniser:
    return recogniser(kind, priority=priority)(
        lambda facts: [Hit(kind, m.start(), m.end(), validity, distance) for m in re.finditer(word, facts.text)]
    )


@pytest.mark.parametrize(("better", "worse"), [
    (literal("a", "cde", CHECKED), literal("b", "abcdefg", BOUND)), (literal("a", "abcdef"), literal("b", "efg")),
    (literal("a", "cde", BOUND, distance=1), literal("b", "cde", BOUND, distance=9)),
    (literal("b", "cde", priority=1), literal("a", "cde")), (literal("a", "abc"), literal("b", "cde")),
    (literal("a", "cde"), literal("b", "cde")),
])
def test_of_two_hits_that_overlap_the_better_stays(
    one: Registry[Recogniser], better: Recogniser, worse: Recogniser
) -> None:
    one.register("y")(better)
    one.register("x")(worse)
    assert [s.type for s in find_direct(prepare("abcdefg"))] == list(better.types)


def test_hits_side_by_side_both_stay_in_order(one: Registry[Recogniser]) -> None:
    one.register("x")(literal("late", "de"))
    one.register("y")(literal("early", "abc"))
    assert find_direct(prepare("abcde")) == [DirectSpan("early", 0, 3), DirectSpan("late", 3, 5)]


def test_a_broken_recogniser_is_named_and_quotes_nothing(one: Registry[Recogniser]) -> None:
    def breaks(facts: Facts) -> list[Hit]:
        raise ValueError(f"cannot read {facts.text}")

    one.register("bad")(recogniser("x")(breaks))
    prepared = prepare("Jane Whitfield")
    with pytest.raises(DetectorError, match="'bad' failed with ValueError") as caught:
        find_direct(prepared)
    assert "Jane" not in "".join(traceback.format_exception(caught.value))


def test_no_recogniser_at_all_is_an_error(one: Registry[Recogniser]) -> None:
    with pytest.raises(UsageError, match="reinstall"):
        find_direct(prepare("Jane Whitfield"))


def test_types_narrow_the_search_before_overlaps_are_resolved() -> None:
    text = prepare("https://x.example/user/7?mail=jane@x.example")
    assert [s.type for s in find_direct(text)] == ["url"]
    assert [s.type for s in find_direct(text, types=["email"])] == ["email"]
    with pytest.raises(UsageError, match="'iris_scan'"):
        find_direct(text, types={"iris_scan"})


def test_a_decoded_hit_has_the_span_of_its_run_and_its_cue_before() -> None:
    text = "Her SSN – as given – is MjE5MDkxMjM0, thanks"
    assert find_direct(prepare(text)) == [DirectSpan("ssn", text.index("Mj"), text.index(","))]
    bare = prepare("The code is MjE5MDkxMjM0, thanks")
    assert find_direct(bare) == []


def test_words_before_a_decoded_run_are_not_counted_as_of_the_run() -> None:
    text = "Jane Whitfield wrote amFuZUBleGFtcGxlLmNvbQ=="
    found = [(s.type, text[s.start : s.end]) for s in find_direct(prepare(text))]
    assert found == [("person_name", "Jane Whitfield"), ("email", "amFuZUBleGFtcGxlLmNvbQ==")]


def test_many_decoded_runs_are_each_seen() -> None:
    text = " ".join(["amFuZUBleGFtcGxlLmNvbQ=="] * 500)
    assert len(find_direct(prepare(text))) == 500


PIECES = st.sampled_from(
    ["SSN 219-09-1234", "jane@example.com", "call (402) 555-0133", "MRN: 0012345", "Jane Whitfield", "born 03/14/1971",
     "4111 1111 1111 1111", "routing 021000021 account 77812345", "1:21-cv-01234", "Alice sues Bob", "10.0.0.7", ", ",
     " and ", "–", "\u200b", "é", "\n", "order ", "no. "]
)


@settings(max_examples=60)
@given(st.lists(PIECES, max_size=8).map(" ".join))
def test_spans_are_sorted_disjoint_and_the_same_each_time(text: str) -> None:
    found = find_direct(prepare(text))
    assert found == find_direct(prepare(text))
    assert all(0 <= s.start < s.end <= len(text) for s in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_decoys_in_one_text_are_all_passed() -> None:
    text = (
        "Routing 000000000 and SSN 900-12-3456 or 666-12-3456 are no numbers; the public record is. Order 4025550133, "
        "invoice 12345678, version 1.2.3.4, ISBN 978-0-306-40615-7, ICD-10 E11.9, CPT 99213, 26 U.S.C. 6103(a)(1), "
        "45 CFR 164.514(b)(2), $1,234,567.89, 2019-2021, 03/14/2019, doi:10.1016/j.cell.2010.01.001, PMID: 12345678, "
        "BRCA1 and rs7903146, 500-1000 mg, 412 345 6789 233 421, Brown v. Board of Education, 347 U.S. 483 (1954), "
        "Smith v. Jones, 123 F.3d 456 (9th Cir. 1997), Dr. Lee, Judge Brown, Parkinson's disease, a Roth IRA, "
        "https://www.cdc.gov/flu/index.html, 1-800-273-8255, form 1099-INT, 401(k), 10 mg/dL at 08:30."
    )
    assert find_direct(prepare(text)) == []


def test_representations_hold_no_text() -> None:
    assert "Jane" not in repr(Facts.of("Jane"))


CUE = re.compile(r"\bpin\b")


def near(text: str, value: str = "4711") -> int | None:
    start = text.index(value)
    return Facts.of(text).distance(start, start + len(value), CUE)


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
    assert Facts.of(text).is_other(text.index("4711"))


@pytest.mark.parametrize(
    ("text", "money"),
    [("$4711", True), ("usd 4711", True), ("4711 dollars", True), ("4711%", True), ("a 4711 is", False)],
)
def test_amounts(text: str, money: bool) -> None:
    start = text.index("4711")
    assert Facts.of(text).is_money(start, start + 4) is money


@pytest.mark.parametrize(("text", "values"), [
    ("Tag no. A-4711", ["A-4711"]), ("**Tag:** 4711", ["4711"]), ("TAG number is 4711-22", ["4711-22"]),
    ("tag\n4711", ["4711"]), ("tags: 4711", ["4711"]), ("tag 47", []), ("the tag was seen in 4711", []),
    ("stag 4711", []), ("tag 4711x", []), ("tag 4711-x", []),
])
def test_a_keyed_value_stands_right_behind_its_key(text: str, values: list[str]) -> None:
    link, start, end = (PATTERNS["identifiers", name] for name in ("link", "value start", "value end"))
    pattern = re.compile(rf"\b(?i:tag){link}{start}(?P<value>[A-Z]?-?\d+(?:-\d+)?){end}")
    assert [text[h.start : h.end] for h in Facts.of(text).named_hits("tag", pattern, least_digits=3)] == values
