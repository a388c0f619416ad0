"""Tables with columns of numbers and of categories, such as Census, as standardised rows.

What is learnt (means, spreads, which categories there are) is learnt from the rows that are named for it, which are to
be the training rows, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.types import FloatArray, IntArray
from discreet.data.columns import Coded, open_columns

MOST = 256
"""Categories of a column; more are names or texts, of which each row would learn its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """n rows.

    Attributes
    ----------
    numbers : mapping of str to array (n,)
        Columns of numbers; NaN where a cell is empty.
    categories : mapping of str to Coded
        The other columns.
    labels : array (n,)
        Places in `classes`.
    classes : tuple of str
        The values of the target, in order.
    """

    numbers: Mapping[str, FloatArray] = field(repr=False)
    categories: Mapping[str, Coded] = field(repr=False)
    labels: IntArray = field(repr=False)
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.labels.size)


def read_table(path: Path | str, target: str, *, drop: Collection[str] = (),
               classes: Sequence[str] | None = None) -> Table:
    """A CSV, Parquet or JSON Lines file; a column is one of numbers where every cell that is not empty is a number.

    Parameters
    ----------
    target : str
        The column of the labels.
    drop : collection of str
        Columns that are no features, such as `id`.
    classes : sequence of str, optional
        The values of the target in order, such as another file's; None: those that are there, numbers by value.

    Raises InputError for what keeps the file from being read, a target that is missing, empty in a row, of one value
    or of a value that `classes` lacks, a dropped column that is not there, an infinite number, no column that is left,
    and a column of more than 256 categories.
    """
    where = Path(path)
    opened = open_columns(where, lambda name: True, lambda name: False)
    for name in (target, *drop):
        if name not in opened.names:
            raise InputError(f"{where} has no column {name!r}; expected one of {', '.join(opened.names)}")
    labels, known = _labels(where, target, opened.coded(target).ordered(), classes)
    numbers: dict[str, FloatArray] = {}
    categories: dict[str, Coded] = {}
    for name in opened.names:
        if name == target or name in drop:
            continue
        column = opened.coded(name).ordered()
        values = _values(column)
        if values is None:
            if len(column.names) > MOST:
                raise InputError(f"{where}: the column {name!r} has {len(column.names):,} different values; expected "
                                 f"numbers or at most {MOST} categories; name it among the columns to drop")
            categories[name] = column
        elif np.isinf(values).any():
            raise InputError(f"{where}: the column {name!r} holds infinity; expected finite numbers")
        else:
            numbers[name] = values
    if not numbers and not categories:
        raise InputError(f"{where} has no column but the target and those that are dropped; expected features")
    return Table(numbers, categories, labels, known)


@dataclass(frozen=True, slots=True, eq=False)
class OneHot:
    """How rows of a table become arrays.

    A number is less its mean over its standard deviation, both of the training rows (1 where they do not vary); an
    empty cell is the mean, and is told by a column of its own where a training row has one. A category is a column for
    each value that a training row has, 1 or 0 and then standardised alike; other values are 0 before that.

    Attributes
    ----------
    numbers : tuple of str
        Columns of numbers.
    empty : frozenset of str
        Those among them with an empty cell in a training row.
    values : mapping of str to tuple of str
        The values of each column of categories in the training rows.
    mean, spread : array (d,)
        Of the training rows; `columns` says of what.
    """

    numbers: tuple[str, ...]
    empty: frozenset[str]
    values: Mapping[str, tuple[str, ...]] = field(repr=False)
    mean: FloatArray = field(repr=False)
    spread: FloatArray = field(repr=False)

    @classmethod
    def fit(cls, table: Table, rows: IntArray) -> OneHot:
        """From the rows with these numbers, at least one. Raises ValueError for none."""
        at = np.asarray(rows, dtype=np.int64)
        if not at.size:
            raise ValueError("no rows to fit to: expected the numbers of the training rows")
        empty = frozenset(name for name, column in table.numbers.items() if np.isnan(column[at]).any())
        values = {name: tuple(column.names[code] for code in np.unique(column.codes[at]).tolist() if code >= 0)
                  for name, column in table.categories.items()}
        numbers = tuple(table.numbers)
        raw = _raw(table, numbers, empty, values)[at]
        counted = np.maximum(1, (~np.isnan(raw)).sum(axis=0))
        mean = np.nansum(raw, axis=0) / counted
        spread = np.sqrt(np.nansum((raw - mean) ** 2, axis=0) / counted)
        # Equal cells may leave a spread of rounding errors.
        return cls(numbers, empty, values, mean, np.where(spread > 1e-12 * np.abs(mean), spread, 1.0))

    @property
    def columns(self) -> tuple[str, ...]:
        """What each of the d columns is: `age`, `age?` (whether it is empty), `sex=Male`."""
        found = [each for name in self.numbers for each in ([name, f"{name}?"] if name in self.empty else [name])]
        return (*found, *(f"{name}={value}" for name, there in self.values.items() for value in there))

    def apply(self, table: Table) -> NDArray[np.float32]:
        """All rows of a table with the same columns, (n, d) float32. Raises InputError where a column is missing."""
        for name, there, kind in (*((one, table.numbers, "numbers") for one in self.numbers),
                                  *((one, table.categories, "categories") for one in self.values)):
            if name not in there:
                raise InputError(f"the table has no column {name!r} of {kind}, which the training rows had; give a "
                                 "table of the same form")
        raw = _raw(table, self.numbers, self.empty, self.values)
        return np.ascontiguousarray(np.nan_to_num((raw - self.mean) / self.spread, nan=0.0), dtype=np.float32)


def _raw(table: Table, numbers: Sequence[str], empty: frozenset[str],
         values: Mapping[str, tuple[str, ...]]) -> FloatArray:
    """(n, d) before standardising; NaN for an empty number."""
    found: list[FloatArray] = []
    for name in numbers:
        found.append(table.numbers[name])
        if name in empty:
            found.append(np.isnan(table.numbers[name]).astype(np.float64))
    for name, wanted in values.items():
        coded = table.categories[name]
        places = {value: place for place, value in enumerate(coded.names)}
        found += [(coded.codes == places.get(value, -2)).astype(np.float64) for value in wanted]
    return np.stack(found, axis=1)


def _values(column: Coded) -> FloatArray | None:
    """A column of numbers, NaN where it is empty; None where a value is no number, or where there is none."""
    try:
        numbers = [float(name) for name in column.names]
    except ValueError:
        return None
    if not numbers or any(np.isnan(numbers)):
        return None
    return np.array([*numbers, np.nan])[column.codes]


def _labels(path: Path, target: str, column: Coded, classes: Sequence[str] | None) -> tuple[IntArray, tuple[str, ...]]:
    empty = np.flatnonzero(column.codes < 0)
    if empty.size:
        raise InputError(f"{path}, row {int(empty[0]) + 1}: {target!r} is empty ({empty.size} such rows); expected a "
                         "label in each row")
    known = column.names if classes is None else tuple(classes)
    if len(known) < 2 or len(set(known)) < len(known):
        count = "one class" if len(set(known)) == 1 else f"{len(set(known))} classes"
        raise InputError(f"{path}: {target!r} has {count}; expected at least 2, each once")
    places = {name: place for place, name in enumerate(known)}
    if any(name not in places for name in column.names):
        raise InputError(f"{path}: {target!r} has a value beyond the {len(known)} classes that were given; expected "
                         "one of them in each row")
    return np.array([places[name] for name in column.names], dtype=np.int64)[column.codes], known
