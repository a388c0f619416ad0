"""Payment cards: Luhn check digit, and an issuer's prefix with the lengths it uses (ISO/IEC 7812)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from stdnum import luhn

from discreet.text.direct.cues import PATTERNS, distance, is_other, stands_alone
from discreet.text.direct.detect import CHECKED, Facts, Hit, recogniser, recognisers
from discreet.text.resources import rows


@cache
def _issuers() -> tuple[tuple[str, str, frozenset[int]], ...]:
    """First and last prefix, of equal length, and the lengths in use."""
    listed = rows("card_issuers", 3)
    return tuple((first, last, frozenset(map(int, lengths.split()))) for first, last, lengths in listed)


def is_card(number: str) -> bool:
    """Whether 13 to 19 digits carry an issuer's prefix and pass the Luhn check."""
    return luhn.is_valid(number) and any(
        first <= number[: len(first)] <= last and len(number) in lengths for first, last, lengths in _issuers()
    )


@recognisers.register("card")
@recogniser("card", digits=13)
def card(facts: Facts) -> Iterator[Hit]:
    """In one piece or in an issuer's groups; in any other groups, or of 13 digits (no longer issued), with its cue."""
    for name in ("card grouped", "card any groups"):
        for match in PATTERNS[name].finditer(facts.text):
            number = re.sub(r"\D", "", match.group())
            if is_card(number):
                start, end = match.span()
                near = distance(facts, start, end, PATTERNS["card cue"])
                shaped = name == "card grouped" and len(number) > 13 and not is_other(facts, start)
                if near is not None or (shaped and (" " not in match.group() or stands_alone(facts.text, start, end))):
                    yield Hit("card", start, end, CHECKED, near or 0)
