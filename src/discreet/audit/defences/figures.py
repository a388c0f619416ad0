"""The figures of a defence frontier: what is judged, means over noise draws with their intervals, and their JSON.

Examples and attacks stay as they are while the outputs change. Everything about them is fixed before any noise is
drawn: who is judged, the boundary set (by the selector's clean scores), and what each attack learns from its references
(their outputs are the attacker's own, so they are clean).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Part
from discreet.audit.membership.attack import Scale, Scores, View, attack_facts, attacks, target_view
from discreet.audit.membership.evaluation_sets import EvaluationSets, Selector
from discreet.audit.membership.rows import NO_CONTROL, JudgedRow, RowSpec, judged_row
from discreet.audit.scores.table import ReferenceKind, ScoreTable
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import RocCore, auroc_estimate, percentile_interval, tpr_at_fpr_estimate
from discreet.stats.mechanisms.base import canonical
from discreet.stats.roc import most_count

ALIKE = 0.9
"""Two attacks are one where one's scores never fall as the other's rise, and take so many of its distinct values."""


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """Clean logits (n, K) of one model, with the labels (n,) and normal forms of its inputs."""

    logits: FloatArray
    label: IntArray
    inputs: list[bytes]
    groups: IntArray | None

    @classmethod
    def of(cls, table: ScoreTable, model: int, rows: IntArray) -> Outputs:
        """The answers to the first query of `rows`."""
        return cls(table.logits[model, rows, 0], table.examples.label[rows],
                   canonical(str(name) for name in table.examples.id[rows]), Units.of(table).at(rows))


class AttackRun(NamedTuple):
    """An attack in one scale with one kind of references."""

    attack: str
    scale: Scale
    kind: ReferenceKind | None

    def scores(self, view: View) -> FloatArray:
        """(N,) scores of a view; equal draws for all."""
        return attacks[self.attack].scores(view, self.scale, self.kind, np.random.default_rng(0))


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A row of the frontier: a run on a selection. `rows` (m,) index the bench, `member` (m,) says who is one."""

    spec: RowSpec
    run: int
    rows: IntArray
    member: BoolArray
    groups: IntArray | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """What every point of a frontier shares: the target's answers to the n judged examples and to the z of an
    attacker's population, the control model's logits (n + z, K) of both, what accuracy is measured on, and the view of
    the judged examples, then of those that attacks look at besides."""

    judged: Outputs
    population: Outputs
    control: FloatArray | None
    utility: Outputs
    view: View
    runs: tuple[AttackRun, ...]
    cases: tuple[Case, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, table: ScoreTable, sets: EvaluationSets, names: Sequence[str], n: int, per_set: int | None,
           rng: Generator) -> Bench:
        """`n` members and non-members per label at the boundary; at most `per_set` of either in all, drawn once."""
        most = len(table.examples) if per_set is None else per_set
        # The first query alone is defended: the others of a table are other inputs to the interface.
        whole = _view(target_view(table, sets), slice(None))
        runs, selector = list(_runs(names, whole)), Selector.of(table, sets, rng)
        units, chosen = Units.of(table), list[Case]()
        for place, (run, scores) in enumerate(runs):
            chosen += [Case(row.spec, place, row.rows, row.truth, units.at(row.rows), row.reason)
                       for row in _rows(table, sets, run, scores, selector, n, most, rng)]
        used = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(case.rows for case in chosen)]))
        others = np.setdiff1d(np.arange(len(table.examples)), whole.judged)
        if not any(attacks[name].reads_others for name in names):
            others = others[:0]
        population = np.intersect1d(others, whole.population)
        # Utility: rows of split "eval" that the target did not train on, else all clean non-members.
        useful, split = sets.clean[None], table.examples.split
        where = "the non-members: no such row is of a split 'eval'."
        if split is not None and (split[useful] == "eval").any():
            useful, where = useful[split[useful] == "eval"], "the split 'eval'."
        rows = np.concatenate([used, population, np.setdiff1d(others, population)])
        view = replace(_view(whole, rows), population=np.arange(population.size) + used.size,
                       judged=np.arange(used.size))
        return cls(
            Outputs.of(table, sets.target, used), Outputs.of(table, sets.target, population),
            None if sets.control is None else table.logits[sets.control, np.append(used, population), 0],
            Outputs.of(table, sets.target, Units(None).some(useful, 2 * most, rng)), view,
            tuple(run for run, _ in runs),
            tuple(replace(case, rows=np.searchsorted(used, case.rows)) for case in chosen),
            (f"Accuracy and missed positives are those on {where}", *sets.notes))

    def scores(self, log_p: FloatArray) -> list[FloatArray]:
        """(n,) scores by each run, of the answers (n + z, K) to the judged examples and the population."""
        answers = np.full((self.view.label.size, 1, log_p.shape[1]), np.nan)
        answers[: len(log_p), 0] = log_p
        view = self.view.answered_by(answers)
        return [run.scores(view)[: self.view.judged.size] for run in self.runs]

    @property
    def primary(self) -> RowSpec:
        """The row that is shown first: the verdict's endpoint, global, reference on the logit scale, else the first."""
        whole = [case.spec for case in self.cases
                 if case.spec.selection == "global" and case.spec.nonmembers == "clean"]
        honest = [spec for spec in whole if spec.attack == "reference" and spec.scale == "logit"]
        return (honest or whole)[0]


