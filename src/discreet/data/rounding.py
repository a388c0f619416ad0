"""Controlled rounding: a table of whole numbers next to one of fractions, with the sums kept.

Bacharach (Management Science, 1966); Cox (JASA, 1987). Every cell goes to the whole number below or above it; rows and
columns whose sums are whole keep them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
_Cells: TypeAlias = tuple[IntArray, IntArray]


def rounded_shares(sizes: IntArray, supply: IntArray) -> IntArray:
    """Counts (S, K) by rows of `sizes` (S,), each next to sizes[s] · supply[k] / sum(supply), to less than one.

    Rows sum to `sizes`; columns to no more than `supply` (K,), and to `supply` itself where the sizes use it up.
    Raises ValueError where they ask for more than there is.
    """
    total = int(supply.sum())
    if sizes.sum() > total or min(sizes.min(initial=0), supply.min(initial=0)) < 0:
        raise ValueError(f"sizes sum to {sizes.sum()}: expected no more than {total}, and no number below 0")
    # Fractions in units of 1 / total: in whole numbers the sums hold exactly. The last row is what stays unused.
    exact = np.outer(np.append(sizes, total - sizes.sum()), supply).astype(np.int64)
    whole, part = np.divmod(exact, max(total, 1))
    while part.any():
        more, less = _cycle(part)
        step = min(total - int(part[more].max()), int(part[less].min()))
        part[more] += step
        part[less] -= step
        whole += part == total
        part[part == total] = 0
    return whole[:-1]


def _cycle(part: IntArray) -> tuple[_Cells, _Cells]:
    """Every second cell, and the cells between, of a closed walk along rows and columns over cells that are not 0.

    No row or column has one such cell alone, since their sums are whole; so the walk never ends before it closes.
    """
    node, before = (0, int(np.flatnonzero(part.any(axis=1))[0])), -1
    walk: list[tuple[int, int]] = []
    while node not in walk:
        walk.append(node)
        axis, place = node
        ahead = np.flatnonzero(part[place] if axis == 0 else part[:, place])
        node, before = (1 - axis, int(ahead[0] if ahead[0] != before else ahead[1])), place
    closed = [*walk[walk.index(node):], node]
    cells = np.array([(one[1], two[1]) if one[0] == 0 else (two[1], one[1]) for one, two in pairwise(closed)])
    return (cells[::2, 0], cells[::2, 1]), (cells[1::2, 0], cells[1::2, 1])
