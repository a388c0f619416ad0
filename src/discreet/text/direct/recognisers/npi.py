"""US national provider identifiers: ten digits, Luhn over the prefix 80840 (CMS), and a cue."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum import luhn

from discreet.text.direct.detect import CHECKED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance

_FORM = re.compile(r"[12](?<![\w.$-][12])\d{3}([ -]?)\d{3}\1\d{3}\b(?!-|[.,]\d)")
_CUE = re.compile(r"\b(?:npis?|national provider|provider(?: (?:id\w*|number|no))?)\b(?: ?(?:id\w*|number|no|#))?")


@recognisers.register("npi")
@recogniser("npi", digits=10)
def npi(facts: Facts) -> Iterator[Hit]:
    """Named and valid; ten digits that happen to pass are common elsewhere."""
    for match in _FORM.finditer(facts.text):
        number = re.sub(r"\D", "", match.group())
        if luhn.is_valid("80840" + number) and len(set(number[:9])) > 1:
            near = distance(facts, *match.span(), _CUE)
            if near is not None:
                yield Hit("npi", *match.span(), CHECKED, near)
