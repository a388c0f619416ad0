"""DEA registration numbers of prescribers: registrant letter, initial or 9, six digits and their check digit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import CHECKED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance, is_other

_FORM = re.compile(r"\b(?<!-)[A-HJ-MPRSTUXa-hj-mprstux][A-Za-z9]-?\d{7}\b(?!-)")
_SEVEN = re.compile(r"\d{7}\b")
_CUE = re.compile(r"\bdea\b(?: ?(?:registration|number|no|#))*")


def is_dea(number: str) -> bool:
    """Whether the check digit fits: (d1 + d3 + d5) + 2 (d2 + d4 + d6), last digit (21 CFR 1301; DEA manual)."""
    d = [int(c) for c in number[-7:]]
    return any(d) and (d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5])) % 10 == d[6]


@recognisers.register("dea")
@recogniser("dea", digits=7)
def dea(facts: Facts) -> Iterator[Hit]:
    """Valid; in lower case, or where an order or a model is spoken of, only with its cue."""
    for match in _FORM.finditer(facts.text) if _SEVEN.search(facts.text) else ():
        if is_dea(match.group()):
            near = distance(facts, *match.span(), _CUE)
            if near is not None or (match.group().isupper() and not is_other(facts, match.start())):
                yield Hit("dea", *match.span(), CHECKED, near or 0)
