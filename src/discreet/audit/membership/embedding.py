"""Where the decision boundary lies in a representation: the records for a picture, and the picture's points.

Figure 4 (left) of the membership paper shows boundary members, boundary non-members and records drawn at random from
the rest, in two dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.diagnostics import PERMUTATIONS, K, diagnose
from discreet.audit.membership.evaluation_sets import sides_of
from discreet.audit.membership.plan import Lens
from discreet.audit.membership.selection import BOUNDARY_N
from discreet.core.errors import InputError, MissingExtraError
from discreet.core.numbers import counted
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import ScoreTable

Method = Literal["pca", "tsne"]

SETS = ("random", "boundary members", "boundary non-members")
RANDOM = 400
"""Records off the boundary that are drawn at random for the picture."""
FEWEST = 4
MOST = 6_000
LOWEST = 200
"""Records a label, the least likely, that stay where `MOST` of a large table are drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """The judged records of one target, m of them, and which are at the boundary.

    Attributes
    ----------
    rows : (m,) int array
        Rows of the table, rising: members and clean non-members, of each label as many, one of each group.
    label : (m,) int array
    member, edge : (m,) bool array
        Whether the target trained on it; whether it is at the boundary.
    p_true : (m,) float array
        The selector's probability of the true class.
    """

    rows: IntArray
    label: IntArray
    member: BoolArray
    edge: BoolArray
    p_true: FloatArray

    @property
    def sets(self) -> dict[str, IntArray]:
        """Places of the three sets of a picture."""
        parts = ~self.edge, self.edge & self.member, self.edge & ~self.member
        return {name: np.flatnonzero(part) for name, part in zip(SETS, parts, strict=True)}


def where(table: ScoreTable, target: int, rng: Generator, *, n: int = BOUNDARY_N, most: int = MOST) -> Where:
    """The records that a picture and its diagnostics are of.

    Of a table with more than `most` judged records, the `LOWEST` least likely of each label stay and of the others as
    many as fit, drawn at random.

    Raises
    ------
    InputError
        Without a selection model, which alone says where the boundary is; with fewer than `FEWEST` records.
    """
    sides = sides_of(table, target, rng)
    lens = Lens.of(table, sides, rng)
    if lens.selector_p is None or lens.ranking is None:
        raise InputError("the table has no scores of a selection model that says it was not trained on the examples, "
                         "so nobody knows where the decision boundary is; score the examples with a model trained on "
                         "other data (model_role 'selection', 'member' false)")
    member = np.full(len(table.examples), -1, dtype=np.int8)
    member[sides.clean[None]] = 0
    member[sides.members] = 1
    rows = rng.permutation(np.flatnonzero(member >= 0))
    if table.examples.group is not None:
        rows = rows[np.unique(table.examples.group[rows], return_index=True)[1]]
    rows = lens.even(np.sort(rows), member)
    if rows.size < FEWEST:
        raise InputError(f"{counted(int(rows.size), 'record')} of both sides can be compared, of each label as many "
                         f"and one of each group; expected at least {FEWEST}: score more examples")
    kept = np.full_like(member, -1)
    kept[rows] = member[rows]
    edge = lens.ranking.boundary(kept, n)
    if rows.size > most:
        lowest = lens.ranking.boundary(kept, max(LOWEST, 2 * n), "union")
        lowest = np.union1d(lowest, edge)
        others = rng.permutation(np.setdiff1d(rows, lowest))[: max(0, most - lowest.size)]
        rows = np.union1d(lowest, others)
    return Where(rows, table.examples.label[rows], member[rows] == 1, np.isin(rows, edge), lens.selector_p[rows])


