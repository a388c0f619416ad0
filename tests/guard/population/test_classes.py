"""Latent classes: EM against a slow version written out, and what a mixture says of cells."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.core.types import FloatArray, IntArray
from discreet.guard.population.classes import LatentClasses, distinct, fit_classes, joined, marginals, smoother

SIZES = (4, 2, 3)


def made(n: int, seed: int) -> IntArray:
    """Rows of two groups that differ in every column."""
    rng = np.random.default_rng(seed)
    group = rng.random(n) < 0.4
    return np.column_stack([np.where(group, rng.integers(0, 2, n), rng.integers(2, 4, n)),
                            (rng.random(n) < np.where(group, 0.9, 0.2)).astype(int),
                            np.where(group, 0, rng.integers(1, 3, n))]).astype(np.int64)


def slow(codes: IntArray, weights: FloatArray, mixture: LatentClasses, prior: float) -> LatentClasses:
    """One step of EM, row by row and class by class."""
    weights = weights / weights.mean()
    base, start = marginals(codes, weights, SIZES), mixture.offsets
    counts, members = np.zeros(mixture.tables.shape), np.zeros(len(mixture.shares))
    for row, weight in zip(codes, weights, strict=True):
        joint = [share * math.prod(mixture.tables[start[c] + code, k] for c, code in enumerate(row))
                 for k, share in enumerate(mixture.shares)]
        for k, one in enumerate(joint):
            part = weight * one / sum(joint)
            members[k] += part
            for c, code in enumerate(row):
                counts[start[c] + code, k] += part
    tables = (counts + prior * base[:, None]) / (members + prior)
    return LatentClasses((members + 1e-3) / (members + 1e-3).sum(), tables, SIZES)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_fit_is_the_slow_version_step_by_step(seed: int) -> None:
    codes = made(300, seed)
    weights = np.random.default_rng(seed).uniform(0.5, 3, len(codes))
    fits = [fit_classes(codes, weights, SIZES, 3, np.random.default_rng(9), prior=0.7, iterations=steps)
            for steps in (1, 2, 3)]
    for before, after in itertools.pairwise(fits):
        expected = slow(codes, weights, before, 0.7)
        np.testing.assert_allclose(after.shares, expected.shares, rtol=2e-4)
        np.testing.assert_allclose(after.tables, expected.tables, rtol=2e-3, atol=1e-6)


def test_weights_count_as_repeated_rows() -> None:
    codes = made(200, 2)
    times = np.random.default_rng(3).integers(1, 4, len(codes))
    weighted = fit_classes(codes, times.astype(float), SIZES, 2, np.random.default_rng(0), prior=1e-6)
    repeated = fit_classes(np.repeat(codes, times, 0), np.ones(times.sum()), SIZES, 2, np.random.default_rng(0),
                           prior=1e-6)
    np.testing.assert_allclose(weighted.tables, repeated.tables, atol=1e-3)


def test_two_classes_find_what_one_cannot_and_nothing_has_probability_zero() -> None:
    codes, held = made(2000, 4), made(2000, 5)
    one, two = (fit_classes(codes, np.ones(len(codes)), SIZES, k, np.random.default_rng(1)) for k in (1, 3))
    assert two.log_likelihood(held) > one.log_likelihood(held) + 0.5
    assert (two.tables > 0).all()
    share = np.mean((held[:, 0] < 2) & (held[:, 2] == 0))
    few, many = (fit.probabilities(np.array([[0, 0, 0], [1, 0, 0]]), np.array([[True, False, True]] * 2)).sum()
                 for fit in (one, two))
    assert many == pytest.approx(share, abs=0.03)
    assert few < share / 2


def test_cells_sum_to_one_and_single_clusters_agree_with_many_at_once() -> None:
    mixture = fit_classes(made(100, 6), np.ones(100), SIZES, 2, np.random.default_rng(1))
    cells = np.array(list(itertools.product(*map(range, SIZES))))
    every = np.ones(cells.shape, bool)
    assert mixture.probabilities(cells, every).sum() == pytest.approx(1)
    used = np.random.default_rng(0).random(cells.shape) < 0.5
    alone = [sum(share * math.prod(mixture.tables[mixture.offsets[c] + row[c], k] for c in np.flatnonzero(told))
                 for k, share in enumerate(mixture.shares)) for row, told in zip(cells, used, strict=True)]
    np.testing.assert_allclose(mixture.probabilities(cells, used), alone)
    assert mixture.probabilities(cells, ~every) == pytest.approx(1)


def test_an_average_of_fits_averages_probabilities_and_persons_drawn_follow_it() -> None:
    codes = made(400, 7)
    fits = [fit_classes(codes, np.ones(400), SIZES, 2, np.random.default_rng(s)) for s in (1, 2)]
    chosen = np.array([[1, 1, 0]]), np.array([[True, True, False]])
    both = joined(fits)
    assert both.probabilities(*chosen) == pytest.approx(np.mean([one.probabilities(*chosen) for one in fits]))
    drawn = both.sample(20_000, np.random.default_rng(3))
    assert np.mean((drawn[:, 0] == 1) & (drawn[:, 1] == 1)) == pytest.approx(both.probabilities(*chosen)[0], abs=0.01)


def test_an_ordered_column_is_smoothed_and_keeps_its_mass() -> None:
    kernel = smoother(40, 2)
    np.testing.assert_allclose(kernel.sum(1), 1)
    assert kernel[20, 20] > kernel[20, 22] > kernel[20, 30]
    codes = np.column_stack([np.repeat([5, 30], 50), np.zeros(100, int)])
    plain, smooth = (fit_classes(codes, np.ones(100), (40, 1), 1, np.random.default_rng(0), prior=0.01, widths=(w, 0))
                     for w in (0, 2))
    assert smooth.tables[6, 0] > 10 * plain.tables[6, 0]
    assert smooth.tables[:40].sum() == pytest.approx(1)


def test_equal_rows_are_seen_once_with_their_weights() -> None:
    codes, weights = distinct(np.array([[1, 2], [0, 3], [1, 2]]), np.array([1.0, 5.0, 2.5]))
    assert dict(zip(map(tuple, codes.tolist()), weights.tolist(), strict=True)) == {(1, 2): 3.5, (0, 3): 5.0}


@pytest.mark.parametrize(("codes", "weights", "said"), [
    ([[0, 0, 3]], [1.0], "outside their columns"), ([[0, 0]], [1.0], "expected"),
    ([[0, 0, 0]], [0.0], "leave these rows"), ([[0, 0, 0]], [np.nan], "leave these rows")])
def test_wrong_tables_are_named(codes: list[list[int]], weights: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fit_classes(np.array(codes), np.array(weights), SIZES, 2, np.random.default_rng(0))
