from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import norm

from discreet.audit.core import power
from discreet.core.errors import UsageError
from discreet.core.records import Estimate
from discreet.stats import auroc, auroc_estimate, delong_test, rank_sum_p


def test_deviation_at_one_half_is_that_of_mann_whitney() -> None:
    assert power.auc_deviation(0.5, 40, 60) == pytest.approx(np.sqrt((40 + 60 + 1) / (12 * 40 * 60)))


# Few units are where a bound that is symmetric around the AUC promises too much.
@pytest.mark.parametrize(("members", "others", "auc"), [(80, 120, 0.62), (25, 25, 0.68), (25, 25, 0.77)])
def test_power_against_simulation(members: int, others: int, auc: float) -> None:
    rng = np.random.default_rng(4)
    truth = np.arange(members + others) < members
    shift = np.sqrt(2) * norm.ppf(auc)
    seen = 0
    for _ in range(400):
        low = auroc_estimate(rng.normal(size=truth.size) + shift * truth, truth).low
        assert low is not None
        seen += low > 0.5
    assert seen / 400 == pytest.approx(power.power_of(auc, members, others), abs=0.07)


def test_detectable_auc_has_the_power_it_claims_and_shrinks_with_n() -> None:
    found = power.detectable_auc(200, 300)
    assert found is not None
    assert power.power_of(found, 200, 300) == pytest.approx(power.POWER, abs=0.01)
    larger = power.detectable_auc(2000, 3000)
    assert larger is not None
    assert 0.5 < larger < found < 1.0


def test_a_sample_too_small_for_any_auc_says_so() -> None:
    assert power.detectable_auc(1, 50) is None
    unresolved = power.detectable_estimate(Estimate(0.5, 0.0, 1.0, n=4, n_pos=1, n_neg=3, unit="group"))
    assert not unresolved.resolved
    assert "more groups" in str(unresolved.reason)
    found = power.detectable_estimate(Estimate(0.5, 0.4, 0.6, n=400, n_pos=200, n_neg=200))
    assert found.value == power.detectable_auc(200, 200)


def test_groups_of_many_alike_records_are_steadier_than_as_many_records() -> None:
    rng, seen, claimed = np.random.default_rng(5), 0, []
    truth, groups = np.repeat(np.arange(60) < 30, 6), np.repeat(np.arange(60), 6)
    for _ in range(200):
        # A record's score has little of its group in it: six records are worth nearly six.
        scores = rng.normal(size=360) + 0.3 * np.repeat(rng.normal(size=60), 6) + 0.35 * truth
        found = auroc_estimate(scores, truth, unit="group", groups=groups)
        assert found.low is not None
        seen += found.low > 0.5
        claimed.append(power.power_of(0.597, 30, 30, inflation=power.inflation_of(found)))
    assert seen / 200 == pytest.approx(np.mean(claimed), abs=0.1)
    assert power.power_of(0.597, 30, 30) < np.mean(claimed) - 0.2


def test_records_are_not_inflated() -> None:
    assert power.inflation_of(Estimate(0.6, 0.3, 0.8, n=40, n_pos=20, n_neg=20, unit="example")) == 1.0
    assert power.inflation_of(Estimate(0.6, None, None, n=40, n_pos=20, n_neg=20, unit="group")) == 1.0
    assert power.inflation_of(Estimate(0.6, 0.3, 0.8, n=40, n_pos=20, n_neg=20, unit="group")) > 1.0


