"""From attacks to the figures of a row: scores, intervals, differences from the control model, family-wise p.

Intervals are by closed form where one holds, by paired bootstrap where none does.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.audit.core.resampling import PermutedRow, Units, joint_tpr, max_t
from discreet.audit.membership.attack import Attack, Scale, View, attacks, placebo_view, target_view
from discreet.audit.membership.evaluation_sets import EvaluationSets, NonMembers
from discreet.audit.membership.rows import NO_PLACEBO, JudgedRow, Row, Scores
from discreet.audit.membership.selection import BOUNDARY_N, Selector
from discreet.core.records import Estimate
from discreet.scores.table import ReferenceKind, ScoreTable
from discreet.stats import auroc_estimate, delong_test, percentile_interval, tpr_at_fpr_estimate

FPRS: Mapping[str, float] = {"tpr_at_1pct_fpr": 0.01, "tpr_at_5pct_fpr": 0.05}

FAMILIES: tuple[tuple[str, bool, NonMembers], ...] = (
    ("honest rows", False, "clean"), ("rows with paired references", True, "clean"),
    ("rows of the paper's protocol", True, "reference_train"),
)
"""Rows that share a max-T correction: the paper's large figures must not cost the honest rows power."""


def score_all(
    table: ScoreTable, sets: EvaluationSets, *, seed: int, names: Sequence[str] | None = None
) -> list[Scores]:
    """Run the attacks called `names` (all registered ones if None) in all their scales and reference kinds.

    Target and control model get equal generators, so that an attack that draws treats both alike. An attack that
    cannot run with any kind comes back once, with the reason.
    """
    view = target_view(table, sets)
    placebo = placebo_view(table, sets, view)
    found: list[Scores] = []
    runs: list[tuple[str, Scale, ReferenceKind | None]] = []
    for name in attacks if names is None else names:
        able, unable = able_kinds(attacks[name], view)
        if not able:
            kind = next((kind for kind in attacks[name].kinds if kind in view.references), attacks[name].kinds[0])
            found += [Scores(name, scale, kind, None, None, f"{name} cannot run: {unable[kind]}")
                      for scale in attacks[name].scales]
        runs += [(name, scale, kind) for kind in able for scale in attacks[name].scales]

    def run(name: str, scale: Scale, kind: ReferenceKind | None) -> Scores:
        # Each run has a generator of its own, so that working two at a time cannot change what it draws.
        key = (seed, zlib.crc32(f"{name}/{scale}/{kind}".encode()))
        target, control = (None if one is None else attacks[name].scores(one, scale, kind, np.random.default_rng(key))
                           for one in (view, placebo))
        return Scores(name, scale, kind, target, control)

    with ThreadPoolExecutor(2) as pool:
        found += pool.map(lambda one: run(*one), runs)
    return sorted(found, key=lambda one: one.attack)


def able_kinds(attack: Attack, view: View) -> tuple[list[ReferenceKind | None], dict[ReferenceKind | None, str]]:
    """The reference kinds with which an attack can run on a view, and for the others what is missing."""
    missing = {kind: attack.requirements(view, kind) for kind in attack.kinds}
    return ([kind for kind, clause in missing.items() if clause is None],
            {kind: clause for kind, clause in missing.items() if clause is not None})


def estimate_rows(judged: list[JudgedRow], units: Units, rng: Generator, *, n_resamples: int = 1000) -> list[Row]:
    """All figures but the permutation p for each row, in order."""
    # Sorting releases the interpreter's lock; nothing here draws, so the order of work cannot matter.
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda one: _row(one, units), judged))
    for places in _same_examples(judged).values():
        differences = _tpr_differences([judged[place] for place in places], units, rng, n_resamples)
        for place, found in zip(places, differences, strict=True):
            rows[place] = replace(rows[place], difference={**rows[place].difference, **found})
    return rows


def auc_of(judged: JudgedRow, units: Units, level: float) -> Estimate:
    """The AUC of a row that has scores, at another level than the row's."""
    assert judged.scores.target is not None
    return auroc_estimate(judged.scores.target[judged.rows], judged.truth, level=level, unit=units.name,
                          groups=units.at(judged.rows))


def placebo_tpr_of(judged: JudgedRow, units: Units, fpr: float) -> Estimate:
    """The control model's TPR at `fpr` on the examples of a row that has scores; unresolved without one."""
    if judged.scores.placebo is None:
        return Estimate.unresolved(NO_PLACEBO, unit=units.name)
    return tpr_at_fpr_estimate(judged.scores.placebo[judged.rows], judged.truth, fpr, unit=units.name,
                               groups=units.at(judged.rows))


