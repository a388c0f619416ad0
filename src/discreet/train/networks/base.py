"""What a network is, and how its weights are drawn.

A network is no object with state but a function of named arrays, M models' at a time along the first axis, so that a
bank of many and a single model are one program. Nothing is drawn from torch's own generators.

Why not `nn.Module` with `torch.func.functional_call` and `vmap`: for 32 perceptrons of Census's size it has .56 of this
speed, 6.0 times an ordinary loop where the functions here are 10.7 times as fast in the same run (one thread;
docs/results/training_speed.md has that and the 22 times on two quiet threads). The aim is 15 times, which .56 misses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Tensor: TypeAlias = Any
"""A torch tensor; torch is not there in a bare installation."""
States: TypeAlias = Mapping[str, Tensor]
"""M models' parameters and buffers by name, (M, …) each."""


class Network(Protocol):
    """An architecture.

    Attributes
    ----------
    together : int
        How many models one program may train; 1 where there is nothing to gain.
    buffers : frozenset of str
        Names in the state that are no parameters: they follow the data and have no gradient.
    """

    @property
    def together(self) -> int:
        """As above."""

    @property
    def buffers(self) -> frozenset[str]:
        """As above."""

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """One model's state before training, always the same names in the same order."""

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """Logits (M, B, K) and what the head is given (M, B, h), of rows (M, B, …).

        In training, buffers are updated in place.
        """


def he_normal(rng: np.random.Generator, *shape: int, fan: int, gain: float = 2.0) -> NDArray[np.float32]:
    """Normal numbers of variance gain / fan (He et al. 2015, equation 10, for gain 2)."""
    return rng.normal(0.0, (gain / fan) ** 0.5, shape).astype(np.float32)


def zeros(*shape: int) -> NDArray[np.float32]:
    """Zeros in single precision."""
    return np.zeros(shape, dtype=np.float32)


def ones(*shape: int) -> NDArray[np.float32]:
    """Ones in single precision."""
    return np.ones(shape, dtype=np.float32)
