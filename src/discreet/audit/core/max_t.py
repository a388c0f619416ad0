"""Max-T permutation of membership over all rows of a report, selection included.

Under the null no score depends on membership, so membership may be permuted among the judged examples: within a label,
or over whole groups. An attack never sees the target's membership, so its scores stay as they are; a boundary that is
selected among members and non-members separately does depend on it, so it is selected again in every permutation
(Westfall & Young 1993 for the maximum over the rows).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import MemberArray
from discreet.stats import max_t_p

BLOCK = 1 << 22
"""Size of a block of permutations: permutations by examples."""


@dataclass(frozen=True, slots=True, eq=False)
class PermutedRow:
    """One row whose AUC is tested.

    Attributes
    ----------
    scores : (N,) float array
        Finite on `rows`.
    rows : (m,) int array
        What is judged; for a boundary, what it is selected from.
    n : int or None
        Members, and non-members, per label of a boundary selected among them separately; None where `rows` do not
        depend on membership.
    """

    scores: FloatArray
    rows: IntArray
    n: int | None = None


class MaxT(NamedTuple):
    """Family-wise p values (k,), the observed AUCs (k,) and their null draws (permutations, k)."""

    p: FloatArray
    observed: FloatArray
    null: FloatArray


def max_t(
    tested: Sequence[PermutedRow], member: MemberArray, label: IntArray, p_true: FloatArray | None, rng: Generator, *,
    permutations: int = 999, groups: IntArray | None = None, lot: IntArray | None = None,
) -> MaxT:
    """Permute membership through every row at once.

    Parameters
    ----------
    tested : sequence of k PermutedRow
    member : (N,) int8 array in {1, 0, -1}
        Membership of the judged examples; -1 for all others.
    label : (N,) int array
    p_true : (N,) float array or None
        The selector's probability of the true class, for rows with `n`.
    groups : (N,) int array or None
        Whole groups are permuted; each must hold members only, or non-members only.
    lot : (N,) int array or None
        A random order of the examples, needed for boundaries: by it the larger of members and non-members of a label is
        thinned to the size of the other.

    Notes
    -----
    The statistic is the AUC in units of its own null deviation: less ½, over sqrt((m + n + 1) / (12 m n)) of that
    permutation's sizes m and n, and then less the mean and over the deviation of that quantity among permutations and
    the sample itself (they differ from 0 and 1 with ties, groups and selections). A permutation that leaves a row
    without members, or without non-members, counts as ½ there.
    """
    kernels = _kernels(tested, member, label, p_true, lot)
    k = len(tested)
    blocks = [np.full((1, k), 0.5), np.zeros((1, k))]
    _fill(kernels, (member == 1)[None, :], (member == 0)[None, :], *blocks)
    null, z_null = np.full((permutations, k), 0.5), np.zeros((permutations, k))
    done = 0
    for permuted in _permuted(member, label, rng, permutations, groups):
        part = slice(done, done + permuted.shape[0])
        _fill(kernels, permuted, ~permuted & (member >= 0), null[part], z_null[part])
        done = part.stop
    everything = np.concatenate([blocks[1], z_null])
    spread = everything.std(axis=0)
    spread[spread == 0.0] = 1.0
    everything = (everything - everything.mean(axis=0)) / spread
    return MaxT(max_t_p(everything[0], everything[1:]), blocks[0][0], null)


class _Answer(NamedTuple):
    """Which rows these are (j,), AUCs (b, j), and how many members and non-members there were (b,)."""

    places: IntArray
    auc: FloatArray
    n_in: FloatArray
    n_out: FloatArray


class _Fixed(NamedTuple):
    """Rows over the same examples: centred midranks (m, j)."""

    places: IntArray
    rows: IntArray
    ranks: FloatArray

    def answers(self, members: BoolArray, others: BoolArray) -> Iterator[_Answer]:
        inside = members[:, self.rows]
        n_in, n_out = inside.sum(axis=1).astype(np.float64), others[:, self.rows].sum(axis=1).astype(np.float64)
        sums = inside.astype(np.float64) @ self.ranks
        with np.errstate(invalid="ignore", divide="ignore"):
            yield _Answer(self.places, 0.5 + sums / (n_in * n_out)[:, None], n_in, n_out)


class _Boundaries(NamedTuple):
    """Boundaries of one pool: its examples by label, from the lowest P_S up, and the scores for each size.

    `lots` holds, for each label, the places of its examples in the order of the lot.
    """

    by_label: tuple[IntArray, ...]
    lots: tuple[IntArray, ...]
    sizes: tuple[tuple[int, IntArray, tuple[FloatArray, ...]], ...]

    def answers(self, members: BoolArray, others: BoolArray) -> Iterator[_Answer]:
        balanced = [_balanced(members[:, rows], others[:, rows], lot)
                  for rows, lot in zip(self.by_label, self.lots, strict=True)]
        for n, places, scores in self.sizes:
            found = [[_first(side, n) for side in both] for both in balanced]
            reach = [max(inside[1], outside[1]) for inside, outside in found]
            rows = np.concatenate([one[:upto] for one, upto in zip(self.by_label, reach, strict=True)])
            inside, outside = (
                np.concatenate([one[side][0][:, :upto] for one, upto in zip(found, reach, strict=True)], axis=1)
                for side in (0, 1)
            )
            auc = np.stack([masked_auc(one[rows], inside, outside) for one in scores], axis=1)
            yield _Answer(places, auc, inside.sum(axis=1).astype(np.float64), outside.sum(axis=1).astype(np.float64))


def _balanced(members: BoolArray, others: BoolArray, lot: IntArray) -> tuple[BoolArray, BoolArray]:
    """Both masks (b, m) of a label, the larger thinned by `lot` to the size of the other."""
    size = np.minimum(members.sum(axis=1), others.sum(axis=1))[:, None]
    thinned = []
    for side in (members, others):
        in_order = side[:, lot]
        kept = np.empty_like(side)
        kept[:, lot] = in_order & (np.cumsum(in_order, axis=1, dtype=np.int32) <= size)
        thinned.append(kept)
    return thinned[0], thinned[1]


def _first(side: BoolArray, n: int) -> tuple[BoolArray, int]:
    """The first n of each row of a mask (b, m), and the place by which all rows have found theirs."""
    reach = min(side.shape[1], max(64, 6 * n))
    while True:
        cum = np.cumsum(side[:, :reach], axis=1, dtype=np.int32)
        if reach == side.shape[1] or (cum[:, -1] >= n).all():
            break
        reach = min(side.shape[1], 4 * reach)
    first = np.zeros_like(side)
    first[:, :reach] = side[:, :reach] & (cum <= n)
    return first, reach


def masked_auc(scores: FloatArray, inside: BoolArray, outside: BoolArray) -> FloatArray:
    """AUC of `scores` (m,) for each row of masks (b, m), ties one half; NaN where a mask is empty."""
    order = np.argsort(scores, kind="stable")
    values = scores[order]
    below = np.searchsorted(values, values, side="left")
    upto = np.searchsorted(values, values, side="right")
    cum = np.zeros((inside.shape[0], scores.size + 1))
    np.cumsum(outside[:, order], axis=1, out=cum[:, 1:])
    wins = ((cum[:, below] + cum[:, upto]) * inside[:, order]).sum(axis=1) / 2.0
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(wins / (inside.sum(axis=1) * cum[:, -1]), dtype=np.float64)


def centred_midranks(scores: FloatArray) -> FloatArray:
    """Midranks 1 … m less their mean, ties averaged; sum of members' values = (AUC − ½) × members × others."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    upper = np.cumsum(counts)
    return np.asarray((upper - (counts - 1) / 2.0)[place.reshape(-1)] - (scores.size + 1) / 2.0, dtype=np.float64)