def _view(view: View, rows: IntArray | slice) -> View:
    """The first query of these rows, in this order."""
    references = {kind: replace(one, log_p=one.log_p[:, rows, :1], member=one.member[:, rows])
                  for kind, one in view.references.items()}
    # Copies and checkpoints are not asked through the interface that is defended.
    return replace(view, target=view.target[rows, :1], label=view.label[rows], references=references, steadiness=None,
                   checkpoints=None)


def _runs(names: Sequence[str], view: View) -> Iterator[tuple[AttackRun, FloatArray]]:
    """Every attack that can run, with its clean scores; of runs that rank alike the first.

    Honest references are neutral ones, else population; with references the logit scale, the verdict's, comes first."""
    seen: list[FloatArray] = []
    for name in names:
        able = attacks[name].able(view)
        honest: ReferenceKind = "neutral" if "neutral" in able else "population"
        kinds: tuple[ReferenceKind | None, ...] = (None, honest, "paired")
        for kind in (one for one in kinds if one in able):
            for scale in attacks[name].scales[:: 1 if kind is None else -1]:
                run = AttackRun(name, scale, kind)
                scores = run.scores(view)
                if not any(_rank_alike(scores[view.judged], one[view.judged]) for one in seen):
                    seen.append(scores)
                    yield run, scores


def _rank_alike(one: FloatArray, other: FloatArray) -> bool:
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return False
    one, other = one[np.isfinite(one)], other[np.isfinite(other)]
    sizes = np.unique(one).size, np.unique(other).size
    return min(sizes) >= ALIKE * max(sizes) and any(
        bool((np.diff(a[np.argsort(b, kind="stable")]) >= -1e-12).all()) for a, b in ((one, other), (other, one)))


def _rows(table: ScoreTable, sets: EvaluationSets, run: AttackRun, scores: FloatArray, selector: Selector, n: int,
          most: int, rng: Generator) -> Iterator[JudgedRow]:
    """Global, then boundary; the paper's non-members for a paired reference."""
    papers = run.kind == "paired" and sets.reference_train.size > 0
    row = judged_row(table, sets, Scores(*run, scores), "reference_train" if papers else "clean")
    row = replace(row, spec=replace(row.spec, structure=None))
    both = [Units(None).some(np.flatnonzero(row.member == code), most, rng) for code in (1, 0)]
    yield replace(row, rows=np.sort(np.concatenate(both)))
    yield row.boundary(selector, "boundary", n)


Queried = Literal["same", "near-duplicates"]

FPR = 0.05
SHOWN = 3
"""Draws whose intervals are computed and averaged."""

ASKED = ("attack", "scale", "reference_kind", "selection")
"""What tells the attack rows of a frontier apart."""


