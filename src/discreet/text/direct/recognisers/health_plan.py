"""Health plan beneficiary numbers: Medicare's MBI by its form (CMS, "MBI format"), others by name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import SHAPED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import is_other, keyed, keyed_hits

_LETTER = "[AC-HJKMNP-RT-Y]"
_EITHER = "[AC-HJKMNP-RT-Y0-9]"
_MBI = re.compile(
    rf"[1-9](?<![\w-][1-9]){_LETTER}{_EITHER}\d([ -]?){_LETTER}{_EITHER}\d\1{_LETTER}{{2}}\d{{2}}\b(?!-)", re.I
)
_NAMED = keyed(
    r"(?:member(?:ship)?|subscriber|beneficiary|insured|enrollee|policy|policy ?holder|insurance|health ?plan|plan|"
    r"medicaid|medicare|medi-cal|hicn|mbi|group|certificate)(?:'s)?"
    r"[ -]?(?:(?:beneficiary|policy|member|id|identification|card|recipient|insurance)[ -]?)?"
    r"(?:no\b\.?|num\b|number|id\b|ids\b|identifier|identification|#)|hicn|mbi",
    r"[A-Za-z]{0,4}-?\d[\dA-Z]{0,14}(?:-[\dA-Z]{1,10}){0,4}",
)
_STEMS = ("member", "subscriber", "beneficiary", "insur", "enrollee", "policy", "plan", "medica", "medi-cal", "hicn",
          "mbi", "group", "certificate")  # fmt: skip
_LABELS = (" id", "-id", "number", " no.", " no ", " num", "#", "identif", "hicn", "mbi")


@recognisers.register("health_plan")
@recogniser("health_plan", digits=5)
def health_plan(facts: Facts) -> Iterator[Hit]:
    """An MBI, or a named value with five digits or more."""
    for match in _MBI.finditer(facts.text):
        if not is_other(facts, match.start()):
            yield Hit("health_plan", *match.span(), SHAPED)
    if any(stem in facts.lower for stem in _STEMS) and any(label in facts.lower for label in _LABELS):
        yield from keyed_hits(facts, "health_plan", _NAMED, least_digits=5)
