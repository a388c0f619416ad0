"""`resnet18`: ResNet-18 with a stem for small images, for CIFAR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from discreet.train.base import Inputs, recipes
from discreet.train.networks.fitted import NetworkTraining, images

if TYPE_CHECKING:
    from discreet.train.networks.resnet import Resnet18 as Network

LEAST = 9
"""Rows and columns that leave the last normalisation more than one value of a single image."""


@recipes.register("resnet18")
@dataclass(frozen=True, slots=True)
class Resnet18(NetworkTraining):
    """Stages of `width`, 2, 4 and 8 `width` channels: 64 is the published network, 16 one for a CPU.

    Inputs are images (n, H, W) or (n, C, H, W), channels first; whole numbers are 0 … 255; the rest as in `Plan`. The
    label inference paper says "ResNet-18" (Table 1) and neither stem, optimiser, epochs nor augmentation: the stem is
    3×3 without pooling as He et al. have it for CIFAR, trained by Adam, without augmentation.
    """

    name: ClassVar[str] = "resnet18"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")
    takes_texts: ClassVar[bool] = False

    width: int = 16
    epochs: int = 15
    batch: int = 64
    rate: float = 0.001
    decay: float = 0.0
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"width is {self.width}: expected a whole number, at least 1")
        _ = self.plan

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, C, H, W)."""
        return images(inputs, self.name, LEAST)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The residual network."""
        from discreet.train.networks.resnet import Resnet18 as Network

        return Network(shape[0], self.width, n_classes)
