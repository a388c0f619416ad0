"""Long text in overlapping pieces that each fit a number of tokens.

Nothing is dropped: the pieces cover every character, and facts that lie near one another lie in one piece.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate

from discreet.core.errors import UsageError

Offsets = Callable[[str], Sequence[tuple[int, int]]]
"""The character span [start, end) of every token of a text, in order."""

_WORD = re.compile(r"\S+")


def chunk_spans(text: str, offsets: Offsets, limit: int, overlap: int) -> list[tuple[int, int]]:
    """Character spans of the pieces of a text.

    A cut stands before a word, never inside one; only a word that alone has more than `limit` tokens is cut, between
    two of them. The first span starts at 0, the last one ends with the text, each starts where the one before still
    goes on or ends. Words in a row that have `overlap` tokens together or fewer lie whole in at least one piece
    (where no word has more than `limit - overlap` tokens).

    `offsets` is the tokeniser, without the special tokens that the encoder adds; `limit` (from 1) counts a piece's
    tokens, `overlap` (0 to `limit // 2`) those that two neighbours share at most. An empty text is one empty piece.

    Raises
    ------
    UsageError
        For a limit or an overlap that cannot be.
    """
    if limit < 1 or not 0 <= overlap <= limit // 2:
        raise UsageError(f"pieces of {limit} tokens with {overlap} shared: expected at least 1, and 0 to {limit // 2}")
    tokens = offsets(text)
    if len(tokens) <= limit:
        return [(0, len(text))]
    starts, sizes = _units(text, tokens, limit)
    bounds = [*starts, len(text)]
    return [(bounds[first], bounds[last]) for first, last in _pack(sizes, limit, overlap)]


def chunks(text: str, offsets: Offsets, limit: int, overlap: int) -> list[str]:
    """The pieces themselves; see `chunk_spans`. A text that fits is its own only piece."""
    return [text[start:end] for start, end in chunk_spans(text, offsets, limit, overlap)]


def _units(text: str, tokens: Sequence[tuple[int, int]], limit: int) -> tuple[list[int], list[int]]:
    """Where the smallest parts that stay whole begin, and how many tokens each has."""
    # A part is a word with the white space after it; where that is too much, word and white space apart; where that is
    # too much, a token. A token belongs to the part that holds its last character: a blank before a word goes with it.
    words = [m.span() for m in _WORD.finditer(text)]
    starts = [0, *(start for start, _ in words[1:])]
    places = [max(start, end - 1) for start, end in tokens]
    sizes = _sizes(starts, places)
    if max(sizes) > limit:
        starts = _finer(starts, sizes, limit, [edge for word in words for edge in word if edge < len(text)])
        sizes = _sizes(starts, places)
    if max(sizes) > limit:
        cut = [sizes[bisect_right(starts, start) - 1] > limit for start, _ in tokens]
        places = [start if inside else place for (start, _), place, inside in zip(tokens, places, cut, strict=True)]
        starts = _finer(starts, sizes, limit, [start for start, _ in tokens])
        sizes = _sizes(starts, places)
    return starts, sizes


def _finer(starts: list[int], sizes: list[int], limit: int, edges: list[int]) -> list[int]:
    """The starts, and those of the edges that lie in a part beyond the limit."""
    return sorted({*starts, *(edge for edge in edges if sizes[bisect_right(starts, edge) - 1] > limit)})


def _sizes(starts: list[int], places: list[int]) -> list[int]:
    found = Counter(bisect_right(starts, place) - 1 for place in places)
    return [found[i] for i in range(len(starts))]


def _pack(sizes: list[int], limit: int, overlap: int) -> list[tuple[int, int]]:
    """Ranges [first, last) of parts, each as long as the limit allows."""
    total = [0, *accumulate(sizes)]
    ranges: list[tuple[int, int]] = []
    first = last = 0
    while last < len(sizes):
        last = max(first + 1, bisect_right(total, total[first] + limit) - 1)
        ranges.append((first, last))
        least, first = first + 1, last
        while (last < len(sizes) and first > least and total[last] - total[first - 1] <= overlap
               and total[last + 1] - total[first - 1] <= limit):
            first -= 1
    return ranges
