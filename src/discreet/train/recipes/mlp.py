"""`mlp`: a perceptron of any number of layers on rows of numbers, for tables such as Census."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.train.base import Inputs, need_torch, recipes, rows_of
from discreet.train.networks.bank import ManyNetworksRecipe
from discreet.train.networks.base import Network, States, Tensor, he_normal, zeros


@recipes.register("mlp")
@dataclass(frozen=True, slots=True)
class Mlp(ManyNetworksRecipe):
    """`layers` ReLU layers, the first of `hidden` units and each next of half as many; others as in `NetworkRecipe`.

    Inputs are an array (n, …), flattened and taken as they are: standardise them on training rows (see
    `discreet.data.one_hot`). The label inference paper says "Sequential" of its Census model (Table 1) and no more;
    layers, widths and epochs are ours, batch and rate those that Keras has for a model of that name unless told.
    """

    name: ClassVar[str] = "mlp"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")
    takes_texts: ClassVar[bool] = False

    batch: int = 32
    hidden: int = 64
    layers: int = 2

    def __post_init__(self) -> None:
        if self.layers < 1 or self.hidden >> (self.layers - 1) < 1:
            raise ValueError(f"{self.layers} layers of {self.hidden} units and half as many each: expected a layer at "
                             "the least, and a unit in each")
        ManyNetworksRecipe.__post_init__(self)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, d)."""
        return np.ascontiguousarray(rows_of(inputs, self.name), dtype=np.float32)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The perceptron."""
        return Layers((*shape, *(self.hidden >> layer for layer in range(self.layers)), n_classes))


@dataclass(frozen=True, slots=True)
class Layers:
    """`widths` are those of inputs, hidden layers and classes. Rows are (M, B, d) floats."""

    widths: tuple[int, ...]

    together: ClassVar[int] = 64
    buffers: ClassVar[frozenset[str]] = frozenset()

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        found = {}
        for layer, (wide, narrow) in enumerate(pairwise(self.widths)):
            last = layer + 2 == len(self.widths)
            found[f"weight{layer}"] = he_normal(rng, wide, narrow, fan=wide, gain=1.0 if last else 2.0)
            found[f"bias{layer}"] = zeros(1, narrow)
        return found

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        torch, last = need_torch(), len(self.widths) - 2
        hidden = rows
        for layer in range(last):
            hidden = torch.baddbmm(states[f"bias{layer}"], hidden, states[f"weight{layer}"]).relu_()
        return torch.baddbmm(states[f"bias{last}"], hidden, states[f"weight{last}"]), hidden
