from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.stats.steps import StepCounts, least_count, most_count

rates = st.integers(0, 1000).map(lambda k: k / 1000) | st.floats(0, 1)


@given(rates, st.integers(1, 3000))
def test_counts_at_a_rate_are_those_that_the_quotient_says(rate: float, total: int) -> None:
    least = int(least_count(rate, np.array([total]))[0])
    most = int(most_count(rate, np.array([total]))[0])
    reaching = [k for k in range(total + 1) if k / total >= rate]
    within = [k for k in range(total + 1) if k / total <= rate]
    assert max(least, 0) == reaching[0]
    assert most == within[-1]


def test_decimal_targets_are_met_exactly() -> None:
    """.55 of 100 is 55 although .55 * 100 is 55.00000000000001."""
    for percent in range(1, 100):
        rate = float(Fraction(percent, 100))
        assert least_count(rate, np.array([100]))[0] == percent
        assert most_count(rate, np.array([100]))[0] == percent


def test_area_is_exact_with_large_counts() -> None:
    big = 3_000_000_000
    counts = StepCounts.of(np.array([[big - 1, 0, 1]]), np.array([[0, 1, 0]]))
    assert counts.auroc()[0] == (big - 1) / big


def test_statistics_of_a_hand_drawn_curve() -> None:
    # Falling scores: + + | - | (+ -) | + | - : corners (0, ½), (⅓, ½), (⅔, ¾), (⅔, 1), (1, 1).
    counts = StepCounts.of(np.array([[2, 0, 1, 1, 0]]), np.array([[0, 1, 1, 0, 1]]))
    assert counts.auroc()[0] == (3 + 3 + 1.5 + 1) / 12
    assert counts.fpr_at_tpr(0.5)[0] == 0
    assert counts.fpr_at_tpr(0.51)[0] == 2 / 3
    assert counts.fpr_at_tpr(1.0)[0] == 2 / 3
    assert counts.tpr_at_fpr(0.0)[0] == 0.5
    assert counts.tpr_at_fpr(0.6)[0] == 0.5
    assert counts.tpr_at_fpr(0.7)[0] == 1.0


def test_no_threshold_within_the_fpr_gives_zero() -> None:
    counts = StepCounts.of(np.array([[0, 2]]), np.array([[1, 1]]))
    assert counts.tpr_at_fpr(0.4)[0] == 0.0
