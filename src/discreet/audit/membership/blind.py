"""The blind baseline: what tells members from non-members without asking any model.

Where it beats chance the two sets differ by themselves, and an attack may recognise the difference instead of a
memory. Scores are out of fold: each example is judged by a classifier that did not see it, nor anyone of its group.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.audit.core.resampling import Units
from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.core.errors import InputError, MissingExtraError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import ScoreTable
from discreet.stats import auroc_estimate

FOLDS = 5
WIDER = sqrt(1.0 + FOLDS / (FOLDS - 1))
"""Folds share training records, which an AUC's own variance does not know: its interval is made so many times as wide
(Nadeau & Bengio, Machine Learning 2003, the corrected variance: 1 + folds × test share / training share)."""
MOST = 10_000
"""Most members, and most non-members, that the baseline reads; more are thinned at random."""

NUMBERS = ("length", "n_tokens", "n_characters")
NAMES = ("structure", "source")
"""Columns of `Examples` that the baseline may read besides label and categories."""


def blind_auc(
    table: ScoreTable, sets: EvaluationSets, rng: Generator, *, texts: Mapping[str, str] | None = None, units: Units
) -> Estimate:
    """AUC of a classifier that sees texts (or label, length and category columns), and no model's scores.

    Parameters
    ----------
    texts : mapping of str to str, optional
        Text of each example id. InputError if a judged example has none.

    Returns
    -------
    Estimate
        In [0, 1], ½ where the sets do not differ; unresolved with fewer than five units in one of them, or where the
        table has nothing but scores.
    """
    members, others = (_thinned(rows, units, rng) for rows in (sets.members, sets.clean[None]))
    rows = np.concatenate([members, others])
    truth = np.arange(rows.size) < members.size
    folds = _folds(truth, units.at(rows), rng)
    if folds is None:
        return Estimate.unresolved(
            f"a blind baseline of {members.size} members and {others.size} non-members: at least {FOLDS} {units.name}s "
            "of each are needed", unit=units.name)
    features, seen = (_words(table, rows, texts), "texts") if texts is not None else _columns(table, rows)
    if features is None:
        return Estimate.unresolved(
            "there are no texts, and label, length or category are the same for all examples: give the texts",
            unit=units.name)
    scores = _out_of_fold(features, truth, folds)
    normal = NormalDist()
    wider = 2.0 * normal.cdf(WIDER * normal.inv_cdf(0.975)) - 1.0
    found = auroc_estimate(scores, truth, level=wider, unit=units.name, groups=units.at(rows))
    if not found.resolved:
        return found
    return Estimate(found.value, found.low, found.high, level=0.95, n=found.n, n_pos=found.n_pos,
                    n_neg=found.n_neg, unit=found.unit,
                    method=f"logistic regression on {seen}, {FOLDS} folds; {found.method}, {WIDER:.1f} times as wide")


def _thinned(rows: IntArray, units: Units, rng: Generator) -> IntArray:
    if rows.size <= MOST:
        return rows
    if units.group is None:
        return np.sort(rng.choice(rows, MOST, replace=False))
    names, sizes = np.unique(units.group[rows], return_counts=True)
    order = rng.permutation(names.size)
    kept = names[order[np.cumsum(sizes[order]) <= MOST]]
    return rows[np.isin(units.group[rows], kept)]


def _folds(truth: BoolArray, groups: IntArray | None, rng: Generator) -> IntArray | None:
    """The fold of each example: units spread evenly within members and within non-members; None with fewer than one
    of either per fold."""
    fold = np.empty(truth.size, dtype=np.int64)
    for inside in (True, False):
        rows = np.flatnonzero(truth == inside)
        unit = np.arange(rows.size) if groups is None else np.unique(groups[rows], return_inverse=True)[1].reshape(-1)
        n_units = int(unit.max()) + 1 if rows.size else 0
        if n_units < FOLDS:
            return None
        fold[rows] = (rng.permutation(n_units) % FOLDS)[unit]
    return fold


def _out_of_fold(features: Any, truth: BoolArray, folds: IntArray) -> FloatArray:
    """Ranks within the fold, in (0, 1): classifiers of different folds share no scale.

    Pooled raw scores would also be biased below ½ on the null, since a fold with more members leaves fewer to train on.
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtraError("the blind baseline", "audit", "sklearn") from None
    scores = np.empty(truth.size)
    for fold in range(FOLDS):
        held = np.flatnonzero(folds == fold)
        rest = np.flatnonzero(folds != fold)
        model = LogisticRegression(solver="liblinear", class_weight="balanced").fit(features[rest], truth[rest])
        values = model.decision_function(features[held])
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        upper = np.cumsum(counts)
        scores[held] = ((upper - (counts - 1) / 2.0)[place.reshape(-1)] - 0.5) / held.size
    return scores


def _words(table: ScoreTable, rows: IntArray, texts: Mapping[str, str]) -> Any:
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise MissingExtraError("the blind baseline", "audit", "sklearn") from None
    ids = [str(table.examples.id[row]) for row in rows]
    missing = sum(one not in texts for one in ids)
    if missing:
        raise InputError(f"{missing} of {len(ids)} judged examples have no text: expected one for every example id; "
                         "give the file that was scored")
    given = [texts[one] for one in ids]
    if not any(one.strip() for one in given):
        return None
    # The vocabulary comes from both sets and knows no membership; only the weights are fitted.
    return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), max_features=50_000,
                           token_pattern=r"(?u)\b\w+\b|[^\w\s]").fit_transform(given)


def _columns(table: ScoreTable, rows: IntArray) -> tuple[Any, str]:
    examples, parts, seen = table.examples, [], []

    def keep(name: str, values: FloatArray) -> None:
        spread = values.std(axis=0)
        if (spread > 0).any():
            parts.append((values - values.mean(axis=0))[:, spread > 0] / spread[spread > 0])
            seen.append(name)

    keep("label", (examples.label[rows][:, None] == np.arange(table.n_classes)).astype(np.float64))
    if examples.categories is not None:
        held = [examples.categories[row] for row in rows]
        names = sorted(frozenset().union(*held))
        if names:
            keep("category", np.array([[name in one for name in names] for one in held], dtype=np.float64))
    for name in NAMES:
        if name in examples.columns:
            given = examples.columns[name][rows].astype(str)
            keep(name, (given[:, None] == np.unique(given)).astype(np.float64))
    for name in NUMBERS:
        if name in examples.columns:
            values = _numbers(examples.columns[name][rows])
            if values is not None:
                keep(name, np.stack([values, np.log1p(np.abs(values))], axis=1))
    return (np.concatenate(parts, axis=1) if parts else None), ", ".join(seen)


def _numbers(given: Any) -> FloatArray | None:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if np.isfinite(values).all() else None
