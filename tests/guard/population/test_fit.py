"""A fit: clusters and their true sizes, what held-out rows choose, and intervals that cover after few rows."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.types import IntArray
from discreet.guard.population.columns import Column
from discreet.guard.population.fit import (
    Clusters,
    checked,
    choose,
    fit_mixture,
    fit_population,
    held_out_checks,
    random_clusters,
    recipe,
    true_sizes,
)

COLUMNS = [Column(name, tuple("abcdefgh")) for name in "vwxyz"]


def dependent(n: int, seed: int, values: int = 8) -> IntArray:
    """Rows of groups that differ in every one of five columns, with rare values."""
    rng = np.random.default_rng(seed)
    group = np.minimum(rng.geometric(0.4, n) - 1, values - 1)
    return np.column_stack([np.where(rng.random(n) < 0.8, group, np.minimum(rng.geometric(0.5, n) - 1, values - 1))
                            for _ in range(5)])


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


def test_larger_tables_have_more_classes_and_less_smoothing() -> None:
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
    found = fitted.count({"w": "a", "x": "a"})
    true = np.sum((codes[:, :2] == 0).all(1))
    assert found.interval95[0] <= true <= found.interval95[1]
    assert found.estimate == pytest.approx(true, rel=0.1)


def test_checks_leave_out_values_that_the_fit_lacks() -> None:
    rows = dependent(400, 0)
    seen, rest = rows[(rows < 4).all(1)], rows
    mixture = fit_mixture(seen, np.ones(len(seen)), COLUMNS, recipe(len(seen), 0.3), np.random.default_rng(0))
    found = checked(mixture, seen, rest, 3000, np.random.default_rng(1))
    asked = random_clusters(np.arange(len(rest)), 5, 3000, np.random.default_rng(1), least=1)
    kept = ~((rest[asked.rows] >= 4) & asked.used).any(1)
    assert 0 < kept.sum() < 3000
    np.testing.assert_array_equal(found.others, true_sizes(rest, asked)[kept] - 1)
    np.testing.assert_array_equal(found.attributes, asked.used.sum(1)[kept])
    np.testing.assert_allclose(found.shares, mixture.probabilities(rest[asked.rows], asked.used)[kept])
    assert set(found.outside) == {399}


def test_half_of_the_rows_are_fitted_and_the_other_half_is_asked() -> None:
    found, part = held_out_checks(dependent(300, 1), COLUMNS, np.random.default_rng(0), factor=0.3, fits=2)
    assert 11_000 < len(found.shares) <= 12_000
    assert (part, set(found.outside)) == (150, {149})
    assert 60 < found.others.max() <= 149


def test_intervals_cover_after_few_rows_of_many_people() -> None:
    codes, rng, held = dependent(100_000, 2), np.random.default_rng(0), []
    for _ in range(6):  # Clusters after one fit err together.
        part, outside = np.split(rng.permutation(len(codes)), [300])
        fitted = fit_population(codes[part], np.ones(300), COLUMNS, rng, people=100_000, source="", year="", factor=0.3,
                                fits=8)
        asked = random_clusters(outside, 5, 300, rng)
        for row, used, people in zip(asked.rows, asked.used, true_sizes(codes, asked), strict=True):
            told = {COLUMNS[c].name: COLUMNS[c].values[codes[row, c]] for c in np.flatnonzero(used)}
            low, high = fitted.count(told).interval95
            held.append(low <= people <= high)
    assert 0.9 <= np.mean(held) <= 0.985
