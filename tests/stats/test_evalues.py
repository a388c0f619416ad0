from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from discreet.stats.evalues import (
    STAKES,
    first_crossing,
    log_e_average,
    log_e_of_wins,
    log_e_process,
    log_wealth,
    rank_weights,
    wins_needed,
)

small = st.lists(st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=25)


@given(small)
def test_rank_weights_look_back_only(values: list[float]) -> None:
    slow = [rankdata(np.abs(values[: i + 1]))[-1] / (i + 1) for i in range(len(values))]
    np.testing.assert_allclose(rank_weights(values), slow)


@given(small, st.sampled_from([0.5, 0.6, 0.9]))
def test_wealth_is_the_mean_of_gamblers(values: list[float], null: float) -> None:
    weights = rank_weights(values)
    slow = np.zeros(len(values))
    for stake in STAKES:
        wealth = 1.0
        for i, value in enumerate(values):
            if value > 0:
                wealth *= 1 + stake * weights[i] * (1 - null) / null
            if value < 0:
                wealth *= 1 - stake * weights[i]
            slow[i] += wealth / STAKES.size
    np.testing.assert_allclose(np.exp(log_wealth(values, weights, null)), slow, rtol=1e-10)


@pytest.mark.parametrize("sizes", [[1.0] * 9, [3.0, 1.0, 2.0, 0.0, 5.0, 5.0, 0.1, 9.0, 4.0]])
@pytest.mark.parametrize("null", [0.5, 0.7])
def test_fair_coins_leave_the_mean_at_one_and_seldom_reach_the_goal(sizes: list[float], null: float) -> None:
    """Over all 2⁹ coins, without simulation: a martingale of mean 1, and Ville's inequality."""
    mean, fair, crossed = np.zeros(len(sizes)), 0.0, {0.05: 0.0, 0.2: 0.0, 0.5: 0.0}
    for signs in product([1, -1], repeat=len(sizes)):
        chance = float(np.prod([null if sign > 0 else 1 - null for sign in signs]))
        path = log_e_process(np.array(signs) * sizes, null)
        mean += chance * np.exp(path)
        fair += np.exp(path[-1]) / 2 ** len(sizes)
        for alpha in crossed:
            crossed[alpha] += chance * (first_crossing(path, alpha) is not None)
    np.testing.assert_allclose(mean, 1.0, rtol=1e-10)
    assert all(0.0 < crossed[alpha] <= alpha for alpha in (0.2, 0.5))
    assert crossed[0.05] <= 0.05
    # Below the null the mean falls.
    assert fair < 0.95 or null == 0.5


def test_ties_bet_nothing() -> None:
    path = log_e_process([0.0, 0.0, 1.0, 0.0, -1.0, 0.0])
    assert path[0] == path[1] == pytest.approx(0.0)
    assert path[2] == path[3]
    assert path[4] == path[5]
    assert path[2] > 0.0 > path[4] - path[2]


def test_average_of_scores_is_the_mean_of_their_e_values() -> None:
    rows = np.random.default_rng(0).normal(0.4, 1, (3, 40))
    slow = np.mean([np.exp(log_e_process(row)) for row in rows], axis=0)
    np.testing.assert_allclose(np.exp(log_e_average(rows)), slow, rtol=1e-10)
    np.testing.assert_allclose(log_e_average(rows[[0, 0]]), log_e_process(rows[0]), atol=1e-12)


def test_first_crossing() -> None:
    path = np.log([1.0, 19.9, 20.0, 3.0, 25.0])
    assert first_crossing(path, 0.05) == 3
    assert first_crossing(path[:2], 0.05) is None
    assert first_crossing([], 0.05) is None
    with pytest.raises(ValueError, match="alpha is 5"):
        first_crossing(path, 5)


@pytest.mark.parametrize(("n", "threshold"), [(1, 20), (6, 20), (7, 20), (30, 20), (30, 80), (200, 1.5), (501, 40)])
def test_wins_needed_is_the_fewest(n: int, threshold: float) -> None:
    ends = [log_wealth([1.0] * k + [-1.0] * (n - k), np.ones(n))[-1] for k in range(n + 1)]
    np.testing.assert_allclose(log_e_of_wins(np.arange(n + 1), n), ends, atol=1e-9)
    enough = [k for k in range(n + 1) if ends[k] >= log(threshold)]
    assert wins_needed(n, threshold) == (min(enough) if enough else None)
    assert wins_needed(0, threshold) is None


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="weights run from"):
        log_wealth([1.0], [1.5])
    with pytest.raises(ValueError, match="weights have length 2"):
        log_wealth([1.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="null is 1"):
        log_e_process([1.0], 1.0)
    with pytest.raises(ValueError, match=r"differences\[1\] is nan"):
        log_e_process([1.0, float("nan")])
    with pytest.raises(ValueError, match="with at least one score"):
        log_e_average([1.0, 2.0])
