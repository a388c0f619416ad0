"""Defences of simulated models whose leak and worth are known, against the tests written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.audit.membership.scenes import drawn, sure
from tests.errors import refused

from discreet.audit.core.simulate import World
from discreet.audit.defences.training import DefenceComparison, DefenceFinding, compare_defences
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import InputError
from discreet.stats import auroc, delong_test, holm
from discreet.stats.retraining import retrained_mean

WORLD = drawn(World(members=500, others=0, clean=700, selector=0, paired=0, planted={1: 60, 4: 60}, planted_leak=0.0))
N = len(WORLD.examples)
SIGN = np.where(WORLD.examples.label == 1, 1.0, -1.0)
SEEDS = 3


def retrained(leak: float, *, noise: float = 0.0, repeated: float = 0.0, control: float = 0.0) -> list[ScoreTable]:
    """Retrainings that leak so much on members, more on repeated ones, and that answer with so much noise."""
    inside = WORLD.member[0] == 1
    found = []
    for seed in range(SEEDS):
        rng, logits = np.random.default_rng(seed), WORLD.logits.copy()
        own = np.random.default_rng((seed, int(100 * noise))).normal(size=N)
        moved = SIGN * (0.2 * rng.normal(size=N) + leak * inside + repeated * (inside & (WORLD.examples.planted > 1))
                        + noise * own)
        at = next(row for row, model in enumerate(WORLD.models) if model.role == "control")
        for row, shift in ((0, moved), (at, SIGN * control * inside)):
            logits[row, :, 0, 0] -= shift / 2.0
            logits[row, :, 0, 1] += shift / 2.0
        found.append(replace(WORLD, logits=logits))
    return found


UNDEFENDED = retrained(1.2, repeated=1.0)
DEFENDED = {"weak": retrained(1.2, noise=0.05), "small": retrained(0.3, repeated=1.0, noise=0.6),
            "free": retrained(0.3), "dear": retrained(0.0, noise=3.0), "more": retrained(2.5)}


@pytest.fixture(scope="module")
def done() -> DefenceComparison:
    return compare_defences(UNDEFENDED, DEFENDED)


@pytest.fixture(scope="module")
def found(done: DefenceComparison) -> dict[str, DefenceFinding]:
    return {one.name: one for one in done.defences}


def test_what_helps_and_the_two_that_cost_least(done: DefenceComparison) -> None:
    assert {one.name: one.effect for one in done.defences} == {
        "weak": "unclear", "small": "helps", "free": "helps", "dear": "helps", "more": "worse"}
    assert done.cheapest == ("free", "small")
    assert done.next_name == "dear"
    # The next one is compared with the last that is named, with an interval of its own.
    changes = {one.name: one.auc_change for one in done.defences}
    assert done.next_change.value == pytest.approx(sure(changes["dear"].value) - sure(changes["small"].value))
    assert sure(done.next_change.high) < 0.0
    assert (done.seeds, done.undefended.verdict) == (3, "fail")
    assert not done.undefended.leak_change.resolved


def guaranteed(tables: Sequence[ScoreTable], epsilon: float) -> list[ScoreTable]:
    """Retrainings that say of themselves that they spent so much."""
    return [replace(one, models=(replace(one.models[0], mechanism="dp-sgd", epsilon=epsilon, facts={"delta": "1e-5"}),
                                 *one.models[1:])) for one in tables]


def test_a_guarantee_stands_next_to_the_bound_and_is_broken_by_a_higher_one() -> None:
    tables = retrained(2.5)
    kept, broken = (compare_defences(UNDEFENDED, {"private": guaranteed(tables, epsilon)}) for epsilon in (9.0, 0.2))
    assert [one.defences[0].effect for one in (kept, broken)] == ["worse", "broken"]
    assert [one.verdict for one in (kept, broken)] == [None, "fail"]
    assert kept.reasons == ()
    assert broken.reasons[0].startswith("private: The guarantee does not hold")
    found = sure(broken.defences[0].guarantee)
    assert (found.epsilon, found.delta) == (0.2, 1e-5)
    assert 0.2 < sure(found.lower.value) <= sure(kept.defences[0].epsilon_lower.value)
    assert kept.undefended.guarantee is None
    # One model without a guarantee leaves none for the recipe.
    mixed = [*guaranteed(tables, 0.2)[:2], tables[2]]
    assert compare_defences(UNDEFENDED, {"private": mixed}).defences[0].guarantee is None


def ratio(table: ScoreTable) -> np.ndarray:
    odds = table.logits[:, :, 0, 1] - table.logits[:, :, 0, 0]
    reference = next(row for row, model in enumerate(table.models) if model.reference_kind == "neutral")
    return np.asarray(SIGN * (odds[0] - odds[reference]))


def test_the_change_is_the_mean_of_paired_delong_tests(found: dict[str, DefenceFinding]) -> None:
    plain = WORLD.examples.planted == 0
    truth = WORLD.member[0][plain] == 1
    changes, raw = {}, {}
    for name, tables in DEFENDED.items():
        tests = [delong_test(ratio(new)[plain], ratio(old)[plain], truth)
                 for old, new in zip(UNDEFENDED, tables, strict=True)]
        mean = retrained_mean([one.difference for one in tests],
                              [(one.high - one.low) / 2 / 1.959964 for one in tests])
        changes[name] = mean
        below = mean.p_above(0.0)
        raw[name] = 2.0 * min(below, 1.0 - below)
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    for name, one in found.items():
        assert one.leak_change.value == pytest.approx(changes[name].value)
        half = changes[name].bound(0.975)
        assert (one.leak_change.low, one.leak_change.high) == pytest.approx(
            (changes[name].value - half, changes[name].value + half), abs=1e-6)
        assert one.p.value == pytest.approx(adjusted[name], abs=1e-6)
        assert one.leak.value == pytest.approx(np.mean([auroc(ratio(new)[plain], truth) for new in DEFENDED[name]]))


def test_the_cost_is_on_records_of_nobody(found: dict[str, DefenceFinding]) -> None:
    out = (WORLD.member[0] == 0) & (WORLD.examples.planted == 0)
    label = WORLD.examples.label[out]

    def of(tables: list[ScoreTable]) -> tuple[float, float]:
        odds = [(one.logits[0, out, 0, 1] - one.logits[0, out, 0, 0]) for one in tables]
        right = [np.mean([((each > 0) == label)[label == one].mean() for one in (0, 1)]) for each in odds]
        return float(np.mean([auroc(each, label) for each in odds])), float(np.mean(right))

    before = of(UNDEFENDED)
    for name, one in found.items():
        auc, balanced = of(DEFENDED[name])
        assert (one.auc.value, one.balanced.value) == pytest.approx((auc, balanced))
        assert one.auc_change.value == pytest.approx(auc - before[0])
        assert one.balanced_change.value == pytest.approx(balanced - before[1])
    assert sure(found["free"].auc_change.low) > -0.02 > sure(found["dear"].auc_change.high)


def test_repeated_records_have_a_figure_of_their_own(found: dict[str, DefenceFinding]) -> None:
    often = WORLD.examples.planted > 1
    truth = WORLD.member[0][often] == 1
    for name, one in found.items():
        assert one.repeated.value == pytest.approx(np.mean([auroc(ratio(new)[often], truth) for new in DEFENDED[name]]))
    assert sure(found["weak"].repeated_change.high) < 0.0


def test_nothing_helps_where_nothing_leaks_or_the_controls_fall_too() -> None:
    silent = compare_defences(retrained(0.0), {"free": retrained(0.0), "more": retrained(1.0)})
    assert [one.effect for one in silent.defences] == ["no leak", "worse"]
    assert (silent.cheapest, silent.next_name) == ((), None)
    moved = compare_defences(retrained(1.2, control=0.9), {"free": retrained(0.3)})
    assert moved.defences[0].effect == "control"
    assert moved.cheapest == ()


def test_other_records_or_one_seed_are_refused() -> None:
    with refused(InputError, "1 retraining was given; expected at least 2"):
        compare_defences(UNDEFENDED[:1], {})
    with refused(InputError, "'few' was not trained as often on the same records"):
        compare_defences(UNDEFENDED, {"few": DEFENDED["free"][:2]})
    other = [replace(one, examples=replace(one.examples, id=one.examples.id[::-1].copy())) for one in DEFENDED["free"]]
    with refused(InputError, "'other' was not trained as often on the same records"):
        compare_defences(UNDEFENDED, {"other": other})
