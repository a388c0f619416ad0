from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control

from discreet.stats import benjamini_hochberg, delong_test, fisher_exact, holm, mcnemar_exact

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


@given(families)
def test_benjamini_hochberg_is_scipys(p: list[float]) -> None:
    np.testing.assert_allclose(benjamini_hochberg(p), false_discovery_control(p), atol=1e-12)


def test_published_adjustments() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(benjamini_hochberg([0.01, 0.04, 0.03, 0.005]), [0.02, 0.04, 0.04, 0.02])
    assert holm([]).size == benjamini_hochberg([]).size == 0


@pytest.mark.parametrize("p", [[0.5, 1.2], [np.nan], [[0.1]]])
def test_p_values_must_be_p_values(p: list[object]) -> None:
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(ValueError, match="numbers from 0 to 1"):
            adjust(p)  # type: ignore[arg-type]


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


def test_delong_test_keeps_its_level_and_finds_a_difference() -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat([1, 0], 80)
    null, found, covered = [], [], 0
    for _ in range(300):
        truth = rng.normal(size=160) + labels
        a, b, worse = (truth + noise * rng.normal(size=160) for noise in (0.5, 0.5, 9.0))
        found.append(delong_test(a, worse, labels).p_value)
        pair = delong_test(a, b, labels)
        null.append(pair.p_value)
        covered += pair.low <= 0 <= pair.high
    assert np.sum(np.array(null) > 0.05) >= 265
    assert covered == np.sum(np.array(null) > 0.05)
    assert np.mean(np.array(found) < 0.05) > 0.9


def test_delong_test_is_the_permutation_of_pairs() -> None:
    """Swapping the two scores of an example at random, after ranking, tests the same null."""
    rng = np.random.default_rng(6)
    labels = np.repeat([1, 0], 100)
    truth = rng.normal(size=200) + labels
    a, b = truth + 0.6 * rng.normal(size=200), truth + 1.1 * rng.normal(size=200)
    found = delong_test(a, b, labels)
    ranks = np.stack([np.argsort(np.argsort(s)) for s in (a, b)])
    null = []
    for _ in range(2000):
        swap = rng.integers(0, 2, 200)
        null.append(delong_test(np.where(swap, ranks[1], ranks[0]), np.where(swap, ranks[0], ranks[1]), labels)[0])
    by_permutation = np.mean(np.abs(null) >= abs(found.difference))
    assert found.difference == pytest.approx(found.auc_a - found.auc_b)
    assert found.p_value == pytest.approx(by_permutation, abs=0.02)


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
