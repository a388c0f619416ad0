"""Telephone numbers, validated by the library of ITU and national plans (phonenumbers); region US by default.

With a country code, or in the North American form, a valid number suffices; digits in other forms need a word that
says so. Toll-free numbers are an office's, not a person's, and pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import BOUND, SHAPED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance, is_money, is_other, stands_alone

_EXTENSION = r"(?:,? ?(?:ext(?:ension)?\.?|x) ?\d{1,6})?"
_RIGHT = r"(?!\w|[-./:]\d)"
_ABROAD = re.compile(rf"(?<![\w+])\+\d(?:[ .()-]{{0,2}}\d){{7,14}}{_EXTENSION}{_RIGHT}")
_NANP_HINT = re.compile(r"\d{3}[ .-]?\d{4}")
_NANP = re.compile(
    r"(?<![\w$+=§#%])(?<!\w[./:-])"
    r"(?:1[ .-]?)?(?:\([2-9]\d{2}\) ?[ .-]?\d{3}[ .-]?\d{4}|[2-9]\d{2}([ .-])\d{3}\1\d{4})"
    rf"{_EXTENSION}{_RIGHT}"
)
_ANYHOW = re.compile(rf"\d(?<![\w$+=§#%]\d)(?<!\w[./:-]\d)(?:[ .()-]{{0,2}}\d){{6,14}}{_EXTENSION}{_RIGHT}")
_CUE = re.compile(
    r"\b(?:(?:tele)?phones?|tel|cell ?phone|cell(?= ?(?:no|num|#|:|is|at))|(?<=his )cell|(?<=her )cell|(?<=my )cell|"
    r"(?<=their )cell|mobile|fax|call(?:ed|s|ing)?|dial(?:ed|led)?|reach(?:ed|able|ing)?|text(?:ed|ing)?|whatsapp|"
    r"contact(?:ed|able)?|sms|voice ?mail|pager)\b(?: ?(?:numbers?|no|#))?"
)
_SURE_CUE = re.compile(r"\b(?:(?:tele)?phones?|tel|cell ?phone|mobile|fax|dial|call)\b(?: ?(?:numbers?|no|#))?")
_CLOSE = 8
_DATES = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{4} ?- ?\d{4}|(?:19|20)\d{2}[01]\d[0-3]\d")


@recognisers.register("phone")
@recogniser("phone", digits=7)
def phone(facts: Facts) -> Iterator[Hit]:
    """Numbers in a telephone's form, and digits that a word makes one."""
    for match in _ABROAD.finditer(facts.text) if "+" in facts.text else ():
        if _is_personal(match.group(), possible=True):
            yield Hit("phone", *match.span(), BOUND)
    for match in _NANP.finditer(facts.text) if _NANP_HINT.search(facts.text) else ():
        near = distance(facts, *match.span(), _CUE)
        apart = match[1] != " " or stands_alone(facts.text, *match.span())
        if near is None and (is_other(facts, match.start()) or not apart):
            continue
        if _is_personal(match.group(), possible=near is not None):
            yield Hit("phone", *match.span(), SHAPED if near is None else BOUND, near or 0)
    for match in _ANYHOW.finditer(facts.text):
        digits = sum(map(str.isdigit, match.group()))
        if _DATES.fullmatch(match.group()) or is_money(facts, *match.span()):
            continue
        near = distance(facts, *match.span(), _SURE_CUE if digits < 10 else _CUE)
        if near is not None and (digits >= 10 or near <= _CLOSE) and _is_personal(match.group(), possible=None):
            yield Hit("phone", *match.span(), BOUND, near)


def _is_personal(number: str, *, possible: bool | None) -> bool:
    """Whether a number can be dialled and is not toll-free.

    `possible` asks for a possible instead of a valid number; None for neither: whoever writes "phone" before seven
    digits or more means one, of whatever country.
    """
    # Imported here: the metadata costs 60 ms, and most texts hold no candidate.
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, "US")
    except phonenumbers.NumberParseException:
        return possible is None
    if phonenumbers.number_type(parsed) == phonenumbers.PhoneNumberType.TOLL_FREE:
        return False
    if possible is None:
        return True
    return bool(phonenumbers.is_possible_number(parsed) if possible else phonenumbers.is_valid_number(parsed))
