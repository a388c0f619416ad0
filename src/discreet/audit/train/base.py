"""What a recipe is given and leaves, and the door for plug-ins.

A recipe is one file in `recipes/`: a frozen dataclass whose fields are its options, with the members of `Recipe`,
registered under its name with `@recipes.register("name")`. Options and defaults are plain JSON values (numbers,
strings, booleans, None, tuples of strings); an impossible value raises ValueError when the recipe is built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError, need
from discreet.core.folders import Manifest
from discreet.core.registry import Registry
from discreet.core.types import FloatArray, IntArray

Inputs: TypeAlias = Sequence[str] | NDArray[Any]
"""n texts, or an array of n rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Labelled examples: n texts, or an array (n, …) of finite numbers, and n classes, whole numbers from 0.

    Raises ValueError where lengths or types disagree, InputError for NaN or infinity in an array.
    """

    inputs: tuple[str, ...] | NDArray[Any] = field(repr=False)
    labels: IntArray = field(repr=False)

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels)
        if labels.ndim != 1 or (labels.size and labels.dtype.kind not in "iu"):
            raise ValueError(f"labels are {labels.dtype} of shape {labels.shape}: expected whole numbers (n,)")
        if labels.size and int(labels.min()) < 0:
            raise ValueError(f"a label is {int(labels.min())}: expected whole numbers from 0")
        object.__setattr__(self, "labels", labels.astype(np.int64))
        if isinstance(self.inputs, np.ndarray):
            checked_rows(self.inputs)
        else:
            object.__setattr__(self, "inputs", checked_texts(self.inputs))
        if len(self.inputs) != labels.size:
            raise ValueError(f"{len(self.inputs)} inputs for {labels.size} labels: expected one each")

    def __len__(self) -> int:
        return int(self.labels.size)

    def take(self, rows: IntArray) -> Data:
        """The examples at these row numbers, in this order; a row named k times is there k times."""
        at = np.asarray(rows, dtype=np.int64)
        inputs = self.inputs[at] if isinstance(self.inputs, np.ndarray) else tuple(self.inputs[i] for i in at.tolist())
        return Data(inputs, self.labels[at])


class Fitted(Protocol):
    """A trained classifier.

    `facts` are JSON values without text and without times: steps, best step, learning rate, share of tokens seen,
    validation curve. Equal training gives equal facts.
    """

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known of the training."""

    def logits(self, inputs: Inputs) -> FloatArray:
        """(n, K) finite numbers whose softmax are the class probabilities; a row depends on its own input only."""

    def hidden(self, inputs: Inputs) -> FloatArray:
        """(n, d) representation before the head. Raises UsageError where the model has none."""

    def save(self, folder: Path) -> None:
        """Write everything that `load_fitted` needs, whole or not at all; no text of the training data."""


def options_of(recipe: Any) -> dict[str, Any]:
    """`{"name": …, option: value, …}` of a recipe that is a dataclass; what `to_json` returns."""
    values = {one.name: getattr(recipe, one.name) for one in fields(recipe)}
    return {"name": recipe.name, **{k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}}


class Recipe(Protocol):
    """How a classifier is trained. A frozen dataclass; equal recipes train equal models from equal data and seeds.

    `libraries` are the distributions and packages that a result depends on, as `discreet.audit.engine` names them. A
    recipe that takes arrays alone says `takes_texts = False`: texts are refused before anything is made of them. One
    whose model does not depend on the seeds says `draws = False`: it is not trained again under another seed.
    """

    name: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """Train on `train`; `validation` (possibly of 0 rows) may choose when to stop, and nothing else.

        `seeds` is never spawned from, which would change it: use `child(seeds, i)`.

        Raises InputError for data that cannot be trained on (see `checked_training`), UsageError for inputs of a kind
        that the recipe does not take.
        """

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """What `Fitted.save` wrote under this recipe; called by `load_fitted` with the verified manifest.

        Raises InputError where files or facts are not what such a model needs.
        """

    def to_json(self) -> dict[str, Any]:
        """`{"name": …, option: value, …}`: every option that can change the result; `recipe_of` reads it back."""
        return options_of(self)


