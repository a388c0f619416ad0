"""`head`: one hidden layer on the sentence embeddings of a frozen encoder, or on rows of numbers as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import Inputs, files_of, recipes, rows_of, texts_of
from discreet.audit.train.heads import HeadRecipe
from discreet.audit.train.perceptron import Centred, Matrix, Scaling
from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash
from discreet.inputs.encode.base import Encoder
from discreet.inputs.encode.presets import build_encoders, default_cache, packaged_model, parse_encoders

PROBE = "The quick brown fox jumps over the lazy dog."
"""A sentence of nobody, by whose embedding an encoder is known again."""
CACHED_ROWS = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Embedder:
    """An encoder that remembers the rows it made, under a keyed hash of their texts that lives as long as itself."""

    encoder: Encoder
    _key: KeyedHash = field(default_factory=KeyedHash.fresh, repr=False)
    _kept: dict[str, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    def rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dim) embeddings, each of its own text only."""
        keys = [self._key.of(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        made = dict(zip(new, self.encoder.encode(list(new.values())), strict=True)) if new else {}
        rows = np.array([made[key] if key in made else self._kept[key] for key in keys], dtype=np.float32)
        if len(self._kept) + len(made) > CACHED_ROWS:
            self._kept.clear()
        self._kept.update(made)
        return rows.reshape(-1, self.encoder.dim)


@lru_cache(maxsize=2)
def embedder(spec: str) -> Embedder:
    """The encoder that `spec` names: "minilm" (the packaged one), "hashed", a folder, or a name on the hub.

    Raises what `discreet.inputs.encode.presets.build_encoders` raises, and UsageError for
    more than one encoder.
    """
    word = "embedded" if spec == "minilm" else spec
    if "," in word or any(wanted.source == "evidence" for wanted in parse_encoders(word)) or word == "paper":
        raise UsageError(f"the encoder {spec!r}: expected one of minilm, hashed, none, a folder or owner/model")
    (encoder,) = build_encoders(word, cache=default_cache())
    return Embedder(encoder)


class EmbeddedInputs:
    """The features of a recipe with the option `encoder`: embeddings of texts, or with "none" rows of numbers."""

    __slots__ = ()
    name: ClassVar[str]
    encoder: str

    def check_encoder(self) -> None:
        """Raise ValueError for an empty name."""
        if not self.encoder:
            raise ValueError("encoder is empty: expected one of minilm, hashed, none, a folder or owner/model")

    @property
    def takes_texts(self) -> bool:
        """Without an encoder rows of numbers alone."""
        return self.encoder != "none"

    def features(self, inputs: Inputs) -> Matrix:
        """Embeddings (n, d), or the rows as they are."""
        if self.encoder == "none":
            return rows_of(inputs, self.name)
        return embedder(self.encoder).rows(texts_of(inputs, self.name))

    def probe(self) -> NDArray[np.float32] | None:
        """The encoder's embedding of a known sentence."""
        return None if self.encoder == "none" else embedder(self.encoder).rows([PROBE])[0]

    def files(self) -> Mapping[str, Path]:
        """The encoder's, where it is a folder or minilm; none for a name on the hub."""
        folder = packaged_model() if self.encoder == "minilm" else Path(self.encoder)
        return files_of(folder) if folder.is_dir() else {}


@recipes.register("head")
@dataclass(frozen=True, slots=True)
class Head(EmbeddedInputs, HeadRecipe):
    """Options: `encoder`; the others as in `HeadRecipe`.

    `encoder` is "minilm" (the packaged all-MiniLM-L6-v2), "hashed", a folder, a name on the Hugging Face hub, or
    "none": the inputs are then an array (n, …), flattened. A saved model does not hold the encoder, only what it makes
    of a known sentence.
    """

    name: ClassVar[str] = "head"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "discreet.inputs.encode", "onnxruntime",
                                            "tokenizers")
    scaling: ClassVar[type[Scaling]] = Centred

    encoder: str = "minilm"

    def __post_init__(self) -> None:
        self.check_encoder()
        HeadRecipe.__post_init__(self)
