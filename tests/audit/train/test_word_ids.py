from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.train.word_ids import hashed_ids, words_of


def test_words() -> None:
    assert words_of("Don't STOP, it's 3_4 Ünal…") == ["don't", "stop", "it's", "3", "4", "ünal"]
    assert words_of("if (a->B != 0x1F) {", code=True) == ["if", "(", "a", "-", ">", "B", "!", "=", "0x1F", ")", "{"]
    assert words_of(" \n") == []


def test_hashed() -> None:
    ids = hashed_ids(["one two one", ""], 50, 4)
    one, two = (1 + zlib.crc32(word.encode()) % 49 for word in ("one", "two"))
    assert ids.tolist() == [[one, two, one, 0], [0, 0, 0, 0]]
    assert ids.dtype == np.int64


def test_head_and_tail() -> None:
    text = "a1 b2 c3 d4 e5 f6 g7"
    each = dict(zip(text.split(), hashed_ids(text.split(), 10**6, 1)[:, 0].tolist(), strict=True))
    for length, kept in ((7, text), (5, "a1 b2 c3 f6 g7"), (2, "a1 g7"), (1, "a1")):
        assert hashed_ids([text], 10**6, length).tolist() == [[each[word] for word in kept.split()]]


@given(st.lists(st.text(max_size=40), max_size=4), st.integers(2, 30), st.integers(1, 8), st.booleans())
def test_any_text_gives_numbers_in_range_of_its_own(texts: list[str], size: int, length: int, code: bool) -> None:
    ids = hashed_ids(texts, size, length, code=code)
    assert ids.shape == (len(texts), length)
    for text, row in zip(texts, ids, strict=True):
        there = min(length, len(words_of(text, code=code)))
        assert (row[:there] >= 1).all()
        assert (row[:there] < size).all()
        assert (row[there:] == 0).all()
        assert hashed_ids([text], size, length, code=code).tolist() == [row.tolist()]


def test_impossible_sizes() -> None:
    for vocabulary, length in ((1, 3), (5, 0)):
        with pytest.raises(ValueError, match="expected at least 2 and 1"):
            hashed_ids(["a"], vocabulary, length)
