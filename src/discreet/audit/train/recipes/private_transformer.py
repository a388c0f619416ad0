"""`private-transformer`: a sequence classifier fine-tuned by LoRA and DP-SGD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.audit.train.base import Data, Fitted, Recipe, checked_training, need_torch, recipes, texts_of
from discreet.audit.train.plan import child
from discreet.audit.train.private import Gradients, PrivateOptions, Tensor, train_private
from discreet.audit.train.recipes.transformer import FittedTransformer, Transformer, base_digest, read
from discreet.audit.train.transformer.classifier import MINILM, LoadedClassifier
from discreet.audit.train.transformer.loop import tensors
from discreet.audit.train.transformer.reading import Tokens, share_seen
from discreet.core.folders import Manifest
from discreet.core.types import IntArray


@recipes.register("private-transformer")
@dataclass(frozen=True, slots=True)
class PrivateTransformer(PrivateOptions, Recipe):
    """LoRA and a head on a base that the guarantee takes as public; without dropout.

    Options: `base`, `rank`, `alpha`, `targets`, `layers`, `max_tokens`, `prompt` and `dtype` as of `transformer`;
    `epsilon` or `noise`, `delta`, `epochs`, `batch`, `clip` and `rate` as of `PrivatePlan`. Validation rows are not
    used. Each row has a backward pass of its own, so that nothing of a row is in another's gradient.
    """

    name: ClassVar[str] = "private-transformer"
    libraries: ClassVar[tuple[str, ...]] = (*Transformer.libraries, "opacus")

    base: str = MINILM
    rank: int = 16
    alpha: float | None = None
    targets: tuple[str, ...] | None = None
    layers: int | None = None
    epochs: int = 5
    rate: float = 0.002
    max_tokens: int = 128
    prompt: Literal["auto", "safety", "depression", "none"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"

    def __post_init__(self) -> None:
        _ = self.plan, self.plain

    @property
    def plain(self) -> Transformer:
        """The recipe that opens, reads and scores as this one."""
        return Transformer(base=self.base, regime="lora", rank=self.rank, alpha=self.alpha, dropout=0.0,
                           targets=self.targets, layers=self.layers, max_tokens=self.max_tokens, prompt=self.prompt,
                           dtype=self.dtype)

    def fit(self, train: Data, validation: Data, n_classes: int, seeds: np.random.SeedSequence) -> Fitted:
        """See `discreet.audit.train.base.Recipe`. UsageError where `delta` is too high for so many rows."""
        texts = texts_of(train.inputs, self.name)
        checked_training(train, validation, n_classes)
        self.plan.budget(len(train))
        plain = self.plain
        model, reader = plain.opened(n_classes, child(seeds, 0))
        known = {"base_sha256": base_digest(model), "reader_sha256": reader.digest()}
        rows = read(model, reader, texts)
        found = train_private(list(model.trained().values()), _gradients(model, rows, train.labels), len(train),
                              self.plan, seeds)
        facts = {**model.facts, **found, "token_share": share_seen(rows), **known}
        return FittedTransformer(self, plain.batch, model, reader, n_classes, facts)

    def load(self, folder: Path, manifest: Manifest) -> Fitted:
        """See `discreet.audit.train.base.Recipe`. Raises InputError for another base than that of the training."""
        found = self.plain.load(folder, manifest)
        assert isinstance(found, FittedTransformer)
        return replace(found, recipe=self)

    def files(self) -> Mapping[str, Path]:
        """The base model's, where it is a folder or minilm; none for a name on the hub."""
        return self.plain.files()


def _gradients(model: LoadedClassifier, rows: Sequence[Tokens], labels: IntArray) -> Gradients:
    """Gradients of the log loss by what is trained."""
    torch, parameters = need_torch(), list(model.trained().values())
    wanted = torch.from_numpy(labels).to(model.device)

    def one(row: int) -> tuple[Tensor, ...]:
        logits, _ = model(*tensors(model, [rows[row]]))
        found: tuple[Tensor, ...] = torch.autograd.grad(
            torch.nn.functional.cross_entropy(logits, wanted[row : row + 1]), parameters)
        return found

    def gradients(chosen: IntArray) -> Sequence[Any]:
        return [torch.stack(every) for every in zip(*map(one, chosen.tolist()), strict=True)]

    return gradients