@dataclass(frozen=True, slots=True)
class Spread(Part):
    """How a figure moved between noise draws: standard deviation, and the central 95% of the draws."""

    draws: int
    sd: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figure(Part):
    """One attack on the outputs of a mechanism, mean over the draws.

    An interval is as wide as that of one draw (averaged over the first few), around the mean: it is about the examples
    and holds a fortiori for the mean. A spread is about the draws, None where nothing is drawn.
    """

    hidden: ClassVar[tuple[str, ...]] = ("spec",)

    spec: RowSpec
    n_members: int
    n_nonmembers: int
    auc: Estimate
    tpr_at_5pct_fpr: Estimate
    control_auc: Estimate
    auc_spread: Spread | None = None
    tpr_spread: Spread | None = None
    control_spread: Spread | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in the rows of an audit."""
        asked = self.spec.to_json()
        return {**{name: asked[name] for name in (*ASKED, "n", "nonmembers", "oracle")}, **Part.to_json(self)}


@dataclass(frozen=True, slots=True)
class Point(Part):
    """A mechanism at one strength, met with a number of queries: answers that the attacker averages, to the same input
    or to it and near-duplicates of it.

    Local ε is exact, of one answer and of all, about the queried inputs only; None where it is not finite. `utility`
    has `accuracy` and `missed_positives` of single answers, which is what a user gets.
    """

    mechanism: str
    knob: str | None
    strength: float | None
    noise: str
    queries: int
    queried: Queried
    local_epsilon: float | None
    local_epsilon_of_all_queries: float | None
    utility: Mapping[str, Estimate]
    attacks: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Frontier(Part):
    """All points, the undefended one first; `primary` is the attack row that is shown first."""

    target: str
    control: str | None
    positive: int
    draws: int
    jitter: float
    clip: float | None
    primary: RowSpec
    points: tuple[Point, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**Part.to_json(self), "primary": {name: getattr(self.primary, name) for name in ASKED},
                "attack_facts": attack_facts([self.primary.attack])}


def auc_and_tpr(scores: FloatArray, member: BoolArray, fpr: float) -> tuple[FloatArray, FloatArray]:
    """AUC and TPR at `fpr` of each row of `scores` (draws, m) for one `member` (m,), as in `RocCore`; both (draws,).

    The class goes into the last bit of each score, read as a whole number of the same order, so that one sort of
    plain numbers does. A row where members and non-members tie is left to `RocCore`. Both classes must be there.
    """
    bits = (np.ascontiguousarray(scores, dtype=np.float64) + 0.0).view(np.int64)
    rising = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    keys = np.sort((rising & ~np.int64(1)) | member, axis=1)
    inside = keys & 1
    below = np.cumsum(1 - inside, axis=1)
    n_in, n_out = int(member.sum()), int((~member).sum())
    auc = np.einsum("dm,dm->d", below, inside) / (n_in * n_out)
    allowed = int(most_count(fpr, np.array([n_out]))[0])
    tpr = ((below >= n_out - allowed) & (inside == 1)).sum(axis=1) / n_in
    tied = ((keys[:, 1:] ^ keys[:, :-1]) == 1).any(axis=1)
    for row in np.flatnonzero(tied):
        counts = RocCore.of(scores[row], member).counts
        auc[row], tpr[row] = counts.auroc()[0], counts.tpr_at_fpr(fpr)[0]
    return auc, tpr


def figure_of(case: Case, target: Sequence[FloatArray], control: Sequence[FloatArray]) -> Figure:
    """The figure of one case from its scores (m,) in each draw, of the target and of its control model."""
    n_members = int(case.member.sum())
    (auc, spread), (tpr, tpr_spread) = _over_scores(case, target, "nothing was drawn")
    (control_auc, control_spread), _ = _over_scores(case, control, NO_CONTROL)
    return Figure(case.spec, n_members, case.member.size - n_members, auc, tpr, control_auc, spread, tpr_spread,
                  control_spread)


def _over_scores(case: Case, draws: Sequence[FloatArray],
                 missing: str) -> tuple[tuple[Estimate, Spread | None], tuple[Estimate, Spread | None]]:
    """AUC and TPR at 5% FPR; unresolved for the case's own reason, or as `missing` says where nothing was drawn."""
    if case.reason is not None or not draws:
        nothing = Estimate.unresolved(case.reason or missing)
        return (nothing, None), (nothing, None)
    facts: dict[str, Any] = {"groups": case.groups, "unit": "example" if case.groups is None else "group"}
    aucs = [auroc_estimate(scores, case.member, **facts) for scores in draws[:SHOWN]]
    tprs = [tpr_at_fpr_estimate(scores, case.member, FPR, **facts) for scores in draws[:SHOWN]]
    if not aucs[0].resolved:
        return (aucs[0], None), (tprs[0], None)
    auc, tpr = auc_and_tpr(np.stack(draws), case.member, FPR)
    return over_draws(auc, aucs), over_draws(tpr, tprs)


def over_draws(values: ArrayLike, shown: Sequence[Estimate],
               reason: str = "nothing was drawn") -> tuple[Estimate, Spread | None]:
    """Mean of `values` (draws,) in [0, 1], with the mean distances of the ends of the first few; and their spread.
    Unresolved where one of these is, or, with `reason`, where there are none."""
    if not shown:
        return Estimate.unresolved(reason), None
    if missing := next((one for one in shown if not one.resolved), None):
        return missing, None
    draws = np.asarray(values, dtype=np.float64)
    if draws.size == 1:
        return shown[0], None
    mean, sd = float(draws.mean()), float(draws.std(ddof=1))
    # Around the mean of all draws: the first few lie elsewhere by their noise.
    below = np.mean([one.value - one.low for one in shown if one.value is not None and one.low is not None])
    above = np.mean([one.high - one.value for one in shown if one.value is not None and one.high is not None])
    low, high = max(0.0, mean - float(below)), min(1.0, mean + float(above))
    method = f"{shown[0].method}; mean of {draws.size} noise draws, interval as wide as of one"
    return replace(shown[0], value=mean, low=low, high=high, method=method), Spread(
        draws.size, sd, *percentile_interval(draws))
