"""What is printed of one attack on one model: its success, the same on held-out canaries, and what the two prove.

**Unit.** Rows of a group that share one canary label are one draw; a binomial interval over them would be too short.
Of such a group one row is judged, the first in the table's order, which no canary label decides.

**Difference.** `difference_p` is the one place where an attack's success is compared with its control's: Fisher's exact
test, two-sided. Labels are drawn alike for canaries and held-out ones, so that without memory both are right alike
often, whatever the attack recognises.

**Veto.** An attack that is right about labels which nobody trained on more, or less, often than 1 / K is printed, and
decides and proves nothing. The interval on held-out canaries must exclude 1 / K at 95% over all rows of the model
(Bonferroni): at 95% for each row, one fair draw in twenty would take every finding away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.audit.core.verdict import ALPHA, Planted
from discreet.audit.labels.attacker_view import (
    Access,
    CanaryRows,
    Guesses,
    LabelAttack,
    Settings,
    Truth,
    canary_rows,
    run,
)
from discreet.audit.labels.attacks.lia_delta_margin import LOSS_LABELS, delta_margins
from discreet.audit.labels.attacks.lia_threshold import CUTS, LiaThreshold
from discreet.audit.labels.bounds import Bounds, bounds_of, ceiling
from discreet.audit.labels.conformance import epsilon_json
from discreet.audit.labels.null import Redraw, halves, one_draw, redraw_nulls, tuned, tuned_null
from discreet.audit.scores.table import CANARY, CONTROL, UNKNOWN, Model, ScoreTable
from discreet.core.records import Estimate
from discreet.core.types import IntArray
from discreet.stats.estimates import rate_estimate
from discreet.stats.intervals import clopper_pearson
from discreet.stats.testing import fisher_exact, holm

LEVEL = 0.95
NOT_HELD_OUT = "the model has no held-out canaries; draw some, label them alike, and keep them out of training"


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationSets:
    """What one model is judged on: one row for each draw of a canary label.

    Attributes
    ----------
    alike : bool
        Whether the trained label is the canary label wherever it is judged: rows about it say nothing twice.
    left_out : int
        Canaries and held-out ones whose group is judged by another of its rows.
    """

    canaries: CanaryRows
    held_out: CanaryRows | None
    alike: bool
    left_out: int

    @property
    def truths(self) -> tuple[Truth, ...]:
        """The labels that guesses can be compared with."""
        return ("canary",) if (self.canaries.trained == UNKNOWN).any() else ("canary", "trained")


@dataclass(frozen=True, slots=True, eq=False)
class LabelRow:
    """One attack on one model about one of the two labels.

    Attributes
    ----------
    target : "canary" or "trained"
        Which label the guesses were compared with: the canary label, or the one after the mechanism.
    tuned : bool
        Whether α, β or the threshold was chosen on the other half of the canaries.
    success, held_out : Estimate
        Share of right ones among the guesses made, on canaries and on held-out canaries; exact intervals.
    difference_p, holm_p : float or None
        Of one against the other (None where one of them is unresolved), and after Holm over all rows that decide.
    null_p : float or None
        Of success against labels drawn again, with everything that the attack saw; None where it was not asked for.
    vetoed : bool
        Whether the held-out canaries exclude chance, at 95% over all rows of the model.
    decides : bool
        Whether the row is of the family that the verdict rests on: outputs only, controlled, and not said twice.
    """

    model: Model
    settings: Settings
    access: Access
    target: Truth
    tuned: bool
    tried: Tried
    success: Estimate
    held_out: Estimate
    difference_p: float | None
    null_p: float | None
    bounds: Bounds
    vetoed: bool
    decides: bool
    holm_p: float | None = None

    @property
    def oracle(self) -> bool:
        """Whether the attack is shown what it claims to infer."""
        return self.access == "oracle"

    @property
    def chance(self) -> float:
        """1 / K."""
        return 1.0 / self.tried.n_classes

    @property
    def ceiling(self) -> float | None:
        """What ε allows at the canary label; None for the trained label, which has no ceiling."""
        return ceiling(self.model.epsilon, self.tried.n_classes) if self.target == "canary" else None

    @property
    def excess(self) -> float | None:
        """Success beyond that on held-out canaries."""
        if self.success.value is None or self.held_out.value is None:
            return None
        return self.success.value - self.held_out.value

    @property
    def leads(self) -> bool:
        """Whether success is larger on canaries, and nothing is wrong with the control."""
        return (self.excess or 0.0) > 0.0 and not self.vetoed

    @property
    def significant(self) -> bool:
        """Whether the difference is significant after Holm."""
        return self.holm_p is not None and self.holm_p < ALPHA

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite ε is the string "inf", the held-out canaries are called "control"."""
        return {"model": self.model.name, **self.settings.to_json(), "oracle": self.oracle,
                "access": self.access, "tuned": self.tuned, "epsilon": epsilon_json(self.model.epsilon),
                "mechanism": self.model.mechanism, "seed": self.model.seed, "target": self.target,
                "n": self.tried.canary.size, "success": self.success.to_json(), "control": self.held_out.to_json(),
                "difference_p": self.difference_p, "holm_p": self.holm_p, "null_p": self.null_p, "chance": self.chance,
                "ceiling": self.ceiling, **self.bounds.to_json(), "vetoed": self.vetoed, "decides": self.decides}


