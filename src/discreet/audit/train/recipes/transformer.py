"""`transformer`: a fine-tuned sequence classifier, trained whole or by LoRA, as the paper's targets (appendix I)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.audit.train.base import Data, Fitted, Inputs, Recipe, checked_training, files_of, recipes, texts_of
from discreet.audit.train.heads import distinct
from discreet.audit.train.plan import TrainingPlan, check_above, check_positive, child
from discreet.audit.train.spec import ARRAYS, saving
from discreet.audit.train.transformer.classifier import (
    MINILM,
    Dtype,
    LoadedClassifier,
    Regime,
    load_classifier,
    source_of,
)
from discreet.audit.train.transformer.loop import ONE_AT_A_TIME, SEARCHED, Rate, set_state, state_of, train, usual_rate
from discreet.audit.train.transformer.reading import Reader, Tokens, scored, share_seen
from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError, need
from discreet.core.folders import Manifest
from discreet.core.types import FloatArray


@recipes.register("transformer")
@dataclass(frozen=True, slots=True)
class Transformer(Recipe):
    """Fine-tuning as in the paper's Table 4; the last `layers` of a base can be left away.

    Options: `base`, a folder, "minilm" (the packaged all-MiniLM-L6-v2) or a name on the hub; `regime`, full or lora;
    for LoRA `rank`, `alpha` (2 × rank by default), `dropout` and `targets` (queries and values by default); `layers`,
    the first ones of the base (none: all); `learning_rate` (none: by family, size and regime; "search": the lowest
    validation loss of several, each a whole training); `max_tokens`, `prompt` (auto: safety where the tokeniser has a
    chat template); `dtype` (auto: bfloat16 on a GPU that has it); the others as in `TrainingPlan`.
    """

    name: ClassVar[str] = "transformer"
    libraries: ClassVar[tuple[str, ...]] = ("discreet.audit.train", "discreet.inputs.encode", "torch", "transformers",
                                            "tokenizers", "peft")

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
    smoothing: float = 0.0
    max_tokens: int = 128
    prompt: Literal["auto", "safety", "depression", "none"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"

    def __post_init__(self) -> None:
        if not self.base:
            raise ValueError("base is empty: expected minilm, a folder or owner/model")
        check_positive(self, "rank", "layers", "max_tokens")
        check_above(self, "alpha", "learning_rate")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout is {self.dropout}: expected a share, from 0 to below 1")
        if self.targets is not None and (self.regime != "lora" or not self.targets):
            raise ValueError("targets are names of layers for LoRA: expected at least one, and regime=lora")
        _ = self.plan(1.0)

    def plan(self, rate: float) -> TrainingPlan:
        """How the classifier is trained at a learning rate. Raises ValueError for options out of range."""
        return TrainingPlan(rate, self.epochs, self.batch, self.micro_batch, self.decay, self.smoothing, self.warmup,
                            self.eval_every, self.patience)

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.audit.train.base.Recipe`."""
        for data in (train, validation):
            texts_of(data.inputs, self.name)
        checked_training(train, validation, n_classes)
        if not len(validation) and (self.patience is not None or self.learning_rate == "search"):
            raise InputError("patience and search need validation rows and there is none: give some, or patience=none "
                             "and a learning_rate")
        model, reader = self.opened(n_classes, child(seeds, 0))
        usual = usual_rate(model.family, model.facts["parameters"], self.regime)
        if self.learning_rate != "search":
            rate = usual if self.learning_rate is None else Rate(self.learning_rate, "given")
            return self._trained(model, reader, train, validation, rate, seeds)[0]
        tried: list[tuple[float, float]] = []
        for value in (usual.value * factor for factor in SEARCHED):
            model, reader = self.opened(n_classes, child(seeds, 0))
            found, loss = self._trained(model, reader, train, validation, Rate(value, "search"), seeds)
            if all(loss < other for _, other in tried):
                best = found
            tried.append((value, loss))
        return replace(best, facts={**best.facts, "searched": [list(one) for one in tried]})

    def _trained(self, model: LoadedClassifier, reader: Reader, data: Data, validation: Data, rate: Rate,
                 seeds: np.random.SeedSequence) -> tuple[FittedTransformer, float]:
        """A model and its lowest validation loss (0 without validation rows)."""
        known = {"base_sha256": base_digest(model), "reader_sha256": reader.digest()}
        rows, checks = (read(model, reader, texts_of(one.inputs, self.name)) for one in (data, validation))
        done = train(model, rows, data.labels, checks, validation.labels, self.plan(rate.value), child(seeds, 1))
        curve = done.validation_curve
        facts = {**model.facts, "steps": done.steps, "planned_steps": done.planned_steps, "best_step": done.best_step,
                 "stopped_early": done.steps < done.planned_steps, "validation_curve": [list(one) for one in curve],
                 "padding_share": done.padding_share, "learning_rate": rate.value, "learning_rate_by": rate.by,
                 "token_share": share_seen(rows), "training_rows": len(data), "distinct_rows": distinct(data)[0].size,
                 **known}
        fitted = FittedTransformer(self, self.batch, model, reader, model.model.config.num_labels, facts)
        return fitted, min((loss for _, loss in curve), default=0.0)

    def opened(self, n_classes: int, seeds: np.random.SeedSequence) -> tuple[LoadedClassifier, Reader]:
        """The base under a fresh head, on a GPU where there is one, and what reads texts for it. As `load_classifier`.
        """
        torch = need("torch", "training a transformer", "train")
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
        """See `discreet.audit.train.base.Recipe`. Raises InputError for another base than that of the training."""
        n_classes, facts = manifest.fact("n_classes", int), manifest.facts["facts"]
        model, reader = self.opened(n_classes, np.random.SeedSequence(0))
        if facts.get("reader_sha256") != reader.digest():
            raise InputError(f"{folder}: {self.base} reads texts in another way than the base that the model was "
                             "trained from: expected the same tokeniser and template; restore that base, or train "
                             "again")
        if facts.get("base_sha256") != base_digest(model):
            raise InputError(f"{folder}: {self.base} has other weights than the base that the model was trained from: "
                             "restore that base, or train again")
        try:
            set_state(model, read_arrays(folder / ARRAYS))
        except InputError as error:
            raise InputError(f"{folder}: {error}") from None
        return FittedTransformer(self, self.batch, model, reader, n_classes, facts)

    def files(self) -> Mapping[str, Path]:
        """The base model's, where it is a folder or minilm; none for a name on the hub."""
        source, local = source_of(self.base)
        return files_of(Path(source)) if local else {}


