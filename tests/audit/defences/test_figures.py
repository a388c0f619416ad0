from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit.defences.made_up import made

from discreet.audit.defences.figures import SHOWN, Bench, Case, Figure, auc_and_tpr, figure_of, over_draws
from discreet.audit.defences.frontier import ATTACKS, frontier
from discreet.audit.membership.attack import attacks, target_view
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.audit.membership.rows import NO_CONTROL, RowSpec
from discreet.audit.scores.table import ScoreTable
from discreet.core.arrays import log_softmax
from discreet.core.records import Estimate
from discreet.stats import RocCore

# Values that tie, differ in the last bit, change sign, or are zeros of both signs.
VALUES = st.sampled_from([0.0, -0.0, 1.0, float(np.nextafter(1.0, 2.0)), -1.0, float(np.nextafter(-1.0, 0.0)), 5e-324,
                          -5e-324, 1e300, -1e300, 0.25, 0.5, -0.5])


@given(st.integers(2, 25).flatmap(lambda m: st.tuples(
    st.lists(st.lists(st.one_of(VALUES, st.floats(-1e6, 1e6)), min_size=m, max_size=m), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=m, max_size=m), st.sampled_from([0.05, 0.2, 0.5]))))
def test_auc_and_tpr_are_those_of_the_roc_core(drawn: tuple[list[list[float]], list[bool], float]) -> None:
    scores, member, fpr = np.array(drawn[0]), np.array(drawn[1]), drawn[2]
    member[:2] = (True, False)
    auc, tpr = auc_and_tpr(scores, member, fpr)
    for row, one, rate in zip(scores, auc, tpr, strict=True):
        core = RocCore.of(row, member)
        assert one == pytest.approx(core.auroc(), abs=1e-12)
        assert rate == pytest.approx(core.tpr_at_fpr(fpr), abs=1e-12)


def test_many_continuous_draws_without_a_tie() -> None:
    rng = np.random.default_rng(0)
    member = rng.random(501) < 0.4
    scores = rng.normal(size=(7, 501)) + 0.8 * member
    auc, tpr = auc_and_tpr(scores, member, 0.05)
    cores = [RocCore.of(row, member) for row in scores]
    np.testing.assert_allclose(auc, [core.auroc() for core in cores], rtol=1e-12)
    np.testing.assert_allclose(tpr, [core.tpr_at_fpr(0.05) for core in cores], rtol=1e-12)


class TestOverDraws:
    def test_the_mean_with_the_mean_width_of_the_first(self) -> None:
        shown = [Estimate(0.5, 0.4, 0.6, method="m"), Estimate(0.7, 0.6, 0.8, method="m")]
        found, spread = over_draws([0.5, 0.7, 0.6, 0.6], shown)
        assert (found.value, found.low, found.high) == pytest.approx((0.6, 0.5, 0.7))
        assert found.method == "m; mean of 4 noise draws, interval as wide as of one"
        assert spread is not None
        assert spread.draws == 4
        assert spread.sd == pytest.approx(float(np.std([0.5, 0.7, 0.6, 0.6], ddof=1)))
        assert (spread.low, spread.high) == pytest.approx((0.5075, 0.6925))

    def test_the_interval_lies_around_the_mean_wherever_the_first_lie(self) -> None:
        found, _ = over_draws([0.1, 0.9], [Estimate(0.1, 0.05, 0.2)])
        assert (found.low, found.value, found.high) == pytest.approx((0.45, 0.5, 0.6))

    def test_it_stays_between_0_and_1_and_one_draw_is_itself(self) -> None:
        assert over_draws([0.9, 1.0], [Estimate(0.8, 0.7, 0.95)])[0].high == 1.0
        assert over_draws([0.0, 0.1], [Estimate(0.2, 0.05, 0.35)])[0].low == 0.0
        one = Estimate(0.5, 0.4, 0.6)
        assert over_draws([0.5], [one]) == (one, None)

    def test_what_cannot_be_resolved_stays_so(self) -> None:
        unresolved = Estimate.unresolved("too few")
        assert over_draws([], [unresolved]) == (unresolved, None)
        assert over_draws([], [], "no control")[0].reason == "no control"


def figure(draws: list[np.ndarray], reason: str | None = None, member: np.ndarray | None = None) -> Figure:
    member = np.repeat([True, False], 15) if member is None else member
    case = Case(RowSpec("loss", "p", None), 0, np.arange(member.size), member, None, reason)
    return figure_of(case, draws, [])


