"""A perceptron of any number of ReLU layers, many models at a time, with its slopes in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.train.networks.base import Params, Tensor, nought, spread


@dataclass(frozen=True, slots=True)
class Mlp:
    """`widths` are those of inputs, hidden layers and classes. Rows are (M, B, d) floats."""

    widths: tuple[int, ...]

    together: ClassVar[int] = 64
    buffers: ClassVar[frozenset[str]] = frozenset()

    @property
    def depth(self) -> int:
        """How many matrices there are."""
        return len(self.widths) - 1

    def start(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        found = {}
        for layer, (wide, narrow) in enumerate(pairwise(self.widths)):
            found[f"weight{layer}"] = spread(rng, wide, narrow, fan=wide, gain=1.0 if layer + 1 == self.depth else 2.0)
            found[f"bias{layer}"] = nought(1, narrow)
        return found

    def forward(self, params: Params, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        layers = self._layers(params, rows)
        return layers[-1], layers[-2]

    def slopes(self, params: Params, rows: Tensor, truth: Tensor, share: Tensor, into: Params) -> Tensor:
        """See `discreet.train.networks.base.DirectNetwork`."""
        import torch

        layers = self._layers(params, rows)
        error = (torch.softmax(layers[-1], -1) - truth).mul_(share[..., None])
        for layer in range(self.depth - 1, -1, -1):
            torch.bmm(layers[layer].transpose(1, 2), error, out=into[f"weight{layer}"])
            torch.sum(error, 1, keepdim=True, out=into[f"bias{layer}"])
            if layer:
                back = torch.bmm(error, params[f"weight{layer}"].transpose(1, 2))
                error = torch.ops.aten.threshold_backward(back, layers[layer], 0.0)
        return layers[-1]

    def _layers(self, params: Params, rows: Tensor) -> list[Tensor]:
        """The rows, each hidden layer, and the logits."""
        import torch

        found = [rows]
        for layer in range(self.depth):
            made = torch.baddbmm(params[f"bias{layer}"], found[-1], params[f"weight{layer}"])
            found.append(made if layer + 1 == self.depth else made.relu_())
        return found
