"""What the recipes with one hidden layer share: features, many models of the same data, scores and a saved folder.

What is learnt from training rows (document frequencies, a mean) lives in a `Scaling`; the counts and embeddings
themselves depend on one text each, so that they can be made once for many models.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import Data, Fitted, Inputs, OneOfMany, Recipe, checked_training, checked_weights
from discreet.audit.train.perceptron import Matrix, Perceptron, Scaling, fit_perceptrons
from discreet.audit.train.plan import TrainingPlan, check_positive
from discreet.audit.train.spec import ARRAYS, saved_arrays, saving
from discreet.core.arrays import write_arrays
from discreet.core.errors import InputError, need
from discreet.core.folders import Manifest
from discreet.core.types import FloatArray, IntArray


def hashed_counts(texts: Sequence[str], features: int, ngrams: int = 1) -> Matrix:
    """CSR (n, features) of 1 + ln(tf): words of two letters and more, folded to lower case, in n-grams up to `ngrams`.

    Hashed (MurmurHash3 without signs): no vocabulary is learnt, and a saved model can hold no word.
    """
    hasher = need("sklearn.feature_extraction.text", "hashed TF-IDF", "audit").HashingVectorizer(
        n_features=features, ngram_range=(1, ngrams), alternate_sign=False, norm=None, dtype=np.float64)
    # The hasher cannot take an empty list.
    counts = hasher.transform(texts or [""]).tocsr()[: len(texts)]
    counts.sum_duplicates()
    counts.data = 1.0 + np.log(counts.data)
    return counts


def distinct(data: Data) -> tuple[IntArray, IntArray]:
    """First row of each distinct (input, label), rising, and for each row its place among them.

    Training on a record k times and on one row of weight k is then the same sum, bit for bit.
    """
    labels, inputs = data.labels.tolist(), data.inputs
    keys = zip(inputs if isinstance(inputs, tuple) else (row.tobytes() for row in inputs), labels, strict=True)
    places: dict[tuple[Any, int], int] = {}
    inverse = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    _, first = np.unique(inverse, return_index=True)
    return first.astype(np.int64), inverse


@dataclass(frozen=True, slots=True)
class FeatureRecipe(Recipe):
    """A recipe whose models are a scaling and one hidden layer of `hidden` ReLU units on features of one input each."""

    scaling: ClassVar[type[Scaling]]

    hidden: int = 32

    @abstractmethod
    def features(self, inputs: Inputs) -> Matrix:
        """Unscaled features (n, d); a row depends on its own input only."""

    def probe(self) -> NDArray[np.float32] | None:
        """What the source of the features makes of a known text; None where it is a fixed function."""
        return None

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.audit.train.base.Recipe`."""
        classes, probe = manifest.fact("n_classes", int), self.probe()
        state = saved_arrays(folder, {
            "first": (None, self.hidden), "first_bias": (self.hidden,), "second": (self.hidden, classes),
            "second_bias": (classes,), **self.scaling.shapes, **({} if probe is None else {"probe": (None,)})})
        if probe is not None and (state["probe"].shape != probe.shape or np.abs(state["probe"] - probe).max() > 1e-3):
            raise InputError(f"{folder} was trained on another encoder than the one that its recipe names here: "
                             "restore that encoder, or train again")
        net = Perceptron(**{name: state[name].astype(np.float32) for name in Perceptron.__slots__})
        scaling = self.scaling(**{name: state[name] for name in self.scaling.shapes})
        return FittedHead(self, scaling, net, manifest.facts["facts"])


@dataclass(frozen=True, slots=True)
class HeadRecipe(OneOfMany, FeatureRecipe):
    """Such a recipe, trained by Adam on all rows at once, many models together.

    Options: `hidden` ReLU units; `steps` updates of Adam on all rows at once at the learning rate `rate`, with the L2
    penalty `decay` and the label smoothing `smoothing` (see `TrainingPlan`); `patience` evaluations, one in `every`
    steps, without a lower validation loss end the training (none: never), and the best model is kept.
    """

    steps: int = 150
    rate: float = 0.01
    decay: float = 0.0
    smoothing: float = 0.0
    patience: int | None = None
    every: int = 5

    def __post_init__(self) -> None:
        check_positive(self, "hidden", "steps", "every")
        _ = self.plan

    @property
    def plan(self) -> TrainingPlan:
        """How the layers are trained."""
        return TrainingPlan(self.rate, self.steps, decay=self.decay, smoothing=self.smoothing,
                            patience=self.patience, eval_every=self.every)

    def fit_many(self, train: Data, weights: IntArray | None, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """Features are made once for all models; equal records become one row that weighs as many."""
        rows, merged = merged_records(train, weights, validation, n_classes, len(seeds))
        plan = self.plan
        if plan.patience is not None and not len(validation):
            raise InputError("patience needs validation rows and there is none: give some, or patience=none")
        checks = (self.features(validation.inputs), validation.labels) if plan.patience is not None else None
        trained = fit_perceptrons(self.features(rows.inputs), rows.labels, merged, n_classes, self.hidden, plan, seeds,
                                  self.scaling, checks)
        return [FittedHead(self, scaling, Perceptron(**one.state), {
            "steps": one.steps, "best_step": one.best_step, "learning_rate": plan.rate,
            "validation_curve": [[step, loss] for step, loss in one.validation_curve],
            "training_rows": int(row.sum()), "distinct_rows": int((row > 0).sum()),
        }) for (scaling, one), row in zip(trained, merged, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class FittedHead:
    """A scaling and a perceptron; see `discreet.audit.train.base.Fitted`."""

    recipe: FeatureRecipe
    scaling: Scaling
    net: Perceptron
    facts: Mapping[str, Any]

    def logits(self, inputs: Inputs) -> FloatArray:
        """(n, K)."""
        return self.net.logits(self._scaled(inputs))

    def hidden(self, inputs: Inputs) -> FloatArray:
        """(n, h) activations of the hidden layer, at least 0."""
        return self.net.hidden(self._scaled(inputs))

    def save(self, folder: Path) -> None:
        """Write the arrays and `recipe.json`."""
        arrays, probe = asdict(self.net) | asdict(self.scaling), self.recipe.probe()
        with saving(folder, self.recipe, self.net.second.shape[1], self.facts) as part:
            write_arrays(part / ARRAYS, arrays if probe is None else arrays | {"probe": probe})

    def _scaled(self, inputs: Inputs) -> Matrix:
        found, dim = self.recipe.features(inputs), self.net.first.shape[0]
        if found.shape[1] != dim:
            raise InputError(f"the inputs have {found.shape[1]} columns and the model was trained on {dim}: give "
                             "inputs of the same form")
        return self.scaling.apply(found)


def merged_records(train: Data, weights: IntArray | None, validation: Data, n_classes: int, models: int
                   ) -> tuple[Data, IntArray]:
    """The distinct records of checked training data, and how often each model is trained on each of them."""
    checked_training(train, validation, n_classes)
    counts = checked_weights(weights, train.labels, models, n_classes)
    first, inverse = distinct(train)
    merged = np.zeros((models, first.size), dtype=np.int64)
    for row, into in zip(counts, merged, strict=True):
        np.add.at(into, inverse, row)
    return train.take(first), merged
