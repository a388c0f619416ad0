"""From words to the survey's columns: the tables between them, which lie in `data/`, read on first use and kept; and
ages in words ("52-year-old", "in her late fifties", "octogenarian"), each as the years that it may mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from discreet.guard.domains import table_rows
from discreet.guard.text import lexicon as lex
from discreet.guard.text.resources import patterns

Value = int | str
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


def _table(name: str, columns: int) -> Iterator[list[str]]:
    return table_rows(files("discreet.guard.population").joinpath("data", f"{name}.tsv"), columns)


@cache
def groups() -> Mapping[str, str]:
    """The survey's detailed groups of occupations by code."""
    return {code: name for code, name in _table("occupation_groups", 2)}  # noqa: C416


@cache
def occupations() -> Mapping[str, tuple[tuple[str, ...], bool]]:
    """By word, canonical occupation or ending (*ologist): codes of groups, and whether the word is most of them."""
    return {word: (() if codes == "-" else tuple(codes.split(",")), flag == "=")
            for word, codes, flag in _table("occupations", 3)}


@cache
def origins() -> Mapping[str, tuple[tuple[str, frozenset[Value]], ...]]:
    """By people or nation: columns and their values."""
    found: dict[str, list[tuple[str, frozenset[Value]]]] = {}
    for name, column, values in _table("origins", 3):
        found.setdefault(name, []).append((column, frozenset(values.split(";"))))
    return {name: tuple(rows) for name, rows in found.items()}


@cache
def countries() -> Mapping[str, frozenset[Value]]:
    """Names of countries of birth by ISO 3166 code."""
    return {code: frozenset(names.split(";")) for code, names in _table("countries", 2)}


@cache
def towns() -> frozenset[str]:
    """Names of towns that many states have, and none of them before all others."""
    return frozenset(name for name, in _table("towns", 1))


@cache
def readings() -> Mapping[str, tuple[tuple[re.Pattern[str], str, str], ...]]:
    """By class: patterns over lower-case words, in order, each with column and values."""
    found: dict[str, list[tuple[re.Pattern[str], str, str]]] = {}
    for kind, pattern, column, values in _table("readings", 4):
        found.setdefault(kind, []).append((re.compile(pattern), column, values))
    return {kind: tuple(rows) for kind, rows in found.items()}


def job(said: str) -> tuple[tuple[str, ...], bool, bool]:
    """Codes of the groups that a job may belong to, whether they are hardly more than it, and whether it is listed."""
    told = WORD.findall(said.lower())
    heads = [" ".join(told[i:j]) for j in range(len(told), 0, -1) for i in range(j)]
    table = occupations()
    for phrase in heads[:40]:
        for form in dict.fromkeys((phrase, lex.singular(phrase))):
            term = lex.occupations().get(form)
            for key in ((form, term.canonical) if term else (form,)):
                if key in table:
                    codes, exact = table[key]
                    # A surface that only stands for a listed word is narrower: a litigator is one of the lawyers.
                    return codes, exact and key == form == phrase, True
    for word in reversed(told):
        for ending, (codes, _) in table.items():
            if ending[0] == "*" and len(word) > len(ending) + 1 and word.endswith(ending[1:]):
                return codes, False, True
    return (), False, False


OLDEST = 90
"""The survey's last age stands for everybody of that age or above."""
_UNITS = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve thirteen "
                                     "fourteen fifteen sixteen seventeen eighteen nineteen".split())}
_TENS = {w: 10 * i for i, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}
_NUMBER = re.compile(rf"(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(list(_UNITS)[1:10])}))?\b|\b(?:{'|'.join(_UNITS)})\b")
_DIGITS = re.compile(r"(?<![\d.])(\d{1,3})(?:\.5)?(?!\d)")
_DECADE = re.compile(r"\b(\d0|teen|twent|thirt|fort|fift|sixt|sevent|eight|ninet)['’]?(?:s|ies)\b")
_STEMS = dict(zip("teen twent thirt fort fift sixt sevent eight ninet".split(), range(10, 100, 10), strict=True))
_PART = re.compile(r"\b(early|mid|middle|late)\b")
_OF_LIFE = {"third": 20, "fourth": 30, "fifth": 40, "sixth": 50, "seventh": 60, "eighth": 70, "ninth": 80}
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
_GRADE = re.compile(rf"\b({'|'.join(_ORDINALS)}|\d{{1,2}}(?:st|nd|rd|th))[- ]grade")
_TO = r"\b(\d{1,3}) ?(?:-|–|to) ?"
_TO_NEXT = r" ?(?:-|–|to) ?(\d{1,3})\b"
_AND_OVER = re.compile(r"(?: years?(?: old| of age)?)?(?:\+| ?plus\b| (?:and|or) (?:over|older|above|up)\b)")
_RANGE = re.compile(_TO + r"(\d{1,3})\b")
STAGES = (
    (r"newborn|neonate", 0, 0), (r"infant|baby", 0, 1), (r"toddler", 1, 3), (r"preschooler", 3, 5),
    (r"kindergart", 5, 6), (r"preteen|tween", 9, 12), (r"middle[- ]school", 10, 14), (r"high[- ]school senior", 16, 19),
    (r"high[- ]school (?:freshman|sophomore)", 13, 17), (r"high[- ]school", 13, 19), (r"college freshman", 17, 20),
    (r"college (?:sophomore|junior|senior)", 18, 24), (r"teenage|\bteen\b|adolescent", 13, 19),
    (r"twenty-?something", 20, 29), (r"thirty-?something", 30, 39), (r"middle[- ]aged", 40, 64),
    (r"quadragenarian", 40, 49), (r"quinquagenarian", 50, 59), (r"sexagenarian", 60, 69), (r"septuagenarian", 70, 79),
    (r"octogenarian", 80, 89), (r"nonagenarian|centenarian", 90, 90), (r"elderly|senior citizen", 65, 90),
    (r"young (?:adult|man|woman|mother|father)", 18, 35),
)
"""Stages of life and the first and last year of each: our own bounds, wide on purpose."""


