"""The three tables that every audit starts from, as arrays: models, examples and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
MemberArray = NDArray[np.int8]

Role = Literal["target", "reference", "shadow", "selection", "placebo"]
ReferenceKind = Literal["paired", "neutral", "population"]

ROLES: tuple[Role, ...] = get_args(Role)
REFERENCE_KINDS: tuple[ReferenceKind, ...] = get_args(ReferenceKind)

IN, OUT, UNKNOWN = 1, 0, -1
"""Codes of `ScoreTable.member`."""

GROUP_KIND, NEAR_DUPLICATES = "group_kind", "near-duplicates"
"""The column of `Examples` that says what `group` is where it is not users, and its one value."""


@dataclass(frozen=True, slots=True)
class Model:
    """One scored model.

    Attributes
    ----------
    role : "target", "reference", "shadow", "selection" or "placebo"
        What the audit uses it for. A placebo was trained on neither side.
    reference_kind : "paired", "neutral", "population" or None
        Of a reference or shadow: trained on the non-members, on neither side, or on random halves.
    facts : mapping of str to str
        What the table says of it besides: recipe, seed, regime, direction, structure, mechanism, epsilon.
    """

    name: str
    role: Role
    reference_kind: ReferenceKind | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """The scored examples, one row each; N of them.

    Attributes
    ----------
    id : (N,) object array of str
        Distinct.
    label : (N,) int array
        The class that an attack asks for, in [0, K).
    planted : (N,) int array
        How many times the record was repeated on purpose; 0 = not planted.
    group : (N,) int array or None
        Codes of what is split, permuted and resampled together: users or documents, or near-duplicate texts.
    split : (N,) object array of str or None, None where a row has none
        The split that the example stood in ("train", "population", "eval", …).
    categories : tuple of frozenset of str, N of them, or None
        The categories of each row (several are possible).
    columns : mapping of str to (N,) object array
        Further known columns: label_original, label_secret, example_role, structure, group_kind.
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
        Which columns the table had; probabilities stand here as their logs, clipped to [1e-7, 1 - 1e-7].
    """

    models: tuple[Model, ...]
    examples: Examples
    logits: FloatArray
    member: MemberArray
    given_as: Literal["logit", "prob"] = "logit"

    @cached_property
    def log_p(self) -> FloatArray:
        """Log probabilities, (M, N, Q, K): log-softmax of `logits` in float64."""
        found = np.empty(self.logits.shape, dtype=np.float64)
        # A model at a time, and class by class: numpy reduces slowly over a last axis of two.
        for logits, out in zip(self.logits, found, strict=True):
            classes = [logits[..., k] for k in range(logits.shape[-1])]
            top = reduce(np.maximum, classes)
            total = reduce(np.add, (np.exp(c - top) for c in classes))
            np.subtract(logits, (top + np.log(total))[..., None], out=out)
        return found

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.logits.shape[-1])

    def index(self, name: str) -> int:
        """Row of the model called `name`. KeyError if there is none."""
        for place, model in enumerate(self.models):
            if model.name == name:
                return place
        raise KeyError(name)

    def of_role(self, *roles: Role) -> tuple[int, ...]:
        """Rows of the models in any of these roles, in order."""
        return tuple(place for place, model in enumerate(self.models) if model.role in roles)

    def references(self, kind: ReferenceKind) -> tuple[int, ...]:
        """Rows of the references (and shadows) of one kind."""
        return tuple(place for place, model in enumerate(self.models)
                     if model.role in ("reference", "shadow") and model.reference_kind == kind)
