from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.controls import (
    RUNGS,
    _exceeds,
    _power,
    gap,
    group_level,
    ladder_bound,
    one_run_bound,
    planted_leaks,
    same_examples,
    utility_of,
)
from discreet.audit.membership.estimates import score_all
from discreet.audit.membership.evaluation_sets import EvaluationSets, evaluation_sets
from discreet.audit.membership.rows import NO_PLACEBO, Scores
from discreet.core.design import Design
from discreet.core.records import Estimate
from discreet.scores.table import ScoreTable
from discreet.stats import auroc, delong_test, rate_estimate
from discreet.stats.epsilon import one_run_epsilon

PRIMARY = Estimate(0.5, 0.48, 0.52, n=800, n_pos=400, n_neg=400)


def scene(world: World, seed: int = 0) -> tuple[ScoreTable, EvaluationSets, Scores]:
    table = simulated_table(world, np.random.default_rng(seed))
    sides = evaluation_sets(table, 0, np.random.default_rng(0))
    [scored] = [one for one in score_all(table, sides, seed=0, names=["reference"])
                if (one.scale, one.kind) == ("logit", "neutral")]
    return table, sides, scored


def test_planted_leaks_rise_with_repetition_and_are_detected() -> None:
    table, sides, scored = scene(World(planted={1: 80, 4: 80, 16: 80}, planted_leak=0.6))
    found = planted_leaks(table, sides, scored, PRIMARY, Units.of(table))
    assert [one.repetitions for one in found] == [1, 4, 16]
    values = [one.auc.value or 0.0 for one in found]
    assert values == sorted(values)
    assert found[-1].detected
    assert (found[-1].power.value or 0) > 0.99
    assert found[-1].placebo_auc.low is not None
    assert found[-1].placebo_auc.low < 0.5
    # Against the planted records that the coin left out.
    members = sides.planted[table.examples.planted[sides.planted] == 16]
    rows = np.concatenate([members, sides.planted_out])
    assert scored.target is not None
    assert found[-1].auc.value == pytest.approx(auroc(scored.target[rows], np.arange(rows.size) < members.size))


@pytest.mark.parametrize("planted", [{16: 40}, {1: 40, 4: 40, 16: 40}])
def test_what_is_detected_is_what_its_interval_says(planted: dict[int, int]) -> None:
    """The level is shared out, and a level is detected where its own interval and the difference lie above."""
    seen = []
    for seed in range(12):
        table, sides, scored = scene(World(members=60, others=0, clean=60, selector=0, paired=0, planted=planted,
                                           planted_leak=0.12), seed)
        assert scored.target is not None
        assert scored.placebo is not None
        for one in planted_leaks(table, sides, scored, PRIMARY, Units.of(table)):
            assert one.auc.level == one.placebo_auc.level == one.power.level == 1 - 0.05 / len(planted)
            rows = np.concatenate([sides.planted[table.examples.planted[sides.planted] == one.repetitions],
                                   sides.planted_out])
            truth = np.arange(rows.size) < (one.auc.n_pos or 0)
            beyond = delong_test(scored.target[rows], scored.placebo[rows], truth, level=one.auc.level).low > 0
            assert one.detected == ((one.auc.low or 0) > 0.5 and beyond)
            seen.append(one.detected)
    assert 0 < sum(seen) < len(seen)


def test_a_placebo_that_ranks_perfectly_where_the_target_fails_perfectly_is_not_exceeded() -> None:
    truth = np.arange(20) < 10
    rising = truth.astype(np.float64)
    assert _exceeds(rising, -rising, truth, None, 0.95)
    assert not _exceeds(-rising, rising, truth, None, 0.95)


def test_a_model_that_forgets_plants_nothing_to_see() -> None:
    seen = 0
    for seed in range(100):
        table, sides, scored = scene(World(members=60, others=0, clean=60, selector=0, paired=0, planted={16: 80},
                                           planted_leak=0.0), seed)
        [one] = planted_leaks(table, sides, scored, PRIMARY, Units.of(table))
        seen += one.detected
    assert seen <= 13


