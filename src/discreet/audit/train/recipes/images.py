"""Networks on images: `cnn`, small, for FashionMNIST; `resnet18` (He et al. 2016), for CIFAR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import Inputs, checked_rows, need_torch, recipes
from discreet.audit.train.loop import Network, States, Tensor, he_normal
from discreet.audit.train.networks import ManyNetworksRecipe, NetworkRecipe
from discreet.audit.train.plan import check_positive
from discreet.core.errors import UsageError

TOGETHER = 8
STAGES, BLOCKS = 4, 2
MOMENTUM, EPSILON = 0.1, 1e-5


def images(inputs: Inputs, recipe: str, least: int) -> NDArray[np.float32]:
    """Images (n, H, W) or (n, C, H, W), channels first, as float32 (n, C, H, W).

    Whole numbers are taken as 0 … 255 and brought to −1 … 1; others stay as they are. Raises UsageError for texts,
    other shapes, channels last, and images of fewer than `least` rows or columns.
    """
    if not isinstance(inputs, np.ndarray):
        raise UsageError(f"the recipe {recipe!r} takes images (n, C, H, W) and was given texts: give an array, or "
                         "another recipe")
    if inputs.ndim not in (3, 4):
        raise UsageError(f"the recipe {recipe!r} takes images (n, H, W) or (n, C, H, W) and was given shape "
                         f"{inputs.shape}: reshape them, or take another recipe")
    given = checked_rows(inputs)
    given = given if given.ndim == 4 else given[:, None]
    if given.shape[3] in (1, 3) and given.shape[1] > 4:
        raise UsageError(f"images have shape {given.shape}, channels last: expected (n, C, H, W); transpose them")
    if min(given.shape[2:]) < least:
        raise UsageError(f"images are {given.shape[2]} x {given.shape[3]}: the recipe {recipe!r} needs {least} x "
                         f"{least} or more")
    if given.dtype.kind in "biu":
        return np.ascontiguousarray(given.astype(np.float32) / np.float32(127.5) - np.float32(1.0))
    return np.ascontiguousarray(given, dtype=np.float32)


class Convolutions(Network):
    """3×3 convolutions to `width` and 2 `width` channels, each with ReLU and 2×2 max pooling, then `hidden` ReLU units.

    Rows are (M, B, C, H, W) floats, H and W >= 4. Models are the groups of one convolution.
    """

    @property
    def together(self) -> int:  # type: ignore[override]
        """More than one on a GPU: a CPU takes twice as long for the groups of a convolution as for one by one."""
        return TOGETHER if need_torch().cuda.is_available() else 1

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Two convolutions, a dense layer, the head."""
        (channels, height, width), wide, hidden = self.shape, self.options.width, self.options.hidden
        flat = 2 * wide * (height // 4) * (width // 4)
        return {
            "conv0": he_normal(rng, wide, channels, 3, 3, fan=9 * channels), "conv0_bias": np.zeros(wide),
            "conv1": he_normal(rng, 2 * wide, wide, 3, 3, fan=9 * wide), "conv1_bias": np.zeros(2 * wide),
            "dense": he_normal(rng, flat, hidden, fan=flat), "dense_bias": np.zeros((1, hidden)),
            "head": he_normal(rng, hidden, self.n_classes, fan=hidden, gain=1.0),
            "head_bias": np.zeros((1, self.n_classes)),
        }

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """Logits, and the dense layer."""
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


class OnImages:
    """What recipes of `Convolutions` share: options `width` and `hidden`, and the form of their inputs."""

    __slots__ = ()

    name: ClassVar[str]
    takes_texts: ClassVar[bool] = False
    architecture: ClassVar[type[Network]] = Convolutions

    width: int
    hidden: int

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, C, H, W): two poolings leave something of 4 rows and columns."""
        return images(inputs, self.name, 4)


@recipes.register("cnn")
@dataclass(frozen=True, slots=True)
class Cnn(OnImages, ManyNetworksRecipe):
    """Convolutions of `width` and 2 `width` channels, a layer of `hidden` units; the others as in `NetworkRecipe`.

    Inputs are as for `images`. The label inference paper says "CNN" of its FashionMNIST model (Table 1) and no more:
    every number here is ours. Without dropout and augmentation, since what is memorised is what is measured.
    """

    name: ClassVar[str] = "cnn"

    width: int = 16
    hidden: int = 64

    def __post_init__(self) -> None:
        check_positive(self, "width", "hidden")
        ManyNetworksRecipe.__post_init__(self)


class ResidualNetwork(Network):
    """Stages of `width`, 2, 4 and 8 `width` channels, two blocks each. Rows are (1, B, C, H, W) floats."""

    @property
    def buffers(self) -> frozenset[str]:  # type: ignore[override]
        """The running means and variances of the normalisations."""
        return frozenset(f"{name}.{part}" for name, *_ in self._convolutions() for part in ("mean", "variance"))

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Convolutions and their normalisations, the head."""
        found: dict[str, NDArray[Any]] = {}
        for name, channels, out, size in self._convolutions():
            found[f"{name}.weight"] = he_normal(rng, out, channels, size, size, fan=size * size * out)
            found |= {f"{name}.scale": np.ones(out), f"{name}.shift": np.zeros(out),
                      f"{name}.mean": np.zeros(out), f"{name}.variance": np.ones(out)}
        last = self.options.width << (STAGES - 1)
        return found | {"head": he_normal(rng, self.n_classes, last, fan=last, gain=1.0),
                        "head_bias": np.zeros(self.n_classes)}

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """Logits, and the mean over the last image."""
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
        before = self.options.width
        yield "stem", self.shape[0], before, 3
        for stage in range(STAGES):
            wide = self.options.width << stage
            for block in range(BLOCKS):
                yield f"{stage}.{block}.first", before, wide, 3
                yield f"{stage}.{block}.second", wide, wide, 3
                if before != wide:
                    yield f"{stage}.{block}.short", before, wide, 1
                before = wide


@recipes.register("resnet18")
@dataclass(frozen=True, slots=True)
class Resnet18(NetworkRecipe):
    """Stages of `width`, 2, 4 and 8 `width` channels: 64 is the published network, 16 one for a CPU.

    Inputs are as for `images`; the other options are as in `NetworkRecipe`. The label inference paper says "ResNet-18"
    (Table 1) and neither stem, optimiser, epochs nor augmentation: the stem is 3×3 without pooling as He et al. have it
    for CIFAR (section 4.2), trained by Adam, without augmentation.
    """

    name: ClassVar[str] = "resnet18"
    takes_texts: ClassVar[bool] = False
    architecture: ClassVar[type[Network]] = ResidualNetwork

    epochs: int = 15
    width: int = 16

    def __post_init__(self) -> None:
        check_positive(self, "width")
        NetworkRecipe.__post_init__(self)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, C, H, W): fewer rows or columns than 9 leave the last normalisation of one image a single value."""
        return images(inputs, self.name, 9)
