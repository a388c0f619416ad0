"""`rnn`: a recurrent network on texts, for reviews such as IMDB."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.encode.folders import Manifest
from discreet.train.base import Data, Fitted, Inputs, options_of, recipes
from discreet.train.networks.base import Plan
from discreet.train.networks.fitted import fit_networks, load_network
from discreet.train.networks.words import checked_words, word_rows

if TYPE_CHECKING:
    from discreet.train.networks.rnn import Rnn as Network


@recipes.register("rnn")
@dataclass(frozen=True, slots=True)
class Rnn:
    """An embedding, one LSTM (or GRU) and a dense head; the rest as in `Plan`.

    Inputs are texts, or token numbers (n, T) from 0 (nothing) to `vocabulary` − 1 that a vocabulary made. Words of a
    text are hashed to `vocabulary` − 1 numbers, so that no model holds a word; of a text with more than `tokens` words
    the first and the last half are read. `pool` is what the head sees: the mean of the states, or the last one. The
    label inference paper says "RNN" of its IMDB model (Table 1) and no more: every number here is ours.
    """

    name: ClassVar[str] = "rnn"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")

    kind: Literal["lstm", "gru"] = "lstm"
    pool: Literal["mean", "last"] = "mean"
    vocabulary: int = 10000
    tokens: int = 200
    embedding: int = 32
    hidden: int = 64
    epochs: int = 10
    batch: int = 64
    rate: float = 0.001
    decay: float = 0.0
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        for name in ("embedding", "hidden"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: expected a whole number, at least 1")
        checked_words(self.vocabulary, self.tokens)
        _ = self.plan

    @property
    def plan(self) -> Plan:
        """How the network is trained."""
        return Plan(self.epochs, self.batch, self.rate, self.decay, self.until_accuracy)

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, tokens) word numbers."""
        return word_rows(inputs, self.name, self.vocabulary, self.tokens, code=False)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The recurrent network."""
        from discreet.train.networks.rnn import Rnn as Network

        return Network(self.vocabulary, self.embedding, self.hidden, n_classes, self.kind, self.pool)

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return fit_networks(self, train, None, validation, n_classes, [seeds])[0]

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return load_network(self, folder, manifest)

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)