@dataclass(frozen=True, slots=True, eq=False)
class PlantedCanaries(Planted):
    """The positive control: `n` canaries that stood `repetitions` times in training, and the row that shows most.

    `detected` is after Holm over all attacks on outputs, both labels and all numbers of repetitions of the model.
    """

    n: int
    row: LabelRow | None


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """What an attack guesses of n rows of K classes, and their labels (n,); no guesses where it cannot be run."""

    guesses: Guesses | None
    canary: IntArray
    trained: IntArray
    n_classes: int
    why: str = ""

    def rate(self, truth: Truth, unit: str) -> Estimate:
        """The share of right ones among the guesses made."""
        if self.guesses is None or (truth == "trained" and (self.trained == UNKNOWN).any()):
            return Estimate.unresolved(
                self.why or "the label that would have been trained on is not known of every row", level=LEVEL, n=0,
                unit=unit)
        right = self.guesses.correct(self.canary if truth == "canary" else self.trained)
        return rate_estimate(int(right.sum()), int(self.guesses.made.sum()), level=LEVEL, unit=unit, of="guesses")


def try_attack(attack: LabelAttack, rows: CanaryRows) -> Tried:
    """The guesses of an attack on these rows, or why there are none."""
    why = blocked(attack, rows)
    return Tried(run(attack, rows) if why is None else None, rows.canary, rows.trained, rows.n_classes, why or "")


def blocked(attack: LabelAttack, rows: CanaryRows) -> str | None:
    """Why an attack cannot be run on these rows, in words that end a sentence; None where it can."""
    if attack.looks_at == "trained" and (rows.trained == UNKNOWN).any():
        return "the label that was trained on is not known"
    clause = attack.needs(rows.view)
    return None if clause is None else f"the attack cannot be run: {clause}"


def compared(canary: Tried, held_out: Tried | None, truth: Truth, level: float) -> tuple[
    Estimate, Estimate, float | None, bool]:
    """Success on canaries and on held-out canaries, p of their difference, and whether the latter veto at `level`."""
    success = canary.rate(truth, "canary")
    control = (Estimate.unresolved(NOT_HELD_OUT, level=LEVEL, unit="control") if held_out is None else (
        held_out.rate(truth, "control")))
    if not control.resolved:
        return success, control, None, False
    p = difference_p(counts_of(success), counts_of(control)) if success.resolved else None
    ends, chance = clopper_pearson(*counts_of(control), level), 1.0 / canary.n_classes
    # 1 / K is not a binary fraction: a certain outcome must not be missed by a rounding.
    return success, control, p, not ends.low - 1e-12 <= chance <= ends.high + 1e-12


@lru_cache(maxsize=1 << 14)
def difference_p(success: tuple[int, int], held_out: tuple[int, int]) -> float:
    """Fisher's exact p, two-sided, of (right guesses, guesses made) on canaries and on held-out canaries.

    Kept: thresholds that fall alike, and the two labels where they are one, give the same counts.
    """
    return fisher_exact(*success, *held_out)


def counts_of(estimate: Estimate) -> tuple[int, int]:
    """How many of how many a resolved share counts."""
    assert estimate.value is not None
    assert estimate.n is not None
    return round(estimate.value * estimate.n), estimate.n


def evaluation_sets(table: ScoreTable, target: int, *, planted: int = 0) -> EvaluationSets:
    """The canaries planted so many times, and the held-out ones. InputError where the model has no such canary."""
    found = [canary_rows(table, target, planted=planted)]
    if (table.canaries.role[target] == CONTROL).any():
        found.append(canary_rows(table, target, held_out=True))
    kept = [_one_a_draw(rows) for rows in found]
    return EvaluationSets(
        kept[0], kept[1] if len(kept) > 1 else None, all((rows.canary == rows.trained).all() for rows in kept),
        sum(map(len, found)) - sum(map(len, kept)))


