"""What is shown next to the attacks: planted leaks, all records of a person together, a bound on ε, accuracy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.audit.core.power import has_power, inflation_of, power_of
from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Planted
from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.audit.membership.rows import NO_PLACEBO, Scores
from discreet.core.design import Design, decides
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import ScoreTable
from discreet.stats import auroc_estimate, delong_test, share_estimate
from discreet.stats.epsilon import one_run_epsilon

FEWEST_PLANTED_OUT = 10
"""From so many planted records that were left out, planted members are compared with these."""

RUNGS = (1.0, 0.5, 0.25, 0.125, 0.05, 0.02)
"""Shares of the units that are guessed: as many from the top (members) as from the bottom (non-members)."""


@dataclass(frozen=True, slots=True)
class PlantedLeak(Planted):
    """How well records repeated on purpose stand out.

    Attributes
    ----------
    detected : bool
        Whether the lower end of `auc` exceeds ½, and the target its control model, if any, at the same level.
    auc, placebo_auc : Estimate
        Planted members against non-members, by the primary attack; 5% are shared out over all numbers of repetitions,
        and the intervals are of that level.
    power : Estimate
        Chance that the primary endpoint, at its own size, would find a leak as strong as this one in all members.
    """

    auc: Estimate
    placebo_auc: Estimate
    power: Estimate

    @property
    def weak(self) -> bool:
        """Whether these are too few records to show an AUC of `PLANTED_AUC` in them with power .8."""
        return not has_power(self.auc)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"repetitions": self.repetitions, "auc": self.auc.to_json(), "placebo_auc": self.placebo_auc.to_json(),
                "detected": self.detected, "weak": self.weak, "power": self.power.to_json()}


def planted_leaks(
    table: ScoreTable, sets: EvaluationSets, scores: Scores, primary: Estimate, units: Units
) -> list[PlantedLeak]:
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
        placebo = Estimate.unresolved(NO_PLACEBO, unit=units.name)
        if scores.placebo is not None:
            placebo = auroc_estimate(scores.placebo[rows], truth, level=level, unit=units.name, groups=groups)
            detected = detected and _exceeds(scores.target[rows], scores.placebo[rows], truth, groups, level)
        found.append(PlantedLeak(int(one), detected, auc, placebo, _power(auc, primary)))
    return found


def same_examples(scores: Scores) -> tuple[Scores, Scores]:
    """The target's scores, and the control model's as if it were the target: NaN where either lacks one.

    Without a control model the second has no scores, and says so.
    """
    if scores.target is None or scores.placebo is None:
        return scores, replace(scores, target=None, placebo=None, reason=scores.reason or NO_PLACEBO)
    known = np.isfinite(scores.target) & np.isfinite(scores.placebo)
    target, placebo = (np.where(known, one, np.nan) for one in (scores.target, scores.placebo))
    return replace(scores, target=target, placebo=placebo), replace(scores, target=placebo, placebo=None)


def group_level(scores: Scores, sets: EvaluationSets, units: Units) -> Estimate:
    """AUC of groups (users): the mean score of a group's judged records, member groups against the others."""
    reason = ("the table has no column 'group': whose records belong together is not known" if units.group is None else
              "the groups are near-duplicate texts: whose records belong together is not known" if not units.users else
              scores.reason or "no scores" if scores.target is None else None)
    if reason is not None or scores.target is None:
        return Estimate.unresolved(reason or "no scores", unit="group")
    rows, truth = _scored(scores, sets.members, sets.clean[scores.kind])
    if not rows.size:
        return Estimate.unresolved("no judged record has a score", unit="group")
    return auroc_estimate(*units.means(scores.target, rows, truth), unit="group")


