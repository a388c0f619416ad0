from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import UsageError
from discreet.inputs.encode.chunk import chunk_spans, chunks

WORDS = st.lists(st.text("abcé日😀", min_size=1, max_size=9), min_size=0, max_size=60)
GAPS = st.sampled_from([" ", "  ", "\n\n", "\t", "\u00a0"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    words = draw(WORDS)
    gaps = draw(st.lists(GAPS, min_size=len(words) + 1, max_size=len(words) + 1))
    return (gaps[0] if draw(st.booleans()) else "") + "".join(w + g for w, g in zip(words, gaps[1:], strict=True))


@st.composite
def settings(draw: st.DrawFn) -> tuple[int, int]:
    limit = draw(st.integers(4, 20))
    return limit, draw(st.integers(0, limit // 2))


def by_three(text: str) -> list[tuple[int, int]]:
    """Pieces of at most three characters of each word: sub-words without the blank."""
    return [(at, min(at + 3, m.end())) for m in re.finditer(r"\S+", text) for at in range(m.start(), m.end(), 3)]


def by_byte(text: str) -> list[tuple[int, int]]:
    """A token for every UTF-8 byte, white space too: several tokens share one character."""
    return [(i, i + 1) for i, c in enumerate(text) for _ in c.encode()]


def with_blank(text: str) -> list[tuple[int, int]]:
    """Words that carry the white space before them."""
    return [m.span() for m in re.finditer(r"\s*\S+", text)]


TOKENISERS = {"by_three": by_three, "by_byte": by_byte, "with_blank": with_blank}


def size(text: str, span: tuple[int, int], name: str) -> int:
    """Tokens of the whole text that end in a span."""
    return sum(span[0] <= max(s, e - 1) < span[1] for s, e in TOKENISERS[name](text))


@pytest.mark.parametrize("name", TOKENISERS)
@given(text=texts(), setting=settings())
def test_every_piece_fits_and_every_character_is_covered(name: str, text: str, setting: tuple[int, int]) -> None:
    limit, overlap = setting
    spans = chunk_spans(text, TOKENISERS[name], limit, overlap)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (a, b), (c, d) in pairwise(spans):
        assert a < c <= b < d
        assert size(text, (c, b), name) <= overlap
    assert all(size(text, span, name) <= limit for span in spans)


@pytest.mark.parametrize("name", TOKENISERS)
@given(text=texts(), setting=settings())
def test_no_word_is_cut_that_fits(name: str, text: str, setting: tuple[int, int]) -> None:
    limit, overlap = setting
    edges = {edge for span in chunk_spans(text, TOKENISERS[name], limit, overlap) for edge in span}
    for word in re.finditer(r"\S+", text):
        if size(text, word.span(), name) <= limit:
            assert not [e for e in edges if word.start() < e < word.end()]


@given(text=texts(), setting=settings())
def test_what_lies_near_together_lies_in_one_piece(text: str, setting: tuple[int, int]) -> None:
    limit, overlap = setting
    spans = chunk_spans(text, by_three, limit, overlap)
    words = [m.span() for m in re.finditer(r"\S+", text)]
    if any(size(text, w, "by_three") > limit - overlap for w in words):
        return
    for i, (start, _) in enumerate(words):
        for _, end in words[i : i + 8]:
            if size(text, (start, end), "by_three") <= overlap:
                assert any(a <= start and end <= b for a, b in spans)


@given(text=texts(), setting=settings())
def test_pieces_are_as_long_as_they_may_be(text: str, setting: tuple[int, int]) -> None:
    limit, overlap = setting
    spans = chunk_spans(text, by_three, limit, overlap)
    words = [m.start() for m in re.finditer(r"\S+", text)]
    for _, end in spans[:-1]:
        start = max(a for a, b in spans if b == end)
        if end in words:
            following = [w for w in words if w > end]
            longer = size(text, (start, following[0] if following else len(text)), "by_three")
            fits = size(text, (end, following[0] if following else len(text)), "by_three") <= limit
            assert longer > limit or not fits


def test_the_plain_case() -> None:
    text = " ".join(f"w{i}" for i in range(10))
    assert chunks(text, with_blank, 4, 2) == ["w0 w1 w2 w3 ", "w2 w3 w4 w5 ", "w4 w5 w6 w7 ", "w6 w7 w8 w9"]
    assert chunks(text, with_blank, 5, 0) == ["w0 w1 w2 w3 w4 ", "w5 w6 w7 w8 w9"]
    assert chunks(text, with_blank, 10, 5) == [text]


def test_a_word_beyond_the_limit_is_cut_between_its_tokens() -> None:
    assert chunks("ab " + "x" * 12 + " cd", by_three, 3, 1) == ["ab xxxxxx", "xxxxxxxxx ", "xxx cd"]


def test_empty_and_blank_text() -> None:
    assert chunks("", by_byte, 4, 2) == [""]
    assert chunks(" " * 9, by_three, 4, 2) == [" " * 9]


def test_white_space_that_is_all_tokens_is_covered() -> None:
    text = " " * 9
    pieces = chunks(text, by_byte, 4, 2)
    assert max(map(len, pieces)) <= 4
    assert chunk_spans(text, by_byte, 4, 2)[-1][1] == 9


@pytest.mark.parametrize(("limit", "overlap"), [(0, 0), (4, 3), (4, -1)])
def test_impossible_sizes(limit: int, overlap: int) -> None:
    with pytest.raises(UsageError, match=r"pieces of .* tokens"):
        chunks("a", by_byte, limit, overlap)
