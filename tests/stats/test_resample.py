from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.stats import (
    RocCore,
    StepCounts,
    auroc,
    bootstrap_roc,
    bootstrap_weights,
    fpr_at_tpr,
    max_t_p,
    percentile_interval,
    permutation_p,
    permutation_test,
    permuted_labels,
    tpr_at_fpr,
)
from discreet.stats.roc import CELLS

LABELS = np.repeat([1, 0], [30, 50])
SCORES = np.round(np.random.default_rng(5).normal(size=80) + LABELS, 1)
STATISTICS = [StepCounts.auroc, lambda c: c.fpr_at_tpr(0.9), lambda c: c.tpr_at_fpr(0.1)]


def slow_bootstrap(n_resamples: int) -> np.ndarray:
    rng = np.random.default_rng(77)
    pos, neg = np.flatnonzero(LABELS), np.flatnonzero(1 - LABELS)
    rows = [np.concatenate([rng.choice(pos, pos.size), rng.choice(neg, neg.size)]) for _ in range(n_resamples)]
    return np.array([
        [auroc(SCORES[r], LABELS[r]), fpr_at_tpr(SCORES[r], LABELS[r], 0.9), tpr_at_fpr(SCORES[r], LABELS[r], 0.1)]
        for r in rows
    ]).T


def test_bootstrap_has_the_distribution_of_resampled_rows() -> None:
    ours = bootstrap_roc(RocCore.of(SCORES, LABELS), STATISTICS, np.random.default_rng(0), n_resamples=2000)
    slow = slow_bootstrap(2000)
    assert ours.shape == (3, 2000)
    for mine, other in zip(ours, slow, strict=True):
        error = np.hypot(mine.std(), other.std()) / np.sqrt(2000)
        assert abs(mine.mean() - other.mean()) < 4 * error
        assert mine.std() == pytest.approx(other.std(), rel=0.08)


def test_singleton_groups_are_examples() -> None:
    core = RocCore.of(SCORES, LABELS)
    by_example = bootstrap_roc(core, STATISTICS, np.random.default_rng(0), n_resamples=2000)
    by_group = bootstrap_roc(
        core, STATISTICS, np.random.default_rng(1), n_resamples=2000, groups=np.random.default_rng(2).permutation(80)
    )
    for mine, other in zip(by_example, by_group, strict=True):
        assert abs(mine.mean() - other.mean()) < 4 * np.hypot(mine.std(), other.std()) / np.sqrt(2000)
        assert mine.std() == pytest.approx(other.std(), rel=0.08)


def test_grouped_bootstrap_equals_its_weights() -> None:
    """Same generator, same draws: the histograms over steps are those of the weights, repeated rows and all."""
    groups = np.random.default_rng(3).integers(0, 25, 80)
    core = RocCore.of(SCORES, LABELS)
    fast = bootstrap_roc(core, STATISTICS, np.random.default_rng(9), n_resamples=50, groups=groups)
    weights = np.concatenate(list(
        bootstrap_weights(80, np.random.default_rng(9), n_resamples=50, strata=LABELS, groups=groups)
    ))
    repeated = [(np.repeat(SCORES, w), np.repeat(LABELS, w)) for w in weights]
    slow = [[auroc(*r), fpr_at_tpr(*r, 0.9), tpr_at_fpr(*r, 0.1)] for r in repeated]
    np.testing.assert_array_equal(fast, np.array(slow).T)


