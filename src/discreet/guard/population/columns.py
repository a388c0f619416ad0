"""The columns of a population: the values that people have in them, and how these are asked for; and a table of people
(CSV) as codes, weights and columns."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from discreet.core.errors import InputError, UsageError, meant
from discreet.core.files import why
from discreet.core.types import FloatArray, IntArray

Asked: TypeAlias = Any
"""One value (int or str), a range, a (first, last) pair of whole numbers, both included, or an iterable of these."""
_RANGE = re.compile(r"(\d+) ?[-–] ?(\d+)")


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : str
    values : tuple of str
        In the order of their codes. Of an ordered column they are whole numbers, the last standing for more as well.
    ordered : bool
        Whether ranges can be asked for, and neighbours resemble each other.
    groups : mapping of str to tuple of str
        Coarser values that generalising would give: the name of a group and its values.
    """

    name: str
    values: tuple[str, ...]
    ordered: bool = False
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise InputError(f"column {self.name!r} has no values, or one twice: expected a list of different values")
        if self.ordered and not all(value.isdecimal() for value in self.values):
            raise InputError(f"column {self.name!r} is ordered, but not all of its values are whole numbers")
        object.__setattr__(self, "_codes", {value.casefold(): code for code, value in enumerate(self.values)})

    def codes(self, asked: Any) -> list[int] | None:
        """Codes of the values asked for; none of a value that the column lacks.

        None where nothing is asked, or something that cannot be a value: words of an ordered column. A range may
        reach beyond the values of an ordered column; a number above the last value is the last one.
        """
        several = isinstance(asked, Iterable) and not isinstance(asked, str | range) and not _pair(asked)
        wanted = list(asked) if several else [asked]
        if not wanted or (self.ordered and not all(map(_number, wanted))):
            return None
        return sorted({code for one in wanted for code in self._codes_of(one)})

    def _codes_of(self, one: Any) -> list[int]:
        known: dict[str, int] = self._codes  # type: ignore[attr-defined]
        if self.ordered:
            pair = _RANGE.fullmatch(one.strip()) if isinstance(one, str) else None
            if pair:
                one = (int(pair[1]), int(pair[2]))
            if isinstance(one, range | tuple):
                low, high = (min(one), max(one)) if one else (1, 0)
                top = int(self.values[-1])
                return [code for code, value in enumerate(self.values) if min(low, top) <= int(value) <= high]
            if str(one).isdecimal():
                one = min(int(one), int(self.values[-1]))
        code = known.get(" ".join(str(one).casefold().split()))
        return [] if code is None else [code]

    def to_json(self) -> dict[str, Any]:
        """Plain values, which `Column.of` reads."""
        return {"name": self.name, "values": list(self.values), "ordered": self.ordered,
                "groups": {name: list(values) for name, values in self.groups.items()}}

    @classmethod
    def of(cls, read: Mapping[str, Any]) -> Column:
        """A column from plain values. InputError where they are none."""
        try:
            groups = {str(name): tuple(map(str, values)) for name, values in dict(read.get("groups", {})).items()}
            column = cls(str(read["name"]), tuple(map(str, read["values"])), bool(read.get("ordered", False)), groups)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("a column is described wrongly: expected name, values, and if you like ordered and "
                             "groups") from None
        unknown = {value for values in groups.values() for value in values} - set(column.values)
        if unknown:
            raise InputError(f"groups of column {column.name!r} name {len(unknown)} values that it does not have")
        return column


def _number(asked: Any) -> bool:
    if isinstance(asked, range | tuple):
        return len(asked) > 0
    return str(asked).strip().isdecimal() or bool(_RANGE.fullmatch(str(asked).strip()))


def _pair(asked: Any) -> bool:
    return (isinstance(asked, tuple) and len(asked) == 2
            and all(isinstance(one, int) and not isinstance(one, bool) for one in asked) and asked[0] <= asked[1])


MOST_VALUES = 400
"""Values that a column may have; more is a name or a number that nobody asks for as such."""
MISSING = "not stated"


class Table(NamedTuple):
    """Rows as (N, C) codes of `columns`, and (N,) weights."""

    codes: IntArray
    weights: FloatArray
    columns: list[Column]


