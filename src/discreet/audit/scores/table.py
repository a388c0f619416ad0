"""The one score table of every audit: models by examples by queries by classes.

A membership audit reads who was in which model's training set (`ScoreTable.member`); a label audit reads which examples
were canaries and which labels were drawn for them (`ScoreTable.canaries`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import log_softmax
from discreet.core.errors import InputError
from discreet.core.types import BoolArray, FloatArray, IntArray

MemberArray = NDArray[np.int8]

Role = Literal["target", "reference", "shadow", "selection", "control", "checkpoint"]
ReferenceKind = Literal["paired", "neutral", "population"]
ExampleRole = Literal["canary", "control", "train", "heldout"]
PartKind = Literal["all records", "class", "category", "structure", "least likely records"]
"""Kinds of parts of the records; a table names classes, categories and structures."""

ROLES: tuple[Role, ...] = get_args(Role)
REFERENCE_KINDS: tuple[ReferenceKind, ...] = get_args(ReferenceKind)
EXAMPLE_ROLES: tuple[ExampleRole, ...] = get_args(ExampleRole)

IN, OUT, UNKNOWN = 1, 0, -1
"""Codes of `ScoreTable.member`. `UNKNOWN` in labels: no label, or none that the table gives."""
CANARY, CONTROL, TRAIN, HELDOUT = range(4)
"""Codes of `Canaries.role`, places in `EXAMPLE_ROLES`."""

NO_MECHANISM = "none"
CHECKPOINT_OF = "checkpoint_of"
"""The fact of a checkpoint that names its model."""
DP_SGD = "dp-sgd"
"""The mechanism of a model that was trained by DP-SGD; the fact `delta` goes with its ε."""
GROUP_KIND, NEAR_DUPLICATES = "group_kind", "near-duplicates"
"""The column of `Examples` that says what `group` is where it is not users, and its one value."""


@dataclass(frozen=True, slots=True)
class Model:
    """One scored model.

    Attributes
    ----------
    role : "target", "reference", "shadow", "selection", "control" or "checkpoint"
        What the audit uses it for. A control (control model) was trained on neither set. A reference of a label audit
        was trained by the attacker, with draws of canary labels of its own. A checkpoint is an earlier state of the
        model that its fact `checkpoint_of` names.
    reference_kind : "paired", "neutral", "population" or None
        Of a reference or shadow: trained on the non-members, on neither set, or on random halves.
    facts : mapping of str to str
        What else the table gives: recipe, regime, direction, structure.
    mechanism, epsilon : str, float
        What was done to all training labels (or outputs), and the ε that it claims, above 0; "none" and infinity.
        "dp-sgd" for training with differential privacy, whose ε is about a training row, at the fact `delta`.
    seed : str or None
        Of the training run; targets of one seed share their canaries.
    """

    name: str
    role: Role = "target"
    reference_kind: ReferenceKind | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    mechanism: str = NO_MECHANISM
    epsilon: float = inf
    seed: str | None = None

    @property
    def stated(self) -> dict[str, str]:
        """`facts` with mechanism, ε and seed where they are not the defaults: what a file of the table says."""
        return {**self.facts, **({} if self.mechanism == NO_MECHANISM else {"mechanism": self.mechanism}),
                **({} if self.epsilon == inf else {"epsilon": str(self.epsilon)}),
                **({} if self.seed is None else {"seed": self.seed})}


@dataclass(frozen=True, eq=False)
class Examples:
    """The N scored examples, one row each.

    Attributes
    ----------
    id : (N,) object array of str
        Distinct.
    label : (N,) int array
        The data set's own label, in [0, K): the class that a membership attack asks for.
    planted : (N,) int array
        How many times the record was repeated on purpose; 0 = not planted.
    group : (N,) int array or None
        Codes of what is split, permuted and resampled together: users or documents, or near-duplicate texts.
    split : (N,) object array of str or None
        The split that the example stood in ("train", "population", "eval", …).
    categories : N frozensets of str, or None
    columns : mapping of str to (N,) object array
        What else is known: structure, group_kind.
    """

    id: NDArray[np.object_]
    label: IntArray
    planted: IntArray
    group: IntArray | None = None
    split: NDArray[np.object_] | None = None
    categories: tuple[frozenset[str], ...] | None = None
    columns: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.id.size)

    @property
    def has_users(self) -> bool:
        """Whether `group` names users or documents; groups of near-duplicate texts are nobody's records."""
        kind = self.columns.get(GROUP_KIND)
        return self.group is not None and (kind is None or not (kind == NEAR_DUPLICATES).any())

    @cached_property
    def places(self) -> Mapping[PartKind, Mapping[str, IntArray]]:
        """The places of each class, category and structure, by kind and value, rising: examples that are alike."""
        order = np.argsort(self.label, kind="stable")
        labels, first = np.unique(self.label[order], return_index=True)
        found: dict[PartKind, Mapping[str, IntArray]] = {
            "class": {str(label): places for label, places in zip(labels, np.split(order, first[1:]), strict=True)}}
        if self.categories is not None:
            found["category"] = _places_of(self.categories)
        if "structure" in self.columns:
            found["structure"] = _places_of(() if one is None else (str(one),) for one in self.columns["structure"])
        return found

    def take(self, rows: IntArray) -> Examples:
        """These examples alone, in this order."""
        return Examples(
            id=self.id[rows], label=self.label[rows], planted=self.planted[rows],
            group=None if self.group is None else self.group[rows],
            split=None if self.split is None else self.split[rows],
            categories=None if self.categories is None else tuple(self.categories[row] for row in rows),
            columns={name: values[rows] for name, values in self.columns.items()})


