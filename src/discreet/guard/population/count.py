"""How many people fit: the answer, with what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.core.numbers import listed

PLACE_INDEPENDENT = "Place is taken as independent of the rest."
ORIGIN_BY_PLACE = ("Place is taken as independent of origin, which it is not: the number may be far larger or smaller, "
                   "and the interval is as wide.")


@dataclass(frozen=True, slots=True)
class Count:
    """How many people of a population have every attribute that could be used.

    Attributes
    ----------
    estimate : float or None
        People, at least 1, since somebody of whom this is said is taken to exist. None where it is undefined: an
        attribute contradicts another, or none could be used; `problem` says which.
    interval80, interval95 : (float, float)
        Prediction intervals in people. Where nobody of the survey can have both of two attributes, from 0 to the
        largest group that a survey of this size would have missed in 10 or 2.5% of cases.
    used, dropped, unknown : tuple of str
        Attributes that count; those that the population does not hold; those that no value could be read from, or
        whose town it does not know.
    source, year : str
        Which table of people, and of when.
    upper_bound : bool
        Whether an attribute was dropped or is unknown: those who have it too are fewer. Never with `origin_by_place`.
    expected : float
        The model's number before calibration, below 1 where fewer than one such person is expected; 0 for none used.
    population : float
        People in the whole population.
    place_independent : bool
        Whether a place was multiplied in as a share of the population, independent of all other attributes.
    origin_by_place : bool
        Whether a place and an origin (race, ethnicity, country of birth, ...) are both counted. People of one origin
        live together, so that the number may be a hundred times larger or smaller; the intervals are as wide.
    unseen : tuple of str
        Attributes that count with a value which no row of the table has: as under one row.
    impossible : (str, str) or None
        Two attributes that nobody of the survey has together although many have each: a widowed child.
    """

    estimate: float | None
    interval80: tuple[float, float]
    interval95: tuple[float, float]
    used: tuple[str, ...]
    dropped: tuple[str, ...]
    unknown: tuple[str, ...]
    source: str
    year: str
    upper_bound: bool
    expected: float = 0.0
    population: float = 0.0
    place_independent: bool = False
    origin_by_place: bool = False
    unseen: tuple[str, ...] = ()
    impossible: tuple[str, str] | None = None

    @property
    def problem(self) -> str | None:
        """Why there is no estimate, in words; None where there is one."""
        if self.impossible:
            return (f"{named(self.impossible[0])} and {named(self.impossible[1])} contradict each other: nobody of the "
                    "survey has both; check the attributes")
        return None if self.used else "no attribute could be counted"

    def in_words(self) -> str:
        """The count, its interval, what is not in it and where it comes from, in two or three sentences."""
        left = [*(f"{named(one)} is not in this population" for one in self.dropped),
                *(f"the value of {named(one)} is unknown to it" for one in self.unknown)]
        if self.estimate is None:
            parts = [f"No count: {self.problem}."]
        else:
            low, high = self.interval95
            people = "person fits" if rounded(self.estimate) == "1" else "people fit"
            parts = [f"About {rounded(self.estimate)} {people} {listed([named(one) for one in self.used])} "
                     f"({rounded(low)} to {rounded(high)})."]
        if left:
            said = f"{'; '.join(left)}{': the count is an upper bound' if self.upper_bound else ''}."
            parts.append(said[:1].upper() + said[1:])
        if self.unseen:
            parts.append(f"No row of the table has the value of {listed([named(one) for one in self.unseen])}: "
                         "counted as under one row.")
        if self.place_independent:
            parts.append(ORIGIN_BY_PLACE if self.origin_by_place else PLACE_INDEPENDENT)
        return " ".join([*parts, f"Source: {self.source}, {self.year}."])


def named(column: str) -> str:
    """The name of a column in words."""
    return column.replace("_", " ")


def rounded(people: float) -> str:
    """A number of people to two significant digits, with commas; 10 and fewer as whole numbers."""
    whole = round(people)
    return f"{whole:,}" if whole < 10 else f"{round(whole, 1 - math.floor(math.log10(whole))):,}"
