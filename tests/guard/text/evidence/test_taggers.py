"""What the taggers say of whom, over the texts of `cases.yaml`; and that one fact has one value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from discreet.guard.domains import builtin_domains, load_domain

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
OWN = {kind: domain for domain in builtin_domains() for kind in load_domain(domain).own}


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, case) for kind, cases in CASES.items() for case in cases["said"]], ids=str
)
def test_it_is_said_of_one_person(
    assert_said: Callable[..., None], read: Callable[..., Any], kind: str, case: list[str]
) -> None:
    domain, text, subject, cue, *value = case
    assert_said(kind, domain, text, subject, cue)
    assert set(value) <= {a.value for a in read(text, domain, kind=kind)}


@pytest.mark.parametrize(
    ("kind", "domain", "text"), [(kind, *case) for kind, cases in CASES.items() for case in cases["not said"]]
)
def test_it_is_said_of_nobody(assert_not_said: Callable[..., None], kind: str, domain: str, text: str) -> None:
    assert_not_said(kind, domain, text)


@pytest.mark.parametrize(("kind", "domain"), [(kind, d) for kind in OWN for d in builtin_domains()])
def test_facts_are_of_their_domain_only(read: Callable[..., Any], kind: str, domain: str) -> None:
    found = [a for case in CASES[kind]["said"] for a in read(case[1], domain, kind=kind)]
    assert bool(found) == (OWN[kind] == domain)


@pytest.mark.parametrize(("kind", "domain", "texts"), [
    ("affiliation", "medical", ["He works at Acme Widget Company.", "He works at ACME Widget Company."]),
    ("affiliation", "medical", ["She works for Bramblewick Forge. She is on the staff of the Bramblewick Forge."]),
    ("affiliation", "medical", ["He attends Lindenwald Academy.", "He studies at Lindenwald Academy."]),
    ("condition", "medical", ["The patient has diabetes.", "The patient has DIABETES."]),
    ("ethnicity", "medical", ["He is Nigerian.", "This nigerian man was seen."]),
    ("occupation", "law", [f"The client is a {job}." for job in ("litigator", "attorney", "trial lawyer")]),
    ("occupation", "medical", [
        "She is a retired bellfounder.", "He was employed as a bellfounder. He is a bellfounder by trade.",
        "She works as a master bellfounder; she is a bellfounder.",
        "He works as a bellfounder. He works at a foundry.",
    ]),
    ("occupation", "medical", ["The patient, a welder, works in a big shipyard."]),
    ("place", "medical", [f"The patient lives in {place}." for place in ("Omaha", "Omaha, Nebraska", "Omaha, NE")]),
    ("place", "medical", ["She lives in Quoyburray.", "She grew up in Quoyburray."]),
    ("treatment", "medical", ["She takes Metformin.", "She takes metformin."]),
])
def test_one_fact_has_one_value(read: Callable[..., Any], kind: str, domain: str, texts: list[str]) -> None:
    values = [{a.value for a in read(text, domain, kind=kind)} for text in texts]
    assert len(values[0]) == 1
    assert all(value == values[0] for value in values)


@pytest.mark.parametrize(
    ("place", "value"),
    [("Omaha", "Omaha|Nebraska|US"), ("Quoyburray", "quoyburray"), ("Quoyburray, Texas", "Quoyburray|Texas|US"),
     ("Springfield, Illinois", "Springfield|Illinois|US"),
     ("Springfield, Massachusetts", "Springfield|Massachusetts|US")],
)
def test_a_region_is_part_of_its_place(read: Callable[..., Any], place: str, value: str) -> None:
    text = f"The patient lives in {place}."
    [found] = read(text, kind="place")
    assert found.value == value
    assert text[found.start : found.end] == place


def test_two_occupations_have_two_values(read: Callable[..., Any]) -> None:
    found = read("She works as a welder and is a part-time teacher.", kind="occupation")
    assert len({a.value for a in found}) == 2


def test_where_a_person_works_is_a_weak_cue(read: Callable[..., Any]) -> None:
    assert [a.weak for a in read("She works nights at a tannery.", kind="occupation")] == [True]
    assert [a.weak for a in read("She works as a hedgelayer.", kind="occupation")] == [False]


@pytest.mark.parametrize(("kind", "text"), [
    ("occupation", "In Pickering v. Board, 391 U.S. 563 (1968), the Court held for the petitioner, a bellfounder."),
    ("matter", "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court freed a defendant charged with burglary."),
])
def test_a_party_of_a_published_case_stays_public(read: Callable[..., Any], kind: str, text: str) -> None:
    assert {a.subject for a in read(text, domain="law", kind=kind)} == {"public"}


def test_a_sex_is_told_once_a_person(read: Callable[..., Any]) -> None:
    found = read("The woman said that she had told her sister that she was ill.", kind="sex")
    assert len({a.person for a in found}) == len(found)


@pytest.mark.parametrize(("text", "kinds"), [
    ("Age: 41. Occupation: pilot. Residence: Fairbanks. Diagnosis: sarcoidosis.", {"age", "occupation", "place"}),
    ("- Age: 52\n- City: Omaha\n- Employer: Boeing", {"age", "place", "affiliation"}),
    ("| Age | 41 |\n| Occupation | welder |", {"age", "occupation"}),
    ("**Marital status:** divorced\n**Nationality:** Nigerian", {"family", "ethnicity"}),
])
def test_a_record_in_fields_is_one_person(read: Callable[..., Any], text: str, kinds: set[str]) -> None:
    found = [a for a in read(text, "medical") if a.person == "record"]
    assert {a.kind for a in found} == kinds
    assert {a.subject for a in found} == {"third"}


@pytest.mark.parametrize("text", [
    "Age: 45 to 75. Occupation: any.", "Age: ____ Occupation: ____", "Age: unknown. Occupation: not stated.",
    "Address: [redacted]. Employer: <employer>.", "Occupation: welder.", "Age: see chart. City: n/a.",
])
def test_a_form_that_is_not_filled_is_about_nobody(read: Callable[..., Any], text: str) -> None:
    assert "record" not in {a.person for a in read(text, "medical")}
