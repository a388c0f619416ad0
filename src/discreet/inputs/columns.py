"""A table by columns: a few million rows without a Python object for each.

A column is either numbers, as float64, or names, as codes into the few distinct ones. No error quotes a cell.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, need
from discreet.core.files import clean
from discreet.core.types import FloatArray, IntArray
from discreet.inputs.rows import Place, Row, format_of, iter_rows, json_type, reading

CodeArray = NDArray[np.int32]

ROW = "row"
LIST_MARK = "|"
WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of names: `codes` (R,) are places in `names`, -1 where a row has none (null, or an empty string).

    Names are distinct, each used at least once: numbers as Python writes them, 1.0 as "1"; "true" and "false".
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
    """One open table, whose columns are read when they are asked for.

    `names` are the columns that it has, of those that were asked for; `rows` is at least 1. Errors count rows from 1,
    the header not among them.
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

    def numbers(self, name: str) -> FloatArray:
        """Column `name` as (R,) float64, NaN where it is null. InputError where it holds no numbers."""
        import pyarrow as pa

        with reading(self.path):
            column = self.read(name)
            kind = column.type
            if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
                self.fail(f"{name!r} holds no numbers; write the column as numbers, without quotes")
            return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def name_order(names: tuple[str, ...]) -> IntArray:
    """Places of `names` in order: by value where all are whole numbers without leading zeros, else by code point."""
    if all(WHOLE.fullmatch(name) for name in names):
        return np.argsort(np.array([int(name) for name in names], dtype=np.int64), kind="stable")
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)


def name_codes(values: Iterable[str]) -> IntArray:
    """The rank of each value among the distinct ones, in the order of `name_order`."""
    given = list(values)
    distinct = tuple(set(given))
    code = {distinct[place]: rank for rank, place in enumerate(name_order(distinct))}
    return np.array([code[value] for value in given], dtype=np.int64)


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


Names = Callable[[str], bool]

BATCH = 1 << 16
CSV_PLACE = re.compile(r"CSV column #(\d+)")


def open_columns(path: Path, keep: Names, numeric: Names, expected: str = "") -> ColumnFile:
    """Open a Parquet, CSV or JSON Lines file (the last two also as .gz) for the columns that `keep` accepts.

    `numeric` says which of them hold numbers; a CSV file does not say so itself. `expected` names some of them, for the
    error where none is there. Raises InputError for a file that is missing, empty, cut short or not what its ending
    says, for a column that stands twice, and for CSV without such columns; MissingExtraError without pyarrow.
    """
    need_arrow()
    kind = format_of(path)
    if kind == "json":
        opened = row_columns(path, iter_rows(path, (), ()), keep, numeric)
    else:
        opened = _csv(path, keep, numeric, expected) if kind == "csv" else _parquet(path, keep)
    if opened.rows == 0:
        raise InputError(f"{path} holds no rows; expected at least one")
    return opened


def need_arrow() -> Any:
    """pyarrow, or MissingExtraError."""
    return need("pyarrow", "reading or writing a table of scores", "audit")


class Frame(Protocol):
    """A pandas DataFrame, or whatever else offers its columns through the Arrow C stream (polars, pyarrow)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns as an Arrow stream."""
        ...


def frame_columns(frame: Frame, keep: Names, name: str = "the DataFrame") -> ColumnFile:
    """The columns of a data frame that `keep` accepts, as those of a file; `name` stands in errors.

    Raises InputError for what is no frame, has no rows, or has a column twice; MissingExtraError without pyarrow.
    """
    pa = need_arrow()
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InputError(f"scores are of the type {type(frame).__name__}; expected a path, a DataFrame or a ScoreTable")
    try:
        table = pa.table(frame)
    except (pa.lib.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"{name} cannot be read ({type(error).__name__}); expected columns of numbers and of strings, "
                         f"each name once") from None
    if table.num_rows == 0:
        raise InputError(f"{name} holds no rows; expected at least one")
    return ColumnFile(Path(name), _kept(Path(name), table.column_names, keep), table.num_rows, table.column)


def _kept(path: Path, header: list[str], keep: Names) -> tuple[str, ...]:
    kept = tuple(filter(keep, header))
    if twice := sorted({name for name in kept if kept.count(name) > 1}):
        raise InputError(f"{path} has the column {twice[0]!r} twice; keep one of them")
    return kept


