"""What a recipe is, what it is given, what it leaves, and the door for plug-ins.

A recipe is one file in `recipes/`: a frozen dataclass whose fields are its options, with the members of `Recipe`,
registered under its name with `@recipes.register("name")`. Options and defaults are plain JSON values (numbers,
strings, booleans, None, tuples of strings); an impossible value raises ValueError when the recipe is built.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json, refuse_text
from discreet.core.folders import Manifest, atomic_folder, read_manifest, write_manifest
from discreet.core.registry import Registry

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Inputs: TypeAlias = Sequence[str] | NDArray[Any]
"""n texts, or an array of n rows."""
Structures: TypeAlias = Sequence[str | None] | None
"""How each input is built: "single-turn", "multi-turn", "multi-conversation" or None; None where nobody knows."""

MANIFEST = "recipe.json"
FORM = "discreet-recipe"
VERSION = 1
STRUCTURES = ("single-turn", "multi-turn", "multi-conversation")


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Labelled examples.

    Attributes
    ----------
    inputs : tuple of str, or array (n, …)
        Texts, or rows of finite numbers.
    labels : array (n,)
        Classes, whole numbers from 0.
    structures : tuple of (str or None), optional
        One of `STRUCTURES` or None for each text.

    Raises ValueError where lengths or types disagree, InputError for NaN or infinity in an array.
    """

    inputs: tuple[str, ...] | NDArray[Any] = field(repr=False)
    labels: IntArray = field(repr=False)
    structures: tuple[str | None, ...] | None = field(default=None, repr=False)

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
        if self.structures is not None:
            object.__setattr__(self, "structures", checked_structures(self.structures, labels.size))

    def __len__(self) -> int:
        return int(self.labels.size)

    def take(self, rows: IntArray) -> Data:
        """The examples at these row numbers, in this order; a row named k times is there k times."""
        at = np.asarray(rows, dtype=np.int64)
        if isinstance(self.inputs, np.ndarray):
            inputs: tuple[str, ...] | NDArray[Any] = self.inputs[at]
        else:
            inputs = tuple(self.inputs[row] for row in at.tolist())
        structures = None if self.structures is None else tuple(self.structures[row] for row in at.tolist())
        return Data(inputs, self.labels[at], structures)


class Fitted(Protocol):
    """A trained classifier.

    `facts` are JSON values without text and without times: steps, best step, learning rate, share of tokens seen,
    validation curve. Equal training gives equal facts.
    """

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known of the training."""
        ...

    def logits(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, K) finite numbers whose softmax are the class probabilities; a row depends on its own input only."""
        ...

    def hidden(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, d) representation before the head. Raises UsageError where the model has none."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything that `load_fitted` needs, whole or not at all; no text of the training data."""
        ...


class Recipe(Protocol):
    """How a classifier is trained. A frozen dataclass; equal recipes train equal models from equal data and seeds.

    `libraries` are the distributions and packages that a result depends on, as `discreet.engine` names them. One that
    takes arrays alone says `takes_texts = False`, so that it is refused before anything is made of texts.
    """

    name: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """Train on `train`; `validation` (possibly of 0 rows) may choose when to stop, and nothing else.

        `seeds` is never spawned from, which would change it: use `child(seeds, i)`.

        Raises InputError for data that cannot be trained on (see `checked_training`), UsageError for inputs of a kind
        that the recipe does not take.
        """
        ...

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """What `Fitted.save` wrote under this recipe; called by `load_fitted` with the verified manifest.

        Raises InputError where files or facts are not what such a model needs.
        """
        ...

    def to_json(self) -> dict[str, Any]:
        """`{"name": …, option: value, …}`: every option that can change the result; `recipe_of` reads it back."""
        ...


@runtime_checkable
class ManyRecipe(Protocol):
    """A recipe that trains many models on subsets of the same rows faster than one by one."""

    def fit_many(self, train: Data, weights: IntArray, validation: Data, n_classes: int,
                 seeds: Sequence[np.random.SeedSequence]) -> list[Fitted]:
        """Model m is, within 1e-5 in its logits, `fit` on row i of `train` weights[m, i] times under seeds[m].

        `weights` is (M, n) with whole numbers: 0 = not trained on, k = repeated k times.
        """
        ...


@runtime_checkable
class FiledRecipe(Protocol):
    """A recipe whose results depend on files besides the data, such as a base model's."""

    def files(self) -> Mapping[str, Path]:
        """The files, under names that do not say where they lie. Raises DiscreetError where they cannot be had."""


recipes: Registry[type[Recipe]] = Registry("recipes", builtin="discreet.train.recipes", classes=True)
"""Recipes by name: classes, built with their options."""


