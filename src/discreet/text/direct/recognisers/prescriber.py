"""US numbers of health-care providers: national provider identifiers (NPI) and DEA registrations of prescribers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum import luhn

from discreet.text.direct.cues import PATTERNS, distance, is_other
from discreet.text.direct.detect import CHECKED, Facts, Hit, recogniser, recognisers


@recognisers.register("npi")
@recogniser("npi", digits=10)
def npi(facts: Facts) -> Iterator[Hit]:
    """Ten digits, named, that pass Luhn over the prefix 80840 (CMS); ten that happen to pass are common elsewhere."""
    for match in PATTERNS["npi form"].finditer(facts.text):
        number = re.sub(r"\D", "", match.group())
        if luhn.is_valid("80840" + number) and len(set(number[:9])) > 1:
            near = distance(facts, *match.span(), PATTERNS["npi cue"])
            if near is not None:
                yield Hit("npi", *match.span(), CHECKED, near)


def is_dea(number: str) -> bool:
    """Whether the check digit fits: (d1 + d3 + d5) + 2 (d2 + d4 + d6), last digit (21 CFR 1301; DEA manual)."""
    d = [int(c) for c in number[-7:]]
    return any(d) and (d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5])) % 10 == d[6]


@recognisers.register("dea")
@recogniser("dea", digits=7)
def dea(facts: Facts) -> Iterator[Hit]:
    """Valid; in lower case, or where an order or a model is spoken of, only with its cue."""
    for match in PATTERNS["dea form"].finditer(facts.text) if PATTERNS["dea hint"].search(facts.text) else ():
        if is_dea(match.group()):
            near = distance(facts, *match.span(), PATTERNS["dea cue"])
            if near is not None or (match.group().isupper() and not is_other(facts, match.start())):
                yield Hit("dea", *match.span(), CHECKED, near or 0)
