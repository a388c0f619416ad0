from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, binomtest, fisher_exact, norm

from discreet.guard import stress_figures as figures
from discreet.stats import RocCore, StepCounts, bootstrap_roc, bootstrap_weights, permuted_labels

Scores = np.ndarray[Any, np.dtype[np.float64]]
SCORES = st.integers(1, 12).flatmap(lambda n: arrays(np.float64, n, elements=st.integers(-3, 3).map(float)))


def slow_auroc(pos: Scores, neg: Scores) -> float:
    return float(np.mean([1.0 if p > n else 0.5 if p == n else 0.0 for p, n in product(pos, neg)]))


def slow_threshold(unsafe: Scores, tpr: float) -> float:
    return max(float(t) for t in unsafe if np.mean([u >= t for u in unsafe]) >= tpr)


def slow_fpr(unsafe: Scores, negatives: Scores, tpr: float) -> float:
    return float(np.mean([n >= slow_threshold(unsafe, tpr) for n in negatives]))


def drawn(seed: int, n: int = 60, shift: float = 1.0) -> tuple[Scores, Scores, Scores]:
    """Scores rounded to halves, so that there are ties within and between the three sets."""
    rng = np.random.default_rng(seed)
    unsafe, safe, borderline = (np.round(2 * rng.normal(mean, 1, size)) / 2 for mean, size in (
        (2 * shift, n), (-shift, n + 7), (shift, n + 13)))
    return unsafe, safe, borderline


@settings(max_examples=60, deadline=None)
@given(SCORES, SCORES, st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_the_threshold_is_the_highest_that_keeps_the_tpr(unsafe: Scores, negatives: Scores, tpr: float) -> None:
    assert figures.threshold_at_tpr(unsafe, negatives, tpr) == slow_threshold(unsafe, tpr)


@pytest.mark.parametrize(("seed", "tpr"), [(0, 0.8), (1, 0.9), (2, 0.95)])
def test_a_pairing_against_the_obvious_version(seed: int, tpr: float) -> None:
    unsafe, _, borderline = drawn(seed)
    found = figures.pairing(unsafe, borderline, tpr, 0.5)
    assert found["auroc"].value == pytest.approx(slow_auroc(unsafe, borderline), abs=1e-12)
    for name, at in (("fpr95", 0.95), ("fpr90", 0.9), ("fpr_at_tpr", tpr)):
        assert found[name].value == pytest.approx(slow_fpr(unsafe, borderline, at), abs=1e-12)
    above, given = borderline >= 0.5, found["fpr_at_threshold"]
    exact = binomtest(int(above.sum()), above.size).proportion_ci(method="exact")
    assert (given.value, given.n, given.n_neg) == (above.mean(), above.size, above.size)
    assert (given.low, given.high) == pytest.approx((exact.low, exact.high))
    assert all((e.low or 0) <= (e.value or 0) <= (e.high or 1) for e in found.values())


@pytest.mark.parametrize("seed", range(4))
def test_the_bootstrap_against_repeated_rows(seed: int) -> None:
    unsafe, safe, borderline = drawn(seed, n=15)
    draws = figures.bootstrap_differences(unsafe, safe, borderline, np.random.default_rng(seed), 30)
    sizes = [unsafe.size, safe.size, borderline.size]
    weights = np.concatenate(list(bootstrap_weights(sum(sizes), np.random.default_rng(seed), n_resamples=30,
                                                    strata=np.repeat([0, 1, 2], sizes))))
    for draw, row in zip(draws, weights, strict=True):
        of_unsafe, of_safe, of_borderline = np.split(row, np.cumsum(sizes)[:-1])
        assert (of_unsafe.sum(), of_safe.sum(), of_borderline.sum()) == tuple(sizes)
        again = np.repeat(unsafe, of_unsafe)
        slow = slow_auroc(again, np.repeat(safe, of_safe)) - slow_auroc(again, np.repeat(borderline, of_borderline))
        assert draw == pytest.approx(slow, abs=1e-12)


def test_pairing_on_the_unsafe_narrows_the_difference() -> None:
    rng = np.random.default_rng(0)
    unsafe, safe, borderline = rng.normal(1, 1, 150), rng.normal(0, 1, 2000), rng.normal(0, 1, 2000)
    paired = figures.bootstrap_differences(unsafe, safe, borderline, rng, 400).std()
    core = RocCore.of(np.concatenate((unsafe, safe)), np.repeat([1, 0], [150, 2000]))
    alone = bootstrap_roc(core, [StepCounts.auroc], rng, n_resamples=400)[0].std()
    # Nearly all of either AUROC's spread comes from the 150 unsafe, and they are the same in both.
    assert 0.1 * alone < paired < 0.7 * alone


@pytest.mark.parametrize(("unsafe", "safe", "borderline", "value"), [
    ([2.0] * 40, [0.0] * 40, [1.0] * 40, 0.0), ([1.0] * 99, [1.0] * 99, [1.0] * 99, 0.0),
    ([2.0] * 99, [0.0] * 99, [2.0] * 99, 0.5), ([1.0, 2.0], [0.0, 0.0], [3.0, 3.0], 1.0),
])
def test_a_difference_that_a_bootstrap_cannot_spread(unsafe: list[float], safe: list[float], borderline: list[float],
                                                     value: float) -> None:
    found = figures.auroc_difference(np.array(unsafe), np.array(safe), np.array(borderline), np.random.default_rng(0))
    low, high = found.low or 0.0, found.high or 0.0
    assert found.value == value
    assert low < high
    assert -1.0 <= low <= value <= high <= 1.0
    assert "Bonferroni" in found.method


def test_a_difference_without_two_of_each() -> None:
    one, two = np.array([1.0]), np.array([1.0, 2.0])
    for unsafe, safe, borderline in ((one, two, two), (two, one, two), (two, two, one)):
        found = figures.auroc_difference(unsafe, safe, borderline, np.random.default_rng(0))
        assert not found.resolved
        assert "2 needed" in str(found.reason)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "within", "borderline", "method"), [
    (200, 0.99, 0.8, "bootstrap"), (60, 0.99, 0.9, "Bonferroni"),
])
def test_the_interval_of_the_difference_covers(n: int, within: float, borderline: float, method: str,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "RESAMPLES", 250)
    rng = np.random.default_rng(7)
    runs, covered, used, width = 120, 0, 0, 0.0
    for _ in range(runs):
        unsafe = rng.normal(0, 1, n)
        safe, near = (rng.normal(-np.sqrt(2) * norm.ppf(auc), 1, n) for auc in (within, borderline))
        found = figures.auroc_difference(unsafe, safe, near, rng)
        low, high = float(found.low or 0.0), float(found.high or 0.0)
        covered += low <= within - borderline <= high
        used += method in found.method
        width += (high - low) / runs
    print(f"n={n} AUROC {within}/{borderline}: covered {covered}/{runs}, mean width {width:.3f}")
    assert used > 0.9 * runs
    assert binom.cdf(covered, runs, 0.95) > 0.001


