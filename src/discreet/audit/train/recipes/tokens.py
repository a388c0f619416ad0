"""Networks on texts, trained from scratch: `rnn`, for reviews such as IMDB; `token-transformer`, for source code."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import Inputs, checked_texts, need_torch, recipes
from discreet.audit.train.loop import Network, States, Tensor, he_normal
from discreet.audit.train.networks import NetworkRecipe
from discreet.audit.train.plan import check_positive
from discreet.core.errors import InputError, UsageError
from discreet.core.types import IntArray

PROSE = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
CODE = re.compile(r"\w+|[^\w\s]")


def words_of(text: str, *, code: bool = False) -> list[str]:
    """Words folded to lower case; of code, names and numbers as they are, and each mark."""
    return CODE.findall(text) if code else PROSE.findall(text.lower())


def hashed_ids(texts: Sequence[str], vocabulary: int, length: int, *, code: bool = False) -> IntArray:
    """(n, length) numbers 1 … vocabulary − 1 by CRC-32 of each word, and 0 behind the last.

    Of a text with more than `length` words the first half, rounded up, and the last are kept. ValueError for a
    vocabulary below 2 or a length below 1.
    """
    if vocabulary < 2 or length < 1:
        raise ValueError(f"vocabulary {vocabulary} and length {length}: expected at least 2 and 1")
    # Each word is hashed once: texts repeat their words.
    kept: dict[str, int] = {}
    found = np.zeros((len(texts), length), dtype=np.int64)
    for row, text in zip(found, texts, strict=True):
        words = words_of(text, code=code)
        if len(words) > length:
            tail = length // 2
            words = words[: length - tail] + words[len(words) - tail :]
        for word in words:
            if word not in kept:
                kept[word] = 1 + zlib.crc32(word.encode("utf-8", "surrogatepass")) % (vocabulary - 1)
        row[: len(words)] = [kept[word] for word in words]
    return found


@dataclass(frozen=True, slots=True)
class TokenRecipe(NetworkRecipe):
    """A network on texts, or on token numbers (n, T) from 0 (nothing) to `vocabulary` − 1 that a vocabulary made.

    Tokens of a text are hashed to `vocabulary` − 1 numbers, so that no model holds a word; of a text with more than
    `tokens` of them the first and the last half are read.
    """

    code: ClassVar[bool]
    """Whether tokens are words with their case and single marks, as in source code; else words alone."""

    vocabulary: int = 10000
    tokens: int = 200

    def __post_init__(self) -> None:
        if not 2 <= self.vocabulary <= 1 << 20:
            raise ValueError(f"vocabulary is {self.vocabulary}: expected a whole number from 2 to {1 << 20}")
        if not 1 <= self.tokens <= 4096:
            raise ValueError(f"tokens is {self.tokens}: expected a whole number from 1 to 4096")
        NetworkRecipe.__post_init__(self)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, tokens) numbers. Raises UsageError for other arrays, InputError for numbers beyond the vocabulary."""
        if not isinstance(inputs, np.ndarray):
            return hashed_ids(checked_texts(inputs), self.vocabulary, self.tokens, code=self.code)
        if inputs.ndim != 2 or inputs.dtype.kind not in "iu" or inputs.shape[1] > self.tokens:
            raise UsageError(f"the recipe {self.name!r} takes texts and was given an array of {inputs.dtype} of shape "
                             f"{inputs.shape}: give texts, or token numbers (n, {self.tokens}), or another recipe")
        if inputs.size and (int(inputs.min()) < 0 or int(inputs.max()) >= self.vocabulary):
            raise InputError(f"token numbers reach from {int(inputs.min())} to {int(inputs.max())}: expected 0 to "
                             f"{self.vocabulary - 1}; give a larger vocabulary")
        return np.pad(inputs.astype(np.int64), ((0, 0), (0, self.tokens - inputs.shape[1])))


def trimmed(ids: Tensor) -> Tensor:
    """(B, T) word numbers without the columns at the end that hold nothing but 0; one column at the least."""
    longest = int((ids > 0).sum(1).max())
    return ids[:, : max(1, longest)]


