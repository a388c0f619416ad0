"""What an audit counts, and how it is resampled: operating points under one bootstrap, AUCs under permutations.

*Bootstrap.* Only the top of each ranking decides the TPR at a small FPR, so each resample reads that part alone; one
set of resamples serves all scores, which makes their differences paired.

*Max-T* (Westfall & Young 1993). Under the null no score depends on membership, so membership may be permuted among the
judged examples: within a label, or over whole groups. An attack never sees the target's membership, so its scores stay;
a boundary that is selected among members and non-members separately is selected again in every permutation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from discreet.audit.scores.table import MemberArray, ScoreTable
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import bootstrap_weights, max_t_p
from discreet.stats.arrays import midranks
from discreet.stats.roc import most_count

BLOCK = 1 << 22
"""Size of a block of permutations: permutations by examples."""
MANY = 1 << 21
"""Examples above which a resample draws only those that its figures read."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is counted, permuted and resampled: examples, or the groups that they belong to, which are `users` (or
    documents) or near-duplicate texts."""

    group: IntArray | None
    users: bool = True

    @classmethod
    def of(cls, table: ScoreTable) -> Units:
        """Of a table."""
        return cls(table.examples.group, table.examples.has_users)

    @property
    def name(self) -> str:
        """For `Estimate.unit`."""
        return "example" if self.group is None else "group"

    def at(self, rows: IntArray) -> IntArray | None:
        """Group codes of `rows`."""
        return None if self.group is None else self.group[rows]

    def count(self, rows: IntArray) -> int:
        """How many units the distinct `rows` are."""
        return int(rows.size if self.group is None else np.unique(self.group[rows]).size)

    def means(self, scores: FloatArray, rows: IntArray, truth: BoolArray) -> tuple[FloatArray, BoolArray]:
        """The mean score of each unit among `rows` (m,) with `truth` (m,), and its truth; rows without groups."""
        if self.group is None:
            return scores[rows], truth
        codes, place, counts = np.unique(self.group[rows] * 2 + truth, return_inverse=True, return_counts=True)
        return np.bincount(place.reshape(-1), weights=scores[rows]) / counts, codes % 2 == 1

    def some(self, rows: IntArray, most: int, rng: Generator) -> IntArray:
        """At most so many of `rows`, drawn at random, whole groups at a time; rising where they are rising."""
        if rows.size <= most:
            return rows
        if self.group is None:
            return np.sort(rng.permutation(rows)[:most])
        names, sizes = np.unique(self.group[rows], return_counts=True)
        order = rng.permutation(names.size)
        return rows[np.isin(self.group[rows], names[order[np.cumsum(sizes[order]) <= most]])]


class _Tops(NamedTuple):
    """The best-scored part of a sample by each of k scores, of which d differ in what they order: t negatives (d, t),
    scores falling; how many positives score higher than each (d, t + 1); the positives, one score behind the other, and
    where each begins (d,); which of them each score is (k,). A positive or negative is its place in the sample with all
    positives first."""

    negatives: IntArray
    above: IntArray
    positives: IntArray
    start: IntArray
    which: IntArray
    whole: bool

    @classmethod
    def of(cls, scores: Iterable[FloatArray], member: BoolArray, n_negatives: int) -> _Tops:
        n_pos = int(np.count_nonzero(member))
        whole = n_negatives >= member.size - n_pos
        kept, which = dict[bytes, tuple[int, IntArray, IntArray, IntArray]](), []
        for one in scores:
            pos, neg = -one[member], -one[~member]
            negatives = np.argsort(neg)[:n_negatives]
            higher = np.arange(pos.size) if whole else np.flatnonzero(pos < neg[negatives[-1]])
            higher = higher[np.argsort(pos[higher])]
            above = np.append(np.searchsorted(pos[higher], neg[negatives], side="left"), higher.size)
            key = b"".join(part.tobytes() for part in (negatives, above, higher))
            which.append(kept.setdefault(key, (len(kept), negatives + n_pos, above, higher))[0])
        _, every, aboves, positives = zip(*kept.values(), strict=True)
        start = np.cumsum([0, *(higher.size for higher in positives[:-1])])
        return cls(np.stack(every), np.stack(aboves), np.concatenate(positives), start, np.array(which), whole)

    def alone(self) -> tuple[_Tops, IntArray]:
        """The same by places among the examples that it reads, and which those are (m,), rising."""
        read = np.unique(np.append(self.negatives, self.positives))
        negatives, positives = (np.searchsorted(read, one) for one in (self.negatives, self.positives))
        return self._replace(negatives=negatives, positives=positives), read

    def tpr(self, weights: IntArray, allowed: IntArray, n_pos: IntArray) -> FloatArray | None:
        """(k, f, b) under weights (b, n), where `allowed` (f, b) negatives may pass of which `n_pos` positives there
        are; None where this part does not reach far enough."""
        drawn = np.cumsum(weights.take(self.negatives, axis=1), axis=2)
        if not self.whole and (drawn[..., -1] <= allowed.max(axis=0)[:, None]).any():
            return None
        # The threshold stands just above the first negative that is one too many: ties with it stay below.
        within = np.stack([(drawn <= most[:, None, None]).sum(axis=2) for most in allowed])
        upto = self.start + self.above[np.arange(self.start.size), within]
        passed = np.zeros((len(weights), self.positives.size + 1), dtype=np.int64)
        np.cumsum(weights.take(self.positives, axis=1), axis=1, out=passed[:, 1:])
        rows = np.arange(len(weights))[:, None]
        found = (passed[rows, upto] - passed[rows, self.start]) / n_pos[:, None]
        return np.asarray(np.moveaxis(found, 2, 0)[self.which], dtype=np.float64)


def joint_tpr(scores: Sequence[FloatArray], member: BoolArray, fprs: Sequence[float], rng: Generator, *,
              n_resamples: int = 1000, groups: IntArray | None = None, rows: IntArray | slice = slice(None)
              ) -> tuple[FloatArray, FloatArray]:
    """TPR at each empirical FPR for k scores: as they are (k, f), and under shared resamples (k, f, n_resamples).

    `member` and `groups` (n,) are those of the `rows` (n,) of the scores, by default of all. Resamples are stratified
    by membership, groups are drawn whole (`discreet.stats.bootstrap_weights`). The TPR is the largest over thresholds
    whose FPR is at most the one asked for, as in `discreet.stats.tpr_at_fpr`.
    """
    n_pos, n_neg = int(member.sum()), int((~member).sum())
    # Members first: each stratum is then drawn in place.
    strata = np.arange(member.size) < n_pos
    if groups is not None:
        groups = np.concatenate([groups[member], groups[~member]])
    reach = max(fprs) * n_neg
    # So far that without groups no resample ends above: 16 deviations of how often the part is drawn, and more.
    top, size = _Tops.of((one[rows] for one in scores), member, int(reach + 16 * sqrt(reach + 1) + 64)), member.size
    if groups is None and size > MANY:
        top, read = top.alone()
        size, of_pos = read.size, int(np.searchsorted(read, n_pos))
        resamples = _drawn_among(((of_pos, n_pos), (size - of_pos, n_neg)), rng, n_resamples)
    else:
        resamples = bootstrap_weights(size, rng, n_resamples=n_resamples, strata=strata, groups=groups)
    parts = []
    for weights in chain([np.ones((1, size), dtype=np.int64)], resamples):
        drawn = np.array([n_pos]), np.array([n_neg])
        if groups is not None:  # else as many members and non-members as there are
            drawn = weights.sum(axis=1, where=strata), weights.sum(axis=1, where=~strata)
        allowed = np.stack([np.broadcast_to(most_count(fpr, drawn[1]), weights.shape[:1]) for fpr in fprs])
        found = top.tpr(weights, allowed, drawn[0])
        if found is None:
            # Large groups may do so again and again: from here on everything is read.
            top = _Tops.of((one[rows] for one in scores), member, n_neg)
            found = top.tpr(weights, allowed, drawn[0])
            assert found is not None
        parts.append(found)
    every = np.concatenate(parts, axis=2)
    return every[..., 0], every[..., 1:]


def _drawn_among(sizes: Sequence[tuple[int, int]], rng: Generator, n_resamples: int) -> Iterator[IntArray]:
    """Rows (1, places) of how often each of m places is drawn in a resample of n examples, for each (m, n) of `sizes`:
    a binomial number of the n draws falls on them. The other draws need not be made."""
    for _ in range(n_resamples):
        yield np.concatenate([np.bincount(rng.integers(0, max(m, 1), rng.binomial(n, m / n)), minlength=m)
                              for m, n in sizes])[None, :]


class PermutedRow(NamedTuple):
    """One row whose AUC is tested: scores (N,), finite on the judged `rows` (m,); with `n` a boundary of so many
    members, and so many non-members, of each label of `rows`."""

    scores: FloatArray
    rows: IntArray
    n: int | None = None


class MaxT(NamedTuple):
    """Family-wise p values (k,), the observed AUCs (k,) and their null draws (permutations, k)."""

    p: FloatArray
    observed: FloatArray
    null: FloatArray


def max_t(tested: Sequence[PermutedRow], member: MemberArray, label: IntArray, p_true: FloatArray | None,
          rng: Generator, *, permutations: int = 999, groups: IntArray | None = None,
          lot: IntArray | None = None) -> MaxT:
    """Permute membership through every row at once.

    Parameters
    ----------
    tested : sequence of k PermutedRow
    member : (N,) int8 array in {1, 0, -1}
        Membership of the judged examples; -1 for all others.
    label : (N,) int array
    p_true, lot : (N,) array or None
        For rows with `n`: the selector's probability of the true class, and a random order of the examples, by which
        the larger of members and non-members of a label is thinned to the size of the other.
    groups : (N,) int array or None
        Whole groups are permuted; each must hold members only, or non-members only.

    Notes
    -----
    The statistic is the AUC in units of its own null deviation: less ½, over sqrt((m + n + 1) / (12 m n)) of that
    permutation's sizes m and n, and then less the mean and over the deviation of that quantity among permutations and
    the sample itself (they differ from 0 and 1 with ties, groups and selections). A permutation that leaves a row
    without members, or without non-members, counts as ½ there.
    """
    kernels = _kernels(tested, member, label, p_true, lot)
    auc, z = np.full((permutations + 1, len(tested)), 0.5), np.zeros((permutations + 1, len(tested)))
    done = 0
    for members in chain([(member == 1)[None, :]], _permuted(member, label, rng, permutations, groups)):
        part, others = slice(done, done + len(members)), ~members & (member >= 0)
        for places, found, n_in, n_out in (one for kernel in kernels for one in kernel.aucs(members, others)):
            defined = ((n_in > 0) & (n_out > 0))[:, None]
            deviation = np.sqrt((n_in + n_out + 1.0) / (12.0 * np.maximum(n_in * n_out, 1)))[:, None]
            auc[part, places] = np.where(defined, found, 0.5)
            z[part, places] = np.where(defined, (found - 0.5) / deviation, 0.0)
        done = part.stop
    spread = z.std(axis=0)
    z = (z - z.mean(axis=0)) / np.where(spread == 0.0, 1.0, spread)
    return MaxT(max_t_p(z[0], z[1:]), auc[0], auc[1:])


_Aucs = tuple[IntArray, FloatArray, IntArray, IntArray]
"""Which rows these are (j,), AUCs (b, j), and how many members and non-members there were (b,)."""


class _Fixed(NamedTuple):
    """Rows over the same examples: centred midranks (m, j)."""

    places: IntArray
    rows: IntArray
    ranks: FloatArray

    def aucs(self, members: BoolArray, others: BoolArray) -> Iterator[_Aucs]:
        inside = members[:, self.rows]
        # Membership of all rows is known; numpy sums booleans along an axis ten times slower than it counts them.
        n_in = np.array([np.count_nonzero(one) for one in inside])
        n_out = self.rows.size - n_in
        with np.errstate(invalid="ignore", divide="ignore"):
            yield self.places, 0.5 + inside.astype(np.float64) @ self.ranks / (n_in * n_out)[:, None], n_in, n_out


class _Boundaries(NamedTuple):
    """Boundaries of one pool: the examples of each label from the lowest P_S up, their places in the order of the lot,
    and the scores for each size."""

    by_label: list[IntArray]
    lots: list[IntArray]
    sizes: list[tuple[int, IntArray, list[FloatArray]]]

    def aucs(self, members: BoolArray, others: BoolArray) -> Iterator[_Aucs]:
        parts = []
        for rows, lot in zip(self.by_label, self.lots, strict=True):
            masks = _balanced(members[:, rows], others[:, rows], lot)
            counts = [np.cumsum(mask, axis=1, dtype=np.int32) for mask in masks]
            # How many all permutations have found by each place.
            parts.append((rows, masks, counts, np.minimum(*(count.min(axis=0) for count in counts))))
        for n, places, scores in self.sizes:
            first = [(rows[:upto], *(mask[:, :upto] & (count[:, :upto] <= n)
                                     for mask, count in zip(masks, counts, strict=True)))
                     for rows, masks, counts, least in parts for upto in (int(np.searchsorted(least, n)) + 1,)]
            rows, inside, outside = (np.concatenate(one, axis=-1) for one in zip(*first, strict=True))
            auc = np.stack([masked_auc(one[rows], inside, outside) for one in scores], axis=1)
            yield places, auc, inside.sum(axis=1), outside.sum(axis=1)


def _balanced(members: BoolArray, others: BoolArray, lot: IntArray) -> list[BoolArray]:
    """Both masks (b, m) of a label, the larger thinned by `lot` to the size of the other."""
    size = np.minimum(members.sum(axis=1), others.sum(axis=1))[:, None]
    thinned = []
    for mask in (members, others):
        in_order, kept = mask[:, lot], np.empty_like(mask)
        kept[:, lot] = in_order & (np.cumsum(in_order, axis=1, dtype=np.int32) <= size)
        thinned.append(kept)
    return thinned


def masked_auc(scores: FloatArray, inside: BoolArray, outside: BoolArray) -> FloatArray:
    """AUC of `scores` (m,) for each row of masks (b, m), ties one half; NaN where a mask is empty."""
    order = np.argsort(scores, kind="stable")
    values = scores[order]
    below, upto = (np.searchsorted(values, values, side=side) for side in ("left", "right"))
    cum = np.zeros((inside.shape[0], scores.size + 1))
    np.cumsum(outside[:, order], axis=1, out=cum[:, 1:])
    wins = ((cum[:, below] + cum[:, upto]) * inside[:, order]).sum(axis=1) / 2.0
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(wins / (inside.sum(axis=1) * cum[:, -1]), dtype=np.float64)


def _kernels(tested: Sequence[PermutedRow], member: MemberArray, label: IntArray, p_true: FloatArray | None,
             lot: IntArray | None) -> list[_Fixed | _Boundaries]:
    alike: dict[tuple[bytes, bool], list[int]] = {}
    for place, one in enumerate(tested):
        if (member[one.rows] < 0).any():
            raise ValueError("a row judges examples of unknown membership: expected 1 or 0 on all of them")
        alike.setdefault((one.rows.tobytes(), one.n is None), []).append(place)
    found: list[_Fixed | _Boundaries] = []
    for (_, fixed), places in alike.items():
        rows = tested[places[0]].rows
        if fixed:
            # The sum of members' centred ranks is (AUC − ½) × members × others.
            ranks = [midranks(tested[place].scores[rows]) - (rows.size + 1) / 2.0 for place in places]
            found.append(_Fixed(np.array(places), rows, np.stack(ranks, axis=1)))
            continue
        if p_true is None or lot is None:
            raise ValueError("a boundary is selected by p_true and thinned by lot: expected both")
        ordered = rows[np.argsort(p_true[rows], kind="stable")]
        ordered = ordered[~np.isnan(p_true[ordered])]
        by_label = [ordered[label[ordered] == one] for one in np.unique(label[ordered])]
        by_size: dict[int, list[int]] = {}
        for place in places:
            by_size.setdefault(tested[place].n or 0, []).append(place)
        found.append(_Boundaries(by_label, [np.argsort(lot[one]) for one in by_label], [
            (n, np.array(of_size), [tested[place].scores for place in of_size]) for n, of_size in by_size.items()]))
    return found


def _permuted(member: MemberArray, label: IntArray, rng: Generator, permutations: int,
              groups: IntArray | None) -> Iterator[BoolArray]:
    """Blocks (b, N) of memberships permuted among the examples whose membership is known."""
    known = np.flatnonzero(member >= 0)
    height = max(1, BLOCK // max(1, member.size))
    if groups is not None:
        _, first, unit = np.unique(groups[known], return_index=True, return_inverse=True)
        of_group = (member[known] == 1)[first]
        if (of_group[unit] != (member[known] == 1)).any():
            raise ValueError("a group has members and non-members: expected whole groups to be members or not")
    for start in range(0, permutations, height):
        block = np.zeros((min(height, permutations - start), member.size), dtype=np.bool_)
        if groups is not None:
            block[:, known] = rng.permuted(np.tile(of_group, (len(block), 1)), axis=1)[:, unit]
        else:
            for one in np.unique(label[known]):
                rows = known[label[known] == one]
                block[:, rows] = rng.permuted(np.tile(member[rows] == 1, (len(block), 1)), axis=1)
        yield block
