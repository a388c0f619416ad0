"""ResNet-18 (He et al. 2016) with the stem for small images: 3×3, stride 1, no pooling (their section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.train.networks.base import Params, Tensor, nought, one, spread

STAGES, BLOCKS = 4, 2
MOMENTUM, TINY = 0.1, 1e-5


@dataclass(frozen=True, slots=True)
class Resnet18:
    """Stages of `width`, 2, 4 and 8 `width` channels, two blocks each. Rows are (1, B, C, H, W) floats."""

    channels: int
    width: int
    n_classes: int

    together: ClassVar[int] = 1

    @property
    def buffers(self) -> frozenset[str]:
        """The running means and variances of the normalisations."""
        return frozenset(f"{name}.{part}" for name, *_ in self._convolutions() for part in ("mean", "variance"))

    def start(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        found = {}
        for name, into, out, size in self._convolutions():
            found[f"{name}.weight"] = spread(rng, out, into, size, size, fan=size * size * out)
            found |= {f"{name}.scale": one(out), f"{name}.shift": nought(out),
                      f"{name}.mean": nought(out), f"{name}.variance": one(out)}
        last = self.width << (STAGES - 1)
        found["head"] = spread(rng, self.n_classes, last, fan=last, gain=1.0)
        found["head_bias"] = nought(self.n_classes)
        return found

    def forward(self, params: Params, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        import torch

        def convolved(name: str, image: Tensor, stride: int = 1) -> Tensor:
            weight = params[f"{name}.weight"][0]
            made = torch.nn.functional.conv2d(image, weight, stride=stride, padding=weight.shape[-1] // 2)
            return torch.nn.functional.batch_norm(
                made, params[f"{name}.mean"][0], params[f"{name}.variance"][0], params[f"{name}.scale"][0],
                params[f"{name}.shift"][0], training, MOMENTUM, TINY)

        image = convolved("stem", rows[0]).relu()
        for stage in range(STAGES):
            for block in range(BLOCKS):
                name, stride = f"{stage}.{block}", 2 if stage and not block else 1
                made = convolved(f"{name}.second", convolved(f"{name}.first", image, stride).relu())
                image = (made + (convolved(f"{name}.short", image, stride) if stride == 2 else image)).relu()
        hidden = image.mean((2, 3))
        logits = torch.nn.functional.linear(hidden, params["head"][0], params["head_bias"][0])
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
