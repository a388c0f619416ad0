"""What is read of a finding of the guard and said of a person, and the words around it that no count holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from discreet.core.records import Subject
from discreet.guard.population.words import Value
from discreet.guard.text.doc import Doc
from discreet.guard.text.record import fact_words


class Found(Protocol):
    """A finding of the guard (`discreet.guard.reading.Finding`), as far as it is read here."""

    @property
    def type(self) -> str:
        """Class of attribute."""
    @property
    def subject(self) -> Subject:
        """Whose kind."""
    @property
    def person(self) -> str:
        """Who of the text."""
    @property
    def start(self) -> int:
        """First offset."""
    @property
    def end(self) -> int:
        """Offset past the last."""
    @property
    def layer(self) -> str:
        """Direct or contextual."""


class Said(NamedTuple):
    """A class of attribute and what is said of it."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Description:
    """What a text says of one person.

    Attributes
    ----------
    cluster : mapping of column to values
        What a population is asked: numbers for ages, else the survey's words; `place` holds a path of the gazetteer.
    kinds : mapping of column to class
        From which class of findings a column comes.
    widened : tuple of Said
        Where a column is coarser than the words: the count is an upper bound of those whom the words fit.
    dropped : tuple of Said
        What does not reach the population, and why: the count is an upper bound.
    not_counted : tuple of str
        Classes of the domain (a condition, a matter), for which there is no population.
    notes : tuple of str
        Contradictions, and which reading was taken.
    spans : mapping of column to pairs of offsets
        Where in the text a column was read.
    """

    person: str
    subject: Subject
    cluster: Mapping[str, frozenset[Value]] = field(repr=False)
    kinds: Mapping[str, str]
    widened: tuple[Said, ...] = ()
    dropped: tuple[Said, ...] = ()
    not_counted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    spans: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)


def uncounted_words(doc: Doc, findings: Iterable[Found], counted: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """The words, each once, that tell something in the sentences of `findings` and lie in none of the spans `counted`.

    A finding that is not counted and lies inside a counted one ("blind" in "blind lawyer") is not counted. Words stand
    as in the rendered text, in its order. "only" is among them, though it is a function word: of a person it singles
    out.
    """
    findings = tuple(findings)
    if not doc.tokens:
        return ()
    told = {doc.tokens[i].sentence for f in findings for i in _touched(doc, f.start, f.end)}
    inside: dict[int, int] = {}
    for start, end in counted:
        for i in _touched(doc, start, end):
            inside[i] = min(end - start, inside.get(i, end - start))
    for f in findings:
        for i in _touched(doc, f.start, f.end):
            if f.end - f.start < inside.get(i, 0):
                del inside[i]
    telling = doc.once(_telling, lambda: _telling(doc))
    words: dict[str, str] = {}
    for i in (i for number in sorted(told) for i in telling[number] if i not in inside):
        words.setdefault(doc.tokens[i].lower, doc.tokens[i].text)
    return tuple(words.values())


def _touched(doc: Doc, start: int, end: int) -> Iterator[int]:
    """The tokens that share a character with a span of the original."""
    for i in range(doc.token_at_original(start), len(doc.tokens)):
        first, last = doc.prepared.span(doc.tokens[i].start, doc.tokens[i].end)
        if first >= end:
            return
        if last > start:
            yield i


def _telling(doc: Doc) -> list[list[int]]:
    """The tokens of each sentence that tell something."""
    return [[i for i in range(first, last) if doc.lowers[i] == "only" or fact_words(doc.lowers[i])]
            for first, last in doc.sentences]