def one_run_bound(scores: Scores, sets: EvaluationSets, design: Design, units: Units, rng: Generator) -> Estimate:
    """ε >= this with confidence 95%, for adding or removing one unit, δ = 0, from the training run that is audited.

    Steinke, Nasr & Jagielski 2023, Theorem 5.2: of r guesses about independent fair coins that the output of
    (ε, 0)-private training allows, no more are right than Binomial(r, e^ε / (1 + e^ε)). The larger of members and
    non-members is thinned at random until both are equal, the extremes of the score are guessed on a ladder of shares,
    Bonferroni over its rungs. A unit is an example, or a group with its mean score. A split into halves of fixed size
    is treated as coins, which it nearly is. Unresolved where no random draw decided membership.
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
    best, guesses = ladder_bound(values[kept], truth[kept], 0.05, rng)
    return Estimate(best, best, None, n=2 * n, n_pos=n, n_neg=n, unit=units.name,
                    method=f"one run, Theorem 5.2 of Steinke et al. 2023, {guesses} guesses, "
                           f"Bonferroni over {len(RUNGS)} rungs; a lower bound at 95%")


def ladder_bound(values: FloatArray, truth: BoolArray, alpha: float, rng: Generator) -> tuple[float, int]:
    """The best lower bound on ε over `RUNGS`, and how many guesses made it; P(bound > ε) <= alpha.

    `values` (n,) and `truth` (n,): half of the units, the highest, may be guessed members, the others non-members.
    Ties are broken at random.
    """
    rising, n = truth[np.lexsort((rng.random(values.size), values))], values.size
    best = (0.0, 0)
    for rung in RUNGS:
        each = int(np.ceil(rung * n / 2))
        if each == 0 or 2 * each > n:
            continue
        correct = int(rising[n - each:].sum()) + int((~rising[:each]).sum())
        best = max(best, (one_run_epsilon(correct, 2 * each, alpha / len(RUNGS)), 2 * each))
    return best


def utility_of(table: ScoreTable, sets: EvaluationSets, units: Units) -> dict[str, Any]:
    """Accuracy on members ("train") and clean non-members ("test") and their gap, for "all" and per label.

    Estimates in [0, 1], the gap in [-1, 1]. The answer to an example is the class with the highest mean probability
    over its queries.
    """
    p = np.exp(table.log_p[sets.target]).mean(axis=1)
    label = table.examples.label
    right, scored = p.argmax(axis=-1) == label, np.isfinite(p).all(axis=-1)
    found: dict[str, Any] = {"target": table.models[sets.target].name}
    for name in ("all", *range(table.n_classes)):
        rates = []
        for rows, what in ((sets.members, "members"), (sets.clean[None], "non-members")):
            kept = rows[scored[rows] & ((label[rows] == name) if name != "all" else True)]
            rates.append(share_estimate(right[kept], unit=units.name, groups=units.at(kept), of=what))
        found[str(name)] = {"train": rates[0], "test": rates[1], "gap": gap(*rates)}
    return found


def learned(table: ScoreTable, sets: EvaluationSets, utility: dict[str, Any]) -> bool:
    """Whether accuracy on members clearly exceeds the share of their most common label."""
    label, accuracy = table.examples.label[sets.members], utility["all"]["train"]
    return accuracy.low is not None and accuracy.low > np.bincount(label).max() / label.size


def gap(train: Estimate, test: Estimate) -> Estimate:
    """Difference of two independent shares; interval by squares of their distances (Newcombe 1998, method 10)."""
    if (train.value is None or train.low is None or train.high is None
            or test.value is None or test.low is None or test.high is None):
        return Estimate.unresolved(train.reason or test.reason or "a share without interval", unit=train.unit)
    value = train.value - test.value
    low = value - sqrt((train.value - train.low) ** 2 + (test.high - test.value) ** 2)
    high = value + sqrt((train.high - train.value) ** 2 + (test.value - test.low) ** 2)
    return Estimate(value, max(-1.0, low), min(1.0, high), n=(train.n or 0) + (test.n or 0), unit=train.unit,
                    method="difference of shares, square-and-add of exact intervals")


def _scored(scores: Scores, members: IntArray, others: IntArray) -> tuple[IntArray, BoolArray]:
    """The rows among `members` and `others` that have a score, (m,), and which are members."""
    assert scores.target is not None
    rows = np.concatenate([members, others])
    truth = np.arange(rows.size) < members.size
    known = np.isfinite(scores.target[rows])
    return rows[known], truth[known]


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
