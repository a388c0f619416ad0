"""Records in memory as the sets of an audit: copies left out, mixed, the control model's records put aside, and fresh
copies of a scikit-learn estimator trained on records that the audit chooses."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.core.errors import InputError, need
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.inputs.columns import name_codes
from discreet.inputs.in_memory import Records, feature_rows, input_keys, read_records, stacked_records
from discreet.inputs.splits import halves

MOST_COLUMNS = 2000
"""Columns of an array that the blind baseline reads; more are projected at random."""


@dataclass(frozen=True, slots=True, eq=False)
class MemorySets:
    """The N judged records, members and non-members mixed, and the records that the control model is trained on."""

    records: Records
    member: BoolArray
    id: list[str]
    control: Records | None
    left_out: dict[str, int]

    @classmethod
    def of(cls, members: Any, non_members: Any, control_data: Any, rng: Generator, *, label: str, text: str,
           aside: bool) -> MemorySets:
        """Read all sets, leave out what is in two of them, mix them, and put a half aside where that is asked for."""
        named = {"members": members, "non_members": non_members}
        if control_data is not None:
            named["control_data"] = control_data
        read = {name: read_records(one, name, label=label, text=text) for name, one in named.items()}
        keys = {name: input_keys(one.inputs) for name, one in read.items()}
        both = set(keys["members"]) & set(keys["non_members"])
        kept = {name: _first_of(held, both if name != "control_data" else {*keys["members"], *keys["non_members"]})
                for name, held in keys.items()}
        lost = {f"{name}_left_out_as_copies": len(read[name]) - kept[name].size for name in read}
        for name, rows in kept.items():
            if not rows.size:
                raise InputError(f"{name}: every input is in another set too; expected inputs of their own")
        inside, outside = read["members"].take(kept["members"]), read["non_members"].take(kept["non_members"])
        control = read["control_data"].take(kept["control_data"]) if control_data is not None else None
        rows = kept["non_members"]
        if aside:
            first, second = halves(np.arange(len(outside)), label_codes(outside), group_codes(outside), rng)
            control, outside, rows = outside.take(first), outside.take(second), rows[second]
        records = stacked_records([inside, outside])
        mixed = rng.permutation(len(records))
        ids = _ids(inside, outside) or [f"members[{row}]" for row in kept["members"]] + [
            f"non_members[{row}]" for row in rows]
        return cls(records.take(mixed), np.asarray(mixed < len(inside), dtype=np.bool_), [ids[row] for row in mixed],
                   control, {name: n for name, n in lost.items() if n})


def _ids(inside: Records, outside: Records) -> list[str]:
    """The records' own ids where both sets have them and none is there twice, else nothing."""
    if inside.ids is None or outside.ids is None:
        return []
    found = [*inside.ids, *outside.ids]
    return found if len(set(found)) == len(found) else []


def _first_of(keys: Sequence[bytes], without: Iterable[bytes]) -> IntArray:
    """The place of each distinct key that is not in `without`, rising."""
    seen, kept = set(without), []
    for place, key in enumerate(keys):
        if key not in seen:
            seen.add(key)
            kept.append(place)
    return np.array(kept, dtype=np.int64)


def label_codes(records: Records) -> IntArray:
    """(n,) numbers of the labels, from 0, in the order of their names."""
    return np.unique([str(one) for one in records.labels], return_inverse=True)[1].astype(np.int64).reshape(-1)


def group_codes(records: Records) -> IntArray | None:
    """(n,) numbers of the groups, None without groups."""
    return None if records.groups is None else name_codes([str(one) for one in records.groups])


def blind_features(inputs: Any, rng: Generator) -> FloatArray | Any:
    """What the blind baseline reads of inputs that are no texts: (N, d), each column scaled; NaN is the mean."""
    rows = inputs if isinstance(inputs, list) else feature_rows(inputs)
    if rows is not None:
        vectorizer = need("sklearn.feature_extraction", "the blind baseline", "audit").DictVectorizer
        plain = [{str(name): value if isinstance(value, int | float) and isfinite(value) else str(value)
                  for name, value in row.items()} for row in rows]
        inputs = vectorizer().fit_transform(plain)
    if hasattr(inputs, "tocsr"):
        return need("sklearn.preprocessing", "the blind baseline", "audit").MaxAbsScaler().fit_transform(inputs)
    try:
        values = np.asarray(inputs, dtype=np.float64).reshape(len(inputs), -1)
    except (TypeError, ValueError):
        raise InputError(f"the inputs are an array of {inputs.dtype}; expected numbers, texts, or a data "
                         "frame for columns of several kinds") from None
    known = np.isfinite(values)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, values - mean, 0.0)
    spread = centred.std(axis=0)
    scaled = centred / np.where(spread > 0, spread, 1.0)
    d = scaled.shape[1]
    return scaled if d <= MOST_COLUMNS else scaled @ (rng.standard_normal((d, MOST_COLUMNS)) / np.sqrt(d))


SEEDED = "random_state"


def can_clone(estimator: Any) -> bool:
    """Whether `estimator` can be copied unfitted and trained again, as estimators of scikit-learn can."""
    return hasattr(estimator, "get_params") and hasattr(estimator, "fit")


def fitted_clone(estimator: Any, inputs: Any, labels: Any, seed: int, name: str) -> Any:
    """An unfitted copy of `estimator` (scikit-learn's `clone`), fitted to n inputs and their labels (n,).

    Every parameter called `random_state`, nested ones included, is set to `seed` >= 0: a copy with the target's own
    seed would begin where the target began. Warnings of the fit are those of the target's fit, and are left out. Raises
    InputError, beginning with `name`, where copying or training fails; MissingExtraError without scikit-learn.
    """
    clone = need("sklearn.base", "training references by clone", "audit").clone
    try:
        copy = clone(estimator)
        seeded = [key for key in copy.get_params(deep=True) if key == SEEDED or key.endswith(f"__{SEEDED}")]
        copy.set_params(**dict.fromkeys(seeded, seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return copy.fit(inputs, labels)
    except Exception as error:
        # The message may quote a record.
        raise InputError(f"{name}: {type(error).__name__} when a clone of {type(estimator).__name__} was trained on "
                         f"{len(labels):,} records; expected an estimator that fits these inputs and labels as they "
                         "were given") from None
