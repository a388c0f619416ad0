from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit.membership.scenes import drawn, ends, sets_of, sure

from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World
from discreet.audit.membership.attack import attacks, primary_scores, score_all, target_view
from discreet.audit.membership.evaluation_sets import EvaluationSets, Selector, boundary
from discreet.audit.membership.rows import JudgedRow, Row, estimate_rows, judged_rows
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import UsageError
from discreet.stats import auroc_estimate, delong_test, tpr_at_fpr, tpr_at_fpr_estimate

Planned = tuple[ScoreTable, EvaluationSets, Selector, list[JudgedRow]]


def planned(given: World | ScoreTable, name: str) -> Planned:
    table = drawn(given) if isinstance(given, World) else given
    sets = sets_of(table)
    selector = Selector.of(table, sets, np.random.default_rng(0))
    scored = score_all(table, sets, seed=0, names=[name])
    return table, sets, selector, judged_rows(table, sets, selector, scored, lambda one: one.attack == "reference")


def estimated(world: World, name: str) -> list[tuple[JudgedRow, Row]]:
    table, _, _, judged = planned(world, name)
    rows = estimate_rows(judged, Units.of(table), np.random.default_rng(1), n_resamples=200)
    return list(zip(judged, rows, strict=True))


def test_every_attack_has_global_and_both_boundaries_for_both_kinds_of_non_members() -> None:
    table, sets, _, judged = planned(World(), "loss")
    asked = [(one.spec.scale, one.spec.nonmembers, one.spec.selection, one.spec.n) for one in judged]
    assert sorted(asked) == sorted(
        (scale, which, selection, n) for scale in ("p", "logit") for which in ("clean", "reference_train")
        for selection, n in (("global", None), ("boundary", 20), ("boundary_union", 20)))
    for one in judged:
        members, others = (np.flatnonzero(one.member == code) for code in (1, 0))
        assert set(one.rows) <= set(members) | set(others)
        assert np.array_equal(members, sets.members)
        assert np.array_equal(others, sets.clean[None] if one.spec.nonmembers == "clean" else sets.reference_train)
        if one.spec.selection == "boundary":
            cells = [(int(table.examples.label[row]), int(one.member[row])) for row in one.rows]
            assert all(cells.count((label, code)) == 20 for label in (0, 1) for code in (0, 1))


def test_the_boundary_draws_from_sets_of_one_size() -> None:
    """400 members against 800 non-members: unthinned, the lowest 20 of the larger set lie further out."""
    table, _, selector, judged = planned(World(), "loss")
    one = next(one for one in judged if one.spec.selection == "boundary" and one.spec.nonmembers == "clean")
    even, label = selector.balanced(one.pool, one.member), table.examples.label
    for y in (0, 1):
        inside, outside = (((one.member[even] == code) & (label[even] == y)).sum() for code in (1, 0))
        assert inside == outside == ((one.member == 1) & (label == y)).sum()
    assert np.isin(even, one.pool).all()
    kept = np.full(one.member.size, -1, dtype=np.int8)
    kept[even] = one.member[even]
    assert np.array_equal(one.rows, boundary(sure(selector.selector_p), label, kept, 20))


def test_strata_partition_their_rows() -> None:
    table, _, _, judged = planned(World(), "reference")
    mine = [one for one in judged if (one.spec.scale, one.spec.reference_kind) == ("logit", "neutral")]
    [whole] = [one for one in mine if one.spec.whole]
    for name in ("label", "decile", "category"):
        parts = [one for one in mine if one.spec.stratum == name and one.spec.selection == "global"]
        by = {one.spec.decile_by for one in parts}
        assert by == ({"selector", "target"} if name == "decile" else {None})
        for which in by:
            rows = np.concatenate([one.rows for one in parts if one.spec.decile_by == which])
            assert np.array_equal(np.sort(rows), whole.rows)
    label = next(one for one in mine if one.spec.label == 1 and one.spec.selection == "boundary")
    assert (table.examples.label[label.rows] == 1).all()
    assert label.rows.size == 40


def test_the_curve_ends_with_everything() -> None:
    _, _, selector, judged = planned(World(), "reference")
    curve = [one for one in judged if one.spec.stratum is None and one.spec.selection == "boundary"
             and (one.spec.scale, one.spec.reference_kind) == ("p", "neutral")]
    sizes = sorted(one.spec.n or 0 for one in curve)
    assert sizes[:4] == [10, 20, 50, 100]
    assert len(set(sizes)) == len(sizes)
    last = max(curve, key=lambda one: one.spec.n or 0)
    assert np.array_equal(last.rows, selector.balanced(last.pool, last.member))


