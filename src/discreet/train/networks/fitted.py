"""What the recipes of networks share: from data to trained models, from models to scores and saved folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError, UsageError
from discreet.core.folders import Manifest
from discreet.train.base import (
    Data,
    Fitted,
    FloatArray,
    Inputs,
    IntArray,
    Recipe,
    Structures,
    checked_rows,
    checked_training,
    options_of,
    saving,
)
from discreet.train.mlp import checked_classes, checked_weights
from discreet.train.networks.base import Network, Numbers, Plan, need_torch
from discreet.train.networks.loop import Trained, score, train_networks

WEIGHTS = "model.safetensors"


class NetworkRecipe(Recipe, Protocol):
    """A recipe whose models are one network on arrays of one form."""

    @property
    def plan(self) -> Plan:
        """How the network is trained."""
        ...

    def read(self, inputs: Inputs) -> NDArray[Any]:
        """What the network is given, (n, …) float32 or int64; a row hangs on its own input only.

        Raises UsageError for inputs of a kind that the recipe does not take.
        """
        ...

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The network for rows of this shape. Raises UsageError for a shape that it cannot be built for."""
        ...


class NetworkTraining:
    """What a recipe has from its `read` and `network`. A dataclass that has the options of `Plan`."""

    __slots__ = ()

    @property
    def plan(self) -> Plan:
        """How the network is trained."""
        return Plan(**{one.name: getattr(self, one.name) for one in fields(Plan)})

    def fit(
        self: NetworkRecipe, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence
    ) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return fit_networks(self, train, None, validation, n_classes, [seeds])[0]

    def load(self: NetworkRecipe, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return load_network(self, folder, manifest)

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)


