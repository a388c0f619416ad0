"""What binds a value to a name: the words beside a number, and the words that claim it for something harmless.

Two ways round. `distance` starts from a value that a pattern found and looks for its cue on either side;
`named_hits` starts from the cue and reads the value behind it, for values without a form of their own. The patterns
are those of `data/patterns/identifiers.txt`; none nests one open quantifier in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.direct.detect import BOUND, Facts, Hit
from discreet.text.resources import patterns

PATTERNS = patterns("identifiers")
REACH = 56


def distance(facts: Facts, start: int, end: int, cue: re.Pattern[str], *, reach: int = REACH) -> int | None:
    """Characters between a value and the cue that names it, or None where none does.

    The cue (a pattern for lower-case text) stands up to `reach` characters before the value, with no other number
    (unless the two are listed together) and no end of sentence between, or right behind the value. A word between
    that names another kind of number ("order", "ISBN") takes the value away.
    """
    cut = _cut(facts.lower, max(0, start - reach), start)
    before = list(cue.finditer(facts.lower, cut, start))
    if before and not PATTERNS["other"].search(facts.lower, before[-1].end(), start):
        return start - before[-1].end()
    lead = PATTERNS["lead"].match(facts.lower, end)
    if lead is not None and (behind := cue.match(facts.lower, lead.end())):
        return behind.start() - end + 1
    return None


def _cut(lower: str, low: int, start: int) -> int:
    """Where the words that may speak of a value begin: after the number or sentence before it."""
    edge = start
    for mark in reversed(list(PATTERNS["break"].finditer(lower, low, start))):
        if mark.group()[0].isdigit() and PATTERNS["joiner"].fullmatch(lower, mark.end(), edge):
            edge = mark.start()
        else:
            return mark.end()
    return low


def is_other(facts: Facts, start: int, *, reach: int = 24) -> bool:
    """Whether the words before a value claim it for an order, a version, a book or the like."""
    cut = _cut(facts.lower, max(0, start - reach), start)
    return PATTERNS["other"].search(facts.lower, cut, start) is not None


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no further group of digits stands beside digits apart, as in the row of a table ("03/27" may follow)."""
    beside = PATTERNS["group before"].search(text, max(0, start - 3), start)
    return not beside and not PATTERNS["group behind"].match(text, end)


def is_money(facts: Facts, start: int, end: int) -> bool:
    """Whether a number is an amount or a count."""
    before = facts.lower[max(0, start - 5) : start]
    return bool(PATTERNS["money before"].search(before) or PATTERNS["money after"].match(facts.lower, end))


def named(cue: str, value: str) -> re.Pattern[str]:
    """A cue (any case), the few words that may link it, and the value as group `value` (case as written)."""
    link, start, end = (PATTERNS.texts[name] for name in ("link", "value start", "value end"))
    return re.compile(rf"\b(?i:{cue}){link}{start}(?P<value>{value}){end}")


def named_hits(facts: Facts, kind: str, pattern: re.Pattern[str], *, least_digits: int) -> Iterator[Hit]:
    """Hits of a `named` pattern whose value has at least `least_digits` digits."""
    for match in pattern.finditer(facts.text):
        start, end = match.span("value")
        if digits_of(match["value"]) >= least_digits:
            yield Hit(kind, start, end, BOUND, start - match.start())


def digits_of(text: str) -> int:
    """How many digits a text has."""
    return sum(map(str.isdigit, text))
