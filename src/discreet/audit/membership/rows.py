"""The rows of a report: attack by non-members by selection by stratum, each with the examples that it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from discreet.audit.membership.attack import Access, Scale
from discreet.audit.membership.evaluation_sets import EvaluationSets, NonMembers
from discreet.audit.membership.selection import BOUNDARY_N, Pool, Selector, curve_sizes, deciles
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import MemberArray, ReferenceKind, ScoreTable
from discreet.stats import RocCore

Selection = Literal["global", "boundary", "boundary_union"]
"""All rows; the boundary of members and non-members separately (the paper's text); of both together (its code)."""

STRATA: tuple[str, ...] = ("label", "structure", "category", "decile")
"""What a row may be restricted to. Direction, regime and seed are facts of the target and stand in every row."""

POOLS: Mapping[Selection, Pool] = {"boundary": "independent", "boundary_union": "union"}

ROC_POINTS = 200

NO_SELECTOR = ("the table has no scores of a selection model that says it was not trained on the examples, and the "
               "target may not select for itself: score them with a model trained on other data (model_role "
               "'selection', 'member' false)")
NO_PLACEBO = ("there is no control model, one that is stated to be trained on neither set (model_role 'placebo', "
              "'member' false): the figure is uncontrolled")


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """An attack's scores of all N examples, or the reason why there are none.

    Attributes
    ----------
    target, placebo : (N,) float array or None
        Higher = more like a member; NaN where an example could not be scored. None without a control model.
    reason : str or None
        Why the attack could not run; both arrays are then None.
    """

    attack: str
    scale: Scale
    kind: ReferenceKind | None
    target: FloatArray | None
    placebo: FloatArray | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RowSpec:
    """What a row asks, before any figure.

    Attributes
    ----------
    attack, scale, reference_kind
        The attack, the scale of its score, and the references that it used.
    selection, n
        Which examples: n per label, None where the selection has no size.
    nonmembers : "clean" or "reference_train"
        Which non-members: only "clean" ones can decide a verdict.
    label, structure, category, decile, decile_by
        The stratum, None where the row is not restricted. `decile` 0 … 9, by "selector" (P_S) or "target".
    target, target_structure, direction, regime, seed
        The target and its facts, None where the table does not give them. `target_structure` is the one structure of
        all its inputs; a pooled model has none, and `structure` then splits its examples.
    """

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
    target_structure: str | None = None
    direction: str | None = None
    regime: str | None = None
    seed: str | None = None

    @property
    def whole(self) -> bool:
        """Whether the row is not restricted to a stratum."""
        return all(getattr(self, name) is None for name in STRATA)

    @property
    def oracle(self) -> bool:
        """Whether the references were trained on the very non-members in question, or are paired ones."""
        return self.reference_kind == "paired" or self.nonmembers == "reference_train"

    @property
    def access(self) -> Access:
        """What the attacker needs: "oracle" with a paired reference, else "outputs"."""
        return "oracle" if self.reference_kind == "paired" else "outputs"

    @property
    def is_paper(self) -> bool:
        """Whether this is the paper's figure: its section 4.3 ratio, paired, global, on what the reference trained on.
        """
        return ((self.attack, self.scale, self.reference_kind) == ("reference", "p", "paired") and self.whole
                and self.selection == "global" and self.nonmembers == "reference_train")

    def to_json(self) -> dict[str, Any]:
        """The keys of a row that say what it asks."""
        return {
            "attack": self.attack, "scale": self.scale, "reference_kind": self.reference_kind,
            "selection": self.selection, "n": self.n, "label": self.label, "direction": self.direction,
            "regime": self.regime, "structure": self.structure or self.target_structure, "category": self.category,
            "decile": self.decile, "seed": self.seed, "oracle": self.oracle, "access": self.access,
            "nonmembers": self.nonmembers, "target": self.target, "decile_by": self.decile_by,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A row with its figures.

    Attributes
    ----------
    spec : RowSpec
    n_members, n_nonmembers : int
        Examples judged.
    auc, tpr_at_1pct_fpr, tpr_at_5pct_fpr : Estimate
        Of the target, in [0, 1].
    placebo_auc : Estimate
        The same attack, references, selection and examples on the answers of the control model.
    difference : mapping of str to Estimate
        Target less control model on the same examples, in [-1, 1]: `auc` (DeLong's paired interval) and, for rows
        without a stratum, `tpr_at_1pct_fpr`, `tpr_at_5pct_fpr` (paired bootstrap).
    null_p : Estimate
        Family-wise p of max-T permutation; value only.
    null_band : (float, float) or None
        The central 95% of the AUCs under permuted membership.
    """

    spec: RowSpec
    n_members: int
    n_nonmembers: int
    auc: Estimate
    tpr_at_1pct_fpr: Estimate
    tpr_at_5pct_fpr: Estimate
    placebo_auc: Estimate
    difference: Mapping[str, Estimate] = field(default_factory=dict)
    null_p: Estimate = field(default_factory=lambda: Estimate.unresolved("no permutations were asked for"))
    null_band: tuple[float, float] | None = None

    @property
    def uncontrolled(self) -> bool:
        """Whether there is no figure of a control model: such a row cannot pass."""
        return not self.placebo_auc.resolved

    def to_json(self) -> dict[str, Any]:
        """The keys of the report; plain values."""
        return {
            **self.spec.to_json(), "n_members": self.n_members, "n_nonmembers": self.n_nonmembers,
            "auc": self.auc.to_json(), "tpr_at_1pct_fpr": self.tpr_at_1pct_fpr.to_json(),
            "tpr_at_5pct_fpr": self.tpr_at_5pct_fpr.to_json(), "placebo_auc": self.placebo_auc.to_json(),
            "uncontrolled": self.uncontrolled,
            "difference": {name: estimate.to_json() for name, estimate in self.difference.items()},
            "null_p": self.null_p.to_json(), "null_band": None if self.null_band is None else list(self.null_band),
        }


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRow:
    """The examples of a row and their scores.

    Attributes
    ----------
    scores : Scores
        Of all N examples.
    member : (N,) int8 array
        1, 0, or -1 where the example is neither a member nor a non-member of this row.
    rows : (m,) int array
        The examples judged, rising.
    pool : (p,) int array
        The examples that they were selected from, rising; `rows` themselves where nothing was selected.
    reason : str or None
        Why the row has no figure.
    """

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

    def part(self, inside: BoolArray, **stratum: Any) -> JudgedRow:
        """The row restricted to a stratum, where `inside` (m,) holds."""
        rows = self.rows[inside]
        return replace(self, spec=replace(self.spec, **stratum), rows=rows, pool=rows)

    def roc(self) -> dict[str, Any] | None:
        """ROC curves of target and control model, with what the row asks; None without members or non-members."""
        truth = self.truth
        if self.scores.target is None or not truth.any() or truth.all():
            return None
        spec, placebo = self.spec, self.scores.placebo
        return {
            "target": spec.target, "attack": spec.attack, "scale": spec.scale, "reference_kind": spec.reference_kind,
            "selection": spec.selection, "nonmembers": spec.nonmembers, "oracle": spec.oracle,
            "curve": thin_roc(self.scores.target[self.rows], truth),
            "placebo": None if placebo is None else thin_roc(placebo[self.rows], truth),
        }


def judged_rows(
    table: ScoreTable, sets: EvaluationSets, selector: Selector, scores: list[Scores], rich: Callable[[Scores], bool]
) -> list[JudgedRow]:
    """All rows of one target. Strata and the curve over n are made where `rich` says so."""
    made: list[JudgedRow] = []
    for one in scores:
        spec = spec_of(table, sets.target, one)
        if one.target is None:
            nobody, nothing = np.full(len(table.examples), -1, dtype=np.int8), np.zeros(0, dtype=np.int64)
            made.append(JudgedRow(spec, one, nobody, nothing, nothing, one.reason))
            continue
        papers = one.kind in (None, "paired") and sets.reference_train.size > 0
        kinds: tuple[NonMembers, ...] = ("clean", "reference_train") if papers else ("clean",)
        for which in kinds:
            member = membership_codes(sets, one, which)
            rows = np.flatnonzero(member >= 0)
            base = JudgedRow(replace(spec, nonmembers=which), one, member, rows, rows)
            made += _selections(base, selector)
            if rich(one):
                made += [*_curve(base, selector), *_strata(base, table, selector)]
    return made


def spec_of(table: ScoreTable, target: int, scores: Scores) -> RowSpec:
    """What a global row of these scores asks."""
    model = table.models[target]
    facts = model.facts
    return RowSpec(scores.attack, scores.scale, scores.kind, target=model.name,
                   target_structure=facts.get("structure"), direction=facts.get("direction"),
                   regime=facts.get("regime"), seed=model.seed)


def membership_codes(sets: EvaluationSets, scores: Scores, which: NonMembers) -> MemberArray:
    """(N,) 1 for members, 0 for the non-members meant, -1 for all others and where a score is missing."""
    assert scores.target is not None
    member = np.full(scores.target.size, -1, dtype=np.int8)
    member[sets.nonmembers(which, scores.kind)] = 0
    member[sets.members] = 1
    member[~np.isfinite(scores.target)] = -1
    if scores.placebo is not None:
        member[~np.isfinite(scores.placebo)] = -1
    return member


def thin_roc(scores: FloatArray, truth: BoolArray) -> dict[str, list[float]]:
    """`fpr` and `tpr`: the highest TPR at up to `ROC_POINTS` attainable FPRs, even in logs, from 0 to 1.

    Both classes must be there.
    """
    curve = RocCore.of(scores, truth).curve()
    n_neg = int((~truth).sum())
    wanted = np.unique(np.concatenate([[0], np.geomspace(1, n_neg, ROC_POINTS).round()])) / n_neg
    last = np.unique(np.append(np.searchsorted(curve.fpr, wanted + 1e-12, side="right") - 1, 0))
    return {"fpr": curve.fpr[last].tolist(), "tpr": curve.tpr[last].tolist()}


def _selections(base: JudgedRow, selector: Selector, **stratum: Any) -> list[JudgedRow]:
    """Global and both boundaries, of the examples of `base`."""
    whole = replace(base, spec=replace(base.spec, **stratum))
    return [whole, *(_boundary(whole, selector, selection, BOUNDARY_N) for selection in POOLS)]


def _boundary(base: JudgedRow, selector: Selector, selection: Selection, n: int) -> JudgedRow:
    spec = replace(base.spec, selection=selection, n=n)
    if selector.ranking is None:
        return replace(base, spec=spec, rows=np.zeros(0, dtype=np.int64), reason=NO_SELECTOR)
    return replace(base, spec=spec, pool=base.rows,
                   rows=selector.boundary(base.rows, base.member, n, POOLS[selection]))


def _curve(base: JudgedRow, selector: Selector) -> Iterator[JudgedRow]:
    """The curve over n, both pools; sizes that no label can fill are left to the last point, which has all."""
    if selector.ranking is None:
        return
    label = selector.label[base.rows]
    counts = np.stack([np.bincount(label[base.truth == inside], minlength=int(selector.label.max()) + 1)
                       for inside in (True, False)])
    for selection, pool in POOLS.items():
        most = int((counts.min(axis=0) if pool == "independent" else counts.sum(axis=0)).max())
        for size in curve_sizes():
            n = most if size is None else size
            # There may be no non-member: where all are the paper's, none is clean of its reference.
            if n == 0 or size == BOUNDARY_N or (size is not None and size >= most):
                continue
            yield _boundary(base, selector, selection, n)


def _strata(base: JudgedRow, table: ScoreTable, selector: Selector) -> Iterator[JudgedRow]:
    examples, rows = table.examples, base.rows
    for label in np.unique(examples.label[rows]):
        yield from _selections(base.part(examples.label[rows] == label), selector, label=int(label))
    if "structure" in examples.columns:
        given = examples.columns["structure"][rows]
        for name in sorted({value for value in given if value is not None}, key=str):
            yield from _selections(base.part(given == name), selector, structure=str(name))
    if examples.categories is not None:
        held = [examples.categories[row] for row in rows]
        for name in sorted(frozenset().union(*held)):
            yield base.part(np.fromiter((name in one for one in held), dtype=np.bool_, count=rows.size), category=name)
    for by, values in (("target", selector.target_p), ("selector", selector.selector_p)):
        if values is not None:
            tenth = deciles(values, base.member)[rows]
            for decile in np.unique(tenth[tenth >= 0]):
                yield base.part(tenth == decile, decile=int(decile), decile_by=by)