def read_table(path: Path, *, weight: str | None = None, only: Sequence[str] = (),
               schema: Sequence[Column] | None = None) -> Table:
    """Read a CSV file with a header, one row a person (or a group of `weight` persons).

    Parameters
    ----------
    weight : str, optional
        Column of the number of persons that a row stands for; 1 each without.
    only : sequence of str
        Columns to keep; by default all but the weight.
    schema : sequence of Column, optional
        Columns and their values. A row with any other value is left out silently, as a message about it would say
        something of the row. Without, the values are those of the table: a column of whole numbers up to MOST_VALUES
        apart is ordered, and an empty cell is "not stated".

    Raises InputError for a file that is no such table, UsageError for columns that it does not have.
    """
    def whole(row: dict[str, str]) -> dict[str, str]:
        # DictReader keeps further cells under None, and None in columns that a row lacks.
        if None in row or None in row.values():
            raise InputError(f"{path}, line {reader.line_num}: the row has not the {len(header)} cells of the header; "
                             "expected a cell for each column")
        return row

    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle)
            header = list(reader.fieldnames or [])
            names = [column.name for column in schema] if schema else list(only) or [n for n in header if n != weight]
            if twice := next((name for name in names if header.count(name) > 1), None):
                raise InputError(f"{path} has two columns called {twice!r}; expected a name each")
            for name in [*names, *([weight] if weight else [])]:
                if name not in header:
                    raise UsageError(f"the table has no column {name!r}; {meant(name, header)}")
            rows = [([" ".join((row[name] or "").split()) or MISSING for name in names],
                     row[weight] if weight else "1") for row in map(whole, reader)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem = why(error) if isinstance(error, OSError) else (
            "not UTF-8" if isinstance(error, UnicodeDecodeError) else "not CSV")
        raise InputError(f"cannot read {path}: {problem}; expected a CSV file in UTF-8 with a header") from None
    if len(set(names)) < 2 or not rows:
        raise InputError(f"{path} has {len(rows)} rows and {len(set(names))} columns to fit; expected at least "
                         "two rows and two columns")
    weights = _weights([cell for _, cell in rows], weight)
    cells = [[row[at] for row, _ in rows] for at in range(len(names))]
    columns = list(schema or (_column(name, values) for name, values in zip(names, cells, strict=True)))
    codes = np.column_stack([_codes(column, values) for column, values in zip(columns, cells, strict=True)])
    kept = (codes >= 0).all(1) & (weights > 0)
    if kept.sum() < 2:
        raise InputError(f"{path} has too few rows with a weight above 0 and values that the columns have: "
                         f"{kept.sum()}; expected at least 2")
    return Table(codes[kept], weights[kept], columns)


def read_schema(path: Path) -> list[Column]:
    """Columns out of a JSON file: a list of objects with name, values and, if you like, ordered and groups."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problem = why(error) if isinstance(error, OSError) else "not JSON"
        raise InputError(f"cannot read {path}: {problem}; expected a JSON list of columns") from None
    if not isinstance(read, list) or not read:
        raise InputError(f"{path} holds no list: expected one object for each column, with name and values")
    return [Column.of(one) for one in read]


def _weights(cells: list[str | None], weight: str | None) -> FloatArray:
    try:
        found = np.array([float(cell or "") for cell in cells])
    except ValueError:
        found = np.array([np.nan])
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError(f"column {weight!r} holds something that is no weight: expected numbers, 0 or above")
    return found


def _codes(column: Column, cells: list[str]) -> IntArray:
    known = {value: (column.codes(value) or [-1])[0] for value in set(cells)}
    return np.array([known[cell] for cell in cells], np.int64)


def _column(name: str, cells: list[str]) -> Column:
    values = set(cells)
    if len(values) > 2 and all(value.isdecimal() and len(value) < 7 for value in values):
        numbers = sorted(map(int, values))
        if numbers[-1] - numbers[0] < MOST_VALUES:
            return Column(name, tuple(map(str, range(numbers[0], numbers[-1] + 1))), ordered=True)
    folded = {value.casefold(): value for value in sorted(values)}
    if len(folded) > MOST_VALUES:
        raise UsageError(f"column {name!r} has {len(folded):,} values, more than {MOST_VALUES}: group them, or leave "
                         "it out with --columns")
    return Column(name, tuple(folded.values()))
