"""Is a record what it says? Direct identifiers, requested classes bound to one person, banned words, attributes nobody
asked for, and the marks of text that is no answer (paper sections IV-B, IV-D, IV-E, appendices A and E).

What a generator knows of its own text (the slots) is taken from it, and a grammar knows all of its words: its records
are made to test what reads them, so the learned reader picks none of them. What a model wrote has no slots: there the
reader says which attributes a text binds to whom. Facts of the domain bind loosely in running prose, so unplanned ones
are not looked for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from discreet.core.errors import UsageError
from discreet.guard.domains import IDENTIFYING, DomainLike, load_domain
from discreet.guard.text.attributes import Attribute, attributes_of, terms_of
from discreet.guard.text.consent import OwnWords, Spoken, repeated
from discreet.guard.text.direct import find_direct
from discreet.guard.text.doc import Doc
from discreet.guard.text.language import guess_language
from discreet.guard.text.record import seen_in
from discreet.guard.text.render import render
from discreet.synth.checks import ECHO, is_truncated, longest_echo, task_talk
from discreet.synth.others import MAIN, Turn, turns
from discreet.synth.records import PASSAGES, Record
from discreet.synth.seeds import SeedPassage

Check = Callable[[Record], Sequence[str]]
"""Why a record fails, or nothing; `Validator` is one."""
WORDS: tuple[int, int] = (60, 180)
"""Fewest and most words of an answer."""
INFERRED = 0.5
"""Probability from which a class that no words state counts as told, in mode INDIRECT_QI."""
SURE = 0.9
"""Probability from which an attribute that nobody asked for counts as told."""
GRAMMAR = "grammar"
QUOTES = "PUBLIC_GUIDELINE_QUOTES"
_TOLD = ("third", "speaker")


class Validator:
    """The checks of one domain, whose policy may let direct identifiers pass.

    Parameters
    ----------
    domain : Domain, str or Path
        Whose classes and policy count.
    words : (int, int)
        Fewest and most words of an answer; `Prompter.words` for what its prompts asked for.

    Raises UsageError for an unknown domain and impossible `words`.
    """

    def __init__(self, domain: DomainLike, *, words: tuple[int, int] = WORDS) -> None:
        self.domain = load_domain(domain)
        if not 0 < words[0] <= words[1]:
            raise UsageError(f"an answer of {words[0]} to {words[1]} words cannot be: expected 0 < fewest <= most")
        self._words = words

    def __call__(self, record: Record, seed: SeedPassage | None = None) -> tuple[str, ...]:
        """Why a record fails, or nothing. The cheapest checks come first and the rest are left out once one fails.

        Reasons: `domain`; `length`; `request` (classes that the kind cannot have, or fewer than two); `slot` (a slot
        that is empty, outside the answer, or of a class that was not asked for); `missing:CLASS`; `task` (the answer
        speaks of its task); `placeholder` ("[City]"); `truncated` (no end); `forbidden` (a banned word); `echo` (twelve
        words in a row of its seed; quotations of public guidance may); `direct:TYPE` (a direct identifier: a named
        individual, a formatted date of birth, …); `language`; `unbound` (the requested classes are told, but not of one
        person); `unplanned:KIND` (an identifying attribute that was not asked for); `cluster` (two identifying
        attributes of one person in a safe or borderline record).
        """
        return self._request(record) or self._form(record, seed) or self._content(record)

    def _request(self, record: Record) -> tuple[str, ...]:
        spec, draft = record.spec, record.draft
        if spec.domain != self.domain.name:
            return ("domain",)
        if not self._words[0] <= len(draft.answer.split()) <= self._words[1]:
            return ("length",)
        allowed = self.domain.own_labels if spec.kind == "domain_only" else tuple(self.domain.labels)
        leaks = len(set(spec.qi)) == len(spec.qi) >= 2 and set(spec.qi) <= set(allowed)
        if spec.qi if spec.kind in ("safe", "borderline") else not leaks:
            return ("request",)
        if any(s.qi not in spec.qi or not 0 <= s.start < s.end <= len(draft.answer) for s in draft.slots):
            return ("slot",)
        if draft.slots and (missing := set(spec.qi) - {s.qi for s in draft.slots}):
            return tuple(f"missing:{qi}" for qi in spec.qi if qi in missing)
        return ()

    def _form(self, record: Record, seed: SeedPassage | None) -> tuple[str, ...]:
        answer, spec = record.draft.answer, record.spec
        if (said := task_talk(answer)) is not None:
            return (said,)
        if record.generator != PASSAGES and is_truncated(answer):
            return ("truncated",)
        if any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", answer, re.I) for w in record.draft.forbidden):
            return ("forbidden",)
        copied = seed is not None and spec.subtype != QUOTES and longest_echo(answer, seed.text) >= ECHO
        return ("echo",) if copied else ()

    def _content(self, record: Record) -> tuple[str, ...]:
        prepared = render(record.draft.answer)
        direct = {span.type for span in find_direct(prepared)}.difference(self.domain.allowed_direct)
        if direct:
            return tuple(f"direct:{kind}" for kind in sorted(direct))
        doc = Doc(prepared)
        if not guess_language(doc).english:
            return ("language",)
        if record.draft.slots or record.generator == GRAMMAR:
            return ()
        read = self._read(record, doc)
        if record.spec.kind in ("safe", "borderline"):
            return ("cluster",) if clustered(read.attributes) else ()
        return self._claimed(record, read) or self._unplanned(record, read)

    def _read(self, record: Record, doc: Doc) -> Told:
        """What the answer tells of whom. Raises DetectorError."""
        # Where a leak is only claimed, what the question already contains is no leak.
        question = record.draft.question if record.spec.qi else None
        own = OwnWords(() if question is None else (Spoken(question),))
        seen = seen_in(doc, doc.text)
        found = (*attributes_of(seen, doc), *terms_of(doc, self.domain, seen.spans))
        return Told(repeated(found, doc, own), frozenset(k for k, p in seen.inferred.items() if p >= INFERRED))

    def _claimed(self, record: Record, read: Told) -> tuple[str, ...]:
        """Requested classes that are not told, or not of one person."""
        spec = record.spec
        wanted = {self.domain.labels[qi]: qi for qi in spec.qi}
        kinds = set().union(*persons(read.attributes))
        kinds |= {a.kind for a in read.attributes if a.kind in self.domain.own}
        missing = set(wanted) - kinds
        if spec.mode == "INDIRECT_QI":
            # No lexicon knows how a fact of the domain may be paraphrased; of the others some are inferred only.
            missing -= {*self.domain.own, *read.inferred}
        if missing:
            return tuple(f"missing:{qi}" for kind, qi in wanted.items() if kind in missing)
        shared = kinds & {*wanted} & {*IDENTIFYING}
        elsewhere = turns(record.draft.answer)
        bound = any(shared <= of for of in persons(read.attributes, elsewhere))
        return () if bound or not shared else ("unbound",)

    def _unplanned(self, record: Record, read: Told) -> tuple[str, ...]:
        """Identifying attributes that the reader is sure of and nobody asked for."""
        wanted = {self.domain.labels[qi] for qi in record.spec.qi}
        unplanned = {a.kind for a in read.attributes if a.subject in _TOLD and a.kind in IDENTIFYING
                     and a.kind not in wanted and a.probability >= SURE}
        return tuple(f"unplanned:{kind}" for kind in sorted(unplanned))


@dataclass(frozen=True, slots=True)
class Told:
    """What a text tells of whom, and classes that can be inferred."""

    attributes: tuple[Attribute, ...]
    inferred: frozenset[str] = frozenset()


def persons(attributes: Iterable[Attribute], elsewhere: Sequence[Turn] = ()) -> list[set[str]]:
    """The classes that are told of each individual; of nobody both those of a turn of the text and those outside it."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for a in attributes:
        if a.subject in _TOLD:
            turn = next((one for one in elsewhere if one.start <= a.start < one.end), None)
            for about in turn.of(a.kind) if turn else (MAIN,):
                found[a.person, about].add(a.kind)
    return list(found.values())


def clustered(attributes: Iterable[Attribute]) -> bool:
    """Whether two distinct identifying attributes are told of one individual ("no QI cluster of size ≥ 2")."""
    bound: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for a in attributes:
        if a.subject in _TOLD and a.kind in IDENTIFYING:
            bound[a.person].add((a.kind, a.value))
    return any(len(said) >= 2 for said in bound.values())
