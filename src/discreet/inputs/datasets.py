"""Data sets to train a classifier on: a table of numbers and categories, texts, or arrays such as images.

Labels are places in the list of classes; rows keep the order of the file. What inputs are made of (means, spreads,
which categories there are) is learnt from the rows that are named for it and from no others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.inputs.arrays import ALONE, CLASSES, PIXELS, channels_first, read_arrays
from discreet.inputs.columns import Coded, ColumnFile, open_columns, written

Inputs: TypeAlias = Sequence[str] | NDArray[Any]
Kind = Literal["table", "text", "array"]

ARRAYS = (".npz", ".npy", ".npy.gz", ".idx", ".idx.gz", "-ubyte", "-ubyte.gz")
ID, TEXT = "id", "text"
REST = "other"
"""What the class of all values that were not named positive is called."""
MIDDLE = np.float32(127.5)
MOST = 256
"""Categories of a column; more are names or texts, of which each row would learn its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """N rows with labels.

    `ids` are distinct: the column (or array) `id`, else the number of the row from 1. `labels` (N,) are places in the
    at least two `classes`, whole numbers by value, words by code point; `groups` (N,) are codes of the users, documents
    or regions that the rows belong to.
    """

    ids: tuple[str, ...] = field(repr=False)
    labels: IntArray = field(repr=False)
    classes: tuple[str, ...]
    groups: IntArray | None = field(repr=False)
    kind: Kind
    _made: Callable[[IntArray], Inputs] = field(repr=False)

    def __len__(self) -> int:
        return int(self.labels.size)

    def inputs(self, learn_on: IntArray) -> Inputs:
        """What a recipe is given, N texts or an array (N, …), learnt from the rows with these numbers, at least one.

        Of a table see `one_hot`. Images of whole numbers, taken as 0 … 255, come as −1 … 1 with channels first; rows of
        numbers with a fraction are less their mean over their spread; other arrays are as in the file.
        """
        at = np.asarray(learn_on, dtype=np.int64)
        if not at.size:
            raise ValueError("no rows to learn from: expected the numbers of the training rows")
        return self._made(at)


def read_dataset(path: Path | str, target: str, *, labels: Path | str | None = None,
                 positive: Collection[str] | None = None, group: str | None = None, drop: Collection[str] = ()
                 ) -> Dataset:
    """Read a data set.

    Parameters
    ----------
    path : path
        A CSV, Parquet or JSON Lines file: texts where it has a column `text` (other columns are then no features),
        else a table (see `read_table`); or arrays (`.npz`, `.npy`, IDX, the last two also as .gz).
    target : str
        The column of the labels; of a `.npz` the array of the labels, such as `y` or `y_train`, beside which the inputs
        are called `x`, `images` or `inputs`, with the same ending.
    labels : path, optional
        The file of the labels where they lie apart from arrays; `target` then names its array if it holds several.
    positive : collection of str, optional
        Values of the target that become class 1, all others class 0.
    group, drop : str, collection of str
        The column (or array) of the group of each row, and further columns of a table; neither are features.

    Raises InputError for what keeps a file from being read, a column that is not there, a label or group that is
    missing in a row (a label "nan" is missing too), ids that repeat, fewer than two classes, NaN and infinity.
    """
    where = Path(path)
    if where.name.lower().endswith(ARRAYS):
        found = _of_arrays(where, target, None if labels is None else Path(labels), group)
    elif labels is not None:
        raise InputError(f"{where} is a table, and the file {labels} was given for its labels; expected a column")
    else:
        found = _of_columns(where, target, group, drop)
    return found if positive is None else _binary(found, where, target, positive)


def _of_columns(where: Path, target: str, group: str | None, dropped: Collection[str]) -> Dataset:
    opened = open_columns(where, lambda name: True, lambda name: False)
    for name in (target, *(() if group is None else (group,)), *dropped):
        if name not in opened.names:
            opened.fail(f"there is no column {name!r}; expected one of {', '.join(opened.names)[:200]}")
    if target in (group, *dropped):
        opened.fail(f"{target!r} was given as target and as group, or to be dropped; expected different columns")
    ids = _ids(opened.coded(ID) if ID in opened.names and target != ID else None, opened.rows, str(where))
    groups = None if group is None else _codes(opened, group)
    column = opened.coded(target).ordered()
    # A cell without a name has the code -1, the last place.
    missing = np.array([*(name.strip().lower() == "nan" for name in column.names), True])
    _refuse_missing(str(where), repr(target), missing[column.codes])
    if len(column.names) < 2:
        opened.fail(f"{target!r} has one value in all rows; expected at least 2 classes")
    made, kind = _features(opened, target, {target, ID, group, *dropped})
    return Dataset(ids, column.codes.astype(np.int64), column.names, groups, kind, made)


