"""Files of vectors, one for each example of a table: what another model makes of the texts."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.numbers import counted
from discreet.core.types import FloatArray
from discreet.data.columns import open_columns, written

COLUMN = re.compile(r"e(0|[1-9][0-9]{0,5})")
EXPECTED = "an array 'example' (n,) of names and an array 'vectors' (n, d) of numbers, d at least 2"


def load_vectors(path: Path, ids: NDArray[np.object_]) -> FloatArray:
    """The vectors of the examples called `ids` (N,), in that order; (N, d) float64, d >= 2.

    `path` is a NumPy file .npz with `example` (n,) and `vectors` (n, d), or Parquet, CSV or JSON Lines with columns
    `example` and e0, e1, …. Examples that are not in `ids` are passed over.

    Raises
    ------
    InputError
        In one line, for a file that is not that, an example that stands twice or has no vector, and numbers that are
        not finite.
    MissingExtraError
        For a table without pyarrow.
    """
    names, vectors = _npz(path) if path.suffix.lower() == ".npz" else _columns(path)
    place: dict[str, int] = {}
    for row, name in enumerate(names):
        if name is None:
            raise InputError(f"{path}: row {row + 1:,} has no example; expected a name in every row")
        if place.setdefault(name, row) != row:
            raise InputError(f"{path}: example {name[:40]!r} stands there twice; keep one vector for each")
    lacking = [name for name in ids if name not in place]
    if lacking:
        raise InputError(f"{path}: {len(lacking):,} of the {counted(len(ids), 'example')} that were scored have no "
                         f"vector, the first of them {str(lacking[0])[:40]!r}; expected a row for each, by the "
                         f"names in the column 'example' of the scores")
    found = vectors[[place[name] for name in ids]]
    broken = ~np.isfinite(found).all(axis=1)
    if broken.any():
        raise InputError(f"{path}: the vectors of {counted(int(broken.sum()), 'example')} hold NaN or infinity; "
                         f"expected finite numbers")
    return found


def _npz(path: Path) -> tuple[list[str | None], FloatArray]:
    if not path.is_file():
        raise InputError(f"there is no file {path}; check the name")
    try:
        # Nothing is unpickled: a file of vectors must not run code. A plain array under this name is no archive.
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as held:
            given = {name: held[name] for name in ("example", "vectors") if name in held.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise InputError(f"{path} cannot be read as a NumPy .npz file without pickles; expected {EXPECTED}") from None
    if len(given) < 2:
        raise InputError(f"{path} lacks {'example' if 'example' not in given else 'vectors'!r}; expected {EXPECTED}")
    names, vectors = given["example"], given["vectors"]
    if names.ndim != 1 or names.dtype.kind not in "iuU" or vectors.dtype.kind not in "fiu" \
            or vectors.ndim != 2 or vectors.shape[0] != names.size or vectors.shape[1] < 2:
        raise InputError(f"{path}: example and vectors have shapes {names.shape} and {vectors.shape} and types "
                         f"{names.dtype} and {vectors.dtype}; expected {EXPECTED}")
    return [written(name) for name in names.tolist()], vectors.astype(np.float64)


def _columns(path: Path) -> tuple[list[str | None], FloatArray]:
    file = open_columns(path, lambda name: name == "example" or COLUMN.fullmatch(name) is not None,
                        lambda name: name != "example")
    count = sum(name != "example" for name in file.names)
    wanted = [f"e{place}" for place in range(count)]
    if "example" not in file.names or count < 2 or any(name not in file.names for name in wanted):
        file.fail("the columns are not those of vectors; expected 'example' and e0, e1, …, at least two and none left "
                  "out")
    coded = file.coded("example")
    names = [coded.names[code] if code >= 0 else None for code in coded.codes]
    return names, np.column_stack([file.numbers(name) for name in wanted])
