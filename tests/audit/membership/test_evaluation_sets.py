from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.audit import audit_membership
from discreet.audit.membership.evaluation_sets import EvaluationSets, evaluation_sets
from discreet.core.errors import InputError
from discreet.scores.table import Model, ScoreTable

WORLD = World(members=30, others=20, clean=40, selector=10, planted={1: 8, 4: 8})


def table_of(world: World = WORLD) -> ScoreTable:
    return simulated_table(world, np.random.default_rng(0))


def sets_of(table: ScoreTable) -> EvaluationSets:
    return evaluation_sets(table, 0, np.random.default_rng(0))


def splits(table: ScoreTable, rows: np.ndarray) -> set[str]:
    assert table.examples.split is not None
    return set(table.examples.split[rows])


def test_clean_non_members_are_those_that_nobody_trained_on() -> None:
    table = table_of()
    sides = sets_of(table)
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
    sides = sets_of(table)
    assert sides.population.size == int(0.1 * 220)
    assert not np.intersect1d(sides.population, sides.judged).size
    assert sides.clean["population"].size + sides.population.size == 220
    again = sets_of(table)
    other = evaluation_sets(table, 0, np.random.default_rng(1))
    assert np.array_equal(sides.population, again.population)
    assert not np.array_equal(sides.population, other.population)


def test_a_marked_population_is_used_as_it_is() -> None:
    table = table_of(replace(WORLD, paired=0, shadows=4))
    split = table.examples.split
    assert split is not None
    split[np.flatnonzero(split == "eval")[:7]] = "population"
    sides = sets_of(table)
    assert splits(table, sides.population) == {"population"}
    assert sides.population.size == 7


def test_whole_groups_are_set_aside() -> None:
    table = table_of(World(members=100, others=0, clean=300, selector=0, paired=0, neutral=0, shadows=3, group_size=5))
    sides = sets_of(table)
    group = table.examples.group
    assert group is not None
    assert 0 < sides.population.size <= 30
    assert not np.intersect1d(group[sides.population], group[sides.judged]).size


def test_a_reference_that_saw_members_is_left_out_and_named() -> None:
    table = table_of()
    neutral = table.references("neutral")[0]
    table.member[neutral, sets_of(table).members[:3]] = 1
    sides = sets_of(table)
    assert "neutral" not in sides.references
    assert table.models[neutral].name in " ".join(sides.notes)


def test_two_targets_are_each_others_paired_references() -> None:
    table = table_of(replace(WORLD, neutral=0, placebos=0))
    models = tuple(Model("b", "target") if m.reference_kind == "paired" else m for m in table.models)
    table = replace(table, models=models)
    first, second = (evaluation_sets(table, target, np.random.default_rng(0)) for target in table.of_role("target"))
    assert first.references["paired"] == (second.target,)
    assert second.references["paired"] == (first.target,)
    assert np.array_equal(first.reference_train, second.members)


def test_population_references_that_know_the_sides_are_named() -> None:
    table = table_of(replace(WORLD, paired=0, shadows=6, members=300, clean=300))
    assert not sets_of(table).notes
    shadows = list(table.references("population"))
    table.member[np.array(shadows)[:, None], np.flatnonzero(table.member[0] == 1)] = 0
    [note] = sets_of(table).notes
    assert "no random halves" in note


def test_placebo_is_the_one_most_like_the_target() -> None:
    table = table_of(replace(WORLD, placebos=3))
    places = table.of_role("placebo")
    models = list(table.models)
    models[0] = replace(models[0], facts={"regime": "lora", "seed": "1"})
    models[places[0]] = replace(models[places[0]], facts={"regime": "full", "seed": "1"})
    models[places[2]] = replace(models[places[2]], facts={"regime": "lora", "seed": "1"})
    assert sets_of(replace(table, models=tuple(models))).placebo == places[2]


def test_bad_sides_are_refused_in_one_line() -> None:
    table = table_of()
    member = table.member.copy()
    member[table.of_role("placebo")[0], 0] = 1
    with pytest.raises(InputError, match="trained on 1 members of target"):
        sets_of(replace(table, member=member))
    for code, word in ((1, "non-member"), (0, "as a member")):
        member = table.member.copy()
        member[0] = code
        with pytest.raises(InputError, match=word):
            sets_of(replace(table, member=member))


def with_member(table: ScoreTable, row: int, code: int, where: np.ndarray | slice) -> ScoreTable:
    member = table.member.copy()
    member[row, where] = code
    return replace(table, member=member)


def roles_of(table: ScoreTable) -> dict[str, int]:
    return {"placebo": table.of_role("placebo")[0], "neutral reference": table.references("neutral")[0]}