class NetworkBank(NetworkTraining):
    """The same of a network of which many are trained at a time (see `discreet.train.base.ManyRecipe`)."""

    __slots__ = ()

    def fit_many(self: NetworkRecipe, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `discreet.train.base.ManyRecipe`."""
        return fit_networks(self, train, weights, validation, n_classes, seeds)


@dataclass(frozen=True, slots=True, eq=False)
class FittedNetwork:
    """See `discreet.train.base.Fitted`. `shape` is that of a row."""

    recipe: NetworkRecipe
    numbers: Numbers
    shape: tuple[int, ...]
    n_classes: int
    facts: Mapping[str, Any]

    def logits(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, K), rounded to single precision."""
        return self._scored(data_inputs, hidden=False)

    def hidden(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, h) what the last dense layer is given."""
        return self._scored(data_inputs, hidden=True)

    def save(self, folder: Path) -> None:
        """Write parameters, buffers and `recipe.json`."""
        with saving(folder, self.recipe, self.n_classes, self.facts) as part:
            write_arrays(part / WEIGHTS, self.numbers)

    def _scored(self, inputs: Inputs, *, hidden: bool) -> FloatArray:
        found = scored(self.recipe, [self.numbers], self.shape, self.n_classes, inputs, hidden=hidden)
        return np.asarray(found[0], dtype=np.float64)


def scored(recipe: NetworkRecipe, models: Sequence[Numbers], shape: tuple[int, ...], n_classes: int, inputs: Inputs,
           *, hidden: bool = False) -> FloatArray:
    """(M, n, K) logits, or (M, n, h), of models of one recipe. Raises InputError for inputs of another shape."""
    # No rows may come without a shape.
    empty = not len(inputs)
    rows = np.zeros((1, *shape), dtype=np.float32) if empty and isinstance(inputs, np.ndarray) else recipe.read(
        ("",) if empty else inputs)
    if rows.shape[1:] != shape:
        raise InputError(f"the inputs have rows of shape {rows.shape[1:]} and the model was trained on {shape}: give "
                         "inputs of the same form")
    found = score(recipe.network(shape, n_classes), models, rows, hidden=hidden)
    return found[:, :0] if empty else found


def fit_networks(recipe: NetworkRecipe, train: Data, weights: IntArray | None, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
    """One model for each of `seeds`; `weights` (M, n) as in `ManyRecipe.fit_many`, None = each row once.

    Validation rows are checked and not used: training ends by epochs or training accuracy.
    """
    need_torch()
    for data in (train, validation):
        if len(data) or not isinstance(data.inputs, np.ndarray):
            refused(recipe, data.inputs)
    checked_training(train, validation, n_classes)
    counts = checked_weights(weights, train, len(seeds))
    checked_classes(counts, train, n_classes)
    inputs = recipe.read(train.inputs)
    rows = [np.repeat(np.arange(len(train)), count) for count in counts]
    labels = np.broadcast_to(train.labels, counts.shape)
    shape = tuple(inputs.shape[1:])
    done = train_networks(recipe.network(shape, n_classes), inputs, labels, rows, n_classes, recipe.plan, seeds)
    return [FittedNetwork(recipe, one.numbers, shape, n_classes, facts_of(recipe, one, own.size, shape))
            for one, own in zip(done, rows, strict=True)]


def refused(recipe: NetworkRecipe, inputs: Inputs) -> None:
    """Raise UsageError where the recipe does not take inputs of this kind, before anything is said of their values."""
    recipe.read(inputs[:1])


def facts_of(recipe: NetworkRecipe, done: Trained, rows: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """What is known of a training, as JSON values.

    `train_accuracy` lists, for each epoch, the share of rows that were classified as trained when they came up;
    `accuracy_after`, only under `until_accuracy`, that at the end of each epoch, and `reached` whether it was enough.
    """
    plan, buffers = recipe.plan, {"mean", "variance"}
    counted = sum(one.size for name, one in done.numbers.items() if name.rpartition(".")[2] not in buffers)
    found: dict[str, Any] = {
        "steps": done.steps, "best_step": done.steps, "epochs_done": done.epochs, "learning_rate": plan.rate,
        "train_accuracy": list(done.running), "training_rows": rows, "parameters": counted, "row_shape": list(shape),
    }
    if plan.until_accuracy is not None:
        found |= {"accuracy_after": list(done.after), "reached": done.after[-1] >= plan.until_accuracy}
    return found


def load_network(recipe: NetworkRecipe, folder: Path, manifest: Manifest) -> Fitted:
    """What `FittedNetwork.save` wrote. Raises InputError where numbers are missing, strange or of another shape."""
    need_torch()
    facts, n_classes = manifest.facts["facts"], manifest.fact("n_classes", int)
    sizes = facts.get("row_shape")
    if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
        raise InputError(f"{folder}: the manifest must give row_shape as whole numbers: save the model again")
    shape = tuple(sizes)
    try:
        wanted = recipe.network(shape, n_classes).start(np.random.default_rng(0))
    except UsageError as error:
        raise InputError(f"{folder}: {error}") from None
    state = read_arrays(folder / WEIGHTS)
    odd = sorted(name for name in state.keys() | wanted.keys() if name not in state or name not in wanted
                 or state[name].shape != wanted[name].shape or not np.isfinite(state[name]).all())
    if odd:
        raise InputError(f"{folder}: {odd[0]!r} is missing, not finite or of another shape than the recipe has it; "
                         "save the model again")
    numbers = {name: state[name].astype(np.float32) for name in wanted}
    return FittedNetwork(recipe, numbers, shape, n_classes, facts)


def flat_rows(inputs: Inputs, recipe: str) -> NDArray[np.float32]:
    """An array (n, …) as float32 (n, d). Raises UsageError for texts."""
    if not isinstance(inputs, np.ndarray):
        raise UsageError(f"the recipe {recipe!r} takes an array (n, …) and was given texts: give rows of numbers, or "
                         "another recipe")
    checked = checked_rows(inputs)
    return np.ascontiguousarray(checked.reshape(checked.shape[0], -1), dtype=np.float32)


def images(inputs: Inputs, recipe: str, least: int) -> NDArray[np.float32]:
    """Images (n, H, W) or (n, C, H, W), channels first, as float32 (n, C, H, W).

    Whole numbers are taken as 0 … 255 and brought to −1 … 1; others stay as they are. Raises UsageError for texts,
    other shapes, channels last, and images of fewer than `least` rows or columns.
    """
    if not isinstance(inputs, np.ndarray):
        raise UsageError(f"the recipe {recipe!r} takes images (n, C, H, W) and was given texts: give an array, or "
                         "another recipe")
    if inputs.ndim not in (3, 4):
        raise UsageError(f"the recipe {recipe!r} takes images (n, H, W) or (n, C, H, W) and was given shape "
                         f"{inputs.shape}: reshape them, or take another recipe")
    given = checked_rows(inputs)
    given = given if given.ndim == 4 else given[:, None]
    if given.shape[3] in (1, 3) and given.shape[1] > 4:
        raise UsageError(f"images have shape {given.shape}, channels last: expected (n, C, H, W); transpose them")
    if min(given.shape[2:]) < least:
        raise UsageError(f"images are {given.shape[2]} x {given.shape[3]}: the recipe {recipe!r} needs {least} x "
                         f"{least} or more")
    if given.dtype.kind in "biu":
        return np.ascontiguousarray(given.astype(np.float32) / np.float32(127.5) - np.float32(1.0))
    return np.ascontiguousarray(given, dtype=np.float32)