def _one_a_draw(rows: CanaryRows) -> CanaryRows:
    """The first row of each group whose rows share one canary label, or one shift of their labels; else all rows."""
    for value in (rows.canary, (rows.canary - rows.original) % rows.n_classes):
        if (one := one_draw(rows, value)) is not None:
            return replace(rows.take(np.sort(one[0])), group=None)
    # Rows that drew for themselves are units whatever their group.
    return replace(rows, group=None)


def repetitions_of(table: ScoreTable, target: int) -> tuple[int, ...]:
    """How often planted canaries of a model stand in training, rising."""
    times = table.canaries.planted[target][table.canaries.role[target] == CANARY]
    return tuple(int(one) for one in np.unique(times[times > 0]))


def judge_model(model: Model, sets: EvaluationSets, attacks: Sequence[LabelAttack], rng: Generator, *,
                permutations: int, tune: bool = True, redraw: Redraw = "permute") -> list[LabelRow]:
    """Every attack, and the tuned ones, on one model, about both labels where the table says both; before Holm.

    `permutations` draws for the nulls, 0 for none.
    """
    planned = [(truth, *one) for truth in sets.truths for one in _planned(
        sets.canaries, attacks, truth, rng, permutations, tune, redraw)]
    veto, rows = 1.0 - (1.0 - LEVEL) / max(1, len(planned)), []
    for truth, attack, canaries, is_tuned, null_p in planned:
        tried = try_attack(attack, canaries)
        control = None if sets.held_out is None else try_attack(attack, sets.held_out)
        success, held_out, p, vetoed = compared(tried, control, truth, veto)
        bounds = bounds_of(attack.access, truth, tried.guesses, tried.canary, tried.n_classes, vetoed=vetoed,
                           bounded=redraw == "permute")
        rows.append(LabelRow(
            model, attack.settings, attack.access, truth, is_tuned, tried, success, held_out, p, null_p, bounds, vetoed,
            attack.access == "outputs" and p is not None and not (truth == "trained" and sets.alike)))
    return rows


def _planned(rows: CanaryRows, attacks: Sequence[LabelAttack], truth: Truth, rng: Generator, permutations: int,
             tune: bool, redraw: Redraw) -> list[tuple[LabelAttack, CanaryRows, bool, float | None]]:
    """The attacks as they are, then those that are tuned on half of the canaries: the rest, whether tuned, null p."""
    able = [attack for attack in attacks if blocked(attack, rows) is None]
    nulls = (
        redraw_nulls(able, rows, rng, draws=permutations, target=truth, redraw=redraw) if permutations and able else ())
    p = {id(attack): null.p_value for attack, null in zip(able, nulls, strict=False)}
    found = [(attack, rows, False, p.get(id(attack))) for attack in attacks]
    if not tune or len(rows) < 2:
        return found
    first, second = halves(rows, rng)
    grids: list[Sequence[LabelAttack]] = [tuple(map(LiaThreshold, CUTS))] if rows.n_classes == 2 else []
    for grid in (*grids, *(delta_margins(source, rows.n_classes) for source in LOSS_LABELS)):
        if blocked(grid[0], rows) is None:
            null_p = (tuned_null(grid, first, second, rng, draws=permutations, target=truth, redraw=redraw).p_value
                      if permutations else None)
            found.append((tuned(grid, first, truth), second, True, null_p))
    return found


def with_holm(rows: Sequence[LabelRow]) -> list[LabelRow]:
    """Holm over the deciding rows, vetoed ones among them: controls do not choose the family."""
    p = [row.difference_p for row in rows if row.decides and row.difference_p is not None]
    adjusted = iter(holm(p) if p else ())
    return [replace(row, holm_p=float(next(adjusted))) if row.decides else row for row in rows]


def planted_canaries(table: ScoreTable, target: int, attacks: Sequence[LabelAttack], rng: Generator) -> tuple[
    PlantedCanaries, ...]:
    """One entry for each number of repetitions, rising; empty without planted canaries."""
    honest = [attack for attack in attacks if attack.access == "outputs"]
    sets = {times: evaluation_sets(table, target, planted=times) for times in repetitions_of(table, target)}
    judged = [judge_model(table.models[target], one, honest, rng, permutations=0, tune=False) for one in sets.values()]
    adjusted, found = iter(with_holm([row for rows in judged for row in rows])), []
    for (times, one), rows in zip(sets.items(), judged, strict=True):
        own = [row for row in (next(adjusted) for _ in rows) if row.decides]
        best = min(own, default=None, key=lambda row: (row.vetoed, row.holm_p, -(row.excess or 0.0)))
        found.append(PlantedCanaries(times, any(row.significant and row.leads for row in own), len(one.canaries), best))
    return tuple(found)
