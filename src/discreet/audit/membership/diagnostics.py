"""Where the decision boundary lies in a representation: its records, their picture, and whether they are distinctive.

Figure 4 (left) of the membership paper shows boundary members, boundary non-members and records drawn at random from
the rest, in two dimensions. Section 7.1 asks of a representation (a sentence encoder, the classifier's hidden state,
the base model's) whether boundary records are outliers by their distance to the nearest neighbours, by a Mann–Whitney U
test, and finds no evidence. Here that statistic is U / (n₁ n₂), an AUC, of ranks within a label, so that labels of
unlike density cannot pass for outliers; two more say how often neighbours are of the same set and of the same label.
Every p is by permutation: neighbours are shared between records, which the test of the paper takes for independent.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.audit.core.verdict import Part
from discreet.audit.membership.evaluation_sets import BOUNDARY_N, Selector, boundary, evaluation_sets, selector_p
from discreet.audit.membership.rows import NO_SELECTOR
from discreet.audit.scores.table import IN, OUT, ScoreTable
from discreet.core.errors import InputError, need
from discreet.core.numbers import counted
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.inputs.columns import open_columns, written
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


SETS = ("random", "boundary members", "boundary non-members")
RANDOM = 400
"""Records off the boundary that are drawn at random for the picture."""
FEWEST, MOST, LOWEST = 4, 6_000, 200
"""Records that a picture is of, at least and at most, and how many of a label, the least likely, stay in any case."""

COLUMN = re.compile(r"e(0|[1-9][0-9]{0,5})")
EXPECTED = "an array 'example' (n,) of names and an array 'vectors' (n, d) of numbers, d at least 2"


class BoundaryPlaces(NamedTuple):
    """The judged records of one target, m of them: rows of the table, rising (members and clean non-members, of each
    label as many, one of each group), and the selector's probability of the true class."""

    rows: IntArray
    label: IntArray
    member: BoolArray
    at_boundary: BoolArray
    p_true: FloatArray


def boundary_places(table: ScoreTable, target: int, rng: Generator, *, n: int = BOUNDARY_N,
                    most: int = MOST) -> BoundaryPlaces:
    """The records that a picture and its diagnostics are of.

    Of a table with more than `most` judged records, the `LOWEST` least likely of each label stay and of the others as
    many as fit, drawn at random. InputError without a selection model, which alone says where the boundary is, or with
    fewer than `FEWEST` records.
    """
    sets = evaluation_sets(table, target, rng)
    selector, label = Selector.of(table, sets, rng), table.examples.label
    if selector.selector_p is None:
        raise InputError(f"where the decision boundary is cannot be known: {NO_SELECTOR}")
    member = sets.codes(len(table.examples), sets.clean[None])
    rows = rng.permutation(np.flatnonzero(member >= 0))
    if table.examples.group is not None:
        rows = rows[np.unique(table.examples.group[rows], return_index=True)[1]]
    rows = selector.balanced(np.sort(rows), member)
    if rows.size < FEWEST:
        raise InputError(f"{counted(int(rows.size), 'record')} of both sets can be compared, of each label as many "
                         f"and one of each group; expected at least {FEWEST}: score more examples")
    kept = np.full_like(member, -1)
    kept[rows] = member[rows]
    nearest = boundary(selector.selector_p, label, kept, n)
    if rows.size > most:
        lowest = np.union1d(boundary(selector.selector_p, label, kept, max(LOWEST, 2 * n), "union"), nearest)
        others = rng.permutation(np.setdiff1d(rows, lowest))[: max(0, most - lowest.size)]
        rows = np.union1d(lowest, others)
    return BoundaryPlaces(rows, label[rows], member[rows] == 1, np.isin(rows, nearest), selector.selector_p[rows])


def embedding_record(vectors: FloatArray, table: ScoreTable, target: int, rng: Generator, *, representation: str,
                     permutations: int = PERMUTATIONS) -> dict[str, Any]:
    """What a report shows of a representation: `picture` with the records' numbers and `diagnostics`.

    `vectors` (N, d) are of the examples of `table`, in its order. Raises as `boundary_places` and `picture`.
    """
    rows, label, member, at, p_true = boundary_places(table, target, rng)
    chosen = np.asarray(vectors[rows], dtype=np.float64)
    sets = dict(zip(SETS, map(np.flatnonzero, (~at, at & member, at & ~member)), strict=True))
    drawn = picture(chosen, sets, rng, representation=representation)
    found = diagnose(chosen, label, member, p_true, rng, permutations=permutations)
    return {**drawn, "target": table.models[target].name, "records": int(rows.size),
            "dimensions": int(chosen.shape[1]), "neighbours": K, "permutations": permutations,
            "diagnostics": [one.to_json() for one in found]}


