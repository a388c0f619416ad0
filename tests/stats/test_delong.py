from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.stats import RocCore, auc_covariance, auc_variance, placements


@st.composite
def scored(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n_pos, n_neg = draw(st.integers(2, 15)), draw(st.integers(2, 15))
    values = draw(st.sampled_from([st.integers(0, 3).map(float), st.floats(-10, 10)]))
    scores = draw(st.lists(values, min_size=n_pos + n_neg, max_size=n_pos + n_neg))
    labels = draw(st.permutations([1] * n_pos + [0] * n_neg))
    return np.array(scores), np.array(labels)


def slow_placements(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and column means of the whole matrix of pairs."""
    pos, neg = scores[labels == 1], scores[labels == 0]
    psi = (pos[:, None] > neg[None, :]) + 0.5 * (pos[:, None] == neg[None, :])
    return psi.mean(axis=1), psi.mean(axis=0)


@given(scored())
def test_placements_are_means_of_the_matrix(data: tuple[np.ndarray, np.ndarray]) -> None:
    for ours, slow in zip(placements(RocCore.of(*data)), slow_placements(*data), strict=True):
        np.testing.assert_allclose(ours, slow, atol=1e-15)


@given(scored())
def test_variance_is_delongs(data: tuple[np.ndarray, np.ndarray]) -> None:
    by_pos, by_neg = slow_placements(*data)
    found = auc_variance(RocCore.of(*data))
    expected = by_pos.var(ddof=1) / by_pos.size + by_neg.var(ddof=1) / by_neg.size
    assert found.auc == pytest.approx(by_pos.mean(), abs=1e-15)
    assert found.variance == pytest.approx(expected, abs=1e-15)
    assert (found.units_pos, found.units_neg) == (by_pos.size, by_neg.size)


@given(scored(), st.integers(0, 2**32 - 1))
def test_groups_of_one_change_nothing(data: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    core = RocCore.of(*data)
    groups = np.random.default_rng(seed).permutation(data[0].size)
    assert auc_variance(core, groups) == pytest.approx(auc_variance(core), abs=1e-15)


@given(scored(), st.integers(0, 2**32 - 1))
def test_groups_follow_obuchowski(data: tuple[np.ndarray, np.ndarray], seed: int) -> None:
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


@given(scored(), st.integers(0, 2**32 - 1))
def test_covariance_gives_the_variance_of_the_difference(data: tuple[np.ndarray, np.ndarray], seed: int) -> None:
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
