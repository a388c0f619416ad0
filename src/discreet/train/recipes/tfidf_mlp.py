"""`tfidf-mlp`: one hidden layer on hashed TF-IDF, trained by full-batch Adam. Small and quick, and it overfits well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.train.base import Inputs, recipes
from discreet.train.features import Matrix, Scaling, Tfidf, hashed_counts, texts_of
from discreet.train.mlp import HeadTraining


@recipes.register("tfidf-mlp")
@dataclass(frozen=True, slots=True)
class TfidfMlp(HeadTraining):
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
    def scaling(self) -> type[Scaling]:
        """TF-IDF of the training rows."""
        return Tfidf

    def features(self, inputs: Inputs) -> Matrix:
        """Hashed counts (n, d)."""
        return hashed_counts(texts_of(inputs, self.name), self.columns, self.ngrams)

    def probe(self) -> None:
        """None: hashing is a fixed function."""
        return


def checked_hashing(features: int, ngrams: int) -> None:
    """ValueError for a number of columns or an n out of range."""
    if not 16 <= features <= 1 << 20:
        raise ValueError(f"columns is {features}: expected a whole number from 16 to {1 << 20}")
    if not 1 <= ngrams <= 3:
        raise ValueError(f"ngrams is {ngrams}: expected 1, 2 or 3")
