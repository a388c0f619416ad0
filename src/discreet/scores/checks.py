"""Whether a table of scores can be audited at all: what its models and sides say of one another."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from discreet.core.errors import InputError
from discreet.core.numbers import counted
from discreet.scores.duplicate_models import COPY, Shown
from discreet.scores.grid import short
from discreet.scores.table import IN, OUT, UNKNOWN, Model, Role, ScoreTable

APART: tuple[Role, ...] = ("target", "reference", "selection", "placebo")
SCREENED = 64
SAME = 1e-9
NEARLY = f", rescaled, rounded or with a little noise (rank correlation above {COPY:g})"


def check_table(table: ScoreTable, source: str, *, allow_split_groups: bool = False) -> None:
    """Raise InputError, beginning with `source`, for a table that no audit can begin with.

    - No target; a target whose membership is unknown somewhere, or all on one side.
    - A placebo, or a neutral reference, that was trained on a member of the target: it stands on neither side.
    - A target, reference, selector or placebo with the scores of another of them in another role, or with scores
      that order the examples as those do (rescaled, rounded, or with a little noise).
    - A group (user, document) with examples on both sides of a target, unless `allow_split_groups`.
    """
    targets = table.of_role("target")
    if not targets:
        raise InputError(f"{source}: no model has the role 'target'; name the audited model in 'model_role'")
    for target in targets:
        _check_sides(table, source, target)
        _check_neither(table, source, target)
        if not allow_split_groups:
            _check_groups(table, source, target)
    _check_apart(table, source)


def _check_sides(table: ScoreTable, source: str, target: int) -> None:
    name, member = short(table.models[target].name), table.member[target]
    unknown = int((member == UNKNOWN).sum())
    if unknown:
        raise InputError(f"{source}: 'member' of target {name} is null for {unknown:,} of {member.size:,} examples; an "
                         f"audit needs true or false for each: fill it in, or take the examples out")
    for side, word in ((IN, "members"), (OUT, "non-members")):
        if not (member == side).any():
            raise InputError(f"{source}: target {name} has no {word} among {member.size:,} examples; an audit compares "
                             f"the two sides: add examples of the other one")


def _check_neither(table: ScoreTable, source: str, target: int) -> None:
    for place, model in enumerate(table.models):
        if model.role != "placebo" and (model.role, model.reference_kind) != ("reference", "neutral"):
            continue
        shared = int(((table.member[place] == IN) & (table.member[target] == IN)).sum())
        if shared:
            what = "placebo" if model.role == "placebo" else "neutral reference"
            raise InputError(f"{source}: {what} {short(model.name)} was trained on {counted(shared, 'member')} of "
                             f"target {short(table.models[target].name)}; it must know neither side: correct its "
                             f"role, its kind or 'member'")


def _check_groups(table: ScoreTable, source: str, target: int) -> None:
    group = table.examples.group
    if group is None:
        return
    _, code = np.unique(group, return_inverse=True)
    inside = np.bincount(code, weights=table.member[target] == IN)
    split = (inside > 0) & (inside < np.bincount(code))
    if split.any():
        raise InputError(f"{source}: {int(split.sum()):,} of {split.size:,} groups are split over sides, with members "
                         f"and non-members of target {short(table.models[target].name)}; keep each group on one side, "
                         f"or allow split groups, and those groups are left out")


def _check_apart(table: ScoreTable, source: str) -> None:
    shown = Shown(table)
    for one, other in combinations(table.of_role(*APART), 2):
        first, second = table.models[one], table.models[other]
        if first.role == second.role:
            continue
        same = _same_scores(table, one, other)
        if same or shown.copies(one, other):
            first, second = sorted((first, second), key=lambda model: APART.index(model.role))
            raise InputError(f"{source}: {_called(second)} has the {'same scores as' if same else 'scores of'} "
                             f"{_called(first)}{'' if same else NEARLY}; each must be a model of its own")


def _called(model: Model) -> str:
    return f"{'selector' if model.role == 'selection' else model.role} {short(model.name)}"


def _same_scores(table: ScoreTable, one: int, other: int) -> bool:
    """Equal up to a constant in each row, which a softmax does not see; a few rows settle most pairs."""
    return all(_same_rows(table, one, other, rows) for rows in (slice(SCREENED), slice(None)))


def _same_rows(table: ScoreTable, one: int, other: int, rows: slice) -> bool:
    centred = [part - part.max(axis=-1, keepdims=True)
               for part in (table.logits[one, rows], table.logits[other, rows])]
    return bool(np.allclose(centred[0], centred[1], rtol=0.0, atol=SAME, equal_nan=True))