@pytest.mark.parametrize("which", ["placebo", "neutral reference"])
def test_a_control_that_does_not_say_what_it_was_trained_on_controls_nothing(which: str) -> None:
    table = table_of()
    row = roles_of(table)[which]
    sides = sets_of(with_member(table, row, -1, slice(None)))
    assert (sides.placebo is None) == (which == "placebo")
    assert ("neutral" in sides.references) == (which == "placebo")
    assert sides.members.size == 30
    [note] = sides.notes
    assert note == (f"Membership of {which} {table.models[row].name} is not stated, so it controls nothing: fill "
                    f"'member' in.")


@pytest.mark.parametrize("which", ["placebo", "neutral reference"])
@pytest.mark.parametrize("side", [0, 1])
def test_nor_does_one_that_says_so_for_one_side_only(which: str, side: int) -> None:
    table = table_of()
    row = roles_of(table)[which]
    # Planted records are on both sides by themselves and make up for nothing.
    unsaid = (table.member[0] == side) & (table.examples.planted == 0)
    sides = sets_of(with_member(table, row, -1, unsaid))
    assert row not in (sides.placebo, *sides.references.get("neutral", ()))
    assert "so it controls nothing" in sides.notes[0]


@pytest.mark.parametrize("which", ["placebo", "neutral reference"])
def test_only_examples_that_are_stated_are_judged(which: str) -> None:
    table = table_of()
    row = roles_of(table)[which]
    before = sets_of(table)
    parts = [before.members[:4], before.clean[None][:5], before.planted[:2], before.planted_out[:1],
             before.reference_train[:3]]
    unsaid = np.unique(np.concatenate(parts))
    sides = sets_of(with_member(table, row, -1, unsaid))
    assert not np.intersect1d(sides.judged, unsaid).size
    assert np.array_equal(sides.judged, np.setdiff1d(before.judged, unsaid))
    assert sides.members.size == 26
    assert sides.placebo == before.placebo
    assert sides.references == before.references
    [note] = sides.notes
    assert f"not stated for {unsaid.size} of {len(table.examples)} examples, so these are not judged" in note


def test_a_placebo_that_is_stated_goes_before_one_that_is_more_alike() -> None:
    table = table_of(replace(WORLD, placebos=2))
    first, second = table.of_role("placebo")
    models = list(table.models)
    for row in (0, first):
        models[row] = replace(models[row], facts={"regime": "lora"})
    table = replace(table, models=tuple(models))
    assert sets_of(table).placebo == first
    assert sets_of(with_member(table, first, -1, slice(None))).placebo == second


def test_two_controls_that_together_leave_nobody_are_not_both_used() -> None:
    table = table_of()
    rows, half = roles_of(table), np.arange(len(table.examples)) % 2 == 0
    table = with_member(with_member(table, rows["placebo"], -1, half), rows["neutral reference"], -1, ~half)
    sides = sets_of(table)
    assert sides.placebo == rows["placebo"]
    assert "neutral" not in sides.references
    assert sides.members.size == 15
    assert len(sides.notes) == 2


def test_a_control_that_is_not_stated_lets_nothing_pass() -> None:
    world = World(members=3000, others=0, clean=3000, paired=0, planted={16: 100})
    table = table_of(world)
    said = {}
    for which, row in roles_of(table).items():
        unsaid = with_member(table, row, -1, slice(None))
        said[which] = audit_membership(unsaid, design="randomised", permutations=0, bootstraps=20,
                                       attacks=["loss", "reference"])
    stated = audit_membership(table, design="randomised", permutations=0, bootstraps=20, attacks=["loss"])
    assert stated.verdict == "pass"
    assert said["placebo"].verdict == "inconclusive"
    assert all(row.uncontrolled for row in said["placebo"].attacks)
    primary = said["neutral reference"].decisive.primary
    assert primary is not None
    assert (primary.spec.attack, primary.spec.reference_kind) == ("loss", None)
    assert not any(row.spec.reference_kind == "neutral" and row.auc.resolved for row in
                   said["neutral reference"].attacks)
    for which, found in said.items():
        assert f"Membership of {which}" in " ".join(found.decisive.judgement.reasons)


def selector_of(table: ScoreTable) -> int:
    return table.of_role("selection")[0]


