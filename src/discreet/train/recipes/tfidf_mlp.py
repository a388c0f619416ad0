"""`tfidf-mlp`: one hidden layer on hashed TF-IDF, trained by full-batch Adam. Small and quick, and it overfits well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet.encode.folders import Manifest
from discreet.train.bank import Plan
from discreet.train.base import Data, Fitted, Inputs, IntArray, options_of, recipes
from discreet.train.features import Matrix, Scaling, Tfidf, hashed_counts, texts_of
from discreet.train.mlp import fit_heads, load_head


@recipes.register("tfidf-mlp")
@dataclass(frozen=True, slots=True)
class TfidfMlp:
    """Options: `columns` (16 to 2^20) of `ngrams`-grams (1 to 3) of words; the others as in `Plan`."""

    name: ClassVar[str] = "tfidf-mlp"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "scikit-learn", "scipy")

    columns: int = 2048
    ngrams: int = 1
    hidden: int = 16
    steps: int = 80
    rate: float = 0.03
    decay: float = 0.0
    patience: int | None = None
    every: int = 5

    def __post_init__(self) -> None:
        checked_hashing(self.columns, self.ngrams)
        _ = self.plan

    @property
    def plan(self) -> Plan:
        """How the net is trained."""
        return Plan(self.hidden, self.steps, self.rate, self.decay, self.patience, self.every)

    @property
    def scaling(self) -> type[Scaling]:
        """TF-IDF of the training rows."""
        return Tfidf

    def features(self, inputs: Inputs) -> Matrix:
        """Hashed counts (n, d)."""
        return hashed_counts(texts_of(inputs, self.name), self.columns, self.ngrams)

    def probe(self) -> None:
        """None: hashing is a fixed function."""
        return

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

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)


def checked_hashing(features: int, ngrams: int) -> None:
    """ValueError for a number of columns or an n out of range."""
    if not 16 <= features <= 1 << 20:
        raise ValueError(f"columns is {features}: expected a whole number from 16 to {1 << 20}")
    if not 1 <= ngrams <= 3:
        raise ValueError(f"ngrams is {ngrams}: expected 1, 2 or 3")
