from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.inputs.pairs import MOST_MIX, MOST_RATIO, Units, all_pairs, distances, draw_pairs


def records(n: int, seed: int = 0) -> Units:
    rng = np.random.default_rng(seed)
    return Units.of(rng.integers(0, 3, n), rng.integers(5, 400, n), np.arange(n))


def test_units_from_records() -> None:
    units = Units.of([0, 1, 1, 0, 2], [10, 20, 30, 40, 50], [0, 0, 1, 1, 1])
    assert units.size.tolist() == [2, 3]
    np.testing.assert_allclose(units.length, [15, 40])
    np.testing.assert_allclose(units.mix, [[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    with pytest.raises(ValueError, match="unit 1 has no record"):
        Units.of([0, 1], [5, 5], [0, 2])


def test_distance_by_hand() -> None:
    mix = np.array([[1, 0], [0.8, 0.2], [0.7, 0.3], [1, 0]])
    units = Units(np.array([4, 3, 4, 9]), mix, np.array([10.0, 15, 10, 10]))
    found = distances(units, 0, np.array([1, 2, 3]))
    assert found[0] == pytest.approx(np.log(4 / 3) + 0.2 + np.log(1.5))
    assert found[1] == np.inf  # the mixes are .3 apart
    assert found[2] == np.inf  # nine records and four


@settings(max_examples=50)
@given(st.integers(1, 80), st.integers(0, 10**6))
def test_pairs_are_disjoint_alike_and_eligible(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    owner = np.concatenate([np.arange(n), rng.integers(0, n, n)])
    units = Units.of(rng.integers(0, 2, 2 * n), rng.integers(1, 500, 2 * n), owner)
    eligible = rng.random(n) < 0.8
    pairs = all_pairs(units, eligible, np.random.default_rng(seed))
    flat = pairs.ravel()
    assert np.unique(flat).size == flat.size
    assert eligible[flat].all()
    for one, other in pairs:
        for feature in (units.length, units.size):
            assert 1 / MOST_RATIO - 1e-9 <= feature[one] / feature[other] <= MOST_RATIO + 1e-9
        assert np.abs(units.mix[one] - units.mix[other]).sum() / 2 <= MOST_MIX + 1e-9
    again = all_pairs(units, eligible, np.random.default_rng(seed))
    np.testing.assert_array_equal(pairs, again)


def test_records_of_one_label_and_like_length_are_paired() -> None:
    units = records(600)
    pairs = all_pairs(units, np.ones(600, dtype=bool), np.random.default_rng(0))
    assert len(pairs) >= 295
    labels = units.mix.argmax(axis=1)
    assert (labels[pairs[:, 0]] == labels[pairs[:, 1]]).all()
    apart = np.abs(np.log(units.length[pairs[:, 0]] / units.length[pairs[:, 1]]))
    assert np.median(apart) < 0.01


def test_as_near_as_the_best_matching_on_a_line() -> None:
    """Of one label, sorted neighbours are the matching with the least total difference."""
    length = np.exp(np.random.default_rng(1).permutation(np.repeat(np.arange(40) * 0.2, 2) + np.tile([0, 0.01], 40)))
    units = Units.of(np.zeros(80, dtype=int), length, np.arange(80))
    pairs = all_pairs(units, np.ones(80, dtype=bool), np.random.default_rng(0))
    total = np.abs(np.log(length[pairs[:, 0]] / length[pairs[:, 1]])).sum()
    best = np.diff(np.sort(np.log(length)))[::2].sum()
    assert total == pytest.approx(best)


def test_drawn_pairs_are_some_of_all_and_their_first_is_random() -> None:
    units = records(1_000)
    every = {frozenset(p) for p in all_pairs(units, np.ones(1_000, dtype=bool), np.random.default_rng(9)).tolist()}
    drawn = draw_pairs(units, 300, np.ones(1_000, dtype=bool), np.random.default_rng(9))
    assert drawn.shape == (300, 2)
    assert {frozenset(p) for p in drawn.tolist()} <= every
    assert 110 < (units.length[drawn[:, 0]] > units.length[drawn[:, 1]]).sum() + 0.5 * (
        units.length[drawn[:, 0]] == units.length[drawn[:, 1]]).sum() < 190
    other = draw_pairs(units, 300, np.ones(1_000, dtype=bool), np.random.default_rng(10))
    assert {frozenset(p) for p in drawn.tolist()} != {frozenset(p) for p in other.tolist()}


def test_too_few_are_refused() -> None:
    few = records(20)
    with pytest.raises(ValueError, match=r"\d+ alike pairs can be made: expected 11"):
        draw_pairs(few, 11, np.ones(20, dtype=bool), np.random.default_rng(0))
    assert all_pairs(few, np.zeros(20, dtype=bool), np.random.default_rng(0)).shape == (0, 2)
