"""How a classifier is trained, for every trainer, and the record of a trained model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

StateDict: TypeAlias = Mapping[str, NDArray[np.float32]]
"""One model's parameters and buffers by name."""
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's constants, the same in every trainer (Kingma and Ba, ICLR 2015, Algorithm 1)."""


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How a classifier is trained: steps of Adam on the mean log loss of the rows of a batch.

    `rate` is the learning rate, the highest one where there is a warm-up: over the share `warmup` of the updates it
    rises, and falls on half a cosine after them (None: it stays). `epochs` are passes over the training rows, at most;
    `batch` the rows of an update (None: all) and `micro_batch` those computed at a time, a divisor; `decay` an L2
    penalty, or in transformers decoupled weight decay (Loshchilov and Hutter 2019). `smoothing` trains on labels that
    give every class this share over K and the row's own class the rest too (Szegedy et al. 2016, section 7); losses of
    validation rows stay those of their labels. Validation rows are looked at every `eval_every` updates and after the
    last, in networks after every epoch instead; after `patience` of that without a lower loss training stops (None:
    never). It also stops after the first epoch whose end finds at least the share `until_accuracy` of the training rows
    classified as the labels that were trained on. Raises ValueError for what is out of range.
    """

    rate: float
    epochs: int = 1
    batch: int | None = None
    micro_batch: int | None = None
    decay: float = 0.0
    smoothing: float = 0.0
    warmup: float | None = None
    eval_every: int = 5
    patience: int | None = None
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "epochs", "batch", "micro_batch", "eval_every", "patience")
        if self.micro_batch is not None and (self.batch is None or self.batch % self.micro_batch):
            raise ValueError(f"batch is {self.batch}: expected a multiple of micro_batch, {self.micro_batch}")
        check_above(self, "rate")
        if not (isfinite(self.decay) and self.decay >= 0.0):
            raise ValueError(f"decay is {self.decay}: expected a finite number, at least 0")
        if not 0.0 <= self.smoothing < 1.0:
            raise ValueError(f"smoothing is {self.smoothing}: expected a share, from 0 to below 1")
        if self.warmup is not None and not 0.0 <= self.warmup <= 1.0:
            raise ValueError(f"warmup is {self.warmup}: expected a share of the updates, 0 to 1")
        if self.until_accuracy is not None and not 0.0 < self.until_accuracy <= 1.0:
            raise ValueError(f"until_accuracy is {self.until_accuracy}: expected a share above 0, at most 1, or none")


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """One model and how its training went.

    `steps`, `planned_steps` and `best_step` are the updates that were made, those of all epochs, and the one after
    which the kept weights were reached; `state` is empty where a module was trained in place. `validation_curve` has
    the mean log loss, in nats, of the validation rows after that many updates. For each epoch, `train_accuracy` is the
    share of its rows that were classified as trained when they came up, before the update, and `accuracy_after` that
    at its end, only where `TrainingPlan.until_accuracy` asks for it. `padding_share` is that of computed positions.
    """

    steps: int
    planned_steps: int
    best_step: int
    state: StateDict = field(default_factory=dict, repr=False)
    validation_curve: tuple[tuple[int, float], ...] = ()
    train_accuracy: tuple[float, ...] = ()
    accuracy_after: tuple[float, ...] = ()
    padding_share: float = 0.0


def smoothed(truth: Any, smoothing: float) -> Any:
    """Labels (…, K), an array or a tensor whose rows sum to 1, with a share of each spread evenly over the classes."""
    return truth * (1.0 - smoothing) + smoothing / truth.shape[-1]


def check_positive(options: Any, *names: str) -> None:
    """ValueError where one of these options is a number below 1; None is left to the option's type."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}: expected a whole number, at least 1")


def check_above(options: Any, *names: str) -> None:
    """ValueError where one of these options is a number that is not finite, or not above 0."""
    for name in names:
        value = getattr(options, name)
        if isinstance(value, int | float) and not (isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value}: expected a finite number above 0")


def child(seeds: np.random.SeedSequence, place: int) -> np.random.SeedSequence:
    """The seeds number `place` that `seeds` would spawn first, without changing `seeds`."""
    return np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, place), pool_size=seeds.pool_size)
