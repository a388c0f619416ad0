"""From text to the columns of the survey: the widest reading, and everything that does not reach it named."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from discreet import Guard
from discreet.guard.population.attributes import describe
from discreet.guard.population.found import Description
from discreet.guard.population.words import Value, ages_of, groups, occupations
from discreet.guard.reading import Finding

GUARD = Guard("medical")


def of(text: str) -> tuple[Description, ...]:
    return describe(text, GUARD.judge(text).findings)


def cluster(text: str) -> Mapping[str, frozenset[Value]]:
    return of(text)[0].cluster


@pytest.mark.parametrize(("said", "ages"), [
    ("52-year-old", [52]), ("34yo", [34]), ("34F", [34]), ("in her late fifties", [57, 58, 59]),
    ("early 60s", [60, 61, 62, 63]), ("forty-two", [42]), ("7-month-old", [0]), ("18 months", [1]),
    ("octogenarian", list(range(80, 90))), ("teenager", list(range(13, 20))), ("fifth grader", [10, 11, 12]),
    ("sixth decade of life", list(range(50, 60))), ("97 years old", [90]), ("103", [90]), ("elderly", None),
])
def test_ages_are_the_years_that_words_may_mean(said: str, ages: list[int] | None) -> None:
    assert list(ages_of(said.lower()) or ()) == (list(range(65, 91)) if ages is None else ages)


@pytest.mark.parametrize(("said", "before"), [("12", "when she was "), ("born in 1962", ""), ("old", ""), ("340", "")])
def test_what_tells_no_present_age_is_no_age(said: str, before: str) -> None:
    assert ages_of(said, before) is None


def test_words_around_an_age_widen_it() -> None:
    assert ages_of("60", "she is about ") == range(58, 63)
    assert ages_of("80", "he is over ") == range(80, 91)


@pytest.mark.parametrize(("said", "before", "after", "ages"), [
    ("30-34", "aged ", "", range(30, 35)), ("30", "aged ", " to 34 in May", range(30, 35)),
    ("34", "aged 30 to ", "", range(30, 35)), ("40", "between ", " and 45", range(40, 46)),
    ("45", "between 40 and ", "", range(40, 46)), ("25", "under ", "", range(25)),
    ("25", "under the age of ", "", range(25)), ("12", "up to ", "", range(13)),
    ("85", "", " and over", range(85, 91)), ("85", "", "+, lives", range(85, 91)), ("85+", "", "", range(85, 91)),
    ("60", "", " or younger", range(61)), ("52", "a ", " and two sons", range(52, 53)),
    ("52", "", " to see him", range(52, 53)), ("34", "aged 40 to ", "", range(34, 41)),
])
def test_ages_in_ranges_and_bounds(said: str, before: str, after: str, ages: range) -> None:
    assert ages_of(said, before, after) == ages


def test_what_somebody_is_not_is_not_read() -> None:
    (one,) = of("He is not a welder; he works as a teacher, aged 30-34, in Ohio.")
    assert groups()["10"] in one.cluster["occupation"]
    assert len(one.cluster["occupation"]) == 2
    assert one.cluster["age"] == set(range(30, 35))
    assert [said.why for said in one.dropped] == ["what somebody is said not to be"]
    assert "place" not in cluster("The man is not from Texas; he is 40 and a welder.")
    unmarried = cluster("He is not married and works as a welder in Reno.")["marital_status"]
    assert "married, spouse present" not in unmarried


def test_a_town_of_many_states_is_the_country() -> None:
    (one,) = of("The firefighter, 38, lives in Springfield.")
    assert one.cluster["place"] == {"US"}
    assert "place" in {said.kind for said in one.widened}
    assert cluster("The firefighter, 38, lives in Springfield, Illinois.")["place"] == {"Springfield|Illinois|US"}


def test_the_litigator() -> None:
    (one,) = of("This is a 52-year-old female litigator from Omaha with two children")
    assert one.cluster == {"age": {52}, "sex": {"female"}, "occupation": {"lawyers and judges"},
                           "place": {"Omaha|Nebraska|US"}}
    assert [said.kind for said in one.widened] == ["occupation"]  # Litigators are some of the lawyers.
    assert [said.kind for said in one.dropped] == ["family"]
    assert one.kinds["occupation"] == "occupation"
    assert "Omaha" not in repr(one)


def test_a_diagnosis_is_not_counted_and_schooling_is() -> None:
    (one,) = of("The patient is a 45-year-old Hispanic man who works as a welder in Lubbock, Texas. He is divorced. He "
                "was born in Mexico and holds a master's degree. He has type 2 diabetes.")
    assert one.not_counted == ("condition",)
    assert one.cluster["education"] == {"master's degree"}
    assert one.cluster["marital_status"] == {"divorced"}
    assert "cuban" in one.cluster["hispanic_origin"]
    assert one.cluster["place"] == {"Lubbock|Texas|US"}


def test_what_people_say_of_relatives_is_the_relatives() -> None:
    wife, husband = of("She is in her late fifties and teaches chemistry at Lincoln High. Her husband is a retired "
                       "plumber, 61. She moved here from Ohio.")
    assert wife.cluster["sex"] == {"female"}
    assert husband.cluster["age"] == {61}
    assert "place" not in wife.cluster  # Where she comes from is not where she lives.
    assert {"married, spouse present"} < wife.cluster["marital_status"]
    assert wife.cluster["occupation"] == {groups()["9"], groups()["10"]}
    assert husband.cluster["occupation"] == {"none"}
    assert "occupation" in {said.kind for said in husband.dropped}


def test_contradictions_are_said_and_read_as_widely_as_they_may_be() -> None:
    (one,) = of("The patient is a divorced bus driver from Dallas. He is 41 and has never been married.")
    assert one.cluster["marital_status"] == {"divorced", "never married"}
    assert one.notes == ("marital_status: the text contradicts itself; everything that it says was taken",)


def test_two_ages_are_two_people() -> None:
    assert [one.cluster["age"] for one in of("A 30-year-old man came. A woman of 41 is a bus driver from Dallas.")] == [
        {30}, {41}]


def test_the_more_exact_of_two_readings_holds() -> None:
    assert cluster("He is a 52-year-old banker in his fifties who lives in Lubbock, Texas.")["age"] == {52}


@pytest.mark.parametrize(("text", "column", "values"), [
    ("Our patient is a 34-year-old single mother of twins and works as a nurse.", "marital_status",
     {"never married", "divorced", "separated", "widowed"}),
    ("Our patient is a 34-year-old single mother of twins and works as a nurse.", "sex", {"female"}),
    ("Mr. B, 70, a farmer from Mississippi; his wife died last year.", "marital_status", {"widowed"}),
    ("My client, a Jamaican immigrant in his early 60s, drives a taxi in Brooklyn.", "country_of_birth", {"jamaica"}),
    ("My client, a Jamaican immigrant in his early 60s, drives a taxi in Brooklyn.", "occupation",
     {"motor vehicle operators"}),
    ("I'm a 34yo Korean American nurse in Queens.", "race", {"asian or pacific islander"}),
])
def test_columns(text: str, column: str, values: set[str]) -> None:
    assert cluster(text)[column] == values


@pytest.mark.parametrize(("text", "word", "column", "values"), [
    ("An accident in New Hampshire: a mountaineer, 42.", "Hampshire", "place", {"New Hampshire|US"}),
    ("She moved to west Omaha.", "Omaha", "place", {"Omaha|Nebraska|US"}),
    ("After returning from her honeymoon in Mexico she was ill.", "Mexico", "country_of_birth", None),
    ("She is from Mexico.", "Mexico", "country_of_birth", {"mexico"}),
])
def test_a_place_in_its_words(text: str, word: str, column: str, values: set[str] | None) -> None:
    at = text.index(word)
    (one,) = describe(text, [Finding("place", "third", "person 1", at, at + len(word), "", "contextual", True)])
    assert one.cluster.get(column) == values


def test_the_oldest_are_counted_together_and_said() -> None:
    (one,) = of("She is a 93-year-old widow.")
    assert one.cluster["age"] == {90}
    assert [said.why for said in one.widened if said.kind == "age"] == ["counted as 90 or older"]
    assert not any(said.kind == "age" for one in of("She is an 89-year-old widow.") for said in one.widened)


def test_an_unknown_job_is_dropped_and_said() -> None:
    (one,) = of("She is a 40-year-old quibblemonger from Denver.")
    assert "occupation" not in one.cluster
    assert "occupation" in {said.kind for said in one.dropped}


def test_nobody_is_nobody() -> None:
    assert of("Adults aged 50 to 70 with asthma should be vaccinated.") == ()


def test_the_tables_agree_with_each_other() -> None:
    known = set(groups())
    for word, (codes, _) in occupations().items():
        assert set(codes) <= known, word
        assert word == word.lower()
    assert len(known) == 47


@pytest.mark.parametrize(("text", "column", "values"), [
    ("The client is a White woman, 66. She lives with her spouse.", "sex", {"female"}),
    ("The patient is a white man, 50.", "race", {"white"}),
    ("A white legal secretary called about a bill.", "occupation", {"secretaries, stenographers and typists"}),
    ("She is 41 and has never been married.", "marital_status", {"never married"}),
    ("I'm 47 and was born in the Philippines.", "country_of_birth", {"philippines"}),
])
def test_what_stands_around_a_finding(text: str, column: str, values: set[str]) -> None:
    assert cluster(text)[column] == values
