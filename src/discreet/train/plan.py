"""How a classifier is trained, for every trainer, and the record of a trained model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

StateDict: TypeAlias = Mapping[str, NDArray[np.float32]]
"""One model's parameters and buffers by name."""

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's constants, the same in every trainer (Kingma and Ba, ICLR 2015, Algorithm 1)."""


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How a classifier is trained: steps of Adam on the mean log loss of the rows of a batch.

    A trainer follows some of the options and refuses the others (`refuse_others`).

    Attributes
    ----------
    rate : float
        Learning rate, > 0; the highest one where there is a warm-up.
    epochs : int
        Passes over the training rows, at least 1; the most where training may stop early.
    batch : int or None
        Rows of an update, at least 1; None: all.
    micro_batch : int or None
        Rows that are computed at a time, a divisor of `batch`; None: the whole batch.
    optimizer : {"adam", "adamw"}
        Whether `decay` is an L2 penalty, added to the gradient, or decoupled weight decay (Loshchilov and Hutter 2019).
    decay : float
        Weight decay, >= 0.
    warmup : float
        Share of the updates in which the rate rises, in [0, 1]; it falls on half a cosine after them. None: it stays.
    clip : float or None
        Norm that the gradient is cut down to, > 0.
    eval_every : int
        Updates between evaluations on validation rows, at least 1; the last update is always followed by one.
    patience : int or None
        Stop after that many evaluations in a row without a lower validation loss; None: never.
    until_accuracy : float or None
        Stop after the first epoch whose end finds at least that share of the training rows classified as the labels
        that were trained on, in (0, 1].

    Raises ValueError for others.
    """

    rate: float
    epochs: int = 1
    batch: int | None = None
    micro_batch: int | None = None
    optimizer: Literal["adam", "adamw"] = "adam"
    decay: float = 0.0
    warmup: float | None = None
    clip: float | None = None
    eval_every: int = 5
    patience: int | None = None
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "epochs", "batch", "micro_batch", "eval_every", "patience")
        if self.micro_batch is not None and (self.batch is None or self.batch % self.micro_batch):
            raise ValueError(f"batch is {self.batch}: expected a multiple of micro_batch, {self.micro_batch}")
        for name in ("rate", "clip"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value > 0.0):
                raise ValueError(f"{name} is {value}: expected a finite number above 0")
        if not (isfinite(self.decay) and self.decay >= 0.0):
            raise ValueError(f"decay is {self.decay}: expected a finite number, at least 0")
        if self.warmup is not None and not 0.0 <= self.warmup <= 1.0:
            raise ValueError(f"warmup is {self.warmup}: expected a share of the updates, 0 to 1")
        if self.until_accuracy is not None and not 0.0 < self.until_accuracy <= 1.0:
            raise ValueError(f"until_accuracy is {self.until_accuracy}: expected a share above 0, at most 1, or none")

    def refuse_others(self, trainer: str, *followed: str) -> None:
        """Raise ValueError where an option is set that a trainer does not follow."""
        for one in fields(self)[1:]:
            value = getattr(self, one.name)
            if one.name not in followed and value != one.default:
                raise ValueError(f"{one.name} is {value}: {trainer} follow only rate, {', '.join(followed)}; leave it "
                                 "out, or take another recipe")


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """One model and how its training went.

    Attributes
    ----------
    steps, planned_steps : int
        Updates that were made, and those of all epochs.
    best_step : int
        The update after which the weights were those that are kept.
    state : mapping of str to array
        Parameters and buffers; empty where a module was trained in place.
    validation_curve : tuple of (int, float)
        Mean log loss, in nats, of the validation rows after that many updates.
    train_accuracy : tuple of float
        For each epoch, the share of its rows that were classified as trained when they came up, before the update.
    accuracy_after : tuple of float
        For each epoch, the same share at its end; only where `TrainingPlan.until_accuracy` asks for it.
    padding_share : float
        Share of the computed positions that were padding, in [0, 1).
    """

    steps: int
    planned_steps: int
    best_step: int
    state: StateDict = field(default_factory=dict, repr=False)
    validation_curve: tuple[tuple[int, float], ...] = ()
    train_accuracy: tuple[float, ...] = ()
    accuracy_after: tuple[float, ...] = ()
    padding_share: float = 0.0


def check_positive(options: Any, *names: str) -> None:
    """ValueError where one of these options is a number below 1; None is left to the option's type."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}: expected a whole number, at least 1")
