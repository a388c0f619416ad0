"""Layer 1: direct identifiers, each by its own recogniser, found in the text and in what its runs decode to.

The recognisers are in `recognisers/`. Each reads `Facts` (the normalised text with what can be told of it at a
glance, so that most return at once) and yields `Hit`s. Where hits overlap, the more certain wins, then
the longer, then the one nearer to its cue, then the recogniser with the higher priority.

What binds a value to a name are the words beside it. `Facts.distance` starts from a value that a pattern found and
looks for its cue on either side; `Facts.named_hits` starts from the cue and reads the value behind it, where it has no
form of its own. The patterns of `data/patterns/identifiers.txt` nest no open quantifier in another.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from discreet.core.errors import DetectorError, UsageError
from discreet.core.registry import Registry
from discreet.core.unicode import Prepared
from discreet.guard.text.doc import Doc, lower_of_same_length
from discreet.guard.text.resources import patterns

SHAPED, BOUND, CHECKED = 1, 2, 3
"""How sure a hit is: its shape alone, a word that says what it is, a check digit or a complete validator."""

CONTEXT = 64
"""Characters of the original before a decoded run that are read with it: the word that names it stands there."""

PATTERNS = patterns("identifiers")
_NOT_NOUGHT = re.compile(r"[1-9]")
_REACH = 56
_APART = "\n\0\n"
_DIGITS = re.compile("[0-9]+")
_NON_ASCII = re.compile("[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class DirectSpan:
    """A direct identifier: its type and where it stands in the original text."""

    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Hit:
    """What a recogniser saw in `Facts.text`; `distance` in characters from the cue that binds it."""

    type: str
    start: int
    end: int
    validity: int = SHAPED
    distance: int = 0

    def at(self, start: int, end: int) -> Hit:
        """The same hit at another place."""
        return Hit(self.type, start, end, self.validity, self.distance)


@dataclass(frozen=True, slots=True)
class Facts:
    """The text that recognisers read. `lower` has the same length as `text`; `digits` counts 0-9."""

    text: str = field(repr=False)
    lower: str = field(repr=False)
    digits: int

    @classmethod
    def of(cls, text: str) -> Facts:
        """The facts of a normalised text."""
        return cls(text, lower_of_same_length(text), sum(map(len, _DIGITS.findall(text))))

    def distance(self, start: int, end: int, cue: re.Pattern[str], *, reach: int = _REACH) -> int | None:
        """Characters between a value and the cue that names it, or None where none does.

        The cue (a pattern for lower-case text) stands up to `reach` characters before the value, with no other number
        (unless the two are listed together) and no end of sentence between, or right behind the value. A word between
        that names another kind of number ("order", "ISBN") takes the value away.
        """
        cut = self._cut(max(0, start - reach), start)
        before = list(cue.finditer(self.lower, cut, start))
        if before and not PATTERNS["other"].search(self.lower, before[-1].end(), start):
            return start - before[-1].end()
        lead = PATTERNS["lead"].match(self.lower, end)
        if lead is not None and (behind := cue.match(self.lower, lead.end())):
            return behind.start() - end + 1
        return None

    def _cut(self, low: int, start: int) -> int:
        """Where the words that may speak of a value begin: after the number or sentence before it."""
        edge = start
        for mark in reversed(list(PATTERNS["break"].finditer(self.lower, low, start))):
            if mark.group()[0].isdigit() and PATTERNS["joiner"].fullmatch(self.lower, mark.end(), edge):
                edge = mark.start()
            else:
                return mark.end()
        return low

    def is_other(self, start: int) -> bool:
        """Whether the words before a value claim it for an order, a version, a book or the like."""
        cut = self._cut(max(0, start - 24), start)
        return PATTERNS["other"].search(self.lower, cut, start) is not None

    def stands_alone(self, start: int, end: int) -> bool:
        """Whether no further group of digits is next to a number, as in the row of a table ("03/27" may follow)."""
        beside = PATTERNS["group before"].search(self.text, max(0, start - 3), start)
        return not beside and not PATTERNS["group behind"].match(self.text, end)

    def is_money(self, start: int, end: int) -> bool:
        """Whether a number is an amount or a count."""
        before = self.lower[max(0, start - 5) : start]
        return bool(PATTERNS["money before"].search(before) or PATTERNS["money after"].match(self.lower, end))

    def named_hits(self, kind: str, pattern: re.Pattern[str], *, least_digits: int) -> Iterator[Hit]:
        """Hits of a pattern with a group `value`, behind the name of it, of at least `least_digits` digits, not all
        of them noughts ("X0000000")."""
        for match in pattern.finditer(self.text):
            start, end = match.span("value")
            if digits_of(match["value"]) >= least_digits and _NOT_NOUGHT.search(match["value"]):
                yield Hit(kind, start, end, BOUND, start - match.start())


class Recogniser(Protocol):
    """Finds identifiers of its `types`. Reads nothing but the facts; the same facts give the same hits."""

    types: tuple[str, ...]
    """Every type that `find` may yield, lower-case."""
    priority: int
    """Decides between hits that are alike in all else; higher wins."""

    def find(self, facts: Facts) -> Iterable[Hit]:
        """The hits in `facts.text`, in any order."""


Find = Callable[[Facts], Iterable[Hit]]

recognisers: Registry[Recogniser] = Registry(
    "recognisers", builtin="discreet.guard.text.direct.recognisers", needs=("types", "priority", "find"),
    remedy="expected a Recogniser; put @recogniser(TYPE) between @recognisers.register(NAME) and the function")


@dataclass(slots=True)
class Recognising:
    """A function as a recogniser that looks only at texts with enough digits and one of its stems."""

    types: tuple[str, ...]
    look: Find
    digits: int = 0
    stems: tuple[str, ...] = ()
    priority: int = 0

    def find(self, facts: Facts) -> Iterable[Hit]:
        """The function's hits, or none where the text cannot hold any."""
        if facts.digits < self.digits or (self.stems and not any(stem in facts.lower for stem in self.stems)):
            return ()
        return self.look(facts)


