"""Texts as rows of word numbers: by a hash, which learns nothing, or by a vocabulary that training texts fitted.

Number 0 stands for no word; it fills rows up at the end.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.core.types import IntArray

PROSE = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
CODE = re.compile(r"\w+|[^\w\s]")
UNKNOWN = 1
"""The number of a word that a fitted vocabulary has not met."""


def words_of(text: str, *, code: bool = False) -> list[str]:
    """Words folded to lower case; of code, names and numbers as they are, and each mark."""
    return CODE.findall(text) if code else PROSE.findall(text.lower())


def hashed_ids(texts: Sequence[str], vocabulary: int, length: int, *, code: bool = False) -> IntArray:
    """(n, length) numbers 1 … vocabulary − 1 by CRC-32 of each word, and 0 behind the last.

    Of a text with more than `length` words the first half, rounded up, and the last are kept. ValueError for a
    vocabulary below 2 or a length below 1.
    """
    if vocabulary < 2 or length < 1:
        raise ValueError(f"vocabulary {vocabulary} and length {length}: expected at least 2 and 1")
    # A loop over words that remembers: texts repeat their words.
    kept: dict[str, int] = {}

    def number(word: str) -> int:
        if word not in kept:
            kept[word] = 1 + zlib.crc32(word.encode("utf-8", "surrogatepass")) % (vocabulary - 1)
        return kept[word]

    return _rows(texts, length, number, code=code)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Numbers of words: 0 nothing, 1 any other word, from 2 those of `words`. It holds words of the texts it met."""

    words: tuple[str, ...] = field(repr=False)
    code: bool = False

    @classmethod
    def fit(cls, texts: Sequence[str], size: int, *, code: bool = False) -> Vocabulary:
        """The commonest words of training texts, `size` − 2 at most; among equals the first by code point.

        ValueError for a size below 3.
        """
        if size < 3:
            raise ValueError(f"size is {size}: expected at least 3, two numbers stand for no and for any other word")
        counted = Counter(word for text in texts for word in words_of(text, code=code))
        ranked = sorted(counted, key=lambda word: (-counted[word], word))
        return cls(tuple(ranked[: size - 2]), code)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(self.words) + 2

    def ids(self, texts: Sequence[str], length: int) -> IntArray:
        """(n, length), cut as by `hashed_ids`."""
        places = {word: place for place, word in enumerate(self.words, start=UNKNOWN + 1)}
        return _rows(texts, length, lambda word: places.get(word, UNKNOWN), code=self.code)


def _rows(texts: Sequence[str], length: int, number: Callable[[str], int], *, code: bool) -> IntArray:
    found = np.zeros((len(texts), length), dtype=np.int64)
    for row, text in zip(found, texts, strict=True):
        words = words_of(text, code=code)
        if len(words) > length:
            tail = length // 2
            words = words[: length - tail] + words[len(words) - tail :]
        row[: len(words)] = [number(word) for word in words]
    return found
