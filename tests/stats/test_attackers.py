"""Bounds on the strongest attacker: against a slow count, and their coverage over simulated attackers; conformal p."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom, false_discovery_control, norm, rankdata

from discreet.stats.attackers import (
    benjamini_hochberg,
    conformal_p,
    controls_needed,
    distinct_attacks,
    joint_scores,
    shortest_list,
    strongest_rates,
    tpr_bounds,
)
from discreet.stats.estimates import Sample


def slow_bounds(scores: np.ndarray, member: np.ndarray, fpr: float, level: float, attacks: int) -> tuple[float, float]:
    """Each threshold by counting, each tail half of the error of an attack's end."""
    tail = (1.0 - level) / attacks / 2.0
    others, own = np.sort(scores[~member])[::-1], scores[member]
    n, m = others.size, own.size
    low, high = 0.0, 1.0
    ranks = [rank for rank in range(1, n + 1) if binom.cdf(rank - 1, n, fpr) <= tail]
    if ranks and (hits := int((own > others[max(ranks) - 1]).sum())):
        low = float(beta.ppf(tail, hits, m - hits + 1))
    ranks = [rank for rank in range(1, n + 1) if binom.sf(rank - 1, n, fpr) <= tail]
    if ranks and (hits := int((own >= others[min(ranks) - 1]).sum())) < m:
        high = float(beta.ppf(1.0 - tail, hits + 1, m - hits))
    return low, high


@pytest.mark.parametrize("attacks", [1, 3, 14])
@pytest.mark.parametrize("fpr", [0.01, 0.05])
def test_bounds_are_those_of_a_slow_count(attacks: int, fpr: float) -> None:
    rng = np.random.default_rng(attacks)
    member = np.arange(700) < 300
    for scores in (rng.normal(size=700) + 1.5 * member, rng.integers(6, size=700).astype(float)):
        np.testing.assert_allclose(tpr_bounds(scores, member, fpr, attacks=attacks),
                                   slow_bounds(scores, member, fpr, 0.95, attacks), atol=1e-9)


def test_more_attacks_widen_and_the_strongest_decides() -> None:
    rng = np.random.default_rng(0)
    member = np.arange(2000) < 1000
    given = [Sample.of(rng.normal(size=2000) + shift * member, member) for shift in (0.0, 2.0, 0.5)]
    alone, among = (tpr_bounds(given[1].scores, member, 0.01, attacks=attacks) for attacks in (1, 3))
    assert among.low < alone.low < alone.high < among.high
    [(share, place)] = strongest_rates(given, [0.01], 3)
    assert (place, share.low, share.high) == (1, among.low, among.high)
    by_hand = max(float((one.scores[member] > np.sort(one.scores[~member])[-11]).mean()) for one in given)
    assert share.value == pytest.approx(by_hand)
    assert among.low < by_hand < among.high
    assert (share.n_pos, share.n_neg, share.level) == (1000, 1000, 0.95)


def test_a_rate_that_the_records_do_not_resolve_is_nobodys() -> None:
    member = np.arange(200) < 100
    few, enough = (strongest_rates([Sample.of(np.arange(200.0), member)], [fpr], 1)[0] for fpr in (0.001, 0.01))
    assert (few.share.value, few.place) == (None, None)
    assert (enough.share.value, enough.place) == (0.0, 0)


def test_attacks_that_order_records_alike_are_one() -> None:
    rng = np.random.default_rng(0)
    member = np.arange(40) < 20
    one, other = rng.normal(size=40), rng.normal(size=40)
    given = [(scores, member) for scores in (one, np.exp(one), other, 3.0 * other - 1.0, one.round(1))]
    assert distinct_attacks(given) == [0, 2, 4]
    assert distinct_attacks([given[0], (one, ~member)]) == [0, 1]


