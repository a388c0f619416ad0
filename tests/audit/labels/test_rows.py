from __future__ import annotations

from math import exp, inf
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.audit.labels.tables import changed

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import LabelAttack, canary_rows, run
from discreet.audit.labels.attacks.lia_delta_margin import DeltaMargin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.reference import ReferenceCalibrated
from discreet.audit.labels.rows import (
    LabelRow,
    counts_of,
    evaluation_sets,
    judge_model,
    planted_canaries,
)
from discreet.audit.scores.table import CONTROL, TRAIN, UNKNOWN, ScoreTable
from discreet.stats import fisher_exact
from discreet.stats.testing import holm

RNG = np.random.default_rng
HONEST = LiaThreshold()
FLAWED = DeltaMargin("canary")
PRIVILEGED = DeltaMargin("original")


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**{"canaries": 200, "held_out": 160, **given}), RNG(seed))


def judged(table: ScoreTable, *attacks: LabelAttack, permutations: int = 0, tune: bool = False) -> list[LabelRow]:
    return judge_model(table.models[0], evaluation_sets(table, 0), attacks, RNG(1), permutations=permutations,
                       tune=tune)


def test_a_row_counts_what_the_attack_got_right() -> None:
    table = world(memory=1.0, epsilon=2.0)
    secret, trained = judged(table, HONEST)
    assert (secret.target, trained.target) == ("canary", "trained")
    for row in (secret, trained):
        hits = []
        for held_out in (False, True):
            trial = canary_rows(table, 0, held_out=held_out)
            hits.append((int(run(HONEST, trial).correct(trial.truth(row.target)).sum()), len(trial)))
        for estimate, (right, n) in zip((row.success, row.held_out), hits, strict=True):
            slow = stats.binomtest(right, n).proportion_ci(method="exact")
            assert estimate.value == right / n
            assert (estimate.low, estimate.high) == pytest.approx((slow.low, slow.high))
        (a, n), (b, m) = hits
        assert row.difference_p == pytest.approx(stats.fisher_exact([[a, n - a], [b, m - b]])[1])
    assert secret.ceiling == pytest.approx(exp(2.0) / (exp(2.0) + 1.0))
    assert trained.ceiling is None


def test_without_memory_the_oracle_is_vetoed_and_the_honest_are_not() -> None:
    honest, flawed = judged(world(spread=0.1), HONEST, FLAWED)[:2]
    assert flawed.vetoed
    assert flawed.held_out.low is not None
    assert flawed.held_out.low > 0.5
    assert not honest.vetoed


def test_the_veto_pays_for_all_rows_of_the_model() -> None:
    table = world(canaries=50, held_out=100)
    # 61 of 100 is outside 95% and inside what five rows and two labels leave of it.
    logits = table.logits[:, :, 0].copy()
    control = np.flatnonzero(table.canaries.role[0] == CONTROL)
    logits[0, control] = 5.0 * (np.arange(2) == table.canaries.label[0, control, None])
    logits[0, control[:39]] *= -1.0
    table = changed(table, logits=logits)
    alone = judged(changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN)), HONEST)
    assert alone[0].held_out.value == 0.61
    assert [one.vetoed for one in alone] == [True]
    assert not any(one.vetoed for one in judged(table, *(HONEST,) * 5))


def test_the_trained_label_is_judged_only_where_it_is_known_and_decides_only_where_it_differs() -> None:
    table = world(epsilon=inf)
    assert [one.decides for one in judged(table, HONEST)] == [True, False]
    noisy = world(epsilon=1.0)
    assert [one.decides for one in judged(noisy, HONEST)] == [True, True]
    trained = noisy.canaries.trained.copy()
    trained[0, 0] = UNKNOWN
    assert [one.target for one in judged(changed(noisy, trained=trained), HONEST)] == ["canary"]


def test_unknown_labels_of_held_out_canaries_leave_the_trained_label_uncontrolled() -> None:
    table = world(epsilon=1.0)
    trained = np.where(table.canaries.role == CONTROL, UNKNOWN, table.canaries.trained)
    secret, about_trained = judged(changed(table, trained=trained), HONEST)
    assert secret.decides
    assert about_trained.success.resolved
    assert not about_trained.held_out.resolved
    assert about_trained.difference_p is None
    assert not about_trained.decides


def test_without_held_out_canaries_or_references_nothing_decides_and_the_row_says_why() -> None:
    table = world()
    role = np.where(table.canaries.role == CONTROL, TRAIN, table.canaries.role).astype(np.int8)
    row = judged(changed(table, role=role), HONEST)[0]
    assert row.success.resolved
    assert "no held-out canaries" in (row.held_out.reason or "")
    assert (row.difference_p, row.decides, row.vetoed) == (None, False, False)
    lacking = judged(table, ReferenceCalibrated())[0]
    assert "needs references" in (lacking.success.reason or "")
    assert (lacking.difference_p, lacking.null_p, lacking.decides) == (None, None, False)
    shown = [judged(table, attack)[0] for attack in (HONEST, PRIVILEGED, FLAWED)]
    assert [(one.access, one.decides) for one in shown] == [("outputs", True), ("privileged", False), ("oracle", False)]


