from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.records import SUBJECTS
from discreet.guard.text.doc import Doc
from discreet.guard.text.lexicon import person_words
from discreet.guard.text.referents import Referent, find_referents

WORDS = [
    "I", "my", "she", "her", "he", "they", "you", "we", "a", "the", "patient", "patients", "woman", "husband", "if",
    "should", "Mrs", ".", "Ortiz", "report", "'s", "or", "his", ",", "nurse", "52", "-", "year", "old", "\n\n", "“",
]


def pointed(text: str) -> list[tuple[str, Referent]]:
    doc = Doc.of(text)
    return [(doc.words(r.first, r.last), r) for r in find_referents(doc)]


def persons(text: str) -> dict[str, str]:
    """Words that point to the person they point at; each pointing has other words."""
    found = pointed(text)
    assert len({words for words, _ in found}) == len(found)
    return {words: r.person for words, r in found}


def subjects(text: str) -> set[str]:
    return {r.subject for _, r in pointed(text)}


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_in_order_in_range_and_repeatable(text: str) -> None:
    doc = Doc.of(text)
    found = find_referents(doc)
    assert found == find_referents(Doc.of(text))
    end = 0
    for r in found:
        assert end <= r.last
        assert 0 <= r.first < r.last <= len(doc.tokens)
        assert r.subject in SUBJECTS
        assert r.gender in ("m", "f", None)
        end = r.last


@pytest.mark.parametrize("text", [
    "A 45-year-old woman came. She smokes. The patient takes warfarin.", "The patient came. She smokes.",
    "Mrs. Ortiz came. She smokes. The patient takes warfarin.", "The client called. He lives alone.",
    "The patient called. They live alone.", "A man came with his bag. The gentleman smokes. He drinks.",
])
def test_one_person(text: str) -> None:
    assert len({r.person for _, r in pointed(text)}) == 1
    assert subjects(text) == {"third"}


@pytest.mark.parametrize(("person", "people", "text"), [
    ("pupil", "pupils", "A dyslexic pupil from Omaha came. The pupil left."), ("pupil", "pupils", "Pupil is Somali."),
    ("pupil", "pupils", "A 9-year-old came. The pupil smokes."), ("Pupil in care", "pupils", "The pupil came."),
    ("service user", "service users", "The service user came."), ("care-leaver", "people", "A care-leaver came.")])
def test_the_person_of_a_domain_is_a_person(person: str, people: str, text: str) -> None:
    found = find_referents(Doc.of(text), person_words(person, people))
    assert {r.person for r in found} == {"p1"}
    assert find_referents(Doc.of(text)) != found


def test_the_people_of_a_domain_are_a_group() -> None:
    [found] = find_referents(Doc.of("Pupils from Omaha came."), person_words("pupil", "pupils"))
    assert (found.subject, found.form) == ("cohort", "plural")


@pytest.mark.parametrize("person", ["person", "patient", "party", "Looked-after child", "of"])
def test_words_that_a_domain_adds_nothing_by(person: str) -> None:
    assert person_words(person) == person_words()


@pytest.mark.parametrize("text", [
    "A man came. A woman came.", "The plaintiff sued. The buyer left.", "Mr. Alvarez met Mrs. Ortiz.",
    "My mother met a client.", "A 45-year-old woman came. A 50-year-old woman came later.",
    "My husband works. My daughter studies.",
])
def test_two_persons(text: str) -> None:
    assert len({r.person for _, r in pointed(text) if r.subject == "third"}) == 2


def test_pronouns_go_back_to_their_gender() -> None:
    text = "A man came. A woman sat. He smokes. She drinks."
    found = persons(text)
    assert found["he"] == found["a man"]
    assert found["she"] == found["a woman"]


def test_relatives_belong_to_their_owner() -> None:
    found = pointed("I am tired. My husband is ill. He smokes.")
    by_word = dict(found)
    assert by_word["i"].person == by_word["my"].person
    assert (by_word["i"].subject, by_word["husband"].subject) == ("speaker", "third")
    assert by_word["he"].person == by_word["husband"].person != by_word["my"].person
    assert by_word["my"].possessive


@pytest.mark.parametrize("text", [
    "The patient's mother smokes.", "Her mother smokes.", "The patient's 80-year-old mother smokes.",
    "The client's late mother smoked.",
])
def test_a_relative_of_a_third_person_is_another_person(text: str) -> None:
    found = [r for _, r in pointed(text) if r.subject == "third"]
    assert len({r.person for r in found}) == 2


@pytest.mark.parametrize("text", [
    "Patients should rest.", "If a patient smokes, call.", "A tenant may sue.", "Any man who smokes should stop.",
    "Every taxpayer must file.", "Adults aged 50 should be screened.", "A defendant cannot be tried twice.",
    "When a woman is pregnant, she should rest.", "A tenant has a right to heat.",
    "Each heir gets a share of his estate.",
])
def test_groups_and_rules_are_cohorts(text: str) -> None:
    assert subjects(text) <= {"cohort", "nobody", "asker"}


@pytest.mark.parametrize("text", ["A tenant was evicted and owes rent.", "A tenant smokes; she owes rent."])
def test_a_story_is_no_rule(text: str) -> None:
    assert "cohort" not in subjects(text)


@pytest.mark.parametrize("text", ["The user should tell his or her doctor.", "He or she must file.", "He/she signs."])
def test_either_sex_is_nobody(text: str) -> None:
    assert "third" not in {r.subject for words, r in pointed(text) if words in ("he", "she", "his", "her")}


@pytest.mark.parametrize("text", [
    "We report a case of gout.", "We here describe two cases.", "We found that it helps.",
    "Our study shows a benefit.",
])
def test_authors_are_nobody(text: str) -> None:
    assert {r.subject for words, r in pointed(text) if words in ("we", "our")} <= {"nobody"}


@pytest.mark.parametrize(
    "text", ["We moved to Omaha.", "I smoke.", "They gave me a pill.", "Our landlord left.", "I'm ill."]
)
def test_the_first_person_speaks(text: str) -> None:
    assert "speaker" in subjects(text)


@pytest.mark.parametrize("text", ["You should rest.", "Your doctor knows.", "You're 52."])
def test_the_second_person_asked(text: str) -> None:
    assert "asker" in subjects(text)


@pytest.mark.parametrize("text", ["Dr. Chen ordered a scan.", "Judge Harlan denied the motion."])
def test_people_in_office_are_public(text: str) -> None:
    assert subjects(text) <= {"public", "nobody"}


@pytest.mark.parametrize("text", [
    "", "   ", "🙂", "The drug lowers the risk.", "Patient care is costly.", "The parent company failed.",
    "Interest is due.", "Child support is due.", "Diabetes is common.", "Insulin was costly.",
])
def test_nobody(text: str) -> None:
    assert pointed(text) == []


@pytest.mark.parametrize(
    "noun", ["patient", "client", "plaintiff", "taxpayer", "borrower", "man", "woman", "nurse", "welder"]
)
def test_the_definite_noun_points_at_one_person(noun: str) -> None:
    assert {r.subject for _, r in pointed(f"The 52-year-old {noun} left. The {noun} came back.")} == {"third"}
    assert len({r.person for _, r in pointed(f"The 52-year-old {noun} left. The {noun} came back.")}) == 1


@pytest.mark.parametrize("noun", ["patient", "client", "borrower", "woman", "petitioner"])
def test_an_apostrophe_makes_an_owner(noun: str) -> None:
    found = pointed(f"The {noun}'s scan was clear.")
    assert [(r.subject, r.possessive) for _, r in found] == [("third", True)]
