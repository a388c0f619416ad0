"""Writer profiles, and a writer that fills the slots of their lines.

A profile says who writes, a YAML file each under `data/`; a domain's `templates.yaml` says what about. A line is a
sentence or two with slots in braces (`{case}`, `{fact}`, `{a meeting}` with its article; a capital makes a capital) and
choices in angle brackets (`<this|that>`). Files are read on first use and kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, TypeVar

from numpy.random import Generator as Rng

from discreet.core.errors import InputError, UsageError
from discreet.guard.domains import Domain
from discreet.synth.records import Spec, read_data

T = TypeVar("T")

PROFILES = ("L1", "L2", "L3", "L4", "L5", "L6", "L7")
POOLS = ("content", "voice", "cohort", "course", "second", "deflect", "quote", "vignette", "closing", "closing_case",
         "instance", "np_frames", "vp_frames", "single_frames")
SECTIONS = ("openings", "subtypes", "registers", "styles", "questions")
WORDS = ("case", "file", "team", "meeting", "step", "field", "worry")
TOPIC = ("measures", "checks", "risks", "facts")
VALUE = ("post", "vp", "indirect", "lit")
PRONOUNS = {"f": ("she", "her", "her"), "m": ("he", "him", "his"), "": ("they", "them", "their")}
PERSON = {"f": "woman", "m": "man", "": "person"}
IMPLICIT = ("this person", "the person", "the individual")
"""An implicit case is spoken of without the noun of the profession."""
_SLOT = re.compile(r"\{([^{}]+)\}")
_CHOICE = re.compile(r"<([^<>]*)>")
_SENTENCE = re.compile(r"(?:^|[.!?][\"”]?\s+|\n(?:- )?|[“\"](?=[a-z]))[\W_]*?([a-z])")
_VOWEL = re.compile(r"[aeio]|un|8|1[18]\b", re.I)
_AGES = ((18, 39), (25, 44), (40, 59), (50, 64), (55, 70), (65, 79), (50, 70))
_OF_TOPIC = ("measure", "check", "risk", "fact")
_OF_COHORT = {"jobs": ("jobs", "jobs"), "town": ("towns", "name"), "org": ("orgs", "name")}
"""Slot to the list of the lexicon and the key of its entries."""


@dataclass(frozen=True, slots=True)
class Line:
    """A compiled line: text and slot names in turn, text first and last."""

    texts: tuple[str, ...]
    slots: tuple[str, ...]


Lines = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """A way of writing: what joins its sentences (and the first to the rest), its lines and its lexicon.

    `pools` are by pool ("content") or by section and level ("openings/REFERRAL"), `forms` by shared class and form
    ("AGE", "post"; "indirect" of AGE holds ranges of years); `vp_join` joins verb phrases, and the last of them.
    """

    joiner: str
    opening_joiner: str
    pools: Mapping[str, Lines]
    forms: Mapping[str, Mapping[str, Any]]
    lexicon: Mapping[str, Any]
    vp_join: tuple[Line, Line]


def compiled(template: str) -> Lines:
    """The lines that a template stands for: one for each combination of its choices."""
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(_CHOICE.split(template))]
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
    pools = {pool: _lines(data[pool]) for pool in POOLS}
    pools |= {f"{section}/{level}": _lines(templates)
              for section in SECTIONS for level, templates in data[section].items()}
    forms = {qi: {form: values if form == "indirect" and isinstance(values[0], list) else _lines(values)
                  for form, values in said.items()} for qi, said in data["forms"].items()}
    joiner, (first, last) = data.get("joiner", " "), data["vp_join"]
    return Profile(joiner, data.get("opening_joiner", joiner), pools, forms, data["lexicon"], (line(first), line(last)))


@cache
def domain_texts(domain: Domain) -> Mapping[str, Any]:
    """What every profile may say in a domain, with `one`, an unnamed person of it ("a patient").

    Topics have a `name` and lists of `TOPIC`; values under `qi`, by class, the wordings of `VALUE`. Phrases are
    singular, without capital and stop. Raises InputError, naming the key, where the domain's templates lack one.
    """
    data, where = domain.templates, f"{domain.folder}/templates.yaml"
    wanted: list[tuple[Any, str]] = [(data, key) for key in ("bodies", "intervals", "topics")]
    wanted += [(data.get("words"), word) for word in WORDS] + [(data.get("qi"), label) for label in domain.own_labels]
    topics = data.get("topics")
    wanted += [(topic, key) for topic in (topics if isinstance(topics, list) else ()) for key in TOPIC]
    for holder, key in wanted:
        found = holder.get(key) if isinstance(holder, Mapping) else None
        if not isinstance(found, list) or not found:
            raise InputError(f"{where}: {key} is missing or no list with entries; start from a copy of a built-in "
                             "domain's templates.yaml")
    if not all(isinstance(v, Mapping) and set(VALUE) <= set(v) for of in domain.own_labels for v in data["qi"][of]):
        raise InputError(f"{where}: a value under qi lacks a wording; expected each with {', '.join(VALUE)}")
    return {"one": f"a {domain.person}", **data}


class Writer:
    """The state of one draft of `spec`, which names `domain`: what has been drawn, and what must not be said twice."""

    def __init__(self, spec: Spec, domain: Domain, rng: Rng) -> None:
        self.spec = spec
        self.profile = profile(spec.profile)
        self.data = domain_texts(domain)
        self._rng = rng
        self._draws: list[float] = []
        self._left: dict[str, list[Any]] = {}
        self._last: dict[str, Any] = {}
        self._span = _AGES[0]
        self.sex = self.pick(("f", "f", "m", "m", ""))
        self.topic = self.pick(self.data["topics"])
        self.cases: Sequence[str] = IMPLICIT if spec.framing == "IMPLICIT_CASE" else self.data["words"]["case"]

    def chance(self) -> float:
        """A draw from [0, 1)."""
        if not self._draws:
            self._draws = self._rng.random(128).tolist()
        return self._draws.pop()

    def pick(self, items: Sequence[T]) -> T:
        """One of `items`, uniformly."""
        return items[int(self.chance() * len(items))]

    def fresh(self, name: str, items: Sequence[T]) -> T:
        """One of `items` that this draft has not had under `name`; all are open again when they are used up."""
        left = self._left.get(name)
        if not left:
            # Not the one that was had last, so that no sentence sets a thing against itself.
            left = self._left[name] = [i for i in items if i is not self._last.get(name)] or list(items)
        item: T = left.pop(int(self.chance() * len(left)))
        self._last[name] = item
        return item

    def from_pool(self, pool: str, **given: str) -> str:
        """A line of a pool of the profile, filled."""
        return self.fill(self.fresh(pool, self.profile.pools[pool]), **given)

    def one_of(self, section: str, level: str) -> str:
        """A line of a section of the profile, filled."""
        return self.fill(self.pick(self.profile.pools[f"{section}/{level}"]))

    def in_order(self, pool: str, n: int) -> list[str]:
        """n different lines of a pool in the pool's order, as a story needs them."""
        lines = self.profile.pools[pool]
        chosen = sorted(range(len(lines)), key=lambda _: self.chance())[:n]
        self._left[pool] = [line for i, line in enumerate(lines) if i not in chosen]
        return [self.fill(lines[i]) for i in sorted(chosen)]

    def fill(self, template: Line, **given: str) -> str:
        """A line with its slots filled; a slot whose name is capitalised gets a capital."""
        self._span = self.fresh("ages", _AGES) if any(n.startswith("age") for n in template.slots) else self._span
        parts = [template.texts[0]]
        for name, text in zip(template.slots, template.texts[1:], strict=True):
            parts += (self._value(name, given), text)
        return "".join(parts)

    def text(self, template: str, **given: str) -> str:
        """`fill` for a line of the lexicon."""
        return self.fill(line(template), **given) if "{" in template else template

    def _value(self, name: str, given: Mapping[str, str]) -> str:
        low = name[0].lower() + name[1:]
        bare = low.removeprefix("a ")
        value = given[bare] if bare in given else self._drawn(bare)
        if bare != low:
            value = with_article(value)
        return value if low == name else value[:1].upper() + value[1:]

    def _drawn(self, name: str) -> str:
        lexicon, kind = self.profile.lexicon, name.removesuffix("2")
        if name in ("case", "subj", "cases", "holder"):
            return self._who(name)
        if name in ("him", "his"):
            return PRONOUNS[self.sex][1 if name == "him" else 2]
        if name in WORDS:
            return str(self.pick(self.data["words"][name]))
        if name in ("topic", "one"):
            return str(self.topic["name"] if name == "topic" else self.data["one"])
        if name in ("body", "interval"):
            return str(self.pick(self.data["bodies" if name == "body" else "intervals"]))
        # A line may name a second thing of a kind: {measure2}.
        if kind in _OF_TOPIC:
            return str(self.fresh(kind, self.topic[f"{kind}s"]))
        if kind in _OF_COHORT:
            entries, key = _OF_COHORT[kind]
            return str(self.fresh(entries, lexicon[entries])[key])
        if name == "kin":
            return str(self.fresh("kin", lexicon["kin"]))
        low, high = self._span
        return {"ages": f"{low} to {high}", "ages2": f"{low} and {high}", "age": str(low), "age2": str(high)}[name]

    def _who(self, name: str) -> str:
        if name == "subj" and self.sex:
            return PRONOUNS[self.sex][0]
        case = self.pick(self.cases)
        if name == "case":
            return case
        # A long noun ("the party in this matter") takes neither a possessive nor a verb phrase well.
        short = case if " in " not in case else self.cases[0]
        return f"{short}'s" if name == "cases" else short


def with_article(phrase: str) -> str:
    """"a welder", "an electrician", "an 85-year-old"; marks of slots before the first letter are passed over."""
    first = next((i for i, c in enumerate(phrase) if c.isalnum()), 0)
    return f"{'an' if _VOWEL.match(phrase, first) else 'a'} {phrase}"


def sentence_case(text: str) -> str:
    """Capitals where sentences, lines and quotations begin."""
    return _SENTENCE.sub(lambda m: m.group()[:-1] + m.group(1).upper(), text)
