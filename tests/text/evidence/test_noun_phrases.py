from __future__ import annotations

import pytest

from discreet.text.doc import Doc
from discreet.text.evidence.noun_phrases import is_agent_noun, job_phrase, job_value


@pytest.mark.parametrize(
    "word", ["hedgelayer", "taxidermist", "wheelwright", "locksmith", "deckhand", "translator", "ferryman"]
)
def test_a_trade_has_the_form_of_an_agent_noun(word: str) -> None:
    assert is_agent_noun(word)


@pytest.mark.parametrize(
    "word",
    [
        "smoker",
        "carrier",
        "survivor",
        "debtor",
        "taxpayer",
        "sister",
        "defibrillator",
        "older",
        "pushover",
        "italian",
        "table",
    ],
)
def test_states_kin_roles_and_things_are_none(word: str) -> None:
    assert not is_agent_noun(word)


@pytest.mark.parametrize(
    ("text", "strict", "found"),
    [
        ("harbour joiner in the docks", False, "harbour joiner"),
        ("hedgelayer presented with cough", True, "hedgelayer"),
        ("lamplighter living alone", True, "lamplighter"),
        ("sous chef", False, "sous chef"),
        ("sous vide", True, ""),
        ("team", False, ""),
        ("hand", False, ""),
        ("barge hand", False, "barge hand"),
        ("co-worker", True, ""),
        ("means of escape", False, ""),
        ("in the docks", False, ""),
    ],
)
def test_the_phrase_of_a_trade_ends_at_its_head(text: str, strict: bool, found: str) -> None:
    doc = Doc.of(text)
    phrase = job_phrase(doc, 0, strict=strict)
    assert (doc.words(*phrase) if phrase else "") == found


def test_the_value_is_the_listed_one_or_the_head() -> None:
    assert job_value(Doc.of("master welder"), 0, 2)[0] == "factory worker"
    assert job_value(Doc.of("master bellfounder"), 0, 2) == ("bellfounder", "")
