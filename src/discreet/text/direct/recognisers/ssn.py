"""US Social Security numbers.

The form 3-2-4 suffices, except with blanks in a row of numbers; other forms need a word that says so. Area 000, 666,
9xx, group 00, serial 0000 and the published specimens are not numbers of anybody (SSA POMS RM 10201; python-stdnum
`us.ssn`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum.us import ssn as stdnum_ssn

from discreet.text.direct.detect import BOUND, SHAPED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance, is_other, stands_alone

_FORM = re.compile(r"\d(?<![\w.$-]\d)(?<!\d/\d)\d{2}(?:([ .-]?)\d{2}(?:\1\d{4}|-\d{4})|-\d{6})\b(?!-|[./]\d)")
_CUE = re.compile(
    r"\b(?:ssns?|social[ -]security|social sec|soc\.? ?sec|ss ?(?:#|no\b|number)|socials?(?= (?:is|number|no|#))|"
    r"tax(?:payer)? ?id\w*|tin)"
)
_SPECIMENS = frozenset(["123456789", "987654321", *(str(d) * 9 for d in range(10))])


@recognisers.register("ssn")
@recogniser("ssn", digits=9, priority=1)
def ssn(facts: Facts) -> Iterator[Hit]:
    """Formatted and valid, or any form with its cue."""
    for match in _FORM.finditer(facts.text):
        number = re.sub(r"\D", "", match.group())
        if number in _SPECIMENS or not stdnum_ssn.is_valid(number):
            continue
        start, end = match.span()
        near = distance(facts, start, end, _CUE)
        if near is not None:
            yield Hit("ssn", start, end, BOUND, near)
        elif match[1] and not is_other(facts, start) and (match[1] == "-" or stands_alone(facts.text, start, end)):
            yield Hit("ssn", start, end, SHAPED)
