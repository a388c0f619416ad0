from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import binom, binomtest, norm

from discreet.stats import (
    AucVariance,
    RocCore,
    auc_interval,
    auc_variance,
    clopper_pearson,
    delong_logit_interval,
    fpr_at_tpr_interval,
    rate_interval,
    tpr_at_fpr_interval,
    wilson,
)
from discreet.stats.intervals import agresti_coull, effective_sample, effective_size, threshold_ranks

levels = st.sampled_from([0.8, 0.9, 0.95, 0.99])


@st.composite
def k_of_n(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 400))
    return draw(st.integers(0, n)), n


@given(k_of_n(), levels)
def test_share_intervals_are_scipys(data: tuple[int, int], level: float) -> None:
    test = binomtest(*data)
    np.testing.assert_allclose(clopper_pearson(*data, level), test.proportion_ci(level, "exact"), atol=1e-9)
    np.testing.assert_allclose(wilson(*data, level), test.proportion_ci(level, "wilson"), atol=1e-12)


def test_rate_interval_is_exact_without_groups_and_wider_with_alike_ones() -> None:
    hits = np.repeat([1, 0, 0, 1, 0, 0, 0, 1, 0, 0], 10)
    assert rate_interval(hits) == clopper_pearson(30, 100)
    users = np.repeat(np.arange(10), 10)
    assert rate_interval(hits, groups=users).low < clopper_pearson(30, 100).low
    assert rate_interval(hits, groups=users) == pytest.approx(clopper_pearson(3, 10), abs=0.02)
    assert rate_interval(hits, groups=np.arange(100)) == pytest.approx(clopper_pearson(30, 100), abs=0.005)
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: rate_interval([]), "hits are empty"), (lambda: wilson(3, 2), "k of n is 3 of 2"),
        (lambda: clopper_pearson(1, 2, 95), "level is 95"),
        (lambda: tpr_at_fpr_interval([1, 2, 3], [0, 0, 0], 0.1), "0 positives of 3: expected both"),
        (lambda: tpr_at_fpr_interval([1, 2, 3], [0, 0, 1], 0.0), r"fpr is 0\.0: expected a number")]
    for wrong, says in mistakes:
        with pytest.raises(ValueError, match=says):
            wrong()


def test_effective_sample_lies_between_groups_and_examples() -> None:
    rng = np.random.default_rng(0)
    users = rng.integers(0, 40, 400)
    alike, mixed = (rng.random(40) < 0.4)[users], rng.random(400) < 0.4
    kish = 400**2 / (np.bincount(users) ** 2).sum()
    assert effective_sample(mixed, None) == 400
    assert effective_sample(alike, users) == pytest.approx(kish, rel=0.25)
    assert 250 < effective_sample(mixed, users) <= 400
    assert effective_sample(np.zeros(400, dtype=bool), users) == pytest.approx(kish)
    assert effective_sample(np.array([True, False, True]), np.array([1, 1, 1])) == 1.0


def test_effective_size_trusts_a_variance_only_with_events() -> None:
    assert effective_size(1.0, 0.0, 20) == 20
    assert effective_size(0.0, 0.0, 20) == 20
    # Many events: value (1 − value) / variance.
    assert effective_size(0.5, 0.25 / 30_000, 10_000) == pytest.approx(30_000, rel=0.001)
    # One misordered example of 20: between the 20 units and the 80 that the variance alone would say.
    assert 20 < effective_size(0.95, 0.95 * 0.05 / 80, 20) < 80
    # Whole-binomial variance: the units themselves, whatever the events.
    assert effective_size(0.7, 0.21 / 50, 50) == pytest.approx(50)


def test_agresti_coull_by_hand_contains_wilson() -> None:
    z2 = norm.ppf(0.975) ** 2
    centre = (8 + z2 / 2) / (10 + z2)
    half = np.sqrt(z2 * centre * (1 - centre) / (10 + z2))
    assert agresti_coull(0.8, 10) == pytest.approx((centre - half, centre + half))
    assert agresti_coull(0.95, 10).high == 1.0
    for k in range(31):
        ours, score = agresti_coull(k / 30, 30), wilson(k, 30)
        assert ours.low <= score.low + 1e-12
        assert ours.high >= score.high - 1e-12


def test_delong_logit_interval_is_the_delta_method() -> None:
    z = norm.ppf(0.95)
    error = 0.03 / (0.8 * 0.2)
    expected = expit([logit(0.8) - z * error, logit(0.8) + z * error])
    assert delong_logit_interval(AucVariance(0.8, 0.0009, 50, 50), 0.9) == pytest.approx(expected)
    for auc, variance in [(1.0, 0.0), (0.0, 0.0), (0.5, 0.0)]:
        with pytest.raises(ValueError, match="use auc_interval"):
            delong_logit_interval(AucVariance(auc, variance, 10, 10))


