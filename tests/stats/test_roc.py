
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from discreet.stats import (
    RocCore,
    StepCounts,
    auc_covariance,
    auc_variance,
    auroc,
    fpr_at_tpr,
    placements,
    tpr_at_fpr,
)
from discreet.stats.roc import Reweighting, least_count, most_count

Data = tuple[np.ndarray, np.ndarray]
rates = st.integers(0, 40).map(lambda k: k / 40) | st.floats(0, 1)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def scored(draw: st.DrawFn, most: int = 20, least: int = 1) -> Data:
    """Scores with or without ties (few levels, halves, any float) and labels with both classes."""
    n_pos, n_neg = draw(st.integers(least, most)), draw(st.integers(least, most))
    values = draw(st.sampled_from([
        st.integers(0, 2).map(float), st.integers(-5, 5).map(lambda v: v / 2),
        st.floats(-1e9, 1e9, allow_nan=False), st.sampled_from([0.0, -0.0, 1e-300, 1e300]),
    ]))
    scores = draw(st.lists(values, min_size=n_pos + n_neg, max_size=n_pos + n_neg))
    labels = draw(st.permutations([1] * n_pos + [0] * n_neg))
    return np.array(scores), np.array(labels)


def slow_placements(scores: np.ndarray, labels: np.ndarray) -> Data:
    """Row and column means of the whole matrix of pairs."""
    pos, neg = scores[labels == 1], scores[labels == 0]
    psi = (pos[:, None] > neg[None, :]) + 0.5 * (pos[:, None] == neg[None, :])
    return psi.mean(axis=1), psi.mean(axis=0)


def slow_points(scores: np.ndarray, labels: np.ndarray) -> list[tuple[float, float]]:
    """(FPR, TPR) of `score >= t` for every t that matters."""
    pos, neg = scores[labels == 1], scores[labels == 0]
    return [(np.mean(neg >= t), np.mean(pos >= t)) for t in [np.inf, *np.unique(scores)[::-1]]]


@given(scored())
def test_auroc_is_the_share_of_ordered_pairs(data: Data) -> None:
    scores, labels = data
    assert auroc(scores, labels) == pytest.approx(slow_placements(scores, labels)[0].mean(), abs=1e-15)
    assert auroc(scores, labels) == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)


@given(scored())
def test_curve_is_scikit_learns(data: Data) -> None:
    scores, labels = data
    ours, theirs = RocCore.of(scores, labels).curve(), metrics.roc_curve(labels, scores, drop_intermediate=False)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)


@given(scored(), rates)
def test_operating_points_are_the_best_of_all_thresholds(data: Data, rate: float) -> None:
    points = slow_points(*data)
    assert fpr_at_tpr(*data, rate) == min(fpr for fpr, tpr in points if tpr >= rate)
    assert tpr_at_fpr(*data, rate) == max(tpr for fpr, tpr in points if fpr <= rate)


@given(scored(), rates)
def test_thresholds_attain_the_operating_points(data: Data, rate: float) -> None:
    scores, labels = data
    core = RocCore.of(scores, labels)
    pos, neg = scores[labels == 1], scores[labels == 0]
    t = core.threshold_at_tpr(rate)
    assert np.mean(pos >= t) >= rate
    assert np.mean(neg >= t) == core.fpr_at_tpr(rate)
    assert np.isinf(t) or np.mean(pos > t) < rate


@given(scored(most=12), st.data(), rates)
def test_weights_are_repeated_rows(data: Data, more: st.DataObject, rate: float) -> None:
    scores, labels = data
    n = scores.size
    row = st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(
        lambda w: np.array(w)[labels == 1].sum() > 0 and np.array(w)[labels == 0].sum() > 0
    )
    weights = np.array(more.draw(st.lists(row, min_size=1, max_size=4)))
    repeated = [(np.repeat(scores, w), np.repeat(labels, w)) for w in weights]
    block = Reweighting.of(RocCore.of(scores, labels), np.arange(n)).counts(weights)
    assert block.auroc().tolist() == [auroc(*r) for r in repeated]
    assert block.fpr_at_tpr(rate).tolist() == [fpr_at_tpr(*r, rate) for r in repeated]
    assert block.tpr_at_fpr(rate).tolist() == [tpr_at_fpr(*r, rate) for r in repeated]


def test_steps_join_runs_of_one_class_and_keep_ties_apart() -> None:
    core = RocCore.of([9, 8, 7, 6, 6, 5, 5, 4, 3], [1, 1, 0, 0, 1, 0, 1, 0, 0])
    assert core.step_of_level.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert core.thresholds.tolist() == [9, 8, 7, 6, 5, 4, 3]


def test_a_missing_class_and_targets_outside_zero_to_one_are_refused() -> None:
    for labels in ([1, 1], [0, 0], []):
        with pytest.raises(ValueError, match="expected both classes"):
            auroc([0.5] * len(labels), labels)
    with pytest.raises(ValueError, match="tpr is 95"):
        fpr_at_tpr([0.1, 0.2], [0, 1], 95)
    with pytest.raises(ValueError, match=r"fpr is -0\.1"):
        tpr_at_fpr([0.1, 0.2], [0, 1], -0.1)


fine_rates = st.integers(0, 1000).map(lambda k: k / 1000) | st.floats(0, 1)


