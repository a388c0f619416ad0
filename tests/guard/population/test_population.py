"""A population that is asked: what it counts, what it cannot, what it says of that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError
from discreet.guard.population.columns import Column
from discreet.guard.population.fit import fit_population
from discreet.guard.population.places import Places
from discreet.guard.population.population import Population

COLUMNS = [Column("age", tuple(map(str, range(91))), ordered=True), Column("sex", ("female", "male")),
           Column("status", ("never married", "married", "widowed"), groups={"was or is": ("married", "widowed")})]
ROWS, PEOPLE = 6000, 300_000.0
PLACES = Places(("US", "United States"), 1000, {"Nebraska": (100, {"Omaha": 40, "Lincoln": 30}),
                                                "Maine": (900, {"Lincoln": 90})}, "made up")


@pytest.fixture(scope="module")
def people() -> Population:
    """6,000 rows for 300,000: nobody below 18 was ever married, widows are old and mostly women."""
    rng = np.random.default_rng(0)
    age, sex = rng.integers(0, 91, ROWS), rng.integers(0, 2, ROWS)
    widowed = rng.random(ROWS) < np.where(age > 60, np.where(sex == 0, 0.3, 0.1), 0.01)
    status = np.where(age < 18, 0, np.where(widowed, 2, rng.integers(0, 2, ROWS)))
    fitted = fit_population(np.column_stack([age, sex, status]), np.full(ROWS, 50.0), COLUMNS, rng, source="made up",
                            year="2000", factor=0.3, fits=3)
    return replace(fitted, places=PLACES)


def test_a_count_is_near_the_truth_and_its_intervals_are_nested(people: Population) -> None:
    found = people.count({"age": (70, 79), "sex": "female", "status": "widowed"})
    true = PEOPLE * 10 / 91 * 0.5 * 0.3
    assert found.estimate == pytest.approx(true, rel=0.25)
    (a, d), (b, c) = found.interval95, found.interval80
    assert found.estimate is not None
    assert 1 <= a <= b <= found.estimate <= c <= d
    assert (found.used, found.upper_bound) == (("age", "sex", "status"), False)
    assert (found.source, found.year) == ("made up", "2000")
    assert "fit age, sex and status" in found.in_words()
    assert "made up, 2000" in found.in_words()


def test_what_is_missing_or_cannot_be_read_makes_an_upper_bound_and_is_named(people: Population) -> None:
    found = people.count({"age": "old", "shoe_size": "44", "status": "married"})
    assert (found.used, found.dropped, found.unknown) == (("status",), ("shoe_size",), ("age",))
    assert found.upper_bound
    assert found.estimate == people.count({"status": "married"}).estimate
    assert ("Shoe size is not in this population; the value of age is unknown to it: the count is an upper bound."
            in found.in_words())


def test_a_value_that_no_row_has_counts_as_under_one_row_with_a_wide_interval(people: Population) -> None:
    found = people.count({"age": 70, "status": "betrothed"})
    assert (found.used, found.unseen, found.unknown, found.upper_bound) == (("age", "status"), ("status",), (), False)
    assert found.expected == pytest.approx(people.count({"age": 70}).expected / ROWS)
    assert found.interval95 == pytest.approx((1, 61), abs=4)
    # Of m people one row in 50 misses all in 2.5% of cases: (1 - 1/50)^m = .025 at m = 184.
    alone = people.count({"status": "betrothed"})
    assert alone.interval95 == pytest.approx((1, 184), abs=1.5)
    assert alone.expected == pytest.approx(PEOPLE / ROWS)
    assert "No row of the table has the value of status: counted as under one row." in found.in_words()
    some = people.count({"status": {"married", "betrothed"}})
    assert (some.unseen, some.expected) == ((), people.count({"status": "married"}).expected)
    assert people.seen is not None
    lost = replace(people, seen=np.where(np.arange(96) == 95, False, people.seen) & (np.arange(96) != 95)[:, None])
    assert lost.count({"age": 70, "status": "widowed"}).expected == pytest.approx(found.expected)


def test_a_widowed_child_is_no_population_of_one(people: Population) -> None:
    found = people.count({"age": range(5, 13), "sex": "male", "status": "widowed"})
    assert found.estimate is None
    assert found.impossible == ("age", "status")
    assert "contradict each other" in found.in_words()
    # What one row in 50 can miss: (1 - 1/50)^m = .025 at m = 183.
    assert found.interval95[0] == 0
    assert found.interval95[1] == pytest.approx(184, abs=1)
    assert people.count({"age": range(75, 83), "status": "widowed"}).impossible is None
    sharp = replace(people.classes, tables=np.where(people.classes.tables < 0.02, 1e-5, people.classes.tables))
    by_model = replace(people, seen=None, classes=sharp).count({"age": range(8), "status": "widowed"})
    assert by_model.impossible == ("age", "status")


@pytest.mark.parametrize("cluster", [{}, {"age": "old"}, {"status": set()}, {"shoe_size": 44}])
def test_nothing_to_count_is_undefined_and_said(people: Population, cluster: dict[str, object]) -> None:
    found = people.count(cluster)
    assert (found.estimate, found.interval95) == (None, (1, PEOPLE))
    assert "no attribute could be counted" in found.in_words()


def test_a_place_is_a_share_of_its_own_and_said(people: Population) -> None:
    everywhere, omaha = ({"age": 30} | place for place in ({}, {"place": {"Omaha|Nebraska|US"}}))
    found = people.count(omaha)
    whole = people.count(everywhere).estimate
    assert whole is not None
    assert found.estimate == pytest.approx(1 + (whole - 1) * 0.04, rel=0.05)
    assert (found.used, found.upper_bound, found.place_independent) == (("age", "place"), False, True)
    assert "Place is taken as independent of the rest." in found.in_words()
    village = people.count({"age": 30, "place": "Brule|Nebraska|US"})
    assert village.estimate == people.count({"age": 30, "place": "Nebraska"}).estimate
    assert (village.unknown, village.upper_bound) == (("place",), True)
    assert people.count({"age": 30, "place": "Atlantis"}).used == ("age",)


def test_each_attribute_narrows_by_its_factor(people: Population) -> None:
    cluster = {"age": 70, "status": "widowed", "place": "Omaha|Nebraska"}
    factors = people.narrowing(cluster)
    assert list(factors) == ["age", "status", "place"]
    without = people.count({"age": 70, "place": "Omaha|Nebraska"}).expected
    assert factors["status"] == pytest.approx(without / people.count(cluster).expected)
    assert factors["place"] == pytest.approx(25)


def test_generalising_says_what_each_coarser_value_gains(people: Population) -> None:
    cluster = {"age": 72, "status": "widowed", "place": "Omaha|Nebraska"}
    gains = {(gain.attribute, gain.to): gain for gain in people.generalise(cluster)}
    assert set(gains) == {("age", "70 to 74"), ("age", "70 to 79"), ("status", "was or is"), ("place", "Nebraska")}
    band = people.count({**cluster, "age": range(70, 80)}).estimate
    assert gains["age", "70 to 79"].estimate == band
    assert gains["age", "70 to 79"].factor > gains["age", "70 to 74"].factor > 1
    assert people.generalise({"age": 8, "status": "widowed"}) == ()


def test_a_saved_population_answers_the_same(people: Population, tmp_path: Path) -> None:
    people.save(tmp_path / "p.npz")
    read = Population.load(tmp_path / "p.npz")
    cluster = {"age": {70, 71}, "sex": "Female", "place": "Lincoln, Maine"}
    assert read.count(cluster).estimate == pytest.approx(people.count(cluster).estimate, rel=2e-3)
    assert (read.columns, read.people, read.rows, read.places) == (dict(people.columns), PEOPLE, ROWS, PLACES)


@pytest.mark.parametrize("content", [b"", b"age,sex\n1,2\n"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.npz").write_bytes(content)
    with pytest.raises(InputError, match="population fit"):
        Population.load(tmp_path / "p.npz")
    with pytest.raises(InputError, match=r"cannot read .*no such file"):
        Population.load(tmp_path / "none.npz")


def test_values_ranges_and_sets_are_codes_and_others_are_none() -> None:
    age, status = COLUMNS[0], COLUMNS[2]
    assert age.codes({50, "51", (60, 61), range(70, 72), "80-81"}) == [50, 51, 60, 61, 70, 71, 80, 81]
    assert age.codes(104) == age.codes("104") == age.codes((95, 99)) == [90]
    assert status.codes("Never  Married") == status.codes({"never married"}) == [0]
    assert [age.codes("old"), age.codes(-1), age.codes({30, "old"}), status.codes(set())] == [None] * 4
    assert (status.codes("wed"), status.codes({"married", "wed"})) == ([], [1])
    assert Column("age", ("20", "21"), ordered=True).codes((5, 9)) == []
    with pytest.raises(InputError, match="one twice"):
        Column("sex", ("f", "f"))
    with pytest.raises(InputError, match="groups of column"):
        Column.of({"name": "sex", "values": ["f"], "groups": {"all": ["f", "m"]}})


def test_places_are_summed_and_the_region_covers_its_towns() -> None:
    assert PLACES.share({"Omaha|Nebraska|US", "Lincoln|Nebraska"}).value == pytest.approx(0.07)
    assert PLACES.share({"Omaha|Nebraska", "Nebraska"}).value == pytest.approx(0.1)
    assert PLACES.share("Lincoln").value == pytest.approx(0.12)
    assert PLACES.share("United States") == (1.0, True)
    assert PLACES.share("Paris|France") == (None, False)
    assert (PLACES.wider("Omaha|Nebraska"), PLACES.wider("Lincoln"), PLACES.wider("Maine")) == ("Nebraska", None, None)


def test_a_group_in_a_place_is_spread_and_no_larger_than_either(people: Population) -> None:
    everywhere, omaha = people.count({"sex": "female"}), people.count({"sex": "female", "place": "Omaha|Nebraska"})
    assert everywhere.estimate is not None
    # Half of the 12,000 of Omaha are women, but for how groups differ by place.
    assert omaha.estimate == pytest.approx(0.04 * everywhere.estimate, rel=0.02)
    away = np.log(omaha.estimate / np.array([omaha.interval95[0], *omaha.interval80]))
    assert away == pytest.approx(np.array([1.96, 1.2816, -1.2816]) * 0.5 * 0.96**0.5, abs=0.06)
    assert omaha.interval95[1] == pytest.approx(12_000)
    assert people.count({"age": (0, 90), "place": "Omaha|Nebraska"}).interval95[1] <= 12_000
    assert people.count({"place": "Omaha|Nebraska"}).interval95 == pytest.approx((12_000, 12_000))


def test_a_place_with_an_origin_has_a_wide_interval_and_is_no_upper_bound(people: Population) -> None:
    named = {"race" if name == "status" else name: column for name, column in people.columns.items()}
    by_origin = replace(people, columns=named)
    asked = {"race": "widowed", "shoe_size": 44}
    assert by_origin.count(asked).upper_bound
    found = by_origin.count({**asked, "place": "Omaha|Nebraska"})
    plain = people.count({"status": "widowed", "place": "Omaha|Nebraska"})
    assert (found.origin_by_place, found.upper_bound, found.dropped) == (True, False, ("shoe_size",))
    assert plain.origin_by_place is False
    assert found.interval95[0] < plain.interval95[0] / 20
    assert found.interval95[1] == pytest.approx(min(12_000, by_origin.count(asked).interval95[1]))
    assert "upper bound" not in found.in_words()
    assert "independent of origin, which it is not" in found.in_words()
