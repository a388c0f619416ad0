from __future__ import annotations

import re

import pytest

from discreet.synth.borderline import DESCRIPTIONS, OPENINGS, SUBTYPES


def test_five_subtypes_each_with_five_openings() -> None:
    assert len(SUBTYPES) == 5
    assert tuple(OPENINGS) == tuple(DESCRIPTIONS) == SUBTYPES
    assert all(len(set(openings)) == 5 for openings in OPENINGS.values())


@pytest.mark.parametrize("subtype", SUBTYPES)
def test_openings_speak_of_the_case_and_of_nothing_that_tells_whose(subtype: str) -> None:
    for opening in OPENINGS[subtype]:
        slots = set(re.findall(r"\{(\w+)\}", opening))
        assert "case" in slots
        assert slots <= {"case", "file", "topic"}
        assert not re.search(r"\d|\bhe\b|\bshe\b", opening)
