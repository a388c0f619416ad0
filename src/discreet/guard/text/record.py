"""Facts of a text and their words: whom a text describes, and how many facts of a description stand in another text.

Facts are compared by what tells something, in any order and inflection: numbers in words are digits, a relative has
one word ("kids", "children"), a married partner too; words that tell no fact are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from discreet.core.records import Subject
from discreet.guard.domains import Domain
from discreet.guard.text import lexicon as lex
from discreet.guard.text.attributes import Attribute, attributes_of, terms_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import Seen, packaged
from discreet.guard.text.resources import words as word_lists

_WORD = re.compile(r"[^\W_]+")
_UNITS = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = dict(zip([*_UNITS, *_TEENS, *_TENS], [*range(1, 20), *range(20, 100, 10)], strict=True))
_NUMBER = re.compile(rf"\b(?:({'|'.join(_TENS)})(?:[- ]({'|'.join(_UNITS)}))?|({'|'.join((*_TEENS, *_UNITS))}))\b")
STEMS = "twent thirt fort fift sixt sevent eight ninet".split()
_DECADE = re.compile(rf"\b(?:([2-9])0|({'|'.join(STEMS)}))['’]?(?:s|ies)\b")
_SAME = {"kid": "child", "youngster": "child", "wife": "spouse", "husband": "spouse", "partner": "spouse",
         "mom": "mother", "mum": "mother", "dad": "father"}
_BROAD = "married single divorced widowed engaged boyfriend girlfriend white black state employee worker".split()
_FRAMES = frozenset("year old age aged live life lives work trade birthday people person patient client".split())
STEM = 4
"""Letters that two forms of one word share at least."""
LONGEST, _PIECE = 20_000, 4_000
"""Characters of a text beyond which it is read in pieces, and of such a piece."""
FRAMED: tuple[Subject, ...] = ("hypothetical", "fictional", "historic")
"""Whom a frame makes of somebody."""
SURELY = 5.0
"""Log-odds of the classifier above which a text is a leak, whatever the reader says of whom it tells."""
Fact = tuple[str, tuple[str, ...]]
"""A class of attributes and the words that tell it, as `fact_words` has them."""


def fact_words(text: str, *, ages: bool = False) -> list[str]:
    """The words of a text that tell something; with `ages` a number also stands for its decade ("52|decade5")."""
    lower = text.lower()
    lower = _DECADE.sub(lambda m: f" decade{m[1] or 2 + STEMS.index(m[2])} ", lower)
    lower = _NUMBER.sub(lambda m: str(_VALUES[m[1] or m[3]] + (_VALUES[m[2]] if m[2] else 0)), lower)
    told = [lex.singular(word) for word in _WORD.findall(lower)]
    told = [lex.KIN[word][0] if word in lex.KIN else word for word in told if word not in _empty()]
    told = [_SAME.get(word, word) for word in told]
    return [f"{word}|decade{word[0]}" if ages and re.fullmatch(r"[2-9]\d", word) else word for word in told]


@lru_cache(maxsize=8192)
def token_words(token: str) -> tuple[str, ...]:
    """As `fact_words`, of one word or number."""
    return tuple(fact_words(token))


def is_alike(a: str, b: str) -> bool:
    """Whether two words may be forms of one ("bakery", "baker"; "nursing", "nurse")."""
    least = max(STEM, min(len(a), len(b)) - 2)
    return len(a) >= least and len(b) >= least and a[:least] == b[:least]


@cache
def common() -> frozenset[str]:
    """Words that tell of somebody what is true of very many."""
    return frozenset([*"0123456789", *(kin for kin, _ in lex.KIN.values()), *_SAME.values(), *_BROAD])


@cache
def _empty() -> frozenset[str]:
    """Words that tell no fact."""
    return word_lists("language")["en"] | _FRAMES | frozenset("abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class Read:
    """The attributes that a text tells, the terms of a domain among them."""

    doc: Doc
    attributes: tuple[Attribute, ...]

    @classmethod
    def of(cls, doc: Doc, domain: Domain) -> Read:
        """A text as read. Raises DetectorError."""
        seen = seen_in(doc, doc.text)
        return cls(doc, (*attributes_of(seen, doc), *terms_of(doc, domain, seen.spans)))

    def facts(self, counted: Collection[str], subjects: Collection[Subject] | None = None) -> frozenset[Fact]:
        """What is told of anybody, or of some `subjects`, in the classes that count."""
        found = (a for a in self.attributes if subjects is None or a.subject in subjects)
        return frozenset(facts_of(found, self.doc, counted))

    def private(self, counted: Collection[str]) -> frozenset[Fact]:
        """What is told of somebody private in the classes that count. Whom the reader takes for made up or of the past
        is private where the classifier is sure that the text leaks. Raises DetectorError."""
        framed: frozenset[Fact] = self.facts(counted, FRAMED)
        if framed:
            from discreet.guard.text.classifier import together_with  # Most records are read right.

            case = together_with(self.doc, "")
            framed = framed if case is not None and case.tells > SURELY else frozenset()
        return framed | self.facts(counted, ("third", "speaker"))


def pieces(text: str) -> list[str]:
    """A text, or a long one by paragraphs and lines, several in a piece: reading it whole would take seconds."""
    if len(text) <= LONGEST:
        return [text]
    found = [""]
    for line in re.findall(rf"[^\n]{{1,{_PIECE}}}\n*|\n+", text):
        if len(found[-1]) + len(line) > _PIECE:
            found.append("")
        found[-1] += line
    return [piece for piece in found if piece.strip()]


def seen_in(doc: Doc, text: str, questions: tuple[str, ...] = ()) -> Seen:
    """What the reader sees in a text of a document, and behind each of some questions; read once. Raises
    DetectorError."""
    return doc.once(("seen", text, questions), lambda: packaged().read(text, questions))


def facts_of(attributes: Iterable[Attribute], doc: Doc, counted: Collection[str]) -> Iterator[Fact]:
    """The attributes of a text that count, as facts."""
    for a in attributes:
        words = tuple(fact_words(doc.prepared.original[a.start : a.end])) if a.kind in counted else ()
        if words:
            yield a.kind, words


class Words:
    """The words of a text, in which facts are looked up: ages, also by their decade, and places the very word, others
    in any form."""

    def __init__(self, text: str) -> None:
        self._words = frozenset(word for one in fact_words(text, ages=True) for word in one.split("|"))
        self._stems: dict[str, list[str]] = {}
        for word in self._words:
            self._stems.setdefault(word[:STEM], []).append(word)

    def tells(self, fact: Fact) -> bool:
        """Whether a word of a fact stands there."""
        kind, told = fact
        return any(w in self._words or (kind not in ("age", "place")
                                        and any(is_alike(w, o) for o in self._stems.get(w[:STEM], ()))) for w in told)


def shared(facts: Iterable[Fact], text: str) -> int:
    """How many facts have a word in a text; see `Words`."""
    words = Words(text)
    return sum(map(words.tells, facts))
