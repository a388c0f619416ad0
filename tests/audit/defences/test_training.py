"""Defences of simulated models whose leak and worth are known, against the tests written out; changes of accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from tests.audit.membership.scenes import drawn, sure
from tests.errors import refused

from discreet.audit.core.retrained import RetrainedMean, retrained_mean
from discreet.audit.core.simulate import World
from discreet.audit.defences.retrainings import balanced_change
from discreet.audit.defences.training import DefenceComparison, DefenceFinding, compare_defences
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import InputError
from discreet.stats import auroc, delong_test, holm

WORLD = drawn(World(members=500, others=0, clean=700, selector=0, paired=0, planted={1: 60, 4: 60}, planted_leak=0.0))
N = len(WORLD.examples)
SIGN = np.where(WORLD.examples.label == 1, 1.0, -1.0)
SEEDS = 3


def retrained(leak: float, *, noise: float = 0.0, repeated: float = 0.0, control: float = 0.0,
              rest: float | None = None) -> list[ScoreTable]:
    """Retrainings that leak so much on members (those of class 0 `rest`, if given), more on repeated ones, and that
    answer with so much noise."""
    inside = WORLD.member[0] == 1
    leaks = np.where((WORLD.examples.label == 0) & (rest is not None), rest or 0.0, leak)
    found = []
    for seed in range(SEEDS):
        rng, logits = np.random.default_rng(seed), WORLD.logits.copy()
        own = np.random.default_rng((seed, int(100 * noise))).normal(size=N)
        moved = SIGN * (0.2 * rng.normal(size=N) + leaks * inside + repeated * (inside & (WORLD.examples.planted > 1))
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

    def change_in(tables: list[ScoreTable], rows: np.ndarray) -> tuple[RetrainedMean, float]:
        tests = [delong_test(ratio(new)[rows], ratio(old)[rows], WORLD.member[0][rows] == 1)
                 for old, new in zip(UNDEFENDED, tables, strict=True)]
        mean = retrained_mean([one.difference for one in tests],
                              [(one.high - one.low) / 2 / 1.959964 for one in tests])
        return mean, 2.0 * min(mean.p_above(0.0), 1.0 - mean.p_above(0.0))

    categories = sure(WORLD.examples.categories)
    parts = {f"class {label}": plain & (WORLD.examples.label == label) for label in (0, 1)} | {
        f"category {name}": plain & np.array([name in one for one in categories])
        for name in sorted(frozenset().union(*categories))}
    changes, raw = {}, {}
    for name, tables in DEFENDED.items():
        changes[name] = change_in(tables, plain)[0]
        # Undefended models are above their tolerance in all parts: all must fall.
        tests = [change_in(tables, rows) for rows in (plain, *parts.values())]
        raw[name] = max(p if mean.value < 0.0 else 1.0 for mean, p in tests)
        assert {one.name: one.leak_change.value for one in found[name].parts} == pytest.approx(
            {part: mean.value for part, (mean, _) in zip(parts, tests[1:], strict=True)})
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


def test_a_defence_must_help_in_each_part_that_leaks_and_harm_none() -> None:
    undefended = retrained(1.2, rest=0.0)
    done = compare_defences(undefended, {"there": retrained(0.2, rest=0.0), "elsewhere": retrained(1.2, rest=-1.2),
                                         "moved": retrained(0.0, rest=1.2)})
    there, elsewhere, moved = done.defences
    assert (there.effect, elsewhere.effect, moved.effect) == ("helps", "partly", "worse")
    # The worst part has its figure, of the undefended recipe too.
    assert sure(done.undefended.worst).name == "class 1"
    assert not sure(done.undefended.worst).leak_change.resolved
    assert sure(elsewhere.worst).name == "class 1"
    assert sure(elsewhere.worst).leak.value == max(sure(one.leak.value) for one in elsewhere.parts)
    assert sure(moved.worst).name == "class 0"
    assert next(one.name for one in moved.parts if one.worse) == "class 0"
    assert elsewhere.to_json()["worst"]["name"] == "class 1"
    assert done.cheapest == ("there",)


def test_of_training_that_draws_nothing_the_records_alone_are_uncertain() -> None:
    """One training of each, against DeLong's tests on the records written out."""
    tables = {name: tables[:1] for name, tables in DEFENDED.items()}
    done = compare_defences(UNDEFENDED[:1], tables, draws=False)
    plain = WORLD.examples.planted == 0
    truth = WORLD.member[0][plain] == 1
    raw = {}
    for one in done.defences:
        old, new = (ratio(table)[plain] for table in (UNDEFENDED[0], tables[one.name][0]))
        test = delong_test(new, old, truth)
        error = (test.high - test.low) / 2 / 1.959964
        raw[one.name] = 2.0 * norm.sf(abs(test.difference) / error)
        assert (one.leak_change.value, one.leak_change.low, one.leak_change.high) == pytest.approx(
            (test.difference, test.difference - 1.959964 * error, test.difference + 1.959964 * error), abs=1e-6)
        assert one.leak.value == pytest.approx(auroc(new, truth))
    # All parts of the undefended model are above their tolerance, and the p value is the largest of theirs.
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    assert all(sure(one.p.value) >= adjusted[one.name] - 1e-9 for one in done.defences)
    assert {one.name: one.effect for one in done.defences} == {
        "weak": "unclear", "small": "helps", "free": "helps", "dear": "helps", "more": "worse"}
    assert (done.seeds, done.cheapest, done.undefended.verdict) == (1, ("free", "small"), "fail")
    assert "retrainings" not in sure(done.defences[0].leak_change.method)


