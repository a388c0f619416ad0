"""The retrainings of one way to train: on each target the scores of the deciding attack, the rows that it judges, and
the answers that the task is measured on, with what another way changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from discreet.audit.core.resampling import Units
from discreet.audit.core.retrained import Means, means_of
from discreet.audit.core.verdict import ALPHA, Word
from discreet.audit.membership.attack import PRIMARY, Scores, primary_scores, score_all
from discreet.audit.membership.audit import audit_membership
from discreet.audit.membership.evaluation_sets import EvaluationSets, Selector, evaluation_sets
from discreet.audit.membership.facts import Guarantee, class_auc, guarantee_of
from discreet.audit.membership.parts import CoveredPart, covered_parts
from discreet.audit.membership.recipe import audit_recipe, recipe_parts
from discreet.audit.membership.rows import JudgedRow, Row, estimate_row, judged_row
from discreet.audit.scores.table import ScoreTable
from discreet.core.design import ASSIGNED
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import delong_test


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One target of one retraining: the scores of the primary endpoint, the parts of the records that a verdict covers,
    all records first, and its answers to the others' records."""

    table: ScoreTable
    sets: EvaluationSets
    scores: Scores
    units: Units
    parts: Sequence[CoveredPart]

    @classmethod
    def of(cls, table: ScoreTable, target: int, seed: int) -> Target:
        """The target in this row of a table. InputError where no attack of an audit can run on it."""
        sets = evaluation_sets(table, target, np.random.default_rng((seed, target)))
        scores = primary_scores(score_all(table, sets, seed=seed, names=list(dict.fromkeys(
            name for name, _, _ in PRIMARY))))
        if scores is None:
            raise InputError("neither a reference ratio nor a loss can be computed; expected scores that an audit can "
                             "judge")
        selector = Selector.of(table, sets, np.random.default_rng((seed, target, 5)))
        parts = covered_parts(judged_row(table, sets, scores, "clean"), table, selector)
        return cls(table, sets, scores, Units.of(table), parts)

    def row(self, *, repeated: bool) -> JudgedRow:
        """All records, or those that stood several times in training against those that would have."""
        sets = self.sets
        if repeated:
            often = self.table.examples.planted > 1
            out = sets.planted_out[often[sets.planted_out]]
            sets = replace(sets, members=sets.planted[often[sets.planted]], clean=dict.fromkeys(sets.clean, out))
        return judged_row(self.table, sets, self.scores, "clean")

    @property
    def tested(self) -> IntArray:
        """The records that measure the task."""
        return self.sets.clean[None]

    @property
    def p(self) -> FloatArray:
        """(N, K) probabilities of the classes, mean over queries."""
        return np.asarray(np.exp(self.table.log_p[self.sets.target]).mean(axis=1), dtype=np.float64)

    def right(self) -> BoolArray:
        """(m,) whether each tested record is classified as labelled."""
        return np.asarray(self.p[self.tested].argmax(axis=1) == self.table.examples.label[self.tested], dtype=np.bool_)


class Audited(NamedTuple):
    """What the audits of the retrainings say: the verdict, the parts that are above their tolerance, and the highest
    lower bound on ε."""

    verdict: Word
    above: Sequence[str]
    epsilon: Estimate