def _features(opened: ColumnFile, target: str, aside: Collection[str | None]
              ) -> tuple[Callable[[IntArray], Inputs], Kind]:
    """What inputs are made of: the texts where there is a column of them, else the other columns."""
    if TEXT not in opened.names or target == TEXT:
        table = read_table(opened, [name for name in opened.names if name in aside])
        return partial(one_hot, table), "table"
    texts = opened.coded(TEXT)
    if (texts.codes < 0).any():
        opened.fail(f"{TEXT!r} is empty; expected a text in each row", int(np.argmax(texts.codes < 0)))
    said = tuple(texts.names[code] for code in texts.codes.tolist())
    return lambda _: said, "text"


def read_table(opened: ColumnFile, aside: Collection[str] = ()) -> dict[str, FloatArray | Coded]:
    """The columns of a file but those `aside`: numbers (n,), NaN where a cell is empty, where all others are numbers.

    Raises InputError for NaN and infinity, where no column is left, and for a column of more than 256 categories.
    """
    found: dict[str, FloatArray | Coded] = {}
    for name in opened.names:
        if name in aside:
            continue
        column = opened.coded(name).ordered()
        values = _values(column)
        if values is None:
            if len(column.names) > MOST:
                opened.fail(f"the column {name!r} has {len(column.names):,} different values; expected numbers or at "
                            f"most {MOST} categories; name it among the columns to drop")
            found[name] = column
        elif not np.isfinite(values[column.codes >= 0]).all():
            # A column of numbers in which a cell says "nan" would be read as one of categories.
            opened.fail(f"the column {name!r} holds NaN or infinity; expected finite numbers: leave a cell empty where "
                        "there is none")
        else:
            found[name] = values
    if not found:
        opened.fail("there is no column but the target and those that are dropped; expected features")
    return found


def _values(column: Coded) -> FloatArray | None:
    """A column of numbers, NaN where it is empty; None where a value is no number, or where there is none."""
    try:
        numbers = [float(name) for name in column.names]
    except ValueError:
        return None
    return np.array([*numbers, np.nan])[column.codes] if numbers else None


def one_hot(table: Mapping[str, FloatArray | Coded], rows: IntArray) -> NDArray[np.float32]:
    """All n rows as an array (n, d), learnt from those with the numbers `rows`.

    A number is less its mean over its standard deviation, both of the training rows (1 where they do not vary); an
    empty cell is the mean, and is told by a column of its own where a training row has one. A category is a column for
    each value that a training row has, 1 or 0 and then standardised alike; other values are 0 before that.
    """
    found: list[FloatArray] = []
    for column in (one for one in table.values() if not isinstance(one, Coded)):
        found.append(column)
        if np.isnan(column[rows]).any():
            found.append(np.isnan(column).astype(np.float64))
    for names in (one for one in table.values() if isinstance(one, Coded)):
        found += [(names.codes == code).astype(np.float64) for code in np.unique(names.codes[rows]) if code >= 0]
    raw = np.stack(found, axis=1)
    known = raw[rows]
    counted = np.maximum(1, (~np.isnan(known)).sum(axis=0))
    mean = np.nansum(known, axis=0) / counted
    spread = _spread(mean, np.sqrt(np.nansum((known - mean) ** 2, axis=0) / counted))
    return np.ascontiguousarray(np.nan_to_num((raw - mean) / spread, nan=0.0), dtype=np.float32)


