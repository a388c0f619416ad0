"""Whether records at the boundary are distinctive by their content (membership paper, section 7.1).

The paper asks of a representation (a sentence encoder, the classifier's hidden state, the base model's) whether
boundary records are outliers by their distance to the nearest neighbours, by a Mann–Whitney U test, and finds no
evidence. Here that statistic is U / (n₁ n₂), an AUC, of ranks within a label, so that labels of unlike density cannot
pass for outliers; two more say how often neighbours are of the same set and of the same label. Every p is by
permutation: neighbours are shared between records, which the test of the paper takes for independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.selection import BOUNDARY_N, Ranking
from discreet.core.errors import MissingExtraError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import auroc, auroc_estimate, holm, permutation_p, share_estimate

K = 10
"""Nearest neighbours."""
PERMUTATIONS = 999

NO_PERMUTATIONS = "no permutations were asked for"
NAMES = ("outlier_boundary", "outlier_boundary_members", "side_agreement_boundary", "side_agreement",
         "label_agreement_boundary")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One figure about a representation.

    Attributes
    ----------
    name : str
        One of `NAMES`.
    estimate : Estimate
        An AUC ("outlier_…") or a share ("…_agreement…"), in [0, 1]; its interval takes records as independent.
    chance : float or None
        Its mean over the permutations: what it is where nothing is distinctive.
    p : Estimate
        Two-sided permutation p, corrected by Holm for the others of one call; value only.
    """

    name: str
    estimate: Estimate
    chance: float | None
    p: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "estimate": self.estimate.to_json(), "chance": self.chance, "p": self.p.to_json()}


@dataclass(frozen=True, slots=True, eq=False)
class _Fixed:
    """What does not change when membership is permuted.

    Attributes
    ----------
    distance : (m,) float array
        Mean distance to the k nearest others, as its rank within the record's label, in (0, 1).
    ranking : Ranking
        By the selector's probability of the true class.
    """

    distance: FloatArray
    ranking: Ranking

    def boundary(self, member: BoolArray, n: int) -> BoolArray:
        """(m,) the boundary under these memberships: the n least likely per label and set."""
        chosen = np.zeros(member.size, dtype=np.bool_)
        chosen[self.ranking.boundary(member.astype(np.int8), n)] = True
        return chosen


def diagnose(
    vectors: FloatArray, label: IntArray, member: BoolArray, p_true: FloatArray, rng: Generator, *, k: int = K,
    n: int = BOUNDARY_N, permutations: int = PERMUTATIONS,
) -> list[Diagnostic]:
    """All diagnostics of one representation, in the order of `NAMES`.

    Parameters
    ----------
    vectors : (m, d) float array
        Finite. Distances are Euclidean: normalise the rows first for cosine.
    label : (m,) int array
    member : (m,) bool array
    p_true : (m,) float array
        The selector's probability of the true class.
    k : int >= 1
    n : int >= 1
        Boundary records per label and set.
    permutations : int >= 0
        0 leaves chance and p out.

    Notes
    -----
    "outlier_boundary" and "label_agreement_boundary" permute who is at the boundary, within label and set; the others
    permute membership within labels and select the boundary again each time, as the audit does. Records of one
    person must not be in it twice: neighbours would then be the person.

    Raises
    ------
    ValueError
        For arrays of unlike length, vectors that are not finite, or a number out of range.
    """
    m = _checked(vectors, label, member, p_true)
    if k < 1 or permutations < 0:
        raise ValueError(f"k is {k} and permutations is {permutations}: expected at least 1 and 0")
    if m <= k:
        nothing = Estimate.unresolved(f"{m} records have no {k} neighbours each: at least {k + 1} are needed")
        return [Diagnostic(name, nothing, None, nothing) for name in NAMES]
    distances, nearest = neighbours(vectors, k)
    fixed = _Fixed(ranks_within(distances.mean(axis=1), label), Ranking.of(p_true, label))
    at_boundary = fixed.boundary(member, n)
    # One generator each: a figure does not move when another is left out.
    draws = rng.spawn(2)
    of_boundary = list(_permuted(at_boundary, 2 * label + member, draws[0], permutations))
    of_member = [(moved, fixed.boundary(moved, n)) for moved in _permuted(member, label, draws[1], permutations)]
    score, everyone = fixed.distance, np.ones(m, dtype=np.bool_)
    return _corrected([
        _outlier("outlier_boundary", auroc_estimate(score, at_boundary),
                 (auroc(score, moved) for moved in of_boundary)),
        _outlier("outlier_boundary_members", auroc_estimate(score[at_boundary], member[at_boundary]),
                 (auroc(score[at], moved[at]) for moved, at in of_member)),
        _agreement("side_agreement_boundary", nearest, member, at_boundary, of_member),
        _agreement("side_agreement", nearest, member, everyone, [(moved, everyone) for moved, _ in of_member]),
        _agreement("label_agreement_boundary", nearest, label, at_boundary, [(label, moved) for moved in of_boundary]),
    ])


