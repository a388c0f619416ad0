"""`rnn`: a recurrent network on texts, for reviews such as IMDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numpy.typing import NDArray

from discreet.train.base import Inputs, recipes
from discreet.train.networks.fitted import NetworkTraining
from discreet.train.networks.words import checked_words, word_rows

if TYPE_CHECKING:
    from discreet.train.networks.rnn import Rnn as Network


@recipes.register("rnn")
@dataclass(frozen=True, slots=True)
class Rnn(NetworkTraining):
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

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, tokens) word numbers."""
        return word_rows(inputs, self.name, self.vocabulary, self.tokens, code=False)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The recurrent network."""
        from discreet.train.networks.rnn import Rnn as Network

        return Network(self.vocabulary, self.embedding, self.hidden, n_classes, self.kind, self.pool)
