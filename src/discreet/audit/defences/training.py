"""What ways to train gain and cost: undefended and defended models of the same split and seeds, by paired tests.

The attack is the primary endpoint of the membership audit, with references and a control model that each defence
trained itself: the attacker knows it. A figure of one retraining is the mean over its targets, f_A and f_B; the mean
over retrainings has both seeds and records as sources of error (`discreet.audit.core.retrained`). Of a recipe that
draws nothing from its seed there is one training, and the records are the only source. p values are two-sided and
corrected by Holm over the defences.

A defence *helps* where the AUC falls by more than chance explains in each part of the records in which the undefended
recipe is above its tolerance (over all records where it is above in none, and leaks), the control models do not fall in
the same way, and no part leaks more. It is *broken* where an audit shows a larger ε than its training with
differential privacy guarantees. Among those that help, the two whose task AUC falls least are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

from discreet.audit.core.retrained import Means, estimate_of, means_of, two_sided_p
from discreet.audit.core.verdict import ALPHA, Part, Word
from discreet.audit.defences.retrainings import Retrainings, Target, auc_changes, balanced_change, changed, task_aucs
from discreet.audit.membership.facts import Guarantee, utility_of
from discreet.audit.membership.options import WHOLE
from discreet.audit.membership.rows import Row
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.stats import holm

Effect = Literal["helps", "worse", "partly", "unclear", "control", "no leak", "broken"]
UNDEFENDED = "no defence"
MOST_NAMED = 2
FEWEST_SEEDS = 2


@dataclass(frozen=True, slots=True)
class DefencePart(Part):
    """The AUC of the attack in one part of the records, its change (defended less undefended), and whether that is
    above 0 with p below .05 after Holm over all parts of all defences."""

    name: str
    leak: Estimate
    leak_change: Estimate
    worse: bool


@dataclass(frozen=True, slots=True)
class DefenceFinding(Part):
    """One way to train against the undefended one; estimates are means over retrainings with 95% intervals.

    Attributes
    ----------
    effect : str
        "helps", "worse" (leaks more in some part), "partly" (leaks less over all records, which is not shown in each
        part in which the undefended recipe is above its tolerance), "unclear", "control" (the control models fall
        alike), "no leak" (undefended models do not leak, so that nothing can help), "broken" (an audit shows more than
        `guarantee` allows).
    leak, repeated : Estimate
        AUC of the attack over all records, and in records that stood several times in training.
    leak_change, repeated_change, control_change : Estimate
        Defended less undefended on the same records, in [-1, 1]; the last of the control models.
    p, auc_p : Estimate
        Of the change of the leak, the largest over the parts in which the undefended recipe is above its tolerance; of
        `auc_change`; value only.
    parts : tuple of DefencePart
        The parts besides all records; `worst` is the one with the largest AUC, None without any figure.
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

    derived: ClassVar[tuple[str, ...]] = ("worst",)

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
    parts: tuple[DefencePart, ...]

    @property
    def worst(self) -> DefencePart | None:
        """The part with the largest AUC."""
        return max((one for one in self.parts if one.leak.value is not None), default=None,
                   key=lambda one: one.leak.value or 0.0)


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


def compare_defences(undefended: Sequence[ScoreTable], defended: Mapping[str, Sequence[ScoreTable]], *, seed: int = 0,
                     draws: bool = True) -> DefenceComparison:
    """Compare defences, each with tables of the same retrainings in the same order, on one split of the records.

    The tables are those of `discreet.audit.experiments.MembershipExperiment`. `seed` draws what an audit draws. Where
    `draws` is False, training draws nothing from its seed: one table of each is all there is, every model pair is
    compared record by record, and the records are the only source of error. Raises InputError for fewer than two
    retrainings (or another number than one), other records, or no attack that can run.
    """
    if len(undefended) < FEWEST_SEEDS and draws:
        raise InputError(f"{len(undefended)} retraining was given; expected at least {FEWEST_SEEDS}, so that chance in "
                         "training is measured")
    if len(undefended) != 1 and not draws:
        raise InputError(f"{len(undefended)} retrainings were given of a recipe that draws nothing from its seed; "
                         "expected one: the others are the same model")
    base = Retrainings.of(UNDEFENDED, undefended, seed)
    others = [Retrainings.of(name, tables, seed) for name, tables in defended.items()]
    for one in others:
        one.check(base)
    pairs = [_Pair(base, one) for one in others]
    above = base.audited.above
    leaks = bool(above) or (
        (two_sided_p(base.leak, 0.5) or 1.0) < ALPHA and base.leak is not None and base.leak[0].value > 0.5)
    worse = _worse(pairs, base.part_names)
    whole, p, auc_p = map(_holm, (
        [two_sided_p(one.leak[WHOLE]) for one in pairs], [one.falls(above or [WHOLE]) for one in pairs],
        [two_sided_p(one.auc) for one in pairs]))
    found = []
    for place, pair in enumerate(pairs):
        effect = _effect(pair, p[place], whole[place], above or [WHOLE], leaks=leaks, worse=bool(worse[place]))
        found.append(pair.finding(effect, p[place], auc_p[place], worse[place]))
    helping = sorted((one for one in found if one.effect == "helps" and one.auc_change.value is not None),
                     key=lambda one: -(one.auc_change.value or 0.0))
    named, rest = helping[:MOST_NAMED], helping[MOST_NAMED:]
    beyond = Estimate.unresolved("no further defence helps", unit="retraining")
    if rest:
        trained = {one.name: one for one in others}
        beyond = _Pair(trained[named[-1].name], trained[rest[0].name]).estimate("auc")
    return DefenceComparison(
        base.attack, len(undefended), base.records, _undefended(base), tuple(found),
        tuple(one.name for one in named), rest[0].name if rest else None, beyond)


