"""`resnet18`: ResNet-18 (He et al. 2016) with a stem for small images, for CIFAR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.train.base import Inputs, need_torch, recipes
from discreet.train.networks.bank import NetworkRecipe
from discreet.train.networks.base import Network, States, Tensor, he_normal, ones, zeros
from discreet.train.networks.inputs import images
from discreet.train.plan import check_positive

LEAST = 9
"""Rows and columns that leave the last normalisation more than one value of a single image."""
STAGES, BLOCKS = 4, 2
MOMENTUM, EPSILON = 0.1, 1e-5


@recipes.register("resnet18")
@dataclass(frozen=True, slots=True)
class Resnet18(NetworkRecipe):
    """Stages of `width`, 2, 4 and 8 `width` channels: 64 is the published network, 16 one for a CPU.

    Inputs are images (n, H, W) or (n, C, H, W), channels first; whole numbers are 0 … 255; the other options are as in
    `NetworkRecipe`. The label inference paper says "ResNet-18" (Table 1) and neither stem, optimiser, epochs nor
    augmentation: the stem is 3×3 without pooling as He et al. have it for CIFAR (section 4.2), trained by Adam, without
    augmentation.
    """

    name: ClassVar[str] = "resnet18"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")
    takes_texts: ClassVar[bool] = False

    epochs: int = 15
    width: int = 16

    def __post_init__(self) -> None:
        check_positive(self, "width")
        NetworkRecipe.__post_init__(self)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, C, H, W)."""
        return images(inputs, self.name, LEAST)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The residual network."""
        return ResidualNetwork(shape[0], self.width, n_classes)


@dataclass(frozen=True, slots=True)
class ResidualNetwork:
    """Stages of `width`, 2, 4 and 8 `width` channels, two blocks each. Rows are (1, B, C, H, W) floats."""

    channels: int
    width: int
    n_classes: int

    together: ClassVar[int] = 1

    @property
    def buffers(self) -> frozenset[str]:
        """The running means and variances of the normalisations."""
        return frozenset(f"{name}.{part}" for name, *_ in self._convolutions() for part in ("mean", "variance"))

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        found = {}
        for name, channels, out, size in self._convolutions():
            found[f"{name}.weight"] = he_normal(rng, out, channels, size, size, fan=size * size * out)
            found |= {f"{name}.scale": ones(out), f"{name}.shift": zeros(out),
                      f"{name}.mean": zeros(out), f"{name}.variance": ones(out)}
        last = self.width << (STAGES - 1)
        found["head"] = he_normal(rng, self.n_classes, last, fan=last, gain=1.0)
        found["head_bias"] = zeros(self.n_classes)
        return found

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        functional = need_torch().nn.functional

        def convolved(name: str, image: Tensor, stride: int = 1) -> Tensor:
            weight = states[f"{name}.weight"][0]
            made = functional.conv2d(image, weight, stride=stride, padding=weight.shape[-1] // 2)
            return functional.batch_norm(
                made, states[f"{name}.mean"][0], states[f"{name}.variance"][0], states[f"{name}.scale"][0],
                states[f"{name}.shift"][0], training, MOMENTUM, EPSILON)

        image = convolved("stem", rows[0]).relu()
        for stage in range(STAGES):
            for block in range(BLOCKS):
                name, stride = f"{stage}.{block}", 2 if stage and not block else 1
                made = convolved(f"{name}.second", convolved(f"{name}.first", image, stride).relu())
                image = (made + (convolved(f"{name}.short", image, stride) if stride == 2 else image)).relu()
        hidden = image.mean((2, 3))
        logits = functional.linear(hidden, states["head"][0], states["head_bias"][0])
        return logits[None], hidden[None]

    def _convolutions(self) -> Iterator[tuple[str, int, int, int]]:
        """Name, channels in and out, and size of each."""
        yield "stem", self.channels, self.width, 3
        before = self.width
        for stage in range(STAGES):
            wide = self.width << stage
            for block in range(BLOCKS):
                yield f"{stage}.{block}.first", before, wide, 3
                yield f"{stage}.{block}.second", wide, wide, 3
                if before != wide:
                    yield f"{stage}.{block}.short", before, wide, 1
                before = wide
