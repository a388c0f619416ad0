"""Ages: numbers, decades, dates of birth as years, and life stages as narrow as an age."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.mentions import Context, Mention, taggers
from discreet.text.resources import patterns

_P = patterns("age")
_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
).split()
_VALUES = dict(zip(_NUMBERS, [*range(1, 20), *range(20, 100, 10)], strict=True))
_IN_YEARS = {
    "turns": "age in years", "bracket": "age in brackets", "old": "age in years", "short": "age in short form",
    "aged": "age in years", "bare": "age in years", "comma": "age after a name", "noun is": "age in years",
    "at": "age in years",
}  # fmt: skip
_AFTER_SUBJECT = frozenset(["comma", "noun is", "bracket"])
# These name their subject, which must not hide it from binding: the mention is the number alone.
_WITH_SUBJECT = frozenset(["turns", "bracket", "bare", "comma", "noun is", "at"])
_PEOPLE = frozenset((*lex.PERSON_NOUNS, *lex.KIN))
_BROAD = frozenset("newborn neonate infant toddler teenager teenage teenaged adolescent preteen tween".split())
# "When I was 12": the age at an event tells the present age only with the event's date.
_EVENT_BEFORE = re.compile(r"\b(?:when|since|at|from|until|back)\b[^.,;]{0,14}$", re.I)


@taggers.register("age")
class AgeTagger:
    """Ages in years, decades or life stages."""

    kinds = ("age",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Numbers with a unit, decades, years of birth, life stages."""
        text = context.text
        for name, why in _IN_YEARS.items():
            yield from self._numbers(text, name, why)
        for m in _P["in decade"].finditer(text):
            value = f"{m.group(1) or ''} {m.group(2)}".strip().lower()
            yield Mention("age", value, m.start(), m.end(), "decade of life")
        for m in _P["born"].finditer(text):
            yield Mention("age", f"born {m.group(1)}", m.start(), m.end(), "year of birth")
        for m in _P["stage"].finditer(text):
            who = "cohort" if _P["group after"].match(text[m.end() : m.end() + 40]) else None
            stage = m.group(1).lower()
            yield Mention("age", stage, m.start(), m.end(), "life stage", who, weak=stage in _BROAD)
        for m in _P["school"].finditer(text) if context.is_personal else ():
            yield Mention("age", "of school age", m.start(), m.end(), "a school level", weak=True)
        for m in _P["decade at work"].finditer(text):
            value = f"{m.group(1).lower()} decade at work"
            yield Mention("age", value, m.start(), m.end(), "length of a career", "speaker")

    @staticmethod
    def _numbers(text: str, name: str, why: str) -> Iterator[Mention]:
        for m in _P[name].finditer(text):
            subject = m.group(1) if name in _AFTER_SUBJECT else None
            if subject and subject.lower() not in _PEOPLE and (name == "noun is" or not subject[0].isupper()):
                continue
            age = value_of(next(g for g in reversed(m.groups()) if g))
            if age is None:
                continue
            at = m.lastindex if m.lastindex and name in _WITH_SUBJECT else 0
            unit = next((f" {u}s" for u in ("month", "week", "day") if u in m.group().lower()), "")
            who = "cohort" if _of_group(text, m.start(), m.end()) else None
            weak = _EVENT_BEFORE.search(text[max(0, m.start() - 24) : m.start()]) is not None
            yield Mention("age", f"{age:g}{unit}", m.start(at), m.end(at), why, who, weak)


def value_of(number: str) -> float | None:
    """The age that "52" or "fifty-two" tells; None for what is no age."""
    low = number.lower()
    value = float(low) if low[0].isdigit() else float(sum(_VALUES.get(part, 0) for part in re.split(r"[- ]", low)))
    return value if 0 <= value <= 120 else None


def _of_group(text: str, start: int, end: int) -> bool:
    return (
        text[start:end].rstrip().lower().endswith("olds")
        or _P["group before"].search(text[max(0, start - 24) : start]) is not None
        or _P["group after"].match(text[end : end + 48]) is not None
    )
