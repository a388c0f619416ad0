from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.audit.membership.scenes import drawn, ends, sets_of

from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World
from discreet.audit.membership.utility import gap, learned, mean_share, utility_of
from discreet.core.records import Estimate
from discreet.core.types import FloatArray
from discreet.stats import auroc, rate_estimate


def test_accuracy_per_class_and_gap_as_counted() -> None:
    table = drawn(World(members=80, others=0, clean=90, paired=0, leak=3.0), 2)
    sets = sets_of(table)
    found = utility_of(table, sets, Units.of(table))
    right = table.logits[0, :, 0].argmax(axis=1) == table.examples.label
    for name in ("all", "0", "1"):
        chosen = np.ones(right.size, dtype=bool) if name == "all" else table.examples.label == int(name)
        train, test = (right[rows][chosen[rows]].mean() for rows in (sets.members, sets.clean[None]))
        given = [found[name][one].value for one in ("train", "test", "gap")]
        assert given == pytest.approx([train, test, train - test])
    assert found["all"]["gap"].low > 0.0


def test_the_answer_is_the_mean_over_queries() -> None:
    table = drawn(World(members=20, others=0, clean=20, paired=0), 2)
    # One loud wrong answer against two mild right ones.
    logits = np.zeros((len(table.models), len(table.examples), 3, 2))
    rows = np.arange(len(table.examples))
    logits[:, rows, 0, 1 - table.examples.label] = 9.0
    for query in (1, 2):
        logits[:, rows, query, table.examples.label] = 2.0
    table = replace(table, logits=logits)
    assert utility_of(table, sets_of(table), Units.of(table))["all"]["train"].value == 1.0


def test_gap_covers_the_difference() -> None:
    rng, covered = np.random.default_rng(6), 0
    for _ in range(500):
        train, test = (rate_estimate(int(rng.binomial(n, p)), n) for n, p in ((60, 0.9), (45, 0.8)))
        low, _, high = ends(gap(train, test))
        covered += low <= 0.1 <= high
    # Exact intervals are conservative: at least 95%, one-sided at .001.
    assert covered >= 459
    assert gap(Estimate.unresolved("a share of no members"), rate_estimate(3, 4)).reason == "a share of no members"


def test_balanced_accuracy_is_the_mean_over_classes_and_the_auc_that_of_class_1() -> None:
    table = drawn(World(members=200, others=0, clean=200, paired=0), 2)
    sets = sets_of(table)
    found = utility_of(table, sets, Units.of(table))
    assert found["balanced"]["train"].value == pytest.approx(
        (found["0"]["train"].value + found["1"]["train"].value) / 2)
    margin = table.logits[0, sets.members, 0, 1] - table.logits[0, sets.members, 0, 0]
    assert found["auc"]["train"].value == pytest.approx(auroc(margin, table.examples.label[sets.members] == 1))
    low, value, high = ends(mean_share([rate_estimate(9, 10), rate_estimate(400, 500)]))
    assert value == pytest.approx(0.85)
    assert low < value < high
    assert not mean_share([rate_estimate(9, 10), Estimate.unresolved("no members")]).resolved


def test_a_model_that_always_answers_the_common_class_may_have_learned() -> None:
    table = drawn(World(members=400, others=0, clean=400, paired=0), 2)
    # 5% of class 1; the model ranks classes well and answers 0 to everything: accuracy is the share of class 0.
    rows = np.flatnonzero((table.examples.label == 0) | (np.arange(len(table.examples)) % 20 == 0))
    rare = table.take(rows)
    logits = rare.logits.copy()
    logits[..., 0] += 20.0
    shifted, idle = replace(rare, logits=logits), replace(rare, logits=np.random.default_rng(0).normal(
        size=rare.logits.shape))
    for one, expected in ((shifted, True), (idle, False)):
        sets = sets_of(one)
        assert learned(one, sets, Units.of(one)) == expected
    assert utility_of(shifted, sets_of(shifted), Units.of(shifted))["1"]["train"].value == 0.0


def of_ten_classes(weights_of: Callable[[FloatArray, np.random.Generator], FloatArray], seed: int) -> bool:
    """Whether a linear model of ten classes with means of their own learned something."""
    rng = np.random.default_rng(seed)
    table = drawn(World(members=2000, others=0, clean=20, paired=0), 2)
    n, means = len(table.examples), rng.normal(size=(10, 20))
    label = rng.integers(0, 10, n)
    logits = (means[label] + 3.0 * rng.normal(size=(n, 20))) @ weights_of(means, rng).T
    table = replace(table, examples=replace(table.examples, label=label),
                    logits=np.broadcast_to(logits[None, :, None, :], (len(table.models), n, 1, 10)))
    return learned(table, sets_of(table), Units.of(table))


def test_of_many_classes_some_are_ranked_well_by_accident() -> None:
    by_chance = [of_ten_classes(lambda means, rng: rng.normal(size=means.shape), seed) for seed in range(20)]
    assert sum(by_chance) <= 2
    assert all(of_ten_classes(lambda means, _: means, seed) for seed in range(3))
    # One class alone is something.
    assert of_ten_classes(lambda means, _: np.where(np.arange(10)[:, None] == 4, means, 0.0), 0)
