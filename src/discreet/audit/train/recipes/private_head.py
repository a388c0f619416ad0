"""`private-head`: as `head`, trained with differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.audit.train.base import Data, Fitted, checked_training, recipes
from discreet.audit.train.heads import FeatureRecipe, FittedHead
from discreet.audit.train.perceptron import Scaling, UnitRows
from discreet.audit.train.plan import check_above, check_positive
from discreet.audit.train.private import PrivatePlan, fit_private
from discreet.audit.train.recipes.head import EmbeddedInputs


@recipes.register("private-head")
@dataclass(frozen=True, slots=True)
class PrivateHead(EmbeddedInputs, FeatureRecipe):
    """One hidden layer on the sentence embeddings of a frozen encoder, or on rows of numbers, trained by DP-SGD.

    Options: `encoder` and `hidden` as of `head`; `epsilon` that is spent at `delta`, for adding or removing one
    training row; `epochs`, `batch`, `clip` and `rate` as of `PrivatePlan`. Rows are brought to norm 1 each by itself,
    since a mean of the training rows would be outside of the guarantee. So is the choice of the options, the encoder,
    and validation rows, which are not used.
    """

    name: ClassVar[str] = "private-head"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "discreet.inputs.encode", "onnxruntime",
                                            "tokenizers", "torch", "opacus")
    scaling: ClassVar[type[Scaling]] = UnitRows

    encoder: str = "minilm"
    epsilon: float = 8.0
    delta: float = 1e-5
    epochs: int = 30
    batch: int = 128
    clip: float = 1.0
    rate: float = 0.01

    def __post_init__(self) -> None:
        self.check_encoder()
        check_positive(self, "hidden", "epochs", "batch")
        check_above(self, "epsilon", "delta", "clip", "rate")
        if self.delta >= 1.0:
            raise ValueError(f"delta is {self.delta}: expected a number below 1")

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.audit.train.base.Recipe`. UsageError where `delta` is too high for so many rows."""
        checked_training(train, validation, n_classes)
        scaling = UnitRows()
        plan = PrivatePlan(self.epsilon, self.delta, self.epochs, self.batch, self.clip, self.rate)
        net, facts = fit_private(scaling.apply(self.features(train.inputs)), train.labels, n_classes, self.hidden, plan,
                                 seeds)
        return FittedHead(self, scaling, net, facts)
