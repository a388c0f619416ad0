"""What is printed of one attack on one model: its success, the same on placebos, and what the two prove.

**Unit.** Rows of a group that share one secret are one draw; a binomial interval over them would be too short. Of such
a group one row is judged, the first in the table's order, which no secret decides.

**Difference.** `difference_p` is the one place where an attack's success is held against its placebo's: Fisher's exact
test, two-sided. Secrets are drawn alike for canaries and placebos, so that without memory both are right alike often,
whatever the attack recognises.

**Veto.** An attack that is right about labels which nobody trained on more, or less, often than 1 / K is printed, and
decides and proves nothing. The placebo interval must exclude 1 / K at 95% over all rows of the model (Bonferroni): at
95% for each row, one fair draw in twenty would take every finding away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.audit.labels.access import Trial, Truth, halves, run, trial_of
from discreet.audit.labels.bounds import ceiling
from discreet.audit.labels.conformance import epsilon_json
from discreet.audit.labels.judge_bounds import Bounds, bounds_of
from discreet.audit.labels.null import Redraw, redraw_nulls, tuned_null
from discreet.audit.labels.tune import delta_margin_grid, threshold_grid, tuned
from discreet.audit.labels.view import Access, Guesses, LabelAttack, LossLabels, Settings
from discreet.core.records import Estimate
from discreet.scores.table import CANARY, PLACEBO, UNKNOWN, Model, ScoreTable
from discreet.stats.estimates import rate_estimate
from discreet.stats.intervals import clopper_pearson
from discreet.stats.testing import fisher_exact

LEVEL = 0.95
TUNED_SOURCES: tuple[LossLabels, ...] = ("predicted", "original", "secret", "trained")
NO_PLACEBO = "the model has no placebo canaries; draw some, label them alike, and keep them out of training"


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One attack on one model about one of the two labels.

    Attributes
    ----------
    target : "secret" or "trained"
        Which label the guesses were held against.
    tuned : bool
        Whether α, β or the threshold was chosen on the other half of the canaries.
    n : int
        Canaries that were judged.
    success, placebo : Estimate
        Share of right ones among the guesses made, on canaries and on placebos; exact intervals.
    difference_p : float or None
        Of success against placebo; None where one of them is unresolved.
    null_p : float or None
        Of success against labels drawn again, with everything that the attack saw; None where it was not asked for.
    chance : float
        1 / K.
    ceiling : float or None
        What ε allows at the secret; None for the trained label, which has no ceiling.
    bounds : Bounds
        Lower bounds on ε.
    vetoed : bool
        Whether the placebo excludes chance, at 95% over all rows of the model.
    decides : bool
        Whether the row is of the family that the verdict rests on: outputs only, controlled, and not said twice.
    holm_p : float or None
        `difference_p` after Holm over that family, in all models.
    """

    model: Model
    settings: Settings
    access: Access
    target: Truth
    tuned: bool
    n: int
    success: Estimate
    placebo: Estimate
    difference_p: float | None
    null_p: float | None
    chance: float
    ceiling: float | None
    bounds: Bounds
    vetoed: bool
    decides: bool
    holm_p: float | None = None

    @property
    def oracle(self) -> bool:
        """Whether the attack is shown what it claims to infer."""
        return self.access == "oracle"

    @property
    def excess(self) -> float | None:
        """Success beyond placebo."""
        if self.success.value is None or self.placebo.value is None:
            return None
        return self.success.value - self.placebo.value

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite ε is the string "inf"."""
        return {
            "model": self.model.name, **self.settings.to_json(), "oracle": self.oracle, "access": self.access,
            "tuned": self.tuned, "epsilon": epsilon_json(self.model.epsilon), "mechanism": self.model.mechanism,
            "seed": self.model.seed, "target": self.target, "n": self.n, "success": self.success.to_json(),
            "placebo": self.placebo.to_json(), "difference_p": self.difference_p, "holm_p": self.holm_p,
            "null_p": self.null_p, "chance": self.chance, "ceiling": self.ceiling, **self.bounds.to_json(),
            "vetoed": self.vetoed, "decides": self.decides,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A row, and the guesses on canaries behind it where there are any."""

    row: LabelRow
    guesses: Guesses | None
    trial: Trial


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """What one model is judged on: one row for each draw of a secret.

    Attributes
    ----------
    canary : Trial
    placebo : Trial or None
    alike : bool
        Whether the trained label is the secret wherever it is judged: rows about it say nothing twice.
    left_out : int
        Canaries and placebos whose group is judged by another of its rows.
    """

    canary: Trial
    placebo: Trial | None
    alike: bool
    left_out: int

    @property
    def truths(self) -> tuple[Truth, ...]:
        """The labels that guesses can be held against."""
        return ("secret",) if (self.canary.trained == UNKNOWN).any() else ("secret", "trained")


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """An attack as it is to be run on canaries, with its null where that was asked for."""

    attack: LabelAttack
    trial: Trial
    tuned: bool
    null_p: float | None