def _parquet(path: Path, keep: Names) -> ColumnFile:
    import pyarrow as pa
    from pyarrow import parquet

    def read(name: str) -> Any:
        text = pa.types.is_string(schema.field(name).type) or pa.types.is_large_string(schema.field(name).type)
        # A dictionary keeps repeated strings as four bytes a row instead of the whole string.
        with parquet.ParquetFile(path, read_dictionary=[name] if text else None) as file:
            return file.read(columns=[name]).column(0)

    with reading(path), parquet.ParquetFile(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
    return ColumnFile(path, _kept(path, schema.names, keep), rows, read)


def _csv(path: Path, keep: Names, numeric: Names, expected: str) -> ColumnFile:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header = _csv_header(path)
    names = _kept(path, header, keep)
    if not names:
        raise InputError(f"{path} has none of the columns that are known; expected a header in the first line, with "
                         f"commas between the names{expected and f', such as {expected}'}")
    text = pa.dictionary(pa.int32(), pa.string())
    convert = arrow_csv.ConvertOptions(
        include_columns=list(names), null_values=[""],
        column_types={name: pa.float64() if numeric(name) else text for name in names})
    packed = "gzip" if path.name.lower().endswith(".gz") else None
    try:
        with pa.input_stream(str(path), compression=packed) as stream:
            # A column that is passed over may hold text with line breaks.
            table = arrow_csv.read_csv(stream, parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                                       convert_options=convert)
    except (pa.lib.ArrowException, OSError) as error:
        # The system's message quotes the cell; only the places in it are ours to pass on.
        found = CSV_PLACE.search(str(error))
        if found and int(found[1]) < len(header):
            row = _no_number(path, int(found[1]))
            raise InputError(f"{path}{'' if row is None else f', {ROW} {row}'}: {header[int(found[1])]!r} holds a cell "
                             "that is no number; expected one in each row") from None
        raise InputError(f"{path} cannot be read as CSV: cut short, not UTF-8, or rows with more or fewer cells than "
                         f"the header; quote cells that hold commas and write it again") from None
    return ColumnFile(path, names, table.num_rows, table.column)


def _no_number(path: Path, place: int) -> int | None:
    """The first row of a CSV file whose cell in this column is no number; None where Python reads them all."""
    try:
        with _csv_lines(path) as lines:
            for row, record in enumerate(record for record in csv.reader(lines) if record):
                if row and record[place]:
                    try:
                        float(record[place])
                    except ValueError:
                        return row
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error, IndexError):
        return None
    return None


@contextmanager
def _csv_lines(path: Path) -> Iterator[io.TextIOWrapper]:
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as lines:
        yield lines


def _csv_header(path: Path) -> list[str]:
    try:
        with _csv_lines(path) as lines:
            header = next((record for record in csv.reader(lines) if record), None)
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; expected UTF-8: save it as that, for example with iconv") from None
    except (OSError, EOFError, zlib.error, csv.Error):
        raise InputError(f"{path} cannot be read as CSV: cut short, or not what its ending says; write it again"
                         ) from None
    if header is None:
        raise InputError(f"{path} is empty; expected a header and at least one row")
    return header


def row_columns(path: Path, given: Iterator[Row], keep: Names, numeric: Names) -> ColumnFile:
    """Rows to columns, a batch at a time: a row as a dict takes fifty times the room. As `open_columns`."""
    pa = need_arrow()
    types: dict[str, str] = {}
    chunks: dict[str, list[Any]] = {}
    rows = 0
    while batch := [{name: _number(place, name, value) if numeric(name) else _name(place, name, value, types)
                     for name, value in row.items() if keep(name)} for place, row in islice(given, BATCH)]:
        for name in dict.fromkeys((*chunks, *(key for row in batch for key in row))):
            kind = pa.float64() if numeric(name) else pa.string()
            before = chunks.setdefault(name, [pa.nulls(rows, kind)] if rows else [])
            before.append(pa.array([row.get(name) for row in batch], kind))
        rows += len(batch)
    columns = {name: pa.chunked_array(parts) for name, parts in chunks.items()}
    return ColumnFile(path, tuple(columns), rows, columns.__getitem__)


def _number(place: Place, name: str, value: Any) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        place.fail(f"{name!r} is {json_type(value)}; expected a number")
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf")


def _name(place: Place, name: str, value: Any, types: dict[str, str]) -> str | None:
    """A cell as a name; `types` keeps what kind of cell each column had first."""
    if isinstance(value, list):
        if not all(isinstance(item, str) for item in value):
            place.fail(f"{name!r} is a list with other things than strings in it; expected strings")
        return clean(LIST_MARK.join(value))
    if not (value is None or isinstance(value, str | int | float)):
        place.fail(f"{name!r} is {json_type(value)}; expected a string, a number, true, false or null")
    kind = json_type(value)
    if value is not None and types.setdefault(name, kind) != kind:
        place.fail(f"{name!r} is {kind} here and {types[name]} before; give a column one type")
    named = written(value)
    return None if named is None else clean(named)
