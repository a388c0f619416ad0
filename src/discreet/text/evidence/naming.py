"""Whether a capitalised word names a person, and in what office."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.text.doc import Doc
from discreet.text.evidence import gazetteers
from discreet.text.resources import words

_WORDS = words("referents")
TITLES: dict[str, str | None] = {title: gender for gender in "mf" for title in _WORDS[f"titles {gender}"]}
OFFICES = _WORDS["offices"]
_NOT_NAMES = _WORDS["not names"]


@dataclass(frozen=True, slots=True)
class Name:
    """A person's name: its key, the token after it, and what the title tells."""

    key: str = field(repr=False)
    last: int
    gender: str | None
    official: bool
    joins: bool


def name_at(doc: Doc, i: int) -> Name | None:
    """The name that begins at token `i`, or None."""
    word = doc.lowers[i]
    if word in TITLES or word in OFFICES:
        return _titled(doc, i, word)
    if word in _NOT_NAMES or not word.isalpha():
        return None
    last = i + 1
    while last < len(doc.tokens) and last - i < 4 and _continues(doc, last):
        last += 1
    after = doc.lowers[last] if last < len(doc.tokens) else ""
    if (
        after in _WORDS["company words"]
        or doc.lowers[last - 1] in _WORDS["company words"]
        or doc.words(i - 2, i).endswith(("v .", "v", "vs"))
    ):
        return None
    given = gazetteers.given_names()
    flag = given.get(word)
    if flag == "-" and word not in gazetteers.places() and (last > i + 1 or _acts(doc, last)):
        return Name(doc.lowers[last - 1], last, None, False, joins=False)
    if last == i + 1 and not _listed(word) and _acts(doc, last) and _stands_alone(doc, i, last):
        return Name(word, last, None, False, joins=False)
    return None


def _listed(word: str) -> bool:
    """Whether a capitalised word is something else than a surname: a place, a people, a term, a job."""
    tables = (gazetteers.places, gazetteers.demonyms, gazetteers.occupations, gazetteers.organisations)
    return any(word in table() for table in tables) or gazetteers.is_domain_term(word)


def _stands_alone(doc: Doc, i: int, last: int) -> bool:
    """A surname alone: not the tail of a longer name of a thing, and at the head of a sentence only with more to go on."""
    begin = doc.sentence_of(i)[0]
    if i > begin:
        before = doc.tokens[i - 1]
        return not (before.text[0].isupper() and before.text.isalpha() and len(before.text) > 1)
    word = doc.tokens[i].text
    again = any(t.text == word and t.start != doc.tokens[begin].start and j > 0 and doc.tokens[j - 1].sentence == t.sentence
                for j, t in enumerate(doc.tokens) if j != i)
    apposed = doc.lowers[last] == ","
    return again or apposed or doc.lowers[last] in _WORDS["human verbs"]


def _titled(doc: Doc, i: int, word: str) -> Name | None:
    j = i + 1
    if j < len(doc.tokens) and doc.lowers[j] == ".":
        j += 1
    last = j
    while last < len(doc.tokens) and last - j < 3 and _continues(doc, last):
        last += 1
    if last == j or not doc.tokens[i].text[0].isupper():
        return None
    official = word in OFFICES
    return Name(doc.lowers[last - 1], last, TITLES.get(word), official, joins=not official)


def _continues(doc: Doc, i: int) -> bool:
    token = doc.tokens[i]
    return (
        token.text[0].isupper()
        and token.lower.isalpha()
        and token.lower not in _NOT_NAMES
        and token.sentence == doc.tokens[i - 1].sentence
    )


def _acts(doc: Doc, i: int) -> bool:
    """Whether what follows a capitalised word is what follows a person: a deed, or an apposition."""
    if i >= len(doc.tokens):
        return False
    if doc.lowers[i] in _WORDS["name verbs"]:
        return True
    return (
        doc.lowers[i] == ","
        and i + 1 < len(doc.tokens)
        and doc.lowers[i + 1] in ("a", "an", "who", "whose", "age", "aged")
    )
