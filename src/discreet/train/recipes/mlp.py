"""`mlp`: a perceptron on rows of numbers, for tables such as Census."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from discreet.train.base import Inputs, recipes
from discreet.train.networks.fitted import NetworkBank, flat_rows

if TYPE_CHECKING:
    from discreet.train.networks.mlp import Mlp as Network


@recipes.register("mlp")
@dataclass(frozen=True, slots=True)
class Mlp(NetworkBank):
    """`layers` ReLU layers, the first of `hidden` units and each next of half as many; the others as in `Plan`.

    Inputs are an array (n, …), flattened and taken as they are: standardise them on training rows (see
    `discreet.data.one_hot`). The label inference paper says "Sequential" of its Census model (Table 1) and no more;
    layers, widths and epochs are ours, batch and rate those that Keras has for a model of that name unless told.
    """

    name: ClassVar[str] = "mlp"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")
    takes_texts: ClassVar[bool] = False

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

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, d)."""
        return flat_rows(inputs, self.name)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The perceptron."""
        from discreet.train.networks.mlp import Mlp as Network

        return Network((*shape, *(self.hidden >> layer for layer in range(self.layers)), n_classes))