def test_nulls_are_replayed_and_only_asked_for() -> None:
    table = world(memory=4.0, spread=0.1)
    honest, flawed = judged(table, HONEST, FLAWED, permutations=99)[:2]
    assert honest.null_p == 0.01
    quiet = [one.null_p for one in judged(world(spread=0.1), HONEST, FLAWED, permutations=99)[:2]]
    # Drawn again with what it saw, the oracle's 75% without any memory are no discovery.
    assert quiet[1] is not None
    assert quiet[1] > 0.05
    assert flawed.null_p is not None
    assert judged(table, HONEST)[0].null_p is None


@pytest.mark.parametrize(("n_classes", "count"), [(2, 5), (3, 4)])
def test_tuned_attacks_are_judged_on_the_other_half(n_classes: int, count: int) -> None:
    table = world(n_classes=n_classes, memory=1.0)
    rows = [one for one in judged(table, tune=True) if one.target == "canary"]
    assert len(rows) == count
    assert all(row.tuned and row.tried.canary.size == 100 for row in rows)
    assert all(row.success.n == 100 and row.held_out.n == 160 for row in rows)
    assert {row.settings.loss_labels for row in rows} == {"predicted", "original", "canary", "trained"} | (
        {None} if n_classes == 2 else set())


def test_the_figure_of_a_tuned_attack_does_not_meet_its_tuning() -> None:
    # With 40 canaries the best of 49 thresholds fits the half it is chosen on.
    found = [judged(world(seed, canaries=40, signal=0.0), tune=True)[0].success.value for seed in range(60)]
    assert abs(float(np.mean([one for one in found if one is not None])) - 0.5) < 4 * 0.5 / (60 * 20) ** 0.5


def test_groups_that_share_a_draw_are_one_row_each() -> None:
    table = world(memory=2.0)
    group = np.arange(len(table.examples)) // 4
    secret = table.canaries.label[:, group * 4]
    sides = evaluation_sets(changed(table, group=group, label=secret, trained=secret), 0)
    assert sides.held_out is not None
    assert (len(sides.canaries), len(sides.held_out)) == (50, 40)
    assert sides.left_out == 270
    assert sides.canaries.rows.tolist() == list(range(0, 200, 4))
    apart = evaluation_sets(changed(table, group=group), 0)
    assert (len(apart.canaries), apart.left_out) == (200, 0)
    # Their draws are their own, and a half in which groups agree by chance is no surprise.
    assert apart.canaries.group is None


def test_groups_that_share_a_shift_are_one_row_each() -> None:
    table = world(n_classes=3)
    group = np.arange(len(table.examples)) // 4
    shifted = ((table.examples.label + RNG(5).integers(0, 3, group.max() + 1)[group]) % 3)[None]
    assert len(evaluation_sets(changed(table, group=group, label=shifted, trained=shifted), 0).canaries) == 50


ATTACKS = (LiaThreshold(), LiaThreshold("median"), DeltaMargin("canary"))


def test_planted_memorisation_is_seen_and_its_absence_is_not() -> None:
    world = LabelWorld(canaries=1000, held_out=400, memory=0.6, planted=(1, 4, 16))
    found = planted_canaries(simulated_labels(world, RNG(0)), 0, ATTACKS, RNG(1))
    assert [(one.repetitions, one.n) for one in found] == [(1, 100), (4, 100), (16, 100)]
    assert [one.detected for one in found][1:] == [True, True]
    quiet = simulated_labels(LabelWorld(canaries=1000, held_out=400, planted=(1, 4, 16)), RNG(0))
    none = planted_canaries(quiet, 0, ATTACKS, RNG(1))
    assert not any(one.detected for one in none)
    assert planted_canaries(simulated_labels(LabelWorld(), RNG(0)), 0, ATTACKS, RNG(1)) == ()


def test_holm_is_over_copies_and_honest_attacks() -> None:
    world = LabelWorld(canaries=1000, held_out=400, memory=0.3, planted=(1, 16))
    found = planted_canaries(simulated_labels(world, RNG(3)), 0, ATTACKS[:1], RNG(1))
    p = []
    for one in found:
        assert one.row is not None
        counts = [counts_of(e) for e in (one.row.success, one.row.held_out)]
        p.append(fisher_exact(*counts[0], *counts[1]))
        assert one.row.access == "outputs"
    assert [one.row.holm_p for one in found if one.row] == pytest.approx(list(holm(p)))
    assert found[0].to_json()["row"]["n"] == 100
