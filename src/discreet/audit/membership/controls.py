"""Positive controls and the person's view: planted leaks, and what all records of a group together give away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.audit.core.power import has_power, inflation_of, power_of
from discreet.audit.membership.evaluation_sets import Sides
from discreet.audit.membership.protocol import NO_PLACEBO, Units
from discreet.audit.membership.scored import Scored
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import ScoreTable
from discreet.stats import auroc_estimate, delong_test

FEWEST_PLANTED_OUT = 10
"""Planted records that were left out, from which they are what planted members are held against."""


@dataclass(frozen=True, slots=True)
class Planted:
    """How well records repeated on purpose stand out.

    Attributes
    ----------
    repetitions : int
        How many times each was put into the training set.
    auc, placebo_auc : Estimate
        Planted members against non-members, by the primary attack; 5% are shared out over all numbers of repetitions,
        and the intervals are of that level.
    detected : bool
        Whether the lower end of `auc` exceeds ½, and the target its placebo, where there is one, at the same level.
    power : Estimate
        Chance that the primary endpoint, at its own size, would see a leak as strong as this one in all members.
    """

    repetitions: int
    auc: Estimate
    placebo_auc: Estimate
    detected: bool
    power: Estimate

    @property
    def weak(self) -> bool:
        """Whether these are too few records to show an AUC of `PLANTED_AUC` in them with power .8."""
        return not has_power(self.auc)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"repetitions": self.repetitions, "auc": self.auc.to_json(), "placebo_auc": self.placebo_auc.to_json(),
                "detected": self.detected, "weak": self.weak, "power": self.power.to_json()}


def planted_leaks(table: ScoreTable, sides: Sides, scored: Scored, primary: Estimate, units: Units) -> list[Planted]:
    """One entry per number of repetitions, rising. `primary` is the AUC of the primary endpoint: it has the size."""
    if scored.target is None:
        return []
    out = sides.planted_out if sides.planted_out.size >= FEWEST_PLANTED_OUT else sides.clean[scored.kind]
    times = table.examples.planted[sides.planted]
    tried = np.unique(times)
    # A pass asks for any one of them: each by itself is asked for more.
    level = 1.0 - 0.05 / max(tried.size, 1)
    return [_planted(int(one), sides.planted[times == one], out, scored, primary, units, level) for one in tried]


def _planted(
    times: int, members: IntArray, out: IntArray, scored: Scored, primary: Estimate, units: Units, level: float
) -> Planted:
    assert scored.target is not None
    rows = np.concatenate([members, out])
    truth = np.arange(rows.size) < members.size
    known = np.isfinite(scored.target[rows])
    if scored.placebo is not None:
        known &= np.isfinite(scored.placebo[rows])
    rows, truth = rows[known], truth[known]
    groups = units.at(rows)
    auc = auroc_estimate(scored.target[rows], truth, level=level, unit=units.name, groups=groups)
    detected = auc.low is not None and auc.low > 0.5
    placebo = Estimate.unresolved(NO_PLACEBO, unit=units.name)
    if scored.placebo is not None:
        placebo = auroc_estimate(scored.placebo[rows], truth, level=level, unit=units.name, groups=groups)
        detected = detected and _exceeds(scored.target[rows], scored.placebo[rows], truth, groups, level)
    return Planted(times, auc, placebo, detected, _power(auc, primary))


def _exceeds(
    scores: FloatArray, placebo: FloatArray, truth: BoolArray, groups: IntArray | None, level: float
) -> bool:
    try:
        return delong_test(scores, placebo, truth, level=level, groups=groups).low > 0.0
    except ValueError:
        # Both AUCs are known without spread and differ.
        return (auroc_estimate(scores, truth).value or 0.0) > (auroc_estimate(placebo, truth).value or 0.0)


def _power(planted: Estimate, primary: Estimate) -> Estimate:
    members, others = primary.n_pos or 0, primary.n_neg or 0
    facts: dict[str, Any] = {"level": planted.level, "n": primary.n, "n_pos": members, "n_neg": others,
                             "unit": primary.unit}
    if planted.value is None or planted.low is None or planted.high is None or min(members, others) < 2:
        return Estimate.unresolved("the planted AUC or the primary endpoint is unresolved", **facts)
    inflation = inflation_of(primary)
    value, low, high = (power_of(auc, members, others, primary.level, inflation)
                        for auc in (planted.value, planted.low, planted.high))
    # Near an AUC of 1 few units leave the bound anywhere, and power falls again.
    return Estimate(value, min(value, low, high), max(value, low, high),
                    method="Hanley–McNeil at the planted AUC and its ends", **facts)


def side_by_side(scored: Scored) -> tuple[Scored, Scored]:
    """The target's scores, and the placebo's in the target's place: of the same rows, NaN where either lacks one.

    Without a placebo the second has no scores, and says so.
    """
    if scored.target is None or scored.placebo is None:
        return scored, replace(scored, target=None, placebo=None, reason=scored.reason or NO_PLACEBO)
    known = np.isfinite(scored.target) & np.isfinite(scored.placebo)
    target, placebo = (np.where(known, scores, np.nan) for scores in (scored.target, scored.placebo))
    return replace(scored, target=target, placebo=placebo), replace(scored, target=placebo, placebo=None)


def group_level(scored: Scored, sides: Sides, units: Units) -> Estimate:
    """AUC of groups (users): the mean score of a group's judged records, member groups against the others."""
    if units.group is None:
        return Estimate.unresolved("the table has no column 'group': whose records belong together is not known",
                                   unit="group")
    if not units.users:
        return Estimate.unresolved("the groups are near-duplicate texts: whose records belong together is not known",
                                   unit="group")
    if scored.target is None:
        return Estimate.unresolved(scored.reason or "no scores", unit="group")
    clean = sides.clean[scored.kind]
    rows = np.concatenate([sides.members, clean])
    truth = np.arange(rows.size) < sides.members.size
    known = np.isfinite(scored.target[rows])
    rows, truth = rows[known], truth[known]
    if not rows.size:
        return Estimate.unresolved("no judged record has a score", unit="group")
    side = units.group[rows] * 2 + truth
    codes, place, counts = np.unique(side, return_inverse=True, return_counts=True)
    mean = np.bincount(place.reshape(-1), weights=scored.target[rows]) / counts
    return auroc_estimate(mean, codes % 2, unit="group")
