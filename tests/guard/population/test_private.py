"""Differential privacy of a fit: the accounting, the sensitivity, and what is left of the table."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.errors import UsageError
from discreet.core.types import IntArray
from discreet.guard.population.columns import Column
from discreet.guard.population.private import Guarantee, classes_of_pairs, cleaned, fit_private, pair_counts, release
from discreet.stats.mechanisms.gaussian import gaussian_delta, gaussian_sigma

SIZES = (4, 3, 5)
COLUMNS = [Column(name, tuple(map(str, range(size)))) for name, size in zip("abc", SIZES, strict=True)]


def table(n: int, seed: int) -> IntArray:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    return np.column_stack([np.where(rng.random(n) < 0.85, group, rng.integers(0, size, n)) for size in SIZES])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("sigma", [0.5, 2.0, 10.0])
def test_delta_is_the_hockey_stick_divergence_of_two_shifted_normals(epsilon: float, sigma: float) -> None:
    x = np.linspace(-15 * sigma, 15 * sigma + 3, 400_001)
    one, other = (np.exp(-((x - mean) / sigma) ** 2 / 2) / (sigma * np.sqrt(2 * np.pi)) for mean in (3.0, 0.0))
    expected = np.trapezoid(np.maximum(one - np.exp(epsilon) * other, 0), x)
    assert gaussian_delta(sigma, epsilon, 3.0) == pytest.approx(expected, abs=1e-6)


def test_sigma_is_the_least_that_keeps_delta_and_agrees_with_an_accountant() -> None:
    sigma = gaussian_sigma(1.0, 1e-5, 7.0)
    assert gaussian_delta(sigma, 1.0, 7.0) <= 1e-5 < gaussian_delta(sigma * 0.999, 1.0, 7.0)
    assert sigma < 7.0 * np.sqrt(2 * np.log(1.25e5))
    accounting = pytest.importorskip("dp_accounting")
    accountant = accounting.pld.PLDAccountant()
    accountant.compose(accounting.GaussianDpEvent(sigma / 7.0))
    assert accountant.get_epsilon(1e-5) == pytest.approx(1.0, abs=2e-3)
    with pytest.raises(ValueError, match="delta between 0 and 1"):
        gaussian_sigma(1, 0, 1)


def test_one_row_changes_the_counts_by_no_more_than_the_sensitivity() -> None:
    rng = np.random.default_rng(0)
    guarantee = Guarantee.of(3, 1.0, 1e-6, 2.0)
    codes, weights = table(50, 1), rng.uniform(0.1, 9, 50)
    every = pair_counts(codes, np.minimum(weights, 2), SIZES)
    moved = [np.sqrt((np.triu(every - pair_counts(np.delete(codes, row, 0), np.minimum(np.delete(weights, row), 2),
                                                  SIZES)) ** 2).sum()) for row in range(50)]
    assert max(moved) == pytest.approx(guarantee.sensitivity) == pytest.approx(2 * np.sqrt(3))


def test_a_release_is_the_counts_and_one_draw_of_noise_a_pair() -> None:
    guarantee = Guarantee.of(3, 1.0, 1e-6, 1.0)
    codes = table(1000, 2)
    exact = pair_counts(codes, np.ones(1000), SIZES)
    several = np.stack([release(codes, np.full(1000, 7.0), SIZES, guarantee, np.random.default_rng(seed))
                        for seed in range(400)]) - exact
    np.testing.assert_array_equal(several, several.transpose(0, 2, 1))
    between = np.triu(exact, 1) > 0
    assert several[:, between].std() == pytest.approx(guarantee.sigma, rel=0.02)
    assert abs(several[:, between].mean()) < 0.1 * guarantee.sigma
    assert not several[:, :4, :4].any()


def test_classes_of_exact_pairs_have_these_pairs_and_shares_are_shares() -> None:
    codes = table(20_000, 3)
    shares, total = cleaned(pair_counts(codes, np.ones(20_000), SIZES), SIZES, 1e-9)
    assert total == pytest.approx(20_000)
    fitted = classes_of_pairs(shares, SIZES, total, 4, np.random.default_rng(0))
    np.testing.assert_allclose(fitted.tables[:4].sum(0), 1)
    got, three = fitted.probabilities(np.ones((2, 3), np.int64), np.array([[True, False, True], [True] * 3]))
    assert got == pytest.approx(np.mean((codes[:, 0] == 1) & (codes[:, 2] == 1)), rel=0.05)
    assert three == pytest.approx(np.mean((codes == 1).all(1)), rel=0.1)


def test_noisy_tables_become_shares_without_negative_numbers() -> None:
    guarantee = Guarantee.of(3, 0.5, 1e-6, 1.0)
    shares, _ = cleaned(release(table(200, 4), np.ones(200), SIZES, guarantee, np.random.default_rng(0)), SIZES,
                        guarantee.sigma)
    assert (shares >= 0).all()
    assert shares[:4, 4:7].sum() == pytest.approx(1)


def test_a_private_fit_counts_well_and_worse_with_less_epsilon() -> None:
    codes = table(20_000, 5)
    true = 20_000 * np.mean((codes[:, 0] == 1) & (codes[:, 1] == 1))
    widths = []
    for epsilon in (8.0, 0.02):
        guarantee = Guarantee.of(3, epsilon, 1e-6, 1.0)
        found = fit_private(codes, np.ones(20_000), COLUMNS, guarantee, np.random.default_rng(0), source="made up",
                            year="2000")
        count = found.count({"a": "1", "b": "1"})
        assert count.interval95[0] <= true <= count.interval95[1]
        widths.append(count.interval95[1] / count.interval95[0])
        assert f"({epsilon:g}, 1e-06)-differential privacy" in found.privacy
        assert found.seen is None
        assert found.rows != 20_000
    assert widths[0] < widths[1] ** 0.7


def test_impossible_guarantees_are_refused() -> None:
    with pytest.raises(UsageError, match="at least two"):
        Guarantee.of(1, 1, 1e-6, 1)
    with pytest.raises(UsageError, match="above 0"):
        Guarantee.of(3, 0, 1e-6, 1)
