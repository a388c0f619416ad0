from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.estimates import score_all
from discreet.audit.membership.evaluation_sets import EvaluationSets, evaluation_sets
from discreet.audit.membership.rows import ROC_POINTS, JudgedRow, judged_rows, thin_roc
from discreet.audit.membership.selection import Selector, boundary
from discreet.scores.table import ScoreTable
from discreet.stats import roc_curve, tpr_at_fpr


def planned(world: World, names: list[str]) -> tuple[ScoreTable, EvaluationSets, Selector, list[JudgedRow]]:
    table = simulated_table(world, np.random.default_rng(0))
    sides = evaluation_sets(table, 0, np.random.default_rng(0))
    lens = Selector.of(table, sides, np.random.default_rng(0))
    scored = score_all(table, sides, seed=0, names=names)
    return table, sides, lens, judged_rows(table, sides, lens, scored, lambda one: one.attack == "reference")


def test_every_attack_has_global_and_both_boundaries_for_both_kinds_of_non_members() -> None:
    table, sides, _, plans = planned(World(), ["loss"])
    asked = [(p.spec.scale, p.spec.nonmembers, p.spec.selection, p.spec.n) for p in plans]
    assert sorted(asked) == sorted(
        (scale, which, selection, n) for scale in ("p", "logit") for which in ("clean", "reference_train")
        for selection, n in (("global", None), ("boundary", 20), ("boundary_union", 20)))
    for plan in plans:
        members, others = (np.flatnonzero(plan.member == side) for side in (1, 0))
        assert set(plan.rows) <= set(members) | set(others)
        assert np.array_equal(members, sides.members)
        assert np.array_equal(others, sides.nonmembers(plan.spec.nonmembers, None))
        if plan.spec.selection == "boundary":
            cells = [(int(table.examples.label[row]), int(plan.member[row])) for row in plan.rows]
            assert all(cells.count((label, side)) == 20 for label in (0, 1) for side in (0, 1))


def test_the_boundary_draws_from_sides_of_one_size() -> None:
    """400 members against 800 non-members: unthinned, the lowest 20 of the larger side lie further out."""
    table, _, lens, plans = planned(World(), ["loss"])
    plan = next(p for p in plans if p.spec.selection == "boundary" and p.spec.nonmembers == "clean")
    even = lens.balanced(plan.pool, plan.member)
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
    mine = [p for p in plans if (p.spec.scale, p.spec.reference_kind) == ("logit", "neutral")]
    [whole] = [p for p in mine if p.spec.whole and p.spec.selection == "global"]
    for name in ("label", "decile", "category"):
        parts = [p for p in mine if getattr(p.spec, name) is not None and p.spec.selection == "global"]
        by = {p.spec.decile_by for p in parts}
        assert by == ({"selector", "target"} if name == "decile" else {None})
        for one in by:
            rows = np.concatenate([p.rows for p in parts if p.spec.decile_by == one])
            assert np.array_equal(np.sort(rows), whole.rows)
    label = next(p for p in mine if p.spec.label == 1 and p.spec.selection == "boundary")
    assert (table.examples.label[label.rows] == 1).all()
    assert label.rows.size == 40


def test_the_curve_ends_with_everything() -> None:
    _, _, lens, plans = planned(World(), ["reference"])
    curve = [p for p in plans if p.spec.whole and p.spec.selection == "boundary"
             and (p.spec.scale, p.spec.reference_kind) == ("p", "neutral")]
    sizes = sorted(p.spec.n or 0 for p in curve)
    assert sizes[:4] == [10, 20, 50, 100]
    last = max(curve, key=lambda p: p.spec.n or 0)
    assert np.array_equal(last.rows, lens.balanced(last.pool, last.member))
    assert len(set(sizes)) == len(sizes)


def test_without_a_selector_the_boundary_is_unresolved() -> None:
    _, _, _, plans = planned(World(selector=0), ["loss"])
    boundaries = [p for p in plans if p.spec.selection != "global"]
    assert boundaries
    assert all(p.reason is not None and "selection model" in p.reason and not p.rows.size for p in boundaries)


def test_an_attack_that_cannot_run_has_one_row_with_the_reason() -> None:
    _, _, _, plans = planned(World(), ["lira"])
    [plan] = plans
    assert plan.reason is not None
    assert "population references" in plan.reason


def test_facts_of_the_target_stand_in_every_row() -> None:
    table = simulated_table(World(members=40, others=0, clean=40, paired=0), np.random.default_rng(0))
    facts = {"regime": "lora", "direction": "A", "structure": "multi-turn"}
    table = replace(table, models=(replace(table.models[0], facts=facts, seed="7"), *table.models[1:]))
    sides = evaluation_sets(table, 0, np.random.default_rng(0))
    scored = score_all(table, sides, seed=0, names=["loss"])
    lens = Selector.of(table, sides, np.random.default_rng(0))
    for plan in judged_rows(table, sides, lens, scored, lambda one: True):
        assert (plan.spec.regime, plan.spec.direction, plan.spec.seed) == ("lora", "A", "7")
        assert plan.spec.target_structure == "multi-turn"


def test_where_nobody_is_clean_of_a_reference_there_is_no_curve_against_it() -> None:
    """The paper's own table: all non-members are what the paired reference was trained on."""
    _, sides, _, plans = planned(World(members=60, others=60, clean=0, selector=20, neutral=0), ["reference"])
    assert sides.clean["paired"].size == 0
    sizes = {which: {p.spec.n for p in plans if (p.spec.nonmembers, p.spec.selection) == (which, "boundary")}
             for which in ("clean", "reference_train")}
    assert sizes["clean"] == {20}
    assert sizes["reference_train"] > {10, 20}


def test_points_lie_on_the_curve_and_are_few() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(9000) < 0.3
    scores = rng.normal(size=9000) + truth
    found = thin_roc(scores, truth)
    assert (found["fpr"][0], found["tpr"][0], found["fpr"][-1], found["tpr"][-1]) == (0.0, 0.0, 1.0, 1.0)
    assert 50 < len(found["fpr"]) <= ROC_POINTS + 3
    for fpr, tpr in list(zip(found["fpr"], found["tpr"], strict=True))[1::7]:
        assert tpr == tpr_at_fpr(scores, truth, fpr)
    assert len(roc_curve(scores, truth).fpr) > len(found["fpr"])


def test_ties_stay_diagonal() -> None:
    found = thin_roc(np.zeros(6), np.array([True, False] * 3))
    assert found == {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}