def test_auc_interval_tends_to_delongs_and_holds_at_the_ends() -> None:
    labels = np.repeat([1, 0], 5_000)
    spread = auc_variance(RocCore.of(np.random.default_rng(4).normal(size=10_000) + labels, labels))
    assert auc_interval(spread) == pytest.approx(delong_logit_interval(spread), abs=2e-4)
    perfect = auc_interval(auc_variance(RocCore.of([3, 4, 5, 0, 1, 2], [1, 1, 1, 0, 0, 0])))
    assert perfect.low < 0.6 < perfect.high == 1.0
    reversed_ = auc_interval(auc_variance(RocCore.of([0, 1, 2, 3, 4, 5], [1, 1, 1, 0, 0, 0])))
    assert reversed_ == pytest.approx((1 - perfect.high, 1 - perfect.low))


@given(st.integers(1, 3000), st.floats(0.001, 0.999), st.sampled_from([0.0025, 0.0125, 0.05]))
def test_threshold_ranks_are_binomial_tails(n: int, rate: float, alpha: float) -> None:
    above, below = threshold_ranks(n, rate, alpha)
    fewer = binom.cdf(np.arange(n), n, rate)  # P(Bin < rank), rank 1…n
    more = binom.sf(np.arange(n), n, rate)  # P(Bin >= rank)
    margin = 1e-9
    assert above == 0 or fewer[above - 1] <= alpha + margin
    assert above == n or fewer[above] > alpha - margin
    assert below is None or more[below - 1] <= alpha + margin
    if below is None:
        assert more[n - 1] > alpha - margin
    else:
        assert below == 1 or more[below - 2] > alpha - margin


def test_too_few_negatives_bound_nothing_from_below() -> None:
    """(1 − FPR)ⁿ > α / 4: even the highest negative may lie under the threshold."""
    least = int(np.ceil(log(0.0125) / log(0.99)))
    assert least == 437
    assert threshold_ranks(least - 1, 0.01, 0.0125)[0] == 0
    assert threshold_ranks(least, 0.01, 0.0125)[0] == 1
    labels = np.repeat([1, 0], [50, least - 1])
    scores = np.concatenate([np.full(50, 10.0), np.arange(least - 1) / least])
    assert tpr_at_fpr_interval(scores, labels, 0.01).low == 0.0
    assert tpr_at_fpr_interval(scores, labels, 0.01).high == 1.0


@st.composite
def sample(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n_pos, n_neg = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = np.repeat([1, 0], [n_pos, n_neg])
    return (rng.normal(size=labels.size) + labels).round(draw(st.integers(0, 3))), labels


@given(sample(), st.integers(1, 19).map(lambda k: k / 20), levels)
def test_rates_at_thresholds_lie_in_their_intervals(
    data: tuple[np.ndarray, np.ndarray], rate: float, level: float
) -> None:
    core = RocCore.of(*data)
    low, high = tpr_at_fpr_interval(*data, rate, level)
    assert 0 <= low <= core.tpr_at_fpr(rate) <= high <= 1
    low, high = fpr_at_tpr_interval(*data, rate, level)
    assert 0 <= low <= core.fpr_at_tpr(rate) <= high <= 1
    wider = tpr_at_fpr_interval(*data, rate, 0.999)
    assert wider.low <= tpr_at_fpr_interval(*data, rate, level).low


def test_rate_interval_by_hand() -> None:
    """1,000 negatives at 5%: ranks 35 and 67 bound the threshold, and 500 positives are counted beyond each."""
    negatives = np.arange(1000, 0, -1.0)
    above, below = threshold_ranks(1000, 0.05, 0.0125)
    assert (above, below) == (35, 67)
    positives = np.concatenate([np.full(100, 2000.0), np.full(50, 950.0), np.full(350, 0.0)])
    labels = np.repeat([1, 0], [500, 1000])
    found = tpr_at_fpr_interval(np.concatenate([positives, negatives]), labels, 0.05)
    assert found.low == pytest.approx(clopper_pearson(100, 500, 0.975).low)
    assert found.high == pytest.approx(clopper_pearson(150, 500, 0.975).high)
    # A positive that ties with the bounding negative does not support the lower end but does the upper.
    assert tpr_at_fpr_interval(np.ones(1100), np.repeat([1, 0], [100, 1000]), 0.05) == (0.0, 1.0)
