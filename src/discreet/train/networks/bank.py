"""Recipes of small networks: from data to models that score and are saved, and banks of many models in one program.

The models of a bank share a recipe and inputs, and have labels, rows and a seed of their own. Perceptrons are batched
matrix products and convolutional networks, on a GPU, the groups of one convolution. What fills a processor alone
(convolutions on a CPU, recurrent networks, ResNet-18, transformers) is trained one after another behind the same door.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

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
    checked_classes,
    checked_training,
    checked_weights,
    need_torch,
)
from discreet.train.networks.base import Network
from discreet.train.networks.loop import Retarget, score, train_networks
from discreet.train.plan import StateDict, TrainedModel, TrainingPlan
from discreet.train.saved import ARRAYS, saving
from discreet.train.spec import options_of


@dataclass(frozen=True, slots=True)
class NetworkRecipe(ABC):
    """A recipe whose models are one network on arrays of one form.

    Options: `epochs` passes over the rows in random order, `batch` of them an update of Adam, at the learning rate
    `rate` with the L2 penalty `decay`; `until_accuracy` ends the training after the first epoch with that accuracy on
    the training rows (see `TrainingPlan`).
    """

    name: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]

    epochs: int = 10
    batch: int = 64
    rate: float = 0.001
    decay: float = 0.0
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        _ = self.plan

    @property
    def plan(self) -> TrainingPlan:
        """How the network is trained."""
        return TrainingPlan(self.rate, self.epochs, self.batch, decay=self.decay, until_accuracy=self.until_accuracy)

    @abstractmethod
    def read(self, inputs: Inputs) -> NDArray[Any]:
        """What the network is given, (n, …) float32 or int64; a row depends on its own input only.

        Raises UsageError for inputs of a kind that the recipe does not take.
        """

    @abstractmethod
    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The network for rows of this shape. Raises UsageError for a shape that it cannot be built for."""

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        return self.fit_bank(train, None, validation, n_classes, [seeds]).models[0]

    def fit_bank(self, train: Data, weights: IntArray | None, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> Bank:
        """One model for each of `seeds` on the same labels; `weights` (M, n) as for `fit_bank`.

        Validation rows are checked and not used: training ends by epochs or training accuracy.
        """
        for data in (train, validation):
            if len(data) or not isinstance(data.inputs, np.ndarray):
                # Inputs of another kind are refused before anything is said of their values.
                self.read(data.inputs[:1])
        checked_training(train, validation, n_classes)
        labels = np.broadcast_to(train.labels, (len(seeds), len(train)))
        return fit_bank(self, train.inputs, labels, n_classes, seeds, weights=weights)

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        need_torch()
        facts, n_classes = manifest.facts["facts"], manifest.fact("n_classes", int)
        sizes = facts.get("row_shape")
        if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
            raise InputError(f"{folder}: the manifest must give row_shape as whole numbers: save the model again")
        shape = tuple(sizes)
        try:
            wanted = self.network(shape, n_classes).initial(np.random.default_rng(0))
        except UsageError as error:
            raise InputError(f"{folder}: {error}") from None
        state = read_arrays(folder / ARRAYS)
        odd = sorted(name for name in state.keys() | wanted.keys() if name not in state or name not in wanted
                     or state[name].shape != wanted[name].shape or not np.isfinite(state[name]).all())
        if odd:
            raise InputError(f"{folder}: {odd[0]!r} is missing, not finite or of another shape than the recipe has it; "
                             "save the model again")
        return FittedNetwork(self, {name: state[name].astype(np.float32) for name in wanted}, shape, n_classes, facts)

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)


