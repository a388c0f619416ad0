from __future__ import annotations

from math import exp

import numpy as np

from discreet.audit.membership.evaluation_sets import sides_of
from discreet.audit.membership.one_run import RUNGS, ladder_bound, one_run_bound
from discreet.audit.membership.protocol import Units
from discreet.audit.membership.scored import Scored
from discreet.audit.membership.simulate import World, simulated_table
from discreet.core.design import Design
from discreet.core.records import Estimate
from discreet.stats.epsilon import one_run_epsilon


def test_perfect_guesses_reach_the_ceiling_and_chance_none() -> None:
    truth = np.arange(200) < 100
    best, guesses = ladder_bound(truth.astype(float), truth, 0.05, np.random.default_rng(0))
    assert (best, guesses) == (one_run_epsilon(200, 200, 0.05 / len(RUNGS)), 200)
    assert ladder_bound(-truth.astype(float), truth, 0.05, np.random.default_rng(0))[0] == 0.0


def test_bound_stays_under_the_truth() -> None:
    """Randomised response with odds e^ε on each coin: the bound exceeds ε in at most 28 of 300 draws."""
    rng, epsilon, over, sharp = np.random.default_rng(12), 1.0, 0, 0
    for _ in range(300):
        truth = rng.random(400) < 0.5
        kept = rng.random(400) < exp(epsilon) / (1 + exp(epsilon))
        answer = np.where(kept, truth, ~truth)
        best, _ = ladder_bound(answer + 1e-3 * rng.random(400), truth, 0.05, rng)
        over += best > epsilon
        sharp += best > 0.5
    assert over <= 28
    assert sharp > 250


def one_run_of(design: Design, world: World) -> Estimate:
    table = simulated_table(world, np.random.default_rng(3))
    sides = sides_of(table, 0, np.random.default_rng(0))
    phi = table.logits[0, :, 0]
    scores = np.take_along_axis(phi, table.examples.label[:, None], axis=1)[:, 0]
    return one_run_bound(Scored("loss", "logit", None, scores), sides, design, Units.of(table),
                         np.random.default_rng(1))


def test_needs_a_random_draw() -> None:
    world = World(members=300, others=0, clean=500, paired=0, leak=6.0)
    found = one_run_of("randomised", world)
    assert found.low is not None
    assert found.low > 1.0
    assert (found.n_pos, found.n_neg, found.high) == (300, 300, None)
    assert "random draw" in str(one_run_of("convenience", world).reason)


def test_groups_are_guessed_whole() -> None:
    found = one_run_of("randomised", World(members=300, others=0, clean=300, paired=0, leak=6.0, group_size=5))
    assert (found.n_pos, found.n_neg, found.unit) == (60, 60, "group")


def test_too_few_are_unresolved() -> None:
    found = one_run_of("sealed", World(members=2, others=0, clean=1, selector=0, paired=0))
    assert not found.resolved
    assert "1 examples a side" in str(found.reason)