@pytest.mark.parametrize(("tolerance", "parts", "leak"), [(0.65, 1, 0.75), (0.65, 7, 0.75), (0.55, 3, 0.6)])
def test_records_that_pass_and_fail_as_often_as_promised(tolerance: float, parts: int, leak: float) -> None:
    """Gaussian scores, judged as a part is: its upper bound, its rank sum after Holm, an independent control."""
    rng, tried = np.random.default_rng(1), 300
    to_pass, to_fail = power.records_to_pass(tolerance), power.records_to_fail(leak, tolerance, parts)
    assert to_pass is not None
    assert to_fail is not None
    passed = failed = 0
    for _ in range(tried):
        truth = np.arange(2 * to_pass) < to_pass
        high = auroc_estimate(rng.normal(size=truth.size), truth, level=0.9).high
        passed += high is not None and high <= tolerance
        truth = np.arange(2 * to_fail) < to_fail
        scores = rng.normal(size=truth.size) + 2**0.5 * NormalDist().inv_cdf(leak) * truth
        failed += bool(rank_sum_p(scores, truth) * parts < 0.05 and auroc(scores, truth) > tolerance and delong_test(
            scores, rng.normal(size=truth.size), truth).low > 0.0)
    assert passed / tried == pytest.approx(power.POWER, abs=0.07)
    assert failed / tried == pytest.approx(power.POWER, abs=0.07)
    assert power.pass_power(tolerance, to_pass - 1, to_pass - 1) < power.POWER
    assert power.fail_power(leak, to_fail - 1, to_fail - 1, tolerance, parts) < power.POWER
    least = power.least_leak(to_fail, to_fail, tolerance, parts)
    assert least == pytest.approx(leak, abs=0.003)
    assert power.records_to_fail(tolerance, tolerance) is None


@pytest.mark.parametrize("levels", [1, 3])
def test_the_planted_records_that_are_needed_show_the_leak_as_often_as_promised(levels: int) -> None:
    """Gaussian scores of this AUC and an independent control, judged as planted records are."""
    n, level = power.planted_needed(power.PLANTED_AUC, levels), 1 - 0.05 / levels
    rng, seen, tried = np.random.default_rng(0), 0, 300
    truth = np.arange(n + n * levels) < n
    for _ in range(tried):
        scores = rng.normal(size=truth.size) + 2**0.5 * NormalDist().inv_cdf(power.PLANTED_AUC) * truth
        seen += delong_test(scores, rng.normal(size=truth.size), truth, level=level).low > 0.0 and (
            (auroc_estimate(scores, truth, level=level).low or 0.0) > 0.5)
    assert abs(seen / tried - power.POWER) < 0.08
    assert power.planted_power(power.PLANTED_AUC, n - 1, (n - 1) * levels, level) < power.POWER <= power.planted_power(
        power.PLANTED_AUC, n, n * levels, level)


def test_few_planted_records_show_only_strong_leaks() -> None:
    assert power.planted_detectable(1, 30, 0.95) is None
    assert power.planted_detectable(3, 6, 0.975) is None
    assert power.planted_detectable(10, 20, 0.975) == pytest.approx(0.91)
    assert power.planted_detectable(200, 600, 0.98) == pytest.approx(0.61)


def test_counted_out_of_ten_thousand() -> None:
    # 100 members, of whom 20 are called; 9,900 others, of whom 495 are.
    assert power.ppv_at(0.2, 0.05, 0.01) == pytest.approx(20 / (20 + 495))
    assert power.ppv_at(0.0, 0.0, 0.01) is None


def test_ends_come_from_the_tpr() -> None:
    found = power.ppv_estimate(Estimate(0.2, 0.1, 0.4, n=100, n_pos=50, n_neg=50), 0.05, 0.5)
    assert found.value == pytest.approx(0.8)
    assert found.low == pytest.approx(0.1 / 0.15)
    assert found.high == pytest.approx(0.4 / 0.45)
    assert found.n_pos == 50
    assert "0.05" in found.method


def test_what_is_undefined_stays_so() -> None:
    found = power.ppv_estimate(Estimate.unresolved("10 negatives", n=20), 0.05, 0.01)
    assert not found.resolved
    assert found.reason == "10 negatives"
    for rate in (0.0, 1.0, -2.0):
        with pytest.raises(UsageError, match="base rate"):
            power.ppv_estimate(Estimate(0.2, 0.1, 0.4), 0.05, rate)
