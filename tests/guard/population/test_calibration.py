"""Intervals cover what they say, by fitted rows and number of attributes; calibration repeats the fit in small."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.core.types import FloatArray, IntArray
from discreet.guard.population.calibration import (
    ERRORS,
    Calibration,
    Range,
    calibrate,
    error_weights,
    fitted_rows,
    normal_cdf,
    normal_errors,
    people_of,
    poisson_cdf,
    widened,
)

EXACT: FloatArray = (ERRORS == 0).astype(np.float64)


def inside(true: FloatArray, ranges: list[Range]) -> tuple[float, float]:
    """Shares of `true` in the 80 and in the 95% intervals."""
    low80, high80 = np.array([one.interval80 for one in ranges]).T
    low95, high95 = np.array([one.interval95 for one in ranges]).T
    return float(np.mean((low80 <= true) & (true <= high80))), float(np.mean((low95 <= true) & (true <= high95)))


def made(n: int, seed: int, people: float) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Shares by a model of 1,000 rows that errs by rows and attributes, others who are counted of so many people, and
    attributes."""
    rng = np.random.default_rng(seed)
    number, shares = rng.integers(1, 7, n), np.exp(rng.uniform(-10, -0.7, n))
    spread = 0.02 * number + np.sqrt((1 - shares) / (1 + 1000 * shares))
    true = np.minimum(shares * np.exp(rng.normal(0.1, spread)), 0.9)
    return shares, rng.binomial(round(people), true).astype(np.float64), np.full(n, people), number


@pytest.mark.parametrize("people", [1000.0, 1e6])
def test_intervals_cover_by_rows_and_attributes_in_populations_of_other_sizes(people: float) -> None:
    calibration = calibrate(*made(40_000, 0, 1000.0), 1000)
    shares, others, _, number = made(5000, 1, people)
    rows = fitted_rows(shares, 1000)
    ranges = [people_of(calibration.at(row, k), people * share)
              for row, share, k in zip(rows, shares, number, strict=True)]
    sizes = [(rows > a) & (rows <= b) for a, b in ((0.3, 3), (3, 30), (30, 400))]
    for part in [*(number == k for k in range(1, 7)), *sizes]:
        held80, held95 = inside(1 + others[part], [ranges[at] for at in np.flatnonzero(part)])
        assert 0.75 <= held80 <= 0.92
        assert 0.92 <= held95 <= 0.99
    middle = np.array([one.estimate for one in ranges])[rows > 3]
    assert np.median(np.log((1 + others[rows > 3]) / middle)) == pytest.approx(0, abs=0.05)


def test_errors_are_the_mixture_that_explains_the_counts_step_by_step() -> None:
    rng = np.random.default_rng(2)
    shares, outside = np.exp(rng.uniform(-4, -1, 60)), np.full(60, 90.0)
    others = rng.binomial(90, np.minimum(2 * shares, 1)).astype(np.float64)
    weights = list(error_weights(shares, others, outside, steps=0))
    assert weights == pytest.approx(list(normal_errors(1.5)))
    for steps in (1, 2):
        posteriors = []
        for share, count in zip(shares, others, strict=True):
            true = [min(share * math.exp(r), 1 - 1e-9) for r in ERRORS]
            joint = [weight * q**count * (1 - q) ** (90 - count) for weight, q in zip(weights, true, strict=True)]
            posteriors.append([one / sum(joint) for one in joint])
        weights = [sum(column) / len(shares) for column in zip(*posteriors, strict=True)]
        np.testing.assert_allclose(error_weights(shares, others, outside, steps=steps), weights, atol=1e-9)
    assert error_weights(shares, others, outside) @ ERRORS == pytest.approx(math.log(2), abs=0.1)


def test_counts_that_tell_nothing_leave_the_errors_wide() -> None:
    weights = error_weights(np.full(500, 1e-7), np.zeros(500), np.full(500, 1000.0))
    np.testing.assert_allclose(weights, normal_errors(1.5), atol=0.002)


