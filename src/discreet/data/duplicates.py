"""Texts that stand in a table more than once: the same text, the same text with two labels, nearly the same text.

One text on both sides of a split is a member and a non-member at once; one text with two labels is noise that no side
can learn. The unit is `LabelledText.text_key`; near duplicates are kept, and kept together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.errors import InputError
from discreet.data.rounding import IntArray
from discreet.data.shingles import Forest, first_seen, near_clusters
from discreet.data.texts import LabelledText


@dataclass(frozen=True, slots=True, eq=False)
class Duplicates:
    """Which rows say what another row says. Row numbers only; rising.

    Attributes
    ----------
    n : int
        Rows looked at.
    repeated : (r,) int64
        Rows whose text stood in an earlier row, with the same label everywhere.
    conflicting : (c,) int64
        All rows of texts that stand in the table with more than one label.
    n_conflicting : int
        How many texts those are.
    near : tuple of (m,) int64, or None
        Clusters of rows with different texts that are nearly the same, conflicting and repeated rows left out; None
        where nobody looked.
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


def without_duplicates(rows: Sequence[LabelledText], *, near: bool = False
                       ) -> tuple[list[LabelledText], Duplicates]:
    """The first row of every text, in order, without texts that have two labels; and what was found.

    Near duplicates stay: they are one group of `near_groups`. Raises InputError where nothing is left.
    """
    found = find_duplicates(rows, near=near)
    dropped = set(found.dropped.tolist())
    kept = [row for place, row in enumerate(rows) if place not in dropped]
    if rows and not kept:
        raise InputError(f"all {len(rows):,} rows have texts that stand in the table with two labels; expected one "
                         f"label for each text")
    return kept, found


def near_groups(rows: Sequence[LabelledText], *, groups: ArrayLike | None = None) -> IntArray:
    """Rows that must stay on one side of a split, as group numbers (n,), numbered in order of first appearance.

    Rows of one user or document (`LabelledText.group`) and rows of nearly the same text are together, and whatever a
    chain of both reaches. `groups` (n,) in place of the rows' own. Every other row is a group of its own.
    """
    texts = near_clusters([row.text_key for row in rows])
    if groups is not None:
        return merged_groups(texts, groups)
    own = [("user", row.group) if row.group is not None else ("row", place) for place, row in enumerate(rows)]
    return merged_groups(texts, first_seen(own))


def merged_groups(*partitions: ArrayLike) -> IntArray:
    """The finest grouping that keeps together what any of the partitions (each (n,)) does, as numbers (n,).

    Raises ValueError for partitions of different lengths, or none.
    """
    given = [np.asarray(one) for one in partitions]
    if not given or any(one.ndim != 1 or one.shape != given[0].shape for one in given):
        raise ValueError(f"partitions have shapes {[one.shape for one in given]}: expected one shape (n,)")
    forest = Forest(given[0].size)
    for one in given:
        _, firsts, codes = np.unique(one, return_index=True, return_inverse=True)
        for place, first in enumerate(firsts[codes].tolist()):
            forest.join(first, place)
    return forest.codes()
