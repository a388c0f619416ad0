"""What the defence frontier is measured on: rows and attacks that stay as they are while the outputs change.

Everything here is fixed before any noise is drawn: who is judged, the boundary set (by the selector's clean scores),
and what each attack subtracts for its references (their outputs are the attacker's own, so they are clean).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.evaluation_sets import NonMembers, Sides
from discreet.audit.membership.plan import NO_SELECTOR, Lens
from discreet.audit.membership.rows import Asked
from discreet.audit.membership.selection import everything
from discreet.audit.membership.view import References, Scale, View, attacks
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.mechanisms.base import canonical
from discreet.scores.signals import clipped_log_p, phi, true_log_p
from discreet.scores.table import MemberArray, ReferenceKind, ScoreTable

NO_PLACEBO = "the table has no placebo: score the examples with a model trained on neither side (model_role 'placebo')"
FIRST = slice(0, 1)
"""The query that is defended: the others of a table are other inputs to the interface."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """An attack whose score is a signal of the target's answer less something fixed per row.

    `base` (n,) is what the references say, 0 without any.
    """

    attack: str
    scale: Scale
    kind: ReferenceKind | None
    base: FloatArray

    def scores(self, log_p: FloatArray, label: IntArray) -> FloatArray:
        """(n,) scores of log probabilities (n, K): what the registered attack gives for that target."""
        return _signal(self.attack, self.scale, log_p[:, None, :], label) - self.base


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A row of the frontier: a line on a selection. `rows` (m,) index the bench, `member` (m,) says who is one."""

    asked: Asked
    line: int
    rows: IntArray
    member: BoolArray
    groups: IntArray | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """Clean logits (n, K) of one model, with the labels (n,) and normal forms of its inputs."""

    logits: FloatArray
    label: IntArray
    inputs: list[bytes]
    groups: IntArray | None


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """The judged rows with the target's and the placebo's logits, the rows that utility is measured on, the cases."""

    target: Outputs
    placebo: FloatArray | None
    utility: Outputs
    lines: tuple[Line, ...]
    cases: tuple[Case, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, table: ScoreTable, sides: Sides, n: int, per_side: int | None, rng: Generator) -> Bench:
        """`n` rows a label and side at the boundary; at most `per_side` members and non-members in all, drawn once."""
        view = _first_query_view(table, sides)
        lines, lens = list(_lines(view)), Lens.of(table, sides, rng)
        chosen = [case for place, line in enumerate(lines)
                  for case in _cases(table, sides, line, place, lens, n, per_side, rng)]
        used = np.unique(np.concatenate([case.rows for case in chosen])) if chosen else np.zeros(0, dtype=np.int64)
        cases = tuple(replace(case, rows=np.searchsorted(used, case.rows)) for case in chosen)
        placebo = None if sides.placebo is None else table.logits[sides.placebo, used, 0]
        useful, note = _utility_rows(table, sides)
        if per_side is not None and useful.size > 2 * per_side:
            useful = np.sort(rng.permutation(useful)[: 2 * per_side])
        return cls(
            _outputs(table, sides.target, used), placebo, _outputs(table, sides.target, useful),
            tuple(replace(line, base=line.base[used]) for line in lines), cases, (note, *sides.notes),
        )


def primary(cases: tuple[Case, ...]) -> Asked:
    """The row that is shown first: the verdict's endpoint, global, reference on the logit scale, else loss."""
    whole = [case.asked for case in cases if case.asked.selection == "global" and case.asked.nonmembers == "clean"]
    honest = [asked for asked in whole if asked.attack == "reference" and asked.scale == "logit"]
    return (honest or whole)[0]


def _signal(attack: str, scale: Scale, log_p: FloatArray, label: IntArray) -> FloatArray:
    if scale == "logit":
        return phi(log_p, label)[:, 0]
    return (true_log_p if attack == "loss" else clipped_log_p)(log_p, label)[:, 0]


def _first_query_view(table: ScoreTable, sides: Sides) -> View:
    references = {kind: References(table.log_p[list(models)][:, :, FIRST], table.member[list(models)])
                  for kind, models in sides.references.items()}
    return View(table.log_p[sides.target][:, FIRST], table.examples.label, references, sides.population, sides.judged)


def _lines(view: View) -> Iterator[Line]:
    """Loss; the reference ratio on both scales, honest (population only where nothing is neutral) and paired."""
    yield Line("loss", "p", None, np.zeros(view.label.size))
    honest: ReferenceKind = "neutral" if "neutral" in view.references else "population"
    kinds: tuple[ReferenceKind, ...] = (honest, "paired")
    scales: tuple[Scale, ...] = ("logit", "p")
    reference = attacks["reference"]
    for kind in kinds:
        for scale in scales:
            if reference.needs(view, kind) is None:
                scores = reference.scores(view, scale, kind, np.random.default_rng(0))
                yield Line("reference", scale, kind, _signal("reference", scale, view.target, view.label) - scores)


def _cases(
    table: ScoreTable, sides: Sides, line: Line, place: int, lens: Lens, n: int, per_side: int | None, rng: Generator,
) -> Iterator[Case]:
    """Global, then boundary (of sides of one size, as in an audit); the paper's non-members for a paired reference."""
    which: NonMembers = "reference_train" if line.kind == "paired" and sides.reference_train.size else "clean"
    member: MemberArray = np.full(len(table.examples), -1, dtype=np.int8)
    member[sides.nonmembers(which, line.kind)] = 0
    member[sides.members] = 1
    member[~np.isfinite(line.base)] = -1
    facts = table.models[sides.target].facts
    asked = Asked(line.attack, line.scale, line.kind, nonmembers=which, target=table.models[sides.target].name,
                  direction=facts.get("direction"), regime=facts.get("regime"), seed=table.models[sides.target].seed)
    yield _case(table, asked, place, _limited(member, per_side, rng), member)
    asked = replace(asked, selection="boundary", n=n)
    if lens.ranking is None:
        yield _case(table, asked, place, np.zeros(0, dtype=np.int64), member, NO_SELECTOR)
    else:
        even, kept = lens.even(everything(member), member), np.full(member.size, -1, dtype=np.int8)
        kept[even] = member[even]
        yield _case(table, asked, place, lens.ranking.boundary(kept, n), member)


def _case(
    table: ScoreTable, asked: Asked, place: int, rows: IntArray, member: MemberArray, reason: str | None = None
) -> Case:
    group = table.examples.group
    return Case(asked, place, rows, member[rows] == 1, None if group is None else group[rows], reason)


def _limited(member: MemberArray, per_side: int | None, rng: Generator) -> IntArray:
    sides = [np.flatnonzero(member == code) for code in (1, 0)]
    if per_side is not None:
        sides = [rows if rows.size <= per_side else rng.permutation(rows)[:per_side] for rows in sides]
    return np.sort(np.concatenate(sides))


def _outputs(table: ScoreTable, model: int, rows: IntArray) -> Outputs:
    group = table.examples.group
    return Outputs(table.logits[model, rows, 0], table.examples.label[rows],
                   canonical(str(name) for name in table.examples.id[rows]), None if group is None else group[rows])


def _utility_rows(table: ScoreTable, sides: Sides) -> tuple[IntArray, str]:
    """Rows of split "eval" that the target did not train on, else all clean non-members."""
    clean, split = sides.clean[None], table.examples.split
    if split is not None and (held_out := clean[split[clean] == "eval"]).size:
        return held_out, "Accuracy and missed positives are those on the split 'eval'."
    return clean, "Accuracy and missed positives are those on the non-members: no such row is of a split 'eval'."