def neighbours(vectors: FloatArray, k: int = K) -> tuple[FloatArray, IntArray]:
    """Euclidean distances to the k nearest other rows, rising, and their places; both (m, k). Exact.

    ValueError unless 1 <= k < m. MissingExtraError without scikit-learn.
    """
    try:
        from sklearn.neighbors import NearestNeighbors
    except ImportError:
        raise MissingExtraError("nearest neighbours", "audit", "sklearn") from None
    m = vectors.shape[0]
    if not 1 <= k < m:
        raise ValueError(f"k is {k}: expected 1 to {m - 1}, as there are {m} rows")
    # About the mean, squares do not swamp the distances.
    centred = np.asarray(vectors, dtype=np.float64) - vectors.mean(axis=0)
    distance, place = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(centred).kneighbors()
    return distance, place


def ranks_within(values: FloatArray, label: IntArray) -> FloatArray:
    """Rank of each of `values` (m,) among those of its label, ties in the middle, as a share in (0, 1); (m,)."""
    found = np.empty(values.size)
    for one in np.unique(label):
        rows = np.flatnonzero(label == one)
        _, place, counts = np.unique(values[rows], return_inverse=True, return_counts=True)
        below = np.concatenate([[0], np.cumsum(counts)[:-1]])
        found[rows] = (below + counts / 2.0)[place.reshape(-1)] / rows.size
    return found


def _checked(vectors: FloatArray, label: IntArray, member: BoolArray, p_true: FloatArray) -> int:
    m = label.size
    if vectors.ndim != 2 or vectors.shape[0] != m or member.shape != (m,) or p_true.shape != (m,):
        raise ValueError(f"vectors, label, member and p_true have shapes {vectors.shape}, {label.shape}, "
                         f"{member.shape} and {p_true.shape}: expected (m, d) and three times (m,)")
    if not np.isfinite(vectors).all() or not np.isfinite(p_true).all():
        raise ValueError("vectors and p_true must be finite: leave the records out that have none")
    return m


def _permuted(values: BoolArray, cells: IntArray, rng: Generator, times: int) -> Iterator[BoolArray]:
    """`values` (m,) permuted within `cells` (m,), `times` over."""
    order = np.argsort(cells, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(cells[order])) + 1)
    for _ in range(times):
        moved = np.empty_like(values)
        for part in parts:
            moved[part] = rng.permutation(values[part])
        yield moved


def _outlier(name: str, estimate: Estimate, null: Iterable[float]) -> Diagnostic:
    # An AUC that is unresolved has no null either: one of its two groups is (nearly) empty in every permutation.
    return _diagnostic(name, estimate, list(null) if estimate.resolved else [])


def _agreement(
    name: str, nearest: IntArray, codes: IntArray | BoolArray, rows: BoolArray,
    permuted: Sequence[tuple[IntArray | BoolArray, BoolArray]],
) -> Diagnostic:
    """How many of the neighbours of `rows` have the code of the record, observed and as `permuted` (codes, rows)."""
    hits = _hits(nearest, codes, rows)
    records = np.repeat(np.arange(hits.shape[0]), hits.shape[1])
    estimate = share_estimate(hits.reshape(-1), groups=records, of="boundary records")
    return _diagnostic(name, estimate, [float(_hits(nearest, *one).mean()) for one in permuted] if hits.size else [])


def _hits(nearest: IntArray, codes: IntArray | BoolArray, rows: BoolArray) -> BoolArray:
    chosen = np.flatnonzero(rows)
    return np.asarray(codes[nearest[chosen]] == codes[chosen][:, None], dtype=np.bool_)


def _diagnostic(name: str, estimate: Estimate, null: list[float]) -> Diagnostic:
    if estimate.value is None or not null:
        return Diagnostic(name, estimate, None, Estimate.unresolved(estimate.reason or NO_PERMUTATIONS))
    p = permutation_p(estimate.value, null, "two-sided")
    return Diagnostic(name, estimate, float(np.mean(null)), Estimate(p, None, None, n=len(null), unit="permutation"))


def _corrected(found: list[Diagnostic]) -> list[Diagnostic]:
    values = [one.p.value for one in found if one.p.value is not None]
    adjusted: Iterator[float] = iter(holm(values).tolist() if values else [])
    said = f"permutation, two-sided, Holm over {len(values)}"
    return [one if one.p.value is None else replace(one, p=replace(one.p, value=min(1.0, next(adjusted)), method=said))
            for one in found]
