"""Tables with columns of numbers and of categories, such as Census, as standardised rows.

What is learnt (means, spreads, which categories there are) is learnt from the rows that are named for it, which are to
be the training rows, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.types import FloatArray, IntArray
from discreet.data.columns import Coded, ColumnFile

MOST = 256
"""Categories of a column; more are names or texts, of which each row would learn its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The features of n rows: columns of numbers (n,), NaN where a cell is empty, and the other columns as names."""

    numbers: Mapping[str, FloatArray] = field(repr=False)
    categories: Mapping[str, Coded] = field(repr=False)


def read_table(opened: ColumnFile, aside: Collection[str] = ()) -> Table:
    """The columns of a file but those `aside`; one of numbers is one where every cell that is not empty is a number.

    Raises InputError for NaN and infinity, where no column is left, and for a column of more than 256 categories.
    """
    numbers: dict[str, FloatArray] = {}
    categories: dict[str, Coded] = {}
    for name in opened.names:
        if name in aside:
            continue
        column = opened.coded(name).ordered()
        values = _values(column)
        if values is None:
            if len(column.names) > MOST:
                opened.fail(f"the column {name!r} has {len(column.names):,} different values; expected numbers or at "
                            f"most {MOST} categories; name it among the columns to drop")
            categories[name] = column
        elif not np.isfinite(values[column.codes >= 0]).all():
            # A column of numbers in which a cell says "nan" would be read as one of categories.
            opened.fail(f"the column {name!r} holds NaN or infinity; expected finite numbers: leave a cell empty where "
                        "there is none")
        else:
            numbers[name] = values
    if not numbers and not categories:
        opened.fail("there is no column but the target and those that are dropped; expected features")
    return Table(numbers, categories)


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
    return np.array([*numbers, np.nan])[column.codes] if numbers else None
