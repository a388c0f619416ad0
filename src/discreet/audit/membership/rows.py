"""The rows of a report: attack by non-members by selection by stratum, the examples that each judges, its figures.

Intervals are by closed form where one holds, by paired bootstrap where none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator

from discreet.audit.core.resampling import PermutedRow, Units, joint_tpr, max_t
from discreet.audit.core.verdict import Part
from discreet.audit.membership.attack import Scale, Scores
from discreet.audit.membership.evaluation_sets import BOUNDARY_N, EvaluationSets, NonMembers, Pool, Selector, deciles
from discreet.audit.scores.table import MemberArray, ReferenceKind, ScoreTable
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, IntArray
from discreet.stats import percentile_interval
from discreet.stats.estimates import Sample, auc_difference

Selection = Literal["global", "boundary", "boundary_union"]
"""All rows; the boundary of members and non-members separately (the paper's text); of both together (its code)."""

POOLS: Mapping[Selection, Pool] = {"boundary": "independent", "boundary_union": "union"}
CURVE: tuple[int | None, ...] = (10, BOUNDARY_N, 50, 100, 200, None)
"""Sizes of the curve over n; None is all."""

STRATA: Mapping[str, str] = {"label": "class"}
"""What a stratum is called where it is not called by its own name."""

MANY = 250_000
"""Examples of a row from which rows are sorted one at a time: two would take some 200 bytes an example more."""
FPRS: Mapping[str, float] = {"tpr_at_0_1pct_fpr": 0.001, "tpr_at_1pct_fpr": 0.01, "tpr_at_5pct_fpr": 0.05}
FAMILIES: tuple[tuple[str, bool, NonMembers], ...] = (("honest rows", False, "clean"),
                                                      ("rows with paired references", True, "clean"),
                                                      ("rows of the paper's protocol", True, "reference_train"))
"""Rows that share a max-T correction: the paper's large figures must not cost the honest rows power."""

NO_SELECTOR = ("the table has no scores of a selection model that says it was not trained on the examples, and the "
               "target may not select for itself: score them with a model trained on other data (model_role "
               "'selection', 'member' false)")
NO_CONTROL = ("there is no control model, one that is stated to be trained on neither set (model_role 'control', "
              "'member' false): the figure is uncontrolled")


@dataclass(frozen=True, slots=True)
class RowSpec(Part):
    """What a row asks, before any figure.

    Attributes
    ----------
    selection, n
        Which examples: n per label, None where the selection has no size.
    nonmembers : "clean" or "reference_train"
        Which non-members: only "clean" ones can decide a verdict.
    label, structure, category, decile, decile_by
        What the row is restricted to. `decile` 0 … 9, by "selector" (P_S) or "target". A target whose inputs have one
        structure has it in every row.
    target, direction, regime, seed
        The target and its facts, None where the table does not give them.
    stratum : str or None
        Which of "label", "structure", "category" and "decile" restricts the row.
    """

    hidden: ClassVar[tuple[str, ...]] = ("stratum",)
    derived: ClassVar[tuple[str, ...]] = ("oracle", "access")

    attack: str
    scale: Scale
    reference_kind: ReferenceKind | None
    selection: Selection = "global"
    n: int | None = None
    nonmembers: NonMembers = "clean"
    label: int | None = None
    structure: str | None = None
    category: str | None = None
    decile: int | None = None
    decile_by: Literal["selector", "target"] | None = None
    target: str = ""
    direction: str | None = None
    regime: str | None = None
    seed: str | None = None
    stratum: str | None = None

    @property
    def whole(self) -> bool:
        """Whether the row is of all examples: neither a stratum nor a boundary."""
        return self.stratum is None and self.selection == "global"

    @property
    def where(self) -> str:
        """"over all records", "in class 1", "in category abuse, at the decision boundary"."""
        value = {"label": self.label, "structure": self.structure, "category": self.category, "decile": self.decile}
        part = "" if self.stratum is None else f"in {STRATA.get(self.stratum, self.stratum)} {value[self.stratum]}"
        edge = "" if self.selection == "global" else "at the decision boundary"
        return ", ".join(filter(None, (part, edge))) or "over all records"

    @property
    def oracle(self) -> bool:
        """Whether the references were trained on the very non-members in question, or are paired ones."""
        return self.reference_kind == "paired" or self.nonmembers == "reference_train"

    @property
    def access(self) -> Literal["outputs", "oracle"]:
        """What the attacker needs: "oracle" with a paired reference, else "outputs"."""
        return "oracle" if self.reference_kind == "paired" else "outputs"

    @property
    def is_paper(self) -> bool:
        """Whether this is the paper's figure: its section 4.3 ratio, paired, on what the reference trained on."""
        return self.whole and (self.attack, self.scale, self.reference_kind, self.nonmembers) == (
            "reference", "p", "paired", "reference_train")


@dataclass(frozen=True, slots=True)
class Row(Part):
    """A row with its figures.

    Attributes
    ----------
    auc, tpr_at_0_1pct_fpr, tpr_at_1pct_fpr, tpr_at_5pct_fpr : Estimate
        Of the target, in [0, 1]; a TPR is unresolved where its FPR is not one whole non-member.
    control_auc : Estimate
        The same attack, references, selection and examples on the answers of the control model.
    difference : mapping of str to Estimate
        Target less control model on the same examples, in [-1, 1]: `auc` (DeLong's paired interval) and, for rows
        without a stratum, the TPRs that are resolved (paired bootstrap).
    null_p : Estimate
        Family-wise p of max-T permutation; value only.
    null_band : (float, float) or None
        The central 95% of the AUCs under permuted membership.
    """

    hidden: ClassVar[tuple[str, ...]] = ("spec",)
    derived: ClassVar[tuple[str, ...]] = ("uncontrolled",)

    spec: RowSpec
    n_members: int
    n_nonmembers: int
    auc: Estimate
    tpr_at_0_1pct_fpr: Estimate
    tpr_at_1pct_fpr: Estimate
    tpr_at_5pct_fpr: Estimate
    control_auc: Estimate
    difference: Mapping[str, Estimate] = field(default_factory=dict)
    null_p: Estimate = field(default_factory=lambda: Estimate.unresolved("no permutations were asked for"))
    null_band: tuple[float, float] | None = None

    @property
    def uncontrolled(self) -> bool:
        """Whether there is no figure of a control model: such a row cannot pass."""
        return not self.control_auc.resolved

    def to_json(self) -> dict[str, Any]:
        """What the row asks, then its figures."""
        return {**self.spec.to_json(), **Part.to_json(self)}


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRow:
    """The examples of a row and their scores: `member` (N,) is -1 where an example is not of this row, `rows` (m,) are
    judged and were selected from `pool` (p,), both rising. `reason` says why the row has no figure."""

    spec: RowSpec
    scores: Scores
    member: MemberArray
    rows: IntArray
    pool: IntArray
    reason: str | None = None

    @property
    def truth(self) -> BoolArray:
        """(m,) who of `rows` is a member."""
        return np.asarray(self.member[self.rows] == 1, dtype=np.bool_)

    def sample(self, units: Units, *, control: bool = False) -> Sample:
        """The scores of the target, or those of the control model; each must be there."""
        scores = self.scores.control if control else self.scores.target
        assert scores is not None
        return Sample.of(scores[self.rows], self.truth, units.name, units.at(self.rows))

    def part(self, inside: BoolArray, stratum: str, value: Any, **more: Any) -> JudgedRow:
        """The row restricted to the examples where `inside` (m,) holds."""
        rows = self.rows[inside]
        return replace(self, spec=replace(self.spec, stratum=stratum, **{stratum: value}, **more), rows=rows, pool=rows)

    def boundary(self, selector: Selector, selection: Selection, n: int) -> JudgedRow:
        """The row restricted to a boundary."""
        spec = replace(self.spec, selection=selection, n=n)
        if selector.selector_p is None:
            return replace(self, spec=spec, rows=np.zeros(0, dtype=np.int64), reason=NO_SELECTOR)
        return replace(self, spec=spec, rows=selector.boundary(self.rows, self.member, n, POOLS[selection]))


def judged_rows(table: ScoreTable, sets: EvaluationSets, selector: Selector, scores: list[Scores],
                rich: Callable[[Scores], bool]) -> list[JudgedRow]:
    """All rows of one target. Strata and the curve over n are made where `rich` says so."""
    made = list[JudgedRow]()
    for one in scores:
        papers = one.target is not None and one.kind in (None, "paired") and sets.reference_train.size > 0
        for which in ("clean", "reference_train") if papers else ("clean",):
            base = judged_row(table, sets, one, which)
            made.append(base)
            if one.target is not None:
                made += [base.boundary(selector, selection, BOUNDARY_N) for selection in POOLS]
            if one.target is not None and rich(one):
                made += [*_curve(base, selector), *_strata(base, table, selector)]
    return made


def judged_row(table: ScoreTable, sets: EvaluationSets, scores: Scores, which: NonMembers) -> JudgedRow:
    """The global row of an attack. Examples without a score, of the target or its control model, are left out."""
    model = table.models[sets.target]
    structure, direction, regime = map(model.facts.get, ("structure", "direction", "regime"))
    spec = RowSpec(scores.attack, scores.scale, scores.kind, nonmembers=which, target=model.name, seed=model.seed,
                   structure=structure, direction=direction, regime=regime)
    member = sets.codes(len(table.examples), sets.reference_train if which == "reference_train" else
                        sets.clean.get(scores.kind, sets.clean[None]))
    for one in (scores.target, scores.control):
        if one is not None:
            member[~np.isfinite(one)] = -1
    rows = np.flatnonzero((member >= 0) & (scores.target is not None))
    return JudgedRow(spec, scores, member, rows, rows, scores.reason)


def _curve(base: JudgedRow, selector: Selector) -> Iterator[JudgedRow]:
    """The curve over n, both pools; sizes that no label can fill are left to the last point, which has all."""
    if selector.selector_p is None:
        return
    label = selector.label[base.rows]
    counts = np.stack([np.bincount(label[base.truth == inside], minlength=int(selector.label.max()) + 1)
                       for inside in (True, False)])
    for selection, pool in POOLS.items():
        most = int((counts.min(axis=0) if pool == "independent" else counts.sum(axis=0)).max())
        for n in CURVE:
            # There may be no non-member: where all are the paper's, none is clean of its reference.
            if most and n != BOUNDARY_N and (n is None or n < most):
                yield base.boundary(selector, selection, most if n is None else n)


def _strata(base: JudgedRow, table: ScoreTable, selector: Selector) -> Iterator[JudgedRow]:
    examples, rows = table.examples, base.rows
    parts = [base.part(examples.label[rows] == label, "label", int(label)) for label in np.unique(examples.label[rows])]
    if "structure" in examples.columns:
        given = examples.columns["structure"][rows]
        parts += [base.part(given == name, "structure", str(name))
                  for name in sorted({value for value in given if value is not None}, key=str)]
    for part in parts:
        yield from (part, *(part.boundary(selector, selection, BOUNDARY_N) for selection in POOLS))
    if examples.categories is not None:
        held = [examples.categories[row] for row in rows]
        for name in sorted(frozenset().union(*held)):
            yield base.part(np.array([name in one for one in held]), "category", name)
    for by, values in (("target", selector.target_p), ("selector", selector.selector_p)):
        if values is not None:
            tenth = deciles(values, base.member)[rows]
            for decile in np.unique(tenth[tenth >= 0]):
                yield base.part(tenth == decile, "decile", int(decile), decile_by=by)


def estimate_rows(judged: list[JudgedRow], units: Units, rng: Generator, *, n_resamples: int = 1000) -> list[Row]:
    """All figures but the permutation p for each row, in order."""
    # The very same members and non-members share resamples. Strata and other points of the curve have none.
    alike: dict[bytes, list[int]] = {}
    for place, one in enumerate(judged):
        if one.spec.stratum is None and one.spec.n in (None, BOUNDARY_N) and one.scores.control is not None:
            alike.setdefault(one.rows.tobytes() + one.truth.tobytes(), []).append(place)
    # Sorting releases the interpreter's lock; nothing draws but the resamples, so the order of work cannot matter.
    with ThreadPoolExecutor(2) as pool:
        apply = map if any(one.rows.size > MANY for one in judged) else pool.map
        estimated = apply(lambda one: estimate_row(one, units), judged)
        differences = [_tpr_differences([judged[place] for place in places], units, rng, n_resamples)
                       for places in alike.values()]
        rows = list(estimated)
    for places, of in zip(alike.values(), differences, strict=True):
        for place, found in zip(places, of, strict=True):
            rows[place] = replace(rows[place], difference={**rows[place].difference, **found})
    return rows


def estimate_row(judged: JudgedRow, units: Units) -> Row:
    """All figures of one row but permutation p values and differences of operating points."""
    truth, scores = judged.truth, judged.scores
    counts = int(truth.sum()), int((~truth).sum())
    if judged.reason is not None or scores.target is None:
        nothing = Estimate.unresolved(judged.reason or "no scores", unit=units.name)
        return Row(judged.spec, *counts, nothing, nothing, nothing, nothing, nothing, {"auc": nothing}, nothing)
    target = judged.sample(units)
    least, low, high = (target.tpr_at_fpr(fpr) for fpr in FPRS.values())
    control_auc = difference = Estimate.unresolved(NO_CONTROL, unit=units.name)
    if scores.control is not None:
        control = judged.sample(units, control=True)
        control_auc, difference = control.auroc(), auc_difference(target, control)
    return Row(judged.spec, *counts, target.auroc(), least, low, high, control_auc, {"auc": difference})


def _tpr_differences(judged: list[JudgedRow], units: Units, rng: Generator,
                     n_resamples: int) -> list[dict[str, Estimate]]:
    rows, truth = judged[0].rows, judged[0].truth
    n_pos, n_neg = int(truth.sum()), int((~truth).sum())
    wanted = {name: fpr for name, fpr in FPRS.items() if n_pos and fpr * n_neg >= 1.0}
    if not wanted:
        return [{} for _ in judged]
    scores = [found for one in judged for found in (one.scores.target, one.scores.control) if found is not None]
    points, draws = joint_tpr(scores, truth, list(wanted.values()), rng, n_resamples=n_resamples, groups=units.at(rows),
                              rows=rows)

    def estimate(place: int, at: int) -> Estimate:
        value = float(points[2 * place, at] - points[2 * place + 1, at])
        low, high = percentile_interval(draws[2 * place, at] - draws[2 * place + 1, at])
        return Estimate(value, min(low, value), max(high, value), n=rows.size, n_pos=n_pos, n_neg=n_neg,
                        unit=units.name, method=f"paired percentile bootstrap, {n_resamples} resamples")

    return [{name: estimate(place, at) for at, name in enumerate(wanted)} for place in range(len(judged))]


def with_permutations(rows: list[Row], judged: list[JudgedRow], selector: Selector, units: Units, rng: Generator, *,
                      permutations: int) -> list[Row]:
    """The rows that have figures with family-wise p values and null bands."""
    result, label = list(rows), selector.label
    for name, oracle, nonmembers in FAMILIES:
        places = [place for place, row in enumerate(rows) if row.auc.resolved
                  and row.spec.oracle == oracle and row.spec.nonmembers == nonmembers]
        if not places:
            continue
        member, tested = np.full(label.size, -1, dtype=np.int8), []
        for one in (judged[place] for place in places):
            assert one.scores.target is not None
            member[one.pool] = one.member[one.pool]
            # A boundary of members and non-members separately depends on membership: it is selected again.
            tested.append(PermutedRow(one.scores.target, one.pool, one.spec.n) if one.spec.selection == "boundary"
                          else PermutedRow(one.scores.target, one.rows))
        found = max_t(tested, member, label, selector.selector_p, rng, permutations=permutations, groups=units.group,
                      lot=selector.lot)
        bands = np.quantile(found.null, [0.025, 0.975], axis=0)
        for at, place in enumerate(places):
            p = Estimate(float(found.p[at]), None, None, n=permutations, unit="permutation",
                         method=f"max-T over {len(places)} {name}")
            result[place] = replace(rows[place], null_p=p, null_band=(float(bands[0, at]), float(bands[1, at])))
    return result
