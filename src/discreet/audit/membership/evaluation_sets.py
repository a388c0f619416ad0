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
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from discreet.audit.core.verdict import Sentences
from discreet.core.errors import InputError
from discreet.core.types import BoolArray, IntArray
from discreet.scores.table import IN, OUT, REFERENCE_KINDS, UNKNOWN, ReferenceKind, ScoreTable

say = Sentences.read(__package__).of("notes")

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
    return _Builder(table, target).build(rng)


class _Builder:
    """Goes through the models of a table, one role after another, and notes what is left out.

    Attributes
    ----------
    member : (N,) int8 array
        Of the target.
    of_target : (N,) int8 array
        The same, planted records apart.
    stated : (N,) bool array
        The examples of which every control that was admitted says whether it was trained on them.
    """

    def __init__(self, table: ScoreTable, target: int) -> None:
        self.table, self.target, self.member = table, target, table.member[target]
        self.name = table.models[target].name
        if not (self.member == IN).any():
            raise InputError(f"no example of target {self.name!r} is marked as a member: expected `member` true for "
                             f"what it was trained on; add the column and run again")
        if not (self.member == OUT).any():
            raise InputError(f"no example of target {self.name!r} is marked as a non-member: expected `member` false "
                             f"for what it was not trained on; score such examples and run again")
        self.planted = table.examples.planted > 0
        self.of_target = np.where(self.planted, UNKNOWN, self.member)
        self.stated = np.ones(len(table.examples), dtype=np.bool_)
        self.notes: list[str] = []

    def build(self, rng: Generator) -> EvaluationSets:
        """All sets."""
        table, out = self.table, self.member == OUT
        placebo, references, selectors = self.placebo(), self.references(), self.selectors()
        aside = self.trained_by((*table.of_role("selection"), *(() if placebo is None else (placebo,)))) | ~self.stated
        open_to_all = out & ~self.planted & ~aside
        paired = references.get("paired", ())
        papers = self.papers(paired, open_to_all)
        split = table.examples.split
        population = np.zeros_like(out) if split is None else np.asarray((split == "population") & out)
        if not population.any() and "population" in references:
            honest = open_to_all & ~self.trained_by((*paired, *references.get("neutral", ())))
            population = self.set_aside(honest, rng)
        clean: dict[ReferenceKind | None, IntArray] = {None: np.flatnonzero(open_to_all & ~population)}
        for kind, models in references.items():
            # A paired reference is trained on non-members: of which, it has to say.
            untouched = (table.member[list(models)] == OUT).all(axis=0) if kind == "paired" else ~self.trained_by(
                models if kind == "neutral" else ())
            clean[kind] = np.flatnonzero(open_to_all & ~population & untouched)
        inside = (self.member == IN) & self.stated
        members = np.flatnonzero(inside & ~self.planted)
        self.check_halves(references.get("population", ()), members, clean)
        return EvaluationSets(
            self.target, placebo, references, selectors, members, clean,
            np.flatnonzero(papers & out & ~self.planted & ~population & self.stated), np.flatnonzero(population),
            np.flatnonzero(inside & self.planted), np.flatnonzero(out & self.planted & ~aside), tuple(self.notes))

    def note(self, code: str, model: int, **facts: Any) -> None:
        """Say something of a model."""
        self.notes.append(say(code, name=self.table.models[model].name, target=self.name, **facts))

    def admits(self, row: int, called: str) -> bool:
        """Whether a control says of members and non-members that are left what it was trained on.

        If so, only the examples of which it does are left.
        """
        said = self.table.member[row] != UNKNOWN
        left, name = self.stated & said, f"{called} {self.table.models[row].name}"
        if not all((left & (self.of_target == one)).any() for one in (IN, OUT)):
            self.notes.append(say("control_one_set" if said.any() else "control_not_stated", name=name))
            return False
        if not said.all():
            self.notes.append(say("control_in_part", name=name, unsaid=int((~said).sum()), n=said.size))
        self.stated = left
        return True

    def placebo(self) -> int | None:
        """The control model that is most like the target, of those that say what they were trained on."""
        facts, models = self.table.models[self.target].stated, self.table.models
        alike = {row: sum(facts.get(key) == value for key, value in models[row].stated.items())
                 for row in self.table.of_role("placebo")}
        for row in sorted(alike, key=lambda one: -alike[one]):
            if shared := int(((self.table.member[row] == IN) & (self.member == IN)).sum()):
                raise InputError(f"placebo {models[row].name!r} was trained on {shared} members of target "
                                 f"{self.name!r}: expected a model trained on neither set; give another one")
            if self.admits(row, "placebo"):
                return row
        return None

    def references(self) -> dict[ReferenceKind, tuple[int, ...]]:
        """The references by kind, those that saw members left out."""
        found: dict[ReferenceKind, tuple[int, ...]] = {}
        for kind in REFERENCE_KINDS:
            kept = []
            for row in self.table.references(kind):
                if kind != "population" and self.overlaps(row):
                    self.note("reference_saw_members", row, kind=kind)
                elif kind != "neutral" or self.admits(row, "neutral reference"):
                    kept.append(row)
            if kept:
                found[kind] = tuple(kept)
        if "paired" not in found:
            # The paper's symmetric procedure: each of two targets is the other's reference.
            others = tuple(row for row in self.table.of_role("target") if row != self.target and not self.overlaps(row)
                           and (self.table.member[row] == IN).any())
            if others:
                found["paired"] = others
        return found

    def selectors(self) -> tuple[int, ...]:
        """The selection models that may select for the target."""
        kept = []
        for row in self.table.of_role("selection"):
            said = self.table.member[row]
            unsaid, inside = int((said == UNKNOWN).sum()), int(((said == IN) & (self.of_target == IN)).sum())
            if not all(((said == OUT) & (self.of_target == one)).any() for one in (IN, OUT)):
                self.note("selector_selects_none", row)
                continue
            if unsaid:
                self.note("selector_in_part", row, unsaid=unsaid, n=said.size)
            if inside:
                self.note("selector_saw_members", row, inside=inside)
            kept.append(row)
        return tuple(kept)

    def papers(self, paired: tuple[int, ...], others: BoolArray) -> BoolArray:
        """(N,) what the paired references were trained on, as far as they say; all `others` where one says nothing."""
        found = self.trained_by(paired)
        for row in paired:
            said = self.table.member[row][others]
            unsaid = int((said == UNKNOWN).sum())
            if unsaid and not (said == IN).any():
                found |= (self.table.member[row] == UNKNOWN) & others
                self.note("paired_taken_for_the_papers", row)
            elif unsaid:
                self.note("paired_in_part", row, unsaid=unsaid)
        return found

    def overlaps(self, row: int) -> bool:
        """Whether a model trained on members of the target."""
        return bool(((self.table.member[row] == IN) & (self.member == IN)).any())

    def trained_by(self, models: tuple[int, ...]) -> BoolArray:
        """(N,) what any of these models says that it was trained on."""
        if not models:
            return np.zeros(self.member.size, dtype=np.bool_)
        return np.asarray((self.table.member[list(models)] == IN).any(axis=0))

    def set_aside(self, nonmember: BoolArray, rng: Generator) -> BoolArray:
        """A seeded share of the non-members, whole groups at a time."""
        rows, aside = np.flatnonzero(nonmember), np.zeros(nonmember.size, dtype=np.bool_)
        wanted = min(POPULATION_MOST, int(POPULATION_SHARE * rows.size))
        if self.table.examples.group is None:
            aside[rng.permutation(rows)[:wanted]] = True
            return aside
        group = self.table.examples.group[rows]
        names, sizes = np.unique(group, return_counts=True)
        order = rng.permutation(names.size)
        taken = names[order[np.cumsum(sizes[order]) <= wanted]]
        aside[rows[np.isin(group, taken)]] = True
        return aside

    def check_halves(
        self, models: tuple[int, ...], members: IntArray, clean: Mapping[ReferenceKind | None, IntArray]
    ) -> None:
        """Population references must have trained on both sets alike; otherwise they know which is which."""
        if models and members.size and clean["population"].size:
            inside = (self.table.member[list(models)] == IN).mean(axis=0)
            of_members, of_others = float(inside[members].mean()), float(inside[clean["population"]].mean())
            if abs(of_members - of_others) > UNBALANCED:
                self.notes.append(say("no_random_halves", members=of_members, others=of_others))
