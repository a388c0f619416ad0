"""What is shown next to the attacks: planted leaks, all records of a person together, a bound on ε, and the blind
baseline: what tells members from non-members without asking any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.core.power import has_power, inflation_of, power_of
from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Planted
from discreet.audit.membership.attack import Scores
from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.audit.membership.rows import NO_CONTROL
from discreet.audit.scores.table import ScoreTable
from discreet.core.design import Design, decides
from discreet.core.errors import InputError, need
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import auroc_estimate, delong_test
from discreet.stats.arrays import midranks
from discreet.stats.epsilon import one_run_epsilon

FEWEST_PLANTED_OUT = 10
"""From so many planted records that were left out, planted members are compared with these."""

RUNGS = (1.0, 0.5, 0.25, 0.125, 0.05, 0.02)
"""Shares of the units that are guessed: as many from the top (members) as from the bottom (non-members)."""

FOLDS = 5
WIDER = sqrt(1.0 + FOLDS / (FOLDS - 1))
"""Folds share training records, which an AUC's own variance does not know: its interval is made so many times as wide
(Nadeau & Bengio, Machine Learning 2003, the corrected variance: 1 + folds × test share / training share)."""

MOST = 10_000
"""Most members, and most non-members, that the blind baseline reads; more are thinned at random."""


@dataclass(frozen=True, slots=True)
class PlantedLeak(Planted):
    """How well records repeated on purpose stand out: planted members against non-members by the primary attack, 5%
    shared out over all numbers of repetitions. `detected`: the lower end of `auc` exceeds ½, and the target its control
    model, if any. `power`: chance that the primary endpoint would find a leak as strong as this one in all members."""

    derived: ClassVar[tuple[str, ...]] = ("weak",)

    auc: Estimate
    control_auc: Estimate
    power: Estimate

    @property
    def weak(self) -> bool:
        """Whether these are too few records to show an AUC of `PLANTED_AUC` in them with power .8."""
        return not has_power(self.auc)


def planted_leaks(table: ScoreTable, sets: EvaluationSets, scores: Scores, primary: Estimate,
                  units: Units) -> list[PlantedLeak]:
    """One entry per number of repetitions, rising. `primary` is the AUC of the primary endpoint: it has the size."""
    if scores.target is None:
        return []
    out = sets.planted_out if sets.planted_out.size >= FEWEST_PLANTED_OUT else sets.clean[scores.kind]
    repetitions = table.examples.planted[sets.planted]
    tried = np.unique(repetitions)
    # A pass needs any one of them: each by itself is tested at a stricter level.
    level = 1.0 - 0.05 / max(tried.size, 1)
    found = []
    for one in tried:
        rows, truth = _scored(same_examples(scores)[0], sets.planted[repetitions == one], out)
        groups = units.at(rows)
        auc = auroc_estimate(scores.target[rows], truth, level=level, unit=units.name, groups=groups)
        detected = auc.low is not None and auc.low > 0.5
        control = Estimate.unresolved(NO_CONTROL, unit=units.name)
        if scores.control is not None:
            control = auroc_estimate(scores.control[rows], truth, level=level, unit=units.name, groups=groups)
            try:
                exceeds = delong_test(scores.target[rows], scores.control[rows], truth, level=level, groups=groups
                                      ).low > 0.0
            except ValueError:  # Both AUCs are known without spread and differ.
                exceeds = (auc.value or 0.0) > (control.value or 0.0)
            detected = detected and exceeds
        found.append(PlantedLeak(int(one), detected, auc, control, _power(auc, primary)))
    return found


def same_examples(scores: Scores) -> tuple[Scores, Scores]:
    """The target's scores, and the control model's as if it were the target: NaN where either lacks one.

    Without a control model the second has no scores, and says so.
    """
    if scores.target is None or scores.control is None:
        return scores, replace(scores, target=None, control=None, reason=scores.reason or NO_CONTROL)
    known = np.isfinite(scores.target) & np.isfinite(scores.control)
    target, control = (np.where(known, one, np.nan) for one in (scores.target, scores.control))
    return replace(scores, target=target, control=control), replace(scores, target=control, control=None)


def group_level(scores: Scores, sets: EvaluationSets, units: Units) -> Estimate:
    """AUC of groups (users): the mean score of a group's judged records, member groups against the others."""
    if units.group is None or not units.users:
        what = "the table has no column 'group'" if units.group is None else "the groups are near-duplicate texts"
        return Estimate.unresolved(f"{what}: whose records belong together is not known", unit="group")
    if scores.target is None:
        return Estimate.unresolved(scores.reason or "no scores", unit="group")
    rows, truth = _scored(scores, sets.members, sets.clean[scores.kind])
    if not rows.size:
        return Estimate.unresolved("no judged record has a score", unit="group")
    return auroc_estimate(*units.means(scores.target, rows, truth), unit="group")


