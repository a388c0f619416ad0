"""Small networks: functions of named arrays, recipes of them, and banks of many models in one program.

A network is no object with state but a function of arrays, M models' at a time along the first axis, so that a bank of
many and a single model are one program. Perceptrons are batched matrix products and convolutional networks, on a GPU,
the groups of one convolution. What fills a processor alone (convolutions on a CPU, recurrent networks, ResNet-18,
transformers) is trained one after another behind the same door.

Why not `nn.Module` with `torch.func.functional_call` and `vmap`: for 32 perceptrons of Census's size it has .56 of this
speed, 6.0 times an ordinary loop where the functions here are 10.7 times as fast in the same run (one thread;
docs/results/training_speed.md has that and the 22 times on two quiet threads). The aim is 15 times, which .56 misses.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import Data, Fitted, Inputs, Recipe, checked_training, checked_weights, need_torch
from discreet.audit.train.loop import Network, Retarget, score, train_networks
from discreet.audit.train.plan import StateDict, TrainingPlan
from discreet.audit.train.spec import ARRAYS, saved_arrays, saving
from discreet.core.arrays import write_arrays
from discreet.core.errors import InputError
from discreet.core.folders import Manifest
from discreet.core.types import FloatArray, IntArray


class ArrayRecipe(Recipe):
    """A recipe whose models are one network on arrays of one form, however it is trained."""

    __slots__ = ()

    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "torch")
    architecture: ClassVar[type[Network]]

    @abstractmethod
    def read(self, inputs: Inputs) -> NDArray[Any]:
        """What the network is given, (n, …) float32 or int64; a row depends on its own input only.

        Raises UsageError for inputs of a kind that the recipe does not take.
        """

    def check(self, train: Data, validation: Data, n_classes: int) -> None:
        """Raise for inputs of another kind as `read`, then as `checked_training`."""
        for data in (train, validation):
            if len(data) or not isinstance(data.inputs, np.ndarray):
                # Inputs of another kind are refused before anything is said of their values.
                self.read(data.inputs[:1])
        checked_training(train, validation, n_classes)

    def network(self, shape: tuple[int, ...], n_classes: int) -> Network:
        """The network for rows of this shape."""
        return self.architecture(self, shape, n_classes)

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.audit.train.base.Recipe`."""
        need_torch()
        facts, n_classes = manifest.facts["facts"], manifest.fact("n_classes", int)
        sizes = facts.get("row_shape")
        if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
            raise InputError(f"{folder}: the manifest must give row_shape as whole numbers: save the model again")
        shape = tuple(sizes)
        wanted = self.network(shape, n_classes).initial(np.random.default_rng(0))
        state = saved_arrays(folder, {name: one.shape for name, one in wanted.items()})
        return FittedNetwork(self, {name: state[name].astype(np.float32) for name in wanted}, shape, n_classes, facts)


