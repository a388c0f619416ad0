"""Files and standard input to rows, one mapping a row with the line that it came from, and cells to values.

JSON Lines and CSV (plain or gzip) and Parquet are read as a stream, so that a file may be larger than memory. Every
error names the file, the line and what to do, and never quotes a cell: a cell may be the text of an answer.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar, cast

from discreet.core.errors import InputError, need
from discreet.core.files import clean

T = TypeVar("T")
Word = TypeVar("Word", bound=str)

# JSON can spell half a surrogate pair, which no file can hold; one character for one keeps every offset.
UTF8_BOM = b"\xef\xbb\xbf"
OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
MAX_CELL = 64 * 2**20
FORMATS = {".parquet": "parquet", ".csv": "csv", ".csv.gz": "csv", ".jsonl": "json", ".jsonl.gz": "json",
           ".ndjson": "json", ".ndjson.gz": "json"}
SUFFIXES = ".jsonl, .ndjson, .csv (each also with .gz) or .parquet"
OTHER_NAMES = {
    "answer": ("answers", "response", "output", "completion", "generation", "prediction", "text", "Answer"),
    "id": ("ID", "Id", "_id", "uid", "uuid", "key", "answer_id", "query_id", "question_id"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands; errors begin with it."""

    source: str
    unit: str
    number: int

    def __str__(self) -> str:
        return f"{self.source}, {self.unit} {self.number}"

    def fail(self, message: str) -> NoReturn:
        """Raise InputError with the place in front."""
        raise InputError(f"{self}: {message}")


Row = tuple[Place, Mapping[str, Any]]


def absent(value: Any) -> bool:
    """Whether a cell says nothing: null, not a number (as pandas writes null), or empty."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and isnan(value))


def id_cell(place: Place, value: Any) -> str:
    """A cell that is the id of a row."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        place.fail(f"'id' is {'empty' if value == '' else json_type(value)}; expected a string or a whole number")
    return str(value)


def string_cell(place: Place, column: str, value: Any) -> str | None:
    """A cell that is a string; None for null and the empty string."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        place.fail(f"{column!r} is {json_type(value)}; expected a string or null")
    return clean(value)


def word_cell(place: Place, column: str, value: Any, words: Collection[Word]) -> Word | None:
    """A cell that is one of a few words, in any case; None where it is empty."""
    if absent(value):
        return None
    said = value.strip().lower() if isinstance(value, str) else ""
    found = next((word for word in words if word == said), None)
    if found is None:
        place.fail(f"{column!r} is not one that is known; expected one of {', '.join(words)}")
    return found


def unique(rows: Iterable[Row], read: Callable[[Place, Mapping[str, Any]], T], key: Callable[[T], str]
           ) -> Iterator[tuple[Place, T]]:
    """Rows as records, with InputError naming both places when an id comes twice."""
    seen: dict[str, int] = {}
    for place, row in rows:
        record = read(place, row)
        first = seen.setdefault(key(record), place.number)
        if first != place.number:
            place.fail(f"the id of this row was used before, in {place.unit} {first}; ids must be unique")
        yield place, record


def iter_rows(path: Path, columns: Collection[str], required: Collection[str]) -> Iterator[Row]:
    """Rows of a JSON Lines, CSV or Parquet file; CSV cells are strings, others keep their JSON type.

    `columns` limits what is read of a Parquet file; its other columns are in each row, as None. Raises InputError for
    whatever keeps the file from being rows that have the `required` columns.
    """
    empty = True
    for place, row in _rows(path, columns, required):
        empty = False
        for name in required:
            if name not in row:
                _missing(place, name, row)
        yield place, row
    if empty:
        with_columns = f" with the columns {_and(required)}" if required else ""
        raise InputError(f"{path} holds no rows; expected at least one{with_columns}")


def iter_json_lines(lines: Iterable[bytes], source: str) -> Iterator[Row]:
    """Rows of JSON Lines as bytes; blank lines are passed over."""
    offset = 0
    for number, line in enumerate(lines, start=1):
        place = Place(source, "line", number)
        text = _decode(line, offset, source)
        offset += len(line)
        if text.strip():
            yield place, _json_object(text, place)


def _rows(path: Path, columns: Collection[str], required: Collection[str]) -> Iterator[Row]:
    kind = format_of(path, ", or use '-' to read standard input", ", or plain text on standard input")
    if kind == "parquet":
        yield from _parquet_rows(path, columns, required)
        return
    with _open(path) as handle:
        lines = _lines(handle, str(path))
        yield from (iter_json_lines(lines, str(path)) if kind == "json" else
                    iter_csv(lines, str(path), columns, required))


def format_of(path: Path, else_: str = "", or_: str = "") -> str:
    """"json", "csv" or "parquet". Raises InputError for what is no file, or has an ending that is not known."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file that ends in {SUFFIXES}")
    if not path.exists():
        raise InputError(f"there is no file {path}; check the name{else_}")
    if not path.is_file():
        raise InputError(f"{path} is a pipe or a device; expected a regular file{else_}")
    found = next((FORMATS[end] for end in FORMATS if path.name.lower().endswith(end)), None)
    if found is None:
        raise InputError(f"{path} has an ending that is not known; expected {SUFFIXES}{or_}")
    return found


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    try:
        if path.name.lower().endswith(".gz"):
            with gzip.open(path, "rb") as packed:
                yield cast(BinaryIO, packed)
        else:
            with path.open("rb") as plain:
                yield plain
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path} is not a whole gzip file; pack it again, or drop the ending .gz if it is plain"
                         ) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {(error.strerror or type(error).__name__).lower()}") from None


