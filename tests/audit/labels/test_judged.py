"""What of all attacks decides: their test, its control, Holm over models, and planted canaries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.audit.labels.tables import changed

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import LabelAttack, all_attacks
from discreet.audit.labels.attacks.lia_delta_margin import DeltaMargin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.bounds import ceiling
from discreet.audit.labels.judged import Judged, judge_model, over_all, planted_canaries, with_control
from discreet.audit.labels.rows import counts_of, evaluation_sets
from discreet.audit.scores.table import CONTROL, UNKNOWN, ScoreTable
from discreet.stats.testing import holm

RNG = np.random.default_rng
HONEST = tuple(attack for attack in all_attacks(2) if attack.access == "outputs")
FEW = (LiaThreshold(), LiaThreshold("median"), DeltaMargin("canary"))


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**{"canaries": 200, "held_out": 160, **given}), RNG(seed))


def judged(table: ScoreTable, *attacks: LabelAttack, tune: bool = False, assignment: Any = "uniform",
           about: Any = "canary") -> Judged:
    model, sets = table.models[0], evaluation_sets(table, 0)
    found = judge_model(model, sets, attacks, RNG(1), assignment=assignment, about=about, tune=tune)
    return with_control(found, model, sets, RNG(2), assignment)


def test_one_model_has_one_test_and_each_row_its_own_p_and_one_over_all() -> None:
    [found] = over_all([judged(world(memory=1.0), *HONEST)])
    assert found.test is not None
    assert (found.null, found.p) == ("chance", found.test.p)
    for row, alone, step in zip(found.deciding, found.test.alone, found.test.step_down, strict=True):
        assert step is not None
        assert (row.null_p, row.adjusted_p) == (alone, max(step, found.test.p))
    assert found.found
    assert found.named


def test_holm_is_over_models_and_over_rows_whose_labels_are_not_drawn_again() -> None:
    several = [judged(world(1, memory=0.3), *HONEST), judged(world(2), *HONEST),
               judged(world(3, memory=0.3), *HONEST, assignment="unknown")]
    first, second, third = over_all(several)
    assert several[0].test is not None
    assert several[1].test is not None
    own = [row.difference_p for row in several[2].deciding]
    p = holm(np.array([several[0].test.p, several[1].test.p, *own], np.float64)).tolist()
    assert (first.p, second.p, third.p) == (p[0], p[1], None)
    assert [row.adjusted_p for row in third.deciding] == p[2:]
    for row, step in zip(second.deciding, several[1].test.step_down, strict=True):
        assert step is not None
        assert row.adjusted_p == max(p[1], min(1.0, len(p) * step))


def test_at_the_ceiling_p_is_the_binomial_tail() -> None:
    table = world(memory=3.0, epsilon=1.0)
    table = changed(table, models=(replace(table.models[0], mechanism="home-made"),))
    found = judged(table, *FEW)
    assert (found.null, found.test) == ("ceiling", None)
    for row in found.deciding:
        right, made = counts_of(row.success)
        assert row.null_p == pytest.approx(stats.binom.sf(right - 1, made, ceiling(1.0, 2)))


class TestControl:
    def test_labels_of_held_out_canaries_that_are_known_or_avoided_void_the_audit(self) -> None:
        for sign in (1.0, -1.0):
            table = world()
            logits = table.logits[:, :, 0].copy()
            told = (table.canaries.role[0] == CONTROL) & (RNG(3).random(len(table.examples)) < 0.4)
            logits[0, told] = sign * 9.0 * (np.arange(2) == table.canaries.label[0, told, None])
            [found] = over_all([judged(changed(table, logits=logits), *FEW)])
            assert found.void
        assert not over_all([judged(world(), *FEW)])[0].void

    def test_fair_draws_void_five_audits_in_a_hundred_at_most(self) -> None:
        """Canaries are remembered, held-out canaries are not."""
        void = sum(over_all([judged(world(seed, memory=2.0, canaries=60, held_out=60), *FEW)])[0].void
                   for seed in range(60))
        assert stats.binomtest(void, 60, 0.05, alternative="greater").pvalue > 0.01

    def test_without_a_law_there_is_none(self) -> None:
        assert judged(world(), *FEW, assignment="unknown").control is None


def test_constant_guesses_decide_nothing() -> None:
    table = world()
    found = judged(changed(table, logits=np.tile([0.0, 5.0], (1, len(table.examples), 1))), LiaThreshold())
    assert (found.test, found.deciding) == (None, [])


@pytest.mark.parametrize(("n_classes", "count"), [(2, 5), (3, 4)])
def test_tuned_attacks_are_judged_on_the_other_half(n_classes: int, count: int) -> None:
    table = world(n_classes=n_classes, memory=1.0)
    rows = [one for one in judged(table, tune=True).rows if one.target == "canary"]
    assert len(rows) == count
    assert all(row.tuned and row.tried.canary.size == 100 for row in rows)
    assert all(row.success.n == 100 and row.held_out.n == 160 for row in rows)
    assert {row.settings.loss_labels for row in rows} == {"predicted", "original", "canary", "trained"} | (
        {None} if n_classes == 2 else set())


def test_the_figure_of_a_tuned_attack_does_not_meet_its_tuning() -> None:
    # With 40 canaries the best of 49 thresholds fits the half it is chosen on.
    found = [judged(world(seed, canaries=40, signal=0.0), tune=True).rows[0].success.value for seed in range(30)]
    assert abs(float(np.mean([one for one in found if one is not None])) - 0.5) < 4 * 0.5 / (30 * 20) ** 0.5


class TestPlanted:
    def test_memorisation_is_seen_and_its_absence_is_not(self) -> None:
        given: dict[str, Any] = {"canaries": 1000, "held_out": 400, "planted": (1, 4, 16)}
        found = planted_canaries(world(memory=0.6, **given), 0, FEW, RNG(1), "uniform")
        assert [(one.repetitions, one.n) for one in found] == [(1, 100), (4, 100), (16, 100)]
        assert [one.detected for one in found][1:] == [True, True]
        assert not any(one.detected for one in planted_canaries(world(**given), 0, FEW, RNG(1), "uniform"))
        assert planted_canaries(world(), 0, FEW, RNG(1), "uniform") == ()

    @pytest.mark.parametrize("epsilon", [0.2, 1.0])
    def test_under_randomised_response_they_are_asked_for_the_label_that_was_trained_on(self, epsilon: float) -> None:
        """Strong noise, all trained labels remembered, and held-out canaries without a trained label, as nobody has
        trained on them: 60 planted canaries show it."""
        table = world(canaries=600, memory=6.0, epsilon=epsilon, planted=(4,))
        trained = np.where(table.canaries.role == CONTROL, UNKNOWN, table.canaries.trained)
        [found] = planted_canaries(changed(table, trained=trained), 0, HONEST, RNG(1), "uniform")
        assert found.detected
        assert found.row is not None
        assert found.row.target == "trained"
        assert found.row.success.value == pytest.approx(1.0, abs=0.05)

    def test_false_alarms_are_at_most_five_in_a_hundred(self) -> None:
        given = {"canaries": 200, "held_out": 40, "planted": (1, 4)}
        wrong = sum(any(one.detected for one in planted_canaries(
            world(seed, **given), 0, FEW[:1], RNG(seed), "uniform")) for seed in range(60))
        assert stats.binomtest(wrong, 60, 0.05, alternative="greater").pvalue > 0.01
