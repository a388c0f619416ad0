from __future__ import annotations

import numpy as np
import pytest

from discreet.stats import bootstrap_estimate, calibrated_error, calibration_error, reliability


def test_a_reliability_diagram_has_the_mean_and_the_share_of_each_bin() -> None:
    bins = reliability([0.05, 0.15, 0.15, 1.0], [0, 1, 0, 1], bins=10)
    assert [b.observed.value for b in bins] == [0.0, 0.5, *[None] * 7, 1.0]
    assert [b.mean for b in bins[:3]] == [0.05, pytest.approx(0.15), None]


def test_the_calibration_error_weights_bins_by_their_size() -> None:
    # Bins of 2 and 2: |0 - .1| and |1 - .7|.
    found = calibration_error([0.1, 0.1, 0.7, 0.7], [0, 0, 1, 1])
    assert found.value == pytest.approx((0.1 + 0.3) / 2)


def test_a_calibrated_score_is_within_its_control_and_a_sure_one_is_not() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    y = rng.random(2000) < p
    control = calibrated_error(p)
    assert control is not None
    assert calibration_error(p, y).value == pytest.approx(control, abs=0.01)
    overconfident = calibration_error(np.where(p > 0.5, 0.99, 0.01), y)
    assert overconfident.low is not None
    assert overconfident.low > 4 * control


def test_groups_are_resampled_whole() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(40), 10)
    p = np.full(400, 0.5)
    y = np.repeat(rng.random(40) < 0.7, 10)
    alone, together = calibration_error(p, y), calibration_error(p, y, groups=groups, unit="document")
    assert (together.n, together.unit) == (40, "document")
    assert together.high - together.low > 2 * (alone.high - alone.low)  # type: ignore[operator]


@pytest.mark.parametrize(("statistic", "why"), [
    (lambda w: np.full(len(w), np.nan), "nothing to share"), (lambda w: w[:, 0] * np.nan, "nothing to share")])
def test_what_has_no_value_is_unresolved(statistic: object, why: str) -> None:
    found = bootstrap_estimate(statistic, 5, reason=why)  # type: ignore[arg-type]
    assert (found.value, found.reason) == (None, why)


def test_without_examples_or_variation_there_is_no_interval() -> None:
    assert bootstrap_estimate(lambda w: w[:, 0].astype(np.float64), 0).value is None
    constant = bootstrap_estimate(lambda w: np.ones(len(w)), 5)
    assert (constant.value, constant.low, constant.high) == (1.0, None, None)
    assert calibration_error([], []).value is None
    assert calibrated_error([]) is None


def test_a_score_that_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="expected shares from 0 to 1"):
        reliability([0.5, 1.5], [0, 1])
