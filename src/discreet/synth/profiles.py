"""Writer profiles: who writes, a YAML file each under `data/`; a domain's `templates.yaml` says what about.

A line is a sentence or two with slots in braces (`{case}`, `{fact}`; `writer.py` fills them) and choices in angle
brackets (`<this|that>`). Files are read on first use and kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import yaml

from discreet.core.errors import InputError, UsageError
from discreet.domains import Domain

PROFILES = ("L1", "L2", "L3", "L4", "L5", "L6", "L7")
POOLS = ("content", "voice", "cohort", "course", "second", "deflect", "quote", "vignette", "closing", "closing_case",
         "instance", "np_frames", "vp_frames", "single_frames")
SECTIONS = ("openings", "subtypes", "registers", "styles", "questions")
WORDS = ("case", "file", "team", "meeting", "step", "field", "worry")
TOPIC = ("measures", "checks", "risks", "facts")
VALUE = ("post", "vp", "indirect", "lit")
_SLOT = re.compile(r"\{([^{}]+)\}")
_CHOICE = re.compile(r"<([^<>]*)>")


@dataclass(frozen=True, slots=True)
class Line:
    """A compiled line: text and slot names in turn, text first and last."""

    texts: tuple[str, ...]
    slots: tuple[str, ...]


Lines = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """A way of writing.

    Attributes
    ----------
    joiner, opening_joiner : str
        What stands between sentences, and after the first.
    pools : mapping
        Lines by pool ("content") or by section and level ("openings/REFERRAL").
    forms : mapping
        Lines by shared class and form ("AGE", "post"); the form "indirect" of AGE holds ranges of years.
    lexicon : mapping
        Jobs, towns, organisations, relatives.
    vp_join : (Line, Line)
        What joins verb phrases, and the last of them.
    """

    joiner: str
    opening_joiner: str
    pools: Mapping[str, Lines]
    forms: Mapping[str, Mapping[str, Any]]
    lexicon: Mapping[str, Any]
    vp_join: tuple[Line, Line]


@dataclass(frozen=True, slots=True)
class DomainTexts:
    """What every profile may say in a domain.

    `one` is an unnamed person of it ("a patient"); topics have a `name` and lists of `measures`, `checks`, `risks` and
    `facts`, which have no capital and no stop; all phrases are singular.
    """

    words: Mapping[str, tuple[str, ...]]
    one: str
    bodies: tuple[str, ...]
    intervals: tuple[str, ...]
    topics: tuple[Mapping[str, Any], ...]
    qi: Mapping[str, tuple[Mapping[str, str], ...]]


def compiled(template: str) -> Lines:
    """The lines that a template stands for: one for each combination of its choices."""
    parts = _CHOICE.split(template)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return tuple(line("".join(chosen)) for chosen in product(*choices))


@cache
def line(text: str) -> Line:
    """One line without choices, compiled."""
    parts = _SLOT.split(text)
    return Line(tuple(parts[::2]), tuple(parts[1::2]))


def _lines(templates: list[str]) -> Lines:
    return tuple(line for template in templates for line in compiled(template))


@cache
def profile(name: str) -> Profile:
    """A profile of the grammar. Raises UsageError for a name that is not in `PROFILES`."""
    if name not in PROFILES:
        raise UsageError(f"the grammar has no writer profile {name!r}: expected one of {', '.join(PROFILES)}")
    data = read_data(name)
    # A profile may open borderline answers in the words that prompts for a model quote.
    if data["subtypes"] == "canonical":
        data["subtypes"] = {subtype: said["openings"] for subtype, said in read_data("borderline").items()}
    pools: dict[str, Lines] = {pool: _lines(data[pool]) for pool in POOLS}
    for section in SECTIONS:
        pools |= {f"{section}/{level}": _lines(templates) for level, templates in data[section].items()}
    forms = {qi: {form: values if form == "indirect" and isinstance(values[0], list) else _lines(values)
                  for form, values in said.items()} for qi, said in data["forms"].items()}
    joiner = data.get("joiner", " ")
    first, last = data["vp_join"]
    return Profile(joiner, data.get("opening_joiner", joiner), pools, forms, data["lexicon"], (line(first), line(last)))


def read_data(name: str) -> dict[str, Any]:
    """The content of a YAML file under `data/`."""
    text = files("discreet.synth").joinpath("data", f"{name}.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return data


@cache
def domain_texts(domain: Domain) -> DomainTexts:
    """Words, topics and class values of a domain. Raises InputError, naming the key, where its templates lack one."""
    data, where = domain.templates, f"{domain.folder}/templates.yaml"

    def listed(holder: Any, key: str) -> list[Any]:
        found = holder.get(key) if isinstance(holder, Mapping) else None
        if not isinstance(found, list) or not found:
            raise InputError(f"{where}: {key} is missing or no list with entries; start from a copy of a built-in "
                             "domain's templates.yaml")
        return found

    def phrases(holder: Any, key: str) -> tuple[str, ...]:
        return tuple(map(str, listed(holder, key)))

    for value in (value for label in domain.own_labels for value in listed(data.get("qi"), label)):
        if not isinstance(value, Mapping) or not set(VALUE) <= set(value):
            raise InputError(f"{where}: a value under qi lacks a wording; expected each with {', '.join(VALUE)}")
    return DomainTexts(
        words={word: phrases(data.get("words"), word) for word in WORDS},
        one=str(data.get("one", f"a {domain.person}")), bodies=phrases(data, "bodies"),
        intervals=phrases(data, "intervals"),
        topics=tuple({"name": str(topic["name"]), **{key: phrases(topic, key) for key in TOPIC}}
                     for topic in listed(data, "topics")),
        qi={label: tuple({form: str(said) for form, said in value.items()} for value in data["qi"][label])
            for label in domain.own_labels},
    )
