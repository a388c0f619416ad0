"""The score table of a label audit: models by examples by classes, and which label each model's run drew for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
RoleArray: TypeAlias = NDArray[np.int8]

ModelRole = Literal["target", "reference"]
ExampleRole = Literal["canary", "placebo", "train", "heldout"]

MODEL_ROLES: tuple[ModelRole, ...] = get_args(ModelRole)
EXAMPLE_ROLES: tuple[ExampleRole, ...] = get_args(ExampleRole)
CANARY, PLACEBO, TRAIN, HELDOUT = range(4)
"""Codes of `LabelTable.role`, places in `EXAMPLE_ROLES`."""

UNKNOWN = -1
"""In `LabelTable.trained`: no label, or none that the table says."""
NO_MECHANISM = "none"


@dataclass(frozen=True, slots=True)
class LabelModel:
    """One scored model.

    Attributes
    ----------
    role : "target" or "reference"
        A reference was trained by the attacker, with draws of canary labels of its own.
    mechanism : str
        What was done to all training labels; "none".
    epsilon : float
        What the mechanism claims, above 0; infinity for none.
    seed : str or None
        Targets of one seed share their canaries.
    facts : mapping of str to str
        What else the table says: recipe.
    """

    name: str
    role: ModelRole = "target"
    mechanism: str = NO_MECHANISM
    epsilon: float = inf
    seed: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LabelTable:
    """M models by N examples by K classes.

    What an example was is said per model: seeds draw canaries of their own, references draw labels of their own, and
    mechanisms release different labels.

    Attributes
    ----------
    id : (N,) object array of str
        Distinct.
    original : (N,) int array
        The data set's own label, in [0, K).
    role : (M, N) int8 array
        `CANARY`, `PLACEBO`, `TRAIN` or `HELDOUT`; that model was trained on canary and train, not on the other two.
    secret : (M, N) int array
        The label after the redraw of canaries and placebos, before the mechanism; elsewhere the original one.
    trained : (M, N) int array
        The label after the mechanism: what was trained on; of a placebo what would have been. `UNKNOWN` where the
        table does not say.
    planted : (M, N) int array
        How often a planted canary stood in training; 0 = not planted.
    logits : (M, N, K) float array, finite
        Unnormalised log scores.
    group : (N,) int array or None
        Codes of users, documents or regions, where the table has them.
    """

    models: tuple[LabelModel, ...]
    id: NDArray[np.object_]
    original: IntArray
    role: RoleArray
    secret: IntArray
    trained: IntArray
    planted: IntArray
    logits: FloatArray
    group: IntArray | None = None

    def __len__(self) -> int:
        return int(self.id.size)

    @cached_property
    def log_p(self) -> FloatArray:
        """Log probabilities, (M, N, K)."""
        return log_softmax(self.logits)

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.logits.shape[-1])

    @property
    def targets(self) -> tuple[int, ...]:
        """Rows of the targets, in order."""
        return tuple(place for place, model in enumerate(self.models) if model.role == "target")

    def references(self, target: int) -> tuple[int, ...]:
        """Rows of the references that stand for a target: of its seed, or without one, and of those the ones of its
        mechanism and ε; where there are none of the one or the other, all.

        Any reference leaves an attack honest. One that was trained otherwise merely serves it worse: of another seed
        it was trained on most of this one's canaries with their original labels.
        """
        every = [place for place, model in enumerate(self.models) if model.role == "reference"]
        near = [place for place in every if self.models[place].seed in (None, self.models[target].seed)] or every
        alike = [place for place in near if self._kind(place) == self._kind(target)]
        return tuple(alike or near)

    def _kind(self, model: int) -> tuple[str, float]:
        return self.models[model].mechanism, self.models[model].epsilon


def log_softmax(logits: FloatArray) -> FloatArray:
    """Log probabilities along the last axis, of the shape of `logits`."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)), dtype=np.float64)
