"""Wider words for what a text says of a person: an age as its decade, a town as its region, an employer as its sector.

A town whose region the text does not name is "a town": many share a name.

Each function says how a stretch of a text is put more widely, as edits [start, end) with new words, or None where it is
not sure that the sentence still reads well. What is put more widely still tells something: the guard judges again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from discreet.guard.population.words import ages_of, job
from discreet.guard.text import lexicon as lex


class Edit(NamedTuple):
    """New words for the characters [start, end); none where they are left out."""

    start: int
    end: int
    new: str


_DECADES = "teens twenties thirties forties fifties sixties seventies eighties nineties".split()
_OLD = re.compile(r"(?P<age>\b(?:\d{1,3}|[a-z]+(?:-[a-z]+)?)[- ]year[- ]old) (?P<noun>(?:[a-z-]+ )?[a-z-]+)\b", re.I)
_IS = re.compile(r"(?:(?<=\bis )|(?<=\bwas )|(?P<aged>\baged? ))(?P<age>\d{1,3}|[a-z]+(?:-[a-z]+)?)"
                 r"(?: years(?: old| of age))?(?=[.,;)]| and\b| with\b|$)", re.I)
_WHO = re.compile(r"(?<!\S)(?:(?P<name>(?i:he|she|they|who|i)|[A-Z][a-z]+|\[[a-z]+ \d+\])|(?P<noun>\S+)) (?:is|was) $")
_BEHIND = re.compile(r"$|\s*[.,;:)]|\s+(?:who|with|from|in|at|of|was|is|has|had|and|or|for|to|presented|came)\b")
_ARTICLE = re.compile(r"\b(an?) $", re.I)
_IN = re.compile(r"\b(from|in|of|to|near|outside|around) $")
_AT = re.compile(r"\b(?:works?|worked|working|employed|employee|job|position|post|shifts?|nurse|manager|clerk|driver|"
                 r"teacher|engineer|technician)\b[^.;!?\n]{0,30}?\b(?:at|for|with|by) (?:the )?$", re.I)
_THE = re.compile(r"\b(?:the|his|her|their|my) $", re.I)
_KIN = re.compile(r"(?:his|her|their|my|the patient's|the client's) "
                  r"(?:(?:late|older|younger|eldest|youngest|only|own) )?"
                  r"(?:(?P<count>two|three|four|five|six|seven) )?(?P<kin>[a-z]+(?:-in-law)?)\b", re.I)
_MARKUP = re.compile(r"[*_`<>|\[\]{}\n]")


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    """`sectors` by kind of organisation, `heads`: kinds by the last word of a name, `occupations`: what a group of the
    census is called, by its code."""
    data = json.loads(files("discreet.guard").joinpath("wider_words.json").read_text(encoding="utf-8"))
    jobs = {code: name for name, codes in data["occupations"].items() for code in codes}
    return {"sectors": data["sectors"], "heads": data["heads"], "occupations": jobs}


def wider(kind: str, text: str, start: int, end: int) -> tuple[Edit, ...] | None:
    """Edits that put what [start, end) says of a person more widely; None where no rule is sure how."""
    rule = _RULES.get(kind)
    if rule is None or _MARKUP.search(text[start:end]):
        return None
    return rule(text, start, end)


def _age(text: str, start: int, end: int) -> tuple[Edit, ...] | None:
    near = max(0, start - 12)
    for pattern in (_OLD, _IS):
        for m in pattern.finditer(text, near, min(len(text), end + 40)):
            years = ages_of(m["age"].lower(), text[near : m.start()].lower(), "")
            if pattern is _IS and not _is_of_somebody(text, m):
                continue
            if m.start("age") < end and start < m.end("age") and years is not None and len(years) == 1:
                return _decade(text, m, years[0], noun=pattern is _OLD)
    return None


def _decade(text: str, m: re.Match[str], age: int, *, noun: bool) -> tuple[Edit, ...] | None:
    if age < 13:
        return None
    band = f"in their {_DECADES[min(age, 99) // 10 - 1]}"
    if not noun:
        return (Edit(m.start(), m.end(), band),)
    words = m["noun"].split()
    at = next((k for k, word in enumerate(words) if _is_person(word.lower())), None)
    if at is None:
        return None
    behind = m.start("noun") + len(" ".join(words[: at + 1]))
    if not _BEHIND.match(text, behind):
        return None
    return (*_article(text, m.start("age"), words[0]), Edit(m.start("age"), m.start("noun"), ""),
            Edit(behind, behind, f" {band}"))


def _is_of_somebody(text: str, m: re.Match[str]) -> bool:
    """Whether a number behind "is" is somebody's age ("She is 52.") and no value ("HbA1c is 71.")."""
    if not m[0][-1:].isdigit() or m["aged"]:
        return True
    before = _WHO.search(text, max(0, m.start() - 60), m.start())
    return before is not None and bool(before["name"] or _is_person(before["noun"].lower()))