class ManyNetworksRecipe(NetworkRecipe):
    """The same of a network of which many are trained at a time (see `discreet.train.base.ManyRecipe`)."""

    __slots__ = ()

    def fit_many(self, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `discreet.train.base.ManyRecipe`."""
        return list(self.fit_bank(train, weights, validation, n_classes, seeds).models)


@dataclass(frozen=True, slots=True, eq=False)
class FittedNetwork:
    """See `discreet.train.base.Fitted`. `shape` is that of a row."""

    recipe: NetworkRecipe
    state: StateDict
    shape: tuple[int, ...]
    n_classes: int
    facts: Mapping[str, Any]

    def logits(self, inputs: Inputs) -> FloatArray:
        """(n, K), rounded to single precision."""
        return np.asarray(Bank((self,)).logits(inputs)[0], dtype=np.float64)

    def hidden(self, inputs: Inputs) -> FloatArray:
        """(n, h) what the last dense layer is given."""
        return np.asarray(Bank((self,)).hidden(inputs)[0], dtype=np.float64)

    def save(self, folder: Path) -> None:
        """Write parameters, buffers and `recipe.json`."""
        with saving(folder, self.recipe, self.n_classes, self.facts) as part:
            write_arrays(part / ARRAYS, self.state)


@dataclass(frozen=True, slots=True, eq=False)
class Bank:
    """M >= 1 trained models of one recipe on rows of one shape."""

    models: tuple[FittedNetwork, ...]

    def __len__(self) -> int:
        return len(self.models)

    def logits(self, inputs: Inputs) -> FloatArray:
        """(M, n, K), each model's as `Fitted.logits`. Raises InputError for inputs of another shape."""
        return self._scored(inputs, hidden=False)

    def hidden(self, inputs: Inputs) -> FloatArray:
        """(M, n, h), each model's as `Fitted.hidden`. Raises InputError for inputs of another shape."""
        return self._scored(inputs, hidden=True)

    def _scored(self, inputs: Inputs, *, hidden: bool) -> FloatArray:
        one, empty = self.models[0], not len(inputs)
        # No rows may come without a shape.
        rows = np.zeros((1, *one.shape), dtype=np.float32) if empty and isinstance(inputs, np.ndarray) else (
            one.recipe.read(("",) if empty else inputs))
        if rows.shape[1:] != one.shape:
            raise InputError(f"the inputs have rows of shape {rows.shape[1:]} and the model was trained on "
                             f"{one.shape}: give inputs of the same form")
        network = one.recipe.network(one.shape, one.n_classes)
        found = score(network, [each.state for each in self.models], rows, hidden=hidden)
        return found[:, :0] if empty else found


def fit_bank(recipe: NetworkRecipe, inputs: Inputs, labels: IntArray, n_classes: int,
             seeds: Sequence[np.random.SeedSequence], *, weights: IntArray | None = None,
             soft: FloatArray | None = None, retarget: Retarget | None = None) -> Bank:
    """Train M models.

    Parameters
    ----------
    inputs : n texts, or an array (n, …)
        What the recipe takes.
    labels : array (M, n)
        Each model's labels, whole numbers from 0 to `n_classes` − 1; those of rows without weight are passed over.
    seeds : sequence of M SeedSequence
        Model m is, but for the last bits, `recipe.fit` on its labels under seeds[m].
    weights : array (M, n), optional
        How often each model is trained on each row, whole numbers from 0; None: once.
    soft : array (M, n, K), optional
        Soft labels, whose rows sum to 1, to train on instead of `labels`.
    retarget : function, optional
        New soft labels before each epoch but the first, see `discreet.train.networks.loop.Retarget`; needs `soft`.

    Raises
    ------
    InputError
        For a label beyond the classes, a class without a row in a model, or inputs that are not finite.
    UsageError
        For fewer than two classes, inputs of a kind that the recipe does not take, and training that diverges.
    ValueError
        Where shapes disagree, a weight is negative, or soft labels are no shares.
    """
    need_torch()
    if n_classes < 2:
        raise UsageError(f"n_classes is {n_classes!r}: expected a whole number, at least 2")
    given = np.asarray(labels)
    if given.shape != (len(seeds), len(inputs)) or given.dtype.kind not in "iu" or not given.size:
        raise ValueError(f"labels are {given.dtype} of shape {given.shape} for {len(seeds)} seeds and {len(inputs)} "
                         "inputs: expected whole numbers (M, n), at least one model and one row")
    counts = checked_weights(weights, len(seeds), len(inputs))
    checked_classes(given, counts, n_classes)
    if soft is None and retarget is not None:
        raise ValueError("retarget is given without soft labels: expected both")
    if soft is not None and soft.shape != (*given.shape, n_classes):
        raise ValueError(f"soft labels have shape {soft.shape}: expected {(*given.shape, n_classes)}")
    if soft is not None and not (np.isfinite(soft).all() and (soft >= 0.0).all()
                                 and (np.abs(soft.sum(axis=-1) - 1.0) < 1e-5).all()):
        raise ValueError("soft labels hold negative numbers, NaN, or rows that do not sum to 1: expected shares")
    rows = recipe.read(inputs)
    shape = tuple(rows.shape[1:])
    network = recipe.network(shape, n_classes)
    own = [np.repeat(np.arange(len(inputs)), count) for count in counts]
    done = train_networks(network, rows, given.astype(np.int64) if soft is None else soft, own, n_classes, recipe.plan,
                          seeds, retarget)
    return Bank(tuple(
        FittedNetwork(recipe, one.state, shape, n_classes, _facts(recipe.plan, one, network.buffers, mine.size, shape))
        for one, mine in zip(done, own, strict=True)))


def _facts(plan: TrainingPlan, done: TrainedModel, buffers: frozenset[str], rows: int, shape: tuple[int, ...]
           ) -> dict[str, Any]:
    """What is known of a training, as JSON values.

    `train_accuracy` and, only under `until_accuracy`, `accuracy_after` are as in `TrainedModel`; `reached` says whether
    the last of them was enough.
    """
    found: dict[str, Any] = {
        "steps": done.steps, "best_step": done.best_step, "epochs_done": len(done.train_accuracy),
        "learning_rate": plan.rate, "train_accuracy": list(done.train_accuracy), "training_rows": rows,
        "parameters": sum(one.size for name, one in done.state.items() if name not in buffers),
        "row_shape": list(shape),
    }
    if plan.until_accuracy is not None:
        after = done.accuracy_after
        found |= {"accuracy_after": list(after), "reached": after[-1] >= plan.until_accuracy}
    return found
