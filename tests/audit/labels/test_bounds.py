from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import ABSTAINED, Guesses, canary_rows
from discreet.audit.labels.bounds import (
    bound_power,
    bounds_of,
    canaries_needed,
    ceiling,
    guess_epsilon,
    ladder_bound,
    plan_canaries,
    two_rate_epsilon,
)
from discreet.core.errors import UsageError
from discreet.stats.epsilon import one_run_epsilon
from discreet.stats.intervals import binomial_lower, clopper_pearson
from discreet.stats.mechanisms.labels.rr import RandomisedResponse


class TestCeiling:
    def test_the_papers_epsilons_and_the_ends(self) -> None:
        for epsilon, percent in {0.3: 57.4, 0.5: 62.2, 0.8: 69.0, 1.0: 73.1, 2.0: 88.1, 4.0: 98.2}.items():
            assert 100 * ceiling(epsilon, 2) == pytest.approx(percent, abs=0.05)
        assert ceiling(0.0, 5) == pytest.approx(0.2)
        assert ceiling(inf, 5) == 1.0

    @pytest.mark.parametrize(("epsilon", "n_classes"), [(0.5, 2), (1.0, 3), (2.0, 10)])
    def test_the_best_guess_from_a_randomised_label_attains_it(self, epsilon: float, n_classes: int) -> None:
        matrix = RandomisedResponse.at(epsilon, n_classes).transition()
        best = matrix.max(axis=0).sum() / n_classes
        assert best == pytest.approx(ceiling(epsilon, n_classes))


class TestGuessEpsilon:
    @settings(deadline=None)
    @given(st.integers(1, 400), st.data())
    def test_two_classes_are_the_one_run_bound(self, guesses: int, data: st.DataObject) -> None:
        correct = data.draw(st.integers(0, guesses))
        assert guess_epsilon(correct, guesses, 2, 0.05) == pytest.approx(one_run_epsilon(correct, guesses, 0.05))

    @pytest.mark.parametrize(("correct", "guesses", "n_classes"), [(80, 100, 2), (30, 100, 10), (900, 1000, 100)])
    def test_at_the_bound_such_a_success_has_chance_alpha(self, correct: int, guesses: int, n_classes: int) -> None:
        epsilon = guess_epsilon(correct, guesses, n_classes, 0.05)
        rate = exp(epsilon) / (exp(epsilon) + n_classes - 1)
        assert stats.binom.sf(correct - 1, guesses, rate) == pytest.approx(0.05, rel=1e-6)


