from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.audit.core.simulate import LabelWorld, World, simulated_labels, simulated_table
from discreet.audit.labels.attacker_view import canary_rows, run
from discreet.audit.labels.attacks.lira import LiraLabel
from discreet.audit.scores.check import check_label_table
from discreet.audit.scores.table import CANARY, CONTROL
from discreet.core.arrays import log_softmax
from discreet.stats import auroc

RNG = np.random.default_rng


def test_the_ratio_has_the_auc_of_its_closed_form() -> None:
    world = World(members=20_000, others=0, clean=20_000, selector=0, paired=0, neutral=3, leak=0.6)
    table = simulated_table(world, np.random.default_rng(0))
    sign = np.where(table.examples.label == 1, 1.0, -1.0)
    phi = (table.logits[:, :, 0, 1] - table.logits[:, :, 0, 0]) * sign
    ratio = phi[0] - phi[list(table.references("neutral"))].mean(axis=0)
    truth = table.member[0] == 1
    expected = stats.norm.cdf(0.6 / (np.sqrt(2) * world.noise * np.sqrt(1 + 1 / 3)))
    assert auroc(ratio, truth) == pytest.approx(expected, abs=0.01)


def test_membership_goes_by_person_and_coins() -> None:
    table = simulated_table(World(members=40, others=40, clean=40, shadows=5, group_size=4, planted={2: 40}),
                            np.random.default_rng(0))
    group = table.examples.group
    assert group is not None
    for row in table.references("population"):
        assert all(len(set(table.member[row, group == one])) == 1 for one in np.unique(group[:120]))
    out = (table.member[0] == 0) & (table.examples.planted > 0)
    assert 0 < out.sum() < 40


def test_shapes_roles_and_checks() -> None:
    table = simulated_labels(LabelWorld(canaries=60, held_out=40, n_classes=3, references=2, epsilon=1.0,
                                        planted=(4, 16)), RNG(0))
    assert table.logits.shape == (3, 100, 1, 3)
    assert table.canaries.role[0].tolist() == [CANARY] * 60 + [CONTROL] * 40
    assert (table.canaries.role[1:] == CANARY).all()
    assert table.canaries.planted[0].tolist() == [4] * 6 + [16] * 6 + [0] * 88
    assert [model.mechanism for model in table.models] == ["rr"] * 3
    assert table.targets == (0,)
    check_label_table(table, "simulated")
    assert table.log_p == pytest.approx(np.log(np.exp(table.logits) / np.exp(table.logits).sum(axis=-1)[..., None]))
    assert np.isfinite(log_softmax(np.array([1e3, -1e3]))).all()


def test_the_mechanism_lies_as_often_as_it_should() -> None:
    table = simulated_labels(LabelWorld(canaries=5000, held_out=5000, epsilon=1.0), RNG(1))
    kept = int((table.canaries.label == table.canaries.trained).sum())
    assert stats.binomtest(kept, 10_000, np.e / (1 + np.e)).pvalue > 1e-4


def test_memory_is_of_the_trained_label_of_canaries_alone() -> None:
    world = LabelWorld(canaries=500, held_out=500, memory=3.0, epsilon=1.0, references=16)
    table = simulated_labels(world, RNG(2))
    canary, control = canary_rows(table, 0), canary_rows(table, 0, held_out=True)
    found = run(LiraLabel("pooled"), canary)
    # The trained label has no ceiling; the secret has e / (1 + e) = .731.
    assert found.correct(canary.trained).mean() > 0.99
    assert stats.binomtest(int(found.correct(canary.canary).sum()), 500, np.e / (1 + np.e)).pvalue > 1e-4
    unremembered = run(LiraLabel("pooled"), control)
    assert stats.binomtest(int(unremembered.correct(control.canary).sum()), 500, 0.5).pvalue > 1e-4


def test_planted_canaries_are_remembered_better() -> None:
    table = simulated_labels(LabelWorld(canaries=5000, memory=0.2, references=16, planted=(1, 4, 16)), RNG(3))
    rates = []
    for copies in (1, 4, 16):
        trial = canary_rows(table, 0, planted=copies)
        rates.append(run(LiraLabel("pooled"), trial).correct(trial.canary).mean())
    assert rates[0] < rates[1] - 0.05 < rates[2] - 0.1