def _lines(handle: BinaryIO, source: str) -> Iterator[bytes]:
    """Lines that end in a line feed (JSON and CSV may hold any other line separator), none longer than MAX_CELL."""
    number = 0
    while line := handle.readline(MAX_CELL):
        number += 1
        if len(line) == MAX_CELL and not line.endswith(b"\n"):
            Place(source, "line", number).fail(f"longer than {MAX_CELL // 2**20} MiB; expected one answer a line")
        yield line


def stdin_lines(stdin: BinaryIO) -> Iterator[bytes]:
    """The lines of standard input."""
    return _lines(stdin, "standard input")


def _decode(line: bytes, offset: int, source: str) -> str:
    if offset == 0:
        if name := OTHER_BOMS.get(line[:2]):
            raise InputError(f"{source} is {name}; expected UTF-8: iconv -f {name} -t UTF-8")
        if line.startswith(UTF8_BOM):
            line, offset = line[3:], 3
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8 at byte {offset + error.start}; expected UTF-8: save it as that, "
                         f"for example with iconv -f WINDOWS-1252 -t UTF-8") from None


def _json_object(text: str, place: Place) -> Mapping[str, Any]:
    def no_constant(name: str) -> NoReturn:
        place.fail(f"JSON that cannot be read ({name}); expected one object a line")

    try:
        value = json.loads(text, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        place.fail(f"not JSON ({error.msg.lower()} at column {error.colno}); expected one object a line")
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else "a number that is too long"
        place.fail(f"JSON that cannot be read ({what}); expected one object a line")
    if not isinstance(value, dict):
        place.fail(f"{json_type(value)}; expected one object a line, like {{\"id\": \"1\", \"answer\": \"…\"}}")
    return value


def json_type(value: Any) -> str:
    """The field's name for a JSON value's type, for messages: "a number", "null", …"""
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list",
             dict: "an object", type(None): "null", bytes: "bytes"}
    return names.get(type(value), f"a {type(value).__name__}")


def iter_csv(lines: Iterable[bytes], source: str, columns: Collection[str],
             required: Collection[str]) -> Iterator[Row]:
    """Rows of CSV as bytes, below a header with the `required` columns; none of `columns` may be there twice."""
    reader = csv.reader(_decoded(lines, source), strict=True)
    while (header := _next_record(reader, source)) == []:
        pass
    if header is None:
        return
    top = Place(source, "line", 1)
    for name in required:
        if name not in header:
            _missing(top, name, header)
    if twice := [name for name in columns if header.count(name) > 1]:
        top.fail(f"the header has {_and(twice)} twice; keep one of them")
    before = reader.line_num
    while (record := _next_record(reader, source)) is not None:
        place = Place(source, "line", before + 1)
        before = reader.line_num
        if not record:
            continue
        if len(record) != len(header):
            place.fail(f"{len(record)} cells where the header has {len(header)}; quote cells that hold commas, "
                       f"quotes or line breaks")
        yield place, dict(zip(header, record, strict=True))


def is_csv_header(line: bytes, required: Collection[str]) -> bool:
    """Whether a line is a header of CSV with the `required` columns."""
    try:
        cells = next(csv.reader([line.removeprefix(UTF8_BOM).decode("utf-8")], strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        return False
    return set(required) <= set(cells)


def _decoded(lines: Iterable[bytes], source: str) -> Iterator[str]:
    offset = 0
    for line in lines:
        yield _decode(line, offset, source)
        offset += len(line)


def _next_record(reader: Any, source: str) -> list[str] | None:
    # The limit on a cell is global to the csv module: raised for this one record, then put back.
    limit = csv.field_size_limit(MAX_CELL)
    try:
        return next(reader, None)
    except csv.Error as error:
        why = "a cell is too long" if "limit" in str(error) else "a quote or line break is out of place"
        Place(source, "line", max(1, reader.line_num)).fail(f"not CSV ({why}); quote every cell and double the "
                                                            f"quotes inside, or use JSON Lines")
    finally:
        csv.field_size_limit(limit)


def _parquet_rows(path: Path, columns: Collection[str], required: Collection[str]) -> Iterator[Row]:
    need("pyarrow", "reading Parquet", "audit")
    from pyarrow import parquet

    with reading(path), parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        for name in required:
            if name not in names:
                _missing(None, name, names, str(path))
        number, unread = 0, dict.fromkeys(names)
        for batch in file.iter_batches(batch_size=1024, columns=[n for n in names if n in columns]):
            for row in batch.to_pylist():
                number += 1
                yield Place(str(path), "row", number), unread | row


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


def _missing(place: Place | None, name: str, there: Collection[str], source: str = "") -> NoReturn:
    # Only names from our own list are shown: the first line of a CSV without a header is somebody's answer.
    other = next((n for n in OTHER_NAMES.get(name, ()) if n in there), None)
    remedy = f"rename {other!r} to {name!r}" if other else f"add it, or rename the column that holds the {name}"
    raise InputError(f"{place or source}: there is no {name!r}; {remedy}")


def _and(names: Collection[str]) -> str:
    return " and ".join(repr(n) for n in names)
