"""What the recipes with one hidden layer share: from data to a bank, from a bank to models that score and are saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError
from discreet.core.folders import Manifest
from discreet.train.bank import Net, Plan, fit_bank
from discreet.train.base import (
    Data,
    Fitted,
    FloatArray,
    Inputs,
    IntArray,
    Recipe,
    Structures,
    checked_training,
    options_of,
    saving,
)
from discreet.train.features import Matrix, Scaling, distinct, shaped

ARRAYS = "model.safetensors"
PARTS = ("first", "first_bias", "second", "second_bias")


class HeadRecipe(Recipe, Protocol):
    """A recipe whose models are a scaling and a net on features of one input each."""

    @property
    def plan(self) -> Plan:
        """How the net is trained."""
        ...

    @property
    def scaling(self) -> type[Scaling]:
        """What the features are brought to."""
        ...

    def features(self, inputs: Inputs) -> Matrix:
        """Unscaled features (n, d), a row of its own input only."""
        ...

    def probe(self) -> NDArray[np.float32] | None:
        """What the source of the features makes of a known text; None where it is a fixed function."""
        ...


class HeadTraining:
    """What a recipe has from its `scaling`, `features` and `probe`. A dataclass that has the options of `Plan`."""

    __slots__ = ()

    @property
    def plan(self) -> Plan:
        """How the net is trained."""
        return Plan(**{one.name: getattr(self, one.name) for one in fields(Plan)})

    def fit(self: HeadRecipe, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return fit_heads(self, train, None, validation, n_classes, [seeds])[0]

    def fit_many(self: HeadRecipe, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `discreet.train.base.ManyRecipe`."""
        return fit_heads(self, train, weights, validation, n_classes, seeds)

    def load(self: HeadRecipe, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return load_head(self, folder, manifest)

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)


@dataclass(frozen=True, slots=True, eq=False)
class FittedMlp:
    """A scaling and a net; see `discreet.train.base.Fitted`."""

    recipe: HeadRecipe
    scaling: Scaling
    net: Net
    facts: Mapping[str, Any]

    def logits(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, K)."""
        return self.net.logits(self._scaled(data_inputs))

    def hidden(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, h) activations of the hidden layer, at least 0."""
        return self.net.hidden(self._scaled(data_inputs))

    def save(self, folder: Path) -> None:
        """Write the arrays and `recipe.json`."""
        arrays = {name: getattr(self.net, name) for name in PARTS} | self.scaling.state()
        probe = self.recipe.probe()
        with saving(folder, self.recipe, self.net.second.shape[1], self.facts) as part:
            write_arrays(part / ARRAYS, arrays if probe is None else arrays | {"probe": probe})

    def _scaled(self, inputs: Inputs) -> Matrix:
        found, dim = self.recipe.features(inputs), self.net.first.shape[0]
        if found.shape[1] != dim:
            raise InputError(f"the inputs have {found.shape[1]} columns and the model was trained on {dim}: give "
                             "inputs of the same form")
        return self.scaling.apply(found)


def fit_heads(recipe: HeadRecipe, train: Data, weights: IntArray | None, validation: Data, n_classes: int,
              seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
    """One model for each of `seeds`; `weights` (M, n) as in `ManyRecipe.fit_many`, None = each row once.

    Features are made once for all models; equal records become one row that weighs as many.
    """
    counts = checked_weights(weights, train, len(seeds))
    checked_training(train, validation, n_classes)
    checked_classes(counts, train, n_classes)
    first, inverse = distinct(train)
    merged = merged_weights(counts, inverse, first.size)
    plan = recipe.plan
    if plan.patience is not None and not len(validation):
        raise InputError("patience needs validation rows and there is none: give some, or patience=none")
    checks = (recipe.features(validation.inputs), validation.labels) if plan.patience is not None else None
    rows = train.take(first)
    features = recipe.features(rows.inputs)
    trained = fit_bank(features, rows.labels, merged, n_classes, plan, seeds, recipe.scaling, checks)
    return [FittedMlp(recipe, one.scaling, one.net, {
        "steps": one.steps, "best_step": one.best_step, "learning_rate": plan.rate,
        "validation_curve": [[step, loss] for step, loss in one.curve],
        "training_rows": int(row.sum()), "distinct_rows": int((row > 0).sum()),
    }) for one, row in zip(trained, merged, strict=True)]


def checked_weights(weights: IntArray | None, train: Data, count: int) -> IntArray:
    """Weights (count, n) as int64. Raises ValueError for another shape, and for negative or fractional ones."""
    if weights is None:
        return np.ones((count, len(train)), dtype=np.int64)
    given = np.asarray(weights)
    if given.shape != (count, len(train)) or given.dtype.kind not in "iu" or (given < 0).any():
        raise ValueError(f"weights are {given.dtype} of shape {given.shape}: expected whole numbers from 0 of shape "
                         f"({count}, {len(train)})")
    return given.astype(np.int64)


def checked_classes(counts: IntArray, train: Data, n_classes: int) -> None:
    """Raise InputError where a model's rows lack a class."""
    for model, row in enumerate(counts):
        there = np.bincount(train.labels[row > 0], minlength=n_classes)
        if (there == 0).any():
            raise InputError(f"model {model} has no training row of the label {int(np.argmin(there))}: expected rows "
                             f"of each of the {n_classes} classes; draw larger subsets")


def merged_weights(counts: IntArray, inverse: IntArray, size: int) -> IntArray:
    """(M, size) sums of the weights (M, n) of equal records."""
    merged = np.zeros((counts.shape[0], size), dtype=np.int64)
    for row, into in zip(counts, merged, strict=True):
        np.add.at(into, inverse, row)
    return merged


def load_head(recipe: HeadRecipe, folder: Path, manifest: Manifest) -> FittedMlp:
    """What `FittedMlp.save` wrote. Raises InputError where arrays or the source of the features are others."""
    state = read_arrays(folder / ARRAYS)
    try:
        dim, hidden = state["first"].shape
        shapes = {"first": (dim, hidden), "first_bias": (hidden,), "second": (hidden, manifest.fact("n_classes", int)),
                  "second_bias": (manifest.fact("n_classes", int),)}
        net = Net(**{name: shaped(state, name, shape).astype(np.float32) for name, shape in shapes.items()})
        scaling = recipe.scaling.restore(state, dim)
    except (KeyError, ValueError) as error:
        raise InputError(f"{folder}: a saved net lacks or spoils {error}; save the model again") from None
    probe, wanted = recipe.probe(), state.get("probe")
    if probe is not None and (wanted is None or wanted.shape != probe.shape or np.abs(wanted - probe).max() > 1e-3):
        raise InputError(f"{folder} was trained on another encoder than the one that its recipe names here: restore "
                         "that encoder, or train again")
    return FittedMlp(recipe, scaling, net, manifest.facts["facts"])
