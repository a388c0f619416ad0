from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from tests.audit.membership.scenes import drawn, ends, scene, sets_of, sure

from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World
from discreet.audit.membership.attack import Scores
from discreet.audit.membership.controls import (
    RUNGS,
    blind_auc,
    group_level,
    ladder_bound,
    one_run_bound,
    planted_leaks,
    same_examples,
)
from discreet.audit.membership.rows import NO_CONTROL
from discreet.audit.scores.table import ScoreTable
from discreet.core.design import Design
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.stats import auroc, delong_test
from discreet.stats.epsilon import one_run_epsilon

PRIMARY = Estimate(0.5, 0.48, 0.52, n=800, n_pos=400, n_neg=400)
SMALL = World(members=60, others=0, clean=60, selector=0, paired=0)


def test_planted_leaks_rise_with_repetition_and_are_detected() -> None:
    table, sets, scored = scene(World(planted={1: 80, 4: 80, 16: 80}, planted_leak=0.6))
    found = planted_leaks(table, sets, scored, PRIMARY, Units.of(table))
    assert [one.repetitions for one in found] == [1, 4, 16]
    values = [sure(one.auc.value) for one in found]
    assert values == sorted(values)
    assert found[-1].detected
    assert sure(found[-1].power.value) > 0.99
    assert ends(found[-1].control_auc)[0] < 0.5
    # Against the planted records that the coin left out.
    members = sets.planted[table.examples.planted[sets.planted] == 16]
    rows = np.concatenate([members, sets.planted_out])
    assert values[-1] == pytest.approx(auroc(sure(scored.target)[rows], np.arange(rows.size) < members.size))


@pytest.mark.parametrize("planted", [{16: 40}, {1: 40, 4: 40, 16: 40}])
def test_what_is_detected_is_what_its_interval_says(planted: dict[int, int]) -> None:
    """The level is shared out, and a level is detected where its own interval and the difference lie above."""
    seen = []
    for seed in range(12):
        table, sets, scored = scene(replace(SMALL, planted=planted, planted_leak=0.12), seed)
        for one in planted_leaks(table, sets, scored, PRIMARY, Units.of(table)):
            assert one.auc.level == one.control_auc.level == one.power.level == 1 - 0.05 / len(planted)
            rows = np.concatenate([sets.planted[table.examples.planted[sets.planted] == one.repetitions],
                                   sets.planted_out])
            truth = np.arange(rows.size) < (one.auc.n_pos or 0)
            beyond = delong_test(sure(scored.target)[rows], sure(scored.control)[rows], truth,
                                 level=one.auc.level).low > 0
            assert one.detected == ((one.auc.low or 0) > 0.5 and beyond)
            seen.append(one.detected)
    assert 0 < sum(seen) < len(seen)


def test_a_control_model_that_ranks_perfectly_is_exceeded_by_nothing() -> None:
    table, sets, scored = scene(replace(SMALL, planted={16: 40}))
    rising = np.where(table.member[0] == 1, 1.0, 0.0)
    for control, detected in ((-rising, True), (rising, False), (sure(scored.target) / 1e3, False)):
        given = replace(scored, target=rising if detected else scored.target, control=control)
        [found] = planted_leaks(table, sets, given, PRIMARY, Units.of(table))
        assert found.detected == detected


def test_without_planted_records_there_is_no_entry() -> None:
    table, sets, scored = scene(World())
    assert planted_leaks(table, sets, scored, PRIMARY, Units.of(table)) == []
    assert planted_leaks(table, sets, Scores("loss", "p", None, None, reason="x"), PRIMARY, Units(None)) == []


def test_the_power_of_a_leak_near_one_is_an_interval_around_it() -> None:
    # On the logit scale power falls again near 1.
    table, sets, scored = scene(replace(SMALL, planted={16: 40}, planted_leak=0.8))
    few = Estimate(0.5, 0.32, 0.68, n=40, n_pos=20, n_neg=20, unit="example")
    [found] = planted_leaks(table, sets, scored, few, Units.of(table))
    assert sure(found.auc.high) > 0.99
    low, value, high = ends(found.power)
    assert 0.0 <= low <= value <= high <= 1.0


def by_group(table: ScoreTable, scores: np.ndarray, rows: np.ndarray) -> float:
    """The AUC of the means over the records of each group, the long way."""
    group = sure(table.examples.group)
    means = {(g, code): scores[rows[(group[rows] == g) & (table.member[0, rows] == code)]].mean()
             for g, code in set(zip(group[rows].tolist(), table.member[0, rows].tolist(), strict=True))}
    return auroc(list(means.values()), [code for _, code in means])


def test_all_records_of_a_person_say_more_than_one() -> None:
    table, sets, scored = scene(World(leak=0.5, group_size=8))
    found, target = group_level(scored, sets, Units.of(table)), sure(scored.target)
    rows = np.concatenate([sets.members, sets.clean["neutral"]])
    assert found.value == pytest.approx(by_group(table, target, rows))
    assert sure(found.value) > auroc(target[rows], np.arange(rows.size) < sets.members.size) + 0.1
    assert (found.n_pos, found.unit) == (50, "group")


