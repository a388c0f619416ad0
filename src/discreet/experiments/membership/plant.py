"""The positive control: how many records to plant, who trains on which, and what that costs.

Enough records that a leak of AUC `PLANTED_AUC` in them is seen four times in five, at every number of repetitions; but
never so many that the audited models learn mostly repeated rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.audit.core.power import PLANTED_AUC, planted_detectable, planted_needed

IntArray = NDArray[np.int64]

FEWEST_PLANTED = 10
"""Records of each number of repetitions in each of A and B, at the least: with fewer, those are not planted."""
MOST_PLANTED_ROWS = 0.25
"""Planted rows, repetitions counted, are at most this share of the rows of A, and of B."""


def records_to_plant(times: Sequence[int], size: int) -> dict[int, int]:
    """Records planted in each of A and B, by repetitions, where A has `size` rows.

    As many of each as `planted_needed` asks for, or as `MOST_PLANTED_ROWS` leaves room for. Where that is fewer than
    `FEWEST_PLANTED`, the most repeated are not planted; an empty result means that there is no room for any.
    """
    kept = sorted(times)
    while kept:
        room = int(MOST_PLANTED_ROWS * size) // sum(kept)
        if room >= FEWEST_PLANTED:
            each = max(FEWEST_PLANTED, min(room, planted_needed(PLANTED_AUC, len(kept))))
            return dict.fromkeys(kept, each)
        kept.pop()
    return {}


def planted_rows(planted: Mapping[int, int]) -> int:
    """Rows that planting adds to each of A and B, repetitions counted."""
    return sum(times * number for times, number in planted.items())


def assign_planted(pool: IntArray, labels: IntArray, planted: Mapping[int, int], rng: Generator
                   ) -> tuple[IntArray, IntArray]:
    """How often each record of the pool is repeated, and whether A trains on it (1) or B (0).

    Exactly half of each number of repetitions goes to A, and every class is shared out evenly, to within one record.

    Parameters
    ----------
    pool : (p,) int
        Row numbers; p is twice the records of `planted`.
    labels : (n,) int
        Class of each row of the table.
    """
    cells = np.array([(times, in_a) for times in planted for in_a in (0, 1)], dtype=np.int64)
    shuffled = rng.permutation(pool.size)
    by_label = shuffled[np.argsort(labels[pool[shuffled]], kind="stable")]
    cell_of = np.empty(pool.size, dtype=np.int64)
    cell_of[by_label] = rng.permutation(len(cells))[np.arange(pool.size) % len(cells)]
    return cells[cell_of, 0], cells[cell_of, 1]


def planted_notes(times: Sequence[int], planted: Mapping[int, int], size: int, why: str = "") -> list[str]:
    """What was planted, what it costs and what it can show, a clause each; empty where nothing was asked for.

    `size` is the number of rows of A, or of B where that is smaller, and `why` follows it.
    """
    if not times:
        return []
    notes = []
    if missing := [one for one in sorted(times) if one not in planted]:
        enough = ceil(FEWEST_PLANTED * sum(times) / MOST_PLANTED_ROWS)
        notes.append(
            f"no records were planted {_listed(missing)} times: {FEWEST_PLANTED} of each number of repetitions are "
            f"needed, planted rows are at most {MOST_PLANTED_ROWS:.0%} of A, and A has {size:,} rows{why}; there is "
            f"room for all from {enough:,} rows")
    if not planted:
        return [*notes, "without planted records nothing shows that a leak would have been seen, so no model can pass"]
    each, rows = next(iter(planted.values())), planted_rows(planted)
    notes.append(f"planted records cost {rows:,} more rows to train on for each of f_A and f_B, {rows / size:.0%} of "
                 f"A's {size:,}, and {2 * each * len(planted):,} records that are on no side")
    found = planted_detectable(each, each * len(planted), 1.0 - 0.05 / len(planted))
    seen = "no leak" if found is None else f"an AUC of {found:.2f}"
    notes.append(f"{each} planted records of each number of repetitions show {seen} in them with power .8"
                 + ("" if found is not None and found <= PLANTED_AUC + 0.005 else
                    f", where {PLANTED_AUC:g} was aimed at: the control is weak, more examples would strengthen it"))
    return notes


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(filter(None, [", ".join(map(str, numbers[:-1])), str(numbers[-1])]))
