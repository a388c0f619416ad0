"""US individual taxpayer identification numbers: 9xx with a group that the IRS gives out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum.us import itin as stdnum_itin

from discreet.text.direct.detect import BOUND, SHAPED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance, is_other

_FORM = re.compile(r"9(?<![\w.$-]9)(?<!\d/9)\d{2}([ .-]?)\d{2}(?:\1\d{4}|-\d{4})\b(?!-|[./]\d)")
_CUE = re.compile(r"\b(?:itins?|individual tax\w*|tax(?:payer)? ?id\w*|tin|tax number|tax no)\b")
# Given out since 2011, newer than python-stdnum's list (IRS, "ITIN format", groups 50-65).
_NEWER_GROUPS = frozenset(map(str, range(50, 66)))


@recognisers.register("itin")
@recogniser("itin", digits=9, priority=1)
def itin(facts: Facts) -> Iterator[Hit]:
    """Formatted and valid, or any form with its cue."""
    for match in _FORM.finditer(facts.text):
        number = re.sub(r"\D", "", match.group())
        if not stdnum_itin.is_valid(number) and number[3:5] not in _NEWER_GROUPS:
            continue
        start, end = match.span()
        near = distance(facts, start, end, _CUE)
        if near is not None:
            yield Hit("itin", start, end, BOUND, near)
        elif match[1] == "-" and not is_other(facts, start):
            yield Hit("itin", start, end, SHAPED)
