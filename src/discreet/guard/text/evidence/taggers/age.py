"""Ages: numbers, decades, dates of birth as years, and life stages as narrow as an age."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import Context, Mention, mentions_of, tagger
from discreet.guard.text.resources import patterns

_P = patterns("age")
_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
).split()
_VALUES = dict(zip(_NUMBERS, [*range(1, 20), *range(20, 100, 10)], strict=True))
_IN_YEARS = dict.fromkeys(("turns", "old", "aged", "bare", "noun is", "at"), "age in years") | {
    "bracket": "age in brackets", "short": "age in short form", "comma": "age after a name"}
_AFTER_SUBJECT = frozenset(["comma", "noun is", "bracket"])
# These name their subject, which must not hide it from binding: the mention is the number alone.
_WITH_SUBJECT = frozenset(["turns", "bracket", "bare", "comma", "noun is", "at"])
_CASED = frozenset(["bracket", "short", "comma", "at"])
_BROAD = frozenset("newborn neonate infant toddler teenager teenage teenaged adolescent preteen tween".split())


@tagger("age", "age")
def ages(context: Context) -> Iterator[Mention]:
    """Numbers with a unit, decades, years of birth, life stages."""
    text, lower = context.text, context.lower
    for name, why in _IN_YEARS.items():
        yield from _numbers(context, name, why)
    for m in _P["in decade"].finditer(lower):
        yield Mention("age", f"{m[1] or ''} {m[2]}".strip(), *m.span(), "decade of life")
    for m in _P["born"].finditer(text):
        yield Mention("age", f"born {m[1]}", *m.span(), "year of birth")
    for m in _P["stage"].finditer(lower):
        who = "cohort" if _P["group after"].match(text[m.end() : m.end() + 40]) else None
        yield Mention("age", m[1], *m.span(), "life stage", who, weak=m[1] in _BROAD)
    if context.is_personal:
        yield from mentions_of(
            "age", _P["school"].finditer(lower), "a school level", group=0, value="of school age", weak=True)
    for m in _P["decade at work"].finditer(lower):
        yield Mention("age", f"{m[1]} decade at work", *m.span(), "length of a career", "speaker")


def _numbers(context: Context, name: str, why: str) -> Iterator[Mention]:
    text, nouns = context.text, context.person_words.nouns
    for m in _P[name].finditer(text if name in _CASED else context.lower):
        subject = m[1] if name in _AFTER_SUBJECT else None
        known = subject and (subject.lower() in nouns or subject.lower() in lex.KIN)
        if subject and not known and (name == "noun is" or not subject[0].isupper()):
            continue
        age = value_of(next(g for g in reversed(m.groups()) if g))
        if age is None:
            continue
        at = m.lastindex if m.lastindex and name in _WITH_SUBJECT else 0
        unit = next((f" {u}s" for u in ("month", "week", "day") if u in m.group().lower()), "")
        before, after = text[max(0, m.start() - 24) : m.start()], text[m.end() : m.end() + 48]
        group = m.group().rstrip().lower().endswith("olds") or _P["group before"].search(before)
        who = "cohort" if group or _P["group after"].match(after) else None
        at_event = _P["event before"].search(before) is not None
        yield Mention("age", f"{age:g}{unit}", *m.span(at), why, who, weak=at_event)


def value_of(number: str) -> float | None:
    """The age that "52" or "fifty-two" tells; None for what is no age."""
    low = number.lower()
    value = float(low) if low[0].isdigit() else float(sum(_VALUES.get(part, 0) for part in re.split(r"[- ]", low)))
    return value if 0 <= value <= 120 else None