def picture(vectors: FloatArray, sets: Mapping[str, IntArray], rng: Generator, *, representation: str,
            most: int = RANDOM) -> dict[str, Any]:
    """Points in the two directions of most variance of all `vectors`, each with its largest loading positive.

    `{representation, method, explained, points: [{set, x, y}]}`; `explained` are their shares of the variance.

    Parameters
    ----------
    vectors : (m, d) float array
        Finite, m >= 3 and d >= 2.
    sets : mapping of each of `SETS` to an int array
        Rows of `vectors`; of "random" at most `most` are drawn, with `rng`.
    representation : str
        What the vectors are, in words.
    """
    if vectors.ndim != 2 or vectors.shape[0] < 3 or vectors.shape[1] < 2 or not np.isfinite(vectors).all():
        raise ValueError(f"vectors have shape {vectors.shape}: expected (m, d), m >= 3 and d >= 2, all finite")
    if set(sets) != set(SETS):
        raise ValueError(f"sets are {sorted(sets)}: expected {', '.join(SETS)}")
    chosen = {name: rng.permutation(sets[name])[:most] if name == SETS[0] else sets[name] for name in SETS}
    rows = np.concatenate([chosen[name] for name in SETS]).astype(np.int64)
    centred = vectors - vectors.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    first = directions[:2]
    # The sign of a direction is arbitrary; a rule makes pictures comparable.
    first = first * np.sign(np.take_along_axis(first, np.abs(first).argmax(axis=1)[:, None], axis=1))
    total = float((values**2).sum())
    places, explained = centred[rows] @ first.T, [float(one**2) / total if total else 0.0 for one in values[:2]]
    names = [name for name in SETS for _ in range(chosen[name].size)]
    points = [{"set": name, "x": float(x), "y": float(y)} for name, (x, y) in zip(names, places, strict=True)]
    return {"representation": representation, "method": "pca", "explained": explained, "points": points}


def boundary_records(table: ScoreTable, texts: Mapping[str, str], *, each: int = 3) -> list[dict[str, Any]]:
    """The `each` least likely members and non-members of every label, by the selection models, with their texts.

    `{id, side, label, p, text}`, of the first target; empty without a selection model that may select. Records without
    text are passed over.
    """
    targets = table.of_role("target")
    # Which records are set aside does not matter here: the draw is of no consequence.
    p = selector_p(table, evaluation_sets(table, targets[0], np.random.default_rng(0))) if targets else None
    if p is None:
        return []
    known = np.isfinite(p) & np.array([name in texts for name in table.examples.id], dtype=np.bool_)
    found = []
    for label in np.unique(table.examples.label):
        for code, word in ((IN, "member"), (OUT, "non-member")):
            rows = np.flatnonzero(known & (table.examples.label == label) & (table.member[targets[0]] == code))
            least = rows[np.argsort(p[rows], kind="stable")][:each]
            found += [{"id": str(table.examples.id[row]), "side": word, "label": int(label), "p": float(p[row]),
                       "text": texts[table.examples.id[row]]} for row in least]
    return found


def load_vectors(path: Path, ids: NDArray[np.object_]) -> FloatArray:
    """The vectors of the examples called `ids` (N,), in that order; (N, d) float64, d >= 2.

    `path` is a NumPy file .npz with `example` (n,) and `vectors` (n, d), or Parquet, CSV or JSON Lines with columns
    `example` and e0, e1, …. Examples that are not in `ids` are passed over.

    InputError for a file that is not that, an example that stands twice or has no vector, and numbers that are not
    finite; MissingExtraError for a table without pyarrow.
    """
    names, vectors = _npz(path) if path.suffix.lower() == ".npz" else _columns(path)
    place: dict[str, int] = {}
    for row, name in enumerate(names):
        if name is None:
            raise InputError(f"{path}: row {row + 1:,} has no example; expected a name in every row")
        if place.setdefault(name, row) != row:
            raise InputError(f"{path}: example {name[:40]!r} is there twice; keep one vector for each")
    missing = [name for name in ids if name not in place]
    if missing:
        raise InputError(f"{path}: {len(missing):,} of the {counted(len(ids), 'example')} that were scored have no "
                         f"vector, the first of them {str(missing[0])[:40]!r}; expected a row for each, by the "
                         f"names in the column 'example' of the scores")
    found = vectors[[place[name] for name in ids]]
    if broken := int((~np.isfinite(found).all(axis=1)).sum()):
        raise InputError(f"{path}: the vectors of {counted(broken, 'example')} hold NaN or infinity; expected finite "
                         f"numbers")
    return found


def _npz(path: Path) -> tuple[list[str | None], FloatArray]:
    if not path.is_file():
        raise InputError(f"there is no file {path}; check the name")
    try:
        # Nothing is unpickled: a file of vectors must not run code. A plain array under this name is no archive.
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as held:
            given = {name: held[name] for name in ("example", "vectors") if name in held.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise InputError(f"{path} cannot be read as a NumPy .npz file without pickles; expected {EXPECTED}") from None
    if len(given) < 2:
        raise InputError(f"{path} lacks {'example' if 'example' not in given else 'vectors'!r}; expected {EXPECTED}")
    names, vectors = given["example"], given["vectors"]
    if names.ndim != 1 or names.dtype.kind not in "iuU" or vectors.dtype.kind not in "fiu" \
            or vectors.ndim != 2 or vectors.shape[0] != names.size or vectors.shape[1] < 2:
        raise InputError(f"{path}: example and vectors have shapes {names.shape} and {vectors.shape} and types "
                         f"{names.dtype} and {vectors.dtype}; expected {EXPECTED}")
    return [written(name) for name in names.tolist()], vectors.astype(np.float64)


def _columns(path: Path) -> tuple[list[str | None], FloatArray]:
    file = open_columns(path, lambda name: name == "example" or COLUMN.fullmatch(name) is not None,
                        lambda name: name != "example")
    wanted = [f"e{place}" for place in range(sum(name != "example" for name in file.names))]
    if len(wanted) < 2 or not {"example", *wanted} <= set(file.names):
        file.fail("the columns are not those of vectors; expected 'example' and e0, e1, …, at least two and none left "
                  "out")
    coded = file.coded("example")
    names = [coded.names[code] if code >= 0 else None for code in coded.codes]
    return names, np.column_stack([file.numbers(name) for name in wanted])