@given(st.integers(1, 30), st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_weights_draw_whole_groups_within_strata(n: int, n_strata: int, grouped: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, n_strata, n)
    groups = rng.integers(0, max(1, n // 2), n) if grouped else np.arange(n)
    weights = np.concatenate(list(
        bootstrap_weights(n, rng, n_resamples=5, strata=strata, groups=groups if grouped else None)
    ))
    assert weights.shape == (5, n)
    holds = {g: frozenset(strata[groups == g]) for g in groups}
    for row in weights:
        drawn = {g: set(row[groups == g]) for g in holds}
        assert all(len(times) == 1 for times in drawn.values())
        for kind in set(holds.values()):
            alike = [g for g in holds if holds[g] == kind]
            assert sum(next(iter(drawn[g])) for g in alike) == len(alike)


def test_no_resample_loses_a_class() -> None:
    core = RocCore.of([1, 2, 3, 4, 5], [1, 0, 0, 0, 0])
    draws = bootstrap_roc(core, [StepCounts.auroc], np.random.default_rng(0), n_resamples=200, groups=[1, 1, 2, 3, 4])
    assert np.isfinite(draws).all()


@pytest.mark.parametrize("n_per_class", [5, CELLS])
def test_all_resamples_arrive_whatever_the_block(n_per_class: int) -> None:
    labels = np.repeat([1, 0], n_per_class)
    core = RocCore.of(np.arange(labels.size) % 7, labels)
    draws = bootstrap_roc(core, [StepCounts.auroc], np.random.default_rng(0), n_resamples=3)
    assert draws.shape == (1, 3)
    assert (np.abs(draws - core.auroc()) < 0.6).all()
    again = bootstrap_roc(core, [StepCounts.auroc], np.random.default_rng(0), n_resamples=3)
    np.testing.assert_array_equal(draws, again)


@pytest.mark.parametrize(("n", "auc"), [(60, 0.6), (100, 0.75), (200, 0.9)])
def test_percentile_bootstrap_covers_where_it_claims_to(
    n: int, auc: float, judge_coverage: Callable[..., None]
) -> None:
    """Exponential scores: AUC = r / (1 + r). Not claimed near AUC 1 or with few examples."""
    rng = np.random.default_rng(100 + n)
    labels = np.repeat([1, 0], n)
    ends = []
    for _ in range(300):
        scores = np.concatenate([auc / (1 - auc) * rng.exponential(size=n), rng.exponential(size=n)])
        draws = bootstrap_roc(RocCore.of(scores, labels), [StepCounts.auroc], rng, n_resamples=400)[0]
        ends.append(percentile_interval(draws))
    low, high = np.array(ends).T
    judge_coverage(f"percentile bootstrap, {n} + {n}, AUC {auc}", low, high, auc, alternative="two-sided")


def test_percentile_interval_is_the_central_part() -> None:
    assert percentile_interval(np.arange(101) / 100, 0.9) == pytest.approx((0.05, 0.95))
    with pytest.raises(ValueError, match="finite numbers"):
        percentile_interval([0.1, np.nan])
    with pytest.raises(ValueError, match="level is 95"):
        percentile_interval([0.1], 95)


def test_permutation_p_counts_the_observed_among_the_draws() -> None:
    null = [0.1, 0.2, 0.2, 0.5]
    assert permutation_p(0.2, null) == 4 / 5
    assert permutation_p(0.6, null) == 1 / 5
    assert permutation_p(0.1, null, "less") == 2 / 5
    assert permutation_p(0.6, null, "two-sided") == 2 / 5
    assert permutation_p(0.2, null, "two-sided") == 1.0
    for observed, draws in [(np.nan, null), (0.1, []), (0.1, [np.inf])]:
        with pytest.raises(ValueError, match="finite numbers with m >= 1"):
            permutation_p(observed, draws)


def test_permutation_test_agrees_with_all_permutations() -> None:
    scores, labels = np.array([3.0, 2.5, 2.0, 1.0, 0.5, 0.0]), np.array([1, 1, 0, 1, 0, 0])
    every = [auroc(scores, order) for order in set(permutations(labels.tolist()))]
    exact = np.mean(np.array(every) >= auroc(scores, labels))
    found = permutation_test(
        lambda relabelled: auroc(scores, relabelled), labels, np.random.default_rng(0), n_permutations=2000
    )
    assert found.observed == auroc(scores, labels)
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 2000))


def test_permutation_is_quiet_on_the_null() -> None:
    """Groups of alike scores: permuting groups keeps its level, permuting examples would not."""
    rng = np.random.default_rng(11)
    groups = np.repeat(np.arange(12), 8)
    labels = np.repeat(rng.permutation(np.repeat([0, 1], 6)), 8)
    by_group, by_example = [], []
    for _ in range(300):
        scores = rng.normal(size=12)[groups] + 0.2 * rng.normal(size=96)

        def gap(relabelled: np.ndarray, scores: np.ndarray = scores) -> float:
            return float(scores[relabelled == 1].mean() - scores[relabelled == 0].mean())

        by_group.append(permutation_test(gap, labels, rng, n_permutations=99, groups=groups).p_value)
        by_example.append(permutation_test(gap, labels, rng, n_permutations=99).p_value)
    assert np.sum(np.array(by_group) > 0.05) >= 265
    assert np.sum(np.array(by_example) > 0.05) < 265


def test_permuted_labels_move_as_groups() -> None:
    labels, groups = np.array([1, 1, 0, 0, 0, 1]), np.array(["a", "a", "b", "b", "b", "c"])
    for shuffled in permuted_labels(labels, np.random.default_rng(0), 20, groups):
        assert len({shuffled[0], shuffled[1]}) == len({*shuffled[2:5]}) == 1
    with pytest.raises(ValueError, match=r"labels\[1\] differs from another label of its group"):
        next(permuted_labels([1, 0], np.random.default_rng(0), 1, [7, 7]))


def test_max_t_is_the_family_wise_tail() -> None:
    null = np.array([[0.1, 0.9], [0.3, 0.2], [0.8, 0.1], [0.0, 0.0]])
    assert max_t_p([0.85, 0.35], null).tolist() == [2 / 5, 3 / 5]
    assert max_t_p([1.0, 0.3], null).tolist() == [1 / 5, 4 / 5]
    alone = [permutation_p(0.85, null[:, 0]), permutation_p(0.35, null[:, 1])]
    assert (max_t_p([0.85, 0.35], null) >= alone).all()
    with pytest.raises(ValueError, match=r"expected \(k,\) and \(m, k\)"):
        max_t_p([0.1], null)
    with pytest.raises(ValueError, match="NaN or infinity"):
        max_t_p([0.1, np.nan], null)


def test_counts_of_draws_must_be_positive() -> None:
    core = RocCore.of(SCORES, LABELS)
    with pytest.raises(ValueError, match="n_resamples is 0"):
        bootstrap_roc(core, STATISTICS, np.random.default_rng(0), n_resamples=0)
    with pytest.raises(ValueError, match="n_permutations is 0"):
        permutation_test(lambda _: 0.0, LABELS, np.random.default_rng(0), n_permutations=0)
