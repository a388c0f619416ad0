"""Fills the slots of a profile's lines: the case noun, the topic, the cohort, the pronoun, each drawn as needed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from numpy.random import Generator as Rng

from discreet.domains import Domain
from discreet.synth.profiles import Line, domain_texts, line, profile
from discreet.synth.records import Spec

T = TypeVar("T")

PRONOUNS = {"f": ("she", "her", "her"), "m": ("he", "him", "his"), "": ("they", "them", "their")}
PERSON = {"f": "woman", "m": "man", "": "person"}
IMPLICIT = ("this person", "the person", "the individual")
"""An implicit case is spoken of without the noun of the profession."""
_SENTENCE = re.compile(r"(?:^|[.!?][\"”]?\s+|\n(?:- )?|[“\"](?=[a-z]))[\W_]*?([a-z])")
_VOWEL = re.compile(r"[aeio]|un|8|1[18]\b", re.I)
_AGES = ((18, 39), (25, 44), (40, 59), (50, 64), (55, 70), (65, 79), (50, 70))
_OF_TOPIC = ("measure", "check", "risk", "fact")
_OF_COHORT = {"jobs": ("jobs", "jobs"), "town": ("towns", "name"), "org": ("orgs", "name")}
"""Slot to the list of the lexicon and the key of its entries."""


class Writer:
    """The state of one draft: what has been drawn, and what must not be said twice.

    Parameters
    ----------
    spec : Spec
        What is to be written.
    domain : Domain
        The one that `spec` names.
    rng : numpy Generator
        Draws are taken from it in blocks.
    """

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
        self.topic = self.pick(self.data.topics)
        self.cases = IMPLICIT if spec.framing == "IMPLICIT_CASE" else self.data.words["case"]

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
            value = given[name] if name in given else self._value(name, given)
            parts += (value, text)
        return "".join(parts)

    def text(self, template: str, **given: str) -> str:
        """`fill` for a line of the lexicon."""
        return self.fill(line(template), **given) if "{" in template else template

    def _value(self, name: str, given: Mapping[str, str]) -> str:
        low = name[0].lower() + name[1:]
        if low.startswith("a "):
            return with_article(given[low[2:]])
        value = given[low] if low in given else self._drawn(low)
        return value if low == name else value[:1].upper() + value[1:]

    def _drawn(self, name: str) -> str:
        if name in ("case", "subj", "cases", "holder"):
            return self._who(name)
        if name in ("him", "his"):
            return PRONOUNS[self.sex][1 if name == "him" else 2]
        if name in self.data.words:
            return self.pick(self.data.words[name])
        if name in ("topic", "one"):
            return str(self.topic["name"]) if name == "topic" else self.data.one
        if name in ("body", "interval"):
            return self.pick(self.data.bodies if name == "body" else self.data.intervals)
        # A line may name a second thing of a kind: {measure2}.
        kind = name.removesuffix("2")
        if kind in _OF_TOPIC:
            return str(self.fresh(kind, self.topic[f"{kind}s"]))
        lexicon = self.profile.lexicon
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
