"""Old against new: does a new model leak more than the old one, less, or can these records not tell?

Both were scored on the same records with the same membership, so that every comparison is paired: by DeLong's test, or
with Obuchowski's variance where records belong to groups. The attack is the primary endpoint that both tables allow
(`discreet.audit.membership.audit.PRIMARY`), the parts are those that a verdict covers, and Holm corrects over all of
them. A part in which the control models differ in the same direction decides nothing: something besides the two models
changed, such as the references. What the tables say besides scores counts where neither contradicts it, so that old
and new in the other order give the same figures with the sign turned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import ALPHA, Audit, Part, Sentence, Sentences, Word
from discreet.audit.membership.attack import PRIMARY, Scores, score_all
from discreet.audit.membership.evaluation_sets import Selector, evaluation_sets, selector_p, true_class_p
from discreet.audit.membership.options import FEWEST, WHOLE
from discreet.audit.membership.parts import CoveredPart, covered_parts
from discreet.audit.membership.rows import JudgedRow, estimate_row, judged_row
from discreet.audit.scores.table import Examples, ScoreTable
from discreet.core.errors import InputError
from discreet.core.numbers import counted, interval, listed
from discreet.core.records import Estimate
from discreet.core.types import FloatArray, IntArray
from discreet.stats import delong_test, holm

Direction = Literal["more", "less", "unclear", "control"]
say = Sentences.read(__package__).of("compare")
MOST_NAMED = 3
"""Parts that a sentence names."""


@dataclass(frozen=True, slots=True)
class PartChange(Part):
    """The old and the new model in one part.

    Attributes
    ----------
    target, name : str
        The new model, and the part: "all records", "class 1".
    direction : "more", "less", "unclear" or "control"
        "control": the control models differ in the same direction, so that the part decides nothing.
    old, new : Estimate
        AUC of each.
    difference : Estimate
        New less old on the same records, in [-1, 1], paired, with its 95% interval.
    p : Estimate
        Two-sided, adjusted by Holm over all parts; value only.
    control_difference : Estimate
        The same difference of the two control models.
    """

    target: str
    name: str
    direction: Direction
    n_members: int
    n_nonmembers: int
    old: Estimate
    new: Estimate
    difference: Estimate
    p: Estimate
    control_difference: Estimate


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MembershipComparison(Audit):
    """`verdict` is "fail" where the new model leaks more in some part, else "pass" where it leaks less in some part,
    else "inconclusive"."""

    kind: ClassVar[str] = "compare membership"

    verdict: Word
    attack: str
    reasons: tuple[Sentence, ...]
    parts: tuple[PartChange, ...]
    records: int
    left_out: int
    provenance: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"verdict": self.verdict, "attack": self.attack, "reasons": list(self.reasons),
                "reason_codes": [one.code for one in self.reasons], "parts": [one.to_json() for one in self.parts],
                "records": self.records, "left_out": self.left_out, "provenance": dict(self.provenance)}


def compare_membership(old: ScoreTable, new: ScoreTable, *, seed: int = 0,
                       provenance: Mapping[str, Any] | None = None) -> MembershipComparison:
    """Compare two models, or the models of two runs that have the same names, on the records that both judge.

    Tables with one target each are compared whatever the targets are called. A record is compared where both tables
    state the same label and membership. `seed` draws the population, as in an audit. InputError where no model or
    fewer than ten members or non-members can be compared.
    """
    paired = [_Pair.of(old, new, *both, seed) for both in _targets(old, new)]
    tests = [test for pair in paired for test in pair.tests()]
    known = [test.p for test in tests if test.p is not None]
    adjusted = iter(holm(known) if known else ())
    parts = tuple(test.change(None if test.p is None else float(next(adjusted)), len(known)) for test in tests)
    directions = {one.direction for one in parts}
    verdict: Word = "fail" if "more" in directions else "pass" if "less" in directions else "inconclusive"
    return MembershipComparison(
        verdict, paired[0].attack, tuple(_reasons(verdict, parts, paired[0].attack, all(one.same for one in paired))),
        parts,
        sum(pair.base.rows.size for pair in paired), sum(pair.left_out for pair in paired), dict(provenance or {}))


def _targets(old: ScoreTable, new: ScoreTable) -> list[tuple[int, int]]:
    """Which target of `old` is compared with which of `new`."""
    first, second = ({table.models[row].name: row for row in table.of_role("target")} for table in (old, new))
    if len(first) == len(second) == 1:
        return [(next(iter(first.values())), next(iter(second.values())))]
    if shared := [name for name in first if name in second]:
        return [(first[name], second[name]) for name in shared]
    raise InputError(f"the tables have {counted(len(first), 'target')} and {counted(len(second), 'target')}, and no "
                     "name of one is in the other; expected one target in each, or targets of the same names")


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """The records that both models are judged on, in the order of the new table, with what both tables say of them;
    `old` has the old model's scores, and its control model's, of the same records."""

    table: ScoreTable
    selector: Selector
    base: JudgedRow
    old: Scores
    attack: str
    left_out: int

    @classmethod
    def of(cls, old: ScoreTable, new: ScoreTable, old_target: int, new_target: int, seed: int) -> _Pair:
        rows, found = [], []
        for table, target in ((old, old_target), (new, new_target)):
            # One draw for both: of a population apart, as many records as can be are judged in both tables.
            sets = evaluation_sets(table, target, np.random.default_rng(seed))
            found.append((sets, {(one.attack, one.scale, one.kind): one for one in score_all(
                table, sets, seed=seed, names=list(dict.fromkeys(name for name, _, _ in PRIMARY)))}))
        asked = next((one for one in PRIMARY if all(
            one in scores and scores[one].target is not None for _, scores in found)), None)
        if asked is None:
            raise InputError("neither a reference ratio nor a loss can be computed in both tables; expected scores "
                             "that an audit can judge")
        rows = [judged_row(table, sets, scores[asked], "clean") for table, (sets, scores) in zip(
            (old, new), found, strict=True)]
        place = {str(name): row for row, name in enumerate(old.examples.id)}
        same = np.array([place.get(str(name), -1) for name in new.examples.id], dtype=np.int64)
        shared = [row for row in rows[1].rows if same[row] >= 0 and rows[0].member[same[row]] == rows[1].member[row]
                  and old.examples.label[same[row]] == new.examples.label[row]]
        kept = np.array(shared, dtype=np.int64)
        base = replace(rows[1], rows=kept, pool=kept)
        if min(base.truth.sum(), (~base.truth).sum()) < FEWEST:
            raise InputError(f"{counted(int(base.truth.sum()), 'member')} and {int((~base.truth).sum())} non-members "
                             f"are in both tables with the same label and membership, of {int((same >= 0).sum()):,} "
                             f"examples with one name in both; expected at least {FEWEST} of each: score the same "
                             "records, under the same names and with the same members, with both models")
        before = rows[0].scores
        moved = replace(before, target=_moved(before.target, same), control=_moved(before.control, same))
        # The least likely records by both selection models, thinned by lots that depend on the names alone.
        rank = np.argsort(new.examples.id[kept].astype(str))
        lot = np.zeros(len(new.examples), dtype=np.int64)
        lot[kept[rank]] = np.random.default_rng((seed, 5)).permutation(kept.size)
        earlier, later = (selector_p(table, sets) for table, (sets, _) in zip((old, new), found, strict=True))
        likely = [one for one in (_moved(earlier, same), later) if one is not None]
        selector = Selector(np.mean(likely, axis=0) if likely else None, true_class_p(new, (new_target,)),
                            new.examples.label, lot)
        name, scale, kind = asked
        return cls(replace(new, examples=_both(old.examples, new.examples, same, kept)), selector, base, moved,
                   f"{name}, {kind or 'no'} references, {scale} scale",
                   rows[0].rows.size + rows[1].rows.size - 2 * kept.size)

    def tests(self) -> list[_Test]:
        units = Units.of(self.table)
        return [_Test.of(part, self.old, units) for part in covered_parts(self.base, self.table, self.selector)]

    @property
    def same(self) -> bool:
        """Whether both models give every record the same score."""
        old, new, rows = self.old.target, self.base.scores.target, self.base.rows
        return old is not None and new is not None and np.array_equal(old[rows], new[rows])


def _both(old: Examples, new: Examples, same: IntArray, kept: IntArray) -> Examples:
    """The new table's examples with the categories and structures that neither table contradicts, and their groups.

    `same` (N,) is each example's row in the old table, -1 without one; `kept` are the rows that are compared.
    InputError where the tables group these differently.
    """
    categories, columns, group = new.categories, dict(new.columns), new.group
    if old.categories is not None:
        before = [old.categories[row] if row >= 0 else frozenset[str]() for row in same]
        categories = tuple(before) if categories is None else tuple(map(frozenset.intersection, before, categories))
    if (structure := old.columns.get("structure")) is not None:
        earlier = [structure[row] if row >= 0 else None for row in same]
        later = columns.get("structure", np.array(earlier, dtype=np.object_))
        columns["structure"] = np.array([one if one == other else None for one, other in zip(
            earlier, later, strict=True)], dtype=np.object_)
    if old.group is not None:
        # Records that are not compared have groups of their own.
        moved = old.group.max(initial=0) + 1 + np.arange(same.size)
        moved[kept] = old.group[same[kept]]
        pairs = moved if group is None else np.unique(np.stack([moved[kept], group[kept]]), axis=1)
        if group is not None and not np.unique(moved[kept]).size == np.unique(group[kept]).size == pairs.shape[1]:
            raise InputError("the tables group the same records differently; expected the same 'group' for each record "
                             "in both")
        group = moved
    return replace(new, categories=categories, columns=columns, group=group)


def _moved(scores: FloatArray | None, same: IntArray) -> FloatArray | None:
    """Scores of the old table in the order of the new one, NaN where the old one lacks a record."""
    return None if scores is None else np.where(same >= 0, scores[same], np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """One part before Holm: rows of old and new, the two differences, and p, None where there is none."""

    part: CoveredPart
    old: Estimate
    new: Estimate
    difference: Estimate
    control_difference: Estimate
    p: float | None

    @classmethod
    def of(cls, part: CoveredPart, old: Scores, units: Units) -> _Test:
        new = part.judged.scores
        # A row's control is what it is compared with: here the old model.
        both = estimate_row(replace(part.judged, scores=replace(new, control=old.target)), units)
        control = Estimate.unresolved("one of the runs has no control model", unit=units.name)
        if new.control is not None and old.control is not None:
            control = estimate_row(replace(part.judged, scores=replace(new, target=new.control, control=old.control)),
                                   units).difference["auc"]
        rows, found, p = part.judged.rows, both.difference["auc"], None
        if found.resolved and min(both.auc.n_pos or 0, both.auc.n_neg or 0) >= FEWEST:
            assert new.target is not None
            assert old.target is not None
            p = delong_test(new.target[rows], old.target[rows], part.judged.truth, groups=units.at(rows)).p_value
        return cls(part, both.control_auc, both.auc, found, control, p)

    def direction(self) -> Direction:
        """The direction of a difference that chance does not explain."""
        more = (self.difference.value or 0.0) > 0.0
        if ((self.new if more else self.old).low or 0.0) <= 0.5:
            # Of two models that do not leak none leaks more.
            return "unclear"
        low, high = self.control_difference.low, self.control_difference.high
        alike = low is not None and high is not None and (low > 0.0 if more else high < 0.0)
        return "control" if alike else "more" if more else "less"

    def change(self, p: float | None, n_tests: int) -> PartChange:
        direction: Direction = "unclear"
        if p is not None and p < ALPHA:
            direction = self.direction()
        truth, unit = self.part.judged.truth, self.new.unit
        shown = Estimate.unresolved(f"fewer than {FEWEST} {unit}s in one of the sets", unit=unit) if p is None else (
            Estimate(p, None, None, unit=unit, method=f"paired DeLong, two-sided, Holm over {n_tests} parts"))
        return PartChange(self.part.judged.spec.target, self.part.name, direction, int(truth.sum()),
                          int((~truth).sum()), self.old, self.new, self.difference, shown, self.control_difference)


def _reasons(verdict: Word, parts: Sequence[PartChange], attack: str, same: bool) -> list[Sentence]:
    found, several = [], len({one.target for one in parts}) > 1
    # Of several models the one of which all records tell something.
    whole = min((one for one in parts if one.name == WHOLE), key=lambda one: one.direction not in ("more", "less"))

    def shown(one: PartChange) -> str:
        return f"{one.target}, {one.name}" if several else one.name

    for direction in ("more", "less", "control"):
        if named := [one for one in parts if one.direction == direction]:
            rest = [counted(len(named) - MOST_NAMED, "other part")] if len(named) > MOST_NAMED else []
            found.append(say(direction, parts=listed([*map(shown, named[:MOST_NAMED]), *rest])))
    if verdict == "inconclusive":
        found.append(say("same" if same else "unclear"))
    if whole.difference.high is not None:
        found.append(say("whole", records=shown(whole), attack=attack, old=interval(whole.old), new=interval(whole.new),
                         difference=interval(whole.difference, sign=True)))
    if not whole.control_difference.resolved:
        found.append(say("no_control"))
    return found
