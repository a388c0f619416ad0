"""Two convolutions and a dense layer, many models at a time as the groups of one convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.train.networks.base import Params, Tensor, need_torch, nought, spread

TOGETHER = 8
"""Models on a GPU. A CPU takes twice as long for the groups of a convolution as for its models one by one."""


@dataclass(frozen=True, slots=True)
class Cnn:
    """3×3 convolutions to `width` and 2 `width` channels, each with ReLU and 2×2 max pooling, then `hidden` ReLU units.

    Rows are (M, B, C, H, W) floats, H and W >= 4; `shape` is (C, H, W).
    """

    shape: tuple[int, int, int]
    width: int
    hidden: int
    n_classes: int

    buffers: ClassVar[frozenset[str]] = frozenset()

    @property
    def together(self) -> int:
        """See `discreet.train.networks.base.Network`."""
        return TOGETHER if need_torch().cuda.is_available() else 1

    def start(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        channels, height, width = self.shape
        flat = 2 * self.width * (height // 4) * (width // 4)
        return {
            "conv0": spread(rng, self.width, channels, 3, 3, fan=9 * channels), "conv0_bias": nought(self.width),
            "conv1": spread(rng, 2 * self.width, self.width, 3, 3, fan=9 * self.width),
            "conv1_bias": nought(2 * self.width),
            "dense": spread(rng, flat, self.hidden, fan=flat), "dense_bias": nought(1, self.hidden),
            "head": spread(rng, self.hidden, self.n_classes, fan=self.hidden, gain=1.0),
            "head_bias": nought(1, self.n_classes),
        }

    def forward(self, params: Params, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        import torch

        models, batch = rows.shape[:2]
        image = rows.transpose(0, 1).reshape(batch, -1, *self.shape[1:])
        for layer in ("conv0", "conv1"):
            weight = params[layer]
            image = torch.nn.functional.conv2d(image, weight.reshape(-1, *weight.shape[2:]),
                                               params[f"{layer}_bias"].reshape(-1), padding=1, groups=models)
            image = torch.nn.functional.max_pool2d(image.relu(), 2)
        flat = image.reshape(batch, models, -1).transpose(0, 1)
        hidden = torch.baddbmm(params["dense_bias"], flat, params["dense"]).relu()
        return torch.baddbmm(params["head_bias"], hidden, params["head"]), hidden
