"""What the recipes with one hidden layer share: from data to many models, from a model to scores and a saved folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError
from discreet.core.folders import Manifest
from discreet.train.base import (
    Data,
    Fitted,
    FloatArray,
    Inputs,
    IntArray,
    checked_classes,
    checked_training,
    checked_weights,
)
from discreet.train.features import Matrix, Scaling, distinct, shaped
from discreet.train.perceptron import Perceptron, fit_perceptrons
from discreet.train.plan import TrainingPlan, check_positive
from discreet.train.saved import ARRAYS, saving
from discreet.train.spec import options_of


@dataclass(frozen=True, slots=True)
class HeadRecipe(ABC):
    """A recipe whose models are a scaling and one hidden layer on features of one input each.

    Options: `hidden` ReLU units; `steps` updates of Adam on all rows at once at the learning rate `rate`, with the L2
    penalty `decay`; `patience` evaluations, one in `every` steps, without a lower validation loss end the training
    (none: never), and the best model is kept.
    """

    name: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]
    scaling: ClassVar[type[Scaling]]
    """How the features are scaled."""

    hidden: int = 32
    steps: int = 150
    rate: float = 0.01
    decay: float = 0.0
    patience: int | None = None
    every: int = 5

    def __post_init__(self) -> None:
        check_positive(self, "hidden", "steps", "every")
        _ = self.plan

    @property
    def plan(self) -> TrainingPlan:
        """How the layers are trained."""
        return TrainingPlan(self.rate, self.steps, decay=self.decay, patience=self.patience, eval_every=self.every)

    @abstractmethod
    def features(self, inputs: Inputs) -> Matrix:
        """Unscaled features (n, d); a row depends on its own input only."""

    def probe(self) -> NDArray[np.float32] | None:
        """What the source of the features makes of a known text; None where it is a fixed function."""
        return None

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return self.fit_many(train, None, validation, n_classes, [seeds])[0]

    def fit_many(self, train: Data, weights: IntArray | None, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `discreet.train.base.ManyRecipe`; weights None = each row once.

        Features are made once for all models; equal records become one row that weighs as many.
        """
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

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        state, classes = read_arrays(folder / ARRAYS), manifest.fact("n_classes", int)
        try:
            dim, hidden = state["first"].shape
            shapes = {"first": (dim, hidden), "first_bias": (hidden,), "second": (hidden, classes),
                      "second_bias": (classes,)}
            net = Perceptron(**{name: shaped(state, name, one).astype(np.float32) for name, one in shapes.items()})
            scaling = self.scaling.restore(state, dim)
        except (KeyError, ValueError) as error:
            raise InputError(f"{folder}: an array of the saved model is missing or wrong: {error}; save the model "
                             "again") from None
        probe, wanted = self.probe(), state.get("probe")
        if probe is not None and (wanted is None or wanted.shape != probe.shape or np.abs(wanted - probe).max() > 1e-3):
            raise InputError(f"{folder} was trained on another encoder than the one that its recipe names here: "
                             "restore that encoder, or train again")
        return FittedHead(self, scaling, net, manifest.facts["facts"])

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)


@dataclass(frozen=True, slots=True, eq=False)
class FittedHead:
    """A scaling and a perceptron; see `discreet.train.base.Fitted`."""

    recipe: HeadRecipe
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
        arrays = {name: getattr(self.net, name) for name in Perceptron.__slots__} | self.scaling.state()
        probe = self.recipe.probe()
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
    counts = checked_weights(weights, models, len(train))
    checked_training(train, validation, n_classes)
    checked_classes(train.labels, counts, n_classes)
    first, inverse = distinct(train)
    merged = np.zeros((models, first.size), dtype=np.int64)
    for row, into in zip(counts, merged, strict=True):
        np.add.at(into, inverse, row)
    return train.take(first), merged
