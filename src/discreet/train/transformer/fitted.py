"""A fine-tuned classifier that scores, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError
from discreet.core.folders import Manifest
from discreet.train.base import FloatArray, Inputs, Recipe, Structures, saving
from discreet.train.features import texts_of
from discreet.train.transformer.batches import scored
from discreet.train.transformer.checkpoint import WEIGHTS, base_digest, set_state, state_of
from discreet.train.transformer.loading import Loaded, need
from discreet.train.transformer.loop import device_of
from discreet.train.transformer.reading import Reader, Tokens


@dataclass(frozen=True, slots=True, eq=False)
class FittedTransformer:
    """See `discreet.train.base.Fitted`.

    In float32 on a CPU every text is computed alone, without padding: how a matrix product rounds hangs on how many
    rows it has, and a score must not depend on its company. On a GPU, and in bfloat16, texts of like length are
    computed together, `batch` at a time, and a score may differ in its last bits.
    """

    recipe: Recipe
    model: Loaded
    reader: Reader
    n_classes: int
    facts: Mapping[str, Any]
    batch: int = 32

    def logits(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, K) float64 of float32 logits. A text is read the same whatever its structure."""
        return self._scored(data_inputs, hidden=False)

    def hidden(self, data_inputs: Inputs, structures: Structures = None) -> FloatArray:
        """(n, d) what the head is given: the last layer at the pooled token (of BERT: behind its pooler)."""
        return self._scored(data_inputs, hidden=True)

    def save(self, folder: Path) -> None:
        """Write what was trained (LoRA and head, or all weights) and `recipe.json`; not the base, nor its tokeniser."""
        with saving(folder, self.recipe, self.n_classes, self.facts) as part:
            write_arrays(part / WEIGHTS, state_of(self.model))

    def _scored(self, inputs: Inputs, *, hidden: bool) -> FloatArray:
        texts = texts_of(inputs, self.recipe.name)
        if not texts:
            width = int(self.model.model.config.get_text_config().hidden_size) if hidden else self.n_classes
            return np.zeros((0, width))
        places: dict[str, int] = {}
        at = [places.setdefault(text, len(places)) for text in texts]
        torch, device = need("torch"), device_of(self.model)

        def score(ids: Any, mask: Any) -> FloatArray:
            with torch.inference_mode():
                found = self.model(torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device))[int(hidden)]
            return np.asarray(found.cpu().numpy(), dtype=np.float64)

        rows = read(self.model, self.reader, list(places))
        alone = device.type == "cpu" and self.model.dtype == "float32"
        return scored(rows, 1 if alone else self.batch, self.model.pad, score)[at]


def read(model: Loaded, reader: Reader, texts: Sequence[str]) -> list[Tokens]:
    """The tokens of each text. Raises InputError where the model has no embedding for one of them."""
    rows, known = reader(texts), int(model.model.get_input_embeddings().num_embeddings)
    highest = max((int(row.ids.max()) for row in rows), default=0)
    if highest >= known:
        raise InputError(f"{model.base}: its tokeniser has the token {highest:,}, its model only {known:,} tokens; "
                         "expected the tokeniser that it was trained with")
    return rows


def marks(model: Loaded, reader: Reader) -> dict[str, str]:
    """Facts by which `restored` knows the base: hashes of the frozen weights and of the way of reading."""
    return {"base_sha256": base_digest(model), "reader_sha256": reader.digest()}


def restored(recipe: Recipe, model: Loaded, reader: Reader, folder: Path, manifest: Manifest) -> FittedTransformer:
    """What `FittedTransformer.save` wrote, in a freshly loaded base.

    Raises InputError where weights are missing, strange or truncated, and for another base than it was trained from.
    """
    facts = manifest.facts["facts"]
    if facts.get("reader_sha256") != reader.digest():
        raise InputError(f"{folder}: {model.base} reads texts in another way than the base that the model was trained "
                         "from: expected the same tokeniser and template; restore that base, or train again")
    if facts.get("base_sha256") != base_digest(model):
        raise InputError(f"{folder}: {model.base} has other weights than the base that the model was trained from: "
                         "restore that base, or train again")
    try:
        set_state(model, read_arrays(folder / WEIGHTS))
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    return FittedTransformer(recipe, model, reader, manifest.fact("n_classes", int), facts)
