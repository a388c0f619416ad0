"""Intervals cover what they say, by predicted size and number of attributes; calibration repeats the fit in small."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.types import FloatArray, IntArray
from discreet.population.calibration import calibrate, conformal_quantile
from discreet.population.columns import Column
from discreet.population.fit import (
    Clusters,
    calibration_share,
    choose,
    fit_population,
    random_clusters,
    recipe,
    residuals,
    true_sizes,
)


def made(n: int, seed: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Predictions that are worse for small groups and for more attributes, and biased."""
    rng = np.random.default_rng(seed)
    number = rng.integers(1, 7, n)
    log = rng.uniform(0, 10, n)
    error = rng.normal(0.2, 0.05 + 0.1 * number + 0.5 * np.exp(-log), n)
    return np.exp(log), np.maximum(1, np.exp(log + error)), number


def test_intervals_cover_by_predicted_size_and_number_of_attributes() -> None:
    calibration = calibrate(*made(40_000, 0))
    predicted, true, number = made(20_000, 1)
    low95, low80, middle, high80, high95 = calibration.many(predicted, number).T
    sizes = [(predicted > a) & (predicted <= 10 * a) for a in (1, 10, 100, 1000)]
    for part in [*(number == k for k in range(1, 7)), *sizes]:
        assert np.mean(((low80 <= true) & (true <= high80))[part]) == pytest.approx(0.8, abs=0.04)
        assert np.mean(((low95 <= true) & (true <= high95))[part]) == pytest.approx(0.95, abs=0.02)
    assert np.median(np.log(true / middle)) == pytest.approx(0, abs=0.02)


def test_where_most_groups_are_one_person_intervals_do_not_hold_more_than_they_say() -> None:
    def few(seed: int) -> tuple[FloatArray, FloatArray, IntArray]:
        rng = np.random.default_rng(seed)
        predicted: FloatArray = np.exp(rng.uniform(-4, 1, 20_000))
        true: FloatArray = 1.0 + rng.poisson(predicted * rng.gamma(1, 3, 20_000)).astype(np.float64)
        return predicted, true, np.full(20_000, 3, dtype=np.int64)

    predicted, true, number = few(1)
    low95, low80, _, high80, high95 = calibrate(*few(0)).many(predicted, number).T
    part = predicted > 0.3  # Below, more than four of five are one person, and no interval can hold fewer.
    assert np.mean(((low80 <= true) & (true <= high80))[part]) == pytest.approx(0.8, abs=0.04)
    assert np.mean(((low95 <= true) & (true <= high95))[part]) == pytest.approx(0.95, abs=0.02)
    assert (low80[~part] == 1).all()


def test_one_count_is_calibrated_as_many_are_and_never_below_one_person() -> None:
    calibration = calibrate(*made(5000, 2))
    for size, number in [(0.001, 2), (3.0, 9), (1e8, 1)]:
        one = calibration.at(size, number)
        many = calibration.many(np.array([size]), np.array([number]))[0]
        (a, e), (b, d) = one.interval95, one.interval80
        assert np.allclose([a, b, one.estimate, d, e], many)
        assert one.interval95[0] >= 1


def test_quantiles_have_the_finite_sample_correction() -> None:
    values = np.arange(1.0, 100.0)
    assert (conformal_quantile(values, 0.975), conformal_quantile(values, 0.025)) == (98, 2)
    assert (conformal_quantile(values, 0.9), conformal_quantile(values, 0.5)) == (90, 50)
    with pytest.raises(ValueError, match="at least 40"):
        calibrate(values[:20], values[:20], np.ones(20, int))


def test_true_sizes_count_rows_and_clusters_have_the_asked_numbers() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (500, 4))
    asked = random_clusters(np.arange(100, 200), 4, 300, rng)
    assert ((asked.rows >= 100) & (asked.rows < 200)).all()
    assert set(asked.used.sum(1)) == {2, 3, 4}
    slow = [np.all(codes[:, used] == codes[row, used], 1).sum()
            for row, used in zip(asked.rows, asked.used, strict=True)]
    np.testing.assert_array_equal(true_sizes(codes, asked), slow)
    none = Clusters(np.array([0]), np.zeros((1, 4), bool))
    assert true_sizes(codes, none)[0] == 500


def test_calibration_is_as_far_from_its_population_as_the_table() -> None:
    assert calibration_share(300_000, 260e6) == pytest.approx(300_000 / 260e6)
    assert calibration_share(3_000_000, 6e9) == 1 / 1000
    assert calibration_share(300_000, 3e6) == pytest.approx(0.1)
    assert calibration_share(5_000, 5e6) == 100 / 5000
    assert calibration_share(5_000, 5_000) == 1
    small, large = recipe(1000), recipe(300_000)
    assert (small.classes, small.fits, small.prior, small.width) == (32, 16, 3, 3)
    assert large.classes > 300
    assert large.prior < small.prior


def test_ages_are_smoothed_and_codes_that_are_numbers_are_not() -> None:
    rng = np.random.default_rng(5)
    age = np.clip(rng.normal(45, 15, 800).round(), 0, 89).astype(np.int64)
    code = rng.choice(np.arange(0, 90, 7), 800)
    columns = [Column("age", tuple(map(str, range(90))), ordered=True),
               Column("code", tuple(map(str, range(90))), ordered=True)]
    assert choose(np.column_stack([age, code]), np.ones(800), columns, rng).smoothed == {"age"}


def test_dependence_asks_for_more_classes_and_a_whole_table_is_its_own_population() -> None:
    rng = np.random.default_rng(4)
    group = rng.integers(0, 6, 3000)
    codes = np.column_stack([np.where(rng.random(3000) < 0.9, group, rng.integers(0, 6, 3000)) for _ in range(4)])
    columns = [Column(name, tuple("abcdef")) for name in "wxyz"]
    chosen = choose(codes, np.ones(3000), columns, rng, (0.05, 0.5))
    assert (chosen.factor, sorted(chosen.tried)) == (0.5, [2, 23])
    fitted = fit_population(codes, np.ones(3000), columns, rng, source="made up", year="2000", factor=0.5)
    assert (fitted.people, fitted.rows) == (3000, 3000)
    left = residuals(codes, columns, 1 / 10, rng, factor=0.5, fits=2, clusters=500, least=2)
    assert np.median(np.abs(np.log(left.true / left.predicted))) < np.log(1.5)
    assert left.attributes.min() == 2
