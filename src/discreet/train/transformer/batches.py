"""Batches of token rows: texts of like length together, padded on the right, so that little computation is wasted.

A row does not depend on the others of its batch. Padding follows the text, where no causal model looks and the mask
hides it from the rest, and `LoadedClassifier` pools decoders at the last token that the mask shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from discreet.core.errors import InputError
from discreet.train.base import FloatArray, IntArray
from discreet.train.transformer.reading import Tokens

POOL = 50
"""Batches that are drawn together and sorted by length."""


def epoch_batches(rows: Sequence[Tokens], size: int, rng: np.random.Generator, *, pool: int = POOL) -> list[IntArray]:
    """Places of one epoch's batches, every row in one of them: [(size,), …], one of them maybe shorter.

    Rows are shuffled and cut into pools of `pool` batches; each pool is sorted by length and cut into batches, whose
    order is shuffled over the whole epoch. The same state of `rng` gives the same batches. Raises ValueError for no
    rows, and for `size` or `pool` below 1.
    """
    if not rows or size < 1 or pool < 1:
        raise ValueError(f"{len(rows)} rows, size {size}, pool {pool}: expected at least 1 of each")
    lengths = _lengths(rows)
    shuffled = rng.permutation(len(rows))
    found: list[IntArray] = []
    for start in range(0, len(rows), size * pool):
        drawn = shuffled[start : start + size * pool]
        found += _cut(drawn[np.argsort(lengths[drawn], kind="stable")], size)
    return [found[place] for place in rng.permutation(len(found))]


def length_batches(rows: Sequence[Tokens], size: int) -> list[IntArray]:
    """Places of batches for scoring, longest first: what does not fit into memory fails at once.

    Raises ValueError for `size` below 1.
    """
    if size < 1:
        raise ValueError(f"size is {size}: expected at least 1")
    return _cut(np.argsort(-_lengths(rows), kind="stable"), size)


def padded(rows: Sequence[Tokens], pad: int) -> tuple[IntArray, IntArray]:
    """(n, longest) ids and mask, padded on the right: in a causal model no text can see what follows it."""
    longest = max(len(row) for row in rows)
    ids, mask = np.full((len(rows), longest), pad, dtype=np.int64), np.zeros((len(rows), longest), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)], mask[place, : len(row)] = row.ids, 1
    return ids, mask


def scored(rows: Sequence[Tokens], size: int, pad: int, score: Callable[[IntArray, IntArray], FloatArray]
           ) -> FloatArray:
    """(n, d) results in the order of `rows`, computed `size` at a time by length.

    `score` maps (b, longest) ids and mask to (b, d). Raises ValueError for no rows.
    """
    if not rows:
        raise ValueError("no rows: expected at least 1")
    batches = length_batches(rows, size)
    parts = [np.asarray(score(*padded([rows[place] for place in places], pad))) for places in batches]
    found: FloatArray = np.empty((len(rows), *parts[0].shape[1:]), dtype=np.float64)
    for places, part in zip(batches, parts, strict=True):
        found[places] = part
    return found


def padding_share(batches: Sequence[IntArray], rows: Sequence[Tokens]) -> float:
    """Positions that are padding, of all that are computed; in [0, 1)."""
    lengths = _lengths(rows)
    computed = sum(len(places) * int(lengths[places].max()) for places in batches)
    return 1 - sum(int(lengths[places].sum()) for places in batches) / computed


def unused(rows: Sequence[Tokens], preferred: int | None, vocabulary: int) -> int:
    """A token id that no text of the batch holds, the preferred one if it is such.

    A classifier without a padding token of its own reads the last token that is not padding; with a token that stands
    in no text that is the last of each text, in every version of transformers.
    """
    there = np.unique(np.concatenate([row.ids for row in rows]))
    if preferred is not None and preferred not in there:
        return preferred
    free = np.setdiff1d(np.arange(min(vocabulary, there.size + 1)), there)
    if not free.size:
        raise InputError(f"a batch of {len(rows)} texts uses all {vocabulary:,} tokens, and none is left to pad with; "
                         "give the model a padding token, or make the batch smaller")
    return int(free[0])


def _lengths(rows: Sequence[Tokens]) -> IntArray:
    return np.array([len(row) for row in rows], dtype=np.int64)


def _cut(places: IntArray, size: int) -> list[IntArray]:
    return [places[start : start + size] for start in range(0, len(places), size)]
