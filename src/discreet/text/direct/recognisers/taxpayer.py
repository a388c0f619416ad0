"""US numbers of taxpayers: Social Security (SSN), individual (ITIN) and employer identification (EIN).

SSN: the form 3-2-4 suffices, except with blanks in a row of numbers; other forms need a word that says so. Area 000,
666, 9xx, group 00, serial 0000 and the published specimens are not numbers of anybody (SSA POMS RM 10201;
python-stdnum `us.ssn`). ITIN: 9xx with a group that the IRS gives out. EIN: a campus prefix that the IRS uses, and a
cue, since there is no check digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum.us import ein as stdnum_ein
from stdnum.us import itin as stdnum_itin
from stdnum.us import ssn as stdnum_ssn

from discreet.text.direct.cues import PATTERNS, distance, is_other, stands_alone
from discreet.text.direct.detect import BOUND, SHAPED, Facts, Hit, recogniser, recognisers

_SPECIMENS = frozenset(["123456789", "987654321", *(str(d) * 9 for d in range(10))])
# Given out since 2011, newer than python-stdnum's list (IRS, "ITIN format", groups 50-65).
_NEWER_GROUPS = frozenset(map(str, range(50, 66)))


@recognisers.register("ssn")
@recogniser("ssn", digits=9, priority=1)
def ssn(facts: Facts) -> Iterator[Hit]:
    """Formatted and valid, or any form with its cue."""
    for match in PATTERNS["ssn form"].finditer(facts.text):
        number = re.sub(r"\D", "", match.group())
        if number in _SPECIMENS or not stdnum_ssn.is_valid(number):
            continue
        start, end = match.span()
        near = distance(facts, start, end, PATTERNS["ssn cue"])
        if near is not None:
            yield Hit("ssn", start, end, BOUND, near)
        elif match[1] and not is_other(facts, start) and (match[1] == "-" or stands_alone(facts.text, start, end)):
            yield Hit("ssn", start, end, SHAPED)


@recognisers.register("itin")
@recogniser("itin", digits=9, priority=1)
def itin(facts: Facts) -> Iterator[Hit]:
    """Formatted and valid, or any form with its cue."""
    for match in PATTERNS["itin form"].finditer(facts.text):
        number = re.sub(r"\D", "", match.group())
        if not stdnum_itin.is_valid(number) and number[3:5] not in _NEWER_GROUPS:
            continue
        near = distance(facts, *match.span(), PATTERNS["itin cue"])
        if near is not None:
            yield Hit("itin", *match.span(), BOUND, near)
        elif match[1] == "-" and not is_other(facts, match.start()):
            yield Hit("itin", *match.span(), SHAPED)


@recognisers.register("ein")
@recogniser("ein", digits=9)
def ein(facts: Facts) -> Iterator[Hit]:
    """A valid number with its cue."""
    for match in PATTERNS["ein form"].finditer(facts.text):
        near = distance(facts, *match.span(), PATTERNS["ein cue"])
        if near is not None and stdnum_ein.is_valid(match.group()):
            yield Hit("ein", *match.span(), BOUND, near)
