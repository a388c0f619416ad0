"""`mlp`: a perceptron on rows of numbers, for tables such as Census."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.encode.folders import Manifest
from discreet.train.base import Data, Fitted, Inputs, IntArray, options_of, recipes
from discreet.train.networks.base import Plan
from discreet.train.networks.fitted import fit_networks, flat_rows, load_network

if TYPE_CHECKING:
    from discreet.train.networks.mlp import Mlp as Network


@recipes.register("mlp")
@dataclass(frozen=True, slots=True)
class Mlp:
    """`layers` ReLU layers, the first of `hidden` units and each next of half as many; the others as in `Plan`.

    Inputs are an array (n, …), flattened and taken as they are: standardise them on training rows (see
    `discreet.tables.one_hot`). The label inference paper says "Sequential" of its Census model (Table 1) and no more;
    layers, widths and epochs are ours, batch and rate those that Keras has for a model of that name unless told.
    """

    name: ClassVar[str] = "mlp"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")

    hidden: int = 64
    layers: int = 2
    epochs: int = 10
    batch: int = 32
    rate: float = 0.001
    decay: float = 0.0
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        if self.layers < 1 or self.hidden >> (self.layers - 1) < 1:
            raise ValueError(f"{self.layers} layers of {self.hidden} units and half as many each: expected a layer at "
                             "the least, and a unit in each")
        _ = self.plan

    @property
    def plan(self) -> Plan:
        """How the network is trained."""
        return Plan(self.epochs, self.batch, self.rate, self.decay, self.until_accuracy)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, d)."""
        return flat_rows(inputs, self.name)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The perceptron."""
        from discreet.train.networks.mlp import Mlp as Network

        return Network((*shape, *(self.hidden >> layer for layer in range(self.layers)), n_classes))

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return fit_networks(self, train, None, validation, n_classes, [seeds])[0]

    def fit_many(self, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `discreet.train.base.ManyRecipe`."""
        return fit_networks(self, train, weights, validation, n_classes, seeds)

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return load_network(self, folder, manifest)

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)
