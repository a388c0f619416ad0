"""What an attack gets right by chance: secrets are drawn again, and everything that the attack saw of them with them.

Permuting secrets against guesses that stay as they are is not that: an attack that is shown the secret is then held
against labels that it was not shown, and its 75% on a model that memorised nothing look like a discovery (median
p = .003 over 20 such models; drawing again gives .58).

An attack is replayed once for each class that a row's secret might have had, a table (n, K) of guesses; a draw is then
a look-up in it. That is exact for oracles whose guess for a row looks at no other row's label (`OracleAttack`), and an
honest attack has one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.random import Generator

from discreet.audit.labels.access import Trial, Truth, require, run
from discreet.audit.labels.view import ABSTAINED, LabelAttack, Looked, OracleView
from discreet.core.types import FloatArray, IntArray
from discreet.scores.table import UNKNOWN

Redraw = Literal["permute", "uniform", "shift"]
REDRAWS: tuple[Redraw, ...] = get_args(Redraw)
Draws: TypeAlias = tuple[IntArray, IntArray]
"""Secrets and trained labels, (D, n) each; or right guesses and guesses, (D,) each."""

BLOCK = 1 << 21
"""Labels drawn at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What an attack would have guessed.

    Attributes
    ----------
    looks_at : "secret", "trained" or None
        Which label of a row its guess for that row depends on.
    label : (n, K) int array, (n, 1) where it looks at none
        The guess for each row if that label were k; `ABSTAINED` where it makes none.
    """

    looks_at: Looked | None
    label: IntArray

    def at(self, secret: IntArray, trained: IntArray) -> IntArray:
        """Guesses (…, n) under labels (…, n)."""
        if self.looks_at is None:
            return np.broadcast_to(self.label[:, 0], secret.shape)
        seen = secret if self.looks_at == "secret" else trained
        return self.label[np.arange(len(self.label)), seen]


@dataclass(frozen=True, slots=True, eq=False)
class Null:
    """An attack's right guesses, and those of the same attack where labels were drawn again.

    Attributes
    ----------
    correct, made : int
        Right guesses, and guesses.
    null_correct, null_made : (D,) int array
    """

    correct: int
    made: int
    n_classes: int
    null_correct: IntArray
    null_made: IntArray

    @property
    def p_value(self) -> float:
        """(1 + draws at least as good) / (1 + D), by right guesses beyond made / K: P(p <= α) <= α if nothing leaks."""
        excess = self.correct - self.made / self.n_classes
        null = self.null_correct - self.null_made / self.n_classes
        return float(1 + np.count_nonzero(null >= excess - 1e-9)) / (1 + null.size)

    @property
    def mean(self) -> float | None:
        """Mean success of the draws, of those that made a guess; None without any."""
        made = self.null_made > 0
        return float(np.mean(self.null_correct[made] / self.null_made[made])) if made.any() else None


def replay(attack: LabelAttack, trial: Trial) -> Replay:
    """What `attack` would have guessed on the rows of `trial`. InputError as `run`."""
    require(attack, trial)
    if attack.access != "oracle":
        return Replay(None, run(attack, trial).label[:, None])
    columns = []
    for k in range(trial.n_classes):
        labels = np.full(len(trial), k, dtype=np.int64)
        view = OracleView(trial.view, *((labels, trial.trained) if attack.looks_at == "secret" else
                                        (trial.secret, labels)))
        columns.append(attack.guess(view).label)
    return Replay(attack.looks_at, np.stack(columns, axis=1))


def chance_success(attack: LabelAttack, trial: Trial) -> float | None:
    """The share of right guesses to expect if the outputs know nothing: each row's label uniform; None without guesses.

    Exact, no drawing: 1 / K for an honest attack, and for an oracle what being shown the answer is worth. Of an oracle
    that looks at the trained label, its success at that.
    """
    label = replay(attack, trial).label
    right = label == np.arange(trial.n_classes)
    made = np.broadcast_to(label != ABSTAINED, right.shape)
    return float(right.sum() / made.sum()) if made.any() else None


def redraw_null(
    attack: LabelAttack, trial: Trial, rng: Generator, *, draws: int = 1000, target: Truth = "secret",
    redraw: Redraw = "permute",
) -> Null:
    """`redraw_nulls` for one attack."""
    return redraw_nulls([attack], trial, rng, draws=draws, target=target, redraw=redraw)[0]


def redraw_nulls(
    attacks: Sequence[LabelAttack], trial: Trial, rng: Generator, *, draws: int = 1000, target: Truth = "secret",
    redraw: Redraw = "permute",
) -> tuple[Null, ...]:
    """Draw the labels of `trial` again `draws` times and replay every attack on every draw; one `Null` for each attack.

    Draws are the same for all attacks, place by place, so that their nulls may be compared or put under a maximum.

    Parameters
    ----------
    target : "secret" or "trained"
        Which label the guesses are held against.
    redraw : "permute", "uniform" or "shift"
        `permute` hands the pairs (secret, trained) out anew: exact wherever rows drew them alike and independently.
        `uniform` draws fresh secrets; nothing is known of trained labels then. `shift` hands out how far the pair lies
        from the row's original label, for canaries of `exact_half`. Where every group has one secret (for `shift`: one
        shift) groups are the units; where rows of a group differ, rows are.

    Raises
    ------
    ValueError
        Fewer than one draw; `uniform`, or groups with one secret, where trained labels are looked at or inferred.
    InputError
        As `run`, and where trained labels are needed that the table does not say.
    """
    replays = [replay(attack, trial) for attack in attacks]
    need = _need(replays, target)
    found = [_counted(one, (trial.secret[None], trial.trained[None]), target) for one in replays]
    parts = [[_counted(one, labels, target) for one in replays]
             for count in _blocks(draws, len(trial))
             for labels in (redrawn(trial, count, rng, redraw, need_trained=need),)]
    return tuple(_joined(trial, found[place], [part[place] for part in parts]) for place in range(len(replays)))


def tuned_null(
    attacks: Sequence[LabelAttack], first: Trial, second: Trial, rng: Generator, *, draws: int = 1000,
    target: Truth = "secret", redraw: Redraw = "permute",
) -> Null:
    """The same for the best of `attacks` on `first`, judged on `second`: tuning is done again in every draw.

    Guesses of `tuned` (`discreet.audit.labels.tune`), ties included. Arguments and errors as `redraw_nulls`; ValueError
    without attacks.
    """
    if not attacks:
        raise ValueError("attacks are empty: expected at least one")
    before, after = ([replay(attack, part) for attack in attacks] for part in (first, second))
    need = _need(before, target)

    def best(on_first: Draws, on_second: Draws) -> Draws:
        tried = [_counted(one, on_first, target) for one in before]
        chosen = best_of(np.stack([right - made / first.n_classes for right, made in tried]))
        counts = [np.stack(part) for part in zip(*(_counted(one, on_second, target) for one in after), strict=True)]
        return counts[0][chosen, np.arange(chosen.size)], counts[1][chosen, np.arange(chosen.size)]

    found = best((first.secret[None], first.trained[None]), (second.secret[None], second.trained[None]))
    parts = [best(redrawn(first, count, rng, redraw, need_trained=need),
                  redrawn(second, count, rng, redraw, need_trained=need))
             for count in _blocks(draws, max(len(first), len(second)))]
    return _joined(second, found, parts)


def redrawn(trial: Trial, draws: int, rng: Generator, redraw: Redraw, *, need_trained: bool = False) -> Draws:
    """Secrets and trained labels of `draws` new draws; trained ones all `UNKNOWN` but with `need_trained`."""
    if redraw not in REDRAWS:
        raise ValueError(f"redraw is {redraw!r}: expected one of {', '.join(REDRAWS)}")
    n, n_classes = len(trial), trial.n_classes
    unit, firsts = _units(trial, redraw)
    unknown = np.broadcast_to(np.int64(UNKNOWN), (draws, n))
    if need_trained and (redraw == "uniform" or firsts.size < n):
        raise ValueError(f"trained labels are not drawn by {redraw!r} in {firsts.size} groups of {n} rows: expected "
                         f"'permute' or 'shift' without groups, or the secret")
    if redraw == "uniform":
        return rng.integers(0, n_classes, (draws, firsts.size))[:, unit], unknown
    order = rng.permuted(np.tile(firsts, (draws, 1)), axis=1)[:, unit]
    pair = (trial.secret, trial.truth("trained")) if need_trained else (trial.secret,)
    if redraw == "shift":
        drawn = [((values - trial.original)[order] + trial.original) % n_classes for values in pair]
    else:
        drawn = [values[order] for values in pair]
    return drawn[0], drawn[1] if need_trained else unknown


def _units(trial: Trial, redraw: Redraw) -> tuple[IntArray, IntArray]:
    """The unit of each row, (n,), and the first row of each unit: groups where each has one draw, else rows."""
    rows = np.arange(len(trial), dtype=np.int64)
    if trial.group is None:
        return rows, rows
    _, firsts, unit = np.unique(trial.group, return_index=True, return_inverse=True)
    value = (trial.secret - trial.original) % trial.n_classes if redraw == "shift" else trial.secret
    if (value[firsts][unit.reshape(-1)] != value).any():
        return rows, rows
    return unit.astype(np.int64).reshape(-1), firsts.astype(np.int64)


def _need(replays: Sequence[Replay], target: Truth) -> bool:
    return target == "trained" or any(one.looks_at == "trained" for one in replays)


def _blocks(draws: int, n: int) -> list[int]:
    """Sizes of the blocks that the draws are made in."""
    if draws < 1:
        raise ValueError(f"draws is {draws}: expected at least 1")
    step = max(1, BLOCK // n)
    return [min(step, draws - start) for start in range(0, draws, step)]


def _joined(trial: Trial, found: Draws, parts: Sequence[Draws]) -> Null:
    correct, made = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    return Null(int(found[0][0]), int(found[1][0]), trial.n_classes, correct, made)


def _counted(one: Replay, labels: Draws, target: Truth) -> Draws:
    """Right guesses and guesses, (D,) each."""
    guesses = one.at(*labels)
    truth = labels[0] if target == "secret" else labels[1]
    made = guesses != ABSTAINED
    return np.count_nonzero(made & (guesses == truth), axis=-1), np.count_nonzero(made, axis=-1)


def best_of(excess: FloatArray) -> IntArray:
    """The place of the largest along the first axis, of equals (up to rounding) the first."""
    return np.asarray(np.argmax(excess >= excess.max(axis=0) - 1e-9, axis=0), dtype=np.int64)