def slow_ladder(correct: list[bool], confidence: list[float], n_classes: int, alpha: float) -> float:
    ranked = [c for _, c in sorted(zip(confidence, correct, strict=True), key=lambda pair: -pair[0])]
    best = 0.0
    for percent in (100, 60, 35, 20, 10):
        guesses = -(-percent * len(ranked) // 100)
        p = binomial_lower(sum(ranked[:guesses]), guesses, alpha / 5)
        best = max(best, log((n_classes - 1) * p / (1 - p)) if p > 1 / n_classes else 0.0)
    return best


class TestLadder:
    @settings(deadline=None)
    @given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=200), st.integers(2, 12))
    def test_is_the_slow_one(self, drawn: list[tuple[bool, int]], n_classes: int) -> None:
        correct, confidence = [c for c, _ in drawn], [float(s) for _, s in drawn]
        found = ladder_bound(correct, confidence, n_classes)
        assert found.epsilon == pytest.approx(slow_ladder(correct, confidence, n_classes, 0.05), abs=1e-12)
        assert found.guesses == -(-round(100 * found.rung) * len(drawn) // 100)


class TestTwoRates:
    @settings(deadline=None)
    @given(st.integers(1, 200), st.integers(1, 200), st.data())
    def test_both_directions_of_two_exact_ends(self, positives: int, negatives: int, data: st.DataObject) -> None:
        tp, fp = data.draw(st.integers(0, positives)), data.draw(st.integers(0, negatives))
        low, high = clopper_pearson(tp, positives, 0.95).low, clopper_pearson(fp, negatives, 0.95).high
        ratios = [low / high] + ([(1 - high) / (1 - low)] if high < 1 else [])
        expected = max(0.0, *(log(r) for r in ratios if r > 0), 0.0)
        assert two_rate_epsilon(tp, positives, fp, negatives) == pytest.approx(expected, abs=1e-9)


class TestPlanning:
    @pytest.mark.parametrize(("n", "success", "epsilon", "n_classes", "guessed"), [
        (60, 0.9, 1.0, 2, 1.0), (50, 0.8, 0.1, 2, 0.6), (80, 0.5, 1.0, 10, 1.0), (100, 0.98, 2.0, 2, 0.35),
    ])
    def test_power_is_the_mass_of_counts_that_reach_it(
        self, n: int, success: float, epsilon: float, n_classes: int, guessed: float
    ) -> None:
        guesses = -(-round(100 * guessed) * n // 100)
        reach = [k for k in range(guesses + 1) if guess_epsilon(k, guesses, n_classes, 0.01) >= epsilon]
        slow = float(stats.binom.pmf(reach, guesses, success).sum())
        assert bound_power(n, success, epsilon, n_classes, guessed=guessed) == pytest.approx(slow, abs=1e-12)

    def test_as_many_canaries_as_the_power_takes_and_none_show_what_epsilon_allows(self) -> None:
        n = canaries_needed(0.85)
        assert bound_power(n, 0.85, 1.0) >= 0.8 > bound_power(n - 1, 0.85, 1.0)
        with pytest.raises(ValueError, match="no number of canaries shows it"):
            canaries_needed(ceiling(1.0, 2), 1.0)
        assert plan_canaries(40.0, 2)["rows"][0]["canaries"] is None


TRIAL = canary_rows(simulated_labels(LabelWorld(canaries=120, held_out=10), np.random.default_rng(0)), 0)


def guesses(right: int, abstained: int = 0) -> Guesses:
    label = TRIAL.canary.copy()
    label[right:] = 1 - label[right:]
    label[len(label) - abstained:] = ABSTAINED
    confidence = np.linspace(1.0, 0.1, label.size)
    return Guesses(label, np.where(label == ABSTAINED, 0.0, confidence))


def test_all_three_are_those_of_the_counts() -> None:
    given = guesses(90, 20)
    found = bounds_of("outputs", "canary", given, TRIAL.canary, 2, vetoed=False, bounded=True)
    right = np.arange(100) < 90
    assert found.ladder.value == ladder_bound(right, given.confidence[:100], 2).epsilon
    assert found.one_run.value == guess_epsilon(90, 100, 2)
    secret, label = TRIAL.canary[:100], given.label[:100]
    assert found.two_rate.value == two_rate_epsilon(
        int(((label == 1) & (secret == 1)).sum()), int((secret == 1).sum()),
        int(((label == 1) & (secret == 0)).sum()), int((secret == 0).sum()))
    for one in (found.ladder, found.one_run, found.two_rate):
        assert (one.low, one.high, one.level) == (one.value, None, 0.95)
    assert set(found.to_json()) == {"epsilon_lower", "epsilon_lower_one_run", "epsilon_lower_two_rate"}
    three = bounds_of("outputs", "canary", given, TRIAL.canary, 3, vetoed=False, bounded=True)
    assert three.ladder.value is not None
    assert "two classes" in (three.two_rate.reason or "")


@pytest.mark.parametrize(("access", "truth", "given", "vetoed", "bounded", "said"), [
    ("oracle", "canary", guesses(90), False, True, "shown the label"),
    ("outputs", "trained", guesses(90), False, True, "no ceiling"),
    ("outputs", "canary", guesses(90), True, True, "on held-out canaries"),
    ("outputs", "canary", guesses(90), False, False, "independently"),
    ("outputs", "canary", None, False, True, "no guess"),
    ("outputs", "canary", guesses(0, 120), False, True, "no guess"),
])
def test_where_nothing_is_proven_a_reason_stands(access: str, truth: str, given: Guesses | None, vetoed: bool,
                                                 bounded: bool, said: str) -> None:
    found = bounds_of(access, truth, given, TRIAL.canary, 2, vetoed=vetoed, bounded=bounded)  # type: ignore[arg-type]
    for one in (found.ladder, found.one_run, found.two_rate):
        assert one.value is None
        assert said in (one.reason or "")


@pytest.mark.parametrize(("epsilon", "classes", "guessed"), [(1.0, 2, 1.0), (2.0, 10, 0.3)])
def test_as_many_canaries_as_show_it(epsilon: float, classes: int, guessed: float) -> None:
    found = plan_canaries(epsilon, classes, guessed)
    assert found["ceiling"] == ceiling(epsilon, classes)
    needed = [row["canaries"] for row in found["rows"]]
    assert needed == sorted(needed, reverse=True)
    for row in found["rows"]:
        enough, few = (bound_power(n, row["success"], epsilon, classes, guessed=guessed)
                       for n in (row["canaries"], max(2, row["canaries"] // 3)))
        assert enough >= 0.8 > few
    assert ("the rest abstained" in found["note"]) == (guessed < 1.0)


@pytest.mark.parametrize(("epsilon", "classes", "guessed", "said"), [
    (0.0, 2, 1.0, "--epsilon"), (inf, 2, 1.0, "--epsilon"), (nan, 2, 1.0, "--epsilon"), (1.0, 1, 1.0, "--classes"),
    (1.0, 2, 0.0, "--guessed"), (1.0, 2, 1.5, "--guessed"),
])
def test_what_cannot_be_is_refused(epsilon: float, classes: int, guessed: float, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_canaries(epsilon, classes, guessed)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ceiling(-0.1, 2), "epsilon is -0.1"), (lambda: ceiling(nan, 2), "epsilon is nan"),
    (lambda: ceiling(1.0, 1), "n_classes is 1"), (lambda: ceiling(1.0, 2.5), "n_classes is 2.5"),  # type: ignore[arg-type]
    (lambda: ladder_bound([], [], 2), "correct is empty"),
    (lambda: ladder_bound([1, 0], [1.0], 2), "confidence have length 1"),
    (lambda: ladder_bound([1], [nan], 2), "confidence"), (lambda: bound_power(0, 0.9, 1.0), "n is 0"),
    (lambda: bound_power(10, 0.9, 1.0, guessed=0.0), "guessed is 0"),
    (lambda: bound_power(10, 0.9, 0.0), "epsilon is 0"), (lambda: bound_power(10, 0.9, inf), "epsilon is inf"),
    (lambda: bound_power(10, 1.5, 1.0), "success is 1.5"),
])
def test_arguments_that_cannot_be(call: Callable[[], float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
