from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.attack import attacks, target_view
from discreet.audit.membership.audit import primary_scores
from discreet.audit.membership.estimates import auc_of, estimate_rows, score_all
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.audit.membership.rows import JudgedRow, Row, RowSpec, Scores, judged_rows
from discreet.audit.membership.selection import Selector
from discreet.core.errors import UsageError
from discreet.stats import auroc_estimate, delong_test, tpr_at_fpr, tpr_at_fpr_estimate


def rows_of(world: World, names: list[str]) -> tuple[list[JudgedRow], list[Row]]:
    table = simulated_table(world, np.random.default_rng(0))
    sides = evaluation_sets(table, 0, np.random.default_rng(0))
    scored = score_all(table, sides, seed=0, names=names)
    plans = judged_rows(table, sides, Selector.of(table, sides, np.random.default_rng(0)), scored, lambda one: True)
    return plans, estimate_rows(plans, Units.of(table), np.random.default_rng(1), n_resamples=200)


def test_figures_are_those_of_stats_on_the_rows_of_the_plan() -> None:
    plans, rows = rows_of(World(leak=0.6), ["reference"])
    for plan, row in list(zip(plans, rows, strict=True))[::9]:
        assert row.spec == plan.spec
        assert plan.scores.target is not None
        assert plan.scores.placebo is not None
        truth = plan.member[plan.rows] == 1
        scores, beside = plan.scores.target[plan.rows], plan.scores.placebo[plan.rows]
        assert row.auc == auroc_estimate(scores, truth)
        assert row.placebo_auc == auroc_estimate(beside, truth)
        assert row.tpr_at_1pct_fpr == tpr_at_fpr_estimate(scores, truth, 0.01)
        assert row.tpr_at_5pct_fpr == tpr_at_fpr_estimate(scores, truth, 0.05)
        test = delong_test(scores, beside, truth)
        assert (row.difference["auc"].value, row.difference["auc"].low) == (test.difference, test.low)


def test_rows_without_stratum_have_paired_differences_of_operating_points() -> None:
    plans, rows = rows_of(World(leak=1.5), ["reference"])
    for plan, row in zip(plans, rows, strict=True):
        named = {name for name in row.difference if name != "auc"}
        if not row.spec.whole or row.spec.n not in (None, 20):
            assert not named
        elif row.spec.selection == "global":
            assert named == {"tpr_at_1pct_fpr", "tpr_at_5pct_fpr"}
            assert plan.scores.target is not None
            assert plan.scores.placebo is not None
            truth = plan.member[plan.rows] == 1
            found = row.difference["tpr_at_5pct_fpr"]
            assert found.value == pytest.approx(tpr_at_fpr(plan.scores.target[plan.rows], truth, 0.05)
                                                - tpr_at_fpr(plan.scores.placebo[plan.rows], truth, 0.05))
            assert found.low is not None
            assert found.low > 0.0


def test_what_a_small_row_cannot_resolve_says_so() -> None:
    plans, rows = rows_of(World(), ["loss"])
    boundary = next(row for row in rows if row.spec.selection == "boundary" and row.spec.n == 20)
    assert boundary.auc.resolved
    assert not boundary.tpr_at_1pct_fpr.resolved
    assert "100 needed" in str(boundary.tpr_at_1pct_fpr.reason)
    assert len(plans) == len(rows)


def test_without_placebo_a_row_is_uncontrolled() -> None:
    _, rows = rows_of(World(placebos=0), ["loss"])
    assert all(row.uncontrolled and row.to_json()["placebo_auc"]["value"] is None for row in rows)
    assert "model_role 'placebo'" in str(rows[0].placebo_auc.reason)
    assert rows[0].auc.resolved


def plan_of(rng: np.random.Generator, n: int, auc: float, placebo: float) -> JudgedRow:
    """Target and placebo share half of their noise; each has a normal shift with a known AUC."""
    member = (np.arange(2 * n) < n).astype(np.int8)
    shared = rng.normal(size=2 * n)
    scores = [(shared + rng.normal(size=2 * n)) / np.sqrt(2) + np.sqrt(2) * norm.ppf(value) * member
              for value in (auc, placebo)]
    rows = np.arange(2 * n)
    return JudgedRow(RowSpec("loss", "p", None), Scores("loss", "p", None, scores[0], scores[1]), member, rows, rows)


@pytest.mark.parametrize(("n", "auc"), [(20, 0.5), (20, 0.8), (200, 0.5), (200, 0.7)])
def test_intervals_cover(n: int, auc: float) -> None:
    rng = np.random.default_rng(31)
    covered, of_difference, width = 0, 0, 0.0
    for _ in range(300):
        [row] = estimate_rows([plan_of(rng, n, auc, 0.5)], Units(None), rng, n_resamples=2)
        difference = row.difference["auc"]
        assert row.auc.low is not None
        assert row.auc.high is not None
        assert difference.low is not None
        assert difference.high is not None
        covered += row.auc.low <= auc <= row.auc.high
        of_difference += difference.low <= auc - 0.5 <= difference.high
        width += (row.auc.high - row.auc.low) / 300
    print(f"n={n} AUC={auc}: covers {covered / 3:.1f}%, difference {of_difference / 3:.1f}%, mean width {width:.3f}")
    for hits in (covered, of_difference):
        assert binomtest(hits, 300, 0.95, alternative="less").pvalue > 0.001


def test_another_level_is_wider() -> None:
    plan = plan_of(np.random.default_rng(0), 100, 0.6, 0.5)
    usual, strict = (auc_of(plan, Units(None), level) for level in (0.95, 0.99))
    assert usual.value == strict.value
    assert usual.low is not None
    assert strict.low is not None
    assert strict.low < usual.low


TABLE = simulated_table(World(members=40, others=40, clean=60, shadows=4), np.random.default_rng(0))
SIDES = evaluation_sets(TABLE, 0, np.random.default_rng(0))


def test_runs_every_registered_attack_or_says_why_not() -> None:
    found = score_all(TABLE, SIDES, seed=0)
    assert {one.attack for one in found} == set(attacks)
    for one in found:
        assert (one.target is None) == (one.reason is not None)
        if one.target is not None:
            assert one.placebo is not None
            assert one.target.shape == one.placebo.shape == (len(TABLE.examples),)


def test_scores_are_the_attacks_own_and_do_not_depend_on_the_company() -> None:
    view = target_view(TABLE, SIDES)
    alone = score_all(TABLE, SIDES, seed=5, names=["reference"])
    among = [one for one in score_all(TABLE, SIDES, seed=5) if one.attack == "reference"]
    for first, second in zip(alone, among, strict=True):
        assert first.target is not None
        assert second.target is not None
        assert np.array_equal(first.target, second.target, equal_nan=True)
        wanted = attacks["reference"].scores(view, first.scale, first.kind, np.random.default_rng(0))
        assert np.array_equal(first.target, wanted, equal_nan=True)


def test_an_unknown_attack_is_named() -> None:
    with pytest.raises(UsageError, match="telepathy"):
        score_all(TABLE, SIDES, seed=0, names=["telepathy"])


def test_nothing_to_choose_from_is_no_primary() -> None:
    assert primary_scores(score_all(TABLE, SIDES, seed=0, names=["entropy"])) is None
