"""Grammar lineages: who writes. One YAML file each under `grammar/`, and one file of topics for each domain.

A line is a sentence or two with slots in braces (`{case}`, `{fact}`; `realise.py` fills them) and choices in angle
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

from discreet.core.errors import InputError, UsageError
from discreet.domains import Domain
from discreet.synth.axes import FRAMINGS, REGISTERS
from discreet.synth.borderline import OPENINGS, SUBTYPES
from discreet.synth.taxonomy import SHARED

LINEAGES: tuple[str, ...] = ("L1", "L2", "L3", "L4", "L5", "L6", "L7")
POOLS: tuple[str, ...] = (
    "content", "voice", "cohort", "course", "second", "deflect", "quote", "vignette", "closing", "closing_case",
    "instance", "np_frames", "vp_frames", "single_frames",
)
WORDS: tuple[str, ...] = ("case", "file", "team", "meeting", "step", "field", "worry")
TOPIC: tuple[str, ...] = ("measures", "checks", "risks", "facts")
VALUE: tuple[str, ...] = ("post", "vp", "indirect", "lit")
_SLOT = re.compile(r"\{([^{}]+)\}")
_CHOICE = re.compile(r"<([^<>]*)>")


@dataclass(frozen=True, slots=True)
class Line:
    """A compiled line: text and slot names in turn, text first and last."""

    texts: tuple[str, ...]
    slots: tuple[str, ...]


Lines = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """A way of writing: pools of lines, forms of the shared classes, and a lexicon."""

    name: str
    joiner: str
    opening_joiner: str
    pools: Mapping[str, Lines]
    openings: Mapping[str, Lines]
    subtypes: Mapping[str, tuple[Line, ...]]
    registers: Mapping[str, Lines]
    styles: Mapping[str, Lines]
    questions: Mapping[str, Lines]
    forms: Mapping[str, Mapping[str, Any]]
    lexicon: Mapping[str, Any]
    vp_join: tuple[Line, Line]


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject of a domain and what is said about it. All phrases are singular; facts have no capital and no stop."""

    name: str
    measures: tuple[str, ...]
    checks: tuple[str, ...]
    risks: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DomainData:
    """What every lineage may say in a domain."""

    words: Mapping[str, tuple[str, ...]]
    one: str
    bodies: tuple[str, ...]
    intervals: tuple[str, ...]
    topics: tuple[Topic, ...]
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
def lineage(name: str) -> Lineage:
    """A lineage of the grammar. Raises UsageError for a name that is not in `LINEAGES`."""
    if name not in LINEAGES:
        raise UsageError(f"the grammar has no lineage {name!r}: expected one of {', '.join(LINEAGES)}")
    data = _read(name)
    try:
        return _lineage(name, data)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"grammar/{name}.yaml is incomplete ({type(error).__name__}); reinstall discreet") from None


def _lineage(name: str, data: dict[str, Any]) -> Lineage:
    canonical = data["subtypes"] == "canonical"
    subtypes = {s: tuple(map(line, OPENINGS[s] if canonical else data["subtypes"][s])) for s in SUBTYPES}
    first, last = data["vp_join"]
    joiner = data.get("joiner", " ")
    return Lineage(
        name=name, joiner=joiner, opening_joiner=data.get("opening_joiner", joiner),
        pools={pool: _lines(data[pool]) for pool in POOLS},
        openings={f: _lines(data["openings"][f]) for f in FRAMINGS}, subtypes=subtypes,
        registers={r: _lines(data["registers"][r]) for r in REGISTERS},
        styles={s: _lines(data["styles"][s]) for s in ("bulletin", "chat", "list")},
        questions={kind: _lines(data["questions"][kind]) for kind in ("case", "general")},
        forms={qi: _forms(data["forms"][qi]) for qi in SHARED}, lexicon=data["lexicon"],
        vp_join=(line(first), line(last)),
    )


def _forms(forms: Mapping[str, Any]) -> dict[str, Any]:
    return {form: values if form == "indirect" and isinstance(values[0], list) else _lines(values)
            for form, values in forms.items()}


@cache
def domain_data(domain: Domain) -> DomainData:
    """Words, topics and class values of a domain. Raises InputError, naming the key, where its templates lack one."""
    data, where = domain.templates, f"{domain.folder}/templates.yaml"
    key = ""
    try:
        words = {key: _phrases(data["words"][key]) for key in WORDS}
        one, bodies, intervals = str(data["one"]), _phrases(data["bodies"]), _phrases(data["intervals"])
        topics = tuple(Topic(str(t["name"]), *(_phrases(t[key]) for key in TOPIC)) for t in data["topics"])
        qi = {key: tuple({form: str(value[form]) for form in (*VALUE, *(set(value) - set(VALUE)))}
                         for value in data["qi"][key]) for key in domain.own_labels}
    except (KeyError, TypeError, AttributeError) as error:
        missing = error.args[0] if isinstance(error, KeyError) else key
        raise InputError(f"{where}: {missing} is missing or of another form; start from a copy of a built-in domain's "
                         "templates.yaml") from None
    if not topics or not all((*words.values(), bodies, intervals, *qi.values())):
        raise InputError(f"{where}: an empty list; expected at least one entry everywhere")
    return DomainData(words, one, bodies, intervals, topics, qi)


def _phrases(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError("no list")
    return tuple(map(str, values))


def _read(name: str) -> dict[str, Any]:
    import yaml

    text = files("discreet.synth").joinpath("grammar", f"{name}.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return data
