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


SINGLED_OUT = "The patient, 52, is the only gay lawyer from Omaha. Exercise helps everybody."


def test_words_that_are_not_counted_are_listed_and_change_no_figure() -> None:
    (one,) = of(SINGLED_OUT, StandIn())
    (plain,) = of("The patient is a 52-year-old lawyer from Omaha.", StandIn())
    assert one.uncounted == ("only", "gay")
    assert plain.uncounted == ()
    assert (one.count, one.upper_bound) == (plain.count, plain.upper_bound)


def test_what_is_dropped_or_of_another_person_is_not_counted() -> None:
    (one,) = of("The patient is a 52-year-old widowed lawyer with two children and asthma.",
                StandIn(shares={"age": 0.01, "occupation": 0.01}))
    assert one.uncounted == ("widowed", "two", "children", "asthma")
    (one,) = of("The patient is a blind lawyer from Omaha.", StandIn())
    assert one.uncounted == ("blind",)
    (one,) = of("The patient is a retired criminal defense lawyer from Omaha.", StandIn())
    assert one.uncounted == ("criminal", "defense", "lawyer")
    people = {one.description.person: one for one in of(
        "She is 52 and teaches chemistry. Her husband is a retired plumber, 61.", StandIn())}
    assert {"plumber", "61"} <= set(people["person 1"].uncounted)
    assert people["person 2"].uncounted == ("husband", "plumber")


def test_a_sex_or_a_degree_that_no_finding_holds_is_counted_where_it_was_read() -> None:
    population = StandIn(shares={"age": 0.01, "sex": 0.5, "occupation": 0.01, "place": 0.01, "education": 0.1})
    (one,) = of("The woman is 66, a lawyer from Omaha with a college degree, and plays the tuba.", population)
    assert one.uncounted == ("plays", "tuba")


def test_words_are_in_no_repr_and_leave_only_where_text_may_be_shown() -> None:
    (one,) = of("The patient is a 52-year-old lawyer from Omaha and zqxmarker.", StandIn())
    people = one.people()
    assert (people.uncounted, people.uncounted_words) == (1, ("zqxmarker",))
    for shown in (repr(one), repr(people), repr(people.to_json()), repr(detailed(one, STANDIN))):
        assert "zqxmarker" not in shown
    assert people.to_json(where=True)["uncounted_words"] == ["zqxmarker"]
    assert detailed(one, STANDIN, where=True)["uncounted_words"] == ["zqxmarker"]


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
