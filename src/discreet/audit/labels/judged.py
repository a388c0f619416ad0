"""All attacks on one set of canaries, and what of them decides.

About the canary label the verdict asks whether attacks on outputs alone are right more often than the null allows
(`discreet.audit.labels.null`). Where labels can be drawn again all attacks of a model make one test, and step-down
max-T names those that the finding rests on; else each attack is a test. Holm is over the tests of all models.

The same test on held-out canaries is the control: where their labels are known, or avoided, the audit is void.

Planted canaries are asked for the label that was trained on: that is what a model can memorise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.random import Generator

from discreet.audit.core.verdict import ALPHA, Planted
from discreet.audit.labels.attacker_view import CanaryRows, LabelAttack, Truth
from discreet.audit.labels.attacks.lia_delta_margin import LOSS_LABELS, delta_margins
from discreet.audit.labels.attacks.lia_threshold import CUTS, LiaThreshold
from discreet.audit.labels.bounds import bounds_of, ceiling
from discreet.audit.labels.null import (
    Assignment,
    Columns,
    Null,
    RedrawTest,
    column,
    halves,
    law_of,
    redraw_test,
    tuned,
)
from discreet.audit.labels.rows import (
    LEVEL,
    EvaluationSets,
    LabelRow,
    blocked,
    compared,
    counts_of,
    evaluation_sets,
    repetitions_of,
    try_attack,
)
from discreet.audit.scores.table import Model, ScoreTable
from discreet.core.types import IntArray
from discreet.stats.arrays import scipy_module
from discreet.stats.testing import holm


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """All attacks on one set of canaries.

    Attributes
    ----------
    null : "chance", "mechanism", "ceiling" or "held_out"
        What the deciding rows are judged by.
    test, control : RedrawTest or None
        All deciding rows together, on canaries and on held-out canaries; None where labels cannot be drawn again, or no
        attack says anything.
    p, control_p : float or None
        Of the two, after Holm over all models (`over_all`).
    """

    rows: tuple[LabelRow, ...]
    null: Null
    test: RedrawTest | None = None
    control: RedrawTest | None = None
    p: float | None = None
    control_p: float | None = None

    @property
    def deciding(self) -> list[LabelRow]:
        """The rows that the verdict rests on."""
        return [row for row in self.rows if row.decides]

    @property
    def named(self) -> list[LabelRow]:
        """The deciding rows that are right more often than the null allows."""
        return [row for row in self.deciding if row.significant and (
            self.null != "held_out" or (row.excess or 0.0) > 0.0)]

    @property
    def found(self) -> bool:
        """Whether attacks are right more often than the null allows."""
        return bool(self.named) if self.test is None else self.p is not None and self.p < ALPHA

    @property
    def void(self) -> bool:
        """Whether attacks are right about held-out canaries more, or less, often than chance explains."""
        return self.control_p is not None and self.control_p < ALPHA


@dataclass(frozen=True, slots=True, eq=False)
class PlantedCanaries(Planted):
    """The positive control: `n` canaries that stood `repetitions` times in training, and the row that shows most.

    `detected` is after Holm over all numbers of repetitions of the model.
    """

    n: int
    row: LabelRow | None


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """An attack and the rows that it is judged on; a tuned one with all its variants and the half they are tuned on."""

    attack: LabelAttack
    rows: CanaryRows
    grid: tuple[LabelAttack, ...] = ()
    tuning: CanaryRows | None = None

    def columns(self, rows: CanaryRows) -> Columns:
        """What it guesses of all of a model's `rows`."""
        def guesses(part: CanaryRows) -> IntArray:
            return np.stack([column(one, rows, part) for one in self.grid or (self.attack,)], axis=1)

        return Columns(guesses(self.rows), None if self.tuning is None else guesses(self.tuning))


