"""International bank account numbers: mod-97 check digits and the country's format (ISO 13616; python-stdnum)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum import iban as stdnum_iban

from discreet.text.direct.detect import CHECKED, Facts, Hit, recogniser, recognisers

_FORM = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}")
_HINT = re.compile(r"\d\d(?<=[A-Za-z]{2}\d\d)")
_CUT = re.compile(r"[ -]")


@recognisers.register("iban")
@recogniser("iban", digits=8)
def iban(facts: Facts) -> Iterator[Hit]:
    """The longest prefix of groups that is valid: words may follow in what looks like further groups."""
    for match in _FORM.finditer(facts.text) if _HINT.search(facts.text) else ():
        start, end = match.span()
        while end - start >= 15:
            whole = end == len(facts.text) or not facts.text[end].isalnum()
            if whole and stdnum_iban.is_valid(facts.text[start:end], check_country=False):
                yield Hit("iban", start, end, CHECKED)
                break
            cuts = [m.start() for m in _CUT.finditer(facts.text, start, end)]
            end = cuts[-1] if cuts else start
