"""What models return as logits, and what files call classes as columns of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from discreet.core.errors import InputError
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.scores.adapters.scorer import Kind
from discreet.scores.load import CLIP, ROUNDING, SUM_TOLERANCE, TWO_DECIMALS

Classes = tuple[str, ...]

GENERIC = re.compile(r"label_\d+")
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
SHOWN = 8


def as_logits(outputs: FloatArray, kind: Kind, name: str) -> tuple[FloatArray, Literal["logit", "prob"]]:
    """(n, K) logits of what a model returned for n texts, and whether they were given as probabilities.

    (n,) or (n, 1) logits are the log-odds of class 1 of two. Probabilities become their logs, clipped to
    [1e-7, 1 - 1e-7] as those of a table. Outputs of the kind "either" are probabilities where all rows are. Raises
    InputError, beginning with `name`, for numbers that are neither.
    """
    if not np.isfinite(outputs).all():
        bad = int((~np.isfinite(outputs)).reshape(len(outputs), -1).any(axis=1).sum())
        raise InputError(f"{name}: the scores of {bad:,} of {len(outputs):,} texts are NaN or infinite; expected "
                         f"finite logits or probabilities")
    flat = outputs.reshape(len(outputs)) if outputs.size == len(outputs) else None
    if flat is not None and kind == "logit":
        return np.stack([np.zeros_like(flat), flat], axis=1), "logit"
    if outputs.ndim != 2 or outputs.shape[1] < 2:
        raise InputError(f"{name}: the scores of {len(outputs):,} texts have the shape {outputs.shape}; expected "
                         f"({len(outputs)}, K), a column for each of two or more classes")
    within = (outputs >= -ROUNDING) & (outputs <= 1 + ROUNDING)
    whole = within.all(axis=1) & _sums(outputs)
    if kind == "prob" or (kind == "either" and within.all()):
        if not whole.all():
            raise InputError(f"{name}: the scores of {int((~whole).sum()):,} of {len(outputs):,} texts are no "
                             f"probabilities, from 0 to 1 and with the sum 1; expected those, or logits")
        return np.log(np.clip(outputs, CLIP, 1 - CLIP)), "prob"
    return outputs, "logit"


def _sums(outputs: FloatArray) -> BoolArray:
    allowed = min(TWO_DECIMALS * outputs.shape[1], SUM_TOLERANCE)
    return np.asarray(np.abs(outputs.sum(axis=1) - 1) <= allowed + ROUNDING)


def columns_like(classes: Classes | None, target: Classes | None, name: str, n_classes: int, expected: int
                 ) -> IntArray:
    """(K,) places of the target's classes among the columns of another model.

    By name where both have names of their own, else by place. Raises InputError where the two do not have the same
    classes: a reference that calls class 0 what the target calls class 1 would turn every ratio around.
    """
    if n_classes != expected:
        raise InputError(f"{name}: it has {n_classes} classes where the target has {expected}; expected a model of the "
                         f"same classes")
    if classes is None or target is None or _generic(classes) or _generic(target):
        return np.arange(expected)
    place = {one.casefold(): column for column, one in enumerate(classes)}
    wanted = [one.casefold() for one in target]
    if set(place) != set(wanted) or len(place) < expected:
        raise InputError(f"{name}: its classes are {_shown(classes)}, the target's {_shown(target)}; expected the same "
                         f"names, in any order")
    return np.array([place[one] for one in wanted], dtype=np.int64)


def class_codes(labels: Sequence[str], classes: Classes | None, n_classes: int, source: str) -> IntArray:
    """(n,) columns of the classes that a file names: all by the model's names (in any case), else all by number.

    Raises InputError, beginning with `source`, where neither fits all labels. A label is never quoted.
    """
    names = {} if classes is None else {one.casefold(): place for place, one in enumerate(classes)}
    # A CSV file of a column that once had a null in pandas says 1.0 for 1.
    plain = {label: label.removesuffix(".0") for label in set(labels)}
    by_name = {label: names.get(label.casefold(), names.get(text.casefold(), -1)) for label, text in plain.items()}
    by_number = {label: int(text) if NUMBER.fullmatch(text) and int(text) < n_classes else -1
                 for label, text in plain.items()}
    ways = [by_name, by_number] if len(names) == n_classes else [by_number]
    codes = min((np.array([way[label] for label in labels], dtype=np.int64) for way in ways),
                key=lambda found: int((found < 0).sum()))
    if (codes < 0).any():
        named = f", or one of {_shown(classes)}" if classes is not None and not _generic(classes) else ""
        raise InputError(f"{source}: 'label' is outside the classes of the model for {int((codes < 0).sum()):,} of "
                         f"{len(labels):,} texts; expected a whole number from 0 to {n_classes - 1}{named}")
    return codes


def _generic(classes: Classes) -> bool:
    return all(GENERIC.fullmatch(one.casefold()) or one == str(place) for place, one in enumerate(classes))


def _shown(classes: Classes) -> str:
    return ", ".join(one[:40] for one in classes[:SHOWN]) + (", …" if len(classes) > SHOWN else "")
