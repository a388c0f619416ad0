"""The auditor's side: the rows on which an attack is judged, their secrets, and what of them an attack is handed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.random import Generator

from discreet.audit.labels.view import (
    UNTRAINED,
    Guesses,
    LabelAttack,
    OracleView,
    PrivilegedView,
    References,
    View,
)
from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.scores.table import CANARY, PLACEBO, TRAIN, UNKNOWN, ScoreTable

Truth = Literal["secret", "trained"]
Side = Literal["canary", "placebo"]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """n rows of one target, all canaries or all placebos. Never handed to an attack: `run` hands it what it may see.

    Attributes
    ----------
    rows : (n,) int array
        Their places in the table.
    view : View
        What an honest attack sees.
    original, secret, trained : (n,) int array
        `trained` is `UNKNOWN` where the table does not say.
    group : (n,) int array or None
    """

    rows: IntArray
    view: View
    original: IntArray
    secret: IntArray
    trained: IntArray
    group: IntArray | None = None

    def __len__(self) -> int:
        return int(self.rows.size)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.view.n_classes

    def truth(self, target: Truth) -> IntArray:
        """(n,) the labels that guesses are held against. InputError where the table does not say what was trained."""
        if target == "secret":
            return self.secret
        if (self.trained == UNKNOWN).any():
            raise InputError(f"'label_trained' is not known for {int((self.trained == UNKNOWN).sum()):,} of "
                             f"{len(self):,} rows; give it, or infer the secret instead")
        return self.trained

    def of(self, places: IntArray) -> Trial:
        """The part at `places` (m,) of its n rows; references keep their pool."""
        view, references = self.view, self.view.references
        part = replace(view, log_p=view.log_p[places],
                       references=None if references is None else _at(references, places))
        return Trial(self.rows[places], part, self.original[places], self.secret[places], self.trained[places],
                     None if self.group is None else self.group[places])


def trial_of(
    table: ScoreTable, target: int, side: Side = "canary", *, references: Sequence[int] | None = None,
    planted: int | None = 0,
) -> Trial:
    """The canaries, or the placebos, of one target.

    Parameters
    ----------
    target : int
        Row of `table.models`. Any model will do, so that a reference can be put on trial too.
    references : sequence of int, or None
        Rows of the models that the attacker trained; `table.label_references(target)` for None, the target never.
    planted : int or None
        Canaries that stood so many times in training on purpose (0: those that were not planted); None for all.

    Raises
    ------
    InputError
        Where the target has no such rows.
    """
    chosen = table.canaries.role[target] == (CANARY if side == "canary" else PLACEBO)
    if side == "canary" and planted is not None:
        chosen &= table.canaries.planted[target] == planted
    rows = np.flatnonzero(chosen)
    if not rows.size:
        kind = f"canary planted {planted} times" if side == "canary" and planted else side
        raise InputError(f"model {table.models[target].name!r} has no {kind}; draw some, or leave this model out")
    given = table.label_references(target) if references is None else references
    models = [place for place in given if place != target]
    drawn = np.flatnonzero((table.canaries.role[target] == CANARY) | (table.canaries.role[target] == PLACEBO))
    view = View(table.log_p[target, rows, 0], _references(table, models, rows), _references(table, models, drawn))
    canaries = table.canaries
    return Trial(rows, view, table.examples.label[rows], canaries.label[target, rows], canaries.trained[target, rows],
                 None if table.examples.group is None else table.examples.group[rows])


def run(attack: LabelAttack, trial: Trial) -> Guesses:
    """What the attack makes of what it may see.

    InputError, in one line, for an attack on two classes where there are more, and where what it needs is not there.
    """
    require(attack, trial)
    if attack.access == "outputs":
        return attack.guess(trial.view)
    if attack.access == "privileged":
        return attack.guess(PrivilegedView(trial.view, trial.original))
    trained = trial.truth("trained") if attack.looks_at == "trained" else trial.trained
    return attack.guess(OracleView(trial.view, trial.secret, trained))


def require(attack: LabelAttack, trial: Trial) -> None:
    """Raise InputError, as `run`, where the attack cannot be run on these rows."""
    require_classes(attack, trial.n_classes)
    clause = attack.needs(trial.view)
    if clause is not None:
        raise InputError(f"{attack.settings.attack!r} cannot be run: {clause}; give that, or leave the attack out")


def require_classes(attack: LabelAttack, n_classes: int) -> None:
    """Raise InputError for an attack on two classes where there are more."""
    if attack.classes not in (None, n_classes):
        raise InputError(f"{attack.settings.attack!r} is an attack on {attack.classes} classes and the target has "
                         f"{n_classes}; expected a binary target: make it one, or leave the attack out")


def halves(trial: Trial, rng: Generator) -> tuple[Trial, Trial]:
    """Two disjoint halves in random order: α, β and thresholds are tuned on the first and applied to the second.

    Groups stay whole. InputError for fewer than two rows (or groups).
    """
    unit = np.arange(len(trial)) if trial.group is None else np.unique(trial.group, return_inverse=True)[1].reshape(-1)
    count = int(unit.max()) + 1
    if count < 2:
        raise InputError(f"{len(trial)} rows in {count} groups cannot be halved to tune an attack; expected at least 2")
    first = np.isin(unit, rng.permutation(count)[: count // 2])
    return trial.of(np.flatnonzero(first)), trial.of(np.flatnonzero(~first))


def _at(references: References, places: IntArray) -> References:
    return References(references.names, references.log_p[:, places], references.label[:, places])


def _references(table: ScoreTable, models: Sequence[int], rows: IntArray) -> References | None:
    if not models:
        return None
    chosen = np.asarray(models)[:, None]
    role, trained = table.canaries.role[chosen, rows], table.canaries.trained[chosen, rows]
    # Soft labels have no one label that was trained on; the draw that they were made from stands for it.
    label = np.where(trained == UNKNOWN, table.canaries.label[chosen, rows], trained)
    inside = (role == CANARY) | (role == TRAIN)
    return References(tuple(table.models[place].name for place in models), table.log_p[chosen, rows, 0],
                      np.where(inside, label, UNTRAINED))
