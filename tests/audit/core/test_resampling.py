from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.core import resampling
from discreet.audit.core.resampling import PermutedRow, joint_tpr, masked_auc, max_t
from discreet.audit.membership.evaluation_sets import boundary
from discreet.stats import auroc, bootstrap_weights, max_t_p, tpr_at_fpr

FPRS = [0.01, 0.05]


def weighted_tpr_at_fpr(scores: np.ndarray, member: np.ndarray, weights: np.ndarray, fpr: float) -> list[float]:
    """Of the rows repeated physically, one resample after the other."""
    return [tpr_at_fpr(np.repeat(scores, w), np.repeat(member, w), fpr) for w in weights]


@pytest.mark.parametrize("decimals", [8, 1, 0])
@pytest.mark.parametrize("grouped", [False, True])
def test_equals_the_reweighted_roc(decimals: int, grouped: bool) -> None:
    rng = np.random.default_rng(5)
    n = 700
    member = rng.random(n) < 0.4
    groups = rng.integers(0, 90, n) if grouped else None
    scores = [(rng.normal(size=n) + shift * member).round(decimals) for shift in (0.0, 1.5)]
    points, draws = joint_tpr(scores, member, FPRS, np.random.default_rng(1), n_resamples=200, groups=groups)
    weights = np.concatenate(list(
        bootstrap_weights(n, np.random.default_rng(1), n_resamples=200, strata=member, groups=groups)))
    for place, one in enumerate(scores):
        for at, fpr in enumerate(FPRS):
            assert points[place, at] == tpr_at_fpr(one, member, fpr)
            assert np.allclose(draws[place, at], weighted_tpr_at_fpr(one, member, weights, fpr))


def test_reaches_further_where_the_top_is_drawn_too_rarely() -> None:
    # One group holds the whole top: resamples without it must read on below. Several blocks, of which each may.
    n = 400
    groups = np.where(np.arange(n) < 60, 0, np.arange(n))
    member = np.arange(n) % 2 == 0
    scores = -np.arange(n, dtype=float)
    _, draws = joint_tpr([scores], member, [0.05], np.random.default_rng(2), n_resamples=400, groups=groups)
    weights = np.concatenate(list(
        bootstrap_weights(n, np.random.default_rng(2), n_resamples=400, strata=member, groups=groups)))
    assert np.allclose(draws[0, 0], weighted_tpr_at_fpr(scores, member, weights, 0.05))


