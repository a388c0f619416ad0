from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.audit.labels.exposure import (
    class_exposure,
    mean_exposure,
    null_exposure,
    rank_exposure,
    tail_exposure,
)

RNG = np.random.default_rng


def test_the_class_with_the_best_score_is_fully_exposed() -> None:
    scores = [[3.0, 1.0, 2.0, 0.0]] * 4
    assert class_exposure(scores, [0, 2, 1, 3]).tolist() == [2.0, 1.0, pytest.approx(log2(4 / 3)), 0.0]


def test_equal_scores_expose_nothing() -> None:
    assert class_exposure([[1.0, 1.0, 1.0, 1.0]], [2]).tolist() == [0.0]


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.lists(st.integers(-5, 5), min_size=1, max_size=10))
def test_a_loss_ranks_behind_all_that_are_as_low(reference: list[int], losses: list[int]) -> None:
    slow = [log2(len(reference) + 1) - log2(1 + sum(other <= loss for other in reference)) for loss in losses]
    assert rank_exposure(losses, reference).tolist() == pytest.approx(slow)


@pytest.mark.parametrize("size", [1, 2, 10, 1000])
def test_a_uniform_rank_has_the_null_exposure(size: int) -> None:
    assert null_exposure(size) == pytest.approx(np.mean([log2(size / rank) for rank in range(1, size + 1)]))


def test_the_null_tends_to_a_known_limit() -> None:
    assert null_exposure(10**6) == pytest.approx(1 / np.log(2), abs=1e-4)


def test_what_was_never_trained_has_the_null_exposure() -> None:
    rng = RNG(0)
    found = mean_exposure([rank_exposure(rng.normal(size=1), rng.normal(size=99))[0] for _ in range(3000)])
    assert found.low is not None
    assert found.high is not None
    wide = 2 * (found.high - found.low)
    assert abs(null_exposure(100) - (found.value or 0.0)) < wide
    assert wide < 0.25


def test_the_tail_is_that_of_the_fit_and_goes_on_beyond_the_ranks() -> None:
    reference = stats.skewnorm.rvs(3.0, loc=5.0, scale=2.0, size=2000, random_state=RNG(1))
    losses = np.array([4.5, 6.0, 2.0])
    found = tail_exposure(losses, reference)
    known = -np.log2(stats.skewnorm.cdf(losses[:2], 3.0, 5.0, 2.0))
    np.testing.assert_allclose(found[:2], known, atol=0.6)
    assert found[2] > log2(2001)


def test_an_interval_covers_the_mean() -> None:
    rng = RNG(2)
    covered = 0
    for _ in range(300):
        found = mean_exposure(-np.log2(rng.random(60)))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1 / np.log(2) <= found.high
    # Approximate: skewed ranks cost a little, not more.
    assert covered >= 270


@pytest.mark.parametrize("n", [0, 1])
def test_a_mean_of_too_few_is_unresolved(n: int) -> None:
    assert not mean_exposure([1.0] * n).resolved


@pytest.mark.parametrize(("scores", "labels", "message"), [
    ([1.0, 2.0], [0], "scores have shape"), ([[1.0]], [0], "K >= 2"), ([[1.0, np.nan]], [0], "finite"),
    ([[1.0, 2.0]], [2], "labels have shape"), ([[1.0, 2.0]], [0, 1], "labels have shape"),
    ([[1.0, 2.0]], [0.5], "labels have shape"),
])
def test_scores_and_labels_that_cannot_be(scores: list[float], labels: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_exposure(scores, labels)


def test_references_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="reference is empty"):
        rank_exposure([1.0], [])
    with pytest.raises(ValueError, match="1 different losses of 40"):
        tail_exposure([1.0], [2.0] * 40)
    with pytest.raises(ValueError, match="at least 30"):
        tail_exposure([1.0], list(range(29)))
    with pytest.raises(ValueError, match="size is 0"):
        null_exposure(0)
