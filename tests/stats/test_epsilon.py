from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from discreet.stats.epsilon import (
    RUNGS,
    anytime_epsilon,
    detection_power,
    epsilon_ceiling,
    epsilon_of_rate,
    ladder_epsilon,
    least_rate,
    least_size,
    one_run_epsilon,
    one_run_p,
    rate_of_epsilon,
)
from discreet.stats.evalues import KINDS, first_crossing, log_e_average, log_e_process, wins_needed


def slow_p(m: int, r: int, v: int, eps: float, delta: float) -> float:
    """Theorem 5.2 as it is written: a sum of tails, term by term."""
    q = 1 / (1 + exp(-eps))
    tail = [sum(binom.pmf(k, r, q) for k in range(max(v - i, 0), r + 1)) for i in range(m + 1)]
    alpha = max([0.0, *((tail[i] - tail[0]) / i for i in range(1, m + 1))])
    return float(min(1.0, tail[0] + 2 * m * delta * alpha))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 25), st.data(), st.sampled_from([0.0, 0.7, 3.0]), st.sampled_from([0.0, 1e-5, 1e-2]))
def test_one_run_p_is_the_theorem(r: int, data: st.DataObject, eps: float, delta: float) -> None:
    v, m = data.draw(st.integers(0, r)), data.draw(st.integers(r, 40))
    assert one_run_p(v, r, eps, delta=delta, n=m) == pytest.approx(slow_p(m, r, v, eps, delta), abs=1e-10)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-4])
def test_one_run_epsilon_inverts_p(delta: float) -> None:
    found = one_run_epsilon(180, 200, 0.05, delta=delta, n=300)
    assert one_run_p(180, 200, found, delta=delta, n=300) == pytest.approx(0.05, abs=1e-6)
    assert one_run_p(180, 200, found + 0.01, delta=delta, n=300) > 0.05
    # Delta costs, and chance shows nothing.
    assert one_run_epsilon(180, 200, 0.05, delta=delta + 1e-3) < one_run_epsilon(180, 200, 0.05, delta=delta)
    assert one_run_epsilon(100, 200, 0.05, delta=delta) == one_run_epsilon(0, 5, 0.05, delta=delta) == 0.0


def test_closed_form_where_all_guesses_are_right() -> None:
    rate = 0.05 ** (1 / 50)
    assert one_run_epsilon(50, 50, 0.05) == pytest.approx(log(rate / (1 - rate)))
    assert epsilon_ceiling(50, 0.05, scores=2) == pytest.approx(epsilon_of_rate((0.05 / 2 / len(RUNGS)) ** (1 / 50)))
    assert rate_of_epsilon(epsilon_of_rate(0.8)) == pytest.approx(0.8)


def test_ladder_takes_the_best_rung_and_pays_for_all() -> None:
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(0, 1, 160), rng.normal(0.1, 1, 160) + 5 * (rng.random(160) < 0.3)])
    rows[1, :20] = 0.0
    slow = []
    for s, row in enumerate(rows):
        ranked = sorted((abs(d), d > 0) for d in row if d)[::-1]
        for rung in RUNGS:
            r = int(np.ceil(rung * len(ranked)))
            v = sum(won for _, won in ranked[:r])
            slow.append((one_run_epsilon(v, r, 0.05 / 8), s, r, v))
    found = ladder_epsilon(rows, 0.05)
    assert tuple(found) == pytest.approx(max(slow))
    assert found.score == 1
    assert found.guesses < 140
    assert ladder_epsilon(np.zeros((1, 9)), 0.05) == (0.0, 0, 0, 0)


@pytest.mark.parametrize("truth", [0.0, 1.0, 3.0])
def test_bounds_exceed_the_truth_in_at_most_alpha_of_runs(truth: float) -> None:
    """Randomised response at a known ε; sizes are the adversary's, and here they are noise."""
    rng, runs, n = np.random.default_rng(7), 300, 150
    fixed, anytime = [], 0
    for _ in range(runs):
        right = rng.random((2, n)) < rate_of_epsilon(truth)
        rows = np.where(right, 1.0, -1.0) * rng.exponential(size=(2, n))
        fixed.append(ladder_epsilon(rows, 0.05).epsilon)
        # The anytime bound is above the truth where the truth is rejected.
        anytime += bool(log_e_average(rows, rate_of_epsilon(truth)).max() >= log(20))
    for name, above in (("ladder", int((np.array(fixed) > truth).sum())), ("anytime", anytime)):
        print(f"ε {truth}, {name}: above in {above} of {runs}, median of the ladder {np.median(fixed):.2f}")
        assert binomtest(above, runs, 0.05, alternative="greater").pvalue > 0.001
    assert np.median(fixed) > 0.6 * truth if truth else np.median(fixed) == 0.0


def test_anytime_is_the_last_null_that_is_rejected() -> None:
    rows = np.random.default_rng(2).normal(1.5, 1, (2, 90))
    found = anytime_epsilon(rows, 0.05)
    assert log_e_average(rows, rate_of_epsilon(found)).max() >= log(20)
    assert log_e_average(rows, rate_of_epsilon(found + 1e-6)).max() < log(20)
    assert anytime_epsilon(-rows, 0.05) == 0.0
    # What was seen once stays seen, whatever follows.
    more = np.hstack([rows, np.random.default_rng(3).normal(-1, 1, (2, 200))])
    assert anytime_epsilon(more, 0.05) >= found > 1.0


def test_power_is_the_binomial_tail_and_the_process_keeps_the_promise() -> None:
    n, rate, threshold = 60, 0.75, KINDS / 0.05
    needed = wins_needed(n, threshold)
    assert needed is not None
    promised = detection_power(n, rate, threshold)
    assert promised == pytest.approx(sum(binom.pmf(k, n, rate) for k in range(needed, n + 1)))
    rng, runs = np.random.default_rng(4), 400
    # Sizes that say nothing are the worst case for the ranked bet.
    found = [np.where(rng.random(n) < rate, 1.0, -1.0) * rng.random(n) for _ in range(runs)]
    hits = sum(first_crossing(log_e_process(row), 0.05) is not None for row in found)
    assert 0.5 < promised < 0.95
    assert binomtest(hits, runs, promised, alternative="less").pvalue > 0.001


@pytest.mark.parametrize("rate", [0.6, 0.75, 0.95])
def test_the_least_size_and_rate_agree(rate: float) -> None:
    n = least_size(lambda n: detection_power(n, rate, 40) >= 0.8)
    assert n is not None
    assert detection_power(n, rate, 40) >= 0.8
    assert detection_power(n // 2, rate, 40) < 0.8
    least = least_rate(n, 40)
    assert least is not None
    assert rate - 0.02 < least <= rate
    assert detection_power(n, least, 40) == pytest.approx(0.8)
    assert least_rate(5, 40) is None
    assert detection_power(5, 1.0, 40) == detection_power(0, 1.0, 40) == 0.0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="correct of n is 3 of 2"):
        one_run_p(3, 2, 1.0)
    with pytest.raises(ValueError, match="expected epsilon >= 0"):
        one_run_p(1, 2, -1.0)
    with pytest.raises(ValueError, match="n 1"):
        one_run_p(1, 2, 1.0, n=1)
    assert least_size(lambda n: detection_power(n, 0.5001, 40) >= 0.8) is None
