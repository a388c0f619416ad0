"""A small transformer encoder (Vaswani et al. 2017) that normalises before each part, pooled by the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.train.networks.base import Params, Tensor, nought, one, spread
from discreet.train.networks.rnn import trimmed


@dataclass(frozen=True, slots=True)
class Encoder:
    """Rows are (1, B, T) token numbers, 0 behind the last token, T <= `tokens`; `width` is a multiple of `heads`."""

    vocabulary: int
    tokens: int
    width: int
    layers: int
    heads: int
    n_classes: int

    together: ClassVar[int] = 1
    buffers: ClassVar[frozenset[str]] = frozenset()

    def start(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        wide = self.width
        found = {"words": spread(rng, self.vocabulary, wide, fan=wide, gain=1.0),
                 "places": spread(rng, self.tokens, wide, fan=wide, gain=1.0)}
        for layer in range(self.layers):
            found |= {
                f"{layer}.norm0": one(wide), f"{layer}.norm0_bias": nought(wide),
                f"{layer}.look": spread(rng, 3 * wide, wide, fan=wide, gain=1.0),
                f"{layer}.look_bias": nought(3 * wide),
                f"{layer}.mix": spread(rng, wide, wide, fan=wide, gain=1.0 / self.layers),
                f"{layer}.mix_bias": nought(wide),
                f"{layer}.norm1": one(wide), f"{layer}.norm1_bias": nought(wide),
                f"{layer}.up": spread(rng, 4 * wide, wide, fan=wide), f"{layer}.up_bias": nought(4 * wide),
                f"{layer}.down": spread(rng, wide, 4 * wide, fan=4 * wide, gain=1.0 / self.layers),
                f"{layer}.down_bias": nought(wide),
            }
        return found | {"norm": one(wide), "norm_bias": nought(wide),
                        "head": spread(rng, self.n_classes, wide, fan=wide, gain=1.0),
                        "head_bias": nought(self.n_classes)}

    def forward(self, params: Params, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        import torch

        function = torch.nn.functional
        ids = trimmed(rows[0])
        there = ids > 0
        # A text of no token looks at its first place, where nothing stands.
        seen = there | (torch.arange(ids.shape[1], device=ids.device) == 0)

        def normed(name: str, states: Tensor) -> Tensor:
            return function.layer_norm(states, (self.width,), params[name][0], params[f"{name}_bias"][0])

        def dense(name: str, states: Tensor) -> Tensor:
            return function.linear(states, params[name][0], params[f"{name}_bias"][0])

        states = function.embedding(ids, params["words"][0]) + params["places"][0, : ids.shape[1]]
        for layer in range(self.layers):
            looked = dense(f"{layer}.look", normed(f"{layer}.norm0", states))
            query, key, value = looked.view(*ids.shape, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            mixed = function.scaled_dot_product_attention(query, key, value, attn_mask=seen[:, None, None, :])
            states = states + dense(f"{layer}.mix", mixed.transpose(1, 2).reshape(states.shape))
            wide = function.gelu(dense(f"{layer}.up", normed(f"{layer}.norm1", states)))
            states = states + dense(f"{layer}.down", wide)
        weight = seen.to(states.dtype)
        hidden = normed("norm", (states * weight[..., None]).sum(1) / weight.sum(1, keepdim=True))
        logits = function.linear(hidden, params["head"][0], params["head_bias"][0])
        return logits[None], hidden[None]