@runtime_checkable
class ManyRecipe(Protocol):
    """A recipe that trains many models on subsets of the same rows faster than one by one."""

    def fit_many(self, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """Model m is, within 1e-5 in its logits, `fit` on row i of `train` weights[m, i] times under seeds[m].

        `weights` is (M, n) with whole numbers: 0 = not trained on, k = repeated k times.
        """


class OneOfMany(ABC):
    """The `fit` of a recipe that trains many models together: a single model, on every row once."""

    __slots__ = ()

    @abstractmethod
    def fit_many(self, train: Data, weights: IntArray | None, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """See `ManyRecipe`; without `weights` every model is trained on every row once."""

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `Recipe`."""
        return self.fit_many(train, None, validation, n_classes, [seeds])[0]


@runtime_checkable
class FiledRecipe(Protocol):
    """A recipe whose results depend on files besides the data, such as a base model's."""

    def files(self) -> Mapping[str, Path]:
        """The files, under names that do not say where they lie. Raises DiscreetError where they cannot be read."""


recipes: Registry[type[Recipe]] = Registry("recipes", builtin="discreet.audit.train.recipes", classes=True)
"""Recipes by name: classes, built with their options."""


def need_torch() -> Any:
    """The package torch. Raises MissingExtraError."""
    return need("torch", "training a network", "fit")


def files_of(folder: Path) -> dict[str, Path]:
    """Every file of a folder under its path in there, hidden ones left out."""
    there = ((path.relative_to(folder), path) for path in sorted(folder.rglob("*")) if path.is_file())
    return {name.as_posix(): path for name, path in there if not any(part.startswith(".") for part in name.parts)}


def checked_rows(inputs: NDArray[Any]) -> NDArray[Any]:
    """An array (n, …) of finite numbers. ValueError for another shape or type, InputError for NaN or infinity."""
    if inputs.ndim < 2 or inputs.dtype.kind not in "biuf":
        raise ValueError(f"inputs are {inputs.dtype} of shape {inputs.shape}: expected texts, or numbers (n, …)")
    bad = np.flatnonzero(~np.isfinite(inputs).all(axis=tuple(range(1, inputs.ndim))))
    if bad.size:
        raise InputError(f"row {bad[0]} of the inputs holds NaN or infinity ({len(bad)} such rows): expected finite "
                         "numbers; remove or fill them")
    return inputs


def checked_texts(inputs: Sequence[str]) -> tuple[str, ...]:
    """Texts as a tuple. ValueError for one string, or where something else than a string is among them."""
    if isinstance(inputs, str):
        raise ValueError("inputs are one string: expected a sequence of texts")
    odd = next((i for i, one in enumerate(inputs) if not isinstance(one, str)), None)
    if odd is not None:
        raise ValueError(f"inputs[{odd}] is of type {type(inputs[odd]).__name__}: expected texts")
    return tuple(inputs)


def texts_of(inputs: Inputs, recipe: str) -> tuple[str, ...]:
    """The texts that a recipe for texts is given. UsageError for an array."""
    if isinstance(inputs, np.ndarray):
        raise UsageError(f"the recipe {recipe!r} takes texts and was given an array of shape {inputs.shape}: give "
                         "texts, or another recipe")
    return checked_texts(inputs)


def rows_of(inputs: Inputs, recipe: str) -> NDArray[Any]:
    """The array (n, d) that a recipe for arrays is given, flattened. UsageError for texts."""
    if not isinstance(inputs, np.ndarray):
        raise UsageError(f"the recipe {recipe!r} takes an array (n, …) and was given texts: give rows of numbers, or "
                         "another recipe")
    return checked_rows(inputs).reshape(inputs.shape[0], -1)


def checked_training(train: Data, validation: Data, n_classes: int) -> None:
    """Refuse what no recipe can train on.

    Raises UsageError for fewer than two classes; InputError for a label beyond them, a class without a training row,
    or an empty text.
    """
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or n_classes < 2:
        raise UsageError(f"n_classes is {n_classes!r}: expected a whole number, at least 2")
    for name, data in (("training", train), ("validation", validation)):
        if len(data) and int(data.labels.max()) >= n_classes:
            raise InputError(f"the {name} rows hold the label {int(data.labels.max())}: expected 0 to {n_classes - 1}; "
                             "give the number of classes that the data have")
        empty = [] if isinstance(data.inputs, np.ndarray) else [i for i, t in enumerate(data.inputs) if not t.strip()]
        if empty:
            raise InputError(f"the text of {name} row {empty[0]} is empty ({len(empty)} such rows): remove them")
    without = np.flatnonzero(np.bincount(train.labels, minlength=n_classes) == 0)
    if without.size:
        raise InputError(f"no training row has the label {', '.join(map(str, without))}: expected rows of each of the "
                         f"{n_classes} classes; add some, or train on fewer classes")


def checked_weights(weights: IntArray | None, labels: IntArray, models: int, n_classes: int) -> IntArray:
    """How often each of M models is trained on each of n rows, (M, n) int64; None: once.

    `labels` are (n,), or (M, n). Raises ValueError for another shape, and negative or fractional weights; InputError
    where the rows of a model hold a label beyond the classes, or lack a class.
    """
    shape = (models, labels.shape[-1])
    counts = np.ones(shape, dtype=np.int64) if weights is None else np.asarray(weights)
    if counts.shape != shape or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError(f"weights are {counts.dtype} of shape {counts.shape}: expected whole numbers from 0 of shape "
                         f"{shape}")
    for model, (own, count) in enumerate(zip(np.broadcast_to(labels, shape), counts, strict=True)):
        used = own[count > 0]
        if used.size and (int(used.min()) < 0 or int(used.max()) >= n_classes):
            raise InputError(f"model {model} has labels from {int(used.min())} to {int(used.max())}: expected 0 to "
                             f"{n_classes - 1}; give the number of classes that the data have")
        without = np.flatnonzero(np.bincount(used, minlength=n_classes) == 0)
        if without.size:
            raise InputError(f"model {model} has no training row of the label {without[0]}: expected rows of each of "
                             f"the {n_classes} classes; give more rows, or less label noise")
    return counts.astype(np.int64)