def one_run_bound(scores: Scores, sets: EvaluationSets, design: Design, units: Units, rng: Generator, *,
                  delta: float = 0.0, alpha: float = 0.05) -> Estimate:
    """ε >= this with confidence 1 − `alpha`, for adding or removing one unit, at δ, from the training run audited.

    Steinke, Nasr & Jagielski 2023, Theorem 5.2: of r guesses about independent fair coins that the output of
    (ε, δ)-private training allows, no more are right than Binomial(r, e^ε / (1 + e^ε)), up to δ. The larger of
    members and non-members is thinned at random until both are equal, the extremes of the score are guessed on a
    ladder of shares, Bonferroni over its rungs. A unit is an example, or a group with its mean score. A split into
    halves of fixed size is treated as coins, which it nearly is. Unresolved where no random draw decided
    membership.
    """
    if not decides(design):
        return Estimate.unresolved(f"an ε bound needs membership that a random draw decided; this design is {design!r}",
                                   unit=units.name)
    if scores.target is None:
        return Estimate.unresolved(scores.reason or "no scores", unit=units.name)
    values, truth = units.means(scores.target, *_scored(scores, sets.members, sets.clean[scores.kind]))
    n = min(int(truth.sum()), int((~truth).sum()))
    if n < 2:
        return Estimate.unresolved(f"an ε bound over {n} {units.name}s in one of the sets: at least 2 are needed",
                                   unit=units.name)
    kept = np.concatenate([rng.permutation(np.flatnonzero(truth == inside))[:n] for inside in (True, False)])
    best, guesses = ladder_bound(values[kept], truth[kept], alpha, rng, delta)
    return Estimate(best, best, None, n=2 * n, n_pos=n, n_neg=n, unit=units.name,
                    method=f"one run, Theorem 5.2 of Steinke et al. 2023, {guesses} guesses, "
                           f"Bonferroni over {len(RUNGS)} rungs; a lower bound at {100 * (1 - alpha):.3g}%")


def ladder_bound(values: FloatArray, truth: BoolArray, alpha: float, rng: Generator, delta: float = 0.0
                 ) -> tuple[float, int]:
    """The best lower bound on ε at δ over `RUNGS`, and how many guesses made it; P(bound > ε) <= alpha.

    `values` (n,) and `truth` (n,): half of the units, the highest, may be guessed members, the others non-members.
    Ties are broken at random.
    """
    rising, n = truth[np.lexsort((rng.random(values.size), values))], values.size
    best = (0.0, 0)
    for each in (int(np.ceil(rung * n / 2)) for rung in RUNGS):
        if 0 < 2 * each <= n:
            correct = int(rising[n - each:].sum()) + int((~rising[:each]).sum())
            best = max(best, (one_run_epsilon(correct, 2 * each, alpha / len(RUNGS), delta=delta, n=n),
                              2 * each))
    return best


def blind_auc(table: ScoreTable, sets: EvaluationSets, rng: Generator, *, texts: Mapping[str, str] | None = None,
              features: Any = None, units: Units) -> Estimate:
    """AUC of a classifier that sees texts, `features` (N, d), or label, length and category columns; no model's scores.

    Where it beats chance the two sets differ by themselves, and an attack may recognise the difference instead of a
    memory. Each example is judged by a classifier that did not see it, nor anyone of its group. Unresolved with fewer
    than five units in one set, or where the table has nothing but scores. InputError if `texts`, by example id, lack
    that of a judged example.
    """
    members, others = (units.some(rows, MOST, rng) for rows in (sets.members, sets.clean[None]))
    rows = np.concatenate([members, others])
    truth = np.arange(rows.size) < members.size
    folds = _folds(truth, units.at(rows), rng)
    if folds is None:
        return Estimate.unresolved(
            f"a blind baseline of {members.size} members and {others.size} non-members: at least {FOLDS} {units.name}s "
            "of each are needed", unit=units.name)
    if texts is not None:
        features, seen = _words(table, rows, texts), "texts"
    elif features is not None:
        features, seen = features[rows], "inputs"
    else:
        columns = dict(_columns(table, rows))
        features, seen = np.concatenate(list(columns.values()), axis=1) if columns else None, ", ".join(columns)
    if features is None:
        return Estimate.unresolved(
            "there are no texts, and label, length or category are the same for all examples: give the texts",
            unit=units.name)
    normal = NormalDist()
    found = auroc_estimate(_out_of_fold(features, truth, folds), truth, unit=units.name, groups=units.at(rows),
                           level=2.0 * normal.cdf(WIDER * normal.inv_cdf(0.975)) - 1.0)
    how = f"logistic regression on {seen}, {FOLDS} folds; {found.method}, {WIDER:.1f} times as wide"
    return replace(found, level=0.95, method=how) if found.resolved else found


