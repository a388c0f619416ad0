"""Whether a table of label scores can be audited at all: what its draws say of one another."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from discreet.core.errors import InputError
from discreet.core.numbers import counted
from discreet.scores.grid import short
from discreet.scores.label_table import CANARY, PLACEBO, LabelTable
from discreet.stats.intervals import binomial_lower, binomial_upper

UNLIKELY = 1e-6
"""Draws that agree so much more, or less, often than chance lets them are not draws of one's own; of all pairs of a
target and a reference together, as a study of many seeds and ε has tens of thousands. So are draws that agree with the
original labels, of all targets together."""


def check_label_table(table: LabelTable, source: str) -> None:
    """Raise InputError, beginning with `source`, for a table that no label audit can begin with.

    - No target; logits that are not finite.
    - A target without canaries, or with a class that is no canary's secret: guesses of it are never right.
    - An example that is a canary for one target and a placebo for another of the same seed.
    - A target whose secrets are the original labels, or avoid them, as `check_secrets`.
    - A reference whose canary labels agree with a target's otherwise than chance explains: its draws would give the
      target's secrets away to attacks that receive references and must not receive secrets.
    """
    if not np.isfinite(table.logits).all():
        raise InputError(f"{source}: logits hold NaN or infinity; expected finite numbers: score these rows again")
    if not table.targets:
        raise InputError(f"{source}: no model has the role 'target'; name the audited model in 'model_role'")
    for one, other in combinations(table.targets, 2):
        if table.models[one].seed == table.models[other].seed:
            _check_overlap(table, source, one, other)
    for target in table.targets:
        _check_classes(table, source, target)
    check_secrets(table, source)
    references = [place for place, model in enumerate(table.models) if model.role == "reference"]
    for target in table.targets:
        for reference in references:
            _check_draws(table, source, target, reference, UNLIKELY / (len(table.targets) * len(references)))


def check_secrets(table: LabelTable, source: str) -> None:
    """Raise InputError where the secrets of a target agree with the original labels otherwise than chance explains.

    Canaries and placebos are looked at apart and together: where one of the two was drawn and the other was not, an
    attack that knows no more than the original labels tells them apart. Of a group, which may share one draw, one row
    counts.
    """
    parts = (((CANARY,), "canaries"), ((PLACEBO,), "placebos"), ((CANARY, PLACEBO), "canaries and placebos"))
    unlikely = UNLIKELY / (len(parts) * max(1, len(table.targets)))
    for target in table.targets:
        for roles, kind in parts:
            rows = np.flatnonzero(np.isin(table.role[target], roles))
            if table.group is not None:
                rows = rows[np.unique(table.group[rows], return_index=True)[1]]
            n, alike = rows.size, int((table.secret[target, rows] == table.original[rows]).sum())
            if not n or not _beyond_chance(alike, n, table.n_classes, unlikely):
                continue
            what = "no secret was drawn" if alike == n else "secrets were not drawn uniformly"
            of = f"all {n:,}" if alike == n else f"{alike:,} of {n:,}"
            unit = "" if table.group is None else "groups of "
            raise InputError(f"{source}: {what}: 'label_secret' of target {short(table.models[target].name)} is "
                             f"'label_original' for {of} {unit}{kind}, where uniform draws agree on about "
                             f"{n / table.n_classes:,.0f}; draw a label for each canary and each placebo uniformly "
                             f"from the {table.n_classes} classes")


def _beyond_chance(alike: int, n: int, n_classes: int, unlikely: float) -> bool:
    """Whether draws from `n_classes` classes agree with given labels so often, or so seldom, with p < `unlikely`."""
    chance = 1.0 / n_classes
    return binomial_lower(alike, n, unlikely) > chance or binomial_upper(alike, n, unlikely) < chance


def _check_classes(table: LabelTable, source: str, target: int) -> None:
    canary = table.role[target] == CANARY
    name = short(table.models[target].name)
    if not canary.any():
        raise InputError(f"{source}: target {name} has no canary among {len(table):,} examples; a label audit needs "
                         f"examples whose 'example_role' is canary")
    count = np.bincount(table.secret[target, canary], minlength=table.n_classes)
    if (count == 0).any():
        raise InputError(f"{source}: class {int(count.argmin())} has no canary of target {name} among "
                         f"{counted(int(canary.sum()), 'canary', 'canaries')}; draw labels over all "
                         f"{table.n_classes} classes, or more canaries")


def _check_overlap(table: LabelTable, source: str, one: int, other: int) -> None:
    role = table.role
    both = ((role[one] == CANARY) & (role[other] == PLACEBO)) | ((role[one] == PLACEBO) & (role[other] == CANARY))
    if both.any():
        raise InputError(f"{source}: canaries overlap placebos: {counted(int(both.sum()), 'example')} of targets "
                         f"{short(table.models[one].name)} and {short(table.models[other].name)} are one for this and "
                         f"one for that; a placebo is never trained on: correct 'example_role', or give runs with "
                         f"draws of their own a 'seed' each")


def _check_draws(table: LabelTable, source: str, target: int, reference: int, unlikely: float) -> None:
    drawn = (table.role[target] == CANARY) | (table.role[target] == PLACEBO)
    drawn &= (table.role[reference] == CANARY) | (table.role[reference] == PLACEBO)
    n = int(drawn.sum())
    if not n:
        return
    alike = int((table.secret[target] == table.secret[reference])[drawn].sum())
    if _beyond_chance(alike, n, table.n_classes, unlikely):
        raise InputError(f"{source}: reference {short(table.models[reference].name)} has the secret of target "
                         f"{short(table.models[target].name)} for {alike:,} of {n:,} canaries and placebos, where "
                         f"draws of its own agree on about {n / table.n_classes:,.0f}; give each reference fresh draws "
                         f"in 'label_secret'")
