"""`cnn`: a small convolutional network on images, for FashionMNIST."""

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
from discreet.train.networks.fitted import fit_networks, images, load_network

if TYPE_CHECKING:
    from discreet.train.networks.cnn import Cnn as Network

LEAST = 4
"""Rows and columns that two poolings leave something of."""


@recipes.register("cnn")
@dataclass(frozen=True, slots=True)
class Cnn:
    """Two 3×3 convolutions of `width` and 2 `width` channels with pooling, a layer of `hidden`; the rest as in `Plan`.

    Inputs are images (n, H, W) or (n, C, H, W), channels first; whole numbers are 0 … 255. The label inference paper
    says "CNN" of its FashionMNIST model (Table 1) and no more: every number here is ours. Without dropout and
    augmentation, since what is memorised is what is measured.
    """

    name: ClassVar[str] = "cnn"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")

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

    @property
    def plan(self) -> Plan:
        """How the network is trained."""
        return Plan(self.epochs, self.batch, self.rate, self.decay, self.until_accuracy)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, C, H, W)."""
        return images(inputs, self.name, LEAST)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The convolutions."""
        from discreet.train.networks.cnn import Cnn as Network

        channels, height, width = shape
        return Network((channels, height, width), self.width, self.hidden, n_classes)

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
