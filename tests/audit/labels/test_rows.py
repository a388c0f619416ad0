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
from discreet.audit.labels.judged import judge_model
from discreet.audit.labels.rows import LabelRow, evaluation_sets
from discreet.audit.scores.table import CONTROL, TRAIN, UNKNOWN, ScoreTable

RNG = np.random.default_rng
HONEST = LiaThreshold()
FLAWED = DeltaMargin("canary")
PRIVILEGED = DeltaMargin("original")


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**{"canaries": 200, "held_out": 160, **given}), RNG(seed))


def judged(table: ScoreTable, *attacks: LabelAttack) -> tuple[LabelRow, ...]:
    sets = evaluation_sets(table, 0)
    return judge_model(table.models[0], sets, attacks, RNG(1), assignment="uniform", tune=False).rows


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


def test_the_trained_label_is_judged_only_where_it_is_known_and_never_decides() -> None:
    table = world(epsilon=inf)
    assert [one.decides for one in judged(table, HONEST)] == [True, False]
    noisy = world(epsilon=1.0)
    assert [one.decides for one in judged(noisy, HONEST)] == [True, False]
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