def _places_of(names_of: Iterable[Iterable[str]]) -> dict[str, IntArray]:
    """The places of each name, by names in order."""
    places = dict[str, list[int]]()
    for place, names in enumerate(names_of):
        for name in names:
            places.setdefault(name, []).append(place)
    return {name: np.array(places[name], dtype=np.int64) for name in sorted(places)}


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """What each example was for each model, (M, N): seeds, references and mechanisms draw and release for themselves.

    `role` is `CANARY`, `CONTROL` (a held-out canary), `TRAIN` or `HELDOUT`; the model was trained on canary and train.
    `label` is that after the redraw of canaries and held-out ones, before the mechanism; `trained` that after it,
    of a control what would have been, `UNKNOWN` where nobody says. `planted` is how often a planted canary stood in
    training, else 0.
    """

    role: MemberArray
    label: IntArray
    trained: IntArray
    planted: IntArray


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """M models by N examples by Q queries by K classes.

    Attributes
    ----------
    logits : (M, N, Q, K) float array
        Unnormalised log scores; NaN where a model did not score that example or query.
    member : (M, N) int8 array
        Was the example in this model's training set: 1, 0, or -1 where the table does not say.
    given_as : "logit" or "prob"
        What the table had; probabilities stand here as their logs, clipped to [1e-7, 1 - 1e-7].
    drawn : Canaries or None
        Of a label audit, with Q = 1; `canaries` is the same, or an error where there are none.
    class_names : tuple of K str, or None
        What the classes are called where that is known; files of scores have numbers.
    steadiness : (M, N) float array, or None
        Share of an example and its perturbed copies that a model gives their true class, NaN where it was not asked;
        files of scores do not have it.
    """

    models: tuple[Model, ...]
    examples: Examples
    logits: FloatArray
    member: MemberArray
    given_as: Literal["logit", "prob"] = "logit"
    drawn: Canaries | None = None
    class_names: tuple[str, ...] | None = None
    steadiness: FloatArray | None = None

    @classmethod
    def of_canaries(cls, models: tuple[Model, ...], ids: NDArray[np.object_], original: IntArray,
                    canaries: Canaries, logits: FloatArray, group: IntArray | None = None,
                    given_as: Literal["logit", "prob"] = "logit") -> ScoreTable:
        """The table of a label audit from `logits` (M, N, K); membership is what the roles of the examples say."""
        member = np.isin(canaries.role, (CANARY, TRAIN)).astype(np.int8)
        examples = Examples(ids, original, np.zeros(ids.size, dtype=np.int64), group)
        return cls(models, examples, logits[:, :, None, :], member, given_as, canaries)

    @property
    def canaries(self) -> Canaries:
        """What the examples were for each model. InputError for the table of a membership audit."""
        if self.drawn is None:
            raise InputError("the table has no canaries; expected the columns example_role, label_original, "
                             "label_canary and label_trained, or audit it with audit_membership")
        return self.drawn

    @cached_property
    def log_p(self) -> FloatArray:
        """Log probabilities, (M, N, Q, K): log-softmax of `logits` in float64."""
        found = np.empty(self.logits.shape)
        # A model at a time: the temporaries of all of them may not fit.
        for logits, out in zip(self.logits, found, strict=True):
            out[:] = log_softmax(logits)
        return found

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.logits.shape[-1])

    @property
    def targets(self) -> tuple[int, ...]:
        """Rows of the audited models, in order."""
        return self.of_role("target")

    def index(self, name: str) -> int:
        """Row of the model called `name`. KeyError if there is none."""
        return {model.name: place for place, model in enumerate(self.models)}[name]

    def of_role(self, *roles: Role) -> tuple[int, ...]:
        """Rows of the models in any of these roles, in order."""
        return tuple(place for place, model in enumerate(self.models) if model.role in roles)

    def checkpoints(self, model: int) -> tuple[int, ...]:
        """Rows of the checkpoints of a model, in order."""
        return tuple(place for place in self.of_role("checkpoint")
                     if self.models[place].facts.get(CHECKPOINT_OF) == self.models[model].name)

    def references(self, kind: ReferenceKind) -> tuple[int, ...]:
        """Rows of the references (and shadows) of one kind."""
        return tuple(place for place, model in enumerate(self.models)
                     if model.role in ("reference", "shadow") and model.reference_kind == kind)

    def label_references(self, target: int) -> tuple[int, ...]:
        """Rows of the references of a label audit that fit a target: of its seed, or without one, and of those the
        ones of its mechanism and ε; where there are none of the one or the other, all.

        Any reference leaves an attack honest. One that was trained otherwise merely serves it worse: of another seed
        it was trained on most of this one's canaries with their original labels.
        """
        every, own = self.of_role("reference"), self.models[target]
        near = [place for place in every if self.models[place].seed in (None, own.seed)] or every
        alike = [place for place in near
                 if (self.models[place].mechanism, self.models[place].epsilon) == (own.mechanism, own.epsilon)]
        return tuple(alike or near)

    def take(self, rows: IntArray) -> ScoreTable:
        """The table with these examples alone, in this order; without its canaries."""
        return replace(self, examples=self.examples.take(rows), logits=self.logits[:, rows],
                       member=self.member[:, rows], drawn=None,
                       steadiness=None if self.steadiness is None else self.steadiness[:, rows])

    def without_split_groups(self) -> tuple[ScoreTable, int]:
        """The table without every record of the groups that some target has in both sets, and how many those are.

        What is left are whole groups in one set, which is what an audit by group can judge.
        """
        split = self.split_groups(*self.targets)
        if not split.any():
            return self, 0
        return self.take(np.flatnonzero(~split[self._group_code()])), int(split.sum())

    def _group_code(self) -> IntArray:
        assert self.examples.group is not None
        return np.unique(self.examples.group, return_inverse=True)[1].reshape(-1)

    def split_groups(self, *models: int) -> BoolArray:
        """Which of the G groups, in order of their codes, have members and non-members of some of these models."""
        if self.examples.group is None:
            return np.zeros(0, dtype=np.bool_)
        code = self._group_code()
        held = np.zeros((2, len(models), int(code.max(initial=-1)) + 1), dtype=np.bool_)
        for value in (OUT, IN):
            for place, model in enumerate(models):
                held[value, place, code[self.member[model] == value]] = True
        return np.asarray(held.all(axis=0).any(axis=0))


def stacked(tables: Sequence[ScoreTable]) -> ScoreTable:
    """One table of the models of several label audits over the same examples, such as seeds. ValueError for others."""
    first = tables[0].examples
    if any((one.examples.id != first.id).any() or (one.examples.label != first.label).any() for one in tables):
        raise ValueError("tables of different examples: expected the same ids and labels, in the same order")
    models = tuple(model for one in tables for model in one.models)
    if len({model.name for model in models}) < len(models):
        raise ValueError("two models have one name: expected trials of different seeds, or with different arms")
    drawn = Canaries(*(np.concatenate([getattr(one.canaries, name) for one in tables])
                       for name in ("role", "label", "trained", "planted")))
    return replace(tables[0], models=models, logits=np.concatenate([one.logits for one in tables]),
                   member=np.concatenate([one.member for one in tables]), drawn=drawn)
