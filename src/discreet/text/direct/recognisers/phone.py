"""Telephone numbers, validated by the library of ITU and national plans (phonenumbers); region US by default.

With a country code, or in the North American form, a valid number suffices; digits in other forms need a word that
says so. Toll-free numbers are an office's, not a person's, and pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.text.direct.detect import BOUND, PATTERNS, SHAPED, Facts, Hit, digits_of, recogniser, recognisers

_CLOSE = 8


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
    for match in PATTERNS["phone any groups"].finditer(facts.text):
        digits = digits_of(match.group())
        if PATTERNS["phone date"].fullmatch(match.group()) or facts.is_money(*match.span()):
            continue
        near = facts.distance(*match.span(), PATTERNS["phone sure cue" if digits < 10 else "phone cue"])
        if near is not None and (digits >= 10 or near <= _CLOSE) and _is_personal(match.group(), possible=None):
            yield Hit("phone", *match.span(), BOUND, near)


def _is_personal(number: str, *, possible: bool | None) -> bool:
    """Whether a number is valid (`possible`: only possible; None: neither, as whoever writes "phone" means one)."""
    # Imported here: the metadata costs 60 ms, and most texts hold no candidate.
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, "US")
    except phonenumbers.NumberParseException:
        return possible is None
    toll_free = phonenumbers.number_type(parsed) == phonenumbers.PhoneNumberType.TOLL_FREE
    if toll_free or possible is None:
        return not toll_free
    return bool(phonenumbers.is_possible_number(parsed) if possible else phonenumbers.is_valid_number(parsed))