@pytest.mark.parametrize("mean", [0.05, 0.7, 4.0, 40.0, 3000.0])
def test_people_without_error_of_the_model_are_one_and_a_poisson_number(mean: float) -> None:
    drawn = 1 + np.random.default_rng(3).poisson(mean, 20_000)
    found = people_of(EXACT, mean)
    held80, held95 = inside(drawn.astype(np.float64), [found] * len(drawn))
    assert held80 >= 0.77
    assert held95 >= 0.94
    assert abs(found.estimate - np.median(drawn)) <= 1 + 0.02 * mean
    assert found.interval95[1] <= np.quantile(drawn, 0.995) + 1
    assert people_of(EXACT, mean, 10.0).estimate == pytest.approx(found.estimate + 10)


def test_the_poisson_and_normal_distribution_functions() -> None:
    for z in (-4.0, -1.96, -0.3, 0.0, 1.2816, 3.0):
        assert normal_cdf(np.array(z)) == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)), abs=1e-6)
    for mean in (0.01, 0.3, 1.0, 5.0, 60.0):
        exact = np.cumsum([math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(120)])
        np.testing.assert_allclose(poisson_cdf(np.arange(120.0), np.array(mean)), exact, atol=0.02)


def test_widened_errors_have_both_variances_and_keep_their_sum() -> None:
    once = normal_errors(0.5)
    both = widened(once, 1.2)
    assert both.sum() == pytest.approx(1)
    assert both @ ERRORS**2 == pytest.approx(once @ ERRORS**2 + 1.2**2, rel=0.02)
    assert widened(once, 0) is once
    assert widened(EXACT, 0.3) @ ERRORS**2 == pytest.approx(0.09, rel=0.02)


def test_a_calibration_is_interpolated_between_its_bins_and_kept_beyond_them() -> None:
    few, many = normal_errors(2.0), normal_errors(0.1)
    calibration = Calibration(np.log(np.tile([1.0, 100.0], (6, 1))), np.tile([few, many], (6, 1, 1)))
    np.testing.assert_allclose(calibration.at(0.001, 2), few)
    np.testing.assert_allclose(calibration.at(1e6, 9), many)
    np.testing.assert_allclose(calibration.at(50.0, 9, sampled=False), calibration.at(50.0, 3, sampled=False))
    np.testing.assert_allclose(calibration.at(10.0, 1), (few + many) / 2)
    one = Calibration(calibration.rows[:, :1], calibration.weights[:, :1])
    np.testing.assert_allclose(one.at(50.0, 3), few)


def test_a_share_is_known_no_better_than_its_rows_tell() -> None:
    sharp = Calibration(np.zeros((6, 1)), np.tile(normal_errors(0.01), (6, 1, 1)))
    for rows in (50.0, 400.0):
        low, high = np.interp((0.025, 0.975), np.cumsum(sharp.at(rows, 2)), ERRORS)
        assert (high - low) / 3.92 == pytest.approx(rows**-0.5, rel=0.1)
        np.testing.assert_allclose(sharp.at(rows, 2, sampled=False), normal_errors(0.01))
    np.testing.assert_allclose(sharp.at(5.0, 2), normal_errors(0.01))


def test_bins_are_wide_where_clusters_are_few_kinds() -> None:
    shares = np.repeat([0.1, 0.101, 0.102], 1000)
    made_bins = calibrate(shares, np.full(3000, 10.0), np.full(3000, 100.0), np.full(3000, 2), 100)
    assert made_bins.rows.shape == (6, 1)


def test_fitted_rows_are_one_over_the_variance_of_a_log_share() -> None:
    rng = np.random.default_rng(4)
    for share in (0.1, 0.6):
        logs = np.log(rng.binomial(2000, share, 40_000) / 2000)
        assert fitted_rows(np.array(share), 2000) == pytest.approx(1 / logs.var(), rel=0.05)


def test_too_few_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 40"):
        calibrate(np.ones(20), np.ones(20), np.ones(20), np.ones(20, int), 1)