def test_too_few_for_a_rate_at_five_per_cent() -> None:
    rng = np.random.default_rng(0)
    found = figure([rng.normal(size=30) for _ in range(SHOWN + 2)])
    assert found.auc.resolved
    assert found.auc_spread is not None
    assert found.auc_spread.draws == SHOWN + 2
    assert "20" in str(found.tpr_at_5pct_fpr.reason)
    assert found.tpr_spread is None
    assert found.control_auc.reason == NO_CONTROL


def test_what_has_no_figures_says_why() -> None:
    reasoned = figure([np.zeros(30)], "no selector")
    assert (reasoned.auc.reason, reasoned.tpr_at_5pct_fpr.reason, reasoned.auc_spread) == (
        "no selector", "no selector", None)
    members_only = figure([np.arange(4.0)], member=np.ones(4, dtype=np.bool_))
    assert not members_only.auc.resolved
    assert not members_only.tpr_at_5pct_fpr.resolved


def bench_of(table: ScoreTable) -> Bench:
    sets = evaluation_sets(table, 0, np.random.default_rng(0))
    return Bench.of(table, sets, ATTACKS, 20, None, np.random.default_rng(0))


def test_the_boundary_is_the_selectors_whatever_the_noise() -> None:
    table = made()
    bench = bench_of(table)
    [case] = [c for c in bench.cases if (c.spec.selection, c.spec.scale, c.spec.reference_kind)
              == ("boundary", "logit", "neutral")]
    y = table.examples.label
    selector = log_softmax(table.logits[3, :, 0])[np.arange(y.size), y]
    lot, expected = np.random.default_rng(0).permutation(y.size), set()
    for one in (0, 1):
        pools = [np.flatnonzero((y == one) & (table.member[0] == side)) for side in (1, 0)]
        size = min(pool.size for pool in pools)
        for pool in pools:
            kept = sorted(pool, key=lambda row: lot[row])[:size]
            expected |= set(sorted(kept, key=lambda row: selector[row])[:20])
    assert {bench.judged.inputs[row] for row in case.rows} == {f"e{row}".encode() for row in expected}
    assert (case.spec.n, case.rows.size) == (20, 80)
    loud = frontier(table, 0, np.random.default_rng(0), strengths={"sigma": [5.0]}, mechanisms=["laplace"], draws=2)
    assert {(f.n_members, f.n_nonmembers) for p in loud.points for f in p.attacks
            if f.spec.selection == "boundary"} == {(40, 40)}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_run_is_the_registered_attack_on_the_noisy_target(n_classes: int) -> None:
    table = made(n_classes=n_classes)
    bench, sets = bench_of(table), evaluation_sets(table, 0, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    noisy = log_softmax(table.logits[0, :, 0] + rng.laplace(0, 2.0, table.logits[0, :, 0].shape))
    view = target_view(table, sets).answered_by(noisy[:, None, :])
    assert [(one.attack, one.scale, one.kind) for one in bench.runs] == [
        ("loss", "p", None), ("reference", "logit", "neutral"), ("reference", "p", "neutral"),
        ("reference", "logit", "paired"), ("reference", "p", "paired")]
    for one, scores in zip(bench.runs, bench.scores(noisy), strict=True):
        np.testing.assert_allclose(scores, attacks[one.attack].scores(view, one.scale, one.kind, rng), atol=1e-9)


def test_population_references_where_none_is_neutral() -> None:
    table = made()
    shadows = replace(table, models=(*table.models[:2], replace(table.models[2], reference_kind="population"),
                                     *table.models[3:]))
    assert bench_of(shadows).primary.reference_kind == "population"


def test_the_paper_writes_the_ratio_with_clipped_probabilities() -> None:
    """The scale "p" of the ratio is the paper's log p ratio: clipping at 1e-7 is in it, noise or not."""
    table = made()
    bench = bench_of(table)
    place = next(place for place, one in enumerate(bench.runs) if (one.scale, one.kind) == ("p", "paired"))
    sure = np.zeros((table.examples.label.size, 2))
    sure[np.arange(sure.shape[0]), 1 - table.examples.label] = 60.0
    reference = np.exp(log_softmax(table.logits[1, :, 0]))[np.arange(sure.shape[0]), table.examples.label]
    np.testing.assert_allclose(bench.scores(log_softmax(sure))[place],
                               np.log(1e-7) - np.log(np.clip(reference, 1e-7, 1 - 1e-7)))
