"""A table of people (CSV) as codes, weights and columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from discreet.core.errors import InputError, UsageError, meant
from discreet.core.files import why
from discreet.core.types import FloatArray, IntArray
from discreet.guard.population.columns import Column

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
