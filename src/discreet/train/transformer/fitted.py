"""A fine-tuned classifier that scores, its weights at their best, and how it is saved."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError
from discreet.core.folders import Manifest
from discreet.train.base import FloatArray, Inputs, Recipe, need, texts_of
from discreet.train.saved import ARRAYS, saving
from discreet.train.transformer.batches import scored
from discreet.train.transformer.loading import LoadedClassifier, device_of
from discreet.train.transformer.reading import Reader, Tokens

IN_MEMORY = 4 << 30
"""Bytes of trained weights beyond which the best ones lie in a temporary file."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedTransformer:
    """See `discreet.train.base.Fitted`.

    In float32 on a CPU every text is computed alone, without padding: how a matrix product rounds depends on how many
    rows it has, and a score must not depend on the rest of its batch. On a GPU, and in bfloat16, texts of like length
    are computed together, `batch` at a time, and a score may differ in its last bits.
    """

    recipe: Recipe
    model: LoadedClassifier
    reader: Reader
    n_classes: int
    facts: Mapping[str, Any]
    batch: int = 32

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
        torch, device = need("torch"), device_of(self.model)

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


def marks(model: LoadedClassifier, reader: Reader) -> dict[str, str]:
    """Facts by which `restored` knows the base: hashes of the frozen weights and of the way of reading."""
    return {"base_sha256": base_digest(model), "reader_sha256": reader.digest()}


def restored(recipe: Recipe, model: LoadedClassifier, reader: Reader, folder: Path, manifest: Manifest
             ) -> FittedTransformer:
    """What `FittedTransformer.save` wrote, in a freshly loaded base.

    Raises InputError where weights are missing, unexpected or truncated, and for another base than it was trained from.
    """
    facts = manifest.facts["facts"]
    if facts.get("reader_sha256") != reader.digest():
        raise InputError(f"{folder}: {model.base} reads texts in another way than the base that the model was trained "
                         "from: expected the same tokeniser and template; restore that base, or train again")
    if facts.get("base_sha256") != base_digest(model):
        raise InputError(f"{folder}: {model.base} has other weights than the base that the model was trained from: "
                         "restore that base, or train again")
    try:
        set_state(model, read_arrays(folder / ARRAYS))
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    return FittedTransformer(recipe, model, reader, manifest.fact("n_classes", int), facts)


class Best:
    """The trained weights as they were when `take` was called last: LoRA and head, or all.

    A context manager: a temporary file, if there is one, lives as long as the block.
    """

    def __init__(self, model: LoadedClassifier, in_memory: int = IN_MEMORY) -> None:
        self._model = model
        self._kept: dict[str, Any] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if sum(weights.numel() * weights.element_size() for weights in model.trained().values()) > in_memory:
            self._folder = tempfile.TemporaryDirectory(prefix="discreet-best-")

    def __enter__(self) -> Best:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def take(self) -> None:
        """Remember the weights as they are now."""
        if self._folder is not None:
            write_arrays(Path(self._folder.name) / ARRAYS, state_of(self._model))
            return
        for name, weights in self._model.trained().items():
            now = weights.detach()
            if name in self._kept:
                self._kept[name].copy_(now)
            else:
                self._kept[name] = now.to("cpu", copy=True)

    def put_back(self) -> None:
        """Make the model what it was then. Raises ValueError if `take` was never called."""
        if self._folder is not None and (Path(self._folder.name) / ARRAYS).exists():
            set_state(self._model, read_arrays(Path(self._folder.name) / ARRAYS))
        elif self._kept:
            _copy(self._model, self._kept)
        else:
            raise ValueError("no weights were taken: expected take before put_back")


def state_of(model: LoadedClassifier) -> dict[str, NDArray[Any]]:
    """Name to float32 array of everything that is trained."""
    return {name: weights.detach().cpu().contiguous().numpy() for name, weights in model.trained().items()}


def set_state(model: LoadedClassifier, state: Mapping[str, NDArray[Any]]) -> None:
    """Copy what `state_of` made into a model of the same shape.

    Raises InputError, naming one array, where there are others than those that are trained, or of another shape.
    """
    torch, wanted = need("torch"), model.trained()
    if odd := sorted(set(wanted) ^ set(state)):
        raise InputError(f"the weights {'lack' if odd[0] in wanted else 'have an unexpected'} {odd[0][:80]!r}, one of "
                         f"{len(odd)} that differ from {model.base}'s: expected the base that the model was trained "
                         "from; name it, or train again")
    for name, weights in wanted.items():
        if tuple(weights.shape) != state[name].shape or state[name].dtype != "float32":
            raise InputError(f"the weights {name[:80]!r} are {state[name].dtype} of shape {state[name].shape}, those "
                             f"of {model.base} float32 of {tuple(weights.shape)}: name the base that the model was "
                             "trained from, or train again")
    _copy(model, {name: torch.from_numpy(array) for name, array in state.items()})


def base_digest(model: LoadedClassifier) -> str:
    """SHA-256 of the weights that are not trained (none in full training), rounded to bfloat16.

    Rounded, for a base that is kept in bfloat16 on one machine and in float32 on another is the same base.
    """
    torch, digest = need("torch"), hashlib.sha256()
    for name, weights in sorted(model.model.named_parameters()):
        # Of a head that is trained whole, peft keeps what was drawn first.
        if not weights.requires_grad and ".original_module." not in name:
            rounded = weights.detach().to("cpu", torch.bfloat16).contiguous().view(torch.int16).numpy()
            digest.update(f"{name} {tuple(weights.shape)}\n".encode())
            digest.update(rounded)
    return digest.hexdigest()


def _copy(model: LoadedClassifier, state: Mapping[str, Any]) -> None:
    torch = need("torch")
    with torch.no_grad():
        for name, weights in model.trained().items():
            weights.copy_(state[name])
