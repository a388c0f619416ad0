"""Texts as rows of word numbers, by a hash, which learns nothing.

Number 0 stands for no word; it fills rows up at the end.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

from discreet.core.types import IntArray

PROSE = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
CODE = re.compile(r"\w+|[^\w\s]")


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
    # Each word is hashed once: texts repeat their words.
    kept: dict[str, int] = {}
    found = np.zeros((len(texts), length), dtype=np.int64)
    for row, text in zip(found, texts, strict=True):
        words = words_of(text, code=code)
        if len(words) > length:
            tail = length // 2
            words = words[: length - tail] + words[len(words) - tail :]
        for word in words:
            if word not in kept:
                kept[word] = 1 + zlib.crc32(word.encode("utf-8", "surrogatepass")) % (vocabulary - 1)
        row[: len(words)] = [kept[word] for word in words]
    return found