@given(fine_rates, st.integers(1, 3000))
def test_counts_at_a_rate_are_those_that_the_quotient_says(rate: float, total: int) -> None:
    least = int(least_count(rate, np.array([total]))[0])
    most = int(most_count(rate, np.array([total]))[0])
    reaching = [k for k in range(total + 1) if k / total >= rate]
    within = [k for k in range(total + 1) if k / total <= rate]
    assert max(least, 0) == reaching[0]
    assert most == within[-1]
    # .55 of 100 is 55 although .55 * 100 is 55.00000000000001.
    for percent in range(1, 100):
        assert [count(percent / 100, np.array([100]))[0] for count in (least_count, most_count)] == [percent] * 2


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
    assert StepCounts.of(np.array([[0, 2]]), np.array([[1, 1]])).tpr_at_fpr(0.4)[0] == 0.0


@given(scored(15, 2))
def test_placements_are_means_of_the_matrix(data: Data) -> None:
    for ours, slow in zip(placements(RocCore.of(*data)), slow_placements(*data), strict=True):
        np.testing.assert_allclose(ours, slow, atol=1e-15)


@given(scored(15, 2))
def test_variance_is_delongs(data: Data) -> None:
    by_pos, by_neg = slow_placements(*data)
    found = auc_variance(RocCore.of(*data))
    expected = by_pos.var(ddof=1) / by_pos.size + by_neg.var(ddof=1) / by_neg.size
    assert found.auc == pytest.approx(by_pos.mean(), abs=1e-15)
    assert found.variance == pytest.approx(expected, abs=1e-15)
    assert (found.units_pos, found.units_neg) == (by_pos.size, by_neg.size)
    alone = auc_variance(RocCore.of(*data), np.random.default_rng(0).permutation(data[0].size))
    assert alone == pytest.approx(found, abs=1e-15)


@given(scored(15, 2), seeds)
def test_groups_follow_obuchowski(data: Data, seed: int) -> None:
    scores, labels = data
    groups = np.random.default_rng(seed).integers(0, 6, scores.size)
    holding = [np.unique(groups[labels == y]) for y in (1, 0)]
    core = RocCore.of(scores, labels)
    if min(len(g) for g in holding) < 2:
        with pytest.raises(ValueError, match="a variance needs 2 each or more"):
            auc_variance(core, groups)
        return
    by_pos, by_neg = slow_placements(scores, labels)
    auc, users = by_pos.mean(), np.unique(groups)
    pos = np.array([(by_pos - auc)[groups[labels == 1] == u].sum() for u in users])
    neg = np.array([(by_neg - auc)[groups[labels == 0] == u].sum() for u in users])
    i10, i01, i11 = len(holding[0]), len(holding[1]), len(users)
    m, n = by_pos.size, by_neg.size
    s10 = i10 / ((i10 - 1) * m) * (pos**2).sum()
    s01 = i01 / ((i01 - 1) * n) * (neg**2).sum()
    s11 = i11 / (i11 - 1) * (pos * neg).sum()
    expected = s10 / m + s01 / n + 2 * s11 / (m * n)
    assert auc_variance(core, groups).variance == pytest.approx(max(0.0, expected), abs=1e-12)


@given(scored(15, 2), seeds)
def test_covariance_gives_the_variance_of_the_difference(data: Data, seed: int) -> None:
    scores, labels = data
    other = np.random.default_rng(seed).normal(size=scores.size).round(1)
    cores = [RocCore.of(scores, labels), RocCore.of(other, labels)]
    covariance = auc_covariance(cores)
    (a_pos, a_neg), (b_pos, b_neg) = slow_placements(scores, labels), slow_placements(other, labels)
    expected = (a_pos - b_pos).var(ddof=1) / a_pos.size + (a_neg - b_neg).var(ddof=1) / a_neg.size
    assert covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1] == pytest.approx(expected, abs=1e-14)
    assert covariance[0, 1] == covariance[1, 0]


def test_effective_number_of_groups_is_kishs() -> None:
    labels = np.repeat([1, 0], [6, 4])
    groups = ["a", "a", "a", "a", "b", "c", "d", "d", "e", "e"]
    found = auc_variance(RocCore.of(np.arange(10), labels), groups)
    assert found.units_pos == 36 / 18
    assert found.units_neg == 2.0


def test_variance_is_that_of_the_auc_over_samples() -> None:
    """Users whose trait moves their positives up and their negatives down, so that groups of both classes matter."""
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(40), 5)
    with_groups, without, aucs = [], [], []
    for _ in range(1500):
        labels = rng.integers(0, 2, 200)
        scores = 0.7 * rng.normal(size=40)[groups] * (2 * labels - 1) + 0.5 * labels + 0.5 * rng.normal(size=200)
        core = RocCore.of(scores, labels)
        aucs.append(core.auroc())
        with_groups.append(auc_variance(core, groups).variance)
        without.append(auc_variance(core).variance)
    truth = np.var(aucs)
    assert np.mean(with_groups) == pytest.approx(truth, rel=0.12)
    assert np.mean(without) < 0.5 * truth


def test_scores_must_be_of_the_same_examples() -> None:
    with pytest.raises(ValueError, match="equal labels in equal order"):
        auc_covariance([RocCore.of([1, 2, 3, 4], [0, 1, 0, 1]), RocCore.of([1, 2, 3, 4], [1, 1, 0, 0])])
