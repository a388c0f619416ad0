"""`token-transformer`: a small transformer from scratch on the tokens of texts, such as source code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.train.base import Inputs, need_torch, recipes
from discreet.train.networks.bank import NetworkRecipe
from discreet.train.networks.base import Network, States, Tensor, he_normal, ones, zeros
from discreet.train.networks.inputs import check_vocabulary, token_ids
from discreet.train.plan import check_positive
from discreet.train.recipes.rnn import trimmed


@recipes.register("token-transformer")
@dataclass(frozen=True, slots=True)
class TokenTransformer(NetworkRecipe):
    """`layers` layers of `width` and `heads` heads, trained from scratch; the other options as in `NetworkRecipe`.

    Inputs are texts, or token numbers (n, T) from 0 (nothing) to `vocabulary` − 1 that a vocabulary made. Tokens are
    words with their case and single marks, hashed to `vocabulary` − 1 numbers; of a text with more than `tokens` the
    first and the last half are read. The label inference paper says "Transformer" of its Big-Vul model (Table 1) and
    names LineVul (Fu and Tantithamthavorn 2022), a pretrained CodeBERT of 512 tokens; this is a small stand-in.
    """

    name: ClassVar[str] = "token-transformer"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")

    batch: int = 32
    vocabulary: int = 10000
    tokens: int = 128
    width: int = 64
    layers: int = 2
    heads: int = 4

    def __post_init__(self) -> None:
        check_positive(self, "width", "layers", "heads")
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}: expected a multiple of heads, {self.heads}")
        check_vocabulary(self.vocabulary, self.tokens)
        NetworkRecipe.__post_init__(self)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, tokens) token numbers."""
        return token_ids(inputs, self.name, self.vocabulary, self.tokens, code=True)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The encoder."""
        return TransformerEncoder(self.vocabulary, self.tokens, self.width, self.layers, self.heads, n_classes)


@dataclass(frozen=True, slots=True)
class TransformerEncoder:
    """An encoder (Vaswani et al. 2017) that normalises before each part, pooled by the mean.

    Rows are (1, B, T) token numbers, 0 behind the last token, T <= `tokens`; `width` is a multiple of `heads`.
    """

    vocabulary: int
    tokens: int
    width: int
    layers: int
    heads: int
    n_classes: int

    together: ClassVar[int] = 1
    buffers: ClassVar[frozenset[str]] = frozenset()

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        wide = self.width
        found = {"words": he_normal(rng, self.vocabulary, wide, fan=wide, gain=1.0),
                 "places": he_normal(rng, self.tokens, wide, fan=wide, gain=1.0)}
        for layer in range(self.layers):
            found |= {
                f"{layer}.norm0": ones(wide), f"{layer}.norm0_bias": zeros(wide),
                f"{layer}.look": he_normal(rng, 3 * wide, wide, fan=wide, gain=1.0),
                f"{layer}.look_bias": zeros(3 * wide),
                f"{layer}.mix": he_normal(rng, wide, wide, fan=wide, gain=1.0 / self.layers),
                f"{layer}.mix_bias": zeros(wide),
                f"{layer}.norm1": ones(wide), f"{layer}.norm1_bias": zeros(wide),
                f"{layer}.up": he_normal(rng, 4 * wide, wide, fan=wide), f"{layer}.up_bias": zeros(4 * wide),
                f"{layer}.down": he_normal(rng, wide, 4 * wide, fan=4 * wide, gain=1.0 / self.layers),
                f"{layer}.down_bias": zeros(wide),
            }
        return found | {"norm": ones(wide), "norm_bias": zeros(wide),
                        "head": he_normal(rng, self.n_classes, wide, fan=wide, gain=1.0),
                        "head_bias": zeros(self.n_classes)}

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        torch = need_torch()
        functional = torch.nn.functional
        ids = trimmed(rows[0])
        # A text of no token attends to its first place, where nothing stands.
        seen = (ids > 0) | (torch.arange(ids.shape[1], device=ids.device) == 0)

        def normed(name: str, given: Tensor) -> Tensor:
            return functional.layer_norm(given, (self.width,), states[name][0], states[f"{name}_bias"][0])

        def dense(name: str, given: Tensor) -> Tensor:
            return functional.linear(given, states[name][0], states[f"{name}_bias"][0])

        stream = functional.embedding(ids, states["words"][0]) + states["places"][0, : ids.shape[1]]
        for layer in range(self.layers):
            projected = dense(f"{layer}.look", normed(f"{layer}.norm0", stream))
            query, key, value = projected.view(*ids.shape, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen[:, None, None, :])
            stream = stream + dense(f"{layer}.mix", attended.transpose(1, 2).reshape(stream.shape))
            wide = functional.gelu(dense(f"{layer}.up", normed(f"{layer}.norm1", stream)))
            stream = stream + dense(f"{layer}.down", wide)
        weight = seen.to(stream.dtype)
        hidden = normed("norm", (stream * weight[..., None]).sum(1) / weight.sum(1, keepdim=True))
        logits = functional.linear(hidden, states["head"][0], states["head_bias"][0])
        return logits[None], hidden[None]