def _spread(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """What to divide by: equal cells may leave a deviation of rounding errors."""
    return np.where(deviation > 1e-12 * np.abs(mean), deviation, 1.0)


def _refuse_missing(source: str, what: str, missing: BoolArray) -> None:
    """InputError where a label is missing: a class of what nobody labelled would be learnt like any other."""
    if missing.any():
        raise InputError(f"{source}, row {int(np.argmax(missing)) + 1}: {what} is empty or NaN ({missing.sum():,} such "
                         "rows); expected a label in each row: remove those rows, or give their class another name")


def _ids(column: Coded | None, n: int, source: str) -> tuple[str, ...]:
    if column is None:
        return tuple(str(row) for row in range(1, n + 1))
    if (column.codes < 0).any():
        raise InputError(f"{source}, row {int(np.argmax(column.codes < 0)) + 1}: {ID!r} is empty; expected one in each "
                         "row, or no such column")
    if len(column.names) < n:
        raise InputError(f"{source}: {n - len(column.names):,} of {n:,} rows have an {ID!r} that another row has; "
                         "expected a different one in each")
    return tuple(column.names[code] for code in column.codes.tolist())


def _codes(opened: ColumnFile, group: str) -> IntArray:
    column = opened.coded(group).ordered()
    if (column.codes < 0).any():
        opened.fail(f"{group!r} is empty; expected a group in each row", int(np.argmax(column.codes < 0)))
    return column.codes.astype(np.int64)


def _of_arrays(where: Path, target: str, labels: Path | None, group: str | None) -> Dataset:
    found = read_arrays(where)
    apart = found if labels is None else read_arrays(labels)
    name = ALONE if labels is not None and ALONE in apart else target
    part = name.partition("_")[2] if name.partition("_")[0] in CLASSES else ""
    inputs = next((found[one] for one in (*(f"{one}_{part}" for one in PIXELS if part), *PIXELS) if one in found), None)
    if inputs is None:
        raise InputError(f"{where} has no array of inputs; expected one called {', '.join(PIXELS[:3])}")
    for known, wanted in ((apart, name), *(() if group is None else ((found, group),))):
        if wanted not in known:
            raise InputError(f"{labels or where} has no array {wanted!r}; expected one of {', '.join(known)[:200]}")
    if inputs.ndim < 2 or inputs.dtype.kind not in "biuf" or not len(inputs):
        raise InputError(f"{where}: the inputs are {inputs.dtype} of shape {inputs.shape}; expected numbers (n, d), "
                         "(n, H, W) or (n, C, H, W), at least one row")
    if not np.isfinite(inputs).all():
        raise InputError(f"{where}: the inputs hold NaN or infinity; expected finite numbers")
    n = len(inputs)
    given = apart[name]
    if given.shape in ((n,), (n, 1)):
        _refuse_missing(str(labels or where), f"the array {name!r}", _missing(given.reshape(n)))
    classes = _named(given, n, f"{labels or where}: the labels")
    if len(classes.names) < 2:
        raise InputError(f"{labels or where}: all {n:,} labels are one; expected at least 2 classes")
    groups = None if group is None else _named(found[group], n, f"{where}: the groups").codes.astype(np.int64)
    ids = None if ID not in found else _named(found[ID], n, f"{where}: the ids")
    rows = channels_first(inputs) if inputs.ndim in (3, 4) else inputs
    return Dataset(_ids(ids, n, str(where)), classes.codes.astype(np.int64), classes.names, groups, "array",
                   partial(_scaled, rows))


def _missing(labels: NDArray[Any]) -> BoolArray:
    """Which of (n,) labels are NaN, the word "nan", or an empty word."""
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind != "U":
        return np.zeros(labels.size, dtype=np.bool_)
    return np.isin(np.char.lower(np.char.strip(labels)), ("", "nan"))


def _scaled(rows: NDArray[Any], learn_on: IntArray) -> Inputs:
    if rows.ndim == 4 and rows.dtype.kind in "biu":
        return np.asarray(rows.astype(np.float32) / MIDDLE - np.float32(1.0))
    if rows.ndim == 2 and rows.dtype.kind == "f":
        known = rows[learn_on].astype(np.float64)
        mean = known.mean(axis=0)
        return np.asarray((rows - mean) / _spread(mean, known.std(axis=0)), dtype=np.float32)
    return rows


def _named(values: NDArray[Any], n: int, what: str) -> Coded:
    """Words or whole numbers (n,) or (n, 1) as names in order. InputError for others."""
    if values.shape not in ((n,), (n, 1)) or values.dtype.kind not in "biuU":
        raise InputError(f"{what} are {values.dtype} of shape {values.shape}; expected whole numbers or words, one for "
                         f"each of {n:,} rows")
    distinct, codes = np.unique(values.reshape(n), return_inverse=True)
    return Coded(codes.reshape(-1).astype(np.int32), tuple(written(one) or "" for one in distinct.tolist())).ordered()


def _binary(found: Dataset, where: Path, target: str, positive: Collection[str]) -> Dataset:
    wanted = {value.strip() for value in positive}
    there = [name.strip() in wanted for name in found.classes]
    if missing := sorted(wanted - {name.strip() for name in found.classes}):
        raise InputError(f"{where}: no row has {missing[0][:40]!r} as {target or 'label'!r}; expected some of "
                         f"{', '.join(found.classes)[:200]}")
    if all(there) or not any(there):
        raise InputError(f"{where}: {'all' if all(there) else 'none'} of the {len(there)} values of "
                         f"{target or 'label'!r} are positive; expected some, and others besides")
    labels = np.array(there, dtype=np.int64)[found.labels]
    named = "|".join(name.strip() for name, one in zip(found.classes, there, strict=True) if one)
    return Dataset(found.ids, labels, (REST, named), found.groups, found.kind, found._made)
