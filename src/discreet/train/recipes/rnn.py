"""`rnn`: a recurrent network on texts, for reviews such as IMDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.train.base import Inputs, need_torch, recipes
from discreet.train.networks.bank import NetworkRecipe
from discreet.train.networks.base import Network, States, Tensor, he_normal, zeros
from discreet.train.networks.inputs import check_vocabulary, token_ids
from discreet.train.plan import check_positive

Kind = Literal["lstm", "gru"]
Pool = Literal["mean", "last"]


@recipes.register("rnn")
@dataclass(frozen=True, slots=True)
class Rnn(NetworkRecipe):
    """An embedding, one LSTM (or GRU) and a dense head; the other options as in `NetworkRecipe`.

    Inputs are texts, or token numbers (n, T) from 0 (nothing) to `vocabulary` − 1 that a vocabulary made. Words of a
    text are hashed to `vocabulary` − 1 numbers, so that no model holds a word; of a text with more than `tokens` words
    the first and the last half are read. `pool` is what the head sees: the mean of the states, or the last one. The
    label inference paper says "RNN" of its IMDB model (Table 1) and no more: every number here is ours.
    """

    name: ClassVar[str] = "rnn"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")

    kind: Kind = "lstm"
    pool: Pool = "mean"
    vocabulary: int = 10000
    tokens: int = 200
    embedding: int = 32
    hidden: int = 64

    def __post_init__(self) -> None:
        check_positive(self, "embedding", "hidden")
        check_vocabulary(self.vocabulary, self.tokens)
        NetworkRecipe.__post_init__(self)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, tokens) word numbers."""
        return token_ids(inputs, self.name, self.vocabulary, self.tokens, code=False)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The recurrent network."""
        return Recurrent(self.vocabulary, self.embedding, self.hidden, n_classes, self.kind, self.pool)


@dataclass(frozen=True, slots=True)
class Recurrent:
    """Rows are (1, B, T) word numbers, 0 behind the last word; the head sees the mean of all states, or the last."""

    vocabulary: int
    embedding: int
    hidden: int
    n_classes: int
    kind: Kind
    pool: Pool

    together: ClassVar[int] = 1
    buffers: ClassVar[frozenset[str]] = frozenset()

    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        gates = (4 if self.kind == "lstm" else 3) * self.hidden
        input_bias = zeros(gates)
        if self.kind == "lstm":
            # The forget gate begins open (Jozefowicz et al. 2015).
            input_bias[self.hidden : 2 * self.hidden] = 1.0
        return {
            "words": he_normal(rng, self.vocabulary, self.embedding, fan=10, gain=1.0),
            "into": he_normal(rng, gates, self.embedding, fan=self.embedding, gain=1.0),
            "round": he_normal(rng, gates, self.hidden, fan=self.hidden, gain=1.0),
            "into_bias": input_bias, "round_bias": zeros(gates),
            "head": he_normal(rng, self.n_classes, self.hidden, fan=self.hidden, gain=1.0),
            "head_bias": zeros(self.n_classes),
        }

    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        torch = need_torch()
        ids = trimmed(rows[0])
        there = (ids > 0).to(states["head"].dtype)
        embedded = torch.nn.functional.embedding(ids, states["words"][0])
        first = embedded.new_zeros(1, ids.shape[0], self.hidden)
        weights = [states[name][0] for name in ("into", "round", "into_bias", "round_bias")]
        run: Any = torch.lstm if self.kind == "lstm" else torch.gru
        state = (first, first) if self.kind == "lstm" else first
        outputs = run(embedded, state, weights, True, 1, 0.0, training, False, True)[0]
        if self.pool == "mean":
            hidden = (outputs * there[..., None]).sum(1) / there.sum(1, keepdim=True).clamp(min=1.0)
        else:
            last = (there.sum(1).long() - 1).clamp(min=0)
            hidden = outputs[torch.arange(ids.shape[0], device=ids.device), last]
        logits = torch.nn.functional.linear(hidden, states["head"][0], states["head_bias"][0])
        return logits[None], hidden[None]


def trimmed(ids: Tensor) -> Tensor:
    """(B, T) word numbers without the columns at the end that hold nothing but 0; one column at the least."""
    longest = int((ids > 0).sum(1).max())
    return ids[:, : max(1, longest)]
