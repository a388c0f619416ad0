"""Descriptions and a population, joined: what is counted, what is left, and what can be shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.guard.population.standin import StandIn

from discreet import Guard
from discreet.cli.meter import lines
from discreet.guard.population.count import Count
from discreet.guard.population.people import detailed, measure, values_of

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
    (one,) = of("The client is a 52-year-old divorced lawyer.", StandIn(shares={"age": 0.01, "occupation": 0.01}))
    assert [said.kind for said in one.dropped] == ["family"]
    people = one.people()
    assert (people.used, people.dropped, people.upper_bound) == (("age", "occupation"), ("family",), True)
    assert detailed(one, STANDIN)["dropped"] == [{"class": "family", "why": "not in this population"}]


class Changed(StandIn):
    """The same with something else in every count."""

    def __init__(self, **change: Any) -> None:
        super().__init__()
        self.change = change

    def count(self, cluster: Any) -> Count:
        return replace(super().count(cluster), **self.change)


def test_an_origin_in_a_place_is_never_said_to_be_at_most_so_many() -> None:
    text = "The patient is a 52-year-old black locksmith from Omaha with two children."
    (plain,) = of(text, StandIn())
    (one,) = of(text, Changed(upper_bound=False, origin_by_place=True))
    assert plain.people().sentence().startswith("at most about")
    assert one.people().sentence().startswith("about")
    shown = detailed(one, STANDIN)
    assert (shown["origin_by_place"], shown["upper_bound"]) == (True, False)
    assert shown["dropped"]
    printed = "\n".join(lines({"people": [shown]}))
    assert "upper bound" not in printed
    assert printed.endswith("Place is taken as independent of origin, which it is not: the number may be far larger or "
                            "smaller, and the interval is as wide.")


def test_a_value_that_no_row_has_is_counted_and_said() -> None:
    (one,) = of("The patient is a 52-year-old lawyer.", Changed(unseen=("occupation",)))
    assert not one.upper_bound
    shown = detailed(one, STANDIN)
    assert shown["unseen"] == [{"class": "occupation",
                                "why": "no row of the table has this value: counted as under one row"}]
    assert "  unseen        occupation: no row of the table has this value" in "\n".join(lines({"people": [shown]}))


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
    (one,) = of("The patient is an elderly woman in Boise who was born in Mexico.", StandIn())
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