@dataclass(frozen=True, slots=True, eq=False)
class FittedTransformer:
    """See `discreet.audit.train.base.Fitted`.

    In float32 on a CPU every text is computed alone, without padding: how a matrix product rounds depends on how many
    rows it has, and a score must not depend on the rest of its batch. On a GPU, and in bfloat16, texts of like length
    are computed together, `batch` at a time, and a score may differ in its last bits.
    """

    recipe: Recipe
    batch: int
    model: LoadedClassifier
    reader: Reader
    n_classes: int
    facts: Mapping[str, Any]

    def logits(self, inputs: Inputs) -> FloatArray:
        """(n, K) float64 of float32 logits."""
        return self._scored(inputs, hidden=False)

    def hidden(self, inputs: Inputs) -> FloatArray:
        """(n, d) what the head is given: the last layer at the pooled token (of BERT: behind its pooler)."""
        return self._scored(inputs, hidden=True)

    def save(self, folder: Path) -> None:
        """Write what was trained (LoRA and head, or all weights) and `recipe.json`; not the base, nor its tokeniser."""
        with saving(folder, self.recipe, self.n_classes, self.facts) as part:
            write_arrays(part / ARRAYS, state_of(self.model))

    def _scored(self, inputs: Inputs, *, hidden: bool) -> FloatArray:
        texts = texts_of(inputs, self.recipe.name)
        if not texts:
            width = int(self.model.model.config.get_text_config().hidden_size) if hidden else self.n_classes
            return np.zeros((0, width))
        places: dict[str, int] = {}
        at = [places.setdefault(text, len(places)) for text in texts]
        torch, device = import_module("torch"), self.model.device

        def score(ids: Any, mask: Any) -> FloatArray:
            with torch.inference_mode():
                found = self.model(torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device))[int(hidden)]
            return np.asarray(found.cpu().numpy(), dtype=np.float64)

        rows = read(self.model, self.reader, list(places))
        alone = device.type == "cpu" and self.model.dtype == "float32"
        return scored(rows, 1 if alone else self.batch, self.model.pad, score)[at]


def read(model: LoadedClassifier, reader: Reader, texts: Sequence[str]) -> list[Tokens]:
    """The tokens of each text. Raises InputError where the model has no embedding for one of them."""
    rows, known = reader(texts), int(model.model.get_input_embeddings().num_embeddings)
    highest = max((int(row.ids.max()) for row in rows), default=0)
    if highest >= known:
        raise InputError(f"{model.base}: its tokeniser has the token {highest:,}, its model only {known:,} tokens; "
                         "expected the tokeniser that it was trained with")
    return rows


def base_digest(model: LoadedClassifier) -> str:
    """SHA-256 of the weights that are not trained (none in full training), rounded to bfloat16.

    Rounded, for a base that is kept in bfloat16 on one machine and in float32 on another is the same base.
    """
    torch, digest = import_module("torch"), hashlib.sha256()
    for name, weights in sorted(model.model.named_parameters()):
        # Of a head that is trained whole, peft keeps what was drawn first.
        if not weights.requires_grad and ".original_module." not in name:
            rounded = weights.detach().to("cpu", torch.bfloat16).contiguous().view(torch.int16).numpy()
            digest.update(f"{name} {tuple(weights.shape)}\n".encode())
            digest.update(rounded)
    return digest.hexdigest()
