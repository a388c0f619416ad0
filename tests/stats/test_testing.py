from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from discreet.stats import (
    RocCore,
    StepCounts,
    auroc,
    bootstrap_roc,
    bootstrap_weights,
    delong_test,
    fisher_exact,
    fpr_at_tpr,
    holm,
    max_t_p,
    mcnemar_exact,
    percentile_interval,
    permutation_p,
    permuted_labels,
    tpr_at_fpr,
)
from discreet.stats.roc import CELLS

LABELS = np.repeat([1, 0], [30, 50])
SCORES = np.round(np.random.default_rng(5).normal(size=80) + LABELS, 1)
STATISTICS = [StepCounts.auroc, lambda c: c.fpr_at_tpr(0.9), lambda c: c.tpr_at_fpr(0.1)]

families = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def slow_holm(p: list[float]) -> list[float]:
    """The largest multiple so far, walking up from the smallest."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, running = [0.0] * len(p), 0.0
    for step, i in enumerate(order):
        running = max(running, (len(p) - step) * p[i])
        adjusted[i] = min(1.0, running)
    return adjusted


@given(families)
def test_holm_is_the_step_down_rule(p: list[float]) -> None:
    adjusted = holm(p)
    np.testing.assert_allclose(adjusted, slow_holm(p), atol=1e-15)
    assert (adjusted >= np.array(p)).all()
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])  # published
    assert holm([]).size == 0


@pytest.mark.parametrize("p", [[0.5, 1.2], [np.nan], [[0.1]]])
def test_p_values_must_be_p_values(p: list[object]) -> None:
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        holm(p)  # type: ignore[arg-type]


def slow_fisher(k_a: int, n_a: int, k_b: int, n_b: int, alternative: str) -> float:
    """Sum of hypergeometric probabilities, as fractions."""
    total = k_a + k_b
    chance = {
        k: Fraction(comb(n_a, k) * comb(n_b, total - k), comb(n_a + n_b, total))
        for k in range(max(0, total - n_b), min(n_a, total) + 1)
    }
    if alternative == "greater":
        return float(sum(p for k, p in chance.items() if k >= k_a))
    if alternative == "less":
        return float(sum(p for k, p in chance.items() if k <= k_a))
    return float(sum(p for p in chance.values() if p <= chance[k_a]))


@given(st.integers(1, 15), st.integers(1, 15), st.data(), st.sampled_from(["two-sided", "greater", "less"]))
def test_fisher_is_the_hypergeometric_sum(n_a: int, n_b: int, more: st.DataObject, alternative: str) -> None:
    k_a, k_b = more.draw(st.integers(0, n_a)), more.draw(st.integers(0, n_b))
    found = fisher_exact(k_a, n_a, k_b, n_b, alternative)  # type: ignore[arg-type]
    assert found == pytest.approx(slow_fisher(k_a, n_a, k_b, n_b, alternative), rel=1e-9)


def test_fisher_on_the_lady_tasting_tea() -> None:
    assert fisher_exact(3, 4, 1, 4, "greater") == pytest.approx(17 / 70)
    assert fisher_exact(3, 4, 1, 4) == pytest.approx(34 / 70)
    with pytest.raises(ValueError, match="k_b of n is 5 of 4"):
        fisher_exact(3, 4, 5, 4)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_a_fair_coin(only_a: int, only_b: int) -> None:
    expected = 1.0 if only_a + only_b == 0 else binomtest(only_a, only_a + only_b, 0.5).pvalue
    assert mcnemar_exact(only_a, only_b) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_by_hand() -> None:
    assert mcnemar_exact(0, 5) == pytest.approx(2 / 32)
    assert mcnemar_exact(3, 3) == 1.0
    assert 0 < mcnemar_exact(40_000, 41_000) < 0.001
    with pytest.raises(ValueError, match="discordant pairs are -1 and 2"):
        mcnemar_exact(-1, 2)


def test_delong_test_is_the_permutation_of_pairs() -> None:
    """Swapping the two scores of an example at random, after ranking, tests the same null."""
    rng = np.random.default_rng(6)
    labels = np.repeat([1, 0], 100)
    truth = rng.normal(size=200) + labels
    a, b = truth + 0.6 * rng.normal(size=200), truth + 1.1 * rng.normal(size=200)
    found = delong_test(a, b, labels)
    ranks = np.stack([np.argsort(np.argsort(s)) for s in (a, b)])
    null = []
    for _ in range(1000):
        swap = rng.integers(0, 2, 200)
        null.append(delong_test(np.where(swap, ranks[1], ranks[0]), np.where(swap, ranks[0], ranks[1]), labels)[0])
    by_permutation = np.mean(np.abs(null) >= abs(found.difference))
    assert found.difference == pytest.approx(found.auc_a - found.auc_b)
    assert found.p_value == pytest.approx(by_permutation, abs=0.025)


def test_delong_test_without_spread() -> None:
    labels = [1, 1, 1, 0, 0, 0]
    same = delong_test([1, 5, 3, 2, 0, 4], [10, 50, 30, 20, 0, 40], labels)
    assert (same.difference, same.p_value, same.low, same.high) == (0.0, 1.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="differ without any spread"):
        delong_test([3, 3, 3, 1, 1, 1], [1, 1, 1, 3, 3, 3], labels)


def test_delong_test_by_groups_sees_fewer_units() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(30), 6)
    labels = np.repeat(np.arange(30) % 2, 6)
    a = rng.normal(size=30)[groups] + labels
    b = rng.normal(size=30)[groups] + 0.5 * labels
    alone, grouped = delong_test(a, b, labels), delong_test(a, b, labels, groups=groups)
    assert alone.difference == grouped.difference
    assert (grouped.high - grouped.low) > 2 * (alone.high - alone.low)


def figures(rows: np.ndarray) -> list[float]:
    """The statistics of these rows, repeated ones and all."""
    scores, labels = SCORES[rows], LABELS[rows]
    return [auroc(scores, labels), fpr_at_tpr(scores, labels, 0.9), tpr_at_fpr(scores, labels, 0.1)]


def test_bootstrap_has_the_distribution_of_resampled_rows() -> None:
    rng = np.random.default_rng(77)
    pos, neg = np.flatnonzero(LABELS), np.flatnonzero(1 - LABELS)
    slow = np.array([figures(np.concatenate([rng.choice(pos, 30), rng.choice(neg, 50)])) for _ in range(1500)]).T
    ours = bootstrap_roc(RocCore.of(SCORES, LABELS), STATISTICS, rng, n_resamples=1500)
    assert ours.shape == (3, 1500)
    for mine, other in zip(ours, slow, strict=True):
        assert abs(mine.mean() - other.mean()) < 4 * np.hypot(mine.std(), other.std()) / np.sqrt(1500)
        assert mine.std() == pytest.approx(other.std(), rel=0.08)


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
    draws = bootstrap_roc(core, [StepCounts.auroc], np.random.default_rng(0), n_resamples=200)
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
    null = [auroc(scores, order) for order in permuted_labels(labels, np.random.default_rng(0), 2000)]
    p_value = permutation_p(auroc(scores, labels), null)
    assert p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 2000))


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
    with pytest.raises(ValueError, match="n_resamples is 0"):
        bootstrap_roc(RocCore.of(SCORES, LABELS), STATISTICS, np.random.default_rng(0), n_resamples=0)
