"""`head`: one hidden layer on the sentence embeddings of a frozen encoder, or on rows of numbers as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.encode.folders import Manifest
from discreet.train.bank import Plan
from discreet.train.base import Data, Fitted, Inputs, IntArray, files_of, options_of, recipes
from discreet.train.features import Centred, Matrix, Scaling, embedder, rows_of, texts_of
from discreet.train.mlp import fit_heads, load_head


@recipes.register("head")
@dataclass(frozen=True, slots=True)
class Head:
    """Options: `encoder`; the others as in `Plan`.

    `encoder` is "minilm" (the packaged all-MiniLM-L6-v2), "hashed", a folder, a name on the Hugging Face hub, or
    "none": the inputs are then an array (n, …), flattened. A saved model does not hold the encoder, only what it makes
    of a known sentence.
    """

    name: ClassVar[str] = "head"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "discreet.encode", "onnxruntime", "tokenizers")

    encoder: str = "minilm"
    hidden: int = 32
    steps: int = 150
    rate: float = 0.01
    decay: float = 0.0
    patience: int | None = None
    every: int = 5

    def __post_init__(self) -> None:
        if not self.encoder:
            raise ValueError("encoder is empty: expected one of minilm, hashed, none, a folder or owner/model")
        _ = self.plan

    @property
    def plan(self) -> Plan:
        """How the net is trained."""
        return Plan(self.hidden, self.steps, self.rate, self.decay, self.patience, self.every)

    @property
    def scaling(self) -> type[Scaling]:
        """Centred on the training rows."""
        return Centred

    def features(self, inputs: Inputs) -> Matrix:
        """Embeddings (n, d), or the rows as they are."""
        if self.encoder == "none":
            return rows_of(inputs, self.name)
        return embedder(self.encoder).rows(texts_of(inputs, self.name))

    def probe(self) -> NDArray[np.float32] | None:
        """The encoder's embedding of a known sentence."""
        return None if self.encoder == "none" else embedder(self.encoder).probe()

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return fit_heads(self, train, None, validation, n_classes, [seeds])[0]

    def fit_many(self, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `discreet.train.base.ManyRecipe`."""
        return fit_heads(self, train, weights, validation, n_classes, seeds)

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return load_head(self, folder, manifest)

    def files(self) -> Mapping[str, Path]:
        """The encoder's, where it is a folder or minilm; a name on the hub stands for itself."""
        if self.encoder == "minilm":
            from discreet.encode.presets import packaged_model

            return files_of(packaged_model())
        return files_of(Path(self.encoder)) if Path(self.encoder).is_dir() else {}

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)
