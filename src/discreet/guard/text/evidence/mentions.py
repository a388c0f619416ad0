"""Mentions and attributes: the records between the taggers and the binding, and the taggers' registry.

Taggers (plug-ins, one class of attribute each) find mentions: "52-year-old" is an age, "from Omaha" a place. Binding
then says whose mention it is, from the referents around it. The value of an attribute lives in memory only; what leaves
the process is `Evidence`: type, subject and offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

from discreet.core.records import Evidence, Subject
from discreet.core.registry import Registry
from discreet.guard.domains import ALWAYS, IDENTIFYING, DomainLike, load_domain
from discreet.guard.text.doc import Doc, lower_of_same_length
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.referents import Referent, find_referents

__all__ = ["IDENTIFYING", "Attribute", "Context", "Mention", "Tagger", "classes_of", "mentions_of", "tagger", "taggers"]


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a text states an attribute, before it is known of whom.

    `start` and `end` are offsets in the normalised text. `who` names the person when the wording itself does
    ("my husband is a teacher"); None leaves it to binding. A `weak` mention rests on a cue that a careful reader
    would take and a hasty one would not.
    """

    kind: str
    value: str = field(repr=False)
    start: int
    end: int
    why: str
    who: str | None = None
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Attribute:
    """One fact of one class about one person. `start` and `end` are offsets in the original text, `rendered` those in
    the rendered text, where known; `probability` that it stands there, 1 where a rule says so; `overruled`: whom the
    reader read of is no individual to the rules."""

    kind: str
    value: str = field(repr=False)
    subject: Subject
    person: str = field(repr=False)
    start: int
    end: int
    why: str
    weak: bool = False
    probability: float = 1.0
    overruled: bool = False
    rendered: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands, to compare with other attributes of the same answer: in the rendered text, where known.

        All that a decoded run says has the offsets of the whole run in the original.
        """
        return self.rendered or (self.start, self.end)

    def evidence(self) -> Evidence:
        """What may leave the process: no value, no words."""
        return Evidence(self.kind, self.subject, self.start, self.end)


class Context:
    """A document with its referents, as the taggers see it."""

    def __init__(self, doc: Doc, domain: DomainLike) -> None:
        self.doc = doc
        self.text = doc.text
        self.domain = load_domain(domain)

    @cached_property
    def lower(self) -> str:
        """The normalised text in lower case, of the same length."""
        return lower_of_same_length(self.text)

    @property
    def person_words(self) -> lex.PersonWords:
        """The nouns for persons, those of the domain among them."""
        return lex.person_words(self.domain.person, self.domain.people)

    @cached_property
    def referents(self) -> tuple[Referent, ...]:
        """Who the text points at, in order."""
        return find_referents(self.doc, self.person_words)

    @cached_property
    def _lasts(self) -> list[int]:
        return [r.last for r in self.referents]

    def referent_ending(self, last: int) -> Referent | None:
        """The referent whose last token is the one before `last`, or None."""
        at = bisect_left(self._lasts, last)
        return self.referents[at] if at < len(self._lasts) and self._lasts[at] == last else None

    def referent_from(self, first: int) -> Referent | None:
        """The first referent that begins at a token or after it, or None."""
        after = islice(self.referents, bisect_right(self._lasts, first), None)
        return next((r for r in after if r.first >= first), None)

    @cached_property
    def is_personal(self) -> bool:
        """Whether somebody speaks of their own affairs in the first person singular, more than in passing."""
        return sum(r.subject == "speaker" and self.doc.lowers[r.first] in lex.FIRST for r in self.referents) >= 2

    def mention(self, kind: str, value: str, first: int, last: int, why: str, **more: Any) -> Mention:
        """A mention of tokens [first, last)."""
        tokens = self.doc.tokens
        return Mention(kind, value, tokens[first].start, tokens[last - 1].end, why, **more)


def mentions_of(kind: str, matches: Iterable[re.Match[str]], why: str, *, group: int = 1, value: str = "",
                **more: Any) -> Iterator[Mention]:
    """A mention of a group of each match, with the group's words for a value where none is given."""
    for m in matches:
        yield Mention(kind, value or " ".join(m.group(group).lower().split()), *m.span(group), why, **more)


class Tagger(Protocol):
    """Finds the mentions of some classes. Plug-ins register an instance under a name.

    `kinds` may be empty where they depend on the domain; `domains` names the domains that it reads, None for all.
    """

    kinds: tuple[str, ...]
    domains: tuple[str, ...] | None

    def find(self, context: Context) -> Iterable[Mention]:
        """Every mention in the text; overlaps and repetitions are allowed."""


taggers: Registry[Tagger] = Registry("taggers", builtin="discreet.guard.text.evidence.taggers")


@dataclass
class _Function:
    kinds: tuple[str, ...]
    find: Callable[[Context], Iterable[Mention]]
    domains: tuple[str, ...] | None = None


def tagger(name: str, *kinds: str) -> Callable[[Callable[[Context], Iterable[Mention]]], Tagger]:
    """Decorator: registers a function of a `Context` as the tagger `name` of `kinds`, for every domain."""
    return lambda find: taggers.register(name)(_Function(kinds, find))


def classes_of(domain: DomainLike) -> tuple[str, ...]:
    """The classes of a domain (paper Table II), shared and its own, and those that every domain has."""
    found = load_domain(domain)
    return (*found.shared, *found.own, *ALWAYS)
