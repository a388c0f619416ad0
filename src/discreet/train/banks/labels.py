"""Models of one recipe on the same inputs, each with labels, rows and a seed of its own, trained in one program.

Perceptrons are batched matrix products and convolutional networks, on a GPU, the groups of one convolution. What fills
a processor alone (convolutions on a CPU, recurrent networks, ResNet-18, transformers) is trained one after another
behind the same door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.errors import InputError, UsageError
from discreet.train.base import Fitted, FloatArray, Inputs, IntArray
from discreet.train.networks.base import Numbers, need_torch
from discreet.train.networks.fitted import FittedNetwork, NetworkRecipe, facts_of, scored
from discreet.train.networks.loop import Retarget, train_networks


@dataclass(frozen=True, slots=True, eq=False)
class Bank:
    """M trained models.

    Attributes
    ----------
    numbers : tuple of mappings
        Each model's parameters.
    facts : tuple of mappings
        As `Fitted.facts`.
    """

    recipe: NetworkRecipe
    numbers: tuple[Numbers, ...]
    shape: tuple[int, ...]
    n_classes: int
    facts: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def logits(self, inputs: Inputs) -> FloatArray:
        """(M, n, K), each model's as `Fitted.logits`."""
        return scored(self.recipe, self.numbers, self.shape, self.n_classes, inputs)

    def models(self) -> list[Fitted]:
        """Each model alone, to be saved."""
        return [FittedNetwork(self.recipe, numbers, self.shape, self.n_classes, facts)
                for numbers, facts in zip(self.numbers, self.facts, strict=True)]


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
    counts = np.ones(given.shape, dtype=np.int64) if weights is None else np.asarray(weights)
    _check_shapes(given, counts, len(inputs), len(seeds))
    _check_classes(given, counts, n_classes)
    if soft is None and retarget is not None:
        raise ValueError("retarget is given without soft labels: expected both")
    if soft is not None:
        _check_soft(soft, (*given.shape, n_classes))
    rows = recipe.read(inputs)
    shape = tuple(rows.shape[1:])
    own = [np.repeat(np.arange(len(inputs)), count) for count in counts]
    done = train_networks(recipe.network(shape, n_classes), rows, given.astype(np.int64) if soft is None else soft, own,
                          n_classes, recipe.plan, seeds, retarget)
    facts = tuple(facts_of(recipe, one, mine.size, shape) for one, mine in zip(done, own, strict=True))
    return Bank(recipe, tuple(one.numbers for one in done), shape, n_classes, facts)


def _check_shapes(labels: IntArray, counts: IntArray, n: int, models: int) -> None:
    if labels.shape != (models, n) or labels.dtype.kind not in "iu" or not n or not models:
        raise ValueError(f"labels are {labels.dtype} of shape {labels.shape} for {models} seeds and {n} inputs: "
                         "expected whole numbers (M, n), at least one model and one row")
    if counts.shape != labels.shape or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError(f"weights are {counts.dtype} of shape {counts.shape}: expected whole numbers from 0 of shape "
                         f"{labels.shape}")


def _check_classes(labels: IntArray, counts: IntArray, n_classes: int) -> None:
    for model, (own, count) in enumerate(zip(labels, counts, strict=True)):
        used = own[count > 0]
        if used.size and (int(used.min()) < 0 or int(used.max()) >= n_classes):
            raise InputError(f"model {model} has labels from {int(used.min())} to {int(used.max())}: expected 0 to "
                             f"{n_classes - 1}; give the number of classes that the data have")
        there = np.bincount(used, minlength=n_classes)
        if (there == 0).any():
            raise InputError(f"model {model} has no training row of the label {int(np.argmin(there))}: expected rows "
                             f"of each of the {n_classes} classes; give more rows, or a larger epsilon")


def _check_soft(soft: FloatArray, shape: tuple[int, ...]) -> None:
    if soft.shape != shape:
        raise ValueError(f"soft labels have shape {soft.shape}: expected {shape}")
    if not (np.isfinite(soft).all() and (soft >= 0.0).all() and (np.abs(soft.sum(axis=-1) - 1.0) < 1e-5).all()):
        raise ValueError("soft labels hold negative numbers, NaN, or rows that do not sum to 1: expected shares")