def _folds(truth: BoolArray, groups: IntArray | None, rng: Generator) -> IntArray | None:
    """The fold of each example: units spread evenly within either set; None with fewer than one of it per fold."""
    fold = np.empty(truth.size, dtype=np.int64)
    for inside in (True, False):
        rows = np.flatnonzero(truth == inside)
        unit = np.arange(rows.size) if groups is None else np.unique(groups[rows], return_inverse=True)[1].reshape(-1)
        n_units = int(unit.max(initial=-1)) + 1
        if n_units < FOLDS:
            return None
        fold[rows] = (rng.permutation(n_units) % FOLDS)[unit]
    return fold


def _out_of_fold(features: Any, truth: BoolArray, folds: IntArray) -> FloatArray:
    """Ranks within the fold, in (0, 1): classifiers of different folds share no scale, and pooled raw scores would be
    biased below ½ on the null, since a fold with more members leaves fewer to train on."""
    regression = need("sklearn.linear_model", "the blind baseline", "audit").LogisticRegression
    scores = np.empty(truth.size)
    for fold in range(FOLDS):
        held, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        seen = features
        if isinstance(features, np.ndarray):
            # The solver gives columns without variation weights by their place, and so by membership where a category
            # has one record.
            seen = features[:, np.ptp(features[rest], axis=0) > 0.0]
        if not seen.shape[1]:
            scores[held] = 0.5
            continue
        model = regression(solver="liblinear", class_weight="balanced").fit(seen[rest], truth[rest])
        scores[held] = (midranks(model.decision_function(seen[held])) - 0.5) / held.size
    return scores


def _words(table: ScoreTable, rows: IntArray, texts: Mapping[str, str]) -> Any:
    vectorizer = need("sklearn.feature_extraction.text", "the blind baseline", "audit").TfidfVectorizer
    ids = [str(table.examples.id[row]) for row in rows]
    if missing := sum(one not in texts for one in ids):
        raise InputError(f"{missing} of {len(ids)} judged examples have no text: expected one for every example id; "
                         "give the file that was scored")
    given = [texts[one] for one in ids]
    # The vocabulary comes from both sets and knows no membership; only the weights are fitted.
    return None if not any(one.strip() for one in given) else vectorizer(
        sublinear_tf=True, ngram_range=(1, 2), max_features=50_000, token_pattern=r"(?u)\b\w+\b|[^\w\s]"
    ).fit_transform(given)


def _columns(table: ScoreTable, rows: IntArray) -> Iterator[tuple[str, FloatArray]]:
    """What the table says of these examples besides scores, standardised, by name; columns that vary."""
    examples = table.examples
    found = {"label": (examples.label[rows][:, None] == np.arange(table.n_classes)).astype(np.float64)}
    if examples.categories is not None:
        held = [examples.categories[row] for row in rows]
        names = sorted(frozenset().union(*held))
        found["category"] = np.array([[name in one for name in names] for one in held], dtype=np.float64)
    for name in ("structure", "source"):
        if name in examples.columns:
            given = examples.columns[name][rows].astype(str)
            found[name] = (given[:, None] == np.unique(given)).astype(np.float64)
    for name in ("length", "n_tokens", "n_characters"):
        with suppress(KeyError, TypeError, ValueError):
            values = np.asarray(examples.columns[name][rows], dtype=np.float64)
            if np.isfinite(values).all():
                found[name] = np.stack([values, np.log1p(np.abs(values))], axis=1)
    for name, values in found.items():
        spread = values.std(axis=0)
        if (spread > 0).any():
            yield name, (values - values.mean(axis=0))[:, spread > 0] / spread[spread > 0]


def _scored(scores: Scores, members: IntArray, others: IntArray) -> tuple[IntArray, BoolArray]:
    """The rows among `members` and `others` that have a score, (m,), and which are members."""
    assert scores.target is not None
    rows = np.concatenate([members, others])
    truth = np.arange(rows.size) < members.size
    known = np.isfinite(scores.target[rows])
    return rows[known], truth[known]


def _power(planted: Estimate, primary: Estimate) -> Estimate:
    members, others = primary.n_pos or 0, primary.n_neg or 0
    facts: dict[str, Any] = {"level": planted.level, "n": primary.n, "n_pos": members, "n_neg": others,
                             "unit": primary.unit}
    if planted.value is None or planted.low is None or planted.high is None or min(members, others) < 2:
        return Estimate.unresolved("the planted AUC or the primary endpoint is unresolved", **facts)
    value, low, high = (power_of(auc, members, others, primary.level, inflation_of(primary))
                        for auc in (planted.value, planted.low, planted.high))
    # Near an AUC of 1 few units leave the bound anywhere, and power falls again.
    return Estimate(value, min(value, low, high), max(value, low, high),
                    method="Hanley–McNeil at the planted AUC and its ends", **facts)
