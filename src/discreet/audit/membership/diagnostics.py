"""Whether records at the boundary are distinctive by their content (membership paper, section 7.1).

The paper asks of a representation (a sentence encoder, the classifier's hidden state, the base model's) whether
boundary records are outliers by their distance to the nearest neighbours, by a Mann–Whitney U test, and finds no
evidence. Here that statistic is U / (n₁ n₂), an AUC, of ranks within a label, so that labels of unlike density cannot
pass for outliers; two more say how often neighbours are of the same set and of the same label. Every p is by
permutation: neighbours are shared between records, which the test of the paper takes for independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from discreet.audit.core.verdict import Part
from discreet.audit.membership.evaluation_sets import BOUNDARY_N, boundary
from discreet.core.errors import need
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import auroc, auroc_estimate, holm, permutation_p, share_estimate
from discreet.stats.arrays import midranks

K = 10
"""Nearest neighbours."""
PERMUTATIONS = 999

NAMES = ("outlier_boundary", "outlier_boundary_members", "side_agreement_boundary", "side_agreement",
         "label_agreement_boundary")


@dataclass(frozen=True, slots=True)
class Diagnostic(Part):
    """One figure about a representation: an AUC ("outlier_…") or a share ("…_agreement…"), in [0, 1], whose interval
    takes records as independent; its mean over the permutations; and the two-sided permutation p, corrected by Holm."""

    name: str
    estimate: Estimate
    chance: float | None
    p: Estimate


def diagnose(vectors: FloatArray, label: IntArray, member: BoolArray, p_true: FloatArray, rng: Generator, *, k: int = K,
             n: int = BOUNDARY_N, permutations: int = PERMUTATIONS) -> list[Diagnostic]:
    """All diagnostics of one representation, in the order of `NAMES`.

    `vectors` (m, d) are finite; distances are Euclidean: normalise the rows first for cosine. `p_true` (m,) is the
    selector's probability of the true class, `k` >= 1 the number of neighbours, `n` >= 1 that of boundary records per
    label and set; 0 permutations leave chance and p out. ValueError for what is not so.

    "outlier_boundary" and "label_agreement_boundary" permute who is at the boundary, within label and set; the others
    permute membership within labels and select the boundary again each time, as the audit does. Records of one
    person must not be in it twice: neighbours would then be the person.
    """
    m = label.size
    if vectors.ndim != 2 or vectors.shape[0] != m or member.shape != (m,) or p_true.shape != (m,):
        raise ValueError(f"vectors, label, member and p_true have shapes {vectors.shape}, {label.shape}, "
                         f"{member.shape} and {p_true.shape}: expected (m, d) and three times (m,)")
    if not np.isfinite(vectors).all() or not np.isfinite(p_true).all():
        raise ValueError("vectors and p_true must be finite: leave the records out that have none")
    if k < 1 or permutations < 0:
        raise ValueError(f"k is {k} and permutations is {permutations}: expected at least 1 and 0")
    if m <= k:
        nothing = Estimate.unresolved(f"{m} records have no {k} neighbours each: at least {k + 1} are needed")
        return [Diagnostic(name, nothing, None, nothing) for name in NAMES]
    distances, nearest = neighbours(vectors, k)
    score, everyone = ranks_within(distances.mean(axis=1), label), np.ones(m, dtype=np.bool_)

    def boundary_of(member: BoolArray) -> BoolArray:
        return np.isin(np.arange(m), boundary(p_true, label, member.astype(np.int8), n))

    def alike(codes: IntArray | BoolArray, rows: BoolArray) -> BoolArray:
        return np.asarray(codes[nearest[rows]] == codes[rows][:, None], dtype=np.bool_)

    def agreement(codes: IntArray | BoolArray, rows: BoolArray) -> Estimate:
        hits = alike(codes, rows)
        return share_estimate(hits.reshape(-1), groups=np.repeat(np.arange(len(hits)), k), of="boundary records")

    at = boundary_of(member)
    # One generator each: a figure does not move when another is left out.
    draws = rng.spawn(2)
    of_boundary = list(_permuted(at, 2 * label + member, draws[0], permutations))
    of_member = [(moved, boundary_of(moved)) for moved in _permuted(member, label, draws[1], permutations)]
    figures: tuple[tuple[Estimate, Iterable[float]], ...] = (
        (auroc_estimate(score, at), (auroc(score, moved) for moved in of_boundary)),
        (auroc_estimate(score[at], member[at]), (auroc(score[there], moved[there]) for moved, there in of_member)),
        (agreement(member, at), (float(alike(*both).mean()) for both in of_member)),
        (agreement(member, everyone), (float(alike(moved, everyone).mean()) for moved, _ in of_member)),
        (agreement(label, at), (float(alike(label, moved).mean()) for moved in of_boundary)))
    found = []
    for name, (estimate, permuted) in zip(NAMES, figures, strict=True):
        # What is unresolved has no null either: one of its groups is (nearly) empty in every permutation.
        null = list(permuted) if estimate.value is not None else []
        p = Estimate(permutation_p(estimate.value, null, "two-sided"), None, None, n=len(null), unit="permutation"
                     ) if estimate.value is not None and null else Estimate.unresolved(
                         estimate.reason or "no permutations were asked for")
        found.append(Diagnostic(name, estimate, float(np.mean(null)) if null else None, p))
    values = [one.p.value for one in found if one.p.value is not None]
    adjusted, method = iter(holm(values) if values else ()), f"permutation, two-sided, Holm over {len(values)}"
    return [one if one.p.value is None else replace(one, p=replace(
        one.p, value=min(1.0, float(next(adjusted))), method=method)) for one in found]


def neighbours(vectors: FloatArray, k: int = K) -> tuple[FloatArray, IntArray]:
    """Euclidean distances to the k nearest other rows, rising, and their places; both (m, k). Exact.

    ValueError unless 1 <= k < m. MissingExtraError without scikit-learn.
    """
    search = need("sklearn.neighbors", "nearest neighbours", "audit").NearestNeighbors
    if not 1 <= k < len(vectors):
        raise ValueError(f"k is {k}: expected 1 to {len(vectors) - 1}, as there are {len(vectors)} rows")
    # About the mean, squares do not swamp the distances.
    centred = np.asarray(vectors, dtype=np.float64) - vectors.mean(axis=0)
    distance, place = search(n_neighbors=k, algorithm="brute").fit(centred).kneighbors()
    return distance, place


def ranks_within(values: FloatArray, label: IntArray) -> FloatArray:
    """Rank of each of `values` (m,) among those of its label, ties in the middle, as a share in (0, 1); (m,)."""
    found = np.empty(values.size)
    for one in np.unique(label):
        rows = label == one
        found[rows] = (midranks(values[rows]) - 0.5) / rows.sum()
    return found


def _permuted(values: BoolArray, cells: IntArray, rng: Generator, times: int) -> Iterator[BoolArray]:
    """`values` (m,) permuted within `cells` (m,), `times` over."""
    parts = [np.flatnonzero(cells == cell) for cell in np.unique(cells)]
    for _ in range(times):
        moved = np.empty_like(values)
        for part in parts:
            moved[part] = rng.permutation(values[part])
        yield moved