def test_groups_count_as_units() -> None:
    """Every record ten times over: as if there were one of each."""
    rng = np.random.default_rng(0)
    member = np.arange(400) < 200
    scores = rng.normal(size=400) + member
    ten = np.repeat(np.arange(400), 10)
    single = tpr_bounds(scores, member, 0.05, attacks=2)
    np.testing.assert_allclose(tpr_bounds(scores[ten], member[ten], 0.05, attacks=2, groups=ten), single, atol=0.03)
    assert tpr_bounds(scores[ten], member[ten], 0.05, attacks=2).high < single.high - 0.05


def test_refused() -> None:
    with pytest.raises(ValueError, match="no attackers were given"):
        strongest_rates([], [0.01], 1)
    with pytest.raises(ValueError, match="attacks is 0: expected"):
        tpr_bounds([1.0, 0.0], [1, 0], 0.01, attacks=0)
    with pytest.raises(ValueError, match="labels hold 2 positives of 2"):
        tpr_bounds([1.0, 0.0], [1, 1], 0.01)


def test_p_is_the_share_of_controls_at_least_as_high() -> None:
    rng = np.random.default_rng(0)
    scores, controls = rng.integers(0, 9, 40) / 3.0, rng.integers(0, 9, 25) / 3.0  # With ties.
    slow = [(1 + sum(one >= score for one in controls)) / 26 for score in scores]
    np.testing.assert_allclose(conformal_p(scores, controls), slow)
    np.testing.assert_allclose(conformal_p(scores, controls, np.arange(25)), slow)
    with pytest.raises(ValueError, match="there are no controls"):
        conformal_p(scores, [])


def test_a_group_of_controls_counts_once() -> None:
    controls, groups = np.array([1.0, 3.0, 2.0, 5.0, 5.0, 5.0]), np.array([7, 7, 8, 9, 9, 9])
    # Of group 7 half is at least 2, of 8 all, of 9 all.
    assert conformal_p([2.0, 4.0, 6.0], controls, groups) == pytest.approx([3.5 / 4, 2 / 4, 1 / 4])


def test_the_joint_score_is_the_mean_normal_score() -> None:
    scores = np.random.default_rng(0).normal(size=(3, 50)).round(1)
    slow = np.mean([norm.ppf((rankdata(one) - 0.5) / 50) for one in scores], axis=0)
    np.testing.assert_allclose(joint_scores(scores), slow, atol=1e-11)
    missing = scores.copy()
    missing[0, :10] = np.nan
    rest = norm.ppf((rankdata(scores[0, 10:]) - 0.5) / 40)
    first = np.concatenate([np.zeros(10), rest])
    np.testing.assert_allclose(joint_scores(missing)[:10] * 3 - first[:10], (joint_scores(scores[1:]) * 2)[:10],
                               atol=1e-10)
    np.testing.assert_allclose(joint_scores(scores[:, ::-1]), joint_scores(scores)[::-1], atol=0)


def test_q_is_scipys() -> None:
    p = np.random.default_rng(0).random(60) ** 2
    np.testing.assert_allclose(benjamini_hochberg(p), false_discovery_control(p, method="bh"))
    assert benjamini_hochberg([]).size == 0
    with pytest.raises(ValueError, match="expected \\(k,\\) numbers from 0 to 1"):
        benjamini_hochberg([1.2])


@pytest.mark.parametrize("tests", [1, 7, 300])
def test_how_long_a_list_must_be(tests: int) -> None:
    """Against the procedure itself: so many records at the least p, all others at 1."""
    for controls in (18, 19, 50, 400):
        least = 1.0 / (controls + 1)
        possible = [k for k in range(1, tests + 1)
                    if benjamini_hochberg([least] * k + [1.0] * (tests - k))[0] <= 0.05 + 1e-12]
        shortest = shortest_list(tests, controls, 0.05)
        assert (shortest if shortest <= tests else None) == next(iter(possible), None)
    for named in range(1, tests + 1, 13):
        needed = controls_needed(tests, named, 0.05)
        assert shortest_list(tests, needed, 0.05) <= named < shortest_list(tests, needed - 1, 0.05)
