"""Embedded words through one recurrent layer, then a dense head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.train.networks.base import Params, Tensor, nought, spread

Kind = Literal["lstm", "gru"]
Pool = Literal["mean", "last"]


@dataclass(frozen=True, slots=True)
class Rnn:
    """Rows are (1, B, T) word numbers, 0 behind the last word; the head sees the mean of all states, or the last."""

    vocabulary: int
    embedding: int
    hidden: int
    n_classes: int
    kind: Kind
    pool: Pool

    together: ClassVar[int] = 1
    buffers: ClassVar[frozenset[str]] = frozenset()

    def start(self, rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
        """See `discreet.train.networks.base.Network`."""
        gates = (4 if self.kind == "lstm" else 3) * self.hidden
        into_bias = nought(gates)
        if self.kind == "lstm":
            # The forget gate begins open (Jozefowicz et al. 2015).
            into_bias[self.hidden : 2 * self.hidden] = 1.0
        return {
            "words": spread(rng, self.vocabulary, self.embedding, fan=10, gain=1.0),
            "into": spread(rng, gates, self.embedding, fan=self.embedding, gain=1.0),
            "round": spread(rng, gates, self.hidden, fan=self.hidden, gain=1.0),
            "into_bias": into_bias, "round_bias": nought(gates),
            "head": spread(rng, self.n_classes, self.hidden, fan=self.hidden, gain=1.0),
            "head_bias": nought(self.n_classes),
        }

    def forward(self, params: Params, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """See `discreet.train.networks.base.Network`."""
        import torch

        ids = trimmed(rows[0])
        there = (ids > 0).to(params["head"].dtype)
        embedded = torch.nn.functional.embedding(ids, params["words"][0])
        first = embedded.new_zeros(1, ids.shape[0], self.hidden)
        weights = [params[name][0] for name in ("into", "round", "into_bias", "round_bias")]
        run: Any = torch.lstm if self.kind == "lstm" else torch.gru
        state = (first, first) if self.kind == "lstm" else first
        states = run(embedded, state, weights, True, 1, 0.0, training, False, True)[0]
        if self.pool == "mean":
            hidden = (states * there[..., None]).sum(1) / there.sum(1, keepdim=True).clamp(min=1.0)
        else:
            last = (there.sum(1).long() - 1).clamp(min=0)
            hidden = states[torch.arange(ids.shape[0], device=ids.device), last]
        logits = torch.nn.functional.linear(hidden, params["head"][0], params["head_bias"][0])
        return logits[None], hidden[None]


def trimmed(ids: Tensor) -> Tensor:
    """(B, T) word numbers without the columns at the end that hold nothing but 0; one column at the least."""
    longest = int((ids > 0).sum(1).max())
    return ids[:, : max(1, longest)]
