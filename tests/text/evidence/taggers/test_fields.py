"""Records in fields are about one person, whom no sentence need name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

RECORDS = [
    ("Age: 41. Occupation: pilot. Residence: Fairbanks. Diagnosis: sarcoidosis.", {"age", "occupation", "place"}),
    ("- Age: 52\n- City: Omaha\n- Employer: Boeing", {"age", "place", "affiliation"}),
    ("| Age | 41 |\n| Occupation | welder |", {"age", "occupation"}),
    ("**Marital status:** divorced\n**Nationality:** Nigerian", {"family", "ethnicity"}),
]
FORMS = [
    "Age: 45 to 75. Occupation: any.", "Age: ____ Occupation: ____", "Age: unknown. Occupation: not stated.",
    "Address: [redacted]. Employer: <employer>.", "Occupation: welder.", "Age: see chart. City: n/a.",
]


@pytest.mark.parametrize(("text", "kinds"), RECORDS)
def test_a_record_is_one_person(read: Callable[..., Any], text: str, kinds: set[str]) -> None:
    found = [a for a in read(text, "medical") if a.why.startswith("field of a record")]
    assert {a.kind for a in found} == kinds
    assert {(a.subject, a.person) for a in found} == {("third", "record")}


@pytest.mark.parametrize("text", FORMS)
def test_a_form_that_is_not_filled_is_about_nobody(read: Callable[..., Any], text: str) -> None:
    assert not [a for a in read(text, "medical") if a.why.startswith("field of a record")]
