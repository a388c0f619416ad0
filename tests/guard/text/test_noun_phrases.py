from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.guard.text.doc import Doc
from discreet.guard.text.noun_phrases import Name, is_agent_noun, name_at


@pytest.mark.parametrize(
    "word", ["hedgelayer", "taxidermist", "wheelwright", "locksmith", "deckhand", "translator", "ferryman"]
)
def test_a_trade_has_the_form_of_an_agent_noun(word: str) -> None:
    assert is_agent_noun(word)


@pytest.mark.parametrize("word", [
    "smoker", "carrier", "survivor", "debtor", "taxpayer", "sister", "defibrillator", "older", "pushover", "italian",
    "table",
])
def test_states_kin_roles_and_things_are_none(word: str) -> None:
    assert not is_agent_noun(word)


def names(text: str) -> list[tuple[str, Name]]:
    doc = Doc.of(text)
    found = [(i, name_at(doc, i)) for i, t in enumerate(doc.tokens) if t.is_capitalised]
    return [(doc.text[doc.tokens[i].start : doc.tokens[n.last - 1].end], n) for i, n in found if n is not None]


@pytest.mark.parametrize(("text", "name", "gender"), [
    ("Mr. Alvarez signed the lease.", "Mr. Alvarez", "m"), ("We saw Mrs. Ortiz on Monday.", "Mrs. Ortiz", "f"),
    ("Ms Ortiz was seen.", "Ms Ortiz", "f"), ("Miss Dunne has asthma.", "Miss Dunne", "f"),
    ("Maria Gonzalez has diabetes.", "Maria Gonzalez", None),
    ("The letter came from Jennifer Kowalski yesterday.", "Jennifer Kowalski", None),
    ("Kevin sued his landlord.", "Kevin", None), ("Aaliyah, a nurse, was seen.", "Aaliyah", None),
    ("Mr. John Paul Alvarez died.", "Mr. John Paul Alvarez", "m"),
])
def test_people(text: str, name: str, gender: str | None) -> None:
    found = names(text)
    assert name in [words for words, _ in found]
    [first] = [n for words, n in found if words == name]
    assert (first.gender, first.official) == (gender, False)


@pytest.mark.parametrize("text", [
    "Dr. Chen ordered a scan.", "Judge Harlan denied the motion.", "Justice Kagan wrote the opinion.",
    "Professor Okafor led the study.", "Officer Dunne wrote the ticket.", "Senator Warren proposed the bill.",
    "Attorney Reyes filed the brief.",
])
def test_people_in_office(text: str) -> None:
    [(_, name)] = names(text)[:1]
    assert name.official


@pytest.mark.parametrize("text", [
    "The Court held that it was void.", "In January the drug was approved.", "Omaha is in Nebraska.",
    "Parkinson disease is chronic.", "Section 8 vouchers are scarce.", "Take Tylenol with food.",
    "Wells Fargo Bank was fined.", "Medicare pays for the scan.", "She has Type 2 diabetes.",
    "Diabetes is a common disease.", "Insulin is stored in the fridge.", "Bitcoin is volatile.",
    "Probation is a sentence.", "Surgery was not needed.", "Metformin has few side effects.", "Monday is a holiday.",
    "Divorce is governed by state law.",
])
def test_what_is_nobody(text: str) -> None:
    assert names(text) == []


def test_one_person_has_one_key() -> None:
    keys = {n.key for words, n in names("Maria Gonzalez was seen. Mrs. Gonzalez left.") if "Gonzalez" in words}
    assert len(keys) == 1


@given(
    st.text()
    | st.lists(st.sampled_from(["Mr", ".", "Maria", "Gonzalez", "was", "Dr", "the", "v", "Court", ",", "a"])).map(
        " ".join
    )
)
def test_a_name_ends_behind_its_start(text: str) -> None:
    doc = Doc.of(text)
    for i in range(len(doc.tokens)):
        name = name_at(doc, i)
        if name is not None:
            assert i < name.last <= len(doc.tokens)
            assert name.gender in ("m", "f", None)


def test_repr_shows_no_name() -> None:
    assert "alvarez" not in repr(names("Mr. Alvarez signed.")[0][1]).lower()
