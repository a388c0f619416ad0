"""`tfidf-linear` and `tfidf-mlp`: logistic regression, and one hidden layer, on hashed TF-IDF."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet.audit.train.base import Data, Fitted, Inputs, OneOfMany, Recipe, recipes, texts_of
from discreet.audit.train.heads import HeadRecipe, hashed_counts, merged_records
from discreet.audit.train.perceptron import Matrix, Scaling, Tfidf, exact_product
from discreet.audit.train.plan import check_above
from discreet.audit.train.spec import ARRAYS, saved_arrays, saving
from discreet.core.arrays import write_arrays
from discreet.core.errors import UsageError, need
from discreet.core.folders import Manifest
from discreet.core.types import FloatArray, IntArray


class HashedInputs:
    """The features of a recipe with the options `columns` and `ngrams`: how often each hashed word, or row of words,
    stands in a text."""

    __slots__ = ()
    name: ClassVar[str]
    columns: int
    ngrams: int

    def check_hashing(self) -> None:
        """Raise ValueError for options out of range."""
        if not 16 <= self.columns <= 1 << 20:
            raise ValueError(f"columns is {self.columns}: expected a whole number from 16 to {1 << 20}")
        if not 1 <= self.ngrams <= 3:
            raise ValueError(f"ngrams is {self.ngrams}: expected 1, 2 or 3")

    def features(self, inputs: Inputs) -> Matrix:
        """Hashed counts (n, d)."""
        return hashed_counts(texts_of(inputs, self.name), self.columns, self.ngrams)


@recipes.register("tfidf-mlp")
@dataclass(frozen=True, slots=True)
class TfidfMlp(HashedInputs, HeadRecipe):
    """Small and quick, and it overfits well.

    Options: `columns` (16 to 2^20) of `ngrams`-grams (1 to 3) of words; the others as in `HeadRecipe`.
    """

    name: ClassVar[str] = "tfidf-mlp"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "scikit-learn", "scipy")
    scaling: ClassVar[type[Scaling]] = Tfidf

    hidden: int = 16
    steps: int = 80
    rate: float = 0.03
    columns: int = 2048
    ngrams: int = 1

    def __post_init__(self) -> None:
        self.check_hashing()
        HeadRecipe.__post_init__(self)


@recipes.register("tfidf-linear")
@dataclass(frozen=True, slots=True)
class TfidfLinear(HashedInputs, OneOfMany, Recipe):
    """The optimum is unique: seeds and validation rows change nothing.

    Options: `C` > 0, the inverse penalty (scikit-learn's: squared norm over 2, against C times the *sum* of log
    losses); `columns` (16 to 2^20) of `ngrams`-grams (1 to 3) of words.
    """

    name: ClassVar[str] = "tfidf-linear"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "scikit-learn", "scipy")

    draws: ClassVar[bool] = False

    C: float = 1.0
    columns: int = 4096
    ngrams: int = 1

    def __post_init__(self) -> None:
        check_above(self, "C")
        self.check_hashing()

    def fit_many(self, train: Data, weights: IntArray | None, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """Only the counts are shared."""
        rows, merged = merged_records(train, weights, validation, n_classes, len(seeds))
        features = self.features(rows.inputs)
        return [self._fit(features, rows.labels, row, n_classes) for row in merged]

    def _fit(self, features: Matrix, labels: IntArray, weights: IntArray, n_classes: int) -> Fitted:
        model = need("sklearn.linear_model", "logistic regression", "audit").LogisticRegression(
            C=self.C, solver="lbfgs", max_iter=2000, tol=1e-6)
        own = np.flatnonzero(weights)
        counts = weights[own].astype(np.float64)
        scaling = Tfidf.fit(features[own], counts)
        with warnings.catch_warnings():
            # Whether it converged is among the facts.
            warnings.simplefilter("ignore")
            model.fit(scaling.apply(features[own]), labels[own], sample_weight=counts)
        coefficients, intercepts = np.asarray(model.coef_).T, np.asarray(model.intercept_)
        if n_classes == 2:
            coefficients = np.hstack([-coefficients / 2, coefficients / 2])
            intercepts = np.concatenate([-intercepts / 2, intercepts / 2])
        steps = int(np.max(model.n_iter_))
        facts = {"steps": steps, "best_step": steps, "converged": steps < model.max_iter,
                 "training_rows": int(weights.sum()), "distinct_rows": int(own.size)}
        return FittedLinear(self, scaling, coefficients, intercepts, facts)

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.audit.train.base.Recipe`."""
        classes = manifest.fact("n_classes", int)
        state = saved_arrays(folder, {"idf": (self.columns,), "slopes": (self.columns, classes), "offsets": (classes,)})
        return FittedLinear(self, Tfidf(state["idf"]), state["slopes"], state["offsets"], manifest.facts["facts"])


@dataclass(frozen=True, slots=True, eq=False)
class FittedLinear:
    """logits = x `coefficients` (d, K) + `intercepts` (K,) on scaled counts."""

    recipe: TfidfLinear
    scaling: Tfidf
    coefficients: FloatArray
    intercepts: FloatArray
    facts: Mapping[str, Any]

    def logits(self, inputs: Inputs) -> FloatArray:
        """(n, K)."""
        return exact_product(self.scaling.apply(self.recipe.features(inputs)), self.coefficients) + self.intercepts

    def hidden(self, inputs: Inputs) -> FloatArray:
        """Raises UsageError: it has none."""
        raise UsageError("a linear model has no representation before its head: use tfidf-mlp, head or transformer")

    def save(self, folder: Path) -> None:
        """Write the arrays, under the names that earlier versions read, and `recipe.json`."""
        arrays = {"slopes": self.coefficients, "offsets": self.intercepts} | asdict(self.scaling)
        with saving(folder, self.recipe, self.intercepts.size, self.facts) as part:
            write_arrays(part / ARRAYS, arrays)
