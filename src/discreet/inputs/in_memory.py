"""Labelled records in memory to one form: arrays, sparse matrices, lists of texts, pandas, polars, `datasets`.

Libraries are recognised by what their objects can do, and none of them is imported for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.inputs.texts import text_key

TEXT = "text"
"""The column of texts of a table, where no other is named."""
SPECIAL = ("id", "group", "category", "split", "planted")
"""Columns of a table that are no features."""
FORMS = ("(inputs, labels), (inputs, labels, groups), or a table with a column of labels: a data frame of pandas or "
         "polars, a Dataset, or a mapping of columns")


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """n labelled inputs.

    Attributes
    ----------
    inputs : list, array (n, …), sparse matrix (n, d) or data frame of n rows
        As a model takes them; texts are a list of str.
    labels : (n,) object array
        The classes, as they were given.
    groups : (n,) object array of str, or None
        The user or document of each record.
    categories : n frozensets of str, or None
    classes : tuple of str or None
        Names of the classes 0, 1, …, where the table has them (a `ClassLabel` of `datasets`).
    ids : (n,) object array of str, or None
        The column `id` of a table, else the index of a data frame that was given one.
    """

    inputs: Any
    labels: NDArray[np.object_]
    groups: NDArray[np.object_] | None = None
    categories: tuple[frozenset[str], ...] | None = None
    classes: tuple[str, ...] | None = None
    ids: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return int(self.labels.size)

    @property
    def texts(self) -> bool:
        """Whether the inputs are texts."""
        return isinstance(self.inputs, list) and all(isinstance(one, str) for one in self.inputs)

    def take(self, rows: IntArray) -> Records:
        """These records alone, in this order."""
        return Records(taken(self.inputs, rows), self.labels[rows], None if self.groups is None else self.groups[rows],
                       None if self.categories is None else tuple(self.categories[row] for row in rows), self.classes,
                       None if self.ids is None else self.ids[rows])


def read_records(given: Any, called: str, *, label: str = "label", text: str = TEXT) -> Records:
    """What a user holds in memory as `Records`.

    Parameters
    ----------
    given : (inputs, labels), (inputs, labels, groups), or a table
        Inputs are a list of texts, an array (n, …), a sparse matrix or a data frame; labels and groups have a value an
        input. A table is a data frame of pandas or polars, a Dataset of `datasets`, or a mapping of columns.
    called : str
        For messages: "members".
    label, text : str
        Columns of a table. Without a column "text", and where no other is named, the inputs are all columns but `label`
        and those of `SPECIAL`; `group` and `category` are read where they are there.

    Raises InputError for what is none of these, lengths that differ, labels or groups that are missing. No value of a
    record is ever quoted.
    """
    if isinstance(given, tuple) and len(given) in (2, 3):
        inputs, labels, *rest = given
        found = Records(_inputs(inputs, called), _column(labels, called, "labels"),
                        _names(rest[0], called) if rest and rest[0] is not None else None)
    else:
        found = _from_table(given, called, label, text)
    n = _length(found.inputs)
    if len(found) != n or not n:
        raise InputError(f"{called}: {n:,} inputs and {len(found):,} labels; expected a label for each of one or more "
                         "inputs")
    if found.groups is not None and found.groups.size != n:
        raise InputError(f"{called}: {n:,} inputs and {found.groups.size:,} groups; expected a group for each input")
    return found


def stacked_records(parts: Sequence[Records]) -> Records:
    """Records of the same form one after another. InputError where their forms differ."""
    for name in ("groups", "categories"):
        if len({getattr(one, name) is None for one in parts}) > 1:
            raise InputError(f"{name} are given for some sets of records and not for others; expected all or none")
    groups = [one.groups for one in parts if one.groups is not None]
    categories = [one.categories for one in parts if one.categories is not None]
    return Records(_stacked([one.inputs for one in parts]), np.concatenate([one.labels for one in parts]),
                   np.concatenate(groups) if groups else None,
                   tuple(name for held in categories for name in held) if categories else None,
                   next((one.classes for one in parts if one.classes is not None), None))


def input_keys(inputs: Any) -> list[bytes]:
    """A digest of each input, the same for inputs that are equal (texts: up to case, width and white space)."""
    return [hashlib.sha256(one).digest() for one in _bytes_of(inputs)]


def taken(inputs: Any, rows: IntArray) -> Any:
    """The inputs in these rows, in the form that they have."""
    if isinstance(inputs, list):
        return [inputs[row] for row in rows]
    return inputs.iloc[rows] if hasattr(inputs, "iloc") else inputs[rows]


def feature_rows(inputs: Any) -> list[dict[str, Any]] | None:
    """The rows of a data frame as mappings of columns, None for inputs of another form."""
    if hasattr(inputs, "to_dicts"):
        return list(inputs.to_dicts())
    return list(inputs.to_dict("records")) if hasattr(inputs, "iloc") else None


def _from_table(given: Any, called: str, label: str, text: str) -> Records:
    columns = _column_names(given)
    if columns is None:
        raise InputError(f"{called}: a {type(given).__name__} was given; expected {FORMS}")
    if label not in columns:
        raise InputError(f"{called}: there is no column {label!r} among {_listed(columns)}; expected the labels there: "
                         "name the column with label=")
    features = [name for name in columns if name != label and name not in SPECIAL]
    if text not in columns and (text != TEXT or isinstance(given, Mapping) or not features):
        raise InputError(f"{called}: there is no column {text!r} among {_listed(columns)}; expected the texts there: "
                         "name the column with text=, or give (inputs, labels)")
    inputs = _inputs(_values(given, text) if text in columns else _selected(given, features), called)
    categories = _column(_values(given, "category"), called, "categories") if "category" in columns else None
    return Records(inputs, _column(_values(given, label), called, "labels"),
                   _names(_values(given, "group"), called) if "group" in columns else None,
                   None if categories is None else tuple(_categories(one) for one in categories),
                   _class_label(given, label), _ids(given, columns, called))


def _ids(given: Any, columns: list[str], called: str) -> NDArray[np.object_] | None:
    if "id" in columns:
        return np.array([str(one) for one in _column(_values(given, "id"), called, "ids")], dtype=np.object_)
    index = getattr(given, "index", None)
    # A list has a method of that name; a data frame that was given no index counts from 0.
    if index is None or callable(index) or all(place == one for place, one in enumerate(index)):
        return None
    return np.array([str(one) for one in index], dtype=np.object_)


def _column_names(given: Any) -> list[str] | None:
    if isinstance(given, Mapping):
        return [str(name) for name in given]
    if isinstance(given, list) and given and all(isinstance(row, Mapping) for row in given):
        return [str(name) for name in given[0]]
    names = getattr(given, "column_names", None) or getattr(given, "columns", None)
    return None if names is None or isinstance(names, Mapping) else [str(name) for name in names]


def _values(given: Any, name: str) -> Any:
    return [row.get(name) for row in given] if isinstance(given, list) else given[name]


def _selected(given: Any, names: list[str]) -> Any:
    """The columns `names`, in the form of the table; those of `datasets` as a data frame of pandas."""
    return given.select_columns(names).to_pandas() if hasattr(given, "select_columns") else given[names]


def _class_label(given: Any, label: str) -> tuple[str, ...] | None:
    features = getattr(given, "features", None)
    names = getattr(features[label], "names", None) if isinstance(features, Mapping) and label in features else None
    return tuple(map(str, names)) if names else None


def _inputs(given: Any, called: str) -> Any:
    """Texts as a list, sparse matrices by rows, data frames as they are, all else as an array."""
    if hasattr(given, "tocsr"):
        return given.tocsr()
    if _column_names(given) is not None and not isinstance(given, Mapping | list):
        return given
    # Rows of mappings, as a DictVectorizer takes them, and texts are lists; a Series or a Column becomes one.
    plain = given if isinstance(given, list | tuple) else given.to_list() if hasattr(given, "to_list") else given
    if not isinstance(plain, np.ndarray) and not hasattr(plain, "__array__"):
        plain = list(plain)
        if not plain or isinstance(plain[0], str | Mapping):
            kinds = {type(one).__name__ for one in plain if not isinstance(one, type(plain[0]))} if plain else set()
            if kinds:
                raise InputError(f"{called}: inputs are partly {type(plain[0]).__name__} and partly {min(kinds)}; "
                                 "expected all of one kind")
            return plain
    found = np.asarray(plain)
    if found.dtype.kind in "OU" and found.ndim == 1 and all(isinstance(one, str) for one in found):
        return [str(one) for one in found]
    if found.ndim < 2:
        raise InputError(f"{called}: the inputs have the shape {found.shape}; expected a row an input, a list of "
                         "texts, or a data frame")
    return found


def _column(given: Any, called: str, what: str) -> NDArray[np.object_]:
    """(n,) Python values of a list, an array, a Series or a Column; none may be missing."""
    plain = given.to_list() if hasattr(given, "to_list") else given.tolist() if hasattr(given, "tolist") else given
    if isinstance(plain, str) or not hasattr(plain, "__iter__"):
        raise InputError(f"{called}: {what} are a {type(given).__name__}; expected a list or an array of them")
    values = list(plain)
    found = np.empty(len(values), dtype=np.object_)
    found[:] = values
    if missing := sum(one is None or (isinstance(one, float) and isnan(one)) for one in values):
        raise InputError(f"{called}: {missing:,} of {len(values):,} {what} are missing; expected one for each record")
    if what == "labels" and (rows := sum(isinstance(one, list | tuple | dict | np.ndarray) for one in values)):
        raise InputError(f"{called}: {rows:,} of {len(values):,} labels hold several values; expected one class for "
                         "each record: of one-hot labels the place of the 1")
    return found


def _names(given: Any, called: str) -> NDArray[np.object_]:
    return np.array([str(one) for one in _column(given, called, "groups")], dtype=np.object_)


def _categories(given: Any) -> frozenset[str]:
    parts = str(given).replace(";", "|").split("|") if isinstance(given, str) else list(given)
    return frozenset(str(one).strip() for one in parts if str(one).strip())


def _length(inputs: Any) -> int:
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


def _stacked(parts: list[Any]) -> Any:
    first = parts[0]
    if len({type(one) for one in parts}) > 1:
        raise InputError(f"inputs are given as {' and '.join(sorted({type(one).__name__ for one in parts}))}; expected "
                         "all sets of records in one form")
    if isinstance(first, list):
        return [one for part in parts for one in part]
    shapes = {tuple(one.shape[1:]) for one in parts}
    if len(shapes) > 1:
        raise InputError(f"inputs have the shapes {' and '.join(str(one) for one in sorted(shapes))} after the first "
                         "axis; expected all sets of records to have the same features")
    if hasattr(first, "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if len({tuple(one.columns) for one in parts}) > 1:
        raise InputError("the data frames have different columns; expected all sets of records to have the same")
    if hasattr(first, "iloc"):
        from pandas import concat

        return concat(parts, ignore_index=True)
    found = first
    for part in parts[1:]:
        found = found.vstack(part)
    return found


def _bytes_of(inputs: Any) -> list[bytes]:
    if isinstance(inputs, list):
        return [(text_key(one) if isinstance(one, str) else repr(one)).encode("utf-8", "surrogatepass")
                for one in inputs]
    if hasattr(inputs, "tocsr"):
        rows = inputs.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return [rows.indices[start:end].astype(np.int64).tobytes() + rows.data[start:end].tobytes()
                for start, end in pairwise(rows.indptr)]
    if isinstance(inputs, np.ndarray):
        if inputs.dtype.kind == "O":
            return [repr(row.tolist()).encode("utf-8", "surrogatepass") for row in inputs]
        return [np.ascontiguousarray(row).tobytes() for row in inputs]
    rows = inputs.itertuples(index=False, name=None) if hasattr(inputs, "itertuples") else inputs.iter_rows()
    return [repr(row).encode("utf-8", "surrogatepass") for row in rows]


def _listed(columns: list[str]) -> str:
    return ", ".join(repr(one[:40]) for one in columns[:8]) + (", …" if len(columns) > 8 else "")
