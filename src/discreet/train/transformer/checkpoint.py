"""Weights of a classifier that is or was trained: the best so far, and a saved model's."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError
from discreet.train.transformer.loading import Loaded, need

WEIGHTS = "model.safetensors"
IN_MEMORY = 4 << 30
"""Bytes of trained weights beyond which the best ones lie in a temporary file."""


class Best:
    """The trained weights as they were when `take` was called last: LoRA and head, or all.

    A context manager: a temporary file, if there is one, lives as long as the block.
    """

    def __init__(self, model: Loaded, in_memory: int = IN_MEMORY) -> None:
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
            write_arrays(Path(self._folder.name) / WEIGHTS, state_of(self._model))
            return
        for name, weights in self._model.trained().items():
            now = weights.detach()
            if name in self._kept:
                self._kept[name].copy_(now)
            else:
                self._kept[name] = now.to("cpu", copy=True)

    def put_back(self) -> None:
        """Make the model what it was then. Raises ValueError if `take` was never called."""
        if self._folder is not None and (Path(self._folder.name) / WEIGHTS).exists():
            set_state(self._model, read_arrays(Path(self._folder.name) / WEIGHTS))
        elif self._kept:
            _copy(self._model, self._kept)
        else:
            raise ValueError("no weights were taken: expected take before put_back")


def state_of(model: Loaded) -> dict[str, NDArray[Any]]:
    """Name to float32 array of everything that is trained."""
    return {name: weights.detach().cpu().contiguous().numpy() for name, weights in model.trained().items()}


def set_state(model: Loaded, state: Mapping[str, NDArray[Any]]) -> None:
    """Copy what `state_of` made into a model of the same shape.

    Raises InputError, naming one array, where there are others than those that are trained, or of another shape.
    """
    torch, wanted = need("torch"), model.trained()
    if odd := sorted(set(wanted) ^ set(state)):
        raise InputError(f"the weights {'lack' if odd[0] in wanted else 'have a strange'} {odd[0][:80]!r}, one of "
                         f"{len(odd)} that differ from {model.base}'s: expected the base that the model was trained "
                         "from; name it, or train again")
    for name, weights in wanted.items():
        if tuple(weights.shape) != state[name].shape or state[name].dtype != "float32":
            raise InputError(f"the weights {name[:80]!r} are {state[name].dtype} of shape {state[name].shape}, those "
                             f"of {model.base} float32 of {tuple(weights.shape)}: name the base that the model was "
                             "trained from, or train again")
    _copy(model, {name: torch.from_numpy(array) for name, array in state.items()})


def base_digest(model: Loaded) -> str:
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


def _copy(model: Loaded, state: Mapping[str, Any]) -> None:
    torch = need("torch")
    with torch.no_grad():
        for name, weights in model.trained().items():
            weights.copy_(state[name])
