from __future__ import annotations

import pytest

from discreet.audit.core.base_rate import ppv_at, ppv_estimate
from discreet.core.errors import UsageError
from discreet.core.records import Estimate


def test_counted_out_of_ten_thousand() -> None:
    # 100 members, of whom 20 are called; 9,900 others, of whom 495 are.
    assert ppv_at(0.2, 0.05, 0.01) == pytest.approx(20 / (20 + 495))
    assert ppv_at(0.0, 0.0, 0.01) is None


def test_ends_come_from_the_tpr() -> None:
    found = ppv_estimate(Estimate(0.2, 0.1, 0.4, n=100, n_pos=50, n_neg=50), 0.05, 0.5)
    assert found.value == pytest.approx(0.8)
    assert found.low == pytest.approx(0.1 / 0.15)
    assert found.high == pytest.approx(0.4 / 0.45)
    assert found.n_pos == 50
    assert "0.05" in found.method


def test_what_is_undefined_stays_so() -> None:
    found = ppv_estimate(Estimate.unresolved("10 negatives", n=20), 0.05, 0.01)
    assert not found.resolved
    assert found.reason == "10 negatives"
    for rate in (0.0, 1.0, -2.0):
        with pytest.raises(UsageError, match="base rate"):
            ppv_estimate(Estimate(0.2, 0.1, 0.4), 0.05, rate)
