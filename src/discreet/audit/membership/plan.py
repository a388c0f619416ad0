"""Which rows a report has: attack by non-members by selection by stratum, each with the examples that it judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.attacker_view import selector_p, true_class_p
from discreet.audit.membership.evaluation_sets import NonMembers, Sides
from discreet.audit.membership.rows import Asked, Selection
from discreet.audit.membership.scored import Scored
from discreet.audit.membership.selection import BOUNDARY_N, Pool, Ranking, cells, curve_sizes, deciles, everything
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.table import MemberArray, ScoreTable

NO_SELECTOR = ("the table has no scores of a selection model that says it was not trained on the examples, and the "
               "target may not select for itself: score them with a model trained on other data (model_role "
               "'selection', 'member' false)")

POOLS: Mapping[Selection, Pool] = {"boundary": "independent", "boundary_union": "union"}


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A row to be computed.

    Attributes
    ----------
    scored : Scored
        The scores of all N examples.
    member : (N,) int8 array
        1, 0, or -1 outside the row's two sides.
    rows : (m,) int array
        The examples judged, rising.
    pool : (p,) int array
        The examples that they were selected from, rising; `rows` themselves where nothing was selected.
    reason : str or None
        Why the row has no figure.
    """

    asked: Asked
    scored: Scored
    member: MemberArray
    rows: IntArray
    pool: IntArray
    reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Lens:
    """What the selections of one target need, made once.

    Attributes
    ----------
    selector_p, target_p : (N,) float array
        Probability of the true class by the selector (None without one, NaN where it may have been trained on the
        example) and by the target.
    ranking : Ranking or None
        By `selector_p`.
    lot : (N,) int array
        A random order of the examples, by which a larger side is thinned.
    """

    selector_p: FloatArray | None
    target_p: FloatArray
    ranking: Ranking | None
    label: IntArray
    lot: IntArray

    @classmethod
    def of(cls, table: ScoreTable, sides: Sides, rng: Generator) -> Lens:
        """Of one target."""
        selector, target = selector_p(table, sides), true_class_p(table, (sides.target,))
        assert target is not None
        label = table.examples.label
        ranking = None if selector is None else Ranking.of(selector, label)
        return cls(selector, target, ranking, label, rng.permutation(label.size))

    def even(self, rows: IntArray, member: MemberArray) -> IntArray:
        """`rows` with the larger side of each label thinned at random to the size of the other.

        The n least likely of 800 lie further out than the n least likely of 400: between pools of unequal size a
        boundary of members and non-members apart differs from ½ without any leak.
        """
        assert self.selector_p is not None
        rows, kept = rows[~np.isnan(self.selector_p[rows])], []
        for one in np.unique(self.label[rows]):
            sides = [rows[(self.label[rows] == one) & (member[rows] == side)] for side in (1, 0)]
            size = min(side.size for side in sides)
            kept += [side[np.argsort(self.lot[side])[:size]] for side in sides]
        return np.sort(np.concatenate(kept)) if kept else rows


def plan_rows(
    table: ScoreTable, sides: Sides, lens: Lens, scored: list[Scored], rich: Callable[[Scored], bool]
) -> list[Plan]:
    """All rows of one target. Strata and the curve over n are made where `rich` says so."""
    facts = table.models[sides.target].facts
    plans: list[Plan] = []
    for one in scored:
        asked = Asked(
            one.attack, one.scale, one.kind, target=table.models[sides.target].name,
            target_structure=facts.get("structure"), direction=facts.get("direction"), regime=facts.get("regime"),
            seed=table.models[sides.target].seed,
        )
        if one.target is None:
            nobody, nothing = np.full(len(table.examples), -1, dtype=np.int8), np.zeros(0, dtype=np.int64)
            plans.append(Plan(asked, one, nobody, nothing, nothing, one.reason))
            continue
        for which in _nonmember_kinds(one, sides):
            member = codes(sides, one, which)
            rows = everything(member)
            base = Plan(replace(asked, nonmembers=which), one, member, rows, rows)
            plans += _selections(base, lens)
            if rich(one):
                plans += [*_curve(base, table, lens), *_strata(base, table, lens)]
    return plans


