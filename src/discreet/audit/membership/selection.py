"""Which examples an audit looks at: all, those at the decision boundary, deciles.

These are the auditor's: they use membership, because the paper selects members and non-members separately (membership
paper, section 4.2). An attacker could not, which is why `pool="union"` is here too. All return row numbers in rising
order, rows of unknown membership (-1) never among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.core.types import FloatArray, IntArray
from discreet.scores.table import OUT, MemberArray, ScoreTable

Pool = Literal["independent", "union"]

BOUNDARY_N = 20
"""Examples per label in the paper."""

CURVE = (10, 20, 50, 100, 200)
"""Sizes of the curve over n, besides "all"."""

N_DECILES = 10


def curve_sizes(n: int = BOUNDARY_N) -> tuple[int | None, ...]:
    """The sizes of the curve over n, `n` among them, rising; None (all) last. ValueError unless n >= 1."""
    return (*sorted({*CURVE, _size(n)}), None)


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
        Rows per label; None selects every row with known membership and a P_S.
    pool : "independent" or "union"
        "independent" (the paper's text): n members and n non-members of each label, selected separately. "union" (its
        authors' code): n of each label from both together, so that the two counts come as they come.

    Notes
    -----
    Equal P_S are taken in row order. A label with fewer than n rows gives all it has.
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
        pools = [member == 1, member == 0] if pool == "independent" else [(member == 1) | (member == 0)]
        chosen = [rows[one[rows]][:size] for rows in self.by_label for one in pools]
        return np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)


def deciles(values: FloatArray, member: MemberArray) -> NDArray[np.int8]:
    """Tenths of members and non-members together by `values`: 0 (lowest) … 9; -1 where NaN or membership unknown.

    For the target's confidence on the true label (the membership paper's text, section 6.1) and for P_S (the caption of
    its figure 3). Bounds are the sample deciles of `values` (linear interpolation); a value on a bound belongs to the
    upper tenth, so that equal values are never parted and many ties may leave a tenth empty.
    """
    if values.ndim != 1 or member.shape != values.shape:
        raise ValueError(f"values and member have shapes {values.shape} and {member.shape}: expected one length")
    codes = np.full(values.size, -1, dtype=np.int8)
    counted = np.flatnonzero(((member == 1) | (member == 0)) & ~np.isnan(values))
    if counted.size:
        bounds = np.quantile(values[counted], np.arange(1, N_DECILES) / N_DECILES)
        codes[counted] = np.searchsorted(bounds, values[counted], side="right")
    return codes


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """What the selections of one target need, computed once.

    Attributes
    ----------
    selector_p, target_p : (N,) float array
        Probability of the true class by the selection models (None without one, NaN where one may have been trained
        on the example) and by the target.
    ranking : Ranking or None
        By `selector_p`.
    label : (N,) int array
    lot : (N,) int array
        A random order of the examples, by which the larger of two sets is thinned.
    """

    selector_p: FloatArray | None
    target_p: FloatArray
    ranking: Ranking | None
    label: IntArray
    lot: IntArray

    @classmethod
    def of(cls, table: ScoreTable, sets: EvaluationSets, rng: Generator) -> Selector:
        """Of one target."""
        selector, target = selector_p(table, sets), true_class_p(table, (sets.target,))
        assert target is not None
        label = table.examples.label
        ranking = None if selector is None else Ranking.of(selector, label)
        return cls(selector, target, ranking, label, rng.permutation(label.size))

    def balanced(self, rows: IntArray, member: MemberArray) -> IntArray:
        """`rows` with members and non-members of each label thinned at random to the same number.

        The n least likely of 800 lie further out than the n least likely of 400: between pools of unequal size a
        boundary selected among members and non-members separately differs from ½ without any leak.
        """
        assert self.selector_p is not None
        rows, kept = rows[~np.isnan(self.selector_p[rows])], []
        for one in np.unique(self.label[rows]):
            both = [rows[(self.label[rows] == one) & (member[rows] == code)] for code in (1, 0)]
            size = min(part.size for part in both)
            kept += [part[np.argsort(self.lot[part])[:size]] for part in both]
        return np.sort(np.concatenate(kept)) if kept else rows

    def boundary(self, rows: IntArray, member: MemberArray, n: int | None, pool: Pool) -> IntArray:
        """The boundary among `rows`; of members and non-members thinned to the same number for "independent"."""
        assert self.ranking is not None
        pooled = self.balanced(rows, member) if pool == "independent" else rows
        kept = np.full(member.size, -1, dtype=np.int8)
        kept[pooled] = member[pooled]
        return self.ranking.boundary(kept, n, pool)


def selector_p(table: ScoreTable, sets: EvaluationSets) -> FloatArray | None:
    """(N,) probability of the true class by the selection models, None without one.

    NaN, besides where it is unscored, where the table does not say of each selector that it was not trained on the
    example: its probability there may be memory, and would put its own training data away from the boundary.
    """
    found = true_class_p(table, sets.selectors)
    if found is None:
        return None
    return np.where((table.member[list(sets.selectors)] == OUT).all(axis=0), found, np.nan)


def true_class_p(table: ScoreTable, models: tuple[int, ...]) -> FloatArray | None:
    """(N,) probability of the true class, mean over queries and models; None without models. NaN where unscored."""
    if not models:
        return None
    rows = np.arange(len(table.examples))
    chosen = [np.exp(table.log_p[model][rows, :, table.examples.label]).mean(axis=1) for model in models]
    return np.asarray(np.mean(chosen, axis=0), dtype=np.float64)


def _size(n: int) -> int:
    if n < 1:
        raise ValueError(f"n is {n}: expected a whole number >= 1, or None for all")
    return int(n)
