from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.core.resampling import joint_tpr
from discreet.stats import bootstrap_weights, tpr_at_fpr, weighted_tpr_at_fpr

FPRS = [0.01, 0.05]


@pytest.mark.parametrize("decimals", [8, 1, 0])
@pytest.mark.parametrize("grouped", [False, True])
def test_equals_the_reweighted_roc(decimals: int, grouped: bool) -> None:
    rng = np.random.default_rng(5)
    n = 700
    member = rng.random(n) < 0.4
    groups = rng.integers(0, 90, n) if grouped else None
    scores = [(rng.normal(size=n) + shift * member).round(decimals) for shift in (0.0, 1.5)]
    points, draws = joint_tpr(scores, member, FPRS, np.random.default_rng(1), n_resamples=200, groups=groups)
    weights = np.concatenate(list(
        bootstrap_weights(n, np.random.default_rng(1), n_resamples=200, strata=member, groups=groups)))
    for place, one in enumerate(scores):
        for at, fpr in enumerate(FPRS):
            assert points[place, at] == tpr_at_fpr(one, member, fpr)
            assert np.allclose(draws[place, at], weighted_tpr_at_fpr(one, member, weights, fpr))


def test_reaches_further_where_the_top_is_drawn_too_rarely() -> None:
    # One group holds the whole top: resamples without it must read on below. Several blocks, of which each may.
    n = 400
    groups = np.where(np.arange(n) < 60, 0, np.arange(n))
    member = np.arange(n) % 2 == 0
    scores = -np.arange(n, dtype=float)
    _, draws = joint_tpr([scores], member, [0.05], np.random.default_rng(2), n_resamples=400, groups=groups)
    weights = np.concatenate(list(
        bootstrap_weights(n, np.random.default_rng(2), n_resamples=400, strata=member, groups=groups)))
    assert np.allclose(draws[0, 0], weighted_tpr_at_fpr(scores, member, weights, 0.05))


def test_differences_are_paired() -> None:
    rng = np.random.default_rng(7)
    member = np.arange(600) < 300
    scores = rng.normal(size=600) + member
    _, draws = joint_tpr([scores, scores], member, FPRS, rng, n_resamples=30)
    assert np.array_equal(draws[0], draws[1])
    assert draws[0].std() > 0


def test_negatives_that_tie_where_the_part_is_cut() -> None:
    """Most negatives share one score, so that whichever of them are kept decides nothing."""
    member = np.arange(900) % 3 == 0
    rng = np.random.default_rng(8)
    scores = np.where(member, rng.normal(1.0, 1.0, 900), np.where(rng.random(900) < 0.02, 3.0, 0.5))
    points, draws = joint_tpr([scores], member, FPRS, np.random.default_rng(3), n_resamples=50)
    weights = np.concatenate(list(bootstrap_weights(900, np.random.default_rng(3), n_resamples=50, strata=member)))
    for at, fpr in enumerate(FPRS):
        assert points[0, at] == tpr_at_fpr(scores, member, fpr)
        assert np.array_equal(draws[0, at], weighted_tpr_at_fpr(scores, member, weights, fpr))
    assert draws[0, 1].std() > 0
