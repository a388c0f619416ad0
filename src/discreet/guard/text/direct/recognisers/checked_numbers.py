"""Numbers with a form and a check: of US taxpayers, health-care providers and bank routing, and of payment cards.

A valid number counts where a word names it; without one, where its form says enough. Social Security (SSN): the form
3-2-4 suffices, except with blanks in a row of numbers; area 000, 666, 9xx, group 00, serial 0000 and the published
specimens are nobody's (SSA POMS RM 10201; python-stdnum `us.ssn`). ITIN: 9xx with a group that the IRS gives out. EIN:
a prefix that the IRS uses, and a cue, since there is no check digit. Provider identifiers (NPI), registrations of
prescribers (DEA), routing numbers and cards have check digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from stdnum import iban as stdnum_iban
from stdnum import luhn
from stdnum.us import ein, itin, rtn, ssn

from discreet.guard.text.direct.detect import BOUND, CHECKED, PATTERNS, SHAPED, Facts, Hit, recogniser, recognisers
from discreet.guard.text.resources import rows

Unnamed = Callable[[Facts, "re.Match[str]"], bool]
_CUT = re.compile(r"[ -]")
_SPECIMENS = frozenset(["123456789", "987654321", *(str(d) * 9 for d in range(10))])
# Given out since 2011, newer than python-stdnum's list (IRS, "ITIN format", groups 50-65).
_NEWER_GROUPS = frozenset(map(str, range(50, 66)))
# First and last prefix, of equal length, and the lengths in use (ISO/IEC 7812).
_ISSUERS = [(first, last, [*map(int, lengths.split())]) for first, last, lengths in rows("card_issuers", 3)]


def is_routing(number: str) -> bool:
    """Whether nine digits are a routing number: check digit 3-7-1 and a prefix of the Federal Reserve."""
    prefix = int(number[:2])
    used = prefix <= 12 or 21 <= prefix <= 32 or 61 <= prefix <= 72 or prefix == 80
    return used and number != "000000000" and rtn.is_valid(number)


def is_npi(number: str) -> bool:
    """Whether ten digits pass Luhn over the prefix 80840 (CMS); ten that happen to pass are common elsewhere."""
    return luhn.is_valid("80840" + number) and len(set(number[:9])) > 1


def is_dea(number: str) -> bool:
    """Whether the check digit fits: (d1 + d3 + d5) + 2 (d2 + d4 + d6), last digit (21 CFR 1301; DEA manual)."""
    d = [int(c) for c in number[-7:]]
    return any(d) and (d[0] + d[2] + d[4] + 2 * (d[1] + d[3] + d[5])) % 10 == d[6]


def is_card(number: str) -> bool:
    """Whether 13 to 19 digits carry an issuer's prefix and pass the Luhn check."""
    return luhn.is_valid(number) and any(
        first <= number[: len(first)] <= last and len(number) in lengths for first, last, lengths in _ISSUERS)


def _in_groups(facts: Facts, match: re.Match[str]) -> bool:
    apart = match[1] == "-" or facts.stands_alone(*match.span())
    return bool(match[1]) and not facts.is_other(match.start()) and apart


def _as_card(facts: Facts, match: re.Match[str]) -> bool:
    """In one piece or in an issuer's groups, except of 13 digits (no longer issued)."""
    apart = " " not in match.group() or facts.stands_alone(*match.span())
    return sum(map(str.isdigit, match.group())) > 13 and not facts.is_other(match.start()) and apart


def _register(name: str, digits: int, is_valid: Callable[[str], bool], unnamed: Unnamed = lambda *_: False, *,
              kind: str = "", form: str = "", hint: str = "", checked: bool = True, priority: int = 0) -> None:
    """Register a recogniser of what the pattern `form` matches with digits that are valid and a cue beside it.

    `unnamed` says what counts without the cue. `checked`: the number has a check digit or a complete validator.
    """
    kind, form, cue = kind or name, form or f"{name} form", f"{name.partition('_')[0]} cue"

    @recognisers.register(name)
    @recogniser(kind, digits=digits, priority=priority)
    def find(facts: Facts) -> Iterator[Hit]:
        for match in PATTERNS[form].finditer(facts.text) if not hint or PATTERNS[hint].search(facts.text) else ():
            if is_valid(re.sub(r"\D", "", match.group())):
                near = facts.distance(*match.span(), PATTERNS[cue])
                if near is not None or unnamed(facts, match):
                    validity = CHECKED if checked else SHAPED if near is None else BOUND
                    yield Hit(kind, *match.span(), validity, near or 0)


_register("ssn", 9, lambda n: n not in _SPECIMENS and ssn.is_valid(n), _in_groups, checked=False, priority=1)
_register("itin", 9, lambda n: itin.is_valid(n) or n[3:5] in _NEWER_GROUPS,
          lambda facts, match: match[1] == "-" and not facts.is_other(match.start()), checked=False, priority=1)
_register("ein", 9, ein.is_valid, checked=False)
_register("npi", 10, is_npi)
_register("dea", 7, is_dea, lambda facts, match: match.group().isupper() and not facts.is_other(match.start()),
          hint="dea hint")
_register("aba", 9, is_routing, lambda _, match: "-" in match.group(), kind="aba_routing")
_register("card", 13, is_card, _as_card, form="card grouped")
_register("card_any_groups", 13, is_card, kind="card", form="card any groups")


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