@pytest.mark.parametrize("unsaid", ["everywhere", 0, 1])
def test_a_selector_that_does_not_say_what_it_was_trained_on_selects_nothing(unsaid: str | int) -> None:
    table = table_of()
    row = selector_of(table)
    where = slice(None) if unsaid == "everywhere" else (table.member[0] == unsaid) & (table.examples.planted == 0)
    sides = sets_of(with_member(table, row, -1, where))
    before = sets_of(table)
    assert (before.selectors, sides.selectors) == ((row,), ())
    # What does not rest on it stays as it was.
    assert np.array_equal(sides.members, before.members)
    assert set(before.clean[None]) <= set(sides.clean[None])
    [note] = sides.notes
    assert note == (f"Nothing shows that selector {table.models[row].name} was not trained on the very records it "
                    f"ranks, so it selects none: fill 'member' in.")


def test_of_two_selectors_the_one_that_says_so_selects() -> None:
    table = table_of()
    first = selector_of(table)
    models = tuple(replace(m, role="selection") if m.role == "placebo" else m for m in table.models)
    table = with_member(replace(table, models=models), first, -1, slice(None))
    sides = sets_of(table)
    assert sides.selectors == tuple(row for row in table.of_role("selection") if row != first)


def test_a_selector_that_says_so_in_part_is_told_where_not() -> None:
    table = table_of()
    row, before = selector_of(table), sets_of(table)
    sides = sets_of(with_member(table, row, -1, before.members[:7]))
    assert sides.selectors == (row,)
    assert sides.members.size == 30
    [note] = sides.notes
    assert f"not stated for 7 of {len(table.examples)} examples, so it does not select among these" in note
    [note] = sets_of(with_member(table, row, 1, before.members[:7])).notes
    assert f"was trained on 7 members of {table.models[0].name}" in note


def test_a_paired_reference_that_says_nothing_is_taken_for_the_papers() -> None:
    table = table_of()
    paired = table.references("paired")[0]
    sides = sets_of(with_member(table, paired, -1, slice(None)))
    # All that it may have been trained on is the paper's, and nothing is clean of it.
    assert splits(table, sides.reference_train) == {"reference", "eval"}
    assert sides.clean["paired"].size == 0
    assert splits(table, sides.clean["neutral"]) == {"reference", "eval"}
    [note] = sides.notes
    assert "taken to have been trained on the non-members" in note
    assert table.models[paired].name in note


def test_a_paired_reference_that_says_so_in_part_is_held_to_what_it_says() -> None:
    table = table_of()
    paired, before = table.references("paired")[0], sets_of(table)
    unsaid = np.concatenate([before.reference_train[:4], before.clean["paired"][:6]])
    sides = sets_of(with_member(table, paired, -1, unsaid))
    assert np.array_equal(sides.reference_train, before.reference_train[4:])
    assert np.array_equal(sides.clean["paired"], before.clean["paired"][6:])
    [note] = sides.notes
    assert "not stated for 10 non-members" in note


def test_what_a_paired_reference_does_not_say_decides_nothing() -> None:
    table = table_of(World(members=400, others=400, clean=400, neutral=0, planted={16: 60}))
    paired = table.references("paired")[0]
    unsaid = with_member(table, paired, -1, slice(None))
    found = audit_membership(unsaid, design="randomised", permutations=0, bootstraps=20, attacks=["loss", "reference"])
    primary = found.decisive.primary
    assert primary is not None
    assert (primary.spec.attack, primary.spec.reference_kind, primary.spec.oracle) == ("loss", None, False)
    rows = [row for row in found.attacks if row.spec.reference_kind == "paired" and row.auc.resolved]
    assert rows
    assert all(row.spec.oracle and row.spec.nonmembers == "reference_train" for row in rows)
    assert any("paired reference" in reason for reason in found.decisive.judgement.reasons)


def test_a_boundary_by_a_selector_that_does_not_say_is_unresolved_and_said_so() -> None:
    table = table_of(World(members=200, others=0, clean=200, paired=0))
    unsaid = with_member(table, selector_of(table), -1, slice(None))
    said, found = (audit_membership(one, design="randomised", permutations=9, bootstraps=20, attacks=["loss"])
                   for one in (table, unsaid))
    assert any(row.spec.selection == "boundary" and row.auc.resolved for row in said.attacks)
    for row in found.attacks:
        assert row.spec.selection == "global" or not row.auc.resolved
        assert row.spec.decile_by != "selector"
    assert any("it selects none" in reason for reason in found.decisive.judgement.reasons)
    assert any("decision boundary" in one for one in found.decisive.claims.cannot)
    assert not any("decision boundary" in one for one in said.decisive.claims.cannot)
    primary, before = found.decisive.primary, said.decisive.primary
    assert primary is not None
    assert before is not None
    assert abs((primary.auc.value or 0) - (before.auc.value or 0)) < 0.05
