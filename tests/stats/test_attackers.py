"""Bounds on the strongest attacker: against a slow count, and their coverage over simulated attackers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from discreet.stats.attackers import distinct_attacks, strongest_rates, tpr_bounds
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


def test_both_statements_hold_as_often_as_they_say() -> None:
    """Six attackers, two of whom find members; 400 audits of 300 + 400 records. True TPRs in closed form; by the exact
    binomial test at .001 the coverage is not below .95. Bonferroni and exact tails make it wide: the mean width says
    how much."""
    rng, shifts, fpr = np.random.default_rng(1), np.array([0.0, 0.0, 0.0, 0.2, 1.0, 1.1]), 0.01
    truth = float(norm.sf(norm.isf(fpr) - shifts).max())
    member = np.arange(700) < 300
    highs, lows, width = 0, 0, []
    for _ in range(400):
        shared = rng.normal(size=700)
        given = [Sample.of((shared + rng.normal(size=700)) / np.sqrt(2.0) + shift * member, member)
                 for shift in shifts]
        [(found, _)] = strongest_rates(given, [fpr], len(given))
        assert found.low is not None
        assert found.high is not None
        highs, lows = highs + (found.high >= truth), lows + (found.low <= truth)
        width.append(found.high - found.low)
    least = int(binom.ppf(0.001, 400, 0.95))
    assert highs >= least
    assert lows >= least
    assert np.mean(width) < 0.5


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
