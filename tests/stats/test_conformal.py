"""Conformal p values and q values against slow versions, other implementations, and simulations of their promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, norm, rankdata

from discreet.stats.conformal import (
    benjamini_hochberg,
    conformal_p,
    controls_needed,
    joint_scores,
    shortest_list,
)


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


def test_the_false_share_is_kept_and_the_list_of_the_innocent_is_empty() -> None:
    """300 draws of 60 tests, of which 0 or 30 are shifted in one score of two, correlated ones."""
    rng, false, lists = np.random.default_rng(5), [], 0
    for _ in range(300):
        for shifted in (0, 30):
            scores = rng.normal(size=(2, 260)) + rng.normal(size=260)
            scores[0, :shifted] += 5.0
            joint = joint_scores(scores)
            named = benjamini_hochberg(conformal_p(joint[:60], joint[60:])) <= 0.1
            if shifted:
                false.append(named[30:].sum() / max(named.sum(), 1))
            else:
                lists += bool(named.any())
    assert lists <= 43  # Binomial(300, .1) exceeds that once in a hundred.
    assert np.mean(false) - 2.6 * np.std(false) / np.sqrt(300) <= 0.1 * 0.5
    assert np.mean(false) > 0.02  # The bound is .05: the rule is not idle.
