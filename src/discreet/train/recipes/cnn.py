"""`cnn`: a small convolutional network on images, for FashionMNIST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.train.base import Inputs, need_torch, recipes
from discreet.train.networks.bank import ManyNetworksRecipe
from discreet.train.networks.base import Network, States, Tensor, he_normal, zeros
from discreet.train.networks.inputs import images
from discreet.train.plan import check_positive

LEAST = 4
"""Rows and columns that two poolings leave something of."""
TOGETHER = 8
"""Models on a GPU. A CPU takes twice as long for the groups of a convolution as for its models one by one."""


@recipes.register("cnn")
@dataclass(frozen=True, slots=True)
class Cnn(ManyNetworksRecipe):
    """Convolutions of `width` and 2 `width` channels, a layer of `hidden` units; the others as in `NetworkRecipe`.

    Inputs are images (n, H, W) or (n, C, H, W), channels first; whole numbers are 0 … 255. The label inference paper
    says "CNN" of its FashionMNIST model (Table 1) and no more: every number here is ours. Without dropout and
    augmentation, since what is memorised is what is measured.
    """

    name: ClassVar[str] = "cnn"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")
    takes_texts: ClassVar[bool] = False

    width: int = 16
    hidden: int = 64

    def __post_init__(self) -> None:
        check_positive(self, "width", "hidden")
        ManyNetworksRecipe.__post_init__(self)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, C, H, W)."""
        return images(inputs, self.name, LEAST)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The convolutions."""
        return Convolutions(shape, self.width, self.hidden, n_classes)


@dataclass(frozen=True, slots=True)
class Convolutions:
    """3×3 convolutions to `width` and 2 `width` channels, each with ReLU and 2×2 max pooling, then `hidden` ReLU units.

    Rows are (M, B, C, H, W) floats, H and W >= 4; `shape` is (C, H, W). Models are the groups of one convolution.
    """

    shape: tuple[int, ...]
    width: int
    hidden: int
    n_classes: int

    buffers: ClassVar[frozenset[str]] = frozenset()

    @property
    def together(self) -> int:
        """See `discreet.train.networks.base.Network`."""
        return TOGETHER if need_torch().cuda.is_available() else 1

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        channels, height, width = self.shape
        flat = 2 * self.width * (height // 4) * (width // 4)
        return {
            "conv0": he_normal(rng, self.width, channels, 3, 3, fan=9 * channels), "conv0_bias": zeros(self.width),
            "conv1": he_normal(rng, 2 * self.width, self.width, 3, 3, fan=9 * self.width),
            "conv1_bias": zeros(2 * self.width),
            "dense": he_normal(rng, flat, self.hidden, fan=flat), "dense_bias": zeros(1, self.hidden),
            "head": he_normal(rng, self.hidden, self.n_classes, fan=self.hidden, gain=1.0),
            "head_bias": zeros(1, self.n_classes),
        }

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        torch = need_torch()
        models, batch = rows.shape[:2]
        image = rows.transpose(0, 1).reshape(batch, -1, *self.shape[1:])
        for layer in ("conv0", "conv1"):
            weight = states[layer]
            image = torch.nn.functional.conv2d(image, weight.reshape(-1, *weight.shape[2:]),
                                               states[f"{layer}_bias"].reshape(-1), padding=1, groups=models)
            image = torch.nn.functional.max_pool2d(image.relu(), 2)
        flat = image.reshape(batch, models, -1).transpose(0, 1)
        hidden = torch.baddbmm(states["dense_bias"], flat, states["dense"]).relu()
        return torch.baddbmm(states["head_bias"], hidden, states["head"]), hidden
