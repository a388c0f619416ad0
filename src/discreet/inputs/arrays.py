"""Arrays and images from .npz, .npy and IDX files (the last also as .gz).

Images come out as (n, C, H, W), channels first, in the type that the file has. No file can run code: pickles are
refused.
"""

from __future__ import annotations

import gzip
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.files import why

ALONE = "data"
"""The name of the one array of a .npy or IDX file."""
IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
PIXELS, CLASSES = ("x", "images", "inputs", ALONE), ("y", "labels", "targets")
"""How arrays of images and of their classes are called; with a part, such as "train", `x_train` and so on."""
ENDINGS = ".npz, .npy, .idx, .idx1-ubyte or .idx3-ubyte, the last three also with .gz"


def read_arrays(path: Path | str) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; "data" for the one of a .npy or IDX file. Archives of words (dtype U) are kept.

    Raises InputError for a file that is missing, cut short, of another ending or not what its ending says, or pickled.
    """
    where = Path(path)
    if not where.is_file():
        raise InputError(f"there is no file {where}; check the name")
    name = where.name.lower()
    try:
        if name.endswith(".npz"):
            # NumPy leaves a file open that it cannot read.
            with where.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                return {key: archive[key] for key in archive.files}
        if name.endswith(".npy"):
            return {ALONE: np.load(where, allow_pickle=False)}
        if name.removesuffix(".gz").endswith((".idx", "-ubyte")):
            packed = gzip.decompress(where.read_bytes()) if name.endswith(".gz") else where.read_bytes()
            return {ALONE: _idx(where, packed)}
    except OSError as error:
        raise InputError(f"cannot read {where}: {why(error)}; it may be cut short, copy it again") from None
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile):
        raise InputError(f"{where} cannot be read: cut short, pickled, or not what its ending says; write it again as "
                         "plain arrays") from None
    raise InputError(f"{where} has an ending that is not known; expected {ENDINGS}")


def channels_first(pixels: NDArray[Any]) -> NDArray[Any]:
    """Images (n, H, W), (n, C, H, W) or, with 1 or 3 channels, (n, H, W, C) as (n, C, H, W)."""
    if pixels.ndim == 3:
        return pixels[:, None]
    if pixels.shape[3] in (1, 3) and pixels.shape[1] not in (1, 3):
        return np.ascontiguousarray(np.moveaxis(pixels, 3, 1))
    return pixels


def _idx(path: Path, raw: bytes) -> NDArray[Any]:
    """The array of an IDX file (LeCun's format of MNIST). Raises InputError."""
    kind = IDX_TYPES.get(raw[2]) if len(raw) >= 4 and raw[:2] == b"\0\0" else None
    if kind is None or len(raw) < 4 + 4 * raw[3]:
        raise InputError(f"{path} does not begin as an IDX file; expected two zero bytes, a type and how many axes")
    shape = struct.unpack(f">{raw[3]}I", raw[4 : 4 + 4 * raw[3]])
    body, wanted = len(raw) - 4 - 4 * raw[3], int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
    if body != wanted:
        raise InputError(f"{path} holds {body:,} bytes behind its head, which announces {wanted:,}; copy it again")
    flat = np.frombuffer(raw, dtype=kind, offset=4 + 4 * raw[3])
    return flat.reshape(shape).astype(flat.dtype.newbyteorder("="))
