"""`token-transformer`: a small transformer from scratch on the tokens of texts, such as source code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from discreet.train.base import Inputs, recipes
from discreet.train.networks.fitted import NetworkTraining
from discreet.train.networks.words import checked_words, word_rows

if TYPE_CHECKING:
    from discreet.train.networks.transformer import Encoder as Network


@recipes.register("token-transformer")
@dataclass(frozen=True, slots=True)
class CodeTransformer(NetworkTraining):
    """`layers` layers of `width` and `heads` heads, trained from scratch; the rest as in `Plan`.

    Inputs are texts, or token numbers (n, T) from 0 (nothing) to `vocabulary` − 1 that a vocabulary made. Tokens are
    words with their case and single marks, hashed to `vocabulary` − 1 numbers; of a text with more than `tokens` the
    first and the last half are read. The label inference paper says "Transformer" of its Big-Vul model (Table 1) and
    names LineVul (Fu and Tantithamthavorn 2022), a pretrained CodeBERT of 512 tokens; this is a small stand-in.
    """

    name: ClassVar[str] = "token-transformer"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "torch")

    vocabulary: int = 10000
    tokens: int = 128
    width: int = 64
    layers: int = 2
    heads: int = 4
    epochs: int = 10
    batch: int = 32
    rate: float = 0.001
    decay: float = 0.0
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        for name in ("width", "layers", "heads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: expected a whole number, at least 1")
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}: expected a multiple of heads, {self.heads}")
        checked_words(self.vocabulary, self.tokens)
        _ = self.plan

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """(n, tokens) token numbers."""
        return word_rows(inputs, self.name, self.vocabulary, self.tokens, code=True)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The encoder."""
        from discreet.train.networks.transformer import Encoder as Network

        return Network(self.vocabulary, self.tokens, self.width, self.layers, self.heads, n_classes)
