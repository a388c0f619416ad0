"""Near duplicates of texts: MinHash finds candidates, exact Jaccard similarity of word 5-grams decides.

Broder (SEQUENCES 1997); bands as in Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, ch. 3. With 32 bands of
4 values, a pair at Jaccard .8 is missed with probability (1 − .8⁴)³² < 10⁻⁷, and with one that is no larger where fewer
of the 128 values agree than lie six standard deviations below what is expected; what is found is never wrong, apart
from collisions of 64-bit hashes. Hashes depend on nothing but the words and a seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.data.rounding import IntArray

HashArray: TypeAlias = NDArray[np.uint64]

WORDS, AT_LEAST = 5, 0.8
BANDS, BAND_ROWS = 32, 4
SIGMAS = 6.0
WORD = re.compile(r"\w+")
# Shingles hashed at a time: 8 MiB a temporary array.
_CHUNK = 1 << 20


class Forest:
    """Union-find over n items (Tarjan, JACM 1975, with path halving); the root of a set is its smallest item."""

    def __init__(self, n: int) -> None:
        self._above = list(range(n))

    def root(self, item: int) -> int:
        """The smallest item of the set that `item` is in."""
        above = self._above
        while above[item] != item:
            above[item] = item = above[above[item]]
        return item

    def join(self, one: int, two: int) -> None:
        """Put the sets of two items together."""
        low, high = sorted((self.root(one), self.root(two)))
        self._above[high] = low

    def codes(self) -> IntArray:
        """Number of each item's set, (n,) int64, sets numbered from 0 in order of their first items."""
        return first_seen([self.root(item) for item in range(len(self._above))])


def first_seen(values: Sequence[object]) -> IntArray:
    """Equal values as equal numbers, (n,) int64, numbered from 0 in order of first appearance."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def near_clusters(texts: Sequence[str], *, words: int = WORDS, at_least: float = AT_LEAST, seed: int = 0) -> IntArray:
    """Cluster of each text, (n,) int64, numbered from 0 in order of first appearance.

    Two texts are near when the sets of their shingles (`words` words in a row; the whole text where it has fewer) have
    Jaccard similarity of `at_least` or more; a cluster is all that a chain of near texts reaches. Words are runs of
    letters and digits; case is the caller's (give `LabelledText.text_key`). Texts without a word are equal or nothing.
    Time grows with the number of texts and, among texts that share about half their shingles, with pairs of them.
    Raises ValueError for `words` below 1 and `at_least` outside [.8, 1]: the bands are made for that.
    """
    if words < 1 or not AT_LEAST <= at_least <= 1.0:
        raise ValueError(f"words is {words} and at_least {at_least}: expected words from 1 and a share in [.8, 1]")
    spoken = [tuple(WORD.findall(text)) or (text,) for text in texts]
    same = first_seen(spoken)
    distinct = list(dict.fromkeys(spoken))
    hashes, starts = _shingles(distinct, words, seed)
    signatures = _signatures(hashes, starts, seed)
    clusters = _Clusters(hashes, starts, signatures, at_least)
    for bucket in _buckets(signatures):
        clusters.settle(bucket)
    return first_seen(clusters.forest.codes()[same].tolist())


class _Clusters:
    """Clusters of texts, joined bucket by bucket."""

    def __init__(self, hashes: HashArray, starts: IntArray, signatures: NDArray[np.uint32], at_least: float) -> None:
        self.forest = Forest(starts.size - 1)
        self._hashes, self._starts, self._signatures = hashes, starts, signatures
        self._at_least = at_least
        n = signatures.shape[1]
        self._agree = n * at_least - SIGMAS * np.sqrt(n * at_least * (1.0 - at_least))
        self._sets: dict[int, frozenset[int]] = {}
        self._far: set[tuple[int, int]] = set()

    def settle(self, bucket: IntArray) -> None:
        """Compare all of a bucket that no chain joins yet; texts that are all joined cost one pass, not all pairs."""
        roots = np.array([self.forest.root(item) for item in bucket.tolist()])
        for place, one in enumerate(bucket.tolist()):
            apart = np.flatnonzero(roots[place + 1:] != roots[place]) + place + 1
            if not apart.size:
                # Those that come later are all joined with this one, so with each other.
                return
            agreeing = (self._signatures[bucket[apart]] == self._signatures[one]).sum(axis=1) >= self._agree
            for other in apart[agreeing].tolist():
                two = int(bucket[other])
                if roots[other] != roots[place] and (one, two) not in self._far:
                    if self._near(one, two):
                        self.forest.join(one, two)
                        low, high = sorted((int(roots[place]), int(roots[other])))
                        roots[roots == high] = low
                    else:
                        self._far.add((one, two))

    def _near(self, one: int, two: int) -> bool:
        first, second = self._set(one), self._set(two)
        shared = len(first & second)
        return shared / (len(first) + len(second) - shared) >= self._at_least

    def _set(self, item: int) -> frozenset[int]:
        if item not in self._sets:
            self._sets[item] = frozenset(self._hashes[self._starts[item]:self._starts[item + 1]].tolist())
        return self._sets[item]


def _shingles(spoken: Sequence[tuple[str, ...]], words: int, seed: int) -> tuple[HashArray, IntArray]:
    """Hashes of the shingles of all texts, one text after the other, and where each text's begin, (n + 1,)."""
    key = seed.to_bytes(8, "big", signed=True)
    of_word = {word: int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest(),
                                    "big") for word in set().union(*spoken)}
    lengths = np.array([len(text) for text in spoken], dtype=np.int64)
    wide = np.maximum(lengths, words)
    # Short texts are filled up with 0, which no word hashes to by more than chance.
    begins = np.cumsum(wide) - wide
    flat = np.zeros(int(wide.sum()), dtype=np.uint64)
    places = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    flat[places] = np.array([of_word[word] for text in spoken for word in text], dtype=np.uint64)
    counts = wide - words + 1
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    first = np.repeat(begins - starts[:-1], counts) + np.arange(int(counts.sum()))
    hashes = np.zeros(first.size, dtype=np.uint64)
    for offset in range(words):
        hashes = _mixed(hashes + flat[first + offset])
    return hashes, starts


