"""Is a record what it says? Direct identifiers, requested classes, forbidden words, and attributes nobody asked for.

What a generator knows of its own text (the slots) is taken from it; `discreet.text` looks only for direct identifiers
and for unplanned identifying attributes, since a lexicon that the evidence rules know by heart would be no test of
them. Facts of the domain bind loosely in running prose, so unplanned ones are not looked for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from discreet.core.errors import UsageError
from discreet.core.unicode import Prepared
from discreet.domains import IDENTIFYING, DomainLike, load_domain
from discreet.synth.records import Record
from discreet.text.direct import find_direct
from discreet.text.doc import Doc
from discreet.text.evidence import find_evidence
from discreet.text.render import render

Check = Callable[[Record], Sequence[str]]
WORDS: tuple[int, int] = (60, 180)
"""Fewest and most words of an answer."""


class Validator:
    """The checks of one domain, whose policy may let direct identifiers pass; `words`: fewest and most of an answer."""

    def __init__(self, domain: DomainLike, *, words: tuple[int, int] = WORDS) -> None:
        self.domain = load_domain(domain)
        if not 0 < words[0] <= words[1]:
            raise UsageError(f"an answer of {words[0]} to {words[1]} words cannot be: expected 0 < fewest <= most")
        self._words = words

    def __call__(self, record: Record) -> tuple[str, ...]:
        """Why a record fails, or nothing. The cheapest checks come first and the rest are left out once one fails.

        Reasons: `domain`; `length`; `request` (classes that the kind cannot have, or fewer than two); `slot` (a slot
        that is empty, outside the answer, or of a class that was not asked for); `missing:CLASS`; `forbidden`;
        `direct:TYPE`; `unplanned:KIND` (an identifying attribute that was not asked for); `cluster` (two identifying
        attributes of one person in a safe or borderline record).
        """
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
        if any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", draft.answer, re.I) for w in draft.forbidden):
            return ("forbidden",)
        prepared = render(draft.answer)
        direct = {span.type for span in find_direct(prepared)}.difference(self.domain.allowed_direct)
        return tuple(f"direct:{kind}" for kind in sorted(direct)) or self._evidence(record, prepared)

    def _evidence(self, record: Record, prepared: Prepared) -> tuple[str, ...]:
        slots = record.draft.slots
        # Where a leak is only claimed, what the question already contains is no leak.
        question = record.draft.question if record.spec.qi and not slots else None
        evidence = find_evidence(Doc(prepared), self.domain, question)
        found = [a for a in evidence if a.subject in ("third", "speaker")]
        identifying = [a for a in found if a.kind in IDENTIFYING]
        if record.spec.kind in ("safe", "borderline"):
            bound: dict[str, set[tuple[str, str]]] = defaultdict(set)
            for a in identifying:
                bound[a.person].add((a.kind, a.value))
            return ("cluster",) if any(len(said) >= 2 for said in bound.values()) else ()
        wanted = {self.domain.labels[qi]: qi for qi in record.spec.qi}
        kinds = {a.kind for a in found}
        if not slots and (missing := [qi for kind, qi in wanted.items() if kind not in kinds]):
            return tuple(f"missing:{qi}" for qi in missing)
        # Strong identifying attributes that are neither wanted nor within what was asked for.
        unplanned = {a.kind for a in identifying if not a.weak and a.kind not in wanted
                     and not any(s.start < a.end and a.start < s.end for s in slots)}
        return tuple(f"unplanned:{kind}" for kind in sorted(unplanned))
