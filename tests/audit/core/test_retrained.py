"""The mean over retrainings: its closed forms, and its promise over records and retrainings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.audit.core.retrained import retrained_mean


def test_without_error_over_records_it_is_the_t_interval() -> None:
    values = np.array([0.52, 0.55, 0.61, 0.5])
    found = retrained_mean(values, np.zeros(4))
    low, _ = stats.t.interval(0.9, 3, loc=values.mean(), scale=stats.sem(values))
    assert found.value - found.bound(0.95) == pytest.approx(low)
    assert found.p_above(0.5) == pytest.approx(stats.ttest_1samp(values, 0.5, alternative="greater").pvalue)
    assert found.spread == pytest.approx(values.std(ddof=1))


def test_without_spread_it_is_the_normal_interval_of_one_model() -> None:
    found = retrained_mean([0.6, 0.6, 0.6], [0.02, 0.02, 0.02])
    assert found.bound(0.95) == pytest.approx(stats.norm.ppf(0.95) * 0.02)
    assert found.p_above(0.5) == pytest.approx(stats.norm.sf(5.0))
    exact = retrained_mean([0.6, 0.6], [0.0, 0.0])
    assert (exact.bound(0.95), exact.p_above(0.5), exact.p_above(0.6)) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("between", [0.0, 0.03])
def test_bounds_hold(shared: float, between: float) -> None:
    """A one-sided 95% bound over 4 retrainings, whose errors over records (.02) have a share in common."""
    rng, n = np.random.default_rng(3), 2000
    own = rng.normal(size=(n, 4)) * np.hypot(between, 0.02 * np.sqrt(1.0 - shared))
    values = 0.55 + own + 0.02 * np.sqrt(shared) * rng.normal(size=(n, 1))
    below = sum(found.value + found.bound(0.95) < 0.55 for found in (retrained_mean(row, [0.02] * 4) for row in values))
    assert stats.binomtest(below, n, 0.05, alternative="greater").pvalue > 0.001


def test_refused() -> None:
    with pytest.raises(ValueError, match="expected two values or more"):
        retrained_mean([0.5], [0.1])
    with pytest.raises(ValueError, match="errors of at least 0"):
        retrained_mean([0.5, 0.6], [0.1, -0.1])
