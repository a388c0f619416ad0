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
from discreet.core.unicode import Prepared, prepare
from discreet.domains import DomainLike, load_domain
from discreet.synth.records import Record
from discreet.text.direct.detect import find_direct
from discreet.text.doc import Doc
from discreet.text.evidence.bind import find_evidence
from discreet.text.evidence.mentions import IDENTIFYING

Check = Callable[[Record], Sequence[str]]

WORDS: tuple[int, int] = (60, 180)
"""Fewest and most words of an answer."""

_COUNTED = ("third", "speaker")


class Validator:
    """The checks of one domain.

    Parameters
    ----------
    domain : Domain, str or Path
        Name of a built-in domain, or the folder of one. Direct identifiers that its policy allows pass.
    words : (int, int), optional
        Fewest and most words of an answer.
    """

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
        if record.spec.domain != self.domain.name:
            return ("domain",)
        fewest, most = self._words
        if not fewest <= len(record.draft.answer.split()) <= most:
            return ("length",)
        if not self._sound_request(record):
            return ("request",)
        prepared = prepare(record.draft.answer)
        return self._slots(record) or self._words_in(record, prepared) or self._evidence(record, prepared)

    def _sound_request(self, record: Record) -> bool:
        qi, kind = record.spec.qi, record.spec.kind
        if kind in ("safe", "borderline"):
            return not qi
        allowed = self.domain.own_labels if kind == "domain_only" else self.domain.labels
        return len(set(qi)) == len(qi) >= 2 and set(qi) <= set(allowed)

    def _slots(self, record: Record) -> tuple[str, ...]:
        slots, length = record.draft.slots, len(record.draft.answer)
        if any(s.qi not in record.spec.qi or not 0 <= s.start < s.end <= length for s in slots):
            return ("slot",)
        stated = {s.qi for s in slots}
        return tuple(f"missing:{qi}" for qi in record.spec.qi if slots and qi not in stated)

    def _words_in(self, record: Record, prepared: Prepared) -> tuple[str, ...]:
        """Forbidden words, and direct identifiers that the domain does not allow."""
        if any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", record.draft.answer, re.I) for w in record.draft.forbidden):
            return ("forbidden",)
        found = {span.type for span in find_direct(prepared)}
        return tuple(f"direct:{kind}" for kind in sorted(found.difference(self.domain.allowed_direct)))

    def _evidence(self, record: Record, prepared: Prepared) -> tuple[str, ...]:
        slots = record.draft.slots
        # Where a leak is only claimed, what the question already contains is no leak.
        question = record.draft.question if record.spec.qi and not slots else None
        found = [a for a in find_evidence(Doc(prepared), self.domain, question) if a.subject in _COUNTED]
        if record.spec.kind in ("safe", "borderline"):
            bound: dict[str, set[tuple[str, str]]] = defaultdict(set)
            for a in found:
                if a.kind in IDENTIFYING:
                    bound[a.person].add((a.kind, a.value))
            return ("cluster",) if any(len(said) >= 2 for said in bound.values()) else ()
        wanted = {self.domain.labels[qi]: qi for qi in record.spec.qi}
        kinds = {a.kind for a in found}
        if not slots and (missing := [qi for kind, qi in wanted.items() if kind not in kinds]):
            return tuple(f"missing:{qi}" for qi in missing)
        # Strong identifying attributes that are neither wanted nor within what was asked for.
        unplanned = {a.kind for a in found if a.kind in IDENTIFYING and not a.weak and a.kind not in wanted
                     and not any(s.start < a.end and a.start < s.end for s in slots)}
        return tuple(f"unplanned:{kind}" for kind in sorted(unplanned))
