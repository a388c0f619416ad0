"""Parquet, CSV and JSON Lines files (the last two also as .gz) to tables by columns.

Parquet is read a column at a time and CSV by pyarrow; JSON Lines go through `rows`, which knows the line of a mistake.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

from discreet.core.errors import InputError, MissingExtraError
from discreet.data.answers import clean
from discreet.data.columns import LIST_MARK, ColumnFile, reading, written
from discreet.data.rows import SUFFIXES, Place, iter_rows, json_type

Names = Callable[[str], bool]

BATCH = 1 << 16
FORMATS = {".parquet": "parquet", ".csv": "csv", ".csv.gz": "csv", ".jsonl": "json", ".jsonl.gz": "json",
           ".ndjson": "json", ".ndjson.gz": "json"}
CSV_PLACE = re.compile(r"CSV column #(\d+)")


def open_columns(path: Path, keep: Names, numeric: Names, expected: str = "") -> ColumnFile:
    """Open a Parquet, CSV or JSON Lines file (the last two also as .gz) for the columns that `keep` accepts.

    `numeric` says which of them hold numbers; a CSV file does not say so itself. `expected` names some of them, for the
    error where none is there. Raises InputError for a file that is missing, empty, cut short or not what its ending
    says, for a column that stands twice, and for CSV without such columns; MissingExtraError without pyarrow.
    """
    try:
        import pyarrow  # noqa: F401, ICN001
    except ImportError:
        raise MissingExtraError("reading a table of scores", "audit", "pyarrow") from None
    kind = next((FORMATS[end] for end in FORMATS if path.name.lower().endswith(end)), None)
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file that ends in {SUFFIXES}")
    if not path.exists():
        raise InputError(f"there is no file {path}; check the name")
    if not path.is_file() or kind is None:
        raise InputError(f"{path} has an ending that is not known, or is no regular file; expected {SUFFIXES}")
    opened = _csv(path, keep, numeric, expected) if kind == "csv" else {
        "parquet": _parquet, "json": _json}[kind](path, keep, numeric)
    if opened.rows == 0:
        raise InputError(f"{path} holds no rows; expected at least one")
    return opened


class Frame(Protocol):
    """A pandas DataFrame, or whatever else offers its columns through the Arrow C stream (polars, pyarrow)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns as an Arrow stream."""
        ...


def frame_columns(frame: Frame, keep: Names, name: str = "the DataFrame") -> ColumnFile:
    """The columns of a data frame that `keep` accepts, as those of a file; `name` stands in errors.

    Raises InputError for what is no frame, has no rows, or has a column twice; MissingExtraError without pyarrow.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("reading a table of scores", "audit", "pyarrow") from None
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InputError(f"scores are a {type(frame).__name__}; expected a path, a DataFrame or a ScoreTable")
    try:
        table = pa.table(frame)
    except (pa.lib.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"{name} cannot be read ({type(error).__name__}); expected columns of numbers and of strings, "
                         f"each name once") from None
    if table.num_rows == 0:
        raise InputError(f"{name} holds no rows; expected at least one")
    return ColumnFile(Path(name), _kept(Path(name), table.column_names, keep), table.num_rows, table.column)


def _kept(path: Path, header: list[str], keep: Names) -> tuple[str, ...]:
    kept = tuple(name for name in header if keep(name))
    if twice := sorted({name for name in kept if kept.count(name) > 1}):
        raise InputError(f"{path} has the column {twice[0]!r} twice; keep one of them")
    return kept


def _parquet(path: Path, keep: Names, numeric: Names) -> ColumnFile:
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
        _csv_refused(path, header, str(error))
    return ColumnFile(path, names, table.num_rows, table.column)


def _csv_header(path: Path) -> list[str]:
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opened(path, "rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as lines:
            header = next((record for record in csv.reader(lines) if record), None)
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; expected UTF-8: save it as that, for example with iconv") from None
    except (OSError, EOFError, zlib.error, csv.Error):
        raise InputError(f"{path} cannot be read as CSV: cut short, or not what its ending says; write it again"
                         ) from None
    if header is None:
        raise InputError(f"{path} is empty; expected a header and at least one row")
    return header


def _csv_refused(path: Path, header: list[str], message: str) -> NoReturn:
    # The system's message quotes the cell; only the places in it are ours to pass on.
    found = CSV_PLACE.search(message)
    if found and int(found[1]) < len(header):
        raise InputError(f"{path}: {header[int(found[1])]!r} holds a cell that is no number; expected one in each row"
                         ) from None
    raise InputError(f"{path} cannot be read as CSV: cut short, not UTF-8, or rows with more or fewer cells than the "
                     f"header; quote cells that hold commas and write it again") from None


def _json(path: Path, keep: Names, numeric: Names) -> ColumnFile:
    import pyarrow as pa

    batches = _JsonBatches(keep, numeric)
    for place, row in iter_rows(path, (), ()):
        batches.add(place, row)
    batches.flush()
    chunks = {name: pa.chunked_array(parts) for name, parts in batches.chunks.items()}
    return ColumnFile(path, tuple(chunks), batches.rows, chunks.__getitem__)


class _JsonBatches:
    """Rows to columns, a batch at a time: a row as a dict takes fifty times the room."""

    def __init__(self, keep: Names, numeric: Names) -> None:
        self._keep, self._numeric = keep, numeric
        self._batch: list[Mapping[str, Any]] = []
        self._types: dict[str, str] = {}
        self.chunks: dict[str, list[Any]] = {}
        self.rows = 0

    def add(self, place: Place, row: Mapping[str, Any]) -> None:
        kept: dict[str, Any] = {}
        for name, value in row.items():
            if self._keep(name):
                kept[name] = self._number(place, name, value) if self._numeric(name) else self._text(place, name, value)
        self._batch.append(kept)
        if len(self._batch) == BATCH:
            self.flush()

    def _number(self, place: Place, name: str, value: Any) -> float | None:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            place.fail(f"{name!r} is {json_type(value)}; expected a number")
        try:
            return None if value is None else float(value)
        except OverflowError:
            return float("inf")

    def _text(self, place: Place, name: str, value: Any) -> str | None:
        if isinstance(value, list):
            if not all(isinstance(item, str) for item in value):
                place.fail(f"{name!r} is a list with other things than strings in it; expected strings")
            return clean(LIST_MARK.join(value))
        if not (value is None or isinstance(value, str | int | float)):
            place.fail(f"{name!r} is {json_type(value)}; expected a string, a number, true, false or null")
        if value is not None:
            kind = json_type(value)
            if self._types.setdefault(name, kind) != kind:
                place.fail(f"{name!r} is {kind} here and {self._types[name]} before; give a column one type")
        named = written(value)
        return None if named is None else clean(named)

    def flush(self) -> None:
        import pyarrow as pa

        count = len(self._batch)
        for name in dict.fromkeys((*self.chunks, *(key for row in self._batch for key in row))):
            kind = pa.float64() if self._numeric(name) else pa.string()
            column = pa.array([row.get(name) for row in self._batch], kind)
            before = self.chunks.setdefault(name, [pa.nulls(self.rows, kind)] if self.rows else [])
            before.append(column)
        self.rows += count
        self._batch.clear()
