from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.text.doc import Doc
from discreet.text.evidence.published import cases

CITED = [
    "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held that counsel must be given.",
    "Brown v. Board of Education, 347 U.S. 483, is the leading case.",
    "The court affirmed in Smith v. Jones.",
    "In Doe vs. Roe the panel reversed the judgment.",
    "The judge ruled for the plaintiff in Estate of Lee v. Acme Corp. last year.",
    "See 123 F.3d 456 (9th Cir. 1997), where the court denied the motion.",
    "The rule stems from 45 Cal.App.4th 1200, in which the court concluded that the tenant had standing.",
]
NOT_CITED = [
    "",
    "My landlord kept my deposit.",
    "Alice sues Bob over a fence.",
    "The court held a hearing.",
    "Roe v. Wade",
    "The plaintiff lives in Omaha.",
    "He scored 3 v. 2.",
    "Take 5 mg v. 10 mg.",
    "Section 1983 is a statute.",
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


@pytest.mark.parametrize(
    "text",
    [
        "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held for the petitioner, a 52-year-old drifter "
        "from Florida.",
        "In Miller v. Alabama, 567 U.S. 460 (2012), the Court held that the sentence of the 14-year-old "
        "petitioner was cruel.",
        "In Doe v. Roe, 12 F.3d 345, the panel reversed: the plaintiff, a 40-year-old nurse, had standing.",
        "The court ruled in Lee v. Acme Corp. that the 61-year-old plaintiff had been dismissed because of his age.",
    ],
)
def test_parties_of_a_decided_case_are_public(read: Callable[..., Any], text: str) -> None:
    assert {a.subject for a in read(text, "law", kind="age")} == {"public"}


@pytest.mark.parametrize(
    "text",
    [
        "My client is a 52-year-old nurse from Omaha. In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court "
        "held otherwise.",
        "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held otherwise. My client is a 52-year-old "
        "nurse from Omaha.",
        "The 52-year-old plaintiff sued.",
        "Alice sues Bob, a 52-year-old nurse.",
        "The court held a hearing for a 52-year-old man.",
    ],
)
def test_people_beside_a_case_are_not(read: Callable[..., Any], text: str) -> None:
    assert {a.subject for a in read(text, "law", kind="age")} == {"third"}


def test_a_speaker_beside_a_case_still_speaks(read: Callable[..., Any]) -> None:
    text = "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held so. I am 52 years old and live in Omaha."
    assert {a.subject for a in read(text, "law", kind="age")} == {"speaker"}