def with_permutations(
    rows: list[Row], judged: list[JudgedRow], selector: Selector, units: Units, rng: Generator, *, permutations: int,
) -> list[Row]:
    """The rows with family-wise p values and null bands; unresolved rows stay as they are."""
    result, label = list(rows), selector.label
    for name, oracle, nonmembers in FAMILIES:
        places = [place for place, row in enumerate(rows) if row.auc.resolved
                  and row.spec.oracle == oracle and row.spec.nonmembers == nonmembers]
        if not places:
            continue
        member = np.full(label.size, -1, dtype=np.int8)
        for place in places:
            member[judged[place].pool] = judged[place].member[judged[place].pool]
        found = max_t([permuted_row(judged[place]) for place in places], member, label, selector.selector_p, rng,
                      permutations=permutations, groups=units.group, lot=selector.lot)
        bands = np.quantile(found.null, [0.025, 0.975], axis=0)
        for at, place in enumerate(places):
            p = Estimate(float(found.p[at]), None, None, n=permutations, unit="permutation",
                         method=f"max-T over {len(places)} {name}")
            result[place] = replace(rows[place], null_p=p, null_band=(float(bands[0, at]), float(bands[1, at])))
    return result


def permuted_row(judged: JudgedRow) -> PermutedRow:
    """What the permutation computes again for a row that has scores."""
    assert judged.scores.target is not None
    if judged.spec.selection != "boundary":
        return PermutedRow(judged.scores.target, judged.rows)
    return PermutedRow(judged.scores.target, judged.pool, judged.spec.n)


def _row(judged: JudgedRow, units: Units) -> Row:
    rows, truth, scores = judged.rows, judged.truth, judged.scores
    counts = int(truth.sum()), int((~truth).sum())
    if judged.reason is not None or scores.target is None:
        nothing = Estimate.unresolved(judged.reason or "no scores", unit=units.name)
        return Row(judged.spec, *counts, nothing, nothing, nothing, nothing, {"auc": nothing}, nothing)
    groups, target = units.at(rows), scores.target[rows]
    low, high = (tpr_at_fpr_estimate(target, truth, fpr, unit=units.name, groups=groups) for fpr in FPRS.values())
    auc = auroc_estimate(target, truth, unit=units.name, groups=groups)
    if scores.placebo is None:
        nothing = Estimate.unresolved(NO_PLACEBO, unit=units.name)
        return Row(judged.spec, *counts, auc, low, high, nothing, {"auc": nothing})
    control = scores.placebo[rows]
    placebo = auroc_estimate(control, truth, unit=units.name, groups=groups)
    facts: dict[str, Any] = {"n": auc.n, "n_pos": auc.n_pos, "n_neg": auc.n_neg, "unit": auc.unit}
    if not auc.resolved or not placebo.resolved:
        difference = Estimate.unresolved(auc.reason or placebo.reason or "", **facts)
    else:
        try:
            test = delong_test(target, control, truth, groups=groups)
            difference = Estimate(test.difference, test.low, test.high, method="paired DeLong", **facts)
        except ValueError:
            difference = Estimate.unresolved("both AUCs are without spread: more examples are needed", **facts)
    return Row(judged.spec, *counts, auc, low, high, placebo, {"auc": difference})


def _same_examples(judged: list[JudgedRow]) -> dict[bytes, list[int]]:
    """Rows that can share resamples: the very same members and non-members, with a control model.

    Strata and the other points of the curve over n have no differences of operating points.
    """
    found: dict[bytes, list[int]] = {}
    for place, one in enumerate(judged):
        if one.spec.whole and one.spec.n in (None, BOUNDARY_N) and one.scores.placebo is not None:
            found.setdefault(one.rows.tobytes() + one.member[one.rows].tobytes(), []).append(place)
    return found


def _tpr_differences(
    judged: list[JudgedRow], units: Units, rng: Generator, n_resamples: int
) -> list[dict[str, Estimate]]:
    rows, truth = judged[0].rows, judged[0].truth
    n_pos, n_neg = int(truth.sum()), int((~truth).sum())
    wanted = {name: fpr for name, fpr in FPRS.items() if n_pos and fpr * n_neg >= 1.0}
    if not wanted:
        return [{} for _ in judged]
    scores = [found[rows] for one in judged for found in (one.scores.target, one.scores.placebo)
              if found is not None]
    points, draws = joint_tpr(scores, truth, list(wanted.values()), rng, n_resamples=n_resamples,
                              groups=units.at(rows))
    values, drawn = points[0::2] - points[1::2], draws[0::2] - draws[1::2]

    def estimate(place: int, at: int) -> Estimate:
        value, (low, high) = float(values[place, at]), percentile_interval(drawn[place, at])
        return Estimate(value, min(low, value), max(high, value), n=rows.size, n_pos=n_pos, n_neg=n_neg,
                        unit=units.name, method=f"paired percentile bootstrap, {n_resamples} resamples")

    return [{name: estimate(place, at) for at, name in enumerate(wanted)} for place in range(len(judged))]
