"""Texts that stand in a table more than once: the same text, the same text with two labels, nearly the same text.

One text in two sets of a split is a member and a non-member at once; one text with two labels is noise that no model
can learn. The unit is `LabelledText.text_key`; near duplicates are kept, and kept together.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import InputError, UsageError, need
from discreet.core.types import IntArray
from discreet.inputs.texts import LabelledText, text_key

WORDS, AT_LEAST = 5, 0.8
BANDS, BAND_ROWS = 32, 4
"""A pair at Jaccard .8 is missed with probability (1 − .8⁴)³² < 10⁻⁷."""
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, eq=False)
class Duplicates:
    """Which rows say what another row says, as row numbers, rising.

    Of `n` rows: `repeated`, whose text stood in an earlier row, with the same label everywhere; `conflicting`, all rows
    of the `n_conflicting` texts that stand in the table with more than one label; and `near`, clusters of rows with
    different texts that are nearly the same, the others left out, None where nobody looked.
    """

    n: int
    repeated: IntArray
    conflicting: IntArray
    n_conflicting: int
    near: tuple[IntArray, ...] | None = None

    @property
    def dropped(self) -> IntArray:
        """Rows that `without_duplicates` leaves out, rising."""
        return np.union1d(self.repeated, self.conflicting)

    def to_json(self) -> dict[str, Any]:
        """Counts; the near ones null where nobody looked."""
        return {
            "rows": self.n, "kept": self.n - self.dropped.size, "repeated_rows": self.repeated.size,
            "conflicting_rows": self.conflicting.size, "conflicting_texts": self.n_conflicting,
            "near_clusters": None if self.near is None else len(self.near),
            "near_rows": None if self.near is None else sum(cluster.size for cluster in self.near),
        }

    def __str__(self) -> str:
        told = [f"{self.n - self.dropped.size:,} of {self.n:,} rows are kept",
                f"{self.repeated.size:,} repeat an earlier text",
                f"{self.conflicting.size:,} rows of {self.n_conflicting:,} texts have two labels"]
        if self.near is not None:
            told.append(f"{sum(cluster.size for cluster in self.near):,} rows in {len(self.near):,} clusters are "
                        f"nearly the same")
        return "; ".join(told)


def find_duplicates(rows: Sequence[LabelledText], *, near: bool = False) -> Duplicates:
    """What stands in the table twice; with `near`, what nearly does (`near_clusters`, a few seconds for 20,000)."""
    text = first_seen([row.text_key for row in rows])
    label = first_seen([row.label for row in rows])
    _, firsts = np.unique(text, return_index=True)
    conflict = np.zeros(firsts.size, dtype=np.bool_)
    conflict[text[label != label[firsts][text]]] = True
    later = np.ones(len(rows), dtype=np.bool_)
    later[firsts] = False
    repeated = np.flatnonzero(later & ~conflict[text])
    clusters = None
    if near:
        kept = firsts[~conflict]
        codes = near_clusters([rows[place].text_key for place in kept])
        clusters = tuple(kept[codes == code] for code in np.flatnonzero(np.bincount(codes, minlength=0) > 1))
    return Duplicates(len(rows), repeated, np.flatnonzero(conflict[text]), int(conflict.sum()), clusters)


def without_duplicates(rows: Sequence[LabelledText]) -> tuple[list[LabelledText], Duplicates]:
    """The first row of every text, in order, without texts that have two labels; and what was found.

    Near duplicates stay. Raises InputError where nothing is left.
    """
    found = find_duplicates(rows)
    dropped = set(found.dropped.tolist())
    kept = [row for place, row in enumerate(rows) if place not in dropped]
    if rows and not kept:
        raise InputError(f"all {len(rows):,} rows have texts that stand in the table with two labels; expected one "
                         f"label for each text")
    return kept, found


def merged_groups(*partitions: ArrayLike) -> IntArray:
    """The finest grouping that keeps together what any of the partitions (each (n,)) does, as numbers (n,).

    Raises ValueError for partitions of different lengths, or none.
    """
    given = [np.asarray(one) for one in partitions]
    if not given or any(one.ndim != 1 or one.shape != given[0].shape for one in given):
        raise ValueError(f"partitions have shapes {[one.shape for one in given]}: expected one shape (n,)")
    places = np.arange(given[0].size)
    firsts = [first[codes.reshape(-1)] for _, first, codes in
              (np.unique(one, return_index=True, return_inverse=True) for one in given)]
    return _components(np.concatenate(firsts), np.tile(places, len(given)), places.size)


def near_clusters(texts: Sequence[str]) -> IntArray:
    """Cluster of each text, (n,) int64, numbered from 0 in order of first appearance.

    Two texts are near when the sets of their shingles (5 words in a row; the whole text where it has fewer) have
    Jaccard similarity of .8 or more; a cluster is all that a chain of near texts reaches. MinHash finds the candidates
    (Broder 1997; datasketch), the exact similarity decides. Words are runs of letters and digits; case is the caller's
    (give `LabelledText.text_key`). Texts without a word are equal or nothing. MissingExtraError without datasketch.
    """
    datasketch = _datasketch()
    spoken = [tuple(WORD.findall(text)) or (text,) for text in texts]
    same, distinct = first_seen(spoken), list(dict.fromkeys(spoken))
    sets = [_shingles(text) for text in distinct]
    index = datasketch.MinHashLSH(num_perm=BANDS * BAND_ROWS, params=(BANDS, BAND_ROWS))
    joined: list[tuple[int, int]] = []
    signatures = datasketch.MinHash.generator(sets, num_perm=BANDS * BAND_ROWS, seed=0)
    for number, (one, signature) in enumerate(zip(sets, signatures, strict=True)):
        for other in index.query(signature):
            if _jaccard(one, sets[other]) >= AT_LEAST:
                joined.append((other, number))
        index.insert(number, signature, check_duplication=False)
    pairs = np.array(joined, dtype=np.int64).reshape(-1, 2)
    return first_seen(_components(pairs[:, 0], pairs[:, 1], len(distinct))[same].tolist())


def first_of_near(texts: Sequence[str]) -> IntArray:
    """Places, rising, of the texts to train on: the first of each cluster of `near_clusters`, after `text_key`."""
    return np.unique(near_clusters([text_key(text) for text in texts]), return_index=True)[1].astype(np.int64)


def nearest_duplicates(texts: Sequence[str], asked: IntArray) -> IntArray:
    """The place of the most similar other text for each of the places `asked` (k,), -1 where none is near.

    Near is as in `near_clusters`, Unicode-normalised and case-folded; of equally similar texts the first counts.
    MissingExtraError without datasketch.
    """
    datasketch = _datasketch()
    sets = [_shingles(tuple(WORD.findall(text)) or (text,)) for text in map(text_key, texts)]
    signatures = list(datasketch.MinHash.generator(sets, num_perm=BANDS * BAND_ROWS, seed=0))
    index = datasketch.MinHashLSH(num_perm=BANDS * BAND_ROWS, params=(BANDS, BAND_ROWS))
    for number, signature in enumerate(signatures):
        index.insert(number, signature, check_duplication=False)
    found = np.full(asked.size, -1, dtype=np.int64)
    for place, one in enumerate(asked.tolist()):
        others = sorted(set(index.query(signatures[one])) - {one})
        near = {other: _jaccard(sets[one], sets[other]) for other in others}
        if near and max(near.values()) >= AT_LEAST:
            found[place] = max(near, key=lambda other: near[other])
    return found


def _jaccard(one: AbstractSet[Any], other: AbstractSet[Any]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


class NearDuplicates:
    """Texts that come one after the other, none of them nearly the same as one before.

    Shingles and signatures are those of `near_clusters`; `at_least` is the Jaccard similarity, within (0, 1], from
    which two texts are near: at .7 answers of a hundred words that differ in one sentence of fifteen. A pair at .7 is
    missed with probability 2·10⁻⁴. It holds signatures and hashes of shingles, some 2 kB for a text, and no text.
    UsageError for another similarity, MissingExtraError without datasketch.
    """

    def __init__(self, at_least: float = 0.7) -> None:
        if not 0 < at_least <= 1:
            raise UsageError(f"a similarity of {at_least} was given; expected more than 0 and at most 1")
        self._datasketch = _datasketch()
        self._index = self._datasketch.MinHashLSH(num_perm=BANDS * BAND_ROWS, params=(BANDS, BAND_ROWS))
        self._sets: dict[str, frozenset[int]] = {}
        self.at_least = at_least

    def __len__(self) -> int:
        return len(self._sets)

    def add(self, key: str, text: str) -> bool:
        """Keep a text under a key that is new; False, and nothing is kept, where it is near one that is there.

        Raises UsageError for a key that was used before.
        """
        if key in self._sets:
            raise UsageError("a key was added twice; expected a new one for every text")
        folded = text_key(text)
        shingles = _shingles(tuple(WORD.findall(folded)) or (folded,))
        (signature,) = self._datasketch.MinHash.generator([shingles], num_perm=BANDS * BAND_ROWS, seed=0)
        mine = frozenset(map(zlib.crc32, shingles))
        for other in self._index.query(signature):
            if _jaccard(mine, self._sets[other]) >= self.at_least:
                return False
        self._index.insert(key, signature)
        self._sets[key] = mine
        return True


def _datasketch() -> Any:
    return need("datasketch", "finding near duplicates", "audit")


def _shingles(words: Sequence[str]) -> frozenset[bytes]:
    """Runs of `WORDS` words; all of them where there are fewer."""
    return frozenset(" ".join(words[start:start + WORDS]).encode("utf-8", "surrogatepass")
                     for start in range(max(1, len(words) - WORDS + 1)))


def first_seen(values: Sequence[object]) -> IntArray:
    """Equal values as equal numbers, (n,) int64, numbered from 0 in order of first appearance."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _components(one: IntArray, other: IntArray, n: int) -> IntArray:
    """Number of the component of each of n items that the pairs `one`–`other` join, in order of first appearance."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(one.size, dtype=np.int8), (one, other)), shape=(n, n))
    return first_seen(connected_components(edges, directed=False)[1].tolist())
