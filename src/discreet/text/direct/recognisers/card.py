"""Payment cards: Luhn check digit, and an issuer's prefix with the lengths it uses (ISO/IEC 7812)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum import luhn

from discreet.text.direct.detect import CHECKED, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance, is_other, stands_alone

_GROUPED = re.compile(
    r"\d(?<![\w$]\d)(?<!\d[.,-]\d)\d{3}(?:\d{9,15}|([ .-])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|([ .-])\d{6}\2\d{4,5})"
    r"(?!\w|[.,-]\d)"
)
_ANYHOW = re.compile(r"\d(?<![\w$]\d)(?<!\d[.,-]\d)(?:[ .-]?\d){12,18}(?!\w|[.,-]\d)")
_CUE = re.compile(
    r"\b(?:cards?|credit|debit|visa|master ?card|amex|american express|discover|diners|jcb|maestro|unionpay|"
    r"pan|cc)\b(?: ?(?:number|no|#))?"
)
# (first, last) prefix of equal length, and the lengths in use.
_ISSUERS = (
    ("4", "4", (13, 16, 19)),
    ("51", "55", (16,)), ("2221", "2720", (16,)),
    ("34", "34", (15,)), ("37", "37", (15,)),
    ("6011", "6011", (16, 19)), ("644", "649", (16, 19)), ("65", "65", (16, 19)),
    ("1", "1", (15,)), ("5019", "5019", (16,)),
    ("300", "305", (14, 16)), ("36", "36", (14, 16)), ("38", "39", (14, 16)),
    ("3528", "3589", (16, 19)),
    ("62", "62", (16, 17, 18, 19)),
    ("5018", "5018", (13, 15, 16, 19)), ("5020", "5020", (13, 15, 16, 19)), ("5038", "5038", (13, 15, 16, 19)),
    ("6304", "6304", (13, 15, 16, 19)), ("6759", "6759", (13, 15, 16, 19)), ("6761", "6763", (13, 15, 16, 19)),
    ("2200", "2204", (16, 17, 18, 19)),
)  # fmt: skip


def is_card(number: str) -> bool:
    """Whether 13 to 19 digits carry an issuer's prefix and pass the Luhn check."""
    return luhn.is_valid(number) and any(
        first <= number[: len(first)] <= last and len(number) in lengths for first, last, lengths in _ISSUERS
    )


@recognisers.register("card")
@recogniser("card", digits=13)
def card(facts: Facts) -> Iterator[Hit]:
    """In one piece or in an issuer's groups; in any other groups, or of 13 digits (no longer issued), with its cue."""
    for match in _GROUPED.finditer(facts.text):
        number = re.sub(r"\D", "", match.group())
        if is_card(number):
            start, end = match.span()
            near = distance(facts, start, end, _CUE)
            alone = " " not in match.group() or stands_alone(facts.text, start, end)
            if near is not None or (len(number) > 13 and alone and not is_other(facts, start)):
                yield Hit("card", start, end, CHECKED, near or 0)
    for match in _ANYHOW.finditer(facts.text):
        if is_card(re.sub(r"\D", "", match.group())):
            near = distance(facts, *match.span(), _CUE)
            if near is not None:
                yield Hit("card", *match.span(), CHECKED, near)
