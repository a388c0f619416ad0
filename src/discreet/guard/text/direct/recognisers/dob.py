"""Formatted dates of birth: a complete date that a word binds to a birth; never a bare date, nor a year alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.guard.text.direct.detect import BOUND, PATTERNS, Facts, Hit, recogniser, recognisers

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_STEMS = ("birth", "born", "dob", "d.o.b", "b.", "bday", "b-day", "geb", "né", "nacid", "nascid", "nato il", "nata il",
          "urodz", "doğum")
_REACH, _CLOSE = 48, 6
_EARLIEST = 1890


@recognisers.register("dob")
@recogniser("date_of_birth", digits=3, stems=_STEMS)
def dob(facts: Facts) -> Iterator[Hit]:
    """Dates with day, month and year that follow, or are followed by, a word for birth."""
    for match in PATTERNS["birth date"].finditer(facts.lower):
        start, end = match.span()
        births = list(PATTERNS["birth before"].finditer(facts.lower, max(0, start - _REACH), start))
        if births and not PATTERNS["birth other event"].search(facts.lower, births[-1].end(), start):
            near = start - births[-1].end()
        elif behind := PATTERNS["birth behind"].match(facts.lower, end):
            near = behind.end() - end
        else:
            continue
        close = match["packed"] or match["s"] == " " or match["t"] == " "
        if (near <= _CLOSE or not close) and (match["packed"] or _is_date(match)):
            yield Hit("date_of_birth", start, end, BOUND, near)


def _is_date(match: re.Match[str]) -> bool:
    """Whether day and month can be read in one order or the other, in a year that a living person may have."""
    year = int(next(match[f"y{k}"] for k in range(1, 7) if match[f"y{k}"]).lstrip("'"))
    month = match["m1"] or match["m2"] or match["m3"] or "jan"
    first = match["a"] or match["c"] or str(_MONTHS.index(month[:3]) + 1)
    second = match["b"] or match["d"] or match["e"] or match["f"] or match["g"] or match["h"]
    low, high = sorted((int(first), int(second)))
    return 1 <= low <= 12 and 1 <= high <= 31 and (year < 100 or _EARLIEST <= year <= 2100)
