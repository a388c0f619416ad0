from __future__ import annotations

import pytest

from discreet.text.doc import Doc
from discreet.text.evidence.finders import matcher, with_plurals


@pytest.mark.parametrize(
    ("table", "text", "expected"),
    [
        ("occupations", "she is a welder .", "welder"),
        ("occupations", "a bank teller came", "bank teller"),
        ("places", "from New York, NY", "New York"),
        ("places", "in omaha .", "omaha"),
        ("demonyms", "a Nigerian man", "Nigerian"),
        ("medical_terms", "has atrial fibrillation now", "atrial fibrillation"),
        ("organisations", "at Goldman Sachs .", "Goldman Sachs"),
    ],
)
def test_entries_are_found_in_the_tokens_of_a_doc(table: str, text: str, expected: str) -> None:
    doc = Doc.of(text)
    spans = [doc.text[doc.tokens[a].start : doc.tokens[b - 1].end] for a, b, _ in matcher(table).find(doc.lowers)]
    assert expected in spans


def test_a_matcher_is_built_once() -> None:
    assert matcher("places") is matcher("places")


@pytest.mark.parametrize(
    ("word", "singular"),
    [
        ("teachers", "teacher"),
        ("nurses", "nurse"),
        ("gas", "gas"),
        ("is", "is"),
        ("welder", "welder"),
        ("diabetes", "diabetes"),
    ],
)
def test_plurals(word: str, singular: str) -> None:
    assert with_plurals((word, "x")) == (singular, "x")