def test_many_examples_are_resampled_by_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many, only the draws of examples that the figures read are made."""
    rng = np.random.default_rng(11)
    member = np.arange(4_000) < 2_400
    scores = [rng.normal(size=4_000) + shift * member for shift in (0.4, 1.2)]
    (points, every), (same, few) = (joint_tpr(scores, member, FPRS, np.random.default_rng(4), n_resamples=3_000)
                                    for most in (4_000, 3_999) if monkeypatch.setattr(resampling, "MANY", most) is None)
    assert np.array_equal(points, same)
    assert few.shape == every.shape
    assert not np.array_equal(few, every)
    for one, other in ((every, few), (every[0] - every[1], few[0] - few[1])):
        deviation = one.std(axis=-1)
        assert np.all(np.abs(one.mean(axis=-1) - other.mean(axis=-1)) < 0.1 * deviation)
        assert np.all(np.abs(other.std(axis=-1) / deviation - 1.0) < 0.07)


def test_negatives_that_tie_where_the_part_is_cut() -> None:
    """Most negatives share one score, so that whichever of them are kept decides nothing."""
    member = np.arange(900) % 3 == 0
    rng = np.random.default_rng(8)
    scores = np.where(member, rng.normal(1.0, 1.0, 900), np.where(rng.random(900) < 0.02, 3.0, 0.5))
    points, draws = joint_tpr([scores], member, FPRS, np.random.default_rng(3), n_resamples=50)
    weights = np.concatenate(list(bootstrap_weights(900, np.random.default_rng(3), n_resamples=50, strata=member)))
    for at, fpr in enumerate(FPRS):
        assert points[0, at] == tpr_at_fpr(scores, member, fpr)
        assert np.array_equal(draws[0, at], weighted_tpr_at_fpr(scores, member, weights, fpr))
    assert draws[0, 1].std() > 0


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_masked_auc_against_one_by_one(rng: np.random.Generator) -> None:
    scores = rng.integers(0, 5, 30).astype(float)
    side = rng.integers(0, 3, (7, 30))
    found = masked_auc(scores, side == 1, side == 2)
    for row, value in zip(side, found, strict=True):
        judged = row > 0
        assert value == pytest.approx(auroc(scores[judged], row[judged] == 1))
    assert np.isnan(masked_auc(scores, np.zeros((1, 30), dtype=bool), np.ones((1, 30), dtype=bool)))[0]


def slow_auc(one: PermutedRow, side: np.ndarray, label: np.ndarray, p_true: np.ndarray, lot: np.ndarray) -> float:
    """One row under one membership, the long way: thin, select, attack."""
    rows = one.rows
    if one.n is not None:
        kept = np.full(side.size, -1, dtype=np.int8)
        for of in np.unique(label[rows]):
            sides = [rows[(label[rows] == of) & (side[rows] == value)] for value in (1, 0)]
            for half in sides:
                chosen = half[np.argsort(lot[half])][: min(len(sides[0]), len(sides[1]))]
                kept[chosen] = side[chosen]
        rows = boundary(p_true, label, kept, one.n)
    truth = side[rows] == 1
    return auroc(one.scores[rows], truth) if truth.any() and not truth.all() else 0.5


def test_permutes_through_the_selection_like_the_long_way(rng: np.random.Generator) -> None:
    n = 150
    member = np.where(np.arange(n) < 60, 1, 0).astype(np.int8)
    member[-10:] = -1
    label, p_true, lot = rng.integers(0, 2, n), rng.integers(0, 40, n) / 40, rng.permutation(n)
    scores = [rng.normal(size=n).round(1) for _ in range(2)]
    known = np.flatnonzero(member >= 0)
    ones = [PermutedRow(scores[0], known), PermutedRow(scores[1], known),
                 PermutedRow(scores[0], known[label[known] == 1]),
                 PermutedRow(scores[0], known, 3), PermutedRow(scores[1], known, 3), PermutedRow(scores[1], known, 200)]
    found = max_t(ones, member, label, p_true, np.random.default_rng(8), permutations=40, lot=lot)
    for one, value in zip(ones, found.observed, strict=True):
        assert value == pytest.approx(slow_auc(one, member, label, p_true, lot))

    draws = np.random.default_rng(8)
    moved = np.tile(member, (40, 1))
    for y in (0, 1):
        rows = known[label[known] == y]
        moved[:, rows] = draws.permuted(np.tile(member[rows] == 1, (40, 1)), axis=1)
    slow = np.array([[slow_auc(one, side, label, p_true, lot) for one in ones] for side in moved])
    assert np.allclose(found.null, slow)


def test_p_is_max_t_of_the_standardised_aucs(rng: np.random.Generator) -> None:
    n = 80
    member = (np.arange(n) % 2).astype(np.int8)
    label = np.zeros(n, dtype=np.int64)
    scores = rng.normal(size=n) + 1.2 * member
    ones = [PermutedRow(scores, np.arange(n)), PermutedRow(rng.normal(size=n), np.arange(n))]
    found = max_t(ones, member, label, None, rng, permutations=199)
    z = np.concatenate([found.observed[None, :], found.null])
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    assert np.allclose(found.p, max_t_p(z[0], z[1:]))
    assert found.p[0] < 0.05 < found.p[1]


def test_groups_change_sides_whole(rng: np.random.Generator) -> None:
    groups = np.repeat(np.arange(12), 5)
    member = (groups < 6).astype(np.int8)
    # All records of a person score alike: 12 persons, not 60 records, stand behind the figure.
    scores = rng.normal(size=12)[groups]
    rows = np.arange(60)
    asked, label = [PermutedRow(scores, rows)], np.zeros(60, dtype=int)
    by_person = max_t(asked, member, label, None, rng, permutations=300, groups=groups)
    by_record = max_t(asked, member, label, None, rng, permutations=300)
    assert by_person.null.std() > 1.7 * by_record.null.std()
    assert {round(float(value) * 36, 6) % 1 for value in by_person.null[:, 0]} == {0.0}


def test_refuses_what_it_cannot_permute(rng: np.random.Generator) -> None:
    member = np.array([1, 0, 1, 0, -1], dtype=np.int8)
    label, scores = np.zeros(5, dtype=int), rng.normal(size=5)
    with pytest.raises(ValueError, match="unknown membership"):
        max_t([PermutedRow(scores, np.arange(5))], member, label, None, rng)
    with pytest.raises(ValueError, match="p_true"):
        max_t([PermutedRow(scores, np.arange(4), 2)], member, label, None, rng)
    with pytest.raises(ValueError, match="whole groups"):
        max_t([PermutedRow(scores, np.arange(4))], member, label, None, rng, groups=np.array([0, 0, 1, 1, 2]))
