"""Whether a piece of text by itself tells of one person: words for persons, forms of an age, enough words."""

from __future__ import annotations

import re
from functools import cache

from discreet.guard.text.render.words import PROSE
from discreet.guard.text.resources import rows, words

_WORD = re.compile(r"[^\W\d_]+")
_PRONOUN = re.compile(r"(?<!he or )(?<!his or )(?<!him or )(?<![\w/])(?:he|she|his|hers?|him)\b"
                      r"(?! or (?:she|hers?)\b)(?!/)", re.IGNORECASE)
_TENS = "(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-[a-z]{3,5})?"
_NUMBER = rf"(?:\d{{1,3}}|{_TENS})"
_YEARS_OLD = re.compile(rf"\b{_NUMBER}[ -]?(?:years?|yrs?)[ -]old\b|\b\d{{1,3}} ?(?:yo|y/o)\b", re.IGNORECASE)
_BAND = r"(?![\w+-]| ?(?:[-+%]|to\b|or\b|years? of\b|and (?:over|older|above|under|up)\b))"
_AGE = re.compile(rf"\b(?:aged?|is|am|turned) {_NUMBER}{_BAND}|(?:^|, ){_NUMBER}(?=,|$)", re.IGNORECASE)
_FEW = 3


@cache
def person_nouns() -> frozenset[str]:
    """Nouns of one person: "patient", "employee", "widow"."""
    said = words("referents")
    return frozenset[str]().union(*(said[f"person nouns{of}"] for of in ("", " m", " f")))


@cache
def person_words() -> frozenset[str]:
    """Words of one person: nouns, pronouns, relatives and occupations."""
    said = words("referents")
    jobs = {surface for surface, _, flag in rows("occupations", 3) if "w" not in flag and " " not in surface}
    kin = {surface for surface, *_ in rows("kin", 3)}
    return person_nouns().union(jobs, kin, said["he"], said["she"])


def is_sentence(text: str) -> bool:
    """Whether it reads as a sentence: more than three words, with a full stop."""
    return text.rstrip("\"'")[-1:] in ".!?" and len(text.split(None, _FEW)) > _FEW


def tells_of_one(text: str) -> bool:
    """Whether it reads as prose about one person: a word of a person with "… years old" among four words or more, or
    with another form of an age or a pronoun among seven or more. A band of ages ("40 to 49", "65 or older") is none."""
    number = len(text.split(None, PROSE))
    if number <= PROSE and not (number > PROSE // 2 and _YEARS_OLD.search(text)):
        return False
    if _PRONOUN.search(text):
        return True
    aged = _YEARS_OLD.search(text) or _AGE.search(text)
    return bool(aged) and any(word.lower() in person_words() for word in _WORD.findall(text))
