
from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from discreet.stats import (
    RocCore,
    auroc,
    fpr_at_tpr,
    roc_curve,
    tpr_at_fpr,
    weighted_tpr_at_fpr,
)
from discreet.stats.roc import CELLS, StepCounts, least_count, most_count


@st.composite
def scored(draw: st.DrawFn, most: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Scores with or without ties (few levels, halves, any float) and labels with both classes."""
    n = draw(st.integers(2, most))
    values = draw(st.sampled_from([
        st.integers(0, 2).map(float), st.integers(-5, 5).map(lambda v: v / 2),
        st.floats(-1e9, 1e9, allow_nan=False), st.sampled_from([0.0, -0.0, 1e-300, 1e300]),
    ]))
    scores = draw(st.lists(values, min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(lambda x: 0 < sum(x) < len(x)))
    return np.array(scores), np.array(labels)


rates = st.integers(0, 40).map(lambda k: k / 40) | st.floats(0, 1)


def slow_auroc(scores: np.ndarray, labels: np.ndarray) -> float:
    """All pairs, one by one."""
    wins = [
        1.0 if a > b else 0.5 if a == b else 0.0 for a in scores[labels == 1] for b in scores[labels == 0]
    ]
    return sum(wins) / len(wins)


def slow_points(scores: np.ndarray, labels: np.ndarray) -> list[tuple[float, float]]:
    """(FPR, TPR) of `score >= t` for every t that matters."""
    pos, neg = scores[labels == 1], scores[labels == 0]
    return [(np.mean(neg >= t), np.mean(pos >= t)) for t in [np.inf, *np.unique(scores)[::-1]]]


@given(scored())
def test_auroc_is_the_share_of_ordered_pairs(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    assert auroc(scores, labels) == pytest.approx(slow_auroc(scores, labels), abs=1e-15)
    assert auroc(scores, labels) == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)


@given(scored())
def test_curve_is_scikit_learns(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    ours, theirs = roc_curve(scores, labels), metrics.roc_curve(labels, scores, drop_intermediate=False)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)


@given(scored(), rates)
def test_operating_points_are_the_best_of_all_thresholds(data: tuple[np.ndarray, np.ndarray], rate: float) -> None:
    points = slow_points(*data)
    assert fpr_at_tpr(*data, rate) == min(fpr for fpr, tpr in points if tpr >= rate)
    assert tpr_at_fpr(*data, rate) == max(tpr for fpr, tpr in points if fpr <= rate)


@given(scored(), rates)
def test_thresholds_attain_the_operating_points(data: tuple[np.ndarray, np.ndarray], rate: float) -> None:
    scores, labels = data
    core = RocCore.of(scores, labels)
    pos, neg = scores[labels == 1], scores[labels == 0]
    t = core.threshold_at_tpr(rate)
    assert np.mean(pos >= t) >= rate
    assert np.mean(neg >= t) == core.fpr_at_tpr(rate)
    assert np.isinf(t) or np.mean(pos > t) < rate


@given(scored(most=12), st.data(), rates)
def test_weights_are_repeated_rows(data: tuple[np.ndarray, np.ndarray], more: st.DataObject, rate: float) -> None:
    scores, labels = data
    n = scores.size
    row = st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(
        lambda w: np.array(w)[labels == 1].sum() > 0 and np.array(w)[labels == 0].sum() > 0
    )
    weights = np.array(more.draw(st.lists(row, min_size=1, max_size=4)))
    repeated = [(np.repeat(scores, w), np.repeat(labels, w)) for w in weights]
    [block] = RocCore.of(scores, labels).reweight(weights)
    assert block.auroc().tolist() == [auroc(*r) for r in repeated]
    assert block.fpr_at_tpr(rate).tolist() == [fpr_at_tpr(*r, rate) for r in repeated]
    assert weighted_tpr_at_fpr(scores, labels, weights, rate).tolist() == [tpr_at_fpr(*r, rate) for r in repeated]


@given(scored())
def test_only_the_order_matters(data: tuple[np.ndarray, np.ndarray]) -> None:
    scores, labels = data
    ranks = np.unique(scores, return_inverse=True)[1]
    assert auroc(ranks, labels) == auroc(scores, labels)
    assert auroc(-scores, labels) == pytest.approx(1 - auroc(scores, labels), abs=1e-15)
    assert auroc(-scores, 1 - labels) == auroc(scores, labels)
    shuffle = np.random.default_rng(0).permutation(scores.size)
    assert auroc(scores[shuffle], labels[shuffle]) == auroc(scores, labels)


def test_weights_come_in_bounded_blocks() -> None:
    rng = np.random.default_rng(1)
    n = CELLS // 3
    labels = rng.integers(0, 2, n)
    scores = rng.normal(size=n)
    weights = rng.integers(0, 3, (7, n)).astype(np.uint8)
    core = RocCore.of(scores, labels)
    blocks = list(core.reweight(weights))
    assert [block.pos.shape[0] for block in blocks] == [3, 3, 1]
    assert all(a.pos.shape[1] == b.pos.shape[1] <= n for a, b in pairwise(blocks))
    together = np.concatenate([block.auroc() for block in blocks])
    by_sklearn = [metrics.roc_auc_score(labels, scores, sample_weight=w) for w in weights]
    np.testing.assert_allclose(together, by_sklearn, atol=1e-12)


def test_steps_join_runs_of_one_class_and_keep_ties_apart() -> None:
    core = RocCore.of([9, 8, 7, 6, 6, 5, 5, 4, 3], [1, 1, 0, 0, 1, 0, 1, 0, 0])
    assert core.step_of_level.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert core.thresholds.tolist() == [9, 8, 7, 6, 5, 4, 3]
    assert core.labels.tolist() == [True, True, False, False, True, False, True, False, False]


def test_closed_forms() -> None:
    n = 20_000
    rng = np.random.default_rng(2)
    labels = np.repeat([1, 0], n)
    # Exponential scores with means ratio r: P(s₊ > s₋) = r / (1 + r), TPR(FPR) = FPR^(1/r).
    scores = np.concatenate([3.0 * rng.exponential(size=n), rng.exponential(size=n)])
    assert auroc(scores, labels) == pytest.approx(0.75, abs=0.01)
    assert tpr_at_fpr(scores, labels, 0.125) == pytest.approx(0.5, abs=0.02)
    assert fpr_at_tpr(scores, labels, 0.5) == pytest.approx(0.125, abs=0.01)


@pytest.mark.parametrize("labels", [[1, 1], [0, 0], []])
def test_a_missing_class_is_refused(labels: list[int]) -> None:
    with pytest.raises(ValueError, match="expected both classes"):
        auroc([0.5] * len(labels), labels)


@pytest.mark.parametrize(("weights", "says"), [
    ([[1, 1, 1]], r"weights have shape \(1, 3\): expected \(resamples, 2\)"),
    ([1, 1], r"weights have shape \(2,\)"),
    ([[1, -1]], "whole numbers >= 0"),
    ([[0.5, 1.0]], "whole numbers >= 0"),
    ([[1, 1], [1, 0]], r"weights\[1\] leave a class empty"),
])
def test_bad_weights_are_named(weights: list[object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        weighted_tpr_at_fpr([0.1, 0.2], [0, 1], weights)  # type: ignore[arg-type]


def test_no_resamples_give_no_values() -> None:
    assert weighted_tpr_at_fpr([0.1, 0.2], [0, 1], np.zeros((0, 2), dtype=int)).size == 0


def test_targets_outside_zero_to_one_are_refused() -> None:
    with pytest.raises(ValueError, match="tpr is 95"):
        fpr_at_tpr([0.1, 0.2], [0, 1], 95)
    with pytest.raises(ValueError, match=r"fpr is -0\.1"):
        weighted_tpr_at_fpr([0.1, 0.2], [0, 1], [[1, 1]], -0.1)


fine_rates = st.integers(0, 1000).map(lambda k: k / 1000) | st.floats(0, 1)


@given(fine_rates, st.integers(1, 3000))
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
