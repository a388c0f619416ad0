"""Telephone numbers, validated by the library of ITU and national plans (phonenumbers); region US by default.

With a country code (also behind 00 or 011), or in the North American form, a valid number suffices, and so does a valid
mobile number in the groups of a country where such numbers begin with 0. Digits in other forms need a word that says
so. Toll-free numbers are an office's, not a person's, and pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from discreet.guard.text.direct.detect import BOUND, PATTERNS, SHAPED, Facts, Hit, digits_of, recogniser, recognisers

_CLOSE, _NEAR, _REACH = 8, 20, 56
_TRUNK_ZERO = ("GB", "DE", "FR", "NL", "TR", "BE", "AT", "CH", "IE", "AU", "ZA", "SE", "IN", "JP", "IL", "NG")
_FREE = re.compile(r"\(?0[ .-]?800(?!\d{8})")
"""Begins a number that costs nothing, as it is written at home."""
_PREFIX = re.compile(r"(?:00|011)[ .-]?(?=[1-9])")


@recognisers.register("phone")
@recogniser("phone", digits=7)
def phone(facts: Facts) -> Iterator[Hit]:
    """Numbers in a telephone's form, and digits that a word makes one."""
    for match in PATTERNS["phone abroad"].finditer(facts.text) if "+" in facts.text else ():
        if _is_personal(match.group(), possible=True):
            yield Hit("phone", *match.span(), BOUND)
    for match in PATTERNS["phone nanp"].finditer(facts.text) if PATTERNS["phone nanp hint"].search(facts.text) else ():
        near = facts.distance(*match.span(), PATTERNS["phone cue"])
        apart = match[1] != " " or facts.stands_alone(*match.span())
        if near is None and (facts.is_other(match.start()) or not apart):
            continue
        if _is_personal(match.group(), possible=near is not None):
            yield Hit("phone", *match.span(), SHAPED if near is None else BOUND, near or 0)
    hinted = PATTERNS["phone prefixed hint"].search(facts.text)
    for match in PATTERNS["phone prefixed"].finditer(facts.text) if hinted else ():
        if not facts.stands_alone(*match.span()) or facts.is_other(match.start()):
            continue
        if _is_personal(_PREFIX.sub("+", match.group(), 1), possible=False) or _is_mobile(match.group()):
            yield Hit("phone", *match.span(), BOUND)
    for match in PATTERNS["phone any groups"].finditer(facts.text):
        digits = digits_of(match.group())
        if PATTERNS["phone date"].fullmatch(match.group()) or facts.is_money(*match.span()):
            continue
        near = facts.distance(*match.span(), PATTERNS["phone sure cue" if digits < 10 else "phone cue"])
        reach = _REACH if digits >= 10 else _NEAR if digits > 7 else _CLOSE
        if near is not None and near <= reach and _is_personal(match.group(), possible=None):
            yield Hit("phone", *match.span(), BOUND, near)


def _parsed(number: str, region: str) -> Any:
    """A number as phonenumbers reads it from a region, or None."""
    # Imported here: the metadata costs 60 ms, and most texts hold no candidate.
    import phonenumbers

    try:
        return phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return None


def _is_personal(number: str, *, possible: bool | None) -> bool:
    """Whether a number is valid (`possible`: only possible; None: neither, as whoever writes "phone" means one)."""
    import phonenumbers

    if _FREE.match(number):
        return False
    parsed = _parsed(number, "US")
    if parsed is None:
        return possible is None
    toll_free = phonenumbers.number_type(parsed) == phonenumbers.PhoneNumberType.TOLL_FREE
    if toll_free or possible is None:
        return not toll_free
    return bool(phonenumbers.is_possible_number(parsed) if possible else phonenumbers.is_valid_number(parsed))


def _is_mobile(number: str) -> bool:
    """Whether a number written as at home is a mobile one where such numbers begin with 0, or in Brazil."""
    import phonenumbers

    mobile = phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE_OR_MOBILE
    pairs = re.fullmatch(r"0\d(?:[ .-]\d{2}){4}", number) is not None
    regions = ("FR",) if pairs else ("BR",) if number.startswith("(") and number[1] != "0" else _TRUNK_ZERO
    found = [one for region in regions if (one := _parsed(number, region)) and phonenumbers.is_valid_number(one)]
    return not _FREE.match(number) and any(pairs or phonenumbers.number_type(one) in mobile for one in found)
