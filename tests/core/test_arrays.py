from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import InputError


def test_arrays_come_back_bit_for_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given: dict[str, NDArray[Any]] = {
        "b": rng.normal(size=(3, 4)).astype(np.float32), "a": rng.normal(size=(5, 2)).T, "c": np.arange(3)}
    write_arrays(tmp_path / "one", given)
    write_arrays(tmp_path / "two", {name: given[name] for name in reversed(given)})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    found = read_arrays(tmp_path / "one")
    assert found.keys() == given.keys()
    for name, array in given.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("content", [None, b"", b"no", b"whole but for its end"])
def test_what_cannot_be_read_is_said_in_a_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "arrays"
    if content is not None:
        write_arrays(path, {"a": np.zeros(9)})
        path.write_bytes(path.read_bytes()[:-1] if content.startswith(b"whole") else content)
    with pytest.raises(InputError, match=r"cannot be read as safetensors .*: copy the whole folder again") as caught:
        read_arrays(path)
    assert "\n" not in str(caught.value)
