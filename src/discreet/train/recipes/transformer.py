"""`transformer`: a fine-tuned sequence classifier, trained whole or by LoRA, as the paper's targets (appendix I)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.core.errors import InputError
from discreet.core.folders import Manifest
from discreet.train.base import Data, Fitted, checked_training, child, files_of, need, recipes, texts_of
from discreet.train.features import distinct
from discreet.train.plan import TrainingPlan, check_positive
from discreet.train.spec import options_of
from discreet.train.transformer.fitted import FittedTransformer, marks, read, restored
from discreet.train.transformer.loading import MINILM, Dtype, LoadedClassifier, Regime, load_classifier, source_of
from discreet.train.transformer.loop import ONE_AT_A_TIME, train
from discreet.train.transformer.reading import Reader, share_seen
from discreet.train.transformer.schedule import Rate, searched_rates, usual_rate

CLIP = 1.0
"""Norm that gradients are cut down to."""


@recipes.register("transformer")
@dataclass(frozen=True, slots=True)
class Transformer:
    """Fine-tuning as in the paper's Table 4; the last `layers` of a base can be left away.

    Options: `base`, a folder, "minilm" (the packaged all-MiniLM-L6-v2) or a name on the hub; `regime`, full or lora;
    for LoRA `rank`, `alpha` (2 × rank by default), `dropout` and `targets` (queries and values by default); `layers`,
    the first ones of the base (none: all); `learning_rate` (none: by family, size and regime; "search": the lowest
    validation loss of several, each a whole training); `max_tokens`, `prompt` (auto: safety where the tokeniser has a
    chat template); `dtype` (auto: bfloat16 on a GPU that has it); the others as in `TrainingPlan`.
    """

    name: ClassVar[str] = "transformer"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.train", "discreet.encode", "torch", "transformers", "tokenizers",
                                            "peft")

    base: str = MINILM
    regime: Regime = "lora"
    rank: int = 64
    alpha: float | None = None
    dropout: float = 0.05
    targets: tuple[str, ...] | None = None
    layers: int | None = None
    epochs: int = 3
    batch: int = 32
    micro_batch: int = 8
    learning_rate: float | Literal["search"] | None = None
    warmup: float = 0.05
    eval_every: int = 10
    patience: int | None = 3
    decay: float = 0.0
    max_tokens: int = 128
    prompt: Literal["auto", "safety", "depression", "none"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"

    def __post_init__(self) -> None:
        if not self.base:
            raise ValueError("base is empty: expected minilm, a folder or owner/model")
        check_positive(self, "rank", "layers", "max_tokens")
        if self.alpha is not None and not 0.0 < self.alpha < inf:
            raise ValueError(f"alpha is {self.alpha}: expected a finite number above 0")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout is {self.dropout}: expected a share, from 0 to below 1")
        if self.targets is not None and (self.regime != "lora" or not self.targets):
            raise ValueError("targets are names of layers for LoRA: expected at least one, and regime=lora")
        given = self.learning_rate
        if isinstance(given, int | float) and not 0.0 < given < inf:
            raise ValueError(f"learning_rate is {given}: expected a finite number above 0, search, or none")
        _ = self.plan(1.0)

    def plan(self, rate: float) -> TrainingPlan:
        """How the classifier is trained at a learning rate. Raises ValueError for options out of range."""
        return TrainingPlan(rate, self.epochs, self.batch, self.micro_batch, "adamw", self.decay, self.warmup, CLIP,
                            self.eval_every, self.patience)

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        for data in (train, validation):
            texts_of(data.inputs, self.name)
        checked_training(train, validation, n_classes)
        if not len(validation) and (self.patience is not None or self.learning_rate == "search"):
            raise InputError("patience and search need validation rows and there is none: give some, or patience=none "
                             "and a learning_rate")
        model, reader = self._opened(n_classes, child(seeds, 0))
        usual = usual_rate(model.family, model.facts["parameters"], self.regime)
        if self.learning_rate != "search":
            rate = usual if self.learning_rate is None else Rate(self.learning_rate, "given")
            return self._trained(model, reader, train, validation, rate, seeds)[0]
        tried: list[tuple[float, float]] = []
        best: FittedTransformer | None = None
        for value in searched_rates(usual):
            model, reader = self._opened(n_classes, child(seeds, 0))
            found, loss = self._trained(model, reader, train, validation, Rate(value, "search"), seeds)
            if best is None or loss < min(other for _, other in tried):
                best = found
            tried.append((value, loss))
        assert best is not None
        facts = {**best.facts, "searched": [list(one) for one in tried]}
        return FittedTransformer(self, best.model, best.reader, n_classes, facts, self.batch)

    def _trained(self, model: LoadedClassifier, reader: Reader, data: Data, validation: Data, rate: Rate,
                 seeds: np.random.SeedSequence) -> tuple[FittedTransformer, float]:
        """A model and its lowest validation loss (0 without validation rows)."""
        known = marks(model, reader)
        rows, checks = (read(model, reader, texts_of(one.inputs, self.name)) for one in (data, validation))
        done = train(model, rows, data.labels, checks, validation.labels, self.plan(rate.value), child(seeds, 1))
        curve = done.validation_curve
        facts = {**model.facts, "steps": done.steps, "planned_steps": done.planned_steps, "best_step": done.best_step,
                 "stopped_early": done.steps < done.planned_steps, "validation_curve": [list(one) for one in curve],
                 "padding_share": done.padding_share, "learning_rate": rate.value, "learning_rate_by": rate.by,
                 "token_share": share_seen(rows), "training_rows": len(data), "distinct_rows": distinct(data)[0].size,
                 **known}
        n_classes = model.model.config.num_labels
        return FittedTransformer(self, model, reader, n_classes, facts, self.batch), min(
            (loss for _, loss in curve), default=0.0)

    def _opened(self, n_classes: int, seeds: np.random.SeedSequence) -> tuple[LoadedClassifier, Reader]:
        torch = need("torch")
        gpu = bool(torch.cuda.is_available())
        dtype: Dtype = self.dtype if self.dtype != "auto" else (
            "bfloat16" if gpu and torch.cuda.is_bf16_supported() else "float32")
        # Weights that are made in a caller's inference mode cannot be trained.
        with ONE_AT_A_TIME, torch.inference_mode(False):
            model = load_classifier(
                self.base, n_classes=n_classes, regime=self.regime, rank=self.rank, alpha=self.alpha,
                dropout=self.dropout, targets=self.targets, layers=self.layers, dtype=dtype, seeds=seeds)
        if gpu:
            model.model.to("cuda")
        return model, model.reader(self.max_tokens, self.prompt)

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.train.base.Recipe`."""
        model, reader = self._opened(manifest.fact("n_classes", int), np.random.SeedSequence(0))
        return restored(self, model, reader, folder, manifest)

    def files(self) -> Mapping[str, Path]:
        """The base model's, where it is a folder or minilm; none for a name on the hub."""
        source, local = source_of(self.base)
        return files_of(Path(source)) if local else {}

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return options_of(self)