@dataclass(frozen=True, eq=False)
class Retrainings:
    """The retrainings of one way to train, each with its targets; one alone of a recipe that draws nothing."""

    name: str
    tables: Sequence[ScoreTable]
    targets: Sequence[Sequence[Target]]
    seed: int

    @classmethod
    def of(cls, name: str, tables: Sequence[ScoreTable], seed: int) -> Retrainings:
        """All targets of the tables."""
        return cls(name, tables, [[Target.of(table, row, seed) for row in table.of_role("target")]
                                  for table in tables], seed)

    def check(self, base: Retrainings) -> None:
        """Raise InputError where these are not retrainings on the records of `base`."""
        alike = len(self.tables) == len(base.tables) and all(
            one.examples.id.tolist() == other.examples.id.tolist() and np.array_equal(one.member, other.member)
            for one, other in zip(self.tables, base.tables, strict=True))
        if not alike:
            raise InputError(f"{self.name!r} was not trained as often on the same records as {base.name!r}; expected "
                             "tables of one split and the same seeds")
        if self.attack != base.attack:
            raise InputError(f"{self.name!r} allows the attack {self.attack}, and {base.name!r} {base.attack}; "
                             "expected tables with the same references")

    @property
    def attack(self) -> str:
        """The primary endpoint in words."""
        scores = self.targets[0][0].scores
        return f"{scores.attack}, {scores.kind or 'no'} references, {scores.scale} scale"

    @property
    def records(self) -> int:
        """Records that are judged for the targets of one retraining, together."""
        return sum(one.row(repeated=False).rows.size for one in self.targets[0])

    @property
    def leak(self) -> Means:
        """The AUC of the attack over all records."""
        return means_of([[estimate_row(one.row(repeated=False), one.units).auc for one in of_seed]
                         for of_seed in self.targets])

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """That of the audited model which is nearest to breaking it, or breaks it most; None where a model has none.

        Bounds are corrected for the number of models.
        """
        every = [target for of_seed in self.targets for target in of_seed]
        found = [guarantee_of(one.table, one.sets, one.scores, ASSIGNED, np.random.default_rng((self.seed, place)),
                              ALPHA / len(every)) for place, one in enumerate(every)]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        return max(known, key=lambda one: (0.0 if one.lower.value is None else one.lower.value) - one.epsilon)

    @cached_property
    def audited(self) -> Audited:
        """The verdict on the recipe; of one training its own, with the parts as means over its targets."""
        audits = {place: audit_membership(table, design=ASSIGNED, permutations=0, bootstraps=1, seed=self.seed,
                                          attacks=("loss",)) for place, table in enumerate(self.tables)}
        bounds = [bound for audit in audits.values() for one in audit.targets
                  if (bound := one.controls["epsilon_lower"]).value is not None]
        highest = max(bounds, key=lambda one: one.value or 0.0, default=Estimate.unresolved("no bound could be made"))
        parts = recipe_parts(audits)
        verdict = audits[0].verdict if len(audits) == 1 else audit_recipe(audits).verdict
        return Audited(verdict, [one.name for one in parts if one.state == "exceeds"], highest)

    @property
    def part_names(self) -> list[str]:
        """The parts of the records, all records first."""
        return [part.name for part in self.targets[0][0].parts]


def changed(old: Target, new: Target, part: str | None, *, control: bool) -> Row:
    """The figures of the new model with the old one in the place of its control model, in a part of the records of the
    old one; where `part` is None on those that stood several times in training."""
    judged = new.row(repeated=part is None)
    if part is not None:
        rows = next((one.judged.rows for one in old.parts if one.name == part), judged.rows[:0])
        judged = replace(judged, rows=rows[np.isin(rows, judged.rows)])
    before, after = ((one.scores.control if control else one.scores.target) for one in (old, new))
    if before is None or after is None:
        return estimate_row(replace(judged, reason="there is no control model"), new.units)
    kept = np.isfinite(before[judged.rows]) & np.isfinite(after[judged.rows])
    return estimate_row(replace(judged, rows=judged.rows[kept], scores=replace(
        judged.scores, target=after, control=before)), new.units)


def _classes(target: Target) -> list[int]:
    return [1] if target.table.n_classes == 2 else list(range(target.table.n_classes))


def task_aucs(target: Target) -> list[Estimate]:
    """The AUC of each class against the rest; of two classes that of class 1."""
    p, label = target.p, target.table.examples.label
    return [class_auc(p, label, target.tested, one, target.units) for one in _classes(target)]


def auc_changes(old: Target, new: Target) -> list[Estimate]:
    """New less old of `task_aucs`, paired."""
    rows, found = new.tested, []
    for one in _classes(new):
        truth = new.table.examples.label[rows] == one
        try:
            test = delong_test(new.p[rows, one], old.p[rows, one], truth, groups=new.units.at(rows))
        except ValueError:
            found.append(Estimate.unresolved("both AUCs are without spread: more records are needed"))
        else:
            found.append(Estimate(test.difference, test.low, test.high, n=rows.size, unit=new.units.name,
                                  method="paired DeLong"))
    return found


def balanced_change(old: BoolArray, new: BoolArray, label: IntArray, groups: IntArray | None = None) -> Estimate:
    """Balanced accuracy of `new` less that of `old`, (m,) whether each record is classified right, paired.

    `label` (m,) are the classes, `groups` (m,) the units that are drawn. A Wald interval from the sums over units of
    what each record adds to the mean over classes; never narrower than one changed answer in each class makes it.
    """
    change = new.astype(np.float64) - old
    classes, at, sizes = np.unique(label, return_inverse=True, return_counts=True)
    means = np.bincount(at, weights=change) / sizes
    added = (change - means[at]) / (classes.size * sizes[at])
    unit = np.arange(label.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    totals = np.bincount(unit, weights=added)
    least = float((1.0 / (classes.size * sizes) ** 2).sum())
    error = sqrt(max(float((totals**2).sum()) * totals.size / max(totals.size - 1, 1), least))
    value, half = float(means.mean()), NormalDist().inv_cdf(0.975) * error
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half), n=int(totals.size),
                    unit="example" if groups is None else "group", method="paired, Wald over units")
