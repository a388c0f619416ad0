"""Descriptions and a population, joined: what is counted, what is left, and what can be shown."""

from __future__ import annotations

from typing import Any

from tests.population.standin import StandIn

from discreet import Guard
from discreet.population.count import Count
from discreet.population.people import detailed, measure, values_of

GUARD = Guard("medical")
STANDIN: Any = StandIn()


def of(text: str, population: Any) -> Any:
    return measure(text, GUARD.judge(text).findings, population)


def test_the_fewest_come_first_and_each_person_has_a_count() -> None:
    wife, husband = of("She is in her late fifties and teaches chemistry. Her husband is a retired plumber, 61.",
                       StandIn())
    assert wife.count.interval95[1] <= husband.count.interval95[1]
    assert {one.description.person for one in (wife, husband)} == {"person 1", "person 2"}


def test_a_column_that_a_population_does_not_have_is_dropped_and_makes_a_bound() -> None:
    (one,) = of("A 52-year-old divorced lawyer.", StandIn(shares={"age": 0.01, "occupation": 0.01}))
    assert [said.kind for said in one.dropped] == ["family"]
    people = one.people()
    assert (people.used, people.dropped, people.upper_bound) == (("age", "occupation"), ("family",), True)
    assert detailed(one, STANDIN)["dropped"] == [{"class": "family", "why": "not in this population"}]


def test_values_in_words() -> None:
    (one,) = of("An elderly woman in Boise who was born in Mexico.", StandIn())
    shown = values_of(one)
    assert shown["age"] == "65 to 90 or older"
    assert shown["place"] == "Boise, Idaho, US"
    assert one.place == "Boise"


def test_what_cannot_be_is_said_and_is_no_population_of_one() -> None:
    class Strict(StandIn):
        def count(self, cluster: Any) -> Count:
            return Count(None, (0.0, 3.0), (0.0, 9.0), tuple(cluster), (), (), self.source, self.year, False,
                         impossible=("age", "marital_status"))

    (one,) = of("The patient is a 7-year-old widower.", Strict())
    people = one.people()
    assert people.estimate is None
    assert people.sentence().startswith("how many people fit cannot be said: age and marital status contradict")


def test_nobody_is_nobody() -> None:
    assert of("Asthma is common.", StandIn()) == ()