class Recurrent(Network):
    """Rows are (1, B, T) word numbers, 0 behind the last word; the head sees the mean of all states."""

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Embedding, gates, head."""
        hidden, lstm = self.options.hidden, self.options.kind == "lstm"
        gates = (4 if lstm else 3) * hidden
        input_bias = np.zeros(gates)
        if lstm:
            # The forget gate begins open (Jozefowicz et al. 2015).
            input_bias[hidden : 2 * hidden] = 1.0
        wide = self.options.embedding
        return {
            "words": he_normal(rng, self.options.vocabulary, wide, fan=10, gain=1.0),
            "into": he_normal(rng, gates, wide, fan=wide, gain=1.0),
            "round": he_normal(rng, gates, hidden, fan=hidden, gain=1.0),
            "into_bias": input_bias, "round_bias": np.zeros(gates),
            "head": he_normal(rng, self.n_classes, hidden, fan=hidden, gain=1.0), "head_bias": np.zeros(self.n_classes),
        }

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """Logits, and the state that the head sees."""
        torch, lstm = need_torch(), self.options.kind == "lstm"
        ids = trimmed(rows[0])
        there = (ids > 0).to(states["head"].dtype)
        embedded = torch.nn.functional.embedding(ids, states["words"][0])
        first = embedded.new_zeros(1, ids.shape[0], self.options.hidden)
        weights = [states[name][0] for name in ("into", "round", "into_bias", "round_bias")]
        run: Any = torch.lstm if lstm else torch.gru
        outputs = run(embedded, (first, first) if lstm else first, weights, True, 1, 0.0, training, False, True)[0]
        hidden = (outputs * there[..., None]).sum(1) / there.sum(1, keepdim=True).clamp(min=1.0)
        logits = torch.nn.functional.linear(hidden, states["head"][0], states["head_bias"][0])
        return logits[None], hidden[None]


@recipes.register("rnn")
@dataclass(frozen=True, slots=True)
class Rnn(TokenRecipe):
    """An embedding, one LSTM (or GRU) and a dense head; the other options as in `TokenRecipe` and `NetworkRecipe`.

    The head sees the mean of the states. The label inference paper says "RNN" of its IMDB model (Table 1) and no more:
    every number here is ours.
    """

    name: ClassVar[str] = "rnn"
    architecture: ClassVar[type[Network]] = Recurrent
    code: ClassVar[bool] = False

    kind: Literal["lstm", "gru"] = "lstm"
    embedding: int = 32
    hidden: int = 64

    def __post_init__(self) -> None:
        check_positive(self, "embedding", "hidden")
        TokenRecipe.__post_init__(self)


class TransformerEncoder(Network):
    """An encoder (Vaswani et al. 2017) that normalises before each part, pooled by the mean.

    Rows are (1, B, T) token numbers, 0 behind the last token, T <= `tokens`.
    """

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Embeddings of tokens and places, layers, head."""
        wide, layers = self.options.width, self.options.layers
        found = {"words": he_normal(rng, self.options.vocabulary, wide, fan=wide, gain=1.0),
                 "places": he_normal(rng, self.options.tokens, wide, fan=wide, gain=1.0)}
        for layer in range(layers):
            found |= {
                f"{layer}.norm0": np.ones(wide), f"{layer}.norm0_bias": np.zeros(wide),
                f"{layer}.look": he_normal(rng, 3 * wide, wide, fan=wide, gain=1.0),
                f"{layer}.look_bias": np.zeros(3 * wide),
                f"{layer}.mix": he_normal(rng, wide, wide, fan=wide, gain=1.0 / layers),
                f"{layer}.mix_bias": np.zeros(wide),
                f"{layer}.norm1": np.ones(wide), f"{layer}.norm1_bias": np.zeros(wide),
                f"{layer}.up": he_normal(rng, 4 * wide, wide, fan=wide), f"{layer}.up_bias": np.zeros(4 * wide),
                f"{layer}.down": he_normal(rng, wide, 4 * wide, fan=4 * wide, gain=1.0 / layers),
                f"{layer}.down_bias": np.zeros(wide),
            }
        return found | {"norm": np.ones(wide), "norm_bias": np.zeros(wide),
                        "head": he_normal(rng, self.n_classes, wide, fan=wide, gain=1.0),
                        "head_bias": np.zeros(self.n_classes)}

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """Logits, and the mean of the last layer."""
        torch = need_torch()
        functional = torch.nn.functional
        ids = trimmed(rows[0])
        # A text of no token attends to its first place, where nothing stands.
        seen = (ids > 0) | (torch.arange(ids.shape[1], device=ids.device) == 0)

        def normed(name: str, given: Tensor) -> Tensor:
            return functional.layer_norm(given, given.shape[-1:], states[name][0], states[f"{name}_bias"][0])

        def dense(name: str, given: Tensor) -> Tensor:
            return functional.linear(given, states[name][0], states[f"{name}_bias"][0])

        stream = functional.embedding(ids, states["words"][0]) + states["places"][0, : ids.shape[1]]
        for layer in range(self.options.layers):
            projected = dense(f"{layer}.look", normed(f"{layer}.norm0", stream))
            query, key, value = projected.view(*ids.shape, 3, self.options.heads, -1).permute(2, 0, 3, 1, 4)
            attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen[:, None, None, :])
            stream = stream + dense(f"{layer}.mix", attended.transpose(1, 2).reshape(stream.shape))
            wide = functional.gelu(dense(f"{layer}.up", normed(f"{layer}.norm1", stream)))
            stream = stream + dense(f"{layer}.down", wide)
        weight = seen.to(stream.dtype)
        hidden = normed("norm", (stream * weight[..., None]).sum(1) / weight.sum(1, keepdim=True))
        return dense("head", hidden)[None], hidden[None]


@recipes.register("token-transformer")
@dataclass(frozen=True, slots=True)
class TokenTransformer(TokenRecipe):
    """`layers` layers of `width` and `heads` heads; the other options as in `TokenRecipe` and `NetworkRecipe`.

    The label inference paper says "Transformer" of its Big-Vul model (Table 1) and names LineVul (Fu and
    Tantithamthavorn 2022), a pretrained CodeBERT of 512 tokens; this is a small stand-in.
    """

    name: ClassVar[str] = "token-transformer"
    architecture: ClassVar[type[Network]] = TransformerEncoder
    code: ClassVar[bool] = True

    batch: int = 32
    tokens: int = 128
    width: int = 64
    layers: int = 2
    heads: int = 4

    def __post_init__(self) -> None:
        check_positive(self, "width", "layers", "heads")
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}: expected a multiple of heads, {self.heads}")
        TokenRecipe.__post_init__(self)
