from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InputError
from discreet.inputs.arrays import ALONE, IDX_TYPES, channels_first, read_arrays

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (4, 5, 6)).astype(np.uint8)


def idx(array: np.ndarray, code: int = 0x08) -> bytes:
    head = b"\0\0" + bytes([code, array.ndim]) + b"".join(struct.pack(">I", size) for size in array.shape)
    return head + array.astype(IDX_TYPES[code]).tobytes()


def refused(said: str, call: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(InputError, match=said) as caught:
        call(*args, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", list(IDX_TYPES))
def test_idx_of_every_type(code: int, tmp_path: Path) -> None:
    array = RNG.integers(0, 100, (2, 3, 2)).astype(np.float64) + (0.5 if code >= 0x0D else 0)
    for name, raw in (("a.idx", idx(array, code)), ("b-idx3-ubyte.gz", gzip.compress(idx(array, code)))):
        (tmp_path / name).write_bytes(raw)
        found = read_arrays(tmp_path / name)[ALONE]
        np.testing.assert_array_equal(found, array)
        assert found.dtype == np.dtype(IDX_TYPES[code]).newbyteorder("=")
        assert found.flags.writeable


def test_npy_and_npz(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", PIXELS)
    np.savez(tmp_path / "b.npz", x=PIXELS, names=np.array(["cat", "dog"]))
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npy")[ALONE], PIXELS)
    found = read_arrays(tmp_path / "b.npz")
    assert set(found) == {"x", "names"}
    np.testing.assert_array_equal(found["x"], PIXELS)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    refused("there is no file", read_arrays, tmp_path / "none.npz")
    np.save(tmp_path / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    refused("pickled", read_arrays, tmp_path / "pickled.npy")
    np.savez_compressed(tmp_path / "whole.npz", x=PIXELS)
    raw = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(raw[: len(raw) // 2])
    refused("cannot be read", read_arrays, tmp_path / "cut.npz")
    (tmp_path / "cut.idx.gz").write_bytes(gzip.compress(idx(PIXELS))[:-12])
    refused("cut short", read_arrays, tmp_path / "cut.idx.gz")
    for name, body, said in (("a.idx", idx(PIXELS)[:-1], "119 bytes behind its head, which announces 120"),
                             ("b.idx", idx(PIXELS) + b"1", "121 bytes"), ("c.idx", b"\x01\0\x08\x01", "begin as an"),
                             ("d.idx", b"\0\0\x07\x01\0\0\0\0", "begin as an"),
                             ("e.idx", b"\0\0\x08\x09", "begin as an"),
                             ("f.txt", b"1", "ending that is not known")):
        (tmp_path / name).write_bytes(body)
        refused(said, read_arrays, tmp_path / name)


def test_channels_first() -> None:
    assert channels_first(np.zeros((2, 5, 6))).shape == (2, 1, 5, 6)
    assert channels_first(np.zeros((2, 5, 6, 3))).shape == (2, 3, 5, 6)
    assert channels_first(np.zeros((2, 5, 6, 1))).shape == (2, 1, 5, 6)
    assert channels_first(np.zeros((2, 3, 9, 3))).shape == (2, 3, 9, 3)
    assert channels_first(np.zeros((2, 4, 9, 9))).shape == (2, 4, 9, 9)
