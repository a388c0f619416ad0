"""Copies of inputs with small changes: words dropped and swapped, noise on numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.core.errors import UsageError

SHARE = 0.15
"""Chance that a word, or a value of a sparse matrix, is dropped, and that a word changes places with the next."""
NOISE = 0.1
"""Deviation of the noise on a number, in deviations of its column."""


def can_perturb(inputs: Any) -> bool:
    """Whether `perturbed` knows the form: texts, an array of numbers, a sparse matrix, a pandas frame with numbers."""
    if isinstance(inputs, list):
        return all(isinstance(one, str) for one in inputs)
    if hasattr(inputs, "iloc"):
        return bool(_numeric(inputs))
    return hasattr(inputs, "tocsr") or (isinstance(inputs, np.ndarray) and inputs.dtype.kind in "fiub")


def perturbed(inputs: Any, rng: Generator) -> Any:
    """One changed copy of each of n inputs, in their form; whole numbers become floats.

    Of texts each word is dropped with probability `SHARE`, and of those that are left each changes places with the next
    with that probability; a text keeps one word at least. To numbers Gaussian noise of `NOISE` deviations of their
    column is added, over the n inputs; of a sparse matrix each value is dropped with probability `SHARE`. UsageError
    for inputs of another form.
    """
    if not can_perturb(inputs):
        raise UsageError(f"inputs are a {type(inputs).__name__} that cannot be perturbed; expected texts, an array of "
                         "numbers, a sparse matrix or a pandas data frame with columns of numbers")
    if isinstance(inputs, list):
        return [_text(one, rng) for one in inputs]
    if hasattr(inputs, "tocsr"):
        found = inputs.tocsr(copy=True)
        found.data = np.where(rng.random(found.data.size) < SHARE, 0, found.data)
        found.eliminate_zeros()
        return found
    if hasattr(inputs, "iloc"):
        found = inputs.copy()
        for name in _numeric(inputs):
            found[name] = _noisy(inputs[name].to_numpy(dtype=np.float64), rng)
        return found
    return _noisy(inputs.astype(np.float64), rng).astype(inputs.dtype if inputs.dtype.kind == "f" else np.float64)


def _numeric(frame: Any) -> list[Any]:
    """Columns of floats: whole numbers may be codes."""
    return [name for name in frame.columns if getattr(frame[name].dtype, "kind", "") == "f"]


def _noisy(values: Any, rng: Generator) -> Any:
    return values + NOISE * np.nanstd(values, axis=0) * rng.standard_normal(values.shape)


def _text(text: str, rng: Generator) -> str:
    words = text.split()
    kept = [word for word, lot in zip(words, rng.random(len(words)), strict=True) if lot >= SHARE] or words[:1]
    for place, lot in enumerate(rng.random(max(0, len(kept) - 1))):
        if lot < SHARE:
            kept[place], kept[place + 1] = kept[place + 1], kept[place]
    return " ".join(kept)