def _is_person(word: str) -> bool:
    return word in lex.PERSON_NOUNS or word in ("patient", "client", "customer") or word in lex.occupations()


def _article(text: str, at: int, new: str) -> tuple[Edit, ...]:
    """The article before a place as the new words ask for it, where it must change."""
    m = _ARTICLE.search(text, max(0, at - 4), at)
    if m is None:
        return ()
    wanted = "an" if new[0].lower() in "aeiou" else "a"
    wanted = wanted.capitalize() if m[1][0].isupper() else wanted
    return () if wanted == m[1] else (Edit(m.start(1), m.end(1), wanted),)


def _place(text: str, start: int, end: int) -> tuple[Edit, ...] | None:
    said = text[start:end]
    town, comma, _ = said.partition(",")
    term = lex.places().get(town.strip().lower())
    if term is None or term.kind not in ("city", "county") or term.flag == "w":
        return None
    path = (lex.canonical_place(said) or "") if comma else term.canonical
    parts = path.split("|")
    region = parts[1] if len(parts) > 2 else _countries().get(parts[-1], "")
    before = _IN.search(text, max(0, start - 10), start)
    if not region or before is None:
        return None
    named = re.match(rf",? {re.escape(region)}\b|, [A-Z]{{2}}\b", text[end:])
    if named is None and not comma:  # Towns share names: "Harlingen" is in Texas and in Friesland.
        return (Edit(start, end, f"a {'town' if term.kind == 'city' else 'county'}"),)
    edits = [Edit(start, end + (named.end() if named else 0), region)]
    if before[1] in ("near", "outside", "around"):
        edits.insert(0, Edit(before.start(1), before.end(1), "in"))
    return tuple(edits)


@cache
def _countries() -> Mapping[str, str]:
    """By ISO 3166 code: what the gazetteer calls a country first, as names of countries are written."""
    found: dict[str, str] = {}
    for name, term in lex.places().items():
        if term.kind == "country" and len(name) > 3 and "." not in name:
            found.setdefault(term.canonical, name)
    return {code: f"{'the ' if name.startswith('united') else ''}{name.title()}" for code, name in found.items()}


def _employer(text: str, start: int, end: int) -> tuple[Edit, ...] | None:
    if not _AT.search(text, max(0, start - 60), start) or not _BEHIND.match(text, end):
        return None
    said = text[start:end].lower().removeprefix("the ").strip()
    known = lex.organisations().get(said)
    head = _words()["heads"].get(said.split()[-1] if said.split() else "")
    kind = known.kind if known is not None else head
    the = _THE.search(text, max(0, start - 7), start)
    return (Edit(the.start() if the else start, end, _words()["sectors"].get(kind or "", "an employer")),)


def _relative(text: str, start: int, end: int) -> tuple[Edit, ...] | None:
    for m in _KIN.finditer(text, max(0, start - 20), min(len(text), end + 20)):
        kin = lex.singular(m["kin"].lower())
        if kin not in lex.KIN or not m.start() <= start < end <= m.end():
            continue
        several = m["count"] is not None or kin != m["kin"].lower()
        new = "relatives" if several else "a relative"
        return (Edit(*m.span(), new.capitalize() if text[m.start()].isupper() else new),)
    return None


def _occupation(text: str, start: int, end: int) -> tuple[Edit, ...] | None:
    m = _ARTICLE.search(text, max(0, start - 4), start)
    codes, _, listed = job(text[start:end])
    if m is None or not listed or not _BEHIND.match(text, end):
        return None
    groups = {_words()["occupations"].get(code, "") for code in codes}
    group = groups.pop() if len(groups) == 1 else ""
    if not group or group.split(" ", 1)[1] == text[start:end].lower():
        return None
    return (Edit(m.start(1), end, group.capitalize() if m[1][0].isupper() else group),)


_RULES: Mapping[str, Callable[[str, int, int], tuple[Edit, ...] | None]] = {
    "age": _age, "place": _place, "affiliation": _employer, "family": _relative, "occupation": _occupation}
ORDER = tuple(_RULES)
"""The classes that can be put more widely, what is lost least first."""
