"""What the defence frontier is measured on: examples and attacks that stay as they are while the outputs change.

Everything here is fixed before any noise is drawn: who is judged, the boundary set (by the selector's clean scores),
and what each attack learns from its references (their outputs are the attacker's own, so they are clean).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from discreet.audit.core.resampling import Units
from discreet.audit.membership.attack import Scale, Scores, View, attacks, target_view
from discreet.audit.membership.evaluation_sets import EvaluationSets, Selector
from discreet.audit.membership.rows import JudgedRow, RowSpec, judged_row
from discreet.audit.scores.table import ReferenceKind, ScoreTable
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.mechanisms.base import canonical

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
