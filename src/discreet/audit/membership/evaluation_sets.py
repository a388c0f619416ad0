"""Whom a target is judged on: members, non-members that no model trained on, the decision boundary, deciles.

A control model or a neutral reference controls something only where the table says that it was *not* trained
on an example: a null says nothing. So a model whose `member` is null for all members, or for all non-members, is not
used; where it is null in part, the examples without a statement are not judged. A selector likewise selects only among
examples of which the table says that it was not trained on them. A paired reference without any statement is taken for
the paper's: trained on the non-members.

Selections use membership, because the paper selects members and non-members separately (membership paper, section 4.2);
an attacker could not, which is why `pool="union"` is here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Sentences
from discreet.audit.scores.table import IN, OUT, REFERENCE_KINDS, UNKNOWN, MemberArray, ReferenceKind, ScoreTable
from discreet.core.errors import InputError
from discreet.core.types import BoolArray, FloatArray, IntArray

say = Sentences.read(__package__).of("notes")

NonMembers = Literal["clean", "reference_train"]
"""Non-members that no reference of the row trained on (the verdict's), or that the paired reference trained on."""

POPULATION_SHARE, POPULATION_MOST = 0.1, 10_000
"""How much of the non-members is set aside where the table names no population and has population references."""

UNBALANCED = 0.05
"""Difference of the share of population references trained on members and on non-members, from which it counts."""

Pool = Literal["independent", "union"]
BOUNDARY_N = 20
"""Examples per label in the paper."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationSets:
    """What one target is judged on, as rows of the table.

    Attributes
    ----------
    target, control : int
        The model that is audited, and its control model, stated to be trained on neither set (None without one).
    references : mapping of ReferenceKind to tuple of int
        The references that are of that kind *for this target*; neutral ones are stated to be.
    members : (m,) int array
        What the target trained on, planted records apart. Here as among all others that are judged, only examples
        of which the control and every neutral reference say that they were not trained on them.
    selectors : tuple of int
        The selection models that say of some members and of some non-members that they were not trained on them.
    clean : mapping of ReferenceKind or None to int array
        Non-members that neither target, control, selector nor any reference of the kind trained on; a paired one
        must say so. Population references train on halves of both sets, so they leave no example out.
    reference_train : int array
        Non-members that a paired reference trained on: the paper's. All of them where it does not say.
    population : int array
        Known non-members that are never judged.
    planted, planted_out : int array
        Members that were repeated on purpose; non-members that might have been and were not.
    notes : tuple of str
        What was left out and why, a sentence each.
    """

    target: int
    control: int | None
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

    def codes(self, n: int, others: IntArray) -> MemberArray:
        """(n,) IN for members, OUT for `others`, UNKNOWN for all else."""
        found = np.full(n, UNKNOWN, dtype=np.int8)
        found[others], found[self.members] = OUT, IN
        return found


def evaluation_sets(table: ScoreTable, target: int, rng: Generator) -> EvaluationSets:
    """The evaluation sets of one target. `rng` draws the population, where one is set aside.

    InputError where the table does not say what the target trained on, or the control trained on one of its members.
    """
    return _Builder(table, target).build(rng)


class _Builder:
    """Goes through the models of a table and notes what is left out.

    `of_target` (N,) is membership, planted records apart; `stated` (N,) whether all admitted controls state theirs.
    """

    def __init__(self, table: ScoreTable, target: int) -> None:
        self.table, self.target, self.member = table, target, table.member[target]
        self.name = table.models[target].name
        for code, what, said, do in (
                (IN, "member", "true for what it was trained on", "add the column"),
                (OUT, "non-member", "false for what it was not trained on", "score such examples")):
            if not (self.member == code).any():
                raise InputError(f"no example of target {self.name!r} is marked as a {what}: expected `member` {said}; "
                                 f"{do} and run again")
        self.planted = table.examples.planted > 0
        self.of_target = np.where(self.planted, UNKNOWN, self.member)
        self.stated = np.ones(len(table.examples), dtype=np.bool_)
        self.notes: list[str] = []

    def build(self, rng: Generator) -> EvaluationSets:
        table, out, split = self.table, self.member == OUT, self.table.examples.split
        control, references, selectors = self.control(), self.references(), self.selectors()
        aside = self.trained_by((*table.of_role("selection"), *(() if control is None else (control,)))) | ~self.stated
        open_to_all = out & ~self.planted & ~aside
        paired = references.get("paired", ())
        papers = self.papers(paired, open_to_all)
        population = np.zeros_like(out) if split is None else np.asarray((split == "population") & out)
        if not population.any() and "population" in references:
            rows = np.flatnonzero(open_to_all & ~self.trained_by((*paired, *references.get("neutral", ()))))
            most = min(POPULATION_MOST, int(POPULATION_SHARE * rows.size))
            population[Units.of(table).some(rows, most, rng)] = True
        clean: dict[ReferenceKind | None, IntArray] = {None: np.flatnonzero(open_to_all & ~population)}
        for kind, models in references.items():
            # A paired reference is trained on non-members: of which, it has to say.
            untouched = (table.member[list(models)] == OUT).all(axis=0) if kind == "paired" else ~self.trained_by(
                models if kind == "neutral" else ())
            clean[kind] = np.flatnonzero(open_to_all & ~population & untouched)
        inside = (self.member == IN) & self.stated
        members = np.flatnonzero(inside & ~self.planted)
        if "population" in references and members.size and clean["population"].size:
            # References of random halves must have trained on both sets alike; otherwise they know which is which.
            of_each = (table.member[list(references["population"])] == IN).mean(axis=0)
            of_members, of_others = (float(of_each[rows].mean()) for rows in (members, clean["population"]))
            if abs(of_members - of_others) > UNBALANCED:
                self.notes.append(say("no_random_halves", members=of_members, others=of_others))
        return EvaluationSets(
            self.target, control, references, selectors, members, clean,
            np.flatnonzero(papers & out & ~self.planted & ~population & self.stated), np.flatnonzero(population),
            np.flatnonzero(inside & self.planted), np.flatnonzero(out & self.planted & ~aside), tuple(self.notes))

    def note(self, code: str, model: int, **facts: Any) -> None:
        self.notes.append(say(code, name=self.table.models[model].name, target=self.name, **facts))

    def admits(self, row: int, called: str) -> bool:
        """Whether a control states its membership for members and non-members; if so, only these examples are left."""
        said = self.table.member[row] != UNKNOWN
        left, name = self.stated & said, f"{called} {self.table.models[row].name}"
        if not all((left & (self.of_target == one)).any() for one in (IN, OUT)):
            self.notes.append(say("control_one_set" if said.any() else "control_not_stated", name=name))
            return False
        if not said.all():
            self.notes.append(say("control_in_part", name=name, unsaid=int((~said).sum()), n=said.size))
        self.stated = left
        return True

    def control(self) -> int | None:
        """The control model that is most like the target, of those that say what they were trained on."""
        facts, models = self.table.models[self.target].stated, self.table.models
        alike = {row: sum(facts.get(key) == value for key, value in models[row].stated.items())
                 for row in self.table.of_role("control")}
        for row in sorted(alike, key=lambda one: -alike[one]):
            if shared := self.shared(row):
                raise InputError(f"control {models[row].name!r} was trained on {shared} members of target "
                                 f"{self.name!r}: expected a model trained on neither set; give another one")
            if self.admits(row, "control"):
                return row
        return None

    def references(self) -> dict[ReferenceKind, tuple[int, ...]]:
        """The references by kind, those that saw members left out."""
        found: dict[ReferenceKind, tuple[int, ...]] = {}
        for kind in REFERENCE_KINDS:
            kept = []
            for row in self.table.references(kind):
                if kind != "population" and self.shared(row):
                    self.note("reference_saw_members", row, kind=kind)
                elif kind != "neutral" or self.admits(row, "neutral reference"):
                    kept.append(row)
            if kind == "paired" and not kept:
                # The paper's symmetric procedure: each of two targets is the other's reference.
                kept = [row for row in self.table.of_role("target") if row != self.target and not self.shared(row)
                        and (self.table.member[row] == IN).any()]
            if kept:
                found[kind] = tuple(kept)
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
            kept.append(row)
            if unsaid:
                self.note("selector_in_part", row, unsaid=unsaid, n=said.size)
            if inside:
                self.note("selector_saw_members", row, inside=inside)
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

    def shared(self, row: int) -> int:
        """How many members of the target a model trained on."""
        return int(((self.table.member[row] == IN) & (self.member == IN)).sum())

    def trained_by(self, models: tuple[int, ...]) -> BoolArray:
        """(N,) what any of these models says that it was trained on."""
        return np.asarray((self.table.member[list(models)] == IN).any(axis=0))


def boundary(p_true: FloatArray, label: IntArray, member: MemberArray, n: int | None,
             pool: Pool = "independent") -> IntArray:
    """The `n` rows of each label that the selector finds least likely, P_S(y | x) lowest; row numbers, rising.

    Parameters
    ----------
    p_true : (N,) float array
        P_S(y | x) of a selector that is neither target nor reference; any rising function of it will do. Rows
        that are NaN (not scored), or of unknown membership (-1), are never selected; equal ones are taken in order.
    label : (N,) int array
    member : (N,) int8 array in {1, 0, -1}
    n : int >= 1 or None
        Rows per label, or all that it has where these are fewer; None for all.
    pool : "independent" or "union"
        "independent" (the paper's text): n members and n non-members of each label, selected separately. "union" (its
        authors' code): n of each label from both together, so that the two counts come as they come.
    """
    if p_true.ndim != 1 or not p_true.shape == label.shape == member.shape:
        raise ValueError(f"p_true, label and member have shapes {p_true.shape}, {label.shape} and {member.shape}: "
                         "expected one length")
    if pool not in ("independent", "union"):
        raise ValueError(f"pool is {pool!r}: expected 'independent' or 'union'")
    if n is not None and n < 1:
        raise ValueError(f"n is {n}: expected a whole number >= 1, or None for all")
    rows = np.flatnonzero((member >= 0) & ~np.isnan(p_true))
    rows = rows[np.argsort(p_true[rows], kind="stable")]
    of_pool = label[rows] if pool == "union" else 2 * label[rows] + member[rows]
    chosen = [rows[of_pool == one][:n] for one in np.unique(of_pool)]
    return np.sort(np.concatenate(chosen)) if chosen else rows


def deciles(values: FloatArray, member: MemberArray) -> NDArray[np.int8]:
    """Tenths of members and non-members together by `values`: 0 (lowest) … 9; -1 where NaN or membership unknown.

    For the target's confidence on the true label (the membership paper's text, section 6.1) and for P_S (the caption of
    its figure 3). Bounds are the sample deciles of `values` (linear interpolation); a value on a bound belongs to the
    upper tenth, so that equal values are never parted and many ties may leave a tenth empty.
    """
    if values.ndim != 1 or member.shape != values.shape:
        raise ValueError(f"values and member have shapes {values.shape} and {member.shape}: expected one length")
    codes = np.full(values.size, -1, dtype=np.int8)
    counted = np.flatnonzero((member >= 0) & ~np.isnan(values))
    if counted.size:
        bounds = np.quantile(values[counted], np.arange(1, 10) / 10)
        codes[counted] = np.searchsorted(bounds, values[counted], side="right")
    return codes


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """What the selections of one target need: the probability of the true class (N,) by the selection models (see
    `selector_p`; None without one) and by the target, and a random order of the examples, `lot` (N,)."""

    selector_p: FloatArray | None
    target_p: FloatArray
    label: IntArray
    lot: IntArray
    _found: dict[tuple[bytes, int | None, Pool], IntArray] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, table: ScoreTable, sets: EvaluationSets, rng: Generator) -> Selector:
        """Of one target."""
        label = table.examples.label
        return cls(selector_p(table, sets), true_class_p(table, (sets.target,)), label, rng.permutation(label.size))

    def balanced(self, rows: IntArray, member: MemberArray) -> IntArray:
        """`rows` with members and non-members of each label thinned by `lot` to the same number.

        The n least likely of 800 lie further out than the n least likely of 400: between pools of unequal size a
        boundary selected among members and non-members separately differs from ½ without any leak.
        """
        assert self.selector_p is not None
        rows, kept = rows[~np.isnan(self.selector_p[rows])], []
        for one in np.unique(self.label[rows]):
            both = [rows[(self.label[rows] == one) & (member[rows] == code)] for code in (IN, OUT)]
            size = min(part.size for part in both)
            kept += [part[np.argsort(self.lot[part])[:size]] for part in both]
        return np.sort(np.concatenate(kept)) if kept else rows

    def boundary(self, rows: IntArray, member: MemberArray, n: int | None, pool: Pool) -> IntArray:
        """The boundary among `rows`; of members and non-members thinned to the same number for "independent"."""
        assert self.selector_p is not None
        # Attacks that score the same records have the same boundaries.
        key = blake2b(rows.tobytes() + member[rows].tobytes()).digest(), n, pool
        if key not in self._found:
            pooled = self.balanced(rows, member) if pool == "independent" else rows
            kept = np.full(member.size, UNKNOWN, dtype=np.int8)
            kept[pooled] = member[pooled]
            self._found[key] = boundary(self.selector_p, self.label, kept, n, pool)
            self._found[key].setflags(write=False)
        return self._found[key]


def selector_p(table: ScoreTable, sets: EvaluationSets) -> FloatArray | None:
    """(N,) probability of the true class by the selection models, None without one.

    NaN, besides where it is unscored, where the table does not say of each selector that it was not trained on the
    example: its probability there may be memory, and would put its own training data away from the boundary.
    """
    if not sets.selectors:
        return None
    untouched = (table.member[list(sets.selectors)] == OUT).all(axis=0)
    return np.where(untouched, true_class_p(table, sets.selectors), np.nan)


def true_class_p(table: ScoreTable, models: tuple[int, ...]) -> FloatArray:
    """(N,) probability of the true class, mean over queries and one or more models. NaN where unscored."""
    rows = np.arange(len(table.examples))
    chosen = [np.exp(table.log_p[model][rows, :, table.examples.label]).mean(axis=1) for model in models]
    return np.asarray(np.mean(chosen, axis=0), dtype=np.float64)