def judge_model(model: Model, sets: EvaluationSets, attacks: Sequence[LabelAttack], rng: Generator, *,
                assignment: Assignment, about: Truth = "canary", tune: bool = True) -> Judged:
    """Every attack, and the tuned ones, on one model, about both labels where the table says both; before Holm.

    The rows about the label `about` decide, or all where planted canaries can only be compared with held-out ones.
    """
    null, law = law_of(model, sets.canaries, assignment, about)
    either = about == "trained" and law is None
    attempts = [(truth, one) for truth in sets.truths for one in _attempts(sets.canaries, attacks, truth, rng, tune)]
    level, rows = 1.0 - (1.0 - LEVEL) / max(1, len(attempts)), list[LabelRow]()
    for truth, one in attempts:
        tried = try_attack(one.attack, one.rows)
        control = None if sets.held_out is None else try_attack(one.attack, sets.held_out)
        success, held_out, p, off_chance = compared(tried, control, truth, level)
        vetoed = off_chance and assignment != "unknown"
        bounds = bounds_of(one.attack.access, truth, tried.guesses, tried.canary, tried.n_classes, vetoed=vetoed,
                           bounded=assignment == "uniform")
        decides = one.attack.access == "outputs" and success.resolved and (
            p is not None if law is None else sets.held_out is not None) and (either or truth == about)
        row = LabelRow(model, one.attack.settings, one.attack.access, truth, one.tuning is not None, tried, control,
                       success, held_out, p, bounds, vetoed, decides)
        rows.append(replace(row, null_p=_ceiling_p(row)) if decides and null == "ceiling" else row)
    places = [place for place, row in enumerate(rows) if row.decides]
    if law is None or not places:
        return Judged(tuple(rows), null)
    labels = sets.canaries.canary if about == "canary" else sets.canaries.trained
    test = redraw_test([attempts[place][1].columns(sets.canaries) for place in places], labels, sets.canaries, law, rng,
                       assignment=assignment)
    nothing = (None,) * len(places)
    said = (nothing, nothing) if test is None else (test.alone, test.step_down)
    for place, alone, step in zip(places, *said, strict=True):
        rows[place] = replace(rows[place], null_p=alone, adjusted_p=step, decides=alone is not None)
    return Judged(tuple(rows), null, test)


def with_control(judged: Judged, model: Model, sets: EvaluationSets, rng: Generator, assignment: Assignment) -> Judged:
    """With the same test of the same attacks on held-out canaries, whose labels no mechanism kept from anybody."""
    held_out = sets.held_out
    guesses = [Columns(row.tried_held_out.guesses.label[:, None]) for row in judged.deciding
               if row.tried_held_out is not None and row.tried_held_out.guesses is not None]
    if held_out is None or not guesses:
        return judged
    law = law_of(replace(model, epsilon=inf), held_out, assignment)[1]
    return judged if law is None else replace(judged, control=redraw_test(
        guesses, held_out.canary, held_out, law, rng, assignment=assignment))


def _ceiling_p(row: LabelRow) -> float:
    """P(at least so many right guesses) where each is right with the chance that ε allows (`bounds`)."""
    right, made = counts_of(row.success)
    highest = ceiling(row.model.epsilon, row.tried.n_classes)
    # P(Binomial(made, highest) >= right).
    special = scipy_module("special", "a label audit")
    return float(special.betainc(right, made - right + 1.0, highest)) if right else 1.0


def _attempts(rows: CanaryRows, attacks: Sequence[LabelAttack], truth: Truth, rng: Generator, tune: bool
              ) -> list[Attempt]:
    """The attacks as they are, then those that are tuned on half of the canaries."""
    found = [Attempt(attack, rows) for attack in attacks]
    if not tune or len(rows) < 2:
        return found
    first, second = halves(rows, rng)
    grids: list[tuple[LabelAttack, ...]] = [tuple(map(LiaThreshold, CUTS))] if rows.n_classes == 2 else []
    grids += [delta_margins(source, rows.n_classes) for source in LOSS_LABELS]
    return found + [Attempt(tuned(grid, first, truth), second, grid, first) for grid in grids
                    if blocked(grid[0], rows) is None]


def over_all(judged: Sequence[Judged]) -> list[Judged]:
    """Holm over the tests of all: one of each whose labels are drawn again, one of each deciding row of the others.

    Names of attacks are at Bonferroni over these tests, and no smaller than the p of their own test.
    """
    tests: list[float] = []
    for one in judged:
        own = [row.own_p for row in one.deciding] if one.test is None else [one.test.p]
        tests += [p for p in own if p is not None]
    held, found = iter(holm(tests).tolist() if tests else ()), list[Judged]()
    controls = [one.control.two_sided for one in judged if one.control is not None]
    control_p = iter(holm(controls).tolist() if controls else ())
    for one in judged:
        p = None if one.test is None else next(held)
        rows = [row if not row.decides else replace(row, adjusted_p=next(held) if p is None else max(
            p, min(1.0, len(tests) * (row.adjusted_p or 0.0)))) for row in one.rows]
        found.append(replace(one, rows=tuple(rows), p=p, control_p=None if one.control is None else next(control_p)))
    return found


def planted_canaries(table: ScoreTable, target: int, attacks: Sequence[LabelAttack], rng: Generator,
                     assignment: Assignment) -> tuple[PlantedCanaries, ...]:
    """One entry for each number of repetitions, rising; empty without planted canaries."""
    honest = [attack for attack in attacks if attack.access == "outputs"]
    sets = {times: evaluation_sets(table, target, planted=times) for times in repetitions_of(table, target)}
    judged = over_all([judge_model(table.models[target], one, honest, rng, tune=False, assignment=assignment,
                                   about="trained" if "trained" in one.truths else "canary") for one in sets.values()])
    return tuple(PlantedCanaries(times, one.found, len(own.canaries), min(
        one.deciding, default=None, key=lambda row: row.nearness))
        for (times, own), one in zip(sets.items(), judged, strict=True))
