from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.audit.membership.evaluation_sets import Sides, sides_of
from discreet.audit.membership.plan import Lens, Plan, plan_rows
from discreet.audit.membership.scored import score_all
from discreet.audit.membership.selection import boundary
from discreet.audit.membership.simulate import World, simulated_table
from discreet.scores.table import ScoreTable


def planned(world: World, names: list[str]) -> tuple[ScoreTable, Sides, Lens, list[Plan]]:
    table = simulated_table(world, np.random.default_rng(0))
    sides = sides_of(table, 0, np.random.default_rng(0))
    lens = Lens.of(table, sides, np.random.default_rng(0))
    scored = score_all(table, sides, seed=0, names=names)
    return table, sides, lens, plan_rows(table, sides, lens, scored, lambda one: one.attack == "reference")


def test_every_attack_has_global_and_both_boundaries_for_both_kinds_of_non_members() -> None:
    table, sides, _, plans = planned(World(), ["loss"])
    asked = [(p.asked.scale, p.asked.nonmembers, p.asked.selection, p.asked.n) for p in plans]
    assert sorted(asked) == sorted(
        (scale, which, selection, n) for scale in ("p", "logit") for which in ("clean", "reference_train")
        for selection, n in (("global", None), ("boundary", 20), ("boundary_union", 20)))
    for plan in plans:
        members, others = (np.flatnonzero(plan.member == side) for side in (1, 0))
        assert set(plan.rows) <= set(members) | set(others)
        assert np.array_equal(members, sides.members)
        assert np.array_equal(others, sides.nonmembers(plan.asked.nonmembers, None))
        if plan.asked.selection == "boundary":
            cells = [(int(table.examples.label[row]), int(plan.member[row])) for row in plan.rows]
            assert all(cells.count((label, side)) == 20 for label in (0, 1) for side in (0, 1))


def test_the_boundary_draws_from_sides_of_one_size() -> None:
    """400 members against 800 non-members: unthinned, the lowest 20 of the larger side lie further out."""
    table, _, lens, plans = planned(World(), ["loss"])
    plan = next(p for p in plans if p.asked.selection == "boundary" and p.asked.nonmembers == "clean")
    even = lens.even(plan.pool, plan.member)
    for label in (0, 1):
        sides = [((plan.member[even] == side) & (table.examples.label[even] == label)).sum() for side in (1, 0)]
        assert sides[0] == sides[1] == ((plan.member == 1) & (table.examples.label == label)).sum()
    assert np.isin(even, plan.pool).all()
    kept = np.full(plan.member.size, -1, dtype=np.int8)
    kept[even] = plan.member[even]
    assert lens.selector_p is not None
    assert np.array_equal(plan.rows, boundary(lens.selector_p, table.examples.label, kept, 20))


def test_strata_partition_their_rows() -> None:
    table, _, _, plans = planned(World(), ["reference"])
    mine = [p for p in plans if (p.asked.scale, p.asked.reference_kind) == ("logit", "neutral")]
    [whole] = [p for p in mine if p.asked.whole and p.asked.selection == "global"]
    for name in ("label", "decile", "category"):
        parts = [p for p in mine if getattr(p.asked, name) is not None and p.asked.selection == "global"]
        by = {p.asked.decile_by for p in parts}
        assert by == ({"selector", "target"} if name == "decile" else {None})
        for one in by:
            rows = np.concatenate([p.rows for p in parts if p.asked.decile_by == one])
            assert np.array_equal(np.sort(rows), whole.rows)
    label = next(p for p in mine if p.asked.label == 1 and p.asked.selection == "boundary")
    assert (table.examples.label[label.rows] == 1).all()
    assert label.rows.size == 40


def test_the_curve_ends_with_everything() -> None:
    _, _, lens, plans = planned(World(), ["reference"])
    curve = [p for p in plans if p.asked.whole and p.asked.selection == "boundary"
             and (p.asked.scale, p.asked.reference_kind) == ("p", "neutral")]
    sizes = sorted(p.asked.n or 0 for p in curve)
    assert sizes[:4] == [10, 20, 50, 100]
    last = max(curve, key=lambda p: p.asked.n or 0)
    assert np.array_equal(last.rows, lens.even(last.pool, last.member))
    assert len(set(sizes)) == len(sizes)


def test_without_a_selector_the_boundary_is_unresolved() -> None:
    _, _, _, plans = planned(World(selector=0), ["loss"])
    boundaries = [p for p in plans if p.asked.selection != "global"]
    assert boundaries
    assert all(p.reason is not None and "selection model" in p.reason and not p.rows.size for p in boundaries)


def test_an_attack_that_cannot_run_has_one_row_with_the_reason() -> None:
    _, _, _, plans = planned(World(), ["lira"])
    [plan] = plans
    assert plan.reason is not None
    assert "population references" in plan.reason


def test_facts_of_the_target_stand_in_every_row() -> None:
    table = simulated_table(World(members=40, others=0, clean=40, paired=0), np.random.default_rng(0))
    facts = {"regime": "lora", "direction": "A", "seed": "7", "structure": "multi-turn"}
    table = replace(table, models=(replace(table.models[0], facts=facts), *table.models[1:]))
    sides = sides_of(table, 0, np.random.default_rng(0))
    scored = score_all(table, sides, seed=0, names=["loss"])
    for plan in plan_rows(table, sides, Lens.of(table, sides, np.random.default_rng(0)), scored, lambda one: True):
        assert (plan.asked.regime, plan.asked.direction, plan.asked.seed) == ("lora", "A", "7")
        assert plan.asked.target_structure == "multi-turn"


def test_where_nobody_is_clean_of_a_reference_there_is_no_curve_against_it() -> None:
    """The paper's own table: all non-members are what the paired reference was trained on."""
    _, sides, _, plans = planned(World(members=60, others=60, clean=0, selector=20, neutral=0), ["reference"])
    assert sides.clean["paired"].size == 0
    sizes = {which: {p.asked.n for p in plans if (p.asked.nonmembers, p.asked.selection) == (which, "boundary")}
             for which in ("clean", "reference_train")}
    assert sizes["clean"] == {20}
    assert sizes["reference_train"] > {10, 20}
