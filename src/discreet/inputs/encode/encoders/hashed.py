"""Hashed words and parts of words: a lexical vector without a vocabulary.

Feature hashing with a signed hash (Weinberger et al., ICML 2009) of word 1- and 2-grams and of character 3- to 5-grams
within words, with sublinear term frequency. Nothing is learnt and nothing stored, so a saved encoder can hold no word
of its training data. The hash is a multilinear one over code points (Thorup, SODA 2009; Lemire and Kaser, Comput. J.
2014) with a fixed key and the finaliser of SplitMix64: it gives the same vectors in every process and release.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.core.unicode import prepare
from discreet.inputs.encode.base import encoders, open_encoder, refuse_one_string, saving, unit

SCHEME = 1
"""Changes when the same text would get another vector."""

CHARACTER_GRAMS = (3, 4, 5)

_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"[0-9]")
_BLANK = 32

Words = NDArray[np.uint64]


@encoders.register("hashed")
class HashedEncoder:
    """Texts to `dim` hashed features, L2-normalised; the zero vector where a text has no word.

    Case and digits are folded ("52" and "47" are one word "00"): what a number is worth is the business of the
    evidence, and a vector that keeps numbers keeps what identifies. Words and characters weigh the same. Raises
    UsageError for a `dim` that is no whole number from 16 to 2^20.
    """

    kind = "hashed"

    def __init__(self, dim: int = 4096) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int) or not 16 <= dim <= 1 << 20:
            raise UsageError(f"a hashed encoder of dim {dim!r}: expected a whole number from 16 to {1 << 20}")
        self.dim = dim
        self.name = f"hashed-{dim}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """An (n, dim) array."""
        refuse_one_string(texts)
        return np.array([hashed_row(text, self.dim) for text in texts], dtype=np.float32).reshape(-1, self.dim)

    def chunks(self, text: str) -> list[str]:
        """The text itself: it always fits."""
        return [text]

    def save(self, folder: Path) -> None:
        """Write `encoder.json`."""
        with saving(folder, self, {"scheme": SCHEME}):
            pass

    @classmethod
    def load(cls, folder: Path) -> HashedEncoder:
        """Read back what `save` wrote. Raises InputError, also where this discreet hashes in another way."""
        manifest = open_encoder(folder, cls.kind)
        scheme = manifest.facts["config"].get("scheme")
        if scheme != SCHEME:
            raise InputError(f"{folder} was hashed by scheme {scheme!r}; this discreet has {SCHEME}: make it again")
        try:
            return cls(manifest.fact("dim", int))
        except UsageError as error:
            raise InputError(f"{folder}: {error}") from None


def hashed_row(text: str, dim: int) -> NDArray[np.float32]:
    """The vector of one text: (dim,), of norm 1 or 0."""
    words = _WORD.findall(_DIGIT.sub("0", prepare(text).text.casefold()))
    if not words:
        return np.zeros(dim, dtype=np.float32)
    spelt = f" {' '.join(words)} ".encode("utf-32-le", "surrogatepass")
    codes: Words = np.frombuffer(spelt, dtype="<u4").astype(np.uint64)
    blank = codes == _BLANK
    return unit(np.add(_table(_words(codes, blank), dim), _table(_parts(codes, blank), dim)))


def _words(codes: Words, blank: NDArray[np.bool_]) -> Words:
    """Hashes of words and of pairs of neighbours."""
    at = np.flatnonzero(~blank)
    starts = np.flatnonzero(blank[:-1]) + 1
    inside = at - starts[np.cumsum(blank)[at] - 1]
    powers = np.multiply.accumulate(np.full(int(inside.max()) + 1, _key("word", 1)[0]))
    single = _mix(np.add.reduceat(codes[at] * powers[inside], np.flatnonzero(inside == 0)))
    first, second = _key("pair", 2)
    return np.concatenate([single, _mix(single[:-1] * first + single[1:] * second)])


def _parts(codes: Words, blank: NDArray[np.bool_]) -> Words:
    """Hashes of the character n-grams of every word with a blank on either side."""
    found = []
    for n in CHARACTER_GRAMS:
        if (count := len(codes) - n + 1) > 0:
            key = _key(f"part{n}", n + 1)
            hashes = sum((codes[k : k + count] * key[k] for k in range(n)), np.full(count, key[n]))
            crosses = np.logical_or.reduce([blank[k : k + count] for k in range(1, n - 1)])
            found.append(_mix(hashes[~crosses]))
    return np.concatenate(found)


def _table(hashes: Words, dim: int) -> NDArray[np.float64]:
    """Signed sums of 1 + ln(tf) by column, scaled to norm 1."""
    distinct, counts = np.unique(hashes, return_counts=True)
    signs = np.where(distinct >> np.uint64(63), 1.0, -1.0)
    columns = (distinct % np.uint64(dim)).astype(np.intp)
    row = np.asarray(np.bincount(columns, weights=(1 + np.log(counts)) * signs, minlength=dim), dtype=np.float64)
    return row / (float(np.sqrt((row * row).sum())) or 1.0)


def _mix(x: Words) -> Words:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@cache
def _key(purpose: str, count: int) -> Words:
    """Fixed odd multipliers."""
    digest = hashlib.blake2b(f"discreet.hashed.{SCHEME}.{purpose}".encode(), digest_size=8 * count).digest()
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64) | np.uint64(1)