def codes(sides: Sides, scored: Scored, which: NonMembers) -> MemberArray:
    """(N,) 1 for members, 0 for the non-members meant, -1 for all others and where a score is missing."""
    assert scored.target is not None
    member = np.full(scored.target.size, -1, dtype=np.int8)
    member[sides.nonmembers(which, scored.kind)] = 0
    member[sides.members] = 1
    member[~np.isfinite(scored.target)] = -1
    if scored.placebo is not None:
        member[~np.isfinite(scored.placebo)] = -1
    return member


def _nonmember_kinds(scored: Scored, sides: Sides) -> tuple[NonMembers, ...]:
    papers = scored.kind in (None, "paired") and sides.reference_train.size > 0
    return ("clean", "reference_train") if papers else ("clean",)


def _selections(base: Plan, lens: Lens, **stratum: Any) -> list[Plan]:
    """Global and both boundaries, of the rows of `base`."""
    asked = replace(base.asked, **stratum)
    made = [replace(base, asked=asked)]
    for selection in POOLS:
        made.append(_boundary(base, lens, replace(asked, selection=selection, n=BOUNDARY_N)))
    return made


def _boundary(base: Plan, lens: Lens, asked: Asked) -> Plan:
    if lens.ranking is None:
        return replace(base, asked=asked, rows=np.zeros(0, dtype=np.int64), reason=NO_SELECTOR)
    even = lens.even(base.rows, base.member) if asked.selection == "boundary" else base.rows
    kept = np.full(base.member.size, -1, dtype=np.int8)
    kept[even] = base.member[even]
    rows = lens.ranking.boundary(kept, asked.n, POOLS[asked.selection])
    return replace(base, asked=asked, rows=rows, pool=base.rows)


def _curve(base: Plan, table: ScoreTable, lens: Lens) -> Iterator[Plan]:
    """The curve over n, both pools; sizes that no label can fill are left to the last point, which has all."""
    if lens.ranking is None:
        return
    for selection, pool in POOLS.items():
        most = max(
            min(cell.n_members, cell.n_nonmembers) if pool == "independent" else cell.n_members + cell.n_nonmembers
            for cell in cells(base.rows, table.examples.label, base.member)
        )
        for size in curve_sizes():
            n = most if size is None else size
            # A side may have nobody: where all non-members are the paper's, none is clean of its reference.
            if n == 0 or size == BOUNDARY_N or (size is not None and size >= most):
                continue
            yield _boundary(base, lens, replace(base.asked, selection=selection, n=n))


def _strata(base: Plan, table: ScoreTable, lens: Lens) -> Iterator[Plan]:
    examples, rows = table.examples, base.rows
    for label in np.unique(examples.label[rows]):
        part = _part(base, examples.label[rows] == label)
        yield from _selections(part, lens, label=int(label))
    if "structure" in examples.columns:
        given = examples.columns["structure"][rows]
        for name in sorted({value for value in given if value is not None}, key=str):
            part = _part(base, given == name)
            yield from _selections(part, lens, structure=str(name))
    if examples.categories is not None:
        held = [examples.categories[row] for row in rows]
        for name in sorted(frozenset().union(*held)):
            inside = np.fromiter((name in of_row for of_row in held), dtype=np.bool_, count=rows.size)
            yield _part(base, inside, category=name)
    for by, values in (("target", lens.target_p), ("selector", lens.selector_p)):
        if values is None:
            continue
        tenth = deciles(values, base.member)[rows]
        for decile in np.unique(tenth[tenth >= 0]):
            yield _part(base, tenth == decile, decile=int(decile), decile_by=by)


def _part(base: Plan, inside: BoolArray, **stratum: Any) -> Plan:
    rows = base.rows[inside]
    return replace(base, asked=replace(base.asked, **stratum), rows=rows, pool=rows)
