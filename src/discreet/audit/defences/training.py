"""What ways to train gain and cost: undefended and defended models of the same split and seeds, by paired tests.

The attack is the primary endpoint of the membership audit, with references and a control model that each defence
trained itself: the attacker knows it. A figure of one retraining is the mean over its targets, f_A and f_B; the mean
over retrainings has both seeds and records as sources of error (`discreet.audit.core.retrained`). p values are
two-sided and corrected by Holm over the defences.

A defence *helps* where the AUC over all records falls by more than chance explains, the undefended models leak, and the
control models do not fall in the same way. It is *broken* where an audit shows a larger ε than its training with
differential privacy guarantees. Among those that help, the two whose task AUC falls least are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

from discreet.audit.core.retrained import Means, estimate_of, means_of, two_sided_p
from discreet.audit.core.verdict import ALPHA, Part, Word
from discreet.audit.defences.quality import auc_changes, balanced_change, task_aucs
from discreet.audit.defences.retrainings import Retrainings, Target, changed
from discreet.audit.membership.guarantee import Guarantee
from discreet.audit.membership.rows import Row
from discreet.audit.membership.utility import utility_of
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.stats import holm

Effect = Literal["helps", "worse", "unclear", "control", "no leak", "broken"]
UNDEFENDED = "no defence"
MOST_NAMED = 2
FEWEST_SEEDS = 2


@dataclass(frozen=True, slots=True)
class DefenceFinding(Part):
    """One way to train against the undefended one; estimates are means over retrainings with 95% intervals.

    Attributes
    ----------
    effect : str
        "helps", "worse" (leaks more), "unclear", "control" (the control models fall alike), "no leak" (undefended
        models do not leak, so that nothing can help), "broken" (an audit shows more than `guarantee` allows).
    leak, repeated : Estimate
        AUC of the attack over all records, and in records that stood several times in training.
    leak_change, repeated_change, control_change : Estimate
        Defended less undefended on the same records, in [-1, 1]; the last of the control models.
    p, auc_p : Estimate
        Of `leak_change`, and of `auc_change`; value only.
    auc, balanced : Estimate
        Of the task on records that no model was trained on: AUC of a class against the rest, mean over classes (of two
        classes that of class 1), and accuracy, mean over classes.
    auc_change, balanced_change : Estimate
        Defended less undefended on the same records, in [-1, 1]: below 0 the defence costs quality.
    verdict : "pass", "fail" or "inconclusive"
        Of the audit of this recipe over its retrainings, as by `audit membership train --seeds`.
    epsilon_lower : Estimate
        The highest lower bound on ε of a retraining; value only.
    guarantee : Guarantee or None
        Of training with differential privacy.
    """

    name: str
    effect: Effect
    leak: Estimate
    leak_change: Estimate
    p: Estimate
    control_change: Estimate
    repeated: Estimate
    repeated_change: Estimate
    auc: Estimate
    auc_change: Estimate
    auc_p: Estimate
    balanced: Estimate
    balanced_change: Estimate
    verdict: Word
    epsilon_lower: Estimate
    guarantee: Guarantee | None


@dataclass(frozen=True, slots=True)
class DefenceComparison(Part):
    """All defences, the undefended recipe first; `cheapest` are the at most two of those that help that cost least of
    the task AUC, the cheapest first; `next_change` is the AUC of the next one that helps less that of the last of
    these, by a paired comparison. `verdict` is "fail" where a guarantee is broken, else None."""

    derived: ClassVar[tuple[str, ...]] = ("verdict", "reasons")

    attack: str
    seeds: int
    records: int
    undefended: DefenceFinding
    defences: tuple[DefenceFinding, ...]
    cheapest: tuple[str, ...]
    next_name: str | None
    next_change: Estimate

    @property
    def reasons(self) -> tuple[str, ...]:
        """Which guarantee is broken."""
        return tuple(f"{one.name}: {one.guarantee.sentence}" for one in (self.undefended, *self.defences)
                     if one.guarantee is not None and one.effect == "broken")

    @property
    def verdict(self) -> Literal["fail"] | None:
        """Which defences are best is no verdict; that one breaks its promise is."""
        return "fail" if self.reasons else None


def compare_defences(undefended: Sequence[ScoreTable], defended: Mapping[str, Sequence[ScoreTable]], *, seed: int = 0
                     ) -> DefenceComparison:
    """Compare defences, each with tables of the same retrainings in the same order, on one split of the records.

    The tables are those of `discreet.audit.experiments.MembershipExperiment`. `seed` draws what an audit draws.
    Raises InputError for fewer than two retrainings, other numbers of them, other records, or no attack that can run.
    """
    if len(undefended) < FEWEST_SEEDS:
        raise InputError(f"{len(undefended)} retraining was given; expected at least {FEWEST_SEEDS}, so that chance in "
                         "training is measured")
    base = Retrainings.of(UNDEFENDED, undefended, seed)
    others = [Retrainings.of(name, tables, seed) for name, tables in defended.items()]
    for one in others:
        one.check(base)
    pairs = [_Pair(base, one) for one in others]
    leaks = (two_sided_p(base.leak, 0.5) or 1.0) < ALPHA and base.leak is not None and base.leak[0].value > 0.5
    p, auc_p = (_holm([two_sided_p(getattr(one, name)) for one in pairs]) for name in ("leak", "auc"))
    found = tuple(one.finding(_effect(one, own, leaks), own, of_auc)
                  for one, own, of_auc in zip(pairs, p, auc_p, strict=True))
    helping = sorted((one for one in found if one.effect == "helps" and one.auc_change.value is not None),
                     key=lambda one: -(one.auc_change.value or 0.0))
    named, rest = helping[:MOST_NAMED], helping[MOST_NAMED:]
    beyond = Estimate.unresolved("no further defence helps", unit="retraining")
    if rest:
        trained = {one.name: one for one in others}
        beyond = _Pair(trained[named[-1].name], trained[rest[0].name]).estimate("auc")
    return DefenceComparison(
        base.attack, len(undefended), base.records, _undefended(base), found,
        tuple(one.name for one in named), rest[0].name if rest else None, beyond)


def _undefended(base: Retrainings) -> DefenceFinding:
    """The figures of the undefended recipe, with which nothing is compared."""
    nothing = Estimate.unresolved("the others are compared with this one", unit="retraining")
    broken = base.guarantee is not None and base.guarantee.broken
    own = _Pair(base, base).finding("broken" if broken else "unclear", None, None)
    return replace(
        own, leak_change=nothing, p=nothing, control_change=nothing, repeated_change=nothing, auc_change=nothing,
        auc_p=nothing, balanced_change=nothing)


def _effect(pair: _Pair, p: float | None, leaks: bool) -> Effect:
    change, guarantee = pair.leak, pair.new.guarantee
    if guarantee is not None and guarantee.broken:
        return "broken"
    if p is None or change is None or p >= ALPHA:
        return "unclear" if leaks else "no leak"
    if change[0].value > 0.0:
        return "worse"
    if not leaks:
        return "no leak"
    control = pair.estimate("control")
    return "control" if control.high is not None and control.high < 0.0 else "helps"


def _holm(raw: Sequence[float | None]) -> list[float | None]:
    known = [p for p in raw if p is not None]
    adjusted = iter(holm(known) if known else ())
    return [None if p is None else float(next(adjusted)) for p in raw]


@dataclass(frozen=True, eq=False)
class _Pair:
    """One way to train against another, model by model on the same records."""

    old: Retrainings
    new: Retrainings

    def _targets(self) -> Iterator[list[tuple[Target, Target]]]:
        for before, after in zip(self.old.targets, self.new.targets, strict=True):
            yield list(zip(before, after, strict=True))

    def _rows(self, *, repeated: bool, control: bool = False) -> list[list[Row]]:
        return [[changed(one, other, repeated=repeated, control=control) for one, other in of_seed]
                for of_seed in self._targets()]

    @cached_property
    def _all(self) -> list[list[Row]]:
        return self._rows(repeated=False)

    @cached_property
    def leak(self) -> Means:
        """Defended less undefended AUC of the attack."""
        return means_of([[row.difference["auc"] for row in of_seed] for of_seed in self._all])

    @cached_property
    def auc(self) -> Means:
        """Defended less undefended AUC of the task."""
        return means_of([[one for pair in of_seed for one in auc_changes(*pair)] for of_seed in self._targets()])

    @cached_property
    def control(self) -> Means:
        """The change of the control models."""
        rows = self._rows(repeated=False, control=True)
        return means_of([[row.difference["auc"] for row in of_seed] for of_seed in rows])

    def estimate(self, name: str) -> Estimate:
        """The mean `leak`, `auc` or `control` with its interval."""
        return estimate_of(getattr(self, name), len(self.new.tables), (-1.0, 1.0))

    def finding(self, effect: Effect, p: float | None, auc_p: float | None) -> DefenceFinding:
        """All figures."""
        n, repeated = len(self.new.tables), self._rows(repeated=True)
        pairs = list(self._targets())
        verdict, epsilon = self.new.audited()

        def mean(estimates: Sequence[Sequence[Estimate]], least: float = 0.0) -> Estimate:
            return estimate_of(means_of(estimates), n, (least, 1.0))

        return DefenceFinding(
            self.new.name, effect, mean([[row.auc for row in of_seed] for of_seed in self._all]),
            self.estimate("leak"), _p(p), self.estimate("control"),
            mean([[row.auc for row in of_seed] for of_seed in repeated]),
            mean([[row.difference["auc"] for row in of_seed] for of_seed in repeated], -1.0),
            mean([[one for _, new in of_seed for one in task_aucs(new)] for of_seed in pairs]), self.estimate("auc"),
            _p(auc_p), mean([[utility_of(new.table, new.sets, new.units)["balanced"]["test"] for _, new in of_seed]
                              for of_seed in pairs]),
            mean([[balanced_change(old.right(), new.right(), new.table.examples.label[new.tested],
                                 new.units.at(new.tested)) for old, new in of_seed] for of_seed in pairs], -1.0),
            verdict, epsilon, self.new.guarantee)


def _p(value: float | None) -> Estimate:
    if value is None:
        return Estimate.unresolved("not every retraining has both figures", unit="retraining")
    return Estimate(value, None, None, unit="retraining", method="t over retrainings, two-sided, Holm over defences")
