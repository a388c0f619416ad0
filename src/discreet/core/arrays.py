"""Log probabilities of logits, and NumPy arrays in a safetensors file: nothing in it runs when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.types import FloatArray


def log_softmax(logits: FloatArray) -> FloatArray:
    """Log probabilities over the last axis, in float64."""
    # Class by class: numpy reduces slowly over a last axis of two.
    classes = [logits[..., k] for k in range(logits.shape[-1])]
    top = reduce(np.maximum, classes)
    total = reduce(np.add, (np.exp(one - top) for one in classes))
    return np.subtract(logits, (top + np.log(total))[..., None], dtype=np.float64)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """A safetensors file of arrays; equal arrays give equal bytes. For a folder that is not yet in its place."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(one) for name, one in sorted(arrays.items())}, path)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """What `write_arrays` wrote. Raises InputError where the file is missing, cut short or of another form."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} cannot be read as safetensors ({type(error).__name__}): copy the whole folder again"
                         ) from None