@lru_cache(maxsize=1 << 14)
def difference_p(success: tuple[int, int], placebo: tuple[int, int]) -> float:
    """Fisher's exact p, two-sided, of (right guesses, guesses made) on canaries and on placebos.

    Kept: thresholds that fall alike, and the two labels where they are one, give the same counts.
    """
    return fisher_exact(*success, *placebo)


def sides_of(table: ScoreTable, target: int, *, planted: int = 0) -> Sides:
    """The canaries planted so many times, and the placebos. InputError where the model has no such canary."""
    canary = trial_of(table, target, "canary", planted=planted)
    placebo = trial_of(table, target, "placebo") if (table.canaries.role[target] == PLACEBO).any() else None
    one, other = _one_a_draw(canary), None if placebo is None else _one_a_draw(placebo)
    both = [one] if other is None else [one, other]
    left_out = len(canary) - len(one) + (0 if placebo is None or other is None else len(placebo) - len(other))
    return Sides(one, other, all((part.secret == part.trained).all() for part in both), left_out)


def _one_a_draw(trial: Trial) -> Trial:
    """The first row of each group whose rows share one secret, or one shift of their labels; else all rows."""
    if trial.group is None:
        return trial
    _, firsts, unit = np.unique(trial.group, return_index=True, return_inverse=True)
    unit = unit.reshape(-1)
    for value in (trial.secret, (trial.secret - trial.original) % trial.n_classes):
        if (value[firsts][unit] == value).all():
            return replace(trial.of(np.sort(firsts).astype(np.int64)), group=None)
    # Rows that drew for themselves are units whatever their group.
    return replace(trial, group=None)


def planted_copies(table: ScoreTable, target: int) -> tuple[int, ...]:
    """How often planted canaries of a model stand in training, rising."""
    copies = table.canaries.planted[target][table.canaries.role[target] == CANARY]
    return tuple(int(one) for one in np.unique(copies[copies > 0]))


def judge_model(
    model: Model, sides: Sides, attacks: Sequence[LabelAttack], rng: Generator, *, permutations: int,
    tune: bool = True, redraw: Redraw = "permute",
) -> list[Judged]:
    """Every attack, and the tuned ones, on one model, about both labels where the table says both.

    `permutations` draws for the nulls, 0 for none.
    """
    tried: list[tuple[Truth, _Tried]] = []
    for truth in sides.truths:
        tried += [(truth, one) for one in _untuned(attacks, sides.canary, truth, rng, permutations, redraw)]
        if tune:
            tried += [(truth, one) for one in _tuned(sides.canary, truth, rng, permutations, redraw)]
    veto = 1.0 - (1.0 - LEVEL) / max(1, len(tried))
    return [_judge(model, sides, one, truth, veto, bounded=redraw == "permute") for truth, one in tried]


