"""What a network is, and how it is trained.

A network is no object with state but functions of named numbers, M models' at a time along the first axis, so that a
bank of many and a single model are one program. Nothing is drawn from torch's own generators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from math import inf
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import MissingExtraError

Tensor: TypeAlias = Any
"""A torch tensor; torch is not there in a bare installation."""
Numbers: TypeAlias = Mapping[str, NDArray[np.float32]]
"""One model's parameters and buffers by name."""
Params: TypeAlias = Mapping[str, Tensor]
"""M models' parameters and buffers by name, (M, …) each."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Adam on mini-batches of rows in random order, on the mean log loss of each batch.

    Attributes
    ----------
    epochs : int
        Passes over the rows, at least 1; the most where `until_accuracy` is given.
    batch : int
        Rows of an update, at least 1; the last of an epoch has what is left.
    rate : float
        Learning rate, > 0, the same throughout.
    decay : float
        L2 penalty on all parameters, >= 0.
    until_accuracy : float or None
        Stop after the first epoch whose end finds at least that share of the training rows classified as the labels
        that were trained on, in (0, 1]; None: train all epochs.

    Raises ValueError for others.
    """

    epochs: int
    batch: int
    rate: float
    decay: float = 0.0
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: expected a whole number, at least 1")
        if not 0.0 < self.rate < inf:
            raise ValueError(f"rate is {self.rate}: expected a finite number above 0")
        if not 0.0 <= self.decay < inf:
            raise ValueError(f"decay is {self.decay}: expected a finite number, at least 0")
        if self.until_accuracy is not None and not 0.0 < self.until_accuracy <= 1.0:
            raise ValueError(f"until_accuracy is {self.until_accuracy}: expected a share above 0, at most 1, or none")


class Network(Protocol):
    """An architecture.

    Attributes
    ----------
    together : int
        How many models one program may train; 1 where there is nothing to gain.
    buffers : frozenset of str
        Names among the numbers that are no parameters: they follow the data and no slope.
    """

    @property
    def together(self) -> int:
        """As above."""
        ...

    @property
    def buffers(self) -> frozenset[str]:
        """As above."""
        ...

    def start(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """One model's numbers before training, always the same names in the same order."""
        ...

    def forward(self, params: Params, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """Logits (M, B, K) and what the head is given (M, B, h), of rows (M, B, …).

        In training, buffers are updated in place.
        """
        ...


class DirectNetwork(Network, Protocol):
    """A network that has its slopes in closed form, which spares the bookkeeping of automatic differentiation."""

    def slopes(self, params: Params, rows: Tensor, truth: Tensor, share: Tensor, into: Params) -> Tensor:
        """Logits (M, B, K); into `into` go the slopes of Σ share · log loss, by the names of the parameters.

        `truth` are (M, B, K) target shares, `share` (M, B) each row's weight.
        """
        ...


def need_torch() -> Any:
    """The package torch. Raises MissingExtraError."""
    try:
        return import_module("torch")
    except ImportError:
        raise MissingExtraError("training a network", "fit", "torch") from None


def spread(rng: np.random.Generator, *shape: int, fan: int, gain: float = 2.0) -> NDArray[np.float32]:
    """Normal numbers of variance gain / fan (He et al. 2015, equation 10, for gain 2)."""
    return rng.normal(0.0, (gain / fan) ** 0.5, shape).astype(np.float32)


def nought(*shape: int) -> NDArray[np.float32]:
    """Zeros."""
    return np.zeros(shape, dtype=np.float32)


def one(*shape: int) -> NDArray[np.float32]:
    """Ones."""
    return np.ones(shape, dtype=np.float32)
