"""Do the intervals of rates at a threshold cover, the threshold being chosen on the same data?

The truth is the rate at the population's threshold. The order-statistic interval is valid by construction, so it must
cover at least its level in every cell; the plain one, which takes the chosen threshold as given, does not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from discreet.stats import (
    clopper_pearson,
    fpr_at_tpr_interval,
    rate_interval,
    tpr_at_fpr,
    tpr_at_fpr_interval,
)

SAMPLES = 300


def normals(n_pos: int, n_neg: int, shift: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat([1, 0], [n_pos, n_neg])
    return rng.normal(size=labels.size) + shift * labels, labels


@pytest.mark.parametrize("n_neg", [100, 500, 1000, 4000])
@pytest.mark.parametrize("fpr", [0.01, 0.05])
@pytest.mark.parametrize("n_pos", [50, 500])
def test_tpr_at_fpr_covers(n_pos: int, n_neg: int, fpr: float, judge_coverage: Callable[..., None]) -> None:
    rng = np.random.default_rng([1, n_pos, n_neg])
    for shift in (0.0, 1.0, 2.5):
        ends = [tpr_at_fpr_interval(*normals(n_pos, n_neg, shift, rng), fpr) for _ in range(SAMPLES)]
        truth = norm.sf(norm.isf(fpr) - shift)
        cell = f"TPR at FPR {fpr}, {n_pos} + {n_neg}, shift {shift}"
        judge_coverage(cell, *np.array(ends).T, truth)


@pytest.mark.parametrize(("n_pos", "n_neg"), [(100, 100), (500, 200), (2000, 2000)])
@pytest.mark.parametrize("tpr", [0.9, 0.95])
def test_fpr_at_tpr_covers(n_pos: int, n_neg: int, tpr: float, judge_coverage: Callable[..., None]) -> None:
    rng = np.random.default_rng([2, n_pos, n_neg])
    for shift in (0.0, 1.0, 2.5):
        ends = [fpr_at_tpr_interval(*normals(n_pos, n_neg, shift, rng), tpr) for _ in range(SAMPLES)]
        truth = norm.sf(norm.isf(tpr) + shift)
        judge_coverage(f"FPR at TPR {tpr}, {n_pos} + {n_neg}, shift {shift}", *np.array(ends).T, truth)


def test_tied_scores_are_covered(judge_coverage: Callable[..., None]) -> None:
    """Ten levels: at FPR .25 of uniform levels the best rule passes the two upper ones, P(positive there) = .36."""
    rng = np.random.default_rng(3)
    labels = np.repeat([1, 0], [200, 300])
    ends = []
    for _ in range(SAMPLES):
        pos = np.maximum(rng.integers(0, 10, 200), rng.integers(0, 10, 200))
        ends.append(tpr_at_fpr_interval(np.concatenate([pos, rng.integers(0, 10, 300)]), labels, 0.25))
    judge_coverage("TPR at FPR .25, ten levels", *np.array(ends).T, 1 - 0.8**2)


def test_the_plain_interval_does_not_cover() -> None:
    """Clopper–Pearson at the empirical threshold, 1% FPR, 1,000 + 1,000: the reason for the order statistics."""
    rng = np.random.default_rng(4)
    truth = norm.sf(norm.isf(0.01) - 1.5)
    plain = ours = 0
    for _ in range(SAMPLES):
        scores, labels = normals(1000, 1000, 1.5, rng)
        low, high = clopper_pearson(round(tpr_at_fpr(scores, labels, 0.01) * 1000), 1000)
        plain += low <= truth <= high
        low, high = tpr_at_fpr_interval(scores, labels, 0.01)
        ours += low <= truth <= high
    print(f"1% FPR, n 1,000: plain covers {plain / SAMPLES:.3f}, with order statistics {ours / SAMPLES:.3f}")
    assert plain / SAMPLES < 0.75
    assert ours / SAMPLES >= 0.95


@pytest.mark.parametrize("n_groups", [60, 200])
def test_rates_over_users_are_covered(n_groups: int, judge_coverage: Callable[..., None]) -> None:
    """Users of geometric size with scores mostly their own; approximate, so not by construction."""
    rng = np.random.default_rng([6, n_groups])
    for shift in (0.0, 1.5):
        with_groups, without = [], 0
        truth = norm.sf(norm.isf(0.1) - shift)
        for _ in range(SAMPLES):
            users = np.repeat(np.arange(2 * n_groups), rng.geometric(0.25, 2 * n_groups))
            labels = users % 2
            scores = np.sqrt(0.7) * rng.normal(size=2 * n_groups)[users] + np.sqrt(0.3) * rng.normal(size=users.size)
            scores += shift * labels
            with_groups.append(tpr_at_fpr_interval(scores, labels, 0.1, groups=users))
            low, high = tpr_at_fpr_interval(scores, labels, 0.1)
            without += low <= truth <= high
        judge_coverage(f"TPR at FPR .1, {n_groups} users a class, shift {shift}", *np.array(with_groups).T, truth)
        print(f"ignoring users covers {without / SAMPLES:.3f}")


@pytest.mark.parametrize("n_groups", [20, 100])
def test_shares_over_users_are_covered(n_groups: int, judge_coverage: Callable[..., None]) -> None:
    """Every user has a rate of their own (beta, correlation ½) and a geometric number of answers."""
    rng = np.random.default_rng([7, n_groups])
    for truth in (0.05, 0.3, 0.5):
        ends, ignoring = [], 0
        for _ in range(SAMPLES):
            users = np.repeat(np.arange(n_groups), rng.geometric(0.25, n_groups))
            hits = rng.random(users.size) < rng.beta(truth, 1 - truth, n_groups)[users]
            ends.append(rate_interval(hits, groups=users))
            low, high = rate_interval(hits)
            ignoring += low <= truth <= high
        judge_coverage(f"share {truth} over {n_groups} users", *np.array(ends).T, truth)
        assert ignoring / SAMPLES < 0.9
