from __future__ import annotations

import pytest

from discreet.core.errors import UsageError
from discreet.encode.reading import read
from discreet.text.doc import Doc
from discreet.text.evidence.extract import find_evidence

TEXT = "Her SSN is 536-22-8145. She is a 47-year-old welder from Omaha."


def test_a_reading_is_what_the_detectors_see() -> None:
    found = read(TEXT, "medical")
    assert found.attributes == find_evidence(Doc.of(TEXT), "medical")
    assert [(s.type, TEXT[s.start : s.end]) for s in found.direct] == [("ssn", "536-22-8145")]


def test_an_identifier_that_the_user_gave_is_left_out() -> None:
    assert read(TEXT, "medical", "my ssn: 536 22 8145").direct == ()
    assert len(read(TEXT, "medical", "my ssn: 536 22 8146").direct) == 1


def test_an_attribute_that_the_user_gave_is_the_asker_s() -> None:
    subjects = {a.kind: a.subject for a in read(TEXT, "medical", "I see a welder. What now?").attributes}
    assert subjects["occupation"] == "asker"
    assert subjects["age"] == "third"


def test_no_words_in_its_repr() -> None:
    assert "Omaha" not in repr(read(TEXT, "medical"))


def test_unknown_domain() -> None:
    with pytest.raises(UsageError, match="unknown domain"):
        read(TEXT, "sport")
