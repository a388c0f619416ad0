"""Which examples an audit looks at: all, the boundary, deciles.

These are the auditor's: they know membership, because the paper selects members and non-members apart (membership
paper, section 4.2). An attacker could not, which is why `pool="union"` is here too. All return row numbers in rising
order, rows of unknown membership (-1) never among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import MemberArray

Pool = Literal["independent", "union"]

BOUNDARY_N = 20
"""Examples per label in the paper."""

CURVE = (10, 20, 50, 100, 200)
"""Sizes of the curve over n, besides "all"."""

N_DECILES = 10


def curve_sizes(n: int = BOUNDARY_N) -> tuple[int | None, ...]:
    """The sizes of the curve over n, `n` among them, rising; None (all) last. ValueError unless n >= 1."""
    return (*sorted({*CURVE, _size(n)}), None)


def everything(member: MemberArray) -> IntArray:
    """Global selection: the rows of known membership. `member` (N,) in {1, 0, -1}."""
    return np.flatnonzero(_known(member))


def boundary(
    p_true: FloatArray, label: IntArray, member: MemberArray, n: int | None, pool: Pool = "independent",
) -> IntArray:
    """The `n` rows of each label that the selector finds least likely, P_S(y | x) lowest.

    Where many memberships are tried on the same rows (permutations), build a `Ranking` once.

    Parameters
    ----------
    p_true : (N,) float array
        P_S(y | x) of a selector that is neither target nor reference; any rising function of it will do. Rows
        that are NaN (not scored) are never selected.
    label : (N,) int array
    member : (N,) int8 array in {1, 0, -1}
    n : int >= 1 or None
        Rows a label; None selects every row with known membership and a P_S.
    pool : "independent" or "union"
        "independent" (the paper's text): n members and n non-members of each label, chosen apart. "union" (its
        authors' code): n of each label from both together, so that the two counts come as they come.

    Notes
    -----
    Equal P_S are taken in row order. A cell with fewer than n rows gives all it has; `cells` counts them.
    """
    return Ranking.of(p_true, label).boundary(member, n, pool)


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Rows of each label from the lowest P_S up: sorted once, selected from under any membership in O(N).

    Attributes
    ----------
    n_rows : int
    by_label : tuple of int arrays
        Row numbers of each distinct label (rising), without those that the selector did not score.
    """

    n_rows: int
    by_label: tuple[IntArray, ...]

    @classmethod
    def of(cls, p_true: FloatArray, label: IntArray) -> Ranking:
        """Rank (N,) values with (N,) labels. ValueError if the lengths differ."""
        if p_true.ndim != 1 or label.shape != p_true.shape:
            raise ValueError(f"p_true and label have shapes {p_true.shape} and {label.shape}: expected one length")
        order = np.argsort(p_true, kind="stable")
        order = order[~np.isnan(p_true[order])]
        return cls(p_true.size, tuple(order[label[order] == y] for y in np.unique(label)))

    def boundary(self, member: MemberArray, n: int | None, pool: Pool = "independent") -> IntArray:
        """As `discreet.audit.membership.selection.boundary`."""
        if member.shape != (self.n_rows,):
            raise ValueError(f"member has shape {member.shape}: expected ({self.n_rows},), one per ranked row")
        if pool not in ("independent", "union"):
            raise ValueError(f"pool is {pool!r}: expected 'independent' or 'union'")
        size = None if n is None else _size(n)
        sides = [member == 1, member == 0] if pool == "independent" else [_known(member)]
        chosen = [rows[side[rows]][:size] for rows in self.by_label for side in sides]
        return np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Cell:
    """What a selection holds of one label."""

    label: int
    n_members: int
    n_nonmembers: int

    def short_of(self, n: int) -> bool:
        """Whether an independent boundary of `n` found fewer on a side."""
        return min(self.n_members, self.n_nonmembers) < n


def cells(rows: IntArray, label: IntArray, member: MemberArray) -> tuple[Cell, ...]:
    """Members and non-members among `rows`, for each label that stands in `label` (N,), labels rising."""
    chosen, side = label[rows], member[rows]
    return tuple(
        Cell(int(y), int(((chosen == y) & (side == 1)).sum()), int(((chosen == y) & (side == 0)).sum()))
        for y in np.unique(label)
    )


def deciles(values: FloatArray, member: MemberArray) -> NDArray[np.int8]:
    """Tenths of members and non-members together by `values`: 0 (lowest) … 9; -1 where NaN or membership unknown.

    For the target's confidence on the true label (the membership paper's text, section 6.1) and for P_S (the caption of
    its figure 3). Edges are the sample deciles of `values` (linear interpolation); a value on an edge belongs to the
    upper tenth, so that equal values are never parted and many ties may leave a tenth empty.
    """
    if values.ndim != 1 or member.shape != values.shape:
        raise ValueError(f"values and member have shapes {values.shape} and {member.shape}: expected one length")
    codes = np.full(values.size, -1, dtype=np.int8)
    counted = np.flatnonzero(_known(member) & ~np.isnan(values))
    if counted.size:
        edges = np.quantile(values[counted], np.arange(1, N_DECILES) / N_DECILES)
        codes[counted] = np.searchsorted(edges, values[counted], side="right")
    return codes


def _known(member: MemberArray) -> BoolArray:
    return np.asarray((member == 1) | (member == 0), dtype=np.bool_)


def _size(n: int) -> int:
    if n < 1:
        raise ValueError(f"n is {n}: expected a whole number >= 1, or None for all")
    return int(n)
