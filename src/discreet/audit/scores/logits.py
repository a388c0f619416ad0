"""Columns of scores to logits, for audits and seals: what is refused, and how far probabilities may be off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from discreet.audit.scores.read import Given
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.inputs.columns import ColumnFile

Refuse = Callable[[BoolArray, str, str], None]
"""Fails where some rows (R,) are bad: with what is wrong there, and what is expected."""

ROUNDING = 1e-6
CLIP = 1e-7
LARGEST = 1e150
"""Differences and sums of logits up to here are finite."""


def off_one(n_classes: int) -> float:
    """How far the sum of `n_classes` probabilities may be from 1: they may be rounded to two decimals, a defence that
    is audited."""
    return min(0.005 * n_classes, 0.05)


def class_logits(file: ColumnFile, given_as: Given, columns: Sequence[str], place: IntArray, refuse: Refuse, *,
                 clip: float = CLIP) -> FloatArray:
    """(R, K) logits of the R rows of `file`, row r at `place` r; probabilities become their logs, clipped at `clip`.

    A single column is of class 1 of two. One column is read at a time: all together may not fit beside the logits.
    """
    alone, as_prob = len(columns) == 1, given_as == "prob"
    logits = np.zeros((place.size, max(2, len(columns))))
    broken, outside = np.zeros(place.size, dtype=np.bool_), np.zeros(place.size, dtype=np.bool_)
    total = np.zeros(place.size if as_prob else 0)
    for number, name in enumerate(columns):
        values = file.numbers(name)
        finite = np.abs(values) <= LARGEST
        broken |= ~finite
        if as_prob:
            values = np.where(finite, values, 0.0)
            outside |= (values < -ROUNDING) | (values > 1 + ROUNDING)
            total += values
            if alone:
                logits[place, 0] = np.log(np.clip(1 - values, clip, 1 - clip))
            values = np.log(np.clip(values, clip, 1 - clip))
        logits[place, 1 if alone else number] = values
    refuse(broken, f"{given_as}s are NaN, infinite or null",
           f"finite numbers, none beyond {LARGEST:g}: score these rows again")
    refuse(outside, f"{given_as}s are not between 0 and 1", "probabilities (a percentage divided by 100), or name the "
           "columns logit_*")
    if as_prob and not alone:
        allowed = off_one(len(columns))
        refuse(np.abs(total - 1) > allowed + ROUNDING, f"{given_as}s do not sum to 1",
               f"a sum within {allowed:g} of 1, or name the columns logit_*")
    return logits
