"""What is printed of one attack on one model: its success, the same on held-out canaries, and what the two prove.

**Unit.** Rows of a group that share one canary label are one draw; a binomial interval over them would be too short.
Of such a group one row is judged, the first in the table's order, which no canary label decides.

**Difference.** `compared` is the one place where an attack's success is compared with its control's: Fisher's exact
test, two-sided. Labels are drawn alike for canaries and held-out ones, so that without memory both are right alike
often, whatever the attack recognises.

**Void.** An attack that is right about labels which nobody trained on more, or less, often than 1 / K is printed as
such and proves no ε. The interval on held-out canaries must exclude 1 / K at 95% over all rows of the model
(Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.audit.core.verdict import ALPHA
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
from discreet.audit.labels.bounds import Bounds, ceiling
from discreet.audit.labels.conformance import epsilon_json
from discreet.audit.labels.null import one_draw
from discreet.audit.scores.table import CANARY, CONTROL, UNKNOWN, Model, ScoreTable
from discreet.core.records import Estimate
from discreet.core.types import IntArray
from discreet.stats.estimates import rate_estimate
from discreet.stats.intervals import clopper_pearson
from discreet.stats.testing import fisher_exact

LEVEL = 0.95
NOT_HELD_OUT = "the model has no held-out canaries; draw some, label them alike, and keep them out of training"


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationSets:
    """What one model is judged on: one row for each draw of a canary label.

    Attributes
    ----------
    left_out : int
        Canaries and held-out ones whose group is judged by another of its rows.
    """

    canaries: CanaryRows
    held_out: CanaryRows | None
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
    difference_p : float or None
        Of one against the other, two-sided; None where one of them is unresolved.
    null_p, adjusted_p : float or None
        Of success under the null of the audit (`discreet.audit.labels.null`), by itself, and over all rows that decide;
        None for rows that do not. `null_p` is None too where the null is the held-out canaries, as is `difference_p`'s.
    vetoed : bool
        Whether the held-out canaries exclude chance, at 95% over all rows of the model.
    decides : bool
        Whether the verdict rests on the row: outputs only, controlled, and about the label that decides.
    """

    model: Model
    settings: Settings
    access: Access
    target: Truth
    tuned: bool
    tried: Tried
    tried_held_out: Tried | None
    success: Estimate
    held_out: Estimate
    difference_p: float | None
    bounds: Bounds
    vetoed: bool
    decides: bool
    null_p: float | None = None
    adjusted_p: float | None = None

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
    def significant(self) -> bool:
        """Whether it is, over all rows that decide."""
        return self.adjusted_p is not None and self.adjusted_p < ALPHA

    @property
    def own_p(self) -> float | None:
        """p of the row by itself, under the null of the audit or against held-out canaries."""
        return self.difference_p if self.null_p is None else self.null_p

    @property
    def nearness(self) -> tuple[float, float, float]:
        """Smaller where the row is nearer to a finding: p over all rows, p of the row, excess."""
        adjusted, own = (1.0 if p is None else p for p in (self.adjusted_p, self.own_p))
        return adjusted, own, -(self.excess or 0.0)

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite ε is the string "inf", the held-out canaries are called "control"."""
        return {"model": self.model.name, **self.settings.to_json(), "oracle": self.oracle,
                "access": self.access, "tuned": self.tuned, "epsilon": epsilon_json(self.model.epsilon),
                "mechanism": self.model.mechanism, "seed": self.model.seed, "target": self.target,
                "n": self.tried.canary.size, "success": self.success.to_json(), "control": self.held_out.to_json(),
                "difference_p": self.difference_p, "null_p": self.null_p, "adjusted_p": self.adjusted_p,
                "chance": self.chance, "ceiling": self.ceiling, **self.bounds.to_json(), "vetoed": self.vetoed,
                "decides": self.decides}


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
    p = _fisher(counts_of(success), counts_of(control)) if success.resolved else None
    ends, chance = clopper_pearson(*counts_of(control), level), 1.0 / canary.n_classes
    # 1 / K is not a binary fraction: a certain outcome must not be missed by a rounding.
    return success, control, p, not ends.low - 1e-12 <= chance <= ends.high + 1e-12


@lru_cache(maxsize=1 << 14)
def _fisher(success: tuple[int, int], held_out: tuple[int, int]) -> float:
    """Of (right guesses, guesses made). Kept: thresholds that fall alike give the same counts."""
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
        kept[0], kept[1] if len(kept) > 1 else None, sum(map(len, found)) - sum(map(len, kept)))


def _one_a_draw(rows: CanaryRows) -> CanaryRows:
    """The first row of each group whose rows share one canary label, or one shift of their labels; else all rows."""
    for value in (rows.canary, (rows.canary - rows.original) % rows.n_classes):
        if (firsts := one_draw(rows, value)) is not None:
            return replace(rows.take(np.sort(firsts)), group=None)
    # Rows that drew for themselves are units whatever their group.
    return replace(rows, group=None)


def repetitions_of(table: ScoreTable, target: int) -> tuple[int, ...]:
    """How often planted canaries of a model stand in training, rising."""
    times = table.canaries.planted[target][table.canaries.role[target] == CANARY]
    return tuple(int(one) for one in np.unique(times[times > 0]))