def test_target_and_control_model_are_judged_on_the_same_rows() -> None:
    table, sets, scored = scene(World(leak=0.5, group_size=4, group_noise=0.5))
    target, control = sure(scored.target).copy(), sure(scored.control).copy()
    target[sets.members[:8]], control[sets.clean["neutral"][:4]] = np.nan, np.nan
    own, other = same_examples(Scores("reference", "logit", "neutral", target, control))
    rows = np.concatenate([sets.members[8:], sets.clean["neutral"][4:]])
    found = [group_level(one, sets, Units.of(table)) for one in (own, other)]
    for estimate, scores in zip(found, (target, control), strict=True):
        assert estimate.value == pytest.approx(by_group(table, scores, rows))
        assert (estimate.n_pos, estimate.n_neg) == (98, 199)
    assert ends(found[1])[0] < 0.5 < ends(found[0])[0]


def test_what_is_not_known_of_persons_says_why() -> None:
    table, sets, scored = scene(World(group_size=4, controls=0))
    own, control = same_examples(scored)
    assert own is scored
    assert group_level(control, sets, Units.of(table)).reason == NO_CONTROL
    nothing = Scores("lira", "logit", None, None, reason="lira cannot run")
    assert [one.reason for one in same_examples(nothing)] == ["lira cannot run"] * 2
    assert "column 'group'" in str(group_level(scored, sets, Units(None)).reason)


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
    table = drawn(replace(world, others=0, paired=0), 3)
    scores = np.take_along_axis(table.logits[0, :, 0], table.examples.label[:, None], axis=1)[:, 0]
    return one_run_bound(Scores("loss", "logit", None, scores), sets_of(table), design, Units.of(table),
                         np.random.default_rng(1))


def test_a_bound_on_epsilon_needs_a_random_draw_and_enough_units() -> None:
    world = World(members=300, clean=500, leak=6.0)
    found = one_run_of("randomised", world)
    assert sure(found.low) > 1.0
    assert (found.n_pos, found.n_neg, found.high) == (300, 300, None)
    assert "random draw" in str(one_run_of("convenience", world).reason)
    grouped = one_run_of("randomised", World(members=300, clean=300, leak=6.0, group_size=5))
    assert (grouped.n_pos, grouped.n_neg, grouped.unit) == (60, 60, "group")
    assert "over 1 examples" in str(one_run_of("sealed", World(members=2, clean=1, selector=0)).reason)


BLIND = World(members=120, others=0, clean=120, selector=0, paired=0)


def blind(table: ScoreTable, texts: dict[str, str] | None = None, seed: int = 0) -> Estimate:
    return blind_auc(table, sets_of(table), np.random.default_rng(seed), texts=texts, units=Units.of(table))


def texts_of(table: ScoreTable, rng: np.random.Generator, mark: str = "") -> dict[str, str]:
    words = ["red", "green", "blue", "grey", "pink"]
    return {str(one): " ".join(rng.choice(words, 6)) + (mark if table.member[0, row] == 1 else "")
            for row, one in enumerate(table.examples.id)}


def test_a_category_of_one_record_tells_nobody_apart() -> None:
    """Whoever is judged has a category that no record of the training folds has."""
    table = drawn(World(members=150, others=0, clean=150, selector=0, paired=0))
    own = tuple(frozenset({f"c{row:04}"}) for row in range(len(table.examples)))
    examples = replace(table.examples, categories=own, label=np.zeros_like(table.examples.label))
    assert ends(blind(replace(table, examples=examples)))[1] == 0.5


def test_the_blind_baseline_sees_a_word_that_only_members_have() -> None:
    table = drawn(BLIND)
    found = blind(table, texts_of(table, np.random.default_rng(1), " marked"))
    assert found.value == 1.0
    assert "texts" in found.method


def test_it_is_quiet_on_texts_of_one_kind() -> None:
    """Out of fold and ranked within folds: ½ lies inside in at least 87 of 100, and the mean is ½."""
    found = []
    for seed in range(100):
        table = drawn(replace(BLIND, members=60, clean=60), seed)
        found.append(ends(blind(table, texts_of(table, np.random.default_rng(seed + 1000)), seed)))
    assert sum(low <= 0.5 <= high for low, _, high in found) >= 87
    assert np.mean([value for _, value, _ in found]) == pytest.approx(0.5, abs=0.025)


def test_a_person_is_never_on_both_sides_of_a_fold() -> None:
    # Every person has a word of their own: only a fold that knows the person could tell.
    table = drawn(replace(BLIND, group_size=4))
    group = sure(table.examples.group)
    found = blind(table, {str(one): f"word{group[row]}" for row, one in enumerate(table.examples.id)})
    assert sure(found.value) < 0.65
    assert found.unit == "group"


def test_columns_are_read_where_there_are_no_texts() -> None:
    table = drawn(BLIND)
    length = np.where(table.member[0] == 1, 30, 10).astype(object)
    for column, seen in (("length", "label, category, length"), ("source", "label, category, source")):
        found = blind(replace(table, examples=replace(table.examples, columns={column: length})))
        assert found.value == 1.0
        assert f"logistic regression on {seen}" in found.method
    broken = np.array(["long" if one else None for one in table.member[0]], dtype=object)
    assert "length" not in blind(replace(table, examples=replace(table.examples, columns={"length": broken}))).method


def test_what_the_baseline_cannot_say() -> None:
    table = drawn(BLIND)
    bare = replace(table, examples=replace(table.examples, categories=None, label=np.zeros_like(table.examples.label)))
    assert "there are no texts" in str(blind(bare).reason)
    assert "at least 5 examples" in str(blind(drawn(replace(BLIND, members=4))).reason)
    texts = texts_of(table, np.random.default_rng(1))
    del texts["e3"]
    with pytest.raises(InputError, match="1 of 240 judged examples have no text"):
        blind(table, texts)
