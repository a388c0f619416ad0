"""`head`: one hidden layer on the sentence embeddings of a frozen encoder, or on rows of numbers as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.encode.presets import packaged_model
from discreet.train.base import Inputs, files_of, recipes, rows_of, texts_of
from discreet.train.features import Centred, Matrix, Scaling, embedder
from discreet.train.heads import HeadRecipe


@recipes.register("head")
@dataclass(frozen=True, slots=True)
class Head(HeadRecipe):
    """Options: `encoder`; the others as in `HeadRecipe`.

    `encoder` is "minilm" (the packaged all-MiniLM-L6-v2), "hashed", a folder, a name on the Hugging Face hub, or
    "none": the inputs are then an array (n, …), flattened. A saved model does not hold the encoder, only what it makes
    of a known sentence.
    """

    name: ClassVar[str] = "head"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "discreet.encode", "onnxruntime", "tokenizers")
    scaling: ClassVar[type[Scaling]] = Centred

    encoder: str = "minilm"

    def __post_init__(self) -> None:
        if not self.encoder:
            raise ValueError("encoder is empty: expected one of minilm, hashed, none, a folder or owner/model")
        HeadRecipe.__post_init__(self)

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
        return None if self.encoder == "none" else embedder(self.encoder).probe()

    def files(self) -> Mapping[str, Path]:
        """The encoder's, where it is a folder or minilm; none for a name on the hub."""
        folder = packaged_model() if self.encoder == "minilm" else Path(self.encoder)
        return files_of(folder) if folder.is_dir() else {}
