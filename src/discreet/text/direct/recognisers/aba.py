"""ABA routing transit numbers: check digit 3-7-1, a Federal Reserve prefix, and a cue or the printed form 4-4-1."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum.us import rtn

from discreet.text.direct.detect import CHECKED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance

_FORM = re.compile(r"\d(?<![\w.$-]\d)\d{3}(?:\d{5}|-\d{4}-\d)\b(?!-|[.,]\d)")
_CUE = re.compile(r"\b(?:routing|aba|rtn|transit|ach|wire|fedwire|bank (?:number|code|id))\b(?: ?(?:number|no|#))?")


def is_routing(number: str) -> bool:
    """Whether nine digits are a routing number that some bank could have."""
    prefix = int(number[:2])
    used = prefix <= 12 or 21 <= prefix <= 32 or 61 <= prefix <= 72 or prefix == 80
    return used and number != "000000000" and rtn.is_valid(number)


@recognisers.register("aba")
@recogniser("aba_routing", digits=9)
def aba(facts: Facts) -> Iterator[Hit]:
    """Valid, and either named or in the printed form."""
    for match in _FORM.finditer(facts.text):
        if is_routing(match.group().replace("-", "")):
            near = distance(facts, *match.span(), _CUE)
            if near is not None or "-" in match.group():
                yield Hit("aba_routing", *match.span(), CHECKED, near or 0)