def test_what_cannot_be_judged_says_why() -> None:
    _, _, _, judged = planned(World(selector=0), "loss")
    boundaries = [one for one in judged if one.spec.selection != "global"]
    assert boundaries
    assert all("selection model" in str(one.reason) and not one.rows.size for one in boundaries)
    [(judged_row, row)] = estimated(World(), "lira")
    assert "population references" in str(judged_row.reason)
    assert (row.n_members, row.auc.reason, row.null_p.reason) == (0, judged_row.reason, judged_row.reason)
    small = next(row for _, row in estimated(World(), "loss") if row.spec.selection == "boundary" and row.spec.n == 20)
    assert small.auc.resolved
    assert "100 needed" in str(small.tpr_at_1pct_fpr.reason)
    bare = [row for _, row in estimated(World(controls=0), "loss")]
    assert all(row.uncontrolled and row.to_json()["control_auc"]["value"] is None for row in bare)
    assert "model_role 'control'" in str(bare[0].control_auc.reason)
    assert bare[0].auc.resolved


def test_facts_of_the_target_are_in_every_row() -> None:
    table = drawn(World(members=40, others=0, clean=40, paired=0))
    facts = {"regime": "lora", "direction": "A", "structure": "multi-turn"}
    table = replace(table, models=(replace(table.models[0], facts=facts, seed="7"), *table.models[1:]))
    for one in planned(table, "reference")[3]:
        said = one.spec.to_json()
        assert (said["regime"], said["direction"], said["seed"], said["structure"]) == ("lora", "A", "7", "multi-turn")


def test_where_nobody_is_clean_of_a_reference_there_is_no_curve_against_it() -> None:
    """The paper's own table: all non-members are what the paired reference was trained on."""
    _, sets, _, judged = planned(World(members=60, others=60, clean=0, selector=20, neutral=0), "reference")
    assert sets.clean["paired"].size == 0
    sizes = {which: {one.spec.n for one in judged if (one.spec.nonmembers, one.spec.selection) == (which, "boundary")}
             for which in ("clean", "reference_train")}
    assert sizes["clean"] == {20}
    assert sizes["reference_train"] > {10, 20}


def test_figures_are_those_of_stats_on_the_rows() -> None:
    for one, row in estimated(World(leak=0.6), "reference")[::9]:
        assert row.spec == one.spec
        scores, control = sure(one.scores.target)[one.rows], sure(one.scores.control)[one.rows]
        assert row.auc == auroc_estimate(scores, one.truth)
        assert row.control_auc == auroc_estimate(control, one.truth)
        assert row.tpr_at_0_1pct_fpr == tpr_at_fpr_estimate(scores, one.truth, 0.001)
        assert row.tpr_at_1pct_fpr == tpr_at_fpr_estimate(scores, one.truth, 0.01)
        assert row.tpr_at_5pct_fpr == tpr_at_fpr_estimate(scores, one.truth, 0.05)
        test = delong_test(scores, control, one.truth)
        assert (row.difference["auc"].value, row.difference["auc"].low) == (test.difference, test.low)


def test_rows_without_stratum_have_paired_differences_of_operating_points() -> None:
    for one, row in estimated(World(leak=1.5), "reference"):
        named = set(row.difference) - {"auc"}
        if row.spec.stratum is not None or row.spec.n not in (None, 20):
            assert not named
        elif row.spec.whole:
            assert named == {"tpr_at_1pct_fpr", "tpr_at_5pct_fpr"}
            low, value, _ = ends(row.difference["tpr_at_5pct_fpr"])
            of_target, of_control = (tpr_at_fpr(sure(scores)[one.rows], one.truth, 0.05)
                                     for scores in (one.scores.target, one.scores.control))
            assert value == pytest.approx(of_target - of_control)
            assert low > 0.0


TABLE = drawn(World(members=40, others=40, clean=60, shadows=4))
SETS = sets_of(TABLE)


def test_scores_are_the_attacks_own_and_do_not_depend_on_the_company() -> None:
    view = target_view(TABLE, SETS)
    alone = score_all(TABLE, SETS, seed=5, names=["reference"])
    among = [one for one in score_all(TABLE, SETS, seed=5) if one.attack == "reference"]
    for first, second in zip(alone, among, strict=True):
        wanted = attacks["reference"].scores(view, first.scale, first.kind, np.random.default_rng(0))
        for found in (first.target, second.target):
            np.testing.assert_array_equal(sure(found), wanted)
    with pytest.raises(UsageError, match="telepathy"):
        score_all(TABLE, SETS, seed=0, names=["telepathy"])
    assert primary_scores(score_all(TABLE, SETS, seed=0, names=["entropy"])) is None
