from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InputError
from discreet.train.base import FloatArray, IntArray
from discreet.train.transformer.batches import epoch_batches, length_batches, padded, padding_share, scored, unused
from discreet.train.transformer.reading import Tokens


def tokens(*rows: list[int]) -> list[Tokens]:
    return [Tokens(np.array(row, dtype=np.int64), len(row)) for row in rows]


def of_lengths(lengths: list[int]) -> list[Tokens]:
    return tokens(*([1 + place % 7] * length for place, length in enumerate(lengths)))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 4),
       st.integers(0, 99))
def test_an_epoch_holds_every_row_once(lengths: list[int], size: int, pool: int, seed: int) -> None:
    rows = of_lengths(lengths)
    found = epoch_batches(rows, size, np.random.default_rng(seed), pool=pool)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(rows)))
    assert sorted(map(len, found), reverse=True)[:-1] == [size] * (len(found) - 1)
    same = epoch_batches(rows, size, np.random.default_rng(seed), pool=pool)
    assert [batch.tolist() for batch in same] == [batch.tolist() for batch in found]


def test_little_padding_and_no_order_of_length() -> None:
    """The mean of 10 epochs, lengths as of real texts: log-normal, from a few to a few hundred tokens."""
    rng = np.random.default_rng(0)
    rows = of_lengths([int(length) for length in np.clip(rng.lognormal(3.5, 0.8, 2000), 4, 512)])
    bucketed = [epoch_batches(rows, 8, rng) for _ in range(10)]
    plain = [list(rng.permutation(2000).reshape(-1, 8)) for _ in range(10)]
    padding, without = (np.mean([padding_share(epoch, rows) for epoch in epochs]) for epochs in (bucketed, plain))
    assert padding < 0.1
    assert without > 0.4
    # A curriculum from short to long would be another way of training.
    longest = np.array([[max(len(rows[place]) for place in batch) for batch in epoch] for epoch in bucketed])
    assert max(abs(np.corrcoef(epoch, np.arange(250))[0, 1]) for epoch in longest) < 0.3
    assert max(abs(np.corrcoef(epoch[1:], epoch[:-1])[0, 1]) for epoch in longest) < 0.3
    mates = {tuple(sorted(batch.tolist())) for epoch in bucketed for batch in epoch}
    assert len(mates) > 0.99 * 10 * 250


def test_pools_are_what_is_sorted() -> None:
    """With a pool of one batch there is nothing to sort: the epoch is a plain shuffle."""
    rows = of_lengths(list(range(1, 41)))
    spread = [np.ptp([len(rows[place]) for place in batch])
              for batch in epoch_batches(rows, 4, np.random.default_rng(1), pool=1)]
    sorted_spread = [np.ptp([len(rows[place]) for place in batch])
                     for batch in epoch_batches(rows, 4, np.random.default_rng(1), pool=10)]
    assert np.mean(spread) > 15
    assert sorted_spread == [3] * 10


def test_impossible_sizes() -> None:
    rng = np.random.default_rng(0)
    for rows, size, pool in (([], 1, 1), (of_lengths([1]), 0, 1), (of_lengths([1]), 1, 0)):
        with pytest.raises(ValueError, match="expected at least 1"):
            epoch_batches(rows, size, rng, pool=pool)
    with pytest.raises(ValueError, match="expected at least 1"):
        length_batches(of_lengths([1]), 0)
    with pytest.raises(ValueError, match="expected at least 1"):
        scored([], 1, 0, lambda ids, mask: np.zeros((1, 1)))


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=20), st.integers(1, 6))
def test_results_come_in_the_order_of_the_rows(given_rows: list[list[int]], size: int) -> None:
    """The score is computed of what the mask shows, so that padding, had it counted, would be seen."""
    sizes: list[int] = []

    def score(ids: IntArray, mask: IntArray) -> FloatArray:
        sizes.append(len(ids))
        assert (ids[mask == 0] == 777).all()
        return np.stack([(ids * mask).sum(1), (ids * mask * np.arange(ids.shape[1])).sum(1)], axis=1).astype(float)

    found = scored(tokens(*given_rows), size, 777, score)
    expected = [[sum(row), sum(place * token for place, token in enumerate(row))] for row in given_rows]
    assert found.tolist() == expected
    assert max(sizes) <= size


def test_the_longest_first() -> None:
    rows = of_lengths([3, 9, 1, 9, 4])
    assert [batch.tolist() for batch in length_batches(rows, 2)] == [[1, 3], [4, 0], [2]]


def test_share_of_padding() -> None:
    rows = of_lengths([2, 4, 1])
    assert padding_share([np.array([0, 1]), np.array([2])], rows) == pytest.approx(2 / 9)
    assert padding_share([np.array([1])], rows) == 0


def test_padding_is_on_the_right() -> None:
    ids, mask = padded(tokens([5, 6, 7], [8]), 9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=8), min_size=1, max_size=4),
       st.none() | st.integers(0, 20))
def test_padding_stands_in_no_text(rows: list[list[int]], preferred: int | None) -> None:
    there = {token for row in rows for token in row}
    if len(there) == 21:
        with pytest.raises(InputError, match="uses all 21 tokens"):
            unused(tokens(*rows), preferred, 21)
        return
    found = unused(tokens(*rows), preferred, 21)
    assert found not in there
    assert 0 <= found < 21
    assert preferred is None or preferred in there or found == preferred


def test_no_token_is_left() -> None:
    with pytest.raises(InputError, match="uses all 3 tokens"):
        unused(tokens([0, 1], [2]), 2, 3)
