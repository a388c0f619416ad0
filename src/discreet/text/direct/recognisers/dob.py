"""Formatted dates of birth: a complete date that a word binds to a birth; never a bare date, nor a year alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import BOUND, Facts, Hit, recogniser, recognisers

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = re.compile(
    r"(?<![\w/.$-])(?:"
    r"(?P<a>\d{1,2})(?P<s>[/.-])(?P<b>\d{1,2})(?P=s)(?P<y1>\d{4}|\d{2})|"
    r"(?P<y2>\d{4})(?P<t>[/.-])(?P<c>\d{1,2})(?P=t)(?P<d>\d{1,2})|"
    rf"(?P<m1>{_MONTH})[ -]?(?P<e>\d{{1,2}})(?:st|nd|rd|th)?(?:,? ?|-)(?P<y3>\d{{4}})|"
    rf"(?P<f>\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -]?(?P<m2>{_MONTH})[ ,-]{{0,2}}(?P<y4>\d{{4}})|"
    r"(?P<packed>(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:19|20)\d{2}|(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))"
    r")(?![\w/]|-\d)"
)
_BIRTH = re.compile(
    r"\b(?:d\.?o\.?b\b\.?|date[ -]of[ -]birth|birth[ -]?dates?|birth[ -]?days?|day of birth|born|b\. ?$|birth)"
)
_ELSE = re.compile(
    r"\b(?:admi\w+|visit\w*|seen|discharg\w+|died|death|dod|filed|expir\w+|issued|due|until|diagnos\w+|surgery|"
    r"married|moved|hired|enrolled|effective|appointment|service|hearing)\b|[!?;\0]|\n\s?\n|\d{4}"
)
_BEHIND = re.compile(r" ?[(\[,-]? ?(?:d\.?o\.?b\b|date of birth|birth ?date)")
_REACH = 48
_EARLIEST = 1890


@recognisers.register("dob")
@recogniser("date_of_birth", digits=3, stems=("birth", "born", "dob", "d.o.b", "b."))
def dob(facts: Facts) -> Iterator[Hit]:
    """Dates with day, month and year that follow, or are followed by, a word for birth."""
    for match in _DATE.finditer(facts.lower):
        start, end = match.span()
        births = list(_BIRTH.finditer(facts.lower, max(0, start - _REACH), start))
        if births and not _ELSE.search(facts.lower, births[-1].end(), start):
            near = start - births[-1].end()
        elif behind := _BEHIND.match(facts.lower, end):
            near = behind.end() - end
        else:
            continue
        if match["packed"] and near > 6:
            continue
        if match["packed"] or _is_date(match):
            yield Hit("date_of_birth", start, end, BOUND, near)


def _is_date(match: re.Match[str]) -> bool:
    """Whether day and month can be read in one order or the other, in a year that a living person may have."""
    year = int(match["y1"] or match["y2"] or match["y3"] or match["y4"])
    first = match["a"] or match["c"] or str(_MONTHS.index((match["m1"] or match["m2"])[:3]) + 1)
    second = match["b"] or match["d"] or match["e"] or match["f"]
    low, high = sorted((int(first), int(second)))
    return 1 <= low <= 12 and 1 <= high <= 31 and (year < 100 or _EARLIEST <= year <= 2100)