def test_without_planted_records_there_is_no_entry() -> None:
    table, sides, scored = scene(World())
    assert planted_leaks(table, sides, scored, PRIMARY, Units.of(table)) == []
    assert planted_leaks(table, sides, Scores("loss", "p", None, None, reason="x"), PRIMARY, Units(None)) == []


def test_all_records_of_a_person_say_more_than_one() -> None:
    table, sides, scored = scene(World(leak=0.5, group_size=8))
    units = Units.of(table)
    found = group_level(scored, sides, units)
    assert scored.target is not None
    group = table.examples.group
    assert group is not None
    clean = sides.clean["neutral"]
    means = {(g, side): scored.target[rows[group[rows] == g]].mean()
             for side, rows in ((1, sides.members), (0, clean)) for g in np.unique(group[rows])}
    assert found.value == pytest.approx(auroc(list(means.values()), [side for _, side in means]))
    one_by_one = auroc(scored.target[np.concatenate([sides.members, clean])],
                       np.arange(sides.members.size + clean.size) < sides.members.size)
    assert (found.value or 0) > one_by_one + 0.1
    assert (found.n_pos, found.unit) == (50, "group")


def test_target_and_placebo_are_judged_on_the_same_rows() -> None:
    table, sides, scored = scene(World(leak=0.5, group_size=4, group_noise=0.5))
    assert scored.target is not None
    assert scored.placebo is not None
    target, placebo = scored.target.copy(), scored.placebo.copy()
    target[sides.members[:8]], placebo[sides.clean["neutral"][:4]] = np.nan, np.nan
    own, beside = same_examples(Scores("reference", "logit", "neutral", target, placebo))
    units, group = Units.of(table), table.examples.group
    assert group is not None
    rows = np.concatenate([sides.members[8:], sides.clean["neutral"][4:]])
    for found, scores in ((own, target), (beside, placebo)):
        means = {(g, bool(table.member[0, row])): scores[rows[group[rows] == g]].mean()
                 for g, row in zip(group[rows], rows, strict=True)}
        estimate = group_level(found, sides, units)
        assert estimate.value == pytest.approx(auroc(list(means.values()), [side for _, side in means]))
        assert (estimate.n_pos, estimate.n_neg) == (98, 199)
    assert (group_level(own, sides, units).low or 0) > 0.5
    assert (group_level(beside, sides, units).low or 1) < 0.5


def test_without_a_placebo_the_figure_beside_says_so() -> None:
    table, sides, scored = scene(World(group_size=4, placebos=0))
    own, beside = same_examples(scored)
    assert own is scored
    found = group_level(beside, sides, Units.of(table))
    assert found.value is None
    assert found.reason == NO_PLACEBO
    nothing = Scores("lira", "logit", None, None, reason="lira cannot run")
    assert [one.reason for one in same_examples(nothing)] == ["lira cannot run"] * 2


def test_persons_are_unknown_without_the_column() -> None:
    table, sides, scored = scene(World())
    assert "column 'group'" in str(group_level(scored, sides, Units.of(table)).reason)


def test_the_power_of_a_leak_near_one_is_an_interval_around_it() -> None:
    # On the logit scale power falls again near 1.
    found = _power(Estimate(0.97, 0.90, 0.999, n=40, n_pos=20, n_neg=20, unit="example"),
                   Estimate(0.5, 0.32, 0.68, n=40, n_pos=20, n_neg=20, unit="example"))
    assert found.low is not None
    assert found.value is not None
    assert found.high is not None
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


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
    sides = evaluation_sets(table, 0, np.random.default_rng(0))
    phi = table.logits[0, :, 0]
    scores = np.take_along_axis(phi, table.examples.label[:, None], axis=1)[:, 0]
    return one_run_bound(Scores("loss", "logit", None, scores), sides, design, Units.of(table),
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
    assert "over 1 examples" in str(found.reason)


def test_accuracy_per_class_and_gap_as_counted() -> None:
    table = simulated_table(World(members=80, others=0, clean=90, paired=0, leak=3.0), np.random.default_rng(2))
    sides = evaluation_sets(table, 0, np.random.default_rng(0))
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
    found = utility_of(table, evaluation_sets(table, 0, np.random.default_rng(0)), Units.of(table))
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
