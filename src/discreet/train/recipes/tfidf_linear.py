"""`tfidf-linear`: logistic regression on hashed TF-IDF."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.core.folders import Manifest
from discreet.train.base import (
    Data,
    Fitted,
    FloatArray,
    Inputs,
    IntArray,
    Structures,
    checked_training,
    options_of,
    recipes,
    saving,
)
from discreet.train.features import Matrix, Tfidf, distinct, hashed_counts, shaped, texts_of
from discreet.train.mlp import ARRAYS, checked_classes, checked_weights, merged_weights
from discreet.train.products import exact_product
from discreet.train.recipes.tfidf_mlp import checked_hashing


@recipes.register("tfidf-linear")
@dataclass(frozen=True, slots=True)
class TfidfLinear:
    """The optimum is unique: seeds and validation rows change nothing.

    Options: `C` > 0, the inverse penalty (scikit-learn's: squared norm over 2, against C times the *sum* of log
    losses); `columns` (16 to 2^20) of `ngrams`-grams (1 to 3) of words.
    """

    name: ClassVar[str] = "tfidf-linear"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "scikit-learn", "scipy")

    C: float = 1.0
    columns: int = 4096
    ngrams: int = 1

    def __post_init__(self) -> None:
        if not (isfinite(self.C) and self.C > 0.0):
            raise ValueError(f"C is {self.C}: expected a finite number above 0")
        checked_hashing(self.columns, self.ngrams)

    def features(self, inputs: Inputs) -> Matrix:
        """Hashed counts (n, d)."""
        return hashed_counts(texts_of(inputs, self.name), self.columns, self.ngrams)

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return self.fit_many(train, np.ones((1, len(train)), dtype=np.int64), validation, n_classes, [seeds])[0]

    def fit_many(self, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `discreet.train.base.ManyRecipe`; only the counts are shared."""
        counts = checked_weights(weights, train, len(seeds))
        checked_training(train, validation, n_classes)
        checked_classes(counts, train, n_classes)
        first, inverse = distinct(train)
        rows = train.take(first)
        features = self.features(rows.inputs)
        return [self._fit(features, rows.labels, row, n_classes)
                for row in merged_weights(counts, inverse, first.size)]

    def _fit(self, features: Matrix, labels: IntArray, weights: IntArray, n_classes: int) -> Fitted:
        try:
            from sklearn.exceptions import ConvergenceWarning
            from sklearn.linear_model import LogisticRegression
        except ImportError:
            raise MissingExtraError("logistic regression", "audit", "sklearn") from None
        own = np.flatnonzero(weights)
        scaling = Tfidf.fit(features[own], weights[own].astype(np.float64))
        model = LogisticRegression(C=self.C, solver="lbfgs", max_iter=2000, tol=1e-6)
        with warnings.catch_warnings():
            # Whether it converged is among the facts.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(scaling.apply(features[own]), labels[own], sample_weight=weights[own].astype(np.float64))
        slopes, offsets = np.asarray(model.coef_).T, np.asarray(model.intercept_)
        if n_classes == 2:
            slopes, offsets = np.hstack([-slopes / 2, slopes / 2]), np.concatenate([-offsets / 2, offsets / 2])
        steps = int(np.max(model.n_iter_))
        facts = {"steps": steps, "best_step": steps, "converged": steps < model.max_iter,
                 "training_rows": int(weights.sum()), "distinct_rows": int(own.size)}
        return FittedLinear(self, scaling, slopes, offsets, facts)

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        state, classes = read_arrays(folder / ARRAYS), manifest.fact("n_classes", int)
        try:
            slopes, offsets = shaped(state, "slopes", (self.columns, classes)), shaped(state, "offsets", (classes,))
            return FittedLinear(self, Tfidf.restore(state, self.columns), slopes, offsets, manifest.facts["facts"])
        except (KeyError, ValueError) as error:
            raise InputError(f"{folder}: a saved model lacks or spoils {error}; save it again") from None

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)


@dataclass(frozen=True, slots=True, eq=False)
class FittedLinear:
    """logits = x `slopes` (d, K) + `offsets` (K,) on scaled counts."""

    recipe: TfidfLinear
    scaling: Tfidf
    slopes: FloatArray
    offsets: FloatArray
    facts: Mapping[str, Any]

    def logits(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, K)."""
        return exact_product(self.scaling.apply(self.recipe.features(data_inputs)), self.slopes) + self.offsets

    def hidden(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """Raises UsageError: it has none."""
        raise UsageError("a linear model has no representation before its head: use tfidf-mlp, head or transformer")

    def save(self, folder: Path) -> None:
        """Write the arrays and `recipe.json`."""
        with saving(folder, self.recipe, self.offsets.size, self.facts) as part:
            write_arrays(part / ARRAYS, {"slopes": self.slopes, "offsets": self.offsets} | self.scaling.state())
