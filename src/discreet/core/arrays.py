"""NumPy arrays in a safetensors file: numbers under names and nothing that runs when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError


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
