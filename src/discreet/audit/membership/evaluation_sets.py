"""The evaluation sets of a target: members, non-members that no model trained on, and the population set aside.

A control model (placebo) or a neutral reference controls something only where the table says that it was *not* trained
on an example: a null says nothing. So a model whose `member` is null for all members, or for all non-members, is not
used; where it is null in part, the examples without a statement are not judged. A selector likewise selects only among
examples of which the table says that it was not trained on them. A paired reference without any statement is taken for
the paper's: trained on the non-members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from discreet.core.errors import InputError
from discreet.core.types import BoolArray, IntArray
from discreet.scores.table import IN, OUT, UNKNOWN, ReferenceKind, ScoreTable

NonMembers = Literal["clean", "reference_train"]
"""Non-members that no reference of the row trained on (the verdict's), or that the paired reference trained on."""

POPULATION_SHARE = 0.1
POPULATION_MOST = 10_000
"""How much of the non-members is set aside as a population where the table names none and has population references."""

UNBALANCED = 0.05
"""Difference of the share of population references trained on members and on non-members, from which it counts."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationSets:
    """What one target is judged on, as rows of the table.

    Attributes
    ----------
    target : int
        Row of the model that is audited.
    placebo : int or None
        Row of its control model, stated to be trained on neither set.
    references : mapping of ReferenceKind to tuple of int
        The references that are of that kind *for this target*; neutral ones are stated to be.
    members : (m,) int array
        What the target trained on, planted records apart. Here as among all others that are judged, only examples
        of which the placebo and every neutral reference say that they were not trained on them.
    selectors : tuple of int
        The selection models that say of some members and of some non-members that they were not trained on them.
    clean : mapping of ReferenceKind or None to int array
        Non-members that neither target, placebo, selector nor any reference of the kind trained on; a paired one
        must say so. Population references train on halves of both sets, so they leave no example out.
    reference_train : int array
        Non-members that a paired reference trained on: the paper's. All of them where it does not say.
    population : int array
        Known non-members that are never judged.
    planted : int array
        Members that were repeated on purpose.
    planted_out : int array
        Non-members that might have been planted and were not.
    notes : tuple of str
        What was left out and why, a sentence each.
    """

    target: int
    placebo: int | None
    references: Mapping[ReferenceKind, tuple[int, ...]]
    selectors: tuple[int, ...]
    members: IntArray
    clean: Mapping[ReferenceKind | None, IntArray]
    reference_train: IntArray
    population: IntArray
    planted: IntArray
    planted_out: IntArray
    notes: tuple[str, ...]

    @property
    def judged(self) -> IntArray:
        """Every row that some row of the report judges, rising."""
        parts = [self.members, self.reference_train, self.planted, self.planted_out, *self.clean.values()]
        return np.unique(np.concatenate(parts))

    def nonmembers(self, which: NonMembers, kind: ReferenceKind | None) -> IntArray:
        """Rows of the non-members for a row of the report."""
        return self.reference_train if which == "reference_train" else self.clean[kind]


def evaluation_sets(table: ScoreTable, target: int, rng: Generator) -> EvaluationSets:
    """The evaluation sets of one target. `rng` draws the population, where one is set aside.

    Raises
    ------
    InputError
        Where the table does not say what the target trained on, or the placebo trained on a member of the target.
    """
    name, member, planted = table.models[target].name, table.member[target], table.examples.planted > 0
    if not (member == IN).any():
        raise InputError(f"no example of target {name!r} is marked as a member: expected `member` true for what it "
                         f"was trained on; add the column and run again")
    if not (member == OUT).any():
        raise InputError(f"no example of target {name!r} is marked as a non-member: expected `member` false for what "
                         f"it was not trained on; score such examples and run again")
    stated = _Stated(table, target)
    placebo = _placebo(table, target, stated)
    references, notes = _references(table, target, stated)
    selectors, unsaid = _selectors(table, target)
    aside = _trained_by(table, (*table.of_role("selection"), *(() if placebo is None else (placebo,)))) | ~stated.rows
    open_to_all = (member == OUT) & ~planted & ~aside
    marked = np.zeros_like(open_to_all) if table.examples.split is None else np.asarray(
        (table.examples.split == "population") & (member == OUT), dtype=np.bool_)
    paired = references.get("paired", ())
    papers, taken = _papers(table, paired, open_to_all)
    notes = [*stated.notes, *notes, *unsaid, *taken]
    honest = open_to_all & ~_trained_by(table, (*paired, *references.get("neutral", ())))
    population = marked
    if not marked.any() and "population" in references:
        population = _set_aside(table, honest, rng)
    clean: dict[ReferenceKind | None, IntArray] = {None: np.flatnonzero(open_to_all & ~population)}
    for kind, models in references.items():
        # A paired reference is trained on non-members: of which, it has to say.
        untouched = (table.member[list(models)] == OUT).all(axis=0) if kind == "paired" else ~_trained_by(
            table, models if kind == "neutral" else ())
        clean[kind] = np.flatnonzero(open_to_all & ~population & untouched)
    in_paired = papers & (member == OUT) & ~planted & ~population & stated.rows
    inside = (member == IN) & stated.rows
    notes += _balance_note(table, references, np.flatnonzero(inside & ~planted), clean)
    return EvaluationSets(
        target, placebo, references, selectors, np.flatnonzero(inside & ~planted), clean, np.flatnonzero(in_paired),
        np.flatnonzero(population), np.flatnonzero(inside & planted),
        np.flatnonzero((member == OUT) & planted & ~aside), tuple(notes),
    )


class _Stated:
    """The examples of which every model that was admitted says whether it was trained on them.

    Attributes
    ----------
    rows : (N,) bool array
    notes : list of str
        Which models control nothing, and how many examples are lost to those that do.
    """

    def __init__(self, table: ScoreTable, target: int) -> None:
        self.table, self.set = table, np.where(table.examples.planted > 0, UNKNOWN, table.member[target])
        self.rows, self.notes = np.ones(len(table.examples), dtype=np.bool_), list[str]()

    def admits(self, row: int, called: str) -> bool:
        """Whether model `row` says so for members and non-members that are left; if so, only these are left."""
        said = self.table.member[row] != UNKNOWN
        left, name = self.rows & said, f"{called} {self.table.models[row].name}"
        if not all((left & (self.set == one)).any() for one in (IN, OUT)):
            how = "stated for members only, or for non-members only," if said.any() else "not stated"
            self.notes.append(f"Membership of {name} is {how}, so it controls nothing: fill 'member' in.")
            return False
        if not said.all():
            self.notes.append(f"Membership of {name} is not stated for {int((~said).sum()):,} of {said.size:,} "
                              f"examples, so these are not judged: fill 'member' in.")
        self.rows = left
        return True


def _placebo(table: ScoreTable, target: int, stated: _Stated) -> int | None:
    """The control model that is most like the target, of those that say what they were trained on.

    Refused if it trained on one of the target's members.
    """
    facts = table.models[target].stated
    alike = {row: sum(facts.get(key) == value for key, value in table.models[row].stated.items())
             for row in table.of_role("placebo")}
    for placebo in sorted(alike, key=lambda row: -alike[row]):
        if shared := int(((table.member[placebo] == IN) & (table.member[target] == IN)).sum()):
            raise InputError(f"placebo {table.models[placebo].name!r} was trained on {shared} members of target "
                             f"{table.models[target].name!r}: expected a model trained on neither set; give another "
                             f"one")
        if stated.admits(placebo, "placebo"):
            return placebo
    return None


def _references(
    table: ScoreTable, target: int, stated: _Stated
) -> tuple[dict[ReferenceKind, tuple[int, ...]], list[str]]:
    found: dict[ReferenceKind, tuple[int, ...]] = {}
    notes: list[str] = []
    kinds: tuple[ReferenceKind, ...] = ("paired", "neutral", "population")
    for kind in kinds:
        kept = []
        for row in table.references(kind):
            if kind != "population" and _overlap(table, row, target):
                notes.append(f"Reference {table.models[row].name} was trained on members of "
                             f"{table.models[target].name}, so it is not used as a {kind} reference against it.")
            elif kind != "neutral" or stated.admits(row, "neutral reference"):
                kept.append(row)
        if kept:
            found[kind] = tuple(kept)
    if "paired" not in found:
        # The paper's symmetric procedure: each of two targets is the other's reference.
        others = tuple(row for row in table.of_role("target") if row != target and not _overlap(table, row, target)
                       and (table.member[row] == IN).any())
        if others:
            found["paired"] = others
    return found, notes


def _selectors(table: ScoreTable, target: int) -> tuple[tuple[int, ...], list[str]]:
    """The selection models that may select for a target, and what is said of those that may not, or not everywhere."""
    kept, notes = [], []
    of_target = np.where(table.examples.planted > 0, UNKNOWN, table.member[target])
    for row in table.of_role("selection"):
        said, called = table.member[row], f"selector {table.models[row].name}"
        unsaid, inside = int((said == UNKNOWN).sum()), int(((said == IN) & (of_target == IN)).sum())
        if not all(((said == OUT) & (of_target == one)).any() for one in (IN, OUT)):
            notes.append(f"Nothing shows that {called} was not trained on the very records it ranks, so it selects "
                         "none: fill 'member' in.")
            continue
        if unsaid:
            notes.append(f"Membership of {called} is not stated for {unsaid:,} of {said.size:,} examples, so it does "
                         "not select among these: fill 'member' in.")
        if inside:
            notes.append(f"The {called} was trained on {inside:,} members of {table.models[target].name}, so it does "
                         "not select among these.")
        kept.append(row)
    return tuple(kept), notes


def _papers(table: ScoreTable, paired: tuple[int, ...], others: BoolArray) -> tuple[BoolArray, list[str]]:
    """(N,) what the paired references were trained on, as far as they say, and what is taken for granted."""
    found, notes = _trained_by(table, paired), []
    for row in paired:
        said = table.member[row][others]
        called, unsaid = f"paired reference {table.models[row].name}", int((said == UNKNOWN).sum())
        if unsaid and not (said == IN).any():
            found |= (table.member[row] == UNKNOWN) & others
            notes.append(f"Membership of {called} is not stated: it is taken to have been trained on the non-members, "
                         "as the paper's is. Its figures are an oracle's and decide nothing.")
        elif unsaid:
            notes.append(f"Membership of {called} is not stated for {unsaid:,} non-members, so these are not held "
                         "against it: fill 'member' in.")
    return found, notes


def _overlap(table: ScoreTable, row: int, target: int) -> bool:
    return bool(((table.member[row] == IN) & (table.member[target] == IN)).any())


def _trained_by(table: ScoreTable, models: tuple[int, ...]) -> BoolArray:
    if not models:
        return np.zeros(len(table.examples), dtype=np.bool_)
    return np.asarray((table.member[list(models)] == IN).any(axis=0))


def _set_aside(table: ScoreTable, nonmember: BoolArray, rng: Generator) -> BoolArray:
    """A seeded share of the non-members, whole groups at a time."""
    rows, aside = np.flatnonzero(nonmember), np.zeros(nonmember.size, dtype=np.bool_)
    wanted = min(POPULATION_MOST, int(POPULATION_SHARE * rows.size))
    if table.examples.group is None:
        aside[rng.permutation(rows)[:wanted]] = True
        return aside
    group = table.examples.group[rows]
    names, sizes = np.unique(group, return_counts=True)
    order = rng.permutation(names.size)
    taken = names[order[np.cumsum(sizes[order]) <= wanted]]
    aside[rows[np.isin(group, taken)]] = True
    return aside


def _balance_note(
    table: ScoreTable, references: Mapping[ReferenceKind, tuple[int, ...]], members: IntArray,
    clean: Mapping[ReferenceKind | None, IntArray],
) -> list[str]:
    """Population references must have trained on both sets alike; otherwise they know which is which."""
    if "population" not in references or not members.size or not clean["population"].size:
        return []
    inside = (table.member[list(references["population"])] == IN).mean(axis=0)
    difference = float(inside[members].mean() - inside[clean["population"]].mean())
    if abs(difference) <= UNBALANCED:
        return []
    return [f"Population references trained on {inside[members].mean():.0%} of the members and "
            f"{inside[clean['population']].mean():.0%} of the non-members: they are no random halves, and only the "
            f"control model shows what that is worth."]