def embedding_record(
    vectors: FloatArray, table: ScoreTable, target: int, rng: Generator, *, representation: str,
    method: Method = "pca", permutations: int = PERMUTATIONS,
) -> dict[str, Any]:
    """What a report shows of a representation: `picture` with the records' numbers and `diagnostics`.

    `vectors` (N, d) are of the examples of `table`, in its order. Raises as `where` and `picture`.
    """
    there = where(table, target, rng)
    chosen = np.asarray(vectors[there.rows], dtype=np.float64)
    drawn = picture(chosen, there.sets, rng, representation=representation, method=method)
    found = diagnose(chosen, there.label, there.member, there.p_true, rng, permutations=permutations)
    return {**drawn, "target": table.models[target].name, "records": int(there.rows.size),
            "dimensions": int(chosen.shape[1]), "neighbours": K, "permutations": permutations,
            "diagnostics": [one.to_json() for one in found]}


def picture(
    vectors: FloatArray, sets: Mapping[str, IntArray], rng: Generator, *, representation: str, method: Method = "pca",
    most: int = RANDOM,
) -> dict[str, Any]:
    """Points in two dimensions.

    Parameters
    ----------
    vectors : (m, d) float array
        Finite, m >= 3 and d >= 2.
    sets : mapping of each of `SETS` to an int array
        Rows of `vectors`; of "random" at most `most` are drawn, with `rng`.
    representation : str
        What the vectors are, in words.
    method : "pca" or "tsne"
        The two directions of most variance of all `vectors`, each with its largest loading positive; or t-SNE (van
        der Maaten & Hinton 2008, scikit-learn's, started from PCA, seeded with `rng`) of the drawn points alone.

    Returns
    -------
    dict
        `{representation, method, explained, points: [{set, x, y}]}`; `explained` has the two shares of the variance,
        None for t-SNE.

    Raises
    ------
    ValueError
        For vectors of another shape or not finite, other sets, or an unknown method.
    MissingExtraError
        For t-SNE without scikit-learn.
    """
    if vectors.ndim != 2 or vectors.shape[0] < 3 or vectors.shape[1] < 2 or not np.isfinite(vectors).all():
        raise ValueError(f"vectors have shape {vectors.shape}: expected (m, d), m >= 3 and d >= 2, all finite")
    if set(sets) != set(SETS):
        raise ValueError(f"sets are {sorted(sets)}: expected {', '.join(SETS)}")
    if method not in ("pca", "tsne"):
        raise ValueError(f"method is {method!r}: expected 'pca' or 'tsne'")
    chosen = {name: rng.permutation(sets[name])[:most] if name == SETS[0] else sets[name] for name in SETS}
    rows = np.concatenate([chosen[name] for name in SETS]).astype(np.int64)
    explained: list[float] | None = None
    if method == "pca":
        places, explained = _pca(vectors, rows)
    else:
        places = _tsne(vectors[rows], rng)
    names = [name for name in SETS for _ in range(chosen[name].size)]
    points = [{"set": name, "x": float(x), "y": float(y)} for name, (x, y) in zip(names, places, strict=True)]
    return {"representation": representation, "method": method, "explained": explained, "points": points}


def _pca(vectors: FloatArray, rows: IntArray) -> tuple[FloatArray, list[float]]:
    centred = vectors - vectors.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    first = directions[:2]
    # The sign of a direction is arbitrary; a rule makes pictures comparable.
    first = first * np.sign(np.take_along_axis(first, np.abs(first).argmax(axis=1)[:, None], axis=1))
    total = float((values**2).sum())
    return centred[rows] @ first.T, [float(one**2) / total if total else 0.0 for one in values[:2]]


def _tsne(vectors: FloatArray, rng: Generator) -> FloatArray:
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise MissingExtraError("t-SNE", "audit", "scikit-learn") from None
    perplexity = min(30.0, max(1.0, (vectors.shape[0] - 1) / 3.0))
    seeded = TSNE(n_components=2, init="pca", perplexity=perplexity, random_state=int(rng.integers(2**31)))
    return np.asarray(seeded.fit_transform(vectors), dtype=np.float64)