@pytest.mark.parametrize("seed", range(4))
def test_the_control_against_counting_pairs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "RESAMPLES", 40)
    unsafe, _, borderline = drawn(seed, n=8)
    found = figures.control(unsafe, borderline, np.random.default_rng(seed))
    scores, labels = np.concatenate((unsafe, borderline)), np.repeat([1.0, 0.0], [unsafe.size, borderline.size])
    draws = [slow_auroc(scores[drawn_labels == 1], scores[drawn_labels == 0])
             for drawn_labels in permuted_labels(labels, np.random.default_rng(seed), 40)]
    assert found.value == pytest.approx(np.mean(draws), abs=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=1e-12)


def test_the_control_stays_at_a_half_however_good_the_score_is() -> None:
    n, m = 80, 90
    found = figures.control(np.arange(1000.0, 1000.0 + n), np.arange(0.0, m), np.random.default_rng(3))
    deviation = np.sqrt((n + m + 1) / (12 * n * m))
    assert found.value == pytest.approx(0.5, abs=4 * deviation / np.sqrt(figures.RESAMPLES))
    assert float(found.high or 0) - float(found.low or 0) == pytest.approx(2 * 1.96 * deviation, rel=0.1)


@pytest.mark.parametrize("threshold", [None, 1.0, 99.0])
@pytest.mark.parametrize("seed", range(3))
def test_planting_against_the_obvious_version(seed: int, threshold: float | None) -> None:
    # Without ties, so that the half that sets the threshold sets another one than all of them would.
    unsafe, borderline = np.random.default_rng(seed).normal(1.5, 1, 61), np.random.default_rng(99).normal(0, 1, 400)
    planted, unplanted, rises = figures.planted(unsafe, borderline, 0.9, threshold, np.random.default_rng(seed))
    order = list(np.random.default_rng(seed).permutation(unsafe.size))
    half = unsafe.size // 2
    at = slow_threshold(unsafe[order[half:]], 0.9) if threshold is None else threshold
    caught = [u >= at for u in unsafe[order[:half]]]
    flagged = [b >= at for b in borderline]
    assert planted.value == pytest.approx(np.mean(caught + flagged))
    assert unplanted.value == pytest.approx(np.mean(flagged))
    assert threshold is not None or at != slow_threshold(unsafe, 0.9)
    table = np.array([[sum(caught), len(caught) - sum(caught)], [sum(flagged), len(flagged) - sum(flagged)]])
    assert rises == (fisher_exact(table, alternative="greater").pvalue < 0.05)
    assert rises == (threshold != 99.0)
    assert (planted.n_pos, planted.n_neg) == (half, borderline.size)


def test_nothing_rises_where_borderline_is_scored_as_unsafe_is() -> None:
    rng = np.random.default_rng(11)
    rose = sum(figures.planted(rng.normal(size=100), rng.normal(size=100), 0.5, None, rng)[2] for _ in range(200))
    assert rose <= binom.ppf(0.999, 200, 0.05)


def test_one_unsafe_cannot_be_planted() -> None:
    planted, unplanted, rises = figures.planted(np.array([1.0]), np.zeros(2), 0.95, None, np.random.default_rng(0))
    assert not rises
    assert not planted.resolved
    assert "2 needed" in str(unplanted.reason)
