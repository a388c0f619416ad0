from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.membership.controls import _exceeds, _power, group_level, planted_leaks, side_by_side
from discreet.audit.membership.evaluation_sets import Sides, sides_of
from discreet.audit.membership.protocol import Units
from discreet.audit.membership.scored import Scored, score_all
from discreet.audit.membership.simulate import World, simulated_table
from discreet.core.records import Estimate
from discreet.scores.table import ScoreTable
from discreet.stats import auroc, delong_test

PRIMARY = Estimate(0.5, 0.48, 0.52, n=800, n_pos=400, n_neg=400)


def scene(world: World, seed: int = 0) -> tuple[ScoreTable, Sides, Scored]:
    table = simulated_table(world, np.random.default_rng(seed))
    sides = sides_of(table, 0, np.random.default_rng(0))
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
    assert planted_leaks(table, sides, Scored("loss", "p", None, None, reason="x"), PRIMARY, Units(None)) == []


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
    own, beside = side_by_side(Scored("reference", "logit", "neutral", target, placebo))
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
    own, beside = side_by_side(scored)
    assert own is scored
    found = group_level(beside, sides, Units.of(table))
    assert found.value is None
    assert "there is no placebo" in str(found.reason)
    nothing = Scored("lira", "logit", None, None, reason="lira cannot run")
    assert [one.reason for one in side_by_side(nothing)] == ["lira cannot run"] * 2


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