def _undefended(base: Retrainings) -> DefenceFinding:
    """The figures of the undefended recipe, with which nothing is compared."""
    nothing = Estimate.unresolved("the others are compared with this one", unit="retraining")
    broken = base.guarantee is not None and base.guarantee.broken
    own = _Pair(base, base).finding("broken" if broken else "unclear", None, None, set())
    return replace(
        own, parts=tuple(replace(one, leak_change=nothing) for one in own.parts), leak_change=nothing, p=nothing,
        control_change=nothing, repeated_change=nothing, auc_change=nothing,
        auc_p=nothing, balanced_change=nothing)


def _worse(pairs: Sequence[_Pair], parts: Sequence[str]) -> list[set[str]]:
    """Of each defence the parts in which it leaks more, Holm over all parts of all defences."""
    tests = [(place, name, pair.leak[name]) for place, pair in enumerate(pairs) for name in parts]
    found = [set[str]() for _ in pairs]
    for (place, name, change), p in zip(tests, _holm([two_sided_p(change) for *_, change in tests]), strict=True):
        if p is not None and p < ALPHA and change is not None and change[0].value > 0.0:
            found[place].add(name)
    return found


def _effect(pair: _Pair, p: float | None, whole: float | None, parts: Sequence[str], *, leaks: bool, worse: bool
            ) -> Effect:
    """What a defence does where undefended models are above their tolerance, `parts`, by `p`, and over all records, by
    the p value `whole`."""
    guarantee = pair.new.guarantee
    if guarantee is not None and guarantee.broken:
        return "broken"
    if worse:
        return "worse"
    if not leaks:
        return "no leak"
    if p is None or p >= ALPHA:
        fell = whole is not None and whole < ALPHA and (pair.estimate("leak").value or 0.0) < 0.0
        return "partly" if fell else "unclear"
    controls = [estimate_of(pair.control[name], len(pair.new.tables), (-1.0, 1.0)) for name in parts]
    return "control" if any(one.high is not None and one.high < 0.0 for one in controls) else "helps"


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

    def _rows(self, part: str | None, *, control: bool = False) -> list[list[Row]]:
        return [[changed(one, other, part, control=control) for one, other in of_seed] for of_seed in self._targets()]

    @cached_property
    def _parts(self) -> dict[str, list[list[Row]]]:
        return {name: self._rows(name) for name in self.old.part_names}

    @cached_property
    def leak(self) -> dict[str, Means]:
        """Defended less undefended AUC of the attack in each part."""
        return {name: _changes(rows) for name, rows in self._parts.items()}

    def falls(self, parts: Sequence[str]) -> float | None:
        """The largest p value of `parts`, which all must fall: 1 where one does not, None where one has no figure."""
        found = []
        for change in (self.leak[name] for name in parts):
            p = two_sided_p(change)
            if p is None or change is None:
                return None
            found.append(p if change[0].value < 0.0 else 1.0)
        return max(found)

    @cached_property
    def auc(self) -> Means:
        """Defended less undefended AUC of the task."""
        return means_of([[one for pair in of_seed for one in auc_changes(*pair)] for of_seed in self._targets()])

    @cached_property
    def control(self) -> dict[str, Means]:
        """The change of the control models in each part."""
        return {name: _changes(self._rows(name, control=True)) for name in self.old.part_names}

    def estimate(self, name: str) -> Estimate:
        """The mean `leak`, `auc` or `control` over all records with its interval."""
        found = self.auc if name == "auc" else getattr(self, name)[WHOLE]
        return estimate_of(found, len(self.new.tables), (-1.0, 1.0))

    def finding(self, effect: Effect, p: float | None, auc_p: float | None, worse: Set[str]) -> DefenceFinding:
        """All figures."""
        n, repeated = len(self.new.tables), self._rows(None)
        pairs = list(self._targets())
        audited = self.new.audited

        def mean(estimates: Sequence[Sequence[Estimate]], least: float = 0.0) -> Estimate:
            return estimate_of(means_of(estimates), n, (least, 1.0))

        return DefenceFinding(
            self.new.name, effect, mean([[row.auc for row in of_seed] for of_seed in self._parts[WHOLE]]),
            self.estimate("leak"), _p(p, n), self.estimate("control"),
            mean([[row.auc for row in of_seed] for of_seed in repeated]),
            mean([[row.difference["auc"] for row in of_seed] for of_seed in repeated], -1.0),
            mean([[one for _, new in of_seed for one in task_aucs(new)] for of_seed in pairs]), self.estimate("auc"),
            _p(auc_p, n), mean([[utility_of(new.table, new.sets, new.units)["balanced"]["test"] for _, new in of_seed]
                                 for of_seed in pairs]),
            mean([[balanced_change(old.right(), new.right(), new.table.examples.label[new.tested],
                                 new.units.at(new.tested)) for old, new in of_seed] for of_seed in pairs], -1.0),
            audited.verdict, audited.epsilon, self.new.guarantee, tuple(
                DefencePart(name, mean([[row.auc for row in of_seed] for of_seed in rows]),
                            estimate_of(self.leak[name], n, (-1.0, 1.0)), name in worse)
                for name, rows in self._parts.items() if name != WHOLE))


def _changes(rows: Sequence[Sequence[Row]]) -> Means:
    return means_of([[row.difference["auc"] for row in of_seed] for of_seed in rows])


def _p(value: float | None, n: int) -> Estimate:
    if value is None:
        return Estimate.unresolved("not every retraining has both figures", unit="retraining")
    over = "t over retrainings" if n > 1 else "normal, over records"
    return Estimate(value, None, None, unit="retraining", method=f"{over}, two-sided, Holm over defences")
