"""Templates and words of the console: how it writes times, and a text with its evidence."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, TypeAlias

import yaml
from jinja2 import Environment
from markupsafe import Markup, escape

from discreet.core.numbers import NOTHING, counted, number, percent, share
from discreet.report.people import scale
from discreet.report.render import templates
from discreet.report.summary import words_of

HUES = 8
LINES = ("one", "two", "three", "four")
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
                     "\ufeff]")


@dataclass(frozen=True, slots=True)
class Mark:
    """What one finding puts on a piece of text: class and hue (1 to 8, 0 for none), whose it is and that line.

    `begins` and `ends` say whether the finding does so with this piece.
    """

    type: str
    hue: int
    mark: str
    line: str
    counts: bool
    begins: bool
    ends: bool


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody that an answer speaks of, as the legend names them."""

    name: str
    subject: str
    mark: str
    line: str


Piece: TypeAlias = "tuple[str, list[Mark]]"
"""A piece of a text, and what covers it; the first decides how it looks."""


class Legend:
    """A hue for each class that counts somewhere, and a line for each person.

    Classes that never count have hue 0, which is none; what is bound to nobody has no number. Beyond eight classes hues
    repeat, and the words at the marks tell them apart.

    Parameters
    ----------
    findings : sequence of mappings
        With `type`, `subject`, `person`, `start`, `end`, `counts`, and `text`, the number of the text that it is in.
    further : sequence of mappings
        Findings of other texts that are shown in the same hues.
    """

    def __init__(self, findings: Sequence[Mapping[str, Any]], further: Sequence[Mapping[str, Any]] = ()) -> None:
        ordered = sorted(findings, key=lambda one: (one["text"], one["start"]))
        every = [*ordered, *further]
        coloured = dict.fromkeys(str(one["type"]) for one in every if one["counts"])
        self._hues = dict.fromkeys((str(one["type"]) for one in every), 0) | {
            name: 1 + place % HUES for place, name in enumerate(coloured)}
        seen = Counter(str(one["type"]) for one in ordered)
        self.classes = sorted(((name, self._hues[name], n) for name, n in seen.items()), key=lambda one: not one[1])
        people = {str(one["person"]): str(one["subject"]) for one in every
                  if one["person"] and one["subject"] != "nobody"}
        self._people = {
            name: Person(name, subject, name.removeprefix("person "), LINES[place] if place < len(LINES) else "more")
            for place, (name, subject) in enumerate(people.items())}
        self.people = [self._people[name] for name in dict.fromkeys(str(one["person"]) for one in ordered)
                       if name in self._people]

    def cut(self, text: str, findings: Sequence[Mapping[str, Any]]) -> list[Piece]:
        """`text` cut at every edge of a finding: its pieces, put together the text, each with what covers it: what
        counts before what does not, and of these the shorter one, which would not be seen otherwise."""
        size = len(text)
        order = sorted(findings, key=lambda one: (not one["counts"], one["end"] - one["start"]))
        ends = sorted({0, size, *(min(max(end, 0), size) for f in findings for end in (f["start"], f["end"]))})
        return [(text[start:end], [self._mark(f, begins=start == max(f["start"], 0), ends=end == min(f["end"], size))
                                   for f in order if f["start"] <= start and end <= f["end"]])
                for start, end in pairwise(ends)]

    def _mark(self, finding: Mapping[str, Any], *, begins: bool, ends: bool) -> Mark:
        person = self._people.get(str(finding["person"]))
        return Mark(str(finding["type"]), self._hues[str(finding["type"])], person.mark if person else "",
                    person.line if person else "nobody", bool(finding["counts"]), begins, ends)


def labelled(marks: Sequence[Mark]) -> list[Mark]:
    """What is written at the end of a piece: what ends there, and before it what the piece looks like."""
    ending = [one for one in marks if one.ends]
    return list(dict.fromkeys([marks[0], *ending])) if ending else []


def visible(text: str) -> Markup:
    """HTML of `text`; characters that cannot be seen, or that turn the order of others, by their code point."""
    def shown(found: re.Match[str]) -> str:
        character = found[0]
        name = unicodedata.name(character, "control character").lower()
        return f'<span class="control" title="{escape(name)}">U+{ord(character):04X}</span>'

    return Markup(_UNSEEN.sub(shown, str(escape(text))))


@cache
def words() -> Mapping[str, Mapping[str, str]]:
    """The labels of `words.yaml`, and those that reports give to causes."""
    found: Mapping[str, Mapping[str, str]] = yaml.safe_load(
        files("discreet.serve.console").joinpath("words.yaml").read_text(encoding="utf-8"))
    return {**found, "cause": words_of("causes")}


def label(kind: str, code: str) -> str:
    """What the console calls a code: "undecided" for the code privacy/undecided; the code where it has no name."""
    return words()[kind].get(code, code.replace("_", " "))


def heading(code: str, verdict: Mapping[str, Any]) -> str:
    """Why an answer waits, for who decides about it. `verdict` is that of a ticket, `code` its reason code."""
    why, known = verdict.get("cause") or {}, words()["heading"]
    kinds = [*(one.replace("_", " ") for one in why.get("kinds", ())),
             *(f"{one.replace('_', ' ')} (can be guessed)" for one in why.get("inferred", ()))]
    if why.get("cause") == "probe" and why["detail"]:  # A direct identifier.
        kinds.insert(0, "a name or number")
    told = f"{', '.join(kinds[:-1])} and {kinds[-1]}" if len(kinds) > 1 else "".join(kinds)
    said = known.get(why.get("cause", ""), known[code])
    return said.format(kinds=told or "no words say who", whom=words()["whom"].get(why.get("subject", ""), "one person"),
                       detail=why.get("detail", ""), words=why.get("words"))


def span(seconds: float) -> str:
    """"45 s", "12 min", "3 h"; the script of the page writes it alike."""
    s = max(0, -int(-seconds // 1))
    return f"{s} s" if s < 100 else f"{round(s / 60)} min" if s < 6000 else f"{round(s / 3600)} h"


def _time(seconds: float, form: str) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(form)


@cache
def environment() -> Environment:
    """The templates' environment."""
    made = templates("discreet.serve.console")
    made.filters.update(
        away=lambda s: f"in {span(s)}" if s > 0 else "now", left=lambda s: f"{span(s)} left",
        seconds=lambda s: f"{max(0, -int(-s // 1))} s", brief=lambda ticket: ticket[:10], visible=visible,
        share=share, counted=counted, thousands=lambda n: f"{n:,}", words=lambda name: str(name).replace("_", " "),
        label=lambda code, kind: label(kind, code), number=number, percent=percent, labelled=labelled,
        people_scale=lambda people: Markup(scale(people)),
        lasting=lambda s: NOTHING if s is None else span(s), exact=lambda s: _time(s, "%Y-%m-%d %H:%M:%S"),
        iso=lambda s: _time(s, "%Y-%m-%dT%H:%M:%SZ"), clock=lambda s: _time(s, "%d %b, %H:%M UTC"))
    return made


def render(template: str, **facts: Any) -> str:
    """A page."""
    return environment().get_template(template).render(**facts)