def recogniser(*types: str, digits: int = 0, stems: tuple[str, ...] = (), priority: int = 0
               ) -> Callable[[Find], Recogniser]:
    """Decorator: a function of `Facts` becomes a recogniser of `types`.

    `digits` is the least number of digits, and `stems` the lower-case strings one of which, a text must have.
    """
    return lambda look: Recognising(types, look, digits, stems, priority)


def known_types() -> tuple[str, ...]:
    """Every type that some recogniser finds, sorted."""
    return tuple(sorted({kind for _, item in recognisers.items() for kind in item.types}))


def find_direct(prepared: Prepared, *, types: Collection[str] | None = None) -> list[DirectSpan]:
    """Direct identifiers in a prepared text, sorted by start, never overlapping.

    `types` narrows the search before overlaps are resolved. A hit in a decoded run has the span of the run.

    Raises
    ------
    UsageError
        `types` names one that no recogniser finds, or no recogniser is installed at all.
    DetectorError
        A recogniser broke; the message names it and the kind of failure, never the text.
    """
    chosen = recognisers.items()
    if not chosen:
        raise UsageError("no recogniser of direct identifiers is installed, expected those of discreet: reinstall it")
    if types is not None:
        known = known_types()
        if unknown := sorted(set(types).difference(known)):
            raise UsageError(f"no recogniser finds the type {unknown[0]!r}: expected some of {', '.join(known)}")
        chosen = [(name, item) for name, item in chosen if not set(types).isdisjoint(item.types)]
    found = [(hit.at(*prepared.span(hit.start, hit.end)), rank) for hit, rank in _hits(prepared.text, chosen)]
    if prepared.decoded:
        found += _decoded_hits(prepared, chosen)
    return _resolve([(hit, rank) for hit, rank in found if types is None or hit.type in types])


def direct_of(doc: Doc) -> list[DirectSpan]:
    """As `find_direct`, of all types; asked once of a document."""
    return doc.once("direct", lambda: find_direct(doc.prepared))


def _hits(text: str, chosen: list[tuple[str, Recogniser]]) -> Iterator[tuple[Hit, int]]:
    facts = Facts.of(text)
    for name, item in chosen:
        try:
            yield from [(hit, item.priority) for hit in item.find(facts)]
        except Exception as error:
            # The chain is cut: a library's message may quote the text.
            raise DetectorError(f"recogniser {name!r}", type(error).__name__) from None


def _decoded_hits(prepared: Prepared, chosen: list[tuple[str, Recogniser]]) -> Iterator[tuple[Hit, int]]:
    """All decoded runs as one document, each after the words that stand before it in the original."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    length = 0
    for run in prepared.decoded:
        before = _NON_ASCII.sub(" ", prepared.original[max(0, run.start - CONTEXT) : run.start])
        parts.append(f"{before}{run.text}{_APART}")
        starts.append(length + len(before))
        ends.append(starts[-1] + len(run.text))
        length += len(parts[-1])
    for hit, priority in _hits("".join(parts), chosen):
        k = bisect_right(ends, hit.start)
        if k < len(starts) and starts[k] < hit.end <= ends[k]:
            run = prepared.decoded[k]
            yield hit.at(run.start, run.end), priority


def _resolve(found: list[tuple[Hit, int]]) -> list[DirectSpan]:
    """Keep the better of any two hits that overlap, best first."""
    ranked = sorted(
        (-hit.validity, hit.start - hit.end, hit.distance, -priority, hit.start, hit.end, hit.type)
        for hit, priority in found
        if hit.start < hit.end
    )
    kept: list[tuple[int, int, str]] = []
    for *_, start, end, kind in ranked:
        k = bisect_left(kept, (start, end, kind))
        if (k == 0 or kept[k - 1][1] <= start) and (k == len(kept) or kept[k][0] >= end):
            kept.insert(k, (start, end, kind))
    return [DirectSpan(kind, start, end) for start, end, kind in kept]


def digits_of(text: str) -> int:
    """How many digits a text has."""
    return sum(map(str.isdigit, text))
