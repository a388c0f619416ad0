"""Whose attribute is it? Everything is asked of `find_evidence`: the rules behind it may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.guard.text.cases import cases
from discreet.guard.text.doc import Doc

Read = Callable[..., Any]


def people(found: list[Any], text: str) -> dict[str, set[str]]:
    """Person to the words that are bound to them, without sex."""
    said: dict[str, set[str]] = {}
    for a in found:
        if a.kind != "sex" and a.subject in ("third", "speaker"):
            said.setdefault(a.person, set()).add(text[a.start : a.end])
    return said


ONE_PERSON = [
    (
        "medical", "A 52-year-old litigator from Omaha presented. She has two children.",
        {"age", "occupation", "place", "family"},
    ),
    ("medical", "The patient is 67. He lives in Tulsa. He is a retired welder.", {"age", "place", "occupation"}),
    ("medical", "In Omaha, the patient, a 52-year-old nurse, lives alone.", {"age", "occupation", "family"}),
    ("medical", "Mrs. Ortiz is a teacher. She lives in Boise with her husband.", {"occupation", "place", "family"}),
    ("medical", "The patient is a 52-year-old man. Retired teacher. Lives alone.", {"age", "occupation", "family"}),
    (
        "finance", "My client is a dentist in Duluth. She is 58 years old and has three kids.",
        {"occupation", "place", "age", "family"},
    ),
    ("finance", "The borrower is a 34-year-old welder. He moved to Texas.", {"age", "occupation", "place"}),
    ("law", "The plaintiff, a 71-year-old widow, lives in Fresno.", {"age", "family", "place"}),
    ("law", "The tenant is a single mother of three who works at Walmart.", {"family", "affiliation"}),
    ("law", "The petitioner emigrated from Guatemala. He works as a roofer.", {"place", "occupation"}),
]


@pytest.mark.parametrize(("domain", "text", "kinds"), ONE_PERSON)
def test_what_is_said_of_one_person_is_bound_to_one_person(read: Read, domain: str, text: str, kinds: set[str]) -> None:
    by_person: dict[str, set[str]] = {}
    for a in read(text, domain):
        if a.subject == "third":
            by_person.setdefault(a.person, set()).add(a.kind)
    assert any(kinds <= said for said in by_person.values()), by_person


@pytest.mark.parametrize(("text", "one", "two"), [
    ("A 52-year-old man came. A 30-year-old woman left.", "52-year-old", "30-year-old"),
    ("The plaintiff is a nurse. The buyer is a welder.", "nurse", "welder"),
    ("My mother is 80 years old. My son is 12 years old.", "80 years old", "12 years old"),
    ("I am a nurse. My husband is a welder.", "nurse", "welder"),
    ("Mr. Alvarez lives in Omaha. Mrs. Ortiz lives in Tulsa.", "Omaha", "Tulsa"),
    ("The patient is 52 years old. Her daughter is a nurse.", "52 years old", "nurse"),
])
def test_what_is_said_of_two_is_bound_to_two(read: Read, text: str, one: str, two: str) -> None:
    owners = {words: person for person, said in people(read(text, "law"), text).items() for words in said}
    assert {one, two} <= {w for words in owners for w in (one, two) if w in words}
    [first] = {p for words, p in owners.items() if one in words}
    [second] = {p for words, p in owners.items() if two in words}
    assert first != second


SPEAKER = [
    ("medical", "I am a 34-year-old nurse from Tulsa.", {"age", "occupation", "place"}),
    ("medical", "As a 61 year old welder, I cough a lot.", {"age", "occupation"}),
    ("medical", "My husband and I live in Boise.", {"family", "place"}),
    ("medical", "We moved here from Lagos for my residency.", {"place"}),
    ("finance", "I'm a single mom in Ohio with two kids.", {"family", "place"}),
    ("finance", "I teach third grade and live in Reno.", {"occupation", "place"}),
    ("law", "I'm 22 and rent an apartment in Cleveland.", {"age", "place"}),
    ("law", "I work at Walmart. I live in Georgia.", {"affiliation", "place"}),
]


@pytest.mark.parametrize(("domain", "text", "kinds"), SPEAKER)
def test_the_first_person_is_the_speaker(read: Read, domain: str, text: str, kinds: set[str]) -> None:
    assert kinds <= {a.kind for a in read(text, domain) if a.subject == "speaker"}


COHORT = [
    ("medical", "Nurses aged 30 to 40 in Ohio have more back pain."),
    ("medical", "A 50-year-old woman with two children should be screened."),
    ("medical", "If a 30-year-old teacher from Boston has a cough, order a scan."),
    ("medical", "Patients from Nigeria who are over 60 may have malaria."),
    ("medical", "In adults older than 50, married men did best."),
    ("finance", "Teachers in Texas can retire at the age of 62."),
    ("finance", "A married couple living in California may split the income."),
    ("finance", "Suppose a 45-year-old dentist earns $200,000 and has two children."),
    ("law", "A tenant in Ohio who is married may end the lease."),
    ("law", "Any veteran over 65 with two dependents can apply."),
    ("law", "When a 16-year-old student is arrested, the parents must be called."),
    ("law", "Married persons who live in Texas own property in common."),
]


@pytest.mark.parametrize(("domain", "text"), COHORT)
def test_groups_and_rules_bind_to_nobody_that_counts(read: Read, domain: str, text: str) -> None:
    assert people(read(text, domain), text) == {}


@pytest.mark.parametrize("text", [
    "You should see a doctor if you are over 50.", "You can retire at the age of 62 in Texas.",
    "If you are married, you can file jointly.", "Your husband may qualify as well.",
    "If you live in Ohio, call a lawyer.", "You may be asked whether you are married.",
])
def test_advice_binds_to_nobody_that_counts(read: Read, text: str) -> None:
    assert people(read(text, "finance"), text) == {}


@pytest.mark.parametrize("text", [
    "We report a 52-year-old man from Omaha.", "We present the case of a 52-year-old man who lives in Omaha.",
    "Our department saw a 52-year-old man from Omaha.",
])
def test_authors_are_not_their_patients(read: Read, text: str) -> None:
    assert {a.subject for a in read(text) if a.kind in ("age", "place")} == {"third"}


@pytest.mark.parametrize(
    "text",
    ["Dr. Chen, a neurologist from Omaha, reviewed the scan.", "Judge Harlan, who is 71 years old, denied the motion."],
)
def test_people_in_office_do_not_count(read: Read, text: str) -> None:
    assert people(read(text, "law"), text) == {}


def test_a_later_person_does_not_take_what_was_said_before(read: Read) -> None:
    text = "The patient is 52 years old and lives in Omaha. Her doctor is a cardiologist. Her neighbor is a welder."
    bound = people(read(text), text)
    [patient] = [said for said in bound.values() if any("52" in words for words in said)]
    assert not any("welder" in words for words in patient)


@pytest.mark.parametrize(("text", "ages"), [
    ("Her 80-year-old mother has dementia.", 1), ("The patient's 80-year-old mother has dementia.", 1),
    ("My 12-year-old son has asthma.", 1),
])
def test_the_age_of_a_relative_is_not_the_owner_s(read: Read, text: str, ages: int) -> None:
    found = read(text)
    relatives = {a.person for a in found if a.kind == "age"}
    assert len(relatives) == ages
    assert relatives == {a.person for a in found if a.kind == "condition"}
    assert {a.subject for a in found if a.kind == "age"} == {"third"}


def test_spans_are_of_the_original(read: Read) -> None:
    text = "Ｔhe patient is a ﬁfty-two-year-old welder\u200b from Ｏmaha."
    found = {a.kind: text[a.start : a.end] for a in read(text)}
    assert "Ｏmaha" in found["place"]
    assert "welder" in found["occupation"]
    assert "ﬁfty-two" in found["age"]


CITED = [
    "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held that counsel must be given.",
    "Brown v. Board of Education, 347 U.S. 483, is the leading case.", "The court affirmed in Smith v. Jones.",
    "In Doe vs. Roe the panel reversed the judgment.",
    "The judge ruled for the plaintiff in Estate of Lee v. Acme Corp. last year.",
    "See 123 F.3d 456 (9th Cir. 1997), where the court denied the motion.",
    "The rule stems from 45 Cal.App.4th 1200, in which the court concluded that the tenant had standing.",
]
NOT_CITED = [
    "", "My landlord kept my deposit.", "Alice sues Bob over a fence.", "The court held a hearing.", "Roe v. Wade",
    "The plaintiff lives in Omaha.", "He scored 3 v. 2.", "Take 5 mg v. 10 mg.", "Section 1983 is a statute.",
]


@pytest.mark.parametrize("text", CITED)
def test_decided_cases_are_cited(text: str) -> None:
    found = cases(Doc.of(text))
    assert found
    assert all(0 <= start < end <= len(text) for start, end in found)


@pytest.mark.parametrize("text", NOT_CITED)
def test_other_texts_cite_nothing(text: str) -> None:
    assert cases(Doc.of(text)) == []


@pytest.mark.parametrize("name", ["Gideon v. Wainwright", "Obergefell v. Hodges", "Estate of Lee v. Acme Corp."])
def test_the_span_holds_both_parties(name: str) -> None:
    text = f"The Court held so in {name}, 372 U.S. 335."
    covered = {i for start, end in cases(Doc.of(text)) for i in range(start, end)}
    begin = text.index(name)
    assert set(range(begin, begin + len(name.rstrip(".")))) <= covered


@given(
    st.text()
    | st.lists(st.sampled_from(["Smith", "v.", "Jones", "347", "U.S.", "483", "the court held", "\n\n", "of"])).map(
        " ".join
    )
)
def test_spans_are_in_the_text(text: str) -> None:
    doc = Doc.of(text)
    assert all(0 <= start < end <= len(doc.text) for start, end in cases(doc))


@pytest.mark.parametrize("text", [
    "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held for the petitioner, a 52-year-old drifter "
    "from Florida.",
    "In Miller v. Alabama, 567 U.S. 460 (2012), the Court held that the sentence of the 14-year-old "
    "petitioner was cruel.",
    "In Doe v. Roe, 12 F.3d 345, the panel reversed: the plaintiff, a 40-year-old nurse, had standing.",
    "The court ruled in Lee v. Acme Corp. that the 61-year-old plaintiff had been dismissed because of his age.",
])
def test_parties_of_a_decided_case_are_public(read: Callable[..., Any], text: str) -> None:
    assert {a.subject for a in read(text, "law", kind="age")} == {"public"}


@pytest.mark.parametrize("text", [
    "My client is a 52-year-old nurse from Omaha. In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court "
    "held otherwise.",
    "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held otherwise. My client is a 52-year-old "
    "nurse from Omaha.", "The 52-year-old plaintiff sued.", "Alice sues Bob, a 52-year-old nurse.",
    "The court held a hearing for a 52-year-old man.",
])
def test_people_beside_a_case_are_not(read: Callable[..., Any], text: str) -> None:
    assert {a.subject for a in read(text, "law", kind="age")} == {"third"}


def test_a_speaker_beside_a_case_still_speaks(read: Callable[..., Any]) -> None:
    text = "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held so. I am 52 years old and live in Omaha."
    assert {a.subject for a in read(text, "law", kind="age")} == {"speaker"}
