from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.audit.membership.evaluation_sets import sides_of
from discreet.audit.membership.protocol import Units
from discreet.audit.membership.simulate import World, simulated_table
from discreet.audit.membership.utility import gap, utility_of
from discreet.core.records import Estimate
from discreet.stats import rate_estimate


def test_accuracy_per_class_and_gap_as_counted() -> None:
    table = simulated_table(World(members=80, others=0, clean=90, paired=0, leak=3.0), np.random.default_rng(2))
    sides = sides_of(table, 0, np.random.default_rng(0))
    found = utility_of(table, sides, Units.of(table))
    right = table.logits[0, :, 0].argmax(axis=1) == table.examples.label
    for name in ("all", "0", "1"):
        chosen = np.ones(right.size, dtype=bool) if name == "all" else table.examples.label == int(name)
        train = right[sides.members][chosen[sides.members]]
        test = right[sides.clean[None]][chosen[sides.clean[None]]]
        assert found[name]["train"].value == pytest.approx(train.mean())
        assert found[name]["test"].value == pytest.approx(test.mean())
        assert found[name]["gap"].value == pytest.approx(train.mean() - test.mean())
    assert found["all"]["gap"].low > 0.0


def test_the_answer_is_the_mean_over_queries() -> None:
    table = simulated_table(World(members=20, others=0, clean=20, paired=0), np.random.default_rng(2))
    # One loud wrong answer against two mild right ones.
    logits = np.zeros((len(table.models), len(table.examples), 3, 2))
    rows = np.arange(len(table.examples))
    logits[:, rows, 0, 1 - table.examples.label] = 9.0
    for query in (1, 2):
        logits[:, rows, query, table.examples.label] = 2.0
    table = replace(table, logits=logits)
    found = utility_of(table, sides_of(table, 0, np.random.default_rng(0)), Units.of(table))
    assert found["all"]["train"].value == 1.0


def test_gap_covers_the_difference() -> None:
    rng, covered = np.random.default_rng(6), 0
    for _ in range(500):
        train, test = (rate_estimate(int(rng.binomial(n, p)), n) for n, p in ((60, 0.9), (45, 0.8)))
        found = gap(train, test)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.1 <= found.high
    # Exact intervals are conservative: at least 95%, one-sided at .001.
    assert covered >= 459


def test_a_class_without_rows_has_no_gap() -> None:
    found = gap(Estimate.unresolved("a share of no members"), rate_estimate(3, 4))
    assert not found.resolved
    assert found.reason == "a share of no members"
