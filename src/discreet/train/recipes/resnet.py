"""`resnet18`: ResNet-18 with a stem for small images, for CIFAR."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.encode.folders import Manifest
from discreet.train.base import Data, Fitted, Inputs, options_of, recipes
from discreet.train.networks.base import Plan
from discreet.train.networks.fitted import fit_networks, images, load_network

if TYPE_CHECKING:
    from discreet.train.networks.resnet import Resnet18 as Network

LEAST = 9
"""Rows and columns that leave the last normalisation more than one value of a single image."""


@recipes.register("resnet18")
@dataclass(frozen=True, slots=True)
class Resnet18:
    """Stages of `width`, 2, 4 and 8 `width` channels: 64 is the published network, 16 one for a CPU.

    Inputs are images (n, H, W) or (n, C, H, W), channels first; whole numbers are 0 … 255; the rest as in `Plan`. The
    label inference paper says "ResNet-18" (Table 1) and neither stem, optimiser, epochs nor augmentation: the stem is
    3×3 without pooling as He et al. have it for CIFAR, trained by Adam, without augmentation.
    """

    name: ClassVar[str] = "resnet18"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")

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

    @property
    def plan(self) -> Plan:
        """How the network is trained."""
        return Plan(self.epochs, self.batch, self.rate, self.decay, self.until_accuracy)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, C, H, W)."""
        return images(inputs, self.name, LEAST)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The residual network."""
        from discreet.train.networks.resnet import Resnet18 as Network

        return Network(shape[0], self.width, n_classes)

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return fit_networks(self, train, None, validation, n_classes, [seeds])[0]

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return load_network(self, folder, manifest)

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)
