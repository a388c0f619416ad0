"""`cnn`: a small convolutional network on images, for FashionMNIST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from discreet.train.base import Inputs, recipes
from discreet.train.networks.fitted import NetworkBank, images

if TYPE_CHECKING:
    from discreet.train.networks.cnn import Cnn as Network

LEAST = 4
"""Rows and columns that two poolings leave something of."""


@recipes.register("cnn")
@dataclass(frozen=True, slots=True)
class Cnn(NetworkBank):
    """Two 3×3 convolutions of `width` and 2 `width` channels with pooling, a layer of `hidden`; the rest as in `Plan`.

    Inputs are images (n, H, W) or (n, C, H, W), channels first; whole numbers are 0 … 255. The label inference paper
    says "CNN" of its FashionMNIST model (Table 1) and no more: every number here is ours. Without dropout and
    augmentation, since what is memorised is what is measured.
    """

    name: ClassVar[str] = "cnn"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")
    takes_texts: ClassVar[bool] = False

    width: int = 16
    hidden: int = 64
    epochs: int = 10
    batch: int = 64
    rate: float = 0.001
    decay: float = 0.0
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        for name in ("width", "hidden"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: expected a whole number, at least 1")
        _ = self.plan

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, C, H, W)."""
        return images(inputs, self.name, LEAST)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The convolutions."""
        from discreet.train.networks.cnn import Cnn as Network

        channels, height, width = shape
        return Network((channels, height, width), self.width, self.hidden, n_classes)