@dataclass(frozen=True, slots=True)
class NetworkRecipe(ArrayRecipe):
    """Such a recipe, trained by Adam.

    Options: `epochs` passes over the rows in random order, `batch` of them an update of Adam, at the learning rate
    `rate` with the L2 penalty `decay` and the label smoothing `smoothing`; `patience` epochs without a lower
    validation loss end the training (none: never), and the best model is kept; `until_accuracy` ends it after the first
    epoch with that accuracy on the training rows (see `TrainingPlan`).
    """

    epochs: int = 10
    batch: int = 64
    rate: float = 0.001
    decay: float = 0.0
    smoothing: float = 0.0
    patience: int | None = None
    until_accuracy: float | None = None

    def __post_init__(self) -> None:
        _ = self.plan

    @property
    def plan(self) -> TrainingPlan:
        """How the network is trained."""
        return TrainingPlan(self.rate, self.epochs, self.batch, decay=self.decay, smoothing=self.smoothing,
                            patience=self.patience, until_accuracy=self.until_accuracy)

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.audit.train.base.Recipe`."""
        return self.fit_bank(train, None, validation, n_classes, [seeds]).models[0]

    def fit_bank(self, train: Data, weights: IntArray | None, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> Bank:
        """One model for each of `seeds` on the same labels; `weights` (M, n) as for `fit_bank`.

        Validation rows are used only where `patience` is given.
        """
        self.check(train, validation, n_classes)
        labels = np.broadcast_to(train.labels, (len(seeds), len(train)))
        return fit_bank(self, train.inputs, labels, n_classes, seeds, weights=weights, validation=validation)


class ManyNetworksRecipe(NetworkRecipe):
    """The same of a network of which many are trained at a time (see `discreet.audit.train.base.ManyRecipe`)."""

    __slots__ = ()

    def fit_many(self, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `discreet.audit.train.base.ManyRecipe`."""
        return list(self.fit_bank(train, weights, validation, n_classes, seeds).models)


@dataclass(frozen=True, slots=True, eq=False)
class FittedNetwork:
    """See `discreet.audit.train.base.Fitted`. `shape` is that of a row."""

    recipe: ArrayRecipe
    state: StateDict
    shape: tuple[int, ...]
    n_classes: int
    facts: Mapping[str, Any]

    def logits(self, inputs: Inputs) -> FloatArray:
        """(n, K), rounded to single precision."""
        return np.asarray(Bank((self,)).logits(inputs)[0], dtype=np.float64)

    def hidden(self, inputs: Inputs) -> FloatArray:
        """(n, h) what the last dense layer is given."""
        return np.asarray(Bank((self,)).logits(inputs, hidden=True)[0], dtype=np.float64)

    def save(self, folder: Path) -> None:
        """Write parameters, buffers and `recipe.json`."""
        with saving(folder, self.recipe, self.n_classes, self.facts) as part:
            write_arrays(part / ARRAYS, self.state)


@dataclass(frozen=True, slots=True, eq=False)
class Bank:
    """M >= 1 trained models of one recipe on rows of one shape."""

    models: tuple[FittedNetwork, ...]

    def logits(self, inputs: Inputs, *, hidden: bool = False) -> FloatArray:
        """(M, n, K), each model's as `Fitted.logits`, or with `hidden` (M, n, h), as `Fitted.hidden`.

        Raises InputError for inputs of another shape.
        """
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
             soft: FloatArray | None = None, retarget: Retarget | None = None, validation: Data | None = None
             ) -> Bank:
    """Train M models that share a recipe and inputs, each on labels and rows of its own.

    Model m is, but for the last bits, `recipe.fit` on labels[m] under seeds[m], row i weights[m, i] times (None: once);
    labels of rows without weight are passed over. Soft labels (M, n, K), whose rows sum to 1, are trained on instead of
    `labels`, and may be replaced before each epoch but the first, see `discreet.audit.train.loop.Retarget`.
    `validation` is shared by all models, and needed and used where the recipe has `patience`.

    Raises InputError for a label beyond the classes, a class without a row in a model, inputs that are not finite, or
    patience without validation rows;
    UsageError for inputs of a kind that the recipe does not take, and training that diverges; ValueError where shapes
    disagree, or a weight is negative.
    """
    need_torch()
    counts = checked_weights(weights, labels, len(seeds), n_classes)
    rows, plan = recipe.read(inputs), recipe.plan
    checks = None
    if plan.patience is not None:
        if validation is None or not len(validation):
            raise InputError("patience needs validation rows and there is none: give some, or patience=none")
        checks = (recipe.read(validation.inputs), validation.labels)
    shape = tuple(rows.shape[1:])
    network = recipe.network(shape, n_classes)
    own = [np.repeat(np.arange(len(inputs)), count) for count in counts]
    done = train_networks(network, rows, labels if soft is None else soft, own, n_classes, plan, seeds, retarget,
                          checks)
    models = []
    for one, mine in zip(done, own, strict=True):
        facts: dict[str, Any] = {
            "steps": one.steps, "best_step": one.best_step, "epochs_done": len(one.train_accuracy),
            "learning_rate": plan.rate, "train_accuracy": list(one.train_accuracy), "training_rows": mine.size,
            "parameters": sum(array.size for name, array in one.state.items() if name not in network.buffers),
            "row_shape": list(shape)}
        if plan.patience is not None:
            facts["validation_curve"] = [[step, loss] for step, loss in one.validation_curve]
        if plan.until_accuracy is not None:
            after = list(one.accuracy_after)
            facts |= {"accuracy_after": after, "reached": after[-1] >= plan.until_accuracy}
        models.append(FittedNetwork(recipe, one.state, shape, n_classes, facts))
    return Bank(tuple(models))
