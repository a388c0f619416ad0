"""What an attack gets right by chance: canary labels are drawn again, with everything that the attack saw of them.

Permuting the labels against guesses that stay as they are is not that: an attack that is shown the label is then
compared with labels that it was not shown, and its 75% on a model that memorised nothing look like a discovery (median
p = .003 over 20 such models; drawing again gives .58).

An attack is replayed once for each class that a row's label might have had, a table (n, K) of guesses; a draw is then
a look-up in it. That is exact for oracles, whose guess for a row looks at no other row's label, and an honest attack
has one column.

α, β and thresholds are tuned on one half of the canaries for use on the other: a figure never meets its own tuning,
and a null of a tuned attack tunes again in every draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from discreet.audit.labels.attacker_view import ABSTAINED, CanaryRows, LabelAttack, OracleView, Truth, require, run
from discreet.audit.scores.table import UNKNOWN
from discreet.core.errors import InputError
from discreet.core.types import FloatArray, IntArray

Redraw = Literal["permute", "shift"]
Draws: TypeAlias = tuple[IntArray, IntArray]
"""Canary labels and trained labels, (D, n) each; or right guesses and guesses, (D,) each."""

BLOCK = 1 << 21
"""Labels drawn at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What an attack would have guessed: (n, K) the guess for each row if its label (the one that the attack looks at)
    were k, `ABSTAINED` for none; (n, 1) where it looks at no label."""

    looks_at: Truth | None
    label: IntArray

    def counts(self, labels: Draws, target: Truth) -> Draws:
        """Right guesses and guesses under each of D draws, (D,) each."""
        canary, trained = labels
        guesses = (np.broadcast_to(self.label[:, 0], canary.shape) if self.looks_at is None else (
            self.label[np.arange(len(self.label)), canary if self.looks_at == "canary" else trained]))
        made = guesses != ABSTAINED
        right = made & (guesses == (canary if target == "canary" else trained))
        return np.count_nonzero(right, axis=-1), np.count_nonzero(made, axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Null:
    """Right guesses and guesses made by an attack, and (D,) of each where labels were drawn again."""

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


def replay(attack: LabelAttack, rows: CanaryRows) -> Replay:
    """What `attack` would have guessed on these rows. InputError as `run`."""
    if attack.access != "oracle":
        return Replay(None, run(attack, rows).label[:, None])
    require(attack, rows)
    columns = []
    for k in range(rows.n_classes):
        labels = np.full(len(rows), k, dtype=np.int64)
        shown = (labels, rows.trained) if attack.looks_at == "canary" else (rows.canary, labels)
        columns.append(attack.guess(OracleView(rows.view, *shown)).label)
    return Replay(attack.looks_at, np.stack(columns, axis=1))


def redraw_nulls(attacks: Sequence[LabelAttack], rows: CanaryRows, rng: Generator, *, draws: int = 1000,
                 target: Truth = "canary", redraw: Redraw = "permute") -> tuple[Null, ...]:
    """Draw the labels of `rows` again `draws` times and replay every attack on every draw; one `Null` for each attack.

    Draws are the same for all attacks, place by place, so that their nulls may be compared or put under a maximum.

    Parameters
    ----------
    target : "canary" or "trained"
        Which label the guesses are compared with.
    redraw : "permute" or "shift"
        `permute` hands the pairs (canary label, trained label) out anew: exact wherever rows drew them alike and
        independently. `shift` hands out how far the pair lies from the row's original label, for balanced canaries.
        Where every group has one canary label (for `shift`: one shift) groups are the units; where rows of a group
        differ, rows are.

    Raises
    ------
    ValueError
        Fewer than one draw; groups with one label where trained labels are looked at or inferred.
    InputError
        As `run`, and where trained labels are needed that the table does not say.
    """
    replays = [replay(attack, rows) for attack in attacks]
    need = _needs_trained(replays, target)
    found = [one.counts((rows.canary[None], rows.trained[None]), target) for one in replays]
    parts = [[one.counts(labels, target) for one in replays] for count in _blocks(draws, len(rows)) for labels in (
        redrawn(rows, count, rng, redraw, need_trained=need),)]
    return tuple(_joined(rows, one, [part[place] for part in parts]) for place, one in enumerate(found))


def tuned_null(attacks: Sequence[LabelAttack], first: CanaryRows, second: CanaryRows, rng: Generator, *,
               draws: int = 1000, target: Truth = "canary", redraw: Redraw = "permute") -> Null:
    """The same for the best of `attacks` on `first`, judged on `second`: tuning is done again in every draw.

    Guesses of `tuned`, ties included. Arguments and errors as `redraw_nulls`; ValueError without attacks.
    """
    if not attacks:
        raise ValueError("attacks are empty: expected at least one")
    before, after = ([replay(attack, part) for attack in attacks] for part in (first, second))
    need = _needs_trained(before, target)

    def best(on_first: Draws, on_second: Draws) -> Draws:
        tried = [one.counts(on_first, target) for one in before]
        chosen = best_of(np.stack([right - made / first.n_classes for right, made in tried]))
        right, made = (np.stack(part) for part in zip(*(one.counts(on_second, target) for one in after), strict=True))
        return right[chosen, np.arange(chosen.size)], made[chosen, np.arange(chosen.size)]

    found = best((first.canary[None], first.trained[None]), (second.canary[None], second.trained[None]))
    parts = [best(redrawn(first, count, rng, redraw, need_trained=need),
                  redrawn(second, count, rng, redraw, need_trained=need))
             for count in _blocks(draws, max(len(first), len(second)))]
    return _joined(second, found, parts)


def redrawn(rows: CanaryRows, draws: int, rng: Generator, redraw: Redraw, *, need_trained: bool = False) -> Draws:
    """Canary and trained labels of `draws` new draws; trained ones all `UNKNOWN` but with `need_trained`."""
    n = len(rows)
    firsts, unit = np.arange(n), np.arange(n)
    shift = (rows.canary - rows.original) % rows.n_classes
    if (one := one_draw(rows, shift if redraw == "shift" else rows.canary)) is not None:
        firsts, unit = one
    if need_trained and firsts.size < n:
        raise ValueError(f"trained labels are not drawn in {firsts.size} groups of {n} rows with one canary label each:"
                         f" expected no groups, or the canary label")
    order = rng.permuted(np.tile(firsts, (draws, 1)), axis=1)[:, unit]
    pair = (rows.canary, rows.truth("trained")) if need_trained else (rows.canary,)
    drawn = [((values - rows.original)[order] + rows.original) % rows.n_classes if redraw == "shift" else values[order]
             for values in pair]
    return drawn[0], drawn[1] if need_trained else np.broadcast_to(np.int64(UNKNOWN), order.shape)


def one_draw(rows: CanaryRows, value: IntArray) -> tuple[IntArray, IntArray] | None:
    """The first row of each group and the group of each row, if all rows of each share one `value`; else None."""
    if rows.group is None:
        return None
    _, firsts, unit = np.unique(rows.group, return_index=True, return_inverse=True)
    unit = unit.reshape(-1)
    return (firsts, unit) if (value[firsts][unit] == value).all() else None


def tuned(attacks: Sequence[LabelAttack], first: CanaryRows, target: Truth = "canary") -> LabelAttack:
    """The one with most right guesses beyond made / K on `first`; of equals the first. ValueError without attacks.

    To be run on rows that are not in `first` (`halves`).
    """
    if not attacks:
        raise ValueError("attacks are empty: expected at least one")
    truth, found = first.truth(target), [run(attack, first) for attack in attacks]
    excess = [float(one.correct(truth).sum()) - float(one.made.sum()) / first.n_classes for one in found]
    return attacks[int(best_of(np.array(excess)))]


def best_of(excess: FloatArray) -> IntArray:
    """The place of the largest along the first axis, of equals (up to rounding) the first."""
    return np.asarray(np.argmax(excess >= excess.max(axis=0) - 1e-9, axis=0), dtype=np.int64)


def halves(rows: CanaryRows, rng: Generator) -> tuple[CanaryRows, CanaryRows]:
    """Two disjoint halves in random order. Groups stay whole. InputError for fewer than two rows (or groups)."""
    unit = np.arange(len(rows)) if rows.group is None else np.unique(rows.group, return_inverse=True)[1].reshape(-1)
    count = int(unit.max()) + 1
    if count < 2:
        raise InputError(f"{len(rows)} rows in {count} groups cannot be halved to tune an attack; expected at least 2")
    first = np.isin(unit, rng.permutation(count)[: count // 2])
    return rows.take(np.flatnonzero(first)), rows.take(np.flatnonzero(~first))


def _needs_trained(replays: Sequence[Replay], target: Truth) -> bool:
    return target == "trained" or any(one.looks_at == "trained" for one in replays)


def _blocks(draws: int, n: int) -> list[int]:
    """Sizes of the blocks that the draws are made in."""
    if draws < 1:
        raise ValueError(f"draws is {draws}: expected at least 1")
    step = max(1, BLOCK // n)
    return [min(step, draws - start) for start in range(0, draws, step)]


def _joined(rows: CanaryRows, found: Draws, parts: Sequence[Draws]) -> Null:
    correct, made = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    return Null(int(found[0][0]), int(found[1][0]), rows.n_classes, correct, made)