def options_of(recipe: Any) -> dict[str, Any]:
    """`{"name": …, option: value, …}` of a recipe that is a dataclass; what `to_json` returns."""
    values = {one.name: getattr(recipe, one.name) for one in fields(recipe)}
    return {"name": recipe.name, **{k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}}


def files_of(folder: Path) -> dict[str, Path]:
    """Every file of a folder under its path in there, hidden ones left out."""
    there = ((path.relative_to(folder), path) for path in sorted(folder.rglob("*")) if path.is_file())
    return {name.as_posix(): path for name, path in there if not any(part.startswith(".") for part in name.parts)}


def child(seeds: np.random.SeedSequence, place: int) -> np.random.SeedSequence:
    """The seeds number `place` that `seeds` would spawn first, without changing `seeds`."""
    return np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, place), pool_size=seeds.pool_size)


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


def checked_structures(structures: Sequence[str | None], n: int) -> tuple[str | None, ...]:
    """One known structure or None for each of n inputs. Raises ValueError."""
    if len(structures) != n:
        raise ValueError(f"{len(structures)} structures for {n} inputs: expected one each")
    odd = next((i for i, one in enumerate(structures) if one is not None and one not in STRUCTURES), None)
    if odd is not None:
        raise ValueError(f"structures[{odd}] is unknown: expected one of {', '.join(STRUCTURES)}, or None")
    return tuple(structures)


def checked_training(train: Data, validation: Data, n_classes: int) -> None:
    """Refuse what no recipe can train on.

    Raises
    ------
    UsageError
        For fewer than two classes.
    InputError
        For a label beyond them, a class without a training row, or an empty text.
    """
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or n_classes < 2:
        raise UsageError(f"n_classes is {n_classes!r}: expected a whole number, at least 2")
    for name, data in (("training", train), ("validation", validation)):
        if len(data) and int(data.labels.max()) >= n_classes:
            raise InputError(f"the {name} rows hold the label {int(data.labels.max())}: expected 0 to {n_classes - 1}; "
                             "give the number of classes that the data have")
        if not isinstance(data.inputs, np.ndarray):
            empty = [i for i, text in enumerate(data.inputs) if not text.strip()]
            if empty:
                raise InputError(f"the text of {name} row {empty[0]} is empty ({len(empty)} such rows): remove them")
    without = np.flatnonzero(np.bincount(train.labels, minlength=n_classes) == 0)
    if without.size:
        raise InputError(f"no training row has the label {', '.join(map(str, without))}: expected rows of each of the "
                         f"{n_classes} classes; add some, or train on fewer classes")


@contextmanager
def saving(folder: Path, recipe: Recipe, n_classes: int, facts: Mapping[str, Any]) -> Iterator[Path]:
    """Save a fitted model atomically: the block writes its files into the folder that is yielded.

    `facts` are `Fitted.facts`. Raises UsageError where the folder cannot be written or holds something else, and
    ValueError where a fact may hold text.
    """
    refuse_text(facts)
    body = {"recipe": recipe.to_json(), "n_classes": int(n_classes), "facts": dict(facts)}
    with atomic_folder(folder, MANIFEST) as part:
        yield part
        write_manifest(part, MANIFEST, FORM, VERSION, {**body, "body_sha256": _digest(body)})


def load_fitted(folder: Path, recipe: Recipe | None = None) -> Fitted:
    """The model that was saved in a folder, all its files verified; with `recipe`, only one trained by it.

    Raises
    ------
    InputError
        Where the folder holds none, or one that is truncated, changed, of another version, of a recipe that is not
        installed, or not of `recipe`.
    """
    from discreet.train.spec import recipe_of

    manifest = read_manifest(folder, MANIFEST, FORM, VERSION)
    spec = manifest.fact("recipe", dict)
    if manifest.fact("n_classes", int) < 2 or not isinstance(manifest.facts.get("facts"), dict):
        raise InputError(f"{folder}: the manifest must give n_classes >= 2 and facts: save the model again")
    if recipe is not None and spec != recipe.to_json():
        theirs = spec.get("name")
        raise InputError(f"{folder} holds a model of the recipe {theirs!r}"
                         + (" with other options" if theirs == recipe.name else "")
                         + f"; expected {recipe.name!r} as given: name another folder, or train it again")
    try:
        maker = recipe_of(spec)
    except UsageError as error:
        raise InputError(f"{folder}: {error}") from None
    if manifest.fact("body_sha256", str) != _digest({k: v for k, v in manifest.facts.items() if k != "body_sha256"}):
        raise InputError(f"{folder / MANIFEST} was changed after it was saved: copy the whole folder again")
    return maker.load(folder, manifest.verify())


def _digest(body: Mapping[str, Any]) -> str:
    """SHA-256 of what the manifest says, in 64 hexadecimal digits."""
    plain = json.loads(dump_json(body))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode("utf-8")).hexdigest()
