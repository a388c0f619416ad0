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
_APPOSED = frozenset(["a", "an", "who", "whose", "age", "aged"])


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
    last = _name_end(doc, i + 1, i + 4)
    beside = {doc.lowers[last - 1], *doc.lowers[last : last + 1]}
    if beside & _WORDS["company words"] or doc.words(i - 2, i).endswith(("v .", "v", "vs")):
        return None
    acts = _acts(doc, last)
    if gazetteers.given_names().get(word) == "-" and word not in gazetteers.places() and (last > i + 1 or acts):
        return Name(doc.lowers[last - 1], last, None, False, joins=False)
    if last == i + 1 and acts and not _listed(word) and _stands_alone(doc, i, last):
        return Name(word, last, None, False, joins=False)
    return None


def _titled(doc: Doc, i: int, word: str) -> Name | None:
    first = i + 2 if doc.lowers[i + 1 : i + 2] == (".",) else i + 1
    last = _name_end(doc, first, first + 3)
    if last == first or not doc.tokens[i].text[0].isupper():
        return None
    official = word in OFFICES
    return Name(doc.lowers[last - 1], last, TITLES.get(word), official, joins=not official)


def _name_end(doc: Doc, first: int, end: int) -> int:
    """The end of the capitalised words from `first` on, in the sentence of the token before."""
    for last in range(first, min(end, len(doc.tokens))):
        token = doc.tokens[last]
        named = token.text[0].isupper() and token.lower.isalpha() and token.lower not in _NOT_NAMES
        if not named or token.sentence != doc.tokens[last - 1].sentence:
            return last
    return max(first, min(end, len(doc.tokens)))


def _listed(word: str) -> bool:
    """Whether a capitalised word is something else than a surname: a place, a people, a term, a job."""
    tables = (gazetteers.places, gazetteers.demonyms, gazetteers.occupations, gazetteers.organisations)
    return any(word in table() for table in tables) or gazetteers.is_domain_term(word)


def _stands_alone(doc: Doc, i: int, last: int) -> bool:
    """A surname alone: not the tail of a longer name, and at the head of a sentence only with more to go on."""
    if i > doc.sentence_of(i)[0]:
        before = doc.tokens[i - 1].text
        return not (before[0].isupper() and before.isalpha() and len(before) > 1)
    if doc.lowers[last] == "," or doc.lowers[last] in _WORDS["human verbs"]:
        return True
    # Named again, inside a sentence.
    again = (j for j, token in enumerate(doc.tokens) if token.text == doc.tokens[i].text and j not in (0, i))
    return any(doc.tokens[j - 1].sentence == doc.tokens[j].sentence for j in again)


def _acts(doc: Doc, i: int) -> bool:
    """Whether what follows a capitalised word is what follows a person: a deed, or an apposition."""
    following = doc.lowers[i : i + 2]
    if not following:
        return False
    return following[0] in _WORDS["name verbs"] or (following[0] == "," and following[-1] in _APPOSED)