def _untuned(attacks: Sequence[LabelAttack], trial: Trial, truth: Truth, rng: Generator, permutations: int,
             redraw: Redraw) -> list[_Tried]:
    can = [attack for attack in attacks if blocked(attack, trial) is None]
    p = [one.p_value for one in redraw_nulls(can, trial, rng, draws=permutations, target=truth, redraw=redraw)
         ] if permutations and can else [None] * len(can)
    nulls = dict(zip(map(id, can), p, strict=True))
    return [_Tried(attack, trial, False, nulls.get(id(attack))) for attack in attacks]


def _tuned(trial: Trial, truth: Truth, rng: Generator, permutations: int, redraw: Redraw) -> list[_Tried]:
    if len(trial) < 2:
        return []
    first, second = halves(trial, rng)
    binary = trial.n_classes == 2
    grids: list[Sequence[LabelAttack]] = [threshold_grid()] if binary else []
    grids += [delta_margin_grid(source, trial.n_classes) for source in TUNED_SOURCES]
    found = []
    for grid in grids:
        if blocked(grid[0], trial) is None:
            null_p = tuned_null(grid, first, second, rng, draws=permutations, target=truth,
                                redraw=redraw).p_value if permutations else None
            found.append(_Tried(tuned(grid, first, truth), second, True, null_p))
    return found


def blocked(attack: LabelAttack, trial: Trial) -> str | None:
    """Why an attack cannot be run on these rows, in words that end a sentence; None where it can."""
    if attack.access == "oracle" and attack.looks_at == "trained" and (trial.trained == UNKNOWN).any():
        return "the label that was trained on is not known"
    clause = attack.needs(trial.view)
    return None if clause is None else f"the attack cannot be run: {clause}"


def _judge(model: Model, sides: Sides, tried: _Tried, truth: Truth, veto: float, *, bounded: bool) -> Judged:
    attack, trial = tried.attack, tried.trial
    success, guesses = _measured(attack, trial, truth, "canary")
    if sides.placebo is None:
        placebo: Estimate = Estimate.unresolved(NO_PLACEBO, level=LEVEL, unit="placebo")
    else:
        placebo, _ = _measured(attack, sides.placebo, truth, "placebo")
    both = success.resolved and placebo.resolved
    chance = 1.0 / trial.n_classes
    vetoed = placebo.resolved and not _within(chance, placebo, veto)
    row = LabelRow(
        model, attack.settings, attack.access, truth, tried.tuned, len(trial), success, placebo,
        difference_p(_counts(success), _counts(placebo)) if both else None, tried.null_p,
        chance, ceiling(model.epsilon, trial.n_classes) if truth == "secret" else None,
        bounds_of(attack.access, truth, guesses, trial, vetoed=vetoed, bounded=bounded), vetoed,
        attack.access == "outputs" and both and not (truth == "trained" and sides.alike))
    return Judged(row, guesses, trial)


def _measured(attack: LabelAttack, trial: Trial, truth: Truth, unit: str) -> tuple[Estimate, Guesses | None]:
    why = blocked(attack, trial)
    if why is None and truth == "trained" and (trial.trained == UNKNOWN).any():
        why = f"the label that would have been trained on is not known of every {unit}"
    if why is not None:
        return Estimate.unresolved(why, level=LEVEL, n=0, unit=unit), None
    guesses = run(attack, trial)
    right, made = int(guesses.correct(trial.truth(truth)).sum()), int(guesses.made.sum())
    return rate_estimate(right, made, level=LEVEL, unit=unit, of="guesses"), guesses


def _within(chance: float, estimate: Estimate, level: float) -> bool:
    ends = clopper_pearson(*_counts(estimate), level)
    # 1 / K is not a binary fraction: a certain outcome must not be missed by a rounding.
    return ends.low - 1e-12 <= chance <= ends.high + 1e-12


def _counts(estimate: Estimate) -> tuple[int, int]:
    assert estimate.value is not None
    assert estimate.n is not None
    return round(estimate.value * estimate.n), estimate.n
