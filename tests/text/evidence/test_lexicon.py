from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import pytest

from discreet.text.evidence import lexicon as lex
from discreet.text.resources import patterns

AUTHORS = patterns("referents")["authors"]
LISTS = {
    name: value for name, value in vars(lex).items() if name[0].isupper() and isinstance(value, frozenset | Mapping)
}


def test_there_are_lists() -> None:
    assert {"FIRST", "SECOND", "THIRD", "PERSON_NOUNS", "PLURAL_NOUNS", "KIN", "DETERMINERS", "MODALS"} <= set(LISTS)


@pytest.mark.parametrize("name", LISTS)
def test_words_are_single_lower_case_and_there(name: str) -> None:
    words = list(LISTS[name])
    assert words
    assert all(w == w.lower().strip() and w and " " not in w for w in words)


def test_pronouns_of_different_persons_share_no_word() -> None:
    pronouns = [set(lex.FIRST), set(lex.FIRST_PLURAL), set(lex.SECOND), set(lex.THIRD), set(lex.THEY)]
    assert all(not one & two for one, two in combinations(pronouns, 2))


def test_one_person_is_not_several() -> None:
    assert not set(lex.PERSON_NOUNS) & lex.PLURAL_NOUNS


@pytest.mark.parametrize(("word", "gender"), [("he", "m"), ("his", "m"), ("she", "f"), ("her", "f")])
def test_pronouns_tell_a_gender(word: str, gender: str) -> None:
    assert lex.THIRD[word] == gender


def test_genders_are_two_or_unknown() -> None:
    assert set(lex.THIRD.values()) == {"m", "f"}
    assert set(lex.PERSON_NOUNS.values()) == {"m", "f", None}
    assert {gender for _, gender in lex.KIN.values()} == {"m", "f", None}


def test_relatives_lead_to_listed_relatives() -> None:
    for canonical, gender in lex.KIN.values():
        assert lex.KIN[canonical] == (canonical, gender)


def test_a_word_that_is_kin_and_noun_tells_one_gender() -> None:
    for word, (_, gender) in lex.KIN.items():
        if lex.PERSON_NOUNS.get(word) is not None:
            assert lex.PERSON_NOUNS[word] == gender


def test_generic_determiners_are_determiners() -> None:
    assert lex.GENERIC_DETERMINERS <= lex.DETERMINERS


@pytest.mark.parametrize("after", ["report a case", "present two patients", "found that", "here describe"])
def test_authors_speak(after: str) -> None:
    assert AUTHORS.match(after)


@pytest.mark.parametrize("after", ["moved to omaha", "live here", "have two children", "are tenants"])
def test_people_speak(after: str) -> None:
    assert not AUTHORS.match(after)