def ages_of(said: str, before: str = "", after: str = "") -> range | None:
    """The ages, in whole years from 0 to `OLDEST`, that lower-case words may mean; None where they tell none.

    `before` and `after` are the words around: an age at an event ("when she was 12"), or a year of birth in a text
    whose date is not known, tells no present age.
    """
    if patterns("age")["event before"].search(before) and not re.search(r"year|yo\b|y/o", said):
        return None
    if re.search(r"\bborn\b|\b(?:19|20)\d{2}\b", said):
        return None
    if m := _DECADE.search(said):
        first = int(m[1]) if m[1].isdigit() else _STEMS[m[1]]
        part = _PART.search(said) or _PART.search(before[-12:])
        low, high = {"early": (0, 3), "mid": (4, 6), "middle": (4, 6), "late": (7, 9)}.get(part[1] if part else "",
                                                                                        (0, 9))
        return _years(max(first + low, 13) if m[1] in ("teen", "10") else first + low, first + high)
    if (m := _GRADE.search(said)) and (m[1] in _ORDINALS or m[1][:-2].isdigit()):
        grade = _ORDINALS.index(m[1]) + 1 if m[1] in _ORDINALS else int(m[1][:-2])
        return _years(grade + 5, grade + 7)
    if (m := re.search(r"\b(\w+) decade", said)) and m[1] in _OF_LIFE:
        return _years(_OF_LIFE[m[1]], _OF_LIFE[m[1]] + 9)
    years = _number(said)
    if years is not None:
        around = said + after[:12]
        if re.search(r"\d\s*-?\s*(?:months?|mos?|weeks?|wks?|days?)\b|\b\w+[- ](?:month|week|day)s?[- ]old", around):
            months = years if re.search(r"months?|\bmos?\b", around) else 0
            return _years(months // 12, months // 12)
        if years > 120:
            return None
        if (bounds := _bounds(years, said, before, after)) is not None:
            return _years(*bounds)
        # "Almost 60", "about 60": two years around.
        wide = 2 if re.search(r"\b(?:about|around|almost|nearly|approximately|roughly|some)\s*$", before) else 0
        return _years(years - wide, years + wide)
    return next((_years(low, high) for stage, low, high in STAGES if re.search(stage, said)), None)


def _bounds(years: int, said: str, before: str, after: str) -> tuple[int, int] | None:
    """The first and last year of a range or a bound that is said with an age: "30 to 34", "under 25", "85 and over"."""
    if m := (_RANGE.search(said) or re.search(rf"{_TO}$", before) or re.match(_TO_NEXT, after)
             or (re.match(r" and (\d{1,3})\b", after) if re.search(r"\bbetween $", before) else None)
             or re.search(r"\bbetween (\d{1,3}) and $", before)):
        ends = sorted([int(m[1]), int(m[2]) if m.re is _RANGE else years])
        return (ends[0], ends[1]) if ends[0] < ends[1] <= 120 else None
    if re.search(r"\b(?:over|above|older than|more than|at least)(?: the age of)? *$", before):
        return years, OLDEST
    if re.search(r"\b(?:under|below|younger than|less than)(?: the age of)? *$", before):
        return 0, years - 1
    if re.search(r"\b(?:up to|at most|no older than) *$", before):
        return 0, years
    if _AND_OVER.match(after) or said.endswith("+"):
        return years, OLDEST
    if re.match(r"(?: years?(?: old| of age)?)? (?:and|or) (?:under|younger|below)\b", after):
        return 0, years
    return None


def _years(first: int, last: int) -> range:
    return range(min(max(first, 0), OLDEST), min(last, OLDEST) + 1)


def _number(said: str) -> int | None:
    if m := _DIGITS.search(re.sub(r"(?<=\d)[a-z/]+|[mf](?=\d)", " ", said)):
        return int(m[1])
    if m := _NUMBER.search(said):
        return sum(_TENS.get(w, _UNITS.get(w, 0)) for w in re.split(r"[- ]", m[0]))
    return None
