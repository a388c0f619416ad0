from __future__ import annotations

from math import exp, inf
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.audit.labels.tables import changed

from discreet.audit.labels.access import run, trial_of
from discreet.audit.labels.attacks.lia_delta_margin import lia_delta_margin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.reference import ReferenceCalibrated
from discreet.audit.labels.judge_rows import Judged, difference_p, judge_model, planted_copies, sides_of
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.view import LabelAttack, all_attacks
from discreet.scores.table import PLACEBO, TRAIN, UNKNOWN, ScoreTable

RNG = np.random.default_rng
HONEST = LiaThreshold()
FLAWED = lia_delta_margin(loss_labels="secret")
PRIVILEGED = lia_delta_margin(loss_labels="original")


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**{"canaries": 200, "placebos": 160, **given}), RNG(seed))


def judged(table: ScoreTable, *attacks: LabelAttack, permutations: int = 0, tune: bool = False) -> list[Judged]:
    return judge_model(table.models[0], sides_of(table, 0), attacks, RNG(1), permutations=permutations, tune=tune)


def test_a_row_counts_what_the_attack_got_right() -> None:
    table = world(memory=1.0, epsilon=2.0)
    secret, trained = (one.row for one in judged(table, HONEST))
    assert (secret.target, trained.target) == ("secret", "trained")
    for row in (secret, trained):
        hits = []
        for side in ("canary", "placebo"):
            trial = trial_of(table, 0, side)
            hits.append((int(run(HONEST, trial).correct(trial.truth(row.target)).sum()), len(trial)))
        for estimate, (right, n) in zip((row.success, row.placebo), hits, strict=True):
            slow = stats.binomtest(right, n).proportion_ci(method="exact")
            assert estimate.value == right / n
            assert (estimate.low, estimate.high) == pytest.approx((slow.low, slow.high))
        (a, n), (b, m) = hits
        assert row.difference_p == pytest.approx(stats.fisher_exact([[a, n - a], [b, m - b]])[1])
    assert secret.ceiling == pytest.approx(exp(2.0) / (exp(2.0) + 1.0))
    assert trained.ceiling is None


def test_fisher_is_two_sided() -> None:
    assert difference_p((30, 50), (20, 50)) == pytest.approx(difference_p((20, 50), (30, 50)))
    assert difference_p((30, 50), (30, 50)) == 1.0


def test_the_oracle_is_vetoed_on_an_innocent_model_and_the_honest_are_not() -> None:
    honest, flawed = (one.row for one in judged(world(spread=0.1), HONEST, FLAWED)[:2])
    assert flawed.vetoed
    assert flawed.placebo.low is not None
    assert flawed.placebo.low > 0.5
    assert not honest.vetoed


def test_the_veto_pays_for_all_rows_of_the_model() -> None:
    table = world(canaries=50, placebos=100)
    # 61 of 100 is outside 95% and inside what five rows and two labels leave of it.
    logits = table.logits[:, :, 0].copy()
    placebo = np.flatnonzero(table.canaries.role[0] == PLACEBO)
    logits[0, placebo] = 5.0 * (np.arange(2) == table.canaries.label[0, placebo, None])
    logits[0, placebo[:39]] *= -1.0
    table = changed(table, logits=logits)
    alone = judged(changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN)), HONEST)
    assert alone[0].row.placebo.value == 0.61
    assert [one.row.vetoed for one in alone] == [True]
    assert not any(one.row.vetoed for one in judged(table, *(HONEST,) * 5))


@pytest.mark.parametrize(("attack", "access"), [(HONEST, "outputs"), (PRIVILEGED, "privileged"), (FLAWED, "oracle")])
def test_only_attacks_on_outputs_decide(attack: LabelAttack, access: str) -> None:
    row = judged(world(epsilon=1.0), attack)[0].row
    assert row.access == access
    assert row.decides == (access == "outputs")
    assert row.oracle == (access == "oracle")


def test_an_oracle_and_the_trained_label_prove_no_epsilon() -> None:
    found = judged(world(memory=4.0), HONEST, FLAWED)
    honest, flawed, trained, _ = (one.row.bounds.ladder for one in found)
    assert honest.value is not None
    assert honest.value > 2.0
    assert flawed.value is None
    assert trained.value is None


def test_the_trained_label_is_judged_only_where_it_is_known_and_decides_only_where_it_differs() -> None:
    table = world(epsilon=inf)
    assert [one.row.decides for one in judged(table, HONEST)] == [True, False]
    noisy = world(epsilon=1.0)
    assert [one.row.decides for one in judged(noisy, HONEST)] == [True, True]
    trained = noisy.canaries.trained.copy()
    trained[0, 0] = UNKNOWN
    assert [one.row.target for one in judged(changed(noisy, trained=trained), HONEST)] == ["secret"]


