"""Whom a text describes, in another text: how many facts of a description stand in a record."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from discreet.core.records import Subject
from discreet.guard.domains import Domain
from discreet.guard.text.attributes import Attribute, attributes_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.facts import STEM, fact_words, is_alike
from discreet.guard.text.reader import Seen, packaged
from discreet.guard.text.terms import terms_of

LONGEST, _PIECE = 20_000, 4_000
"""Characters of a text beyond which it is read in pieces, and of such a piece."""
FRAMED: tuple[Subject, ...] = ("hypothetical", "fictional", "historic")
"""Whom a frame makes of somebody."""
SURELY = 5.0
"""Log-odds of the classifier above which a text is a leak, whatever the reader says of whom it tells."""
Fact = tuple[str, tuple[str, ...]]
"""A class of attributes and the words that tell it, as `fact_words` has them."""


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