def test_other_records_or_one_seed_are_refused() -> None:
    with refused(InputError, "1 retraining was given; expected at least 2"):
        compare_defences(UNDEFENDED[:1], {})
    with refused(InputError, "3 retrainings were given of a recipe that draws nothing from its seed; expected one"):
        compare_defences(UNDEFENDED, {}, draws=False)
    with refused(InputError, "'few' was not trained as often on the same records"):
        compare_defences(UNDEFENDED, {"few": DEFENDED["free"][:2]})
    other = [replace(one, examples=replace(one.examples, id=one.examples.id[::-1].copy())) for one in DEFENDED["free"]]
    with refused(InputError, "'other' was not trained as often on the same records"):
        compare_defences(UNDEFENDED, {"other": other})


def balanced(right: np.ndarray, label: np.ndarray) -> float:
    return float(np.mean([right[label == one].mean() for one in np.unique(label)]))


def problem(n: int = 900) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    label = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    old = rng.random(n) < 0.8
    return old, np.where(rng.random(n) < 0.15, rng.random(n) < 0.5, old), label


def test_the_interval_is_that_of_the_bootstrap() -> None:
    old, new, label = problem()
    found = balanced_change(old, new, label)
    assert found.value == pytest.approx(balanced(new, label) - balanced(old, label))
    rng, draws = np.random.default_rng(1), []
    for _ in range(2000):
        rows = np.concatenate([rng.choice(np.flatnonzero(label == one), (label == one).sum()) for one in range(3)])
        draws.append(balanced(new[rows], label[rows]) - balanced(old[rows], label[rows]))
    low, high = np.quantile(draws, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.006)


def test_records_of_a_group_are_one() -> None:
    """Everything three times, under one group: as if it were there once."""
    old, new, label = problem(300)
    once = balanced_change(old, new, label)
    before, after, classes, group = (np.repeat(one, 3) for one in (old, new, label, np.arange(300)))
    thrice = balanced_change(before, after, classes, group)
    assert thrice.value == pytest.approx(once.value)
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))
    assert (thrice.n, thrice.unit, once.unit) == (300, "group", "example")


def test_no_changed_answer_is_not_certainty() -> None:
    old, _, label = problem(60)
    found = balanced_change(old, old, label)
    assert found.value == 0.0
    assert found.low is not None
    assert found.low < -0.01
