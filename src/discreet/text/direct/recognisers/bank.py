"""Numbers of accounts: those that a word names, and IBANs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum import iban as stdnum_iban

from discreet.text.direct.detect import BOUND, CHECKED, PATTERNS, Facts, Hit, digits_of, recogniser, recognisers

_CUT = re.compile(r"[ -]")
_CLOSE, _NEXT = 12, 5


@recognisers.register("bank_account")
@recogniser("bank_account", digits=6, stems=("account", "acct", "a/c", "checking", "saving", "bank"))
def bank_account(facts: Facts) -> Iterator[Hit]:
    """6 to 17 digits right behind the cue, 8 to 17 within its reach; no dates, amounts or counts."""
    for match in PATTERNS["account form"].finditer(facts.text):
        digits = digits_of(match.group())
        if not 6 <= digits <= 17 or facts.is_money(*match.span()):
            continue
        near = facts.distance(*match.span(), PATTERNS["account cue" if digits >= 8 else "account sure cue"])
        if near is None or (digits < 8 and near > _CLOSE):
            continue
        if near <= _NEXT or not PATTERNS["account date"].fullmatch(match.group()):
            yield Hit("bank_account", *match.span(), BOUND, near)


@recognisers.register("iban")
@recogniser("iban", digits=8)
def iban(facts: Facts) -> Iterator[Hit]:
    """Mod-97 check digits in the country's format (ISO 13616; python-stdnum).

    The longest prefix of groups that is valid: words may follow in what looks like further groups.
    """
    for match in PATTERNS["iban form"].finditer(facts.text) if PATTERNS["iban hint"].search(facts.text) else ():
        start, end = match.span()
        while end - start >= 15:
            whole = end == len(facts.text) or not facts.text[end].isalnum()
            if whole and stdnum_iban.is_valid(facts.text[start:end], check_country=False):
                yield Hit("iban", start, end, CHECKED)
                break
            cuts = [m.start() for m in _CUT.finditer(facts.text, start, end)]
            end = cuts[-1] if cuts else start
