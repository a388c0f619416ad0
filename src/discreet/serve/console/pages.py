"""Templates and words of the console, and how it writes times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from jinja2 import Environment
from markupsafe import Markup

from discreet.core.numbers import NOTHING, counted, number, percent, share
from discreet.report.people import scale
from discreet.report.render import templates
from discreet.report.summary import words_of
from discreet.serve.console.evidence import labelled, visible


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
