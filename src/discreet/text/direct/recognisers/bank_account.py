"""Bank account numbers: no form of their own, so a word must name them; dates, amounts and short numbers are not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import BOUND, Facts, Hit, recogniser, recognisers
from discreet.text.evidence.cues import distance, is_money

_FORM = re.compile(r"\d(?<![\w.$-]\d)(?<!\d,\d)\d{1,16}(?:[ -]\d{2,8}){0,3}(?!\w|[.,/-]\d|,\d{3})")
_CUE = re.compile(
    r"\b(?:accounts?|accts?|a/c|checking|savings?|bank)\b(?: ?(?:account|acct))?(?:,? ?(?:numbers?|nos?\b\.?|#|num))?"
)
_SURE_CUE = re.compile(r"\b(?:accounts?|accts?|a/c)(?:,? ?(?:numbers?|nos?\b\.?|#|num))?")
_CLOSE, _NEXT = 12, 5
_DATE = re.compile(r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")


@recognisers.register("bank_account")
@recogniser("bank_account", digits=6, stems=("account", "acct", "a/c", "checking", "saving", "bank"))
def bank_account(facts: Facts) -> Iterator[Hit]:
    """6 to 17 digits right behind the cue, 8 to 17 within its reach."""
    for match in _FORM.finditer(facts.text):
        digits = sum(map(str.isdigit, match.group()))
        if not 6 <= digits <= 17 or is_money(facts, *match.span()):
            continue
        near = distance(facts, *match.span(), _CUE if digits >= 8 else _SURE_CUE)
        if near is None or (digits < 8 and near > _CLOSE) or (near > _NEXT and _DATE.fullmatch(match.group())):
            continue
        yield Hit("bank_account", *match.span(), BOUND, near)
