from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.audit.sides import sides_of
from discreet.audit.simulate import World, simulated_table
from discreet.audit.table import Model, ScoreTable
from discreet.errors import InputError

WORLD = World(members=30, others=20, clean=40, selector=10, planted={1: 8, 4: 8})


def table_of(world: World = WORLD) -> ScoreTable:
    return simulated_table(world, np.random.default_rng(0))


def splits(table: ScoreTable, rows: np.ndarray) -> set[str]:
    assert table.examples.split is not None
    return set(table.examples.split[rows])


def test_clean_non_members_are_those_that_nobody_trained_on() -> None:
    table = table_of()
    sides = sides_of(table, 0, np.random.default_rng(0))
    assert splits(table, sides.members) == {"train"}
    assert sides.members.size == 30
    assert splits(table, sides.clean["paired"]) == {"eval"}
    # Without a paired reference in play its training data are as good as any; the selector's never are.
    assert splits(table, sides.clean["neutral"]) == splits(table, sides.clean[None]) == {"reference", "eval"}
    assert splits(table, sides.reference_train) == {"reference"}
    assert splits(table, sides.planted) == splits(table, sides.planted_out) == {"planted"}
    assert (table.member[0, sides.planted] == 1).all()
    assert (table.member[0, sides.planted_out] == 0).all()
    assert sides.population.size == 0


def test_a_population_is_set_aside_for_population_references_only() -> None:
    world = replace(WORLD, paired=0, neutral=0, shadows=4, clean=200)
    table = table_of(world)
    sides = sides_of(table, 0, np.random.default_rng(0))
    assert sides.population.size == int(0.1 * 220)
    assert not np.intersect1d(sides.population, sides.judged).size
    assert sides.clean["population"].size + sides.population.size == 220
    again = sides_of(table, 0, np.random.default_rng(0))
    other = sides_of(table, 0, np.random.default_rng(1))
    assert np.array_equal(sides.population, again.population)
    assert not np.array_equal(sides.population, other.population)


def test_a_marked_population_is_used_as_it_is() -> None:
    table = table_of(replace(WORLD, paired=0, shadows=4))
    split = table.examples.split
    assert split is not None
    split[np.flatnonzero(split == "eval")[:7]] = "population"
    sides = sides_of(table, 0, np.random.default_rng(0))
    assert splits(table, sides.population) == {"population"}
    assert sides.population.size == 7


def test_whole_groups_are_set_aside() -> None:
    table = table_of(World(members=100, others=0, clean=300, selector=0, paired=0, neutral=0, shadows=3, group_size=5))
    sides = sides_of(table, 0, np.random.default_rng(0))
    group = table.examples.group
    assert group is not None
    assert 0 < sides.population.size <= 30
    assert not np.intersect1d(group[sides.population], group[sides.judged]).size


def test_a_reference_that_saw_members_is_left_out_and_named() -> None:
    table = table_of()
    neutral = table.references("neutral")[0]
    table.member[neutral, sides_of(table, 0, np.random.default_rng(0)).members[:3]] = 1
    sides = sides_of(table, 0, np.random.default_rng(0))
    assert "neutral" not in sides.references
    assert table.models[neutral].name in " ".join(sides.notes)


def test_two_targets_are_each_others_paired_references() -> None:
    table = table_of(replace(WORLD, neutral=0, placebos=0))
    models = tuple(Model("b", "target") if m.reference_kind == "paired" else m for m in table.models)
    table = replace(table, models=models)
    first, second = (sides_of(table, target, np.random.default_rng(0)) for target in table.of_role("target"))
    assert first.references["paired"] == (second.target,)
    assert second.references["paired"] == (first.target,)
    assert np.array_equal(first.reference_train, second.members)


def test_population_references_that_know_the_sides_are_named() -> None:
    table = table_of(replace(WORLD, paired=0, shadows=6, members=300, clean=300))
    assert not sides_of(table, 0, np.random.default_rng(0)).notes
    shadows = list(table.references("population"))
    table.member[np.array(shadows)[:, None], np.flatnonzero(table.member[0] == 1)] = 0
    [note] = sides_of(table, 0, np.random.default_rng(0)).notes
    assert "no random halves" in note


def test_placebo_is_the_one_most_like_the_target() -> None:
    table = table_of(replace(WORLD, placebos=3))
    places = table.of_role("placebo")
    models = list(table.models)
    models[0] = replace(models[0], facts={"regime": "lora", "seed": "1"})
    models[places[0]] = replace(models[places[0]], facts={"regime": "full", "seed": "1"})
    models[places[2]] = replace(models[places[2]], facts={"regime": "lora", "seed": "1"})
    assert sides_of(replace(table, models=tuple(models)), 0, np.random.default_rng(0)).placebo == places[2]


def test_bad_sides_are_refused_in_one_line() -> None:
    table = table_of()
    member = table.member.copy()
    member[table.of_role("placebo")[0], 0] = 1
    with pytest.raises(InputError, match="trained on 1 members of target"):
        sides_of(replace(table, member=member), 0, np.random.default_rng(0))
    for code, word in ((1, "non-member"), (0, "as a member")):
        member = table.member.copy()
        member[0] = code
        with pytest.raises(InputError, match=word):
            sides_of(replace(table, member=member), 0, np.random.default_rng(0))