def test_unknown_labels_of_placebos_leave_the_trained_label_uncontrolled() -> None:
    table = world(epsilon=1.0)
    trained = np.where(table.canaries.role == PLACEBO, UNKNOWN, table.canaries.trained)
    secret, about_trained = (one.row for one in judged(changed(table, trained=trained), HONEST))
    assert secret.decides
    assert about_trained.success.resolved
    assert not about_trained.placebo.resolved
    assert about_trained.difference_p is None
    assert not about_trained.decides


def test_without_placebos_nothing_decides() -> None:
    table = world()
    role = np.where(table.canaries.role == PLACEBO, TRAIN, table.canaries.role).astype(np.int8)
    row = judged(changed(table, role=role), HONEST)[0].row
    assert row.success.resolved
    assert "no placebo canaries" in (row.placebo.reason or "")
    assert (row.difference_p, row.decides, row.vetoed) == (None, False, False)


def test_an_attack_that_lacks_something_is_a_row_that_says_what() -> None:
    row = judged(world(), ReferenceCalibrated())[0].row
    assert "needs references" in (row.success.reason or "")
    assert (row.difference_p, row.null_p, row.decides) == (None, None, False)


def test_nulls_are_replayed_and_only_asked_for() -> None:
    table = world(memory=4.0, spread=0.1)
    honest, flawed = (one.row for one in judged(table, HONEST, FLAWED, permutations=99)[:2])
    assert honest.null_p == 0.01
    innocent = [one.row.null_p for one in judged(world(spread=0.1), HONEST, FLAWED, permutations=99)[:2]]
    # Drawn again with what it saw, the oracle's 75% on an innocent model are no discovery.
    assert innocent[1] is not None
    assert innocent[1] > 0.05
    assert flawed.null_p is not None
    assert judged(table, HONEST)[0].row.null_p is None


@pytest.mark.parametrize(("n_classes", "count"), [(2, 5), (3, 4)])
def test_tuned_attacks_are_judged_on_the_other_half(n_classes: int, count: int) -> None:
    table = world(n_classes=n_classes, memory=1.0)
    rows = [one.row for one in judged(table, tune=True) if one.row.target == "secret"]
    assert len(rows) == count
    assert all(row.tuned and row.n == 100 and row.success.n == 100 and row.placebo.n == 160 for row in rows)
    assert {row.settings.loss_labels for row in rows} == {"predicted", "original", "secret", "trained"} | (
        {None} if n_classes == 2 else set())


def test_the_figure_of_a_tuned_attack_does_not_meet_its_tuning() -> None:
    # With 40 canaries the best of 49 thresholds fits the half it is chosen on.
    found = [judged(world(seed, canaries=40, signal=0.0), tune=True)[0].row.success.value for seed in range(60)]
    assert abs(float(np.mean([one for one in found if one is not None])) - 0.5) < 4 * 0.5 / (60 * 20) ** 0.5


def test_groups_that_share_a_draw_are_one_row_each() -> None:
    table = world(memory=2.0)
    group = np.arange(len(table.examples)) // 4
    secret = table.canaries.label[:, group * 4]
    sides = sides_of(changed(table, group=group, label=secret, trained=secret), 0)
    assert sides.placebo is not None
    assert (len(sides.canary), len(sides.placebo)) == (50, 40)
    assert sides.left_out == 270
    assert sides.canary.rows.tolist() == list(range(0, 200, 4))
    apart = sides_of(changed(table, group=group), 0)
    assert (len(apart.canary), apart.left_out) == (200, 0)
    # Their draws are their own, and a half in which groups agree by chance is no surprise.
    assert apart.canary.group is None


def test_groups_that_share_a_shift_are_one_row_each() -> None:
    table = world(n_classes=3)
    group = np.arange(len(table.examples)) // 4
    shift = RNG(5).integers(0, 3, group.max() + 1)[group]
    secret = ((table.examples.label + shift) % 3)[None]
    sides = sides_of(changed(table, group=group, label=secret, trained=secret), 0)
    assert len(sides.canary) == 50


def test_planted_canaries_are_judged_apart() -> None:
    table = world(planted=(4, 16))
    assert planted_copies(table, 0) == (4, 16)
    assert len(sides_of(table, 0).canary) == 160
    assert len(sides_of(table, 0, planted=16).canary) == 20


def test_rows_are_plain_in_json() -> None:
    found = judged(world(epsilon=1.0), *all_attacks(2))
    keys = {"attack", "threshold", "margin", "alpha", "beta", "loss_labels", "oracle", "epsilon", "mechanism", "target",
            "seed", "n", "access", "success", "placebo", "difference_p", "ceiling", "epsilon_lower", "vetoed"}
    assert all(keys <= set(one.row.to_json()) for one in found)
    first = found[0].row.to_json()
    assert first["epsilon"] == 1.0
    assert judged(world(), HONEST)[0].row.to_json()["epsilon"] == "inf"
    assert set(first["success"]) >= {"value", "low", "high", "level", "n", "reason"}
