"""US employer identification numbers: a campus prefix that the IRS uses, and a cue; there is no check digit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum.us import ein as stdnum_ein

from discreet.text.direct.detect import BOUND, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance

_FORM = re.compile(r"\d(?<![\w.$-]\d)\d-?\d{7}\b(?!-|[./]\d)")
_CUE = re.compile(
    r"\b(?:f?eins?|employer id\w*|employer tax|tax(?:payer)? ?id\w*|federal id\w*|tin|tax number)\b"
    r"(?: ?(?:number|no|#))?"
)


@recognisers.register("ein")
@recogniser("ein", digits=9)
def ein(facts: Facts) -> Iterator[Hit]:
    """A valid number with its cue."""
    for match in _FORM.finditer(facts.text):
        start, end = match.span()
        near = distance(facts, start, end, _CUE)
        if near is not None and stdnum_ein.is_valid(match.group()):
            yield Hit("ein", start, end, BOUND, near)