def _mixed(values: HashArray) -> HashArray:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a bijection of 64-bit numbers."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _signatures(hashes: HashArray, starts: IntArray, seed: int) -> NDArray[np.uint32]:
    """Smallest value (its upper half) of each text under each of BANDS · BAND_ROWS hash functions, (n, functions)."""
    n_functions, n = BANDS * BAND_ROWS, starts.size - 1
    origin = _mixed(np.array([seed], dtype=np.int64).view(np.uint64))
    drawn = _mixed(np.arange(2 * n_functions, dtype=np.uint64) + origin)
    factors, shifts = drawn[:n_functions] | np.uint64(1), drawn[n_functions:]
    signatures = np.empty((n, n_functions), dtype=np.uint32)
    low = 0
    while low < n:
        # As many whole texts as fit, and at least one.
        high = max(low + 1, int(np.searchsorted(starts, starts[low] + _CHUNK, side="right")) - 1)
        part, edges = hashes[starts[low]:starts[high]], starts[low:high] - starts[low]
        for number in range(n_functions):
            smallest = np.minimum.reduceat(part * factors[number] + shifts[number], edges)
            signatures[low:high, number] = smallest >> np.uint64(32)
        low = high
    return signatures


def _buckets(signatures: NDArray[np.uint32]) -> Iterator[IntArray]:
    """Texts, rising, that agree in all values of a band, for each band."""
    for band in range(BANDS):
        key = np.zeros(signatures.shape[0], dtype=np.uint64)
        for number in range(band * BAND_ROWS, (band + 1) * BAND_ROWS):
            key = _mixed(key + signatures[:, number])
        order = np.argsort(key, kind="stable")
        begins = np.flatnonzero(np.diff(key[order], prepend=~key[order[:1]]))
        sizes = np.diff(begins, append=key.size)
        for begin, size in zip(begins[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
            yield order[begin:begin + size]
