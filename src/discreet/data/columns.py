"""A table by columns: a few million rows without a Python object for each.

A column is either numbers, as float64, or names, as codes into the few distinct ones. No error quotes a cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.data.rows import Place

CodeArray = NDArray[np.int32]

ROW = "row"
LIST_MARK = "|"
WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of names.

    Attributes
    ----------
    codes : (R,) int32 array
        Places in `names`; -1 where a row has none (null, or an empty string).
    names : tuple of str
        Distinct, each used at least once. Numbers as Python writes them, 1.0 as "1"; "true" and "false".
    """

    codes: CodeArray
    names: tuple[str, ...]

    def ordered(self) -> Coded:
        """The same column with `names` in order: by value where all are whole numbers, else by code point."""
        order = name_order(self.names)
        rank = np.empty(len(order) + 1, dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        rank[-1] = -1
        return Coded(rank[self.codes], tuple(self.names[place] for place in order))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFile:
    """One open table; its columns are read when they are asked for.

    Attributes
    ----------
    names : tuple of str
        The columns that it has, of those that were asked for.
    rows : int
        R, at least 1. Errors count rows from 1, the header not among them.
    """

    path: Path
    names: tuple[str, ...]
    rows: int
    read: Callable[[str], Any]

    def fail(self, message: str, row: int | None = None) -> NoReturn:
        """Raise InputError with the file (and the row, given from 0) in front."""
        if row is None:
            raise InputError(f"{self.path}: {message}")
        Place(str(self.path), ROW, int(row) + 1).fail(message)

    def coded(self, name: str) -> Coded:
        """Column `name` as names; lists are joined with "|". InputError for what is neither text nor number."""
        try:
            with reading(self.path):
                return _coded(self.read(name))
        except TypeError:
            self.fail(f"{name!r} holds neither text nor numbers; expected strings, whole numbers, true or false")

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Column `name` as (R,) float64, NaN where it is null. InputError where it holds no numbers."""
        import pyarrow as pa

        with reading(self.path):
            column = self.read(name)
            kind = column.type
            if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
                self.fail(f"{name!r} holds no numbers; write the column as numbers, without quotes")
            return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def name_order(names: tuple[str, ...]) -> NDArray[np.int64]:
    """Places of `names` in order: by value where all are whole numbers without leading zeros, else by code point."""
    if all(WHOLE.fullmatch(name) for name in names):
        return np.argsort(np.array([int(name) for name in names], dtype=np.int64), kind="stable")
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What pyarrow raises on a broken file, as InputError."""
    import pyarrow.lib

    try:
        yield
    except (pyarrow.lib.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read ({type(error).__name__}): cut short, or not what its ending says; "
                         f"write it again") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} holds text that is not UTF-8; write it again with UTF-8 strings") from None


def _coded(column: Any) -> Coded:
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_null(column.type):
        return Coded(np.full(len(column), -1, dtype=np.int32), ())
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = compute.binary_join(column.cast(pa.list_(pa.string())), LIST_MARK)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks
    # The null of a row becomes -1, which reads the entry behind the last name.
    raw = np.concatenate([compute.fill_null(chunk.indices.cast(pa.int32()), -1).to_numpy() for chunk in chunks])
    given = [written(value) for value in chunks[0].dictionary.to_pylist()]
    used = np.bincount(raw + 1, minlength=len(given) + 1)[1:] > 0
    names: dict[str, int] = {}
    lookup = np.full(len(given) + 1, -1, dtype=np.int32)
    for place, (name, there) in enumerate(zip(given, used, strict=True)):
        if there and name is not None:
            lookup[place] = names.setdefault(name, len(names))
    return Coded(lookup[raw], tuple(names))


def written(value: Any) -> str | None:
    """A cell as a name, None where it is null, NaN or empty. TypeError for what is neither text nor number."""
    if isinstance(value, str):
        return value if value.strip() else None
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, int):
        return str(value)
    raise TypeError(type(value).__name__)
