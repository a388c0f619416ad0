"""`private-head` and `private-tfidf-mlp`: one hidden layer, trained by DP-SGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.audit.train.base import Data, Fitted, checked_training, need_torch, recipes
from discreet.audit.train.heads import FeatureRecipe, FittedHead
from discreet.audit.train.perceptron import Perceptron, Scaling, UnitRows, initial
from discreet.audit.train.plan import check_positive, child
from discreet.audit.train.private import PrivateOptions, Tensor, fit_private
from discreet.audit.train.recipes.head import EmbeddedInputs
from discreet.audit.train.recipes.tfidf import HashedInputs


@dataclass(frozen=True, slots=True)
class PrivateFeatureRecipe(PrivateOptions, FeatureRecipe):
    """One hidden layer of `hidden` ReLU units on features that are brought to norm 1, row by row.

    Options: `epsilon` or `noise`, `delta`, `epochs`, `batch`, `clip` and `rate` as of `PrivatePlan`. The guarantee is
    about adding or removing one training row. It does not cover the choice of the options; validation rows are not
    used.
    """

    scaling: ClassVar[type[Scaling]] = UnitRows

    def __post_init__(self) -> None:
        check_positive(self, "hidden")
        _ = self.plan

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.audit.train.base.Recipe`. UsageError where `delta` is too high for so many rows."""
        checked_training(train, validation, n_classes)
        scaling = UnitRows()
        rows = np.ascontiguousarray(scaling.apply(self.features(train.inputs)), dtype=np.float32)
        start = initial(rows.shape[1], self.hidden, n_classes, child(seeds, 0))
        weights, facts = fit_private(_loss, start, rows, train.labels, self.plan, seeds)
        return FittedHead(self, scaling, Perceptron(*weights), facts)


@recipes.register("private-head")
@dataclass(frozen=True, slots=True)
class PrivateHead(EmbeddedInputs, PrivateFeatureRecipe):
    """Options: `encoder` as of `head`, which the guarantee takes as public; the others as in `PrivateFeatureRecipe`."""

    name: ClassVar[str] = "private-head"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "discreet.inputs.encode", "onnxruntime",
                                            "tokenizers", "torch", "opacus")

    encoder: str = "minilm"

    def __post_init__(self) -> None:
        self.check_encoder()
        PrivateFeatureRecipe.__post_init__(self)


@recipes.register("private-tfidf-mlp")
@dataclass(frozen=True, slots=True)
class PrivateTfidfMlp(HashedInputs, PrivateFeatureRecipe):
    """Words are not weighed by how rare they are in the training rows, which the guarantee would not cover.

    Options: `columns` and `ngrams` as of `tfidf-mlp`; the others as in `PrivateFeatureRecipe`.
    """

    name: ClassVar[str] = "private-tfidf-mlp"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "scikit-learn", "scipy", "torch", "opacus")

    hidden: int = 16
    rate: float = 0.03
    columns: int = 2048
    ngrams: int = 1

    def __post_init__(self) -> None:
        self.check_hashing()
        PrivateFeatureRecipe.__post_init__(self)


def _loss(weights: tuple[Tensor, ...], row: Tensor, label: Tensor) -> Tensor:
    """The log loss of a `Perceptron` on one row."""
    first, first_bias, second, second_bias = weights
    logits = (row @ first + first_bias).relu() @ second + second_bias
    return need_torch().nn.functional.cross_entropy(logits, label)
