"""How many people fit what a text says of each person: the descriptions of `attributes` and a population, joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.core.records import People, rounded
from discreet.guard.population.attributes import describe
from discreet.guard.population.count import Count
from discreet.guard.population.found import Description, Found, Said, uncounted_words
from discreet.guard.population.population import Population
from discreet.guard.population.words import OLDEST, Value
from discreet.guard.text.doc import Doc

UNKNOWN = "no value of this population, or a place of unknown size"
UNSEEN = "no row of the table has this value: counted as under one row"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a text says of one person, and how many people of a population fit.

    `asked` is the cluster that the population was asked for, `dropped` and `unknown` what does not reach the count and
    why; `place` is where, in words of the gazetteer. `uncounted` are the words that tell something in the sentences
    about the person and are not in the count: each of them may say that fewer fit.
    """

    description: Description
    count: Count
    asked: Mapping[str, frozenset[Value]] = field(repr=False)
    dropped: tuple[Said, ...]
    unknown: tuple[Said, ...]
    place: str = field(default="", repr=False)
    uncounted: tuple[str, ...] = field(default=(), repr=False)

    @property
    def upper_bound(self) -> bool:
        """Whether something that is said is not in the count, or only more coarsely, so that fewer may fit.

        Never where an origin and a place are counted: more may fit as well.
        """
        left = self.dropped or self.unknown or self.description.widened or self.description.notes
        return bool(self.count.upper_bound or left) and not self.count.origin_by_place

    def people(self) -> People:
        """The figures with classes instead of words, as a verdict holds them."""
        kinds = self.description.kinds
        return People(
            self.count.estimate, self.count.interval80, self.count.interval95,
            tuple(dict.fromkeys(kinds.get(column, column) for column in self.count.used)),
            tuple(dict.fromkeys(said.kind for said in self.dropped)),
            tuple(dict.fromkeys(said.kind for said in self.unknown)), self.description.not_counted, self.upper_bound,
            self.count.source, str(self.count.year), self.count.problem, self.place, len(self.uncounted),
            self.uncounted)


def measure(text: str, findings: Iterable[Found], population: Population) -> tuple[Measured, ...]:
    """How many people fit what a text says of each person, the fewest (by the upper end of 95%) first.

    `findings` are those of a judgement on `text`. A person of whom only domain facts are said is left out.
    """
    measured = []
    held, doc = [f for f in findings if f.layer == "contextual"], Doc.of(text)
    for one in describe(text, held):
        if one.cluster or one.dropped:
            asked = dict(one.cluster)
            if "place" in asked:
                asked["place"] = frozenset(_town(str(path)) for path in asked["place"])
            count = population.count(asked)
            dropped = tuple(Said(one.kinds.get(column, column), "not in this population") for column in count.dropped)
            unknown = tuple(Said(one.kinds.get(column, column), UNKNOWN) for column in count.unknown)
            place = str(next(iter(one.cluster.get("place", ())), "")).partition("|")[0]
            mine = (f for f in held if (f.person, f.subject) == (one.person, one.subject))
            counted = (span for column in count.used for span in one.spans[column])
            measured.append(Measured(one, count, asked, (*one.dropped, *dropped), unknown,
                                     place if "place" in count.used else "", uncounted_words(doc, mine, counted)))
    return tuple(sorted(measured, key=lambda m: m.count.interval95[1]))


def _town(path: str) -> str:
    """Part of a town, town, region, country, as part, region, country: whose sizes a population knows."""
    first, *rest = path.split("|")
    return "|".join((first, *rest[-2:]))


def detailed(one: Measured, population: Population, *, where: bool = False) -> dict[str, Any]:
    """Everything about one person that may be printed: figures, classes and columns, no values; with `where` also the
    place, and the words that were not counted.

    `used` says of each column what share of those who fit the rest it leaves ("leaves 1 in `narrows`"), `advice` how
    many would fit if one attribute were said less exactly.
    """
    kinds, narrows = one.description.kinds, population.narrowing(one.asked)
    people = one.people().to_json(where=where)
    unseen = [Said(kinds.get(column, column), UNSEEN) for column in one.count.unseen]
    return people | {
        "person": one.description.person, "subject": one.description.subject,
        "used": [{"class": kinds.get(column, column), "column": column, "narrows": narrows.get(column)}
                 for column in one.count.used],
        **{name: [{"class": said.kind, "why": said.why} for said in left] for name, left in (
            ("widened", one.description.widened), ("dropped", one.dropped), ("unknown", one.unknown),
            ("unseen", unseen))},
        "notes": list(one.description.notes), "place_is_independent": one.count.place_independent,
        "origin_by_place": one.count.origin_by_place,
        "advice": [{name: value for name, value in gain.items() if name != "to"} for gain in advice(one, population)]}


def advice(one: Measured, population: Population) -> list[dict[str, Any]]:
    """What saying one attribute less exactly would gain, most first: of each attribute the change that gains most.

    A change that gains nobody is left out. `change` holds no value of the text; `to` does, and `detailed` does not
    tell it.
    """
    found: dict[str, dict[str, Any]] = {}
    for gain in population.generalise(one.asked):
        years = re.fullmatch(r"(\d+) to (\d+)", gain.to)
        change = (f"as a band of {int(years[2]) - int(years[1]) + 1} years" if years else
                  "as its state or region" if gain.attribute == "place" else "as a wider group")
        if rounded(gain.estimate) > rounded(gain.estimate / gain.factor):
            found.setdefault(gain.attribute, {
                "class": one.description.kinds.get(gain.attribute, gain.attribute), "column": gain.attribute,
                "change": change, "to": gain.to, "estimate": gain.estimate, "factor": gain.factor})
    return list(found.values())


def values_of(one: Measured) -> dict[str, str]:
    """What was counted, by column, in words: of a text that may be shown."""
    return {column: _in_words(one.description.cluster[column]) for column in one.count.used}


def _in_words(values: frozenset[Value]) -> str:
    numbers = sorted(v for v in values if isinstance(v, int))
    if numbers and len(numbers) == numbers[-1] - numbers[0] + 1:
        last = f"{OLDEST} or older" if numbers[-1] == OLDEST else str(numbers[-1])
        return last if len(numbers) == 1 else f"{numbers[0]} to {last}"
    return " or ".join(str(v).replace("|", ", ") for v in sorted(values, key=str))
