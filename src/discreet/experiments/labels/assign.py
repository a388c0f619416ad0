"""Assign the rows of a label experiment: held out, canaries, placebos, planted canaries, and their labels drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from discreet.core.errors import InputError
from discreet.core.numbers import counted
from discreet.core.types import BoolArray, IntArray
from discreet.data.canaries import Assignment, draw_canaries
from discreet.scores.table import CANARY, HELDOUT, PLACEBO, TRAIN

PLANTED_SHARE = 0.1
"""Planted canaries of each kind, as a share of the others."""
FEWEST_PLANTED = 20
PLANTED_ROWS = 0.25
"""Planted rows, repetitions counted, are at most this share of the rows that are not held out, if not asked for."""


def assign(labels: IntArray, classes: Sequence[str], groups: IntArray | None, rng: Generator, *, canaries: float,
           placebo: float, planted: Sequence[int], planted_each: int | None, heldout: float, assignment: Assignment
           ) -> dict[str, Any]:
    """The roles of N rows and the labels before any mechanism.

    The sizes are as in `LabelExperiment`, of `labels` (N,) and `groups` (N,) codes or None. Returns arrays (N,):
    `role` (codes of `ScoreTable.role`), `secret` (the label as given but of canaries and placebos), `planted`; and
    `sizes`, the rows of each role and the number of planted canaries by repetitions. Raises InputError where the rows
    do not suffice and where a class is no canary's label.
    """
    n = labels.size
    held = _held_out(n, heldout, groups, rng)
    left = n - int(held.sum())
    wanted, control = _number(canaries, left), _number(placebo, left)
    if not wanted:
        raise InputError(f"a share of {canaries:g} of {left:,} rows is no canary; expected a larger share or more rows")
    each = planted_number(planted, planted_each, wanted, left)
    drawn = draw_canaries(labels, len(classes), wanted, control, rng, assignment=assignment, groups=groups, among=~held,
                          planted={times: each for times in planted if each})
    role = np.full(n, TRAIN, dtype=np.int8)
    role[held], role[drawn.canary], role[drawn.placebo] = HELDOUT, CANARY, PLACEBO
    plain = drawn.label[(role == CANARY) & (drawn.planted == 0)]
    count = np.bincount(plain, minlength=len(classes))
    if (count == 0).any():
        raise InputError(f"class {classes[int(count.argmin())][:40]!r} has no canary among "
                         f"{counted(plain.size, 'canary', 'canaries')} of {len(classes)} classes; draw more canaries, "
                         "or make the target binary")
    return {"role": role, "secret": drawn.label, "planted": drawn.planted, "sizes": {
        "rows": n, "train": int((role == TRAIN).sum()), "canary": int(plain.size),
        "planted": {str(times): int((drawn.planted == times).sum()) for times in planted},
        "placebo": int((role == PLACEBO).sum()), "heldout": int(held.sum())}}


def planted_number(planted: Sequence[int], each: int | None, canaries: int, rows: int) -> int:
    """How many canaries are planted for each number of repetitions."""
    if each is not None or not planted:
        return each or 0
    found = max(FEWEST_PLANTED, round(PLANTED_SHARE * canaries))
    return min(found, int(PLANTED_ROWS * rows) // sum(planted))


def _number(size: float, rows: int) -> int:
    # A product such as .02 · 50 must not fall a row short.
    return int(size * rows + 1e-9) if size < 1.0 else int(size)


def _held_out(n: int, heldout: float, groups: IntArray | None, rng: Generator) -> BoolArray:
    """Whole groups in random order until there are enough rows; what is left of a share is rounded down."""
    wanted = n - int((1.0 - heldout) * n + 1e-9) if heldout < 1.0 else int(heldout)
    if wanted >= n:
        raise InputError(f"{wanted:,} of {n:,} rows are to be held out; expected fewer")
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(unit)
    order = rng.permutation(sizes.size)
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.isin(unit, order[before < wanted])
