"""`private-mlp` and `private-cnn`: the networks of `mlp` and `cnn`, trained by DP-SGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.audit.train.base import Data, Fitted, need_torch, recipes
from discreet.audit.train.networks import ArrayRecipe, FittedNetwork
from discreet.audit.train.plan import check_positive, child
from discreet.audit.train.private import PrivateOptions, Tensor, fit_private
from discreet.audit.train.recipes.images import OnImages
from discreet.audit.train.recipes.mlp import OnRows


@dataclass(frozen=True, slots=True)
class PrivateNetworkRecipe(PrivateOptions, ArrayRecipe):
    """A network whose rows see nothing of each other, trained by DP-SGD.

    Options: `epsilon` or `noise`, `delta`, `epochs`, `batch`, `clip` and `rate` as of `PrivatePlan`. The guarantee is
    about adding or removing one training row. It does not cover the choice of the options, nor what was done to the
    rows before, such as a mean over them that was taken away; validation rows are not used.
    """

    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "torch", "opacus")

    epochs: int = 20
    rate: float = 0.003

    def __post_init__(self) -> None:
        _ = self.plan

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.audit.train.base.Recipe`. UsageError where `delta` is too high for so many rows."""
        need_torch()
        self.check(train, validation, n_classes)
        rows = self.read(train.inputs)
        shape = tuple(rows.shape[1:])
        network = self.network(shape, n_classes)
        start = network.initial(np.random.default_rng(child(seeds, 0)))

        def loss(weights: tuple[Tensor, ...], row: Tensor, label: Tensor) -> Tensor:
            """The log loss of one model on one row."""
            states = {name: one[None] for name, one in zip(start, weights, strict=True)}
            logits, _ = network.forward(states, row[None, None], training=True)
            return need_torch().nn.functional.cross_entropy(logits[0, 0], label)

        found, facts = fit_private(loss, list(start.values()), rows, train.labels, self.plan, seeds)
        state = dict(zip(start, found, strict=True))
        sizes = {"parameters": sum(one.size for one in found), "row_shape": list(shape)}
        return FittedNetwork(self, state, shape, n_classes, facts | sizes)


@recipes.register("private-mlp")
@dataclass(frozen=True, slots=True)
class PrivateMlp(OnRows, PrivateNetworkRecipe):
    """Options: `hidden` and `layers` as of `mlp`; the others as in `PrivateNetworkRecipe`."""

    name: ClassVar[str] = "private-mlp"

    hidden: int = 64
    layers: int = 2

    def __post_init__(self) -> None:
        self.check_layers()
        PrivateNetworkRecipe.__post_init__(self)


@recipes.register("private-cnn")
@dataclass(frozen=True, slots=True)
class PrivateCnn(OnImages, PrivateNetworkRecipe):
    """Options: `width` and `hidden` as of `cnn`; the others as in `PrivateNetworkRecipe`."""

    name: ClassVar[str] = "private-cnn"

    width: int = 16
    hidden: int = 64

    def __post_init__(self) -> None:
        check_positive(self, "width", "hidden")
        PrivateNetworkRecipe.__post_init__(self)
