from __future__ import annotations

import pytest

from discreet.synth.others import MAIN, turns


def told(text: str, word: str, kind: str = "age") -> frozenset[str]:
    """Whom a class that stands at a word, or begins with it, is told of."""
    at = text.index(word)
    turn = next((one for one in turns(text) if one.start <= at < one.end), None)
    return turn.of(kind) if turn else frozenset({MAIN})


@pytest.mark.parametrize("text", [
    "This patient is 47. Another patient, seen by a colleague, WELDS.", "One of them is 47, and the other is a WELDER.",
    "This patient is 47. The brother of the patient, who waits outside, WELDS.", "She is 47; a neighbour WELDS.",
    "The client is 47. Her husband WELDS.", "The client is 47. The client's sister WELDS.", "Somebody else WELDS.",
    "The claimant is 47, while the man in the next room WELDS.", "The letter came from a friend, who WELDS.",
    "The first tenant is 47. The second is out. She is 47. Another tenant came; the other one is a WELDER.",
    "This patient is 47. Another patient called. She WELDS."])
def test_somebody_else(text: str) -> None:
    assert MAIN not in told(text, "WELD")
    if "47" in text:
        assert told(text, "47") == {MAIN}


@pytest.mark.parametrize("text", [
    "This patient WELDS.", "A mother of two WELDS.", "The other day this patient WELDS.", "Patient A WELDS.",
    "Another point is that the patient WELDS.", "Her husband drives. This patient WELDS.",
    "Another patient called. This patient WELDS.", "Her friend is 20; the patient WELDS.",
    "On the other hand, she WELDS.", "The second step: she WELDS.", "As a colleague noted, she WELDS.",
    "The client has a brother who lives there and WELDS."])
def test_the_one(text: str) -> None:
    assert told(text, "WELD") == {MAIN}


def test_who_may_be_either_is_both() -> None:
    text = "His brother lives with him. He WELDS."
    assert told(text, "WELDS") == {MAIN, "kin brother"}
    # That there is a brother is told of the one whose brother it is; where he lives is not.
    assert told(text, "lives", "family") == {MAIN, "kin brother"}
    assert told(text, "lives", "place") == {"kin brother"}


def test_labels_part_people_where_there_are_two() -> None:
    text = "Patient A is 47, and patient B WELDS."
    assert told(text, "47") == {"label a"}
    assert told(text, "WELDS") == {"label b"}
    assert turns("") == ()
