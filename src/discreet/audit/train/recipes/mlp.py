"""`mlp`: a perceptron of any number of layers on rows of numbers, for tables such as Census."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import Inputs, need_torch, recipes, rows_of
from discreet.audit.train.loop import Network, States, Tensor, he_normal
from discreet.audit.train.networks import ManyNetworksRecipe


class Layers(Network):
    """ReLU layers and a head. Rows are (M, B, d) floats."""

    together = 64

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Weights and biases, layer by layer."""
        widths = (*self.shape, *self.options.widths, self.n_classes)
        found: dict[str, NDArray[Any]] = {}
        for layer, (wide, narrow) in enumerate(pairwise(widths)):
            last = layer + 2 == len(widths)
            found[f"weight{layer}"] = he_normal(rng, wide, narrow, fan=wide, gain=1.0 if last else 2.0)
            found[f"bias{layer}"] = np.zeros((1, narrow))
        return found

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """Logits, and the last hidden layer."""
        torch, last, hidden = need_torch(), self.options.layers, rows
        for layer in range(last):
            hidden = torch.baddbmm(states[f"bias{layer}"], hidden, states[f"weight{layer}"]).relu_()
        return torch.baddbmm(states[f"bias{last}"], hidden, states[f"weight{last}"]), hidden


class OnRows:
    """What recipes of `Layers` share: options `hidden` and `layers`, and the form of their inputs."""

    __slots__ = ()

    name: ClassVar[str]
    takes_texts: ClassVar[bool] = False
    architecture: ClassVar[type[Network]] = Layers

    hidden: int
    layers: int

    def check_layers(self) -> None:
        """Raise ValueError for no layer, or one without a unit."""
        if self.layers < 1 or self.widths[-1] < 1:
            raise ValueError(f"{self.layers} layers of {self.hidden} units and half as many each: expected a layer at "
                             "the least, and a unit in each")

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of the hidden layers."""
        return tuple(self.hidden >> layer for layer in range(self.layers))

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, d)."""
        return np.ascontiguousarray(rows_of(inputs, self.name), dtype=np.float32)


@recipes.register("mlp")
@dataclass(frozen=True, slots=True)
class Mlp(OnRows, ManyNetworksRecipe):
    """`layers` ReLU layers, the first of `hidden` units and each next of half as many; others as in `NetworkRecipe`.

    Inputs are an array (n, …), flattened and taken as they are: standardise them on training rows (see
    `discreet.inputs.one_hot`). The label inference paper says "Sequential" of its Census model (Table 1) and no more;
    layers, widths and epochs are ours, batch and rate those that Keras has for a model of that name unless told.
    """

    name: ClassVar[str] = "mlp"

    batch: int = 32
    hidden: int = 64
    layers: int = 2

    def __post_init__(self) -> None:
        self.check_layers()
        ManyNetworksRecipe.__post_init__(self)
