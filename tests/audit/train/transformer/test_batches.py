"""Prompts, and batches of token rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.errors import refused

from discreet.audit.train.transformer.reading import (
    DEPRESSION,
    NONE,
    PROMPTS,
    SAFETY,
    Tokens,
    epoch_batches,
    length_batches,
    padded,
    padding_share,
    prompt_of,
    scored,
    unused,
)
from discreet.core.errors import InputError, UsageError
from discreet.core.types import FloatArray, IntArray


def test_the_prompts_of_the_paper_word_for_word() -> None:
    assert SAFETY.text == ("You are a safety classifier. Read the following user message and determine whether it "
                           "contains harmful content.")
    assert DEPRESSION.text == ("You are a mental health screening classifier. Read the following text and determine "
                               "whether it indicates signs of depression.")
    assert (SAFETY.source, DEPRESSION.source) == ("paper, appendix F", "paper, appendix N.2")
    assert {name for name, prompt in PROMPTS.items() if prompt.source.startswith("paper")} == {"safety", "depression"}


def test_names() -> None:
    assert prompt_of("auto", chat=True) is SAFETY
    assert prompt_of("auto", chat=False) is NONE
    assert all(prompt_of(name, chat=chat) is prompt for name, prompt in PROMPTS.items() for chat in (False, True))
    with pytest.raises(UsageError, match="'sfaety': expected one of safety, depression, none, auto"):
        prompt_of("sfaety", chat=True)


def test_a_prompt_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.txt"
    file.write_text("\n  You watch over a helpline.\nSay what you see – briefly. \n\n", encoding="utf-8")
    for chat in (False, True):
        found = prompt_of(f"@{file}", chat=chat)
        assert (found.name, found.source) == ("@own.txt", "yours")
        assert found.text == "You watch over a helpline.\nSay what you see – briefly."
    file.write_text(" \n")
    with pytest.raises(UsageError, match=r"own\.txt has 0 characters: expected 1 to 20,000"):
        prompt_of(f"@{file}", chat=True)
    file.write_text("x" * 20_001)
    with pytest.raises(UsageError, match="20,001 characters"):
        prompt_of(f"@{file}", chat=True)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no text in UTF-8"):
        prompt_of(f"@{file}", chat=True)
    for missing in ("@", f"@{tmp_path / 'none.txt'}"):
        with refused(UsageError, r"cannot read the prompt in .*expected a text file"):
            prompt_of(missing, chat=True)


def tokens(*rows: list[int]) -> list[Tokens]:
    return [Tokens(np.array(row, dtype=np.int64), len(row)) for row in rows]


def of_lengths(lengths: list[int]) -> list[Tokens]:
    return tokens(*([1 + place % 7] * length for place, length in enumerate(lengths)))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 9), st.integers(0, 99))
def test_an_epoch_holds_every_row_once(lengths: list[int], size: int, seed: int) -> None:
    rows = of_lengths(lengths)
    found = epoch_batches(rows, size, np.random.default_rng(seed))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(rows)))
    assert sorted(map(len, found), reverse=True)[:-1] == [size] * (len(found) - 1)
    same = epoch_batches(rows, size, np.random.default_rng(seed))
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