def _kernels(
    tested: Sequence[PermutedRow], member: MemberArray, label: IntArray, p_true: FloatArray | None,
    lot: IntArray | None,
) -> list[_Fixed | _Boundaries]:
    alike: dict[tuple[bytes, bool], list[int]] = {}
    for place, one in enumerate(tested):
        if (member[one.rows] < 0).any():
            raise ValueError("a row judges examples of unknown membership: expected 1 or 0 on all of them")
        alike.setdefault((one.rows.tobytes(), one.n is None), []).append(place)
    found: list[_Fixed | _Boundaries] = []
    for (_, fixed), places in alike.items():
        rows, scores = tested[places[0]].rows, {place: tested[place].scores for place in places}
        if fixed:
            ranks = np.stack([centred_midranks(values[rows]) for values in scores.values()], axis=1)
            found.append(_Fixed(np.array(places), rows, ranks))
            continue
        if p_true is None or lot is None:
            raise ValueError("a boundary is selected by p_true and thinned by lot: expected both")
        ordered = rows[np.argsort(p_true[rows], kind="stable")]
        ordered = ordered[~np.isnan(p_true[ordered])]
        by_label = tuple(ordered[label[ordered] == one] for one in np.unique(label[ordered]))
        sizes = []
        for n in sorted({tested[place].n or 0 for place in places}):
            of_size = [place for place in places if tested[place].n == n]
            sizes.append((n, np.array(of_size), tuple(scores[place] for place in of_size)))
        found.append(_Boundaries(by_label, tuple(np.argsort(lot[one]) for one in by_label), tuple(sizes)))
    return found


def _fill(
    kernels: Sequence[_Fixed | _Boundaries], members: BoolArray, others: BoolArray, auc: FloatArray, z: FloatArray
) -> None:
    """Write AUCs and standardised AUCs of these memberships (b, N) into (b, k) arrays."""
    for places, found, n_in, n_out in (one for kernel in kernels for one in kernel.answers(members, others)):
        defined = (n_in > 0) & (n_out > 0)
        size = np.where(defined, n_in * n_out, 1.0)
        deviation = np.sqrt((n_in + n_out + 1.0) / (12.0 * size))[:, None]
        auc[:, places] = np.where(defined[:, None], found, 0.5)
        z[:, places] = np.where(defined[:, None], (found - 0.5) / deviation, 0.0)


def _permuted(
    member: MemberArray, label: IntArray, rng: Generator, permutations: int, groups: IntArray | None
) -> Iterator[BoolArray]:
    """Blocks (b, N) of memberships permuted among the examples whose membership is known."""
    known = np.flatnonzero(member >= 0)
    height = max(1, BLOCK // max(1, member.size))
    if groups is not None:
        _, first, unit = np.unique(groups[known], return_index=True, return_inverse=True)
        side = (member[known] == 1)[first]
        if (side[unit] != (member[known] == 1)).any():
            raise ValueError("a group has members and non-members: expected whole groups to be members or not")
    for start in range(0, permutations, height):
        block = np.zeros((min(height, permutations - start), member.size), dtype=np.bool_)
        if groups is not None:
            block[:, known] = rng.permuted(np.tile(side, (block.shape[0], 1)), axis=1)[:, unit]
        else:
            for one in np.unique(label[known]):
                rows = known[label[known] == one]
                block[:, rows] = rng.permuted(np.tile(member[rows] == 1, (block.shape[0], 1)), axis=1)
        yield block
