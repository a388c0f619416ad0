"""What binds a value to a name: the words beside a number, and the words that claim it for something harmless.

Two ways round. `distance` starts from a value that a pattern found and looks for its cue on either side;
`keyed` makes a pattern that starts from the cue and reads the value behind it, for values without a form of their
own. No pattern here nests one open quantifier in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import BOUND, Facts, Hit

REACH = 56

_OTHER = re.compile(
    r"\b(?:orders?|p\.?o\.?|invoices?|receipts?|tracking|shipments?|tickets?|confirmation|reference|serial|models?|parts?|"
    r"items?|sku|upc|isbn|issn|pmid|pmcid|doi|nct|versions?|builds?|release|catalog(?:ue)?|lots?|batch|products?|patents?|"
    r"population|samples?|genes?|accession|zip|vin|page|figure|table|rfc|icd|cpt|clinicaltrials|trial|docket|ratio|"
    r"form|publication|claim|total|balance|score|coordinates|barcode)\b"
    r"(?: ?(?:nos?\b\.?|numbers?|num|id|code|is|was|of|#))*[\s:#.(-]{0,3}$"
)
_BREAK = re.compile(r"\d{4,}|[!?;\0]|\n\s?\n|[a-z]{4}\. ")
_JOINER = re.compile(r"(?:[\s,/&#:()\d-]|\band\b|\bor\b)*")
_LEAD = re.compile(
    r"(?: ?[(\[-] ?|,? (?:which |that )?(?:is|was|as) |,? (?=his|her|their|my|your)| )"
    r"(?:(?:the|his|her|their|my|your|our|an?) )?"
)
_MONEY_BEFORE = re.compile(r"(?:[$€£¥]|\b(?:usd|eur|gbp)) ?$")
_MONEY_AFTER = re.compile(
    r" ?(?:%|(?:dollars?|usd|eur|gbp|euros?|percent|shares|units|copies|people|patients|miles)\b)"
)

_GROUP_BEFORE = re.compile(r"\d[ .-]{1,2}$")
_GROUP_BEHIND = re.compile(r"[ .-]{1,2}\d+\b(?!/)")

LINK = (
    r"[ \t\n:#=()\[.,*_\"'|-]{0,5}"
    r"(?:(?i:s|us|usa|no|nos|num|number|numbers|nr|id|ids|identifier|code|is|was|as|of|on|file|the|his|her|their|my|with|reads?|"
    r"card|issued|under|assigned|listed|recorded|record|given)\b[ \t\n:#=()\[.,*_\"'|-]{0,5}){0,5}"
)
VALUE_START = r"(?<![A-Za-z0-9])"
VALUE_END = r"(?![A-Za-z0-9])(?!-[A-Za-z0-9])"


def distance(facts: Facts, start: int, end: int, cue: re.Pattern[str], *, reach: int = REACH) -> int | None:
    """Characters between a value and the cue that names it, or None where none does.

    The cue (a pattern for lower-case text) stands up to `reach` characters before the value, with no other number
    (unless the two are listed together) and no end of sentence between, or right behind the value. A word between
    that names another kind of number ("order", "ISBN") takes the value away.
    """
    low = max(0, start - reach)
    cut = _cut(facts.lower, low, start)
    before = list(cue.finditer(facts.lower, cut, start))
    last = before[-1] if before else None
    if last is not None and not _OTHER.search(facts.lower, last.end(), start):
        return start - last.end()
    lead = _LEAD.match(facts.lower, end)
    if lead is not None and (behind := cue.match(facts.lower, lead.end())):
        return behind.start() - end + 1
    return None


def _cut(lower: str, low: int, start: int) -> int:
    """Where the words that may speak of a value begin: after the number or sentence before it."""
    edge = start
    for mark in reversed(list(_BREAK.finditer(lower, low, start))):
        if mark.group()[0].isdigit() and _JOINER.fullmatch(lower, mark.end(), edge):
            edge = mark.start()
        else:
            return mark.end()
    return low


def is_other(facts: Facts, start: int, *, reach: int = 24) -> bool:
    """Whether the words before a value claim it for an order, a version, a book or the like."""
    low = max(0, start - reach)
    return _OTHER.search(facts.lower, _cut(facts.lower, low, start), start) is not None


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no further group of digits stands beside digits apart, as in the row of a table ("03/27" may follow)."""
    return not _GROUP_BEFORE.search(text, max(0, start - 3), start) and not _GROUP_BEHIND.match(text, end)


def is_money(facts: Facts, start: int, end: int) -> bool:
    """Whether a number is an amount or a count."""
    before = facts.lower[max(0, start - 5) : start]
    return bool(_MONEY_BEFORE.search(before)) or bool(_MONEY_AFTER.match(facts.lower, end))


def keyed(cue: str, value: str, link: str = LINK) -> re.Pattern[str]:
    """A cue (any case), the few words that may link it, and the value as group `value` (case as written)."""
    return re.compile(rf"\b(?i:{cue}){link}{VALUE_START}(?P<value>{value}){VALUE_END}")


def keyed_hits(facts: Facts, kind: str, pattern: re.Pattern[str], *, least_digits: int) -> Iterator[Hit]:
    """Hits of a `keyed` pattern whose value has at least `least_digits` digits."""
    for match in pattern.finditer(facts.text):
        start, end = match.span("value")
        if sum(map(str.isdigit, match["value"])) >= least_digits:
            yield Hit(kind, start, end, BOUND, start - match.start())
