"""By what law canary labels were drawn, and how probable it is under that law that attacks are right so often.

- `chance`, without a finite ε: labels are drawn again by their assignment (handed out anew, or their shifts where these
  were balanced). Any memory is a leak.
- `mechanism`, where ε is finite, the mechanism has one transition matrix, and trained labels are known: each label is
  drawn again by its chances given the trained one. A leak is more than the trained labels say.
- `ceiling`, where ε is finite and no more is known: exact binomial at e^ε / (e^ε + K − 1), Holm. A leak is more than ε
  allows.
- `held_out`, where it is not known how labels were drawn: Fisher's exact test against held-out canaries, Holm. Any
  memory is a leak.

A model is trained on what the mechanism releases, so that given the released labels its outputs do not depend on the
canary labels: drawing these again given the former is exact however much the model remembers. An attack that knows all
released labels is right as often as the ceiling in expectation, and is no leak.

α, β and thresholds are tuned on one half of the canaries for use on the other: a figure never meets its own tuning,
and a tuned attack is tuned again in every draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from discreet.audit.core.verdict import ALPHA
from discreet.audit.labels.attacker_view import ABSTAINED, CanaryRows, LabelAttack, Truth, run
from discreet.audit.scores.table import NO_MECHANISM, UNKNOWN, Model
from discreet.core.errors import InputError
from discreet.core.types import FloatArray, IntArray
from discreet.stats.mechanisms.labels.base import label_mechanisms
from discreet.stats.redraw import SMALLEST, Exchangeable, Independent, Law, combined, hits, standardised
from discreet.stats.testing import permutation_p, step_down_p

Assignment = Literal["uniform", "balanced", "unknown"]
Null = Literal["chance", "mechanism", "ceiling", "held_out"]

REDRAWS = 9_999
BLOCK = 1 << 21
"""Labels drawn at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What one attack guesses of n rows.

    Attributes
    ----------
    guesses : (n, m) int array
        Of each of its m variants (1 where it is not tuned); `ABSTAINED` where a row is not guessed.
    tuning : (n, m) int array or None
        What the variants guess of the other half of the rows, where the best of them is chosen.
    """

    guesses: IntArray
    tuning: IntArray | None = None

    def chosen(self, right: FloatArray, n_classes: int) -> IntArray:
        """The variant that is best by (D, m) right guesses of the tuning half."""
        assert self.tuning is not None
        return best_of((right - (self.tuning != ABSTAINED).sum(axis=0) / n_classes).T)


@dataclass(frozen=True, slots=True)
class RedrawTest:
    """All attacks on one set of canaries together, and each of them, with labels drawn again `REDRAWS` times.

    Attributes
    ----------
    distinct : int
        Attacks that do not guess alike everywhere.
    p, p_less : float
        P(largest + mean of standardised successes at least as large), and the same with all signs turned.
    alone, step_down : tuple of float or None
        Of each attack, in the order given: its own p, and step-down max-T over the distinct attacks; None where the
        law leaves its success no room.
    needed : tuple of int
        How many right guesses of each attack that has any room would be found, if the others were at chance.
    """

    distinct: int
    p: float
    p_less: float
    alone: tuple[float | None, ...]
    step_down: tuple[float | None, ...]
    needed: tuple[int, ...]

    @property
    def two_sided(self) -> float:
        """p where more right guesses than chance explains are as odd as fewer."""
        return min(1.0, 2.0 * min(self.p, self.p_less))

    def to_json(self) -> dict[str, Any]:
        """Plain values of the combined test."""
        return {"p": self.p, "distinct": self.distinct, "redraws": REDRAWS}


def law_of(model: Model, rows: CanaryRows, assignment: Assignment, about: Truth = "canary") -> tuple[Null, Law | None]:
    """The null that guesses about one label of these rows are judged by, and its law; None where none is known.

    The label that was trained on is judged against chance, where every example has the same chances in its mechanism.
    """
    own_matrix, labels = _matrix(model, rows.n_classes), rows.canary if about == "canary" else rows.trained
    if assignment == "unknown" or (about == "trained" and own_matrix is None):
        return "held_out", None
    if about == "trained" or model.epsilon == inf:
        return "chance", Exchangeable(_told(labels, rows, assignment), rows.n_classes)
    if assignment == "balanced":
        return "held_out", None
    if own_matrix is None or (rows.trained == UNKNOWN).any():
        return "ceiling", None
    # Canary labels are uniform, so that by Bayes each column of the matrix is what its released label says of them.
    chances = own_matrix[:, rows.trained].T
    return "mechanism", Independent(chances / chances.sum(axis=1, keepdims=True))


def _matrix(model: Model, n_classes: int) -> FloatArray | None:
    """P(label trained on = column | canary label = row); None where examples differ in it, or it is not known."""
    if model.mechanism == NO_MECHANISM:
        return np.eye(n_classes)
    kind = label_mechanisms[model.mechanism] if model.mechanism in set(label_mechanisms) else None
    # The chances of one that takes a prior depend on that, and a table of scores does not hold it.
    return None if kind is None or kind.takes_prior != "no" else kind.at(model.epsilon, n_classes).transition()


def _told(labels: IntArray, rows: CanaryRows, assignment: Assignment) -> IntArray:
    """What is handed out anew: labels, or how far they are from the original ones where that was balanced.

    `ABSTAINED` stays as it is.
    """
    if assignment != "balanced":
        return labels
    shape = (-1, *(1,) * (labels.ndim - 1))
    return np.where(labels == ABSTAINED, ABSTAINED, (labels - rows.original.reshape(shape)) % rows.n_classes)


def column(attack: LabelAttack, rows: CanaryRows, part: CanaryRows | None = None) -> IntArray:
    """(n,) the guesses of an attack on a `part` of these rows, `ABSTAINED` on the others."""
    found = np.full(len(rows), ABSTAINED, dtype=np.int64)
    part = rows if part is None else part
    found[np.searchsorted(rows.rows, part.rows)] = run(attack, part).label
    return found


def redraw_test(columns: Sequence[Columns], labels: IntArray, rows: CanaryRows, law: Law, rng: Generator, *,
                assignment: Assignment, draws: int = REDRAWS) -> RedrawTest | None:
    """Judge guesses about `labels` (n,) of these rows under their law; None where it leaves no attack any room."""
    entries, place = _distinct([Columns(_told(one.guesses, rows, assignment), None if one.tuning is None else _told(
        one.tuning, rows, assignment)) for one in columns])
    successes, moments, room = _successes(entries, _told(labels, rows, assignment), law, rng, draws)
    if not room.size:
        return None
    seen, null = successes[0, room], successes[1:, room]
    statistic, less = combined(successes[:, room]), combined(-successes[:, room])
    step, own = step_down_p(seen, null), [permutation_p(one, drawn) for one, drawn in zip(seen, null.T, strict=True)]
    # The statistic of one attack at z and the others at 0 is z + z / k.
    enough = np.quantile(statistic[1:], 1.0 - ALPHA, method="higher") * room.size / (room.size + 1.0)
    needed = [ceil(mean + enough * deviation) for mean, deviation in moments[:, room].T]
    at = {int(entry): number for number, entry in enumerate(room)}
    numbers = [at.get(entry) for entry in place]
    return RedrawTest(room.size, permutation_p(statistic[0], statistic[1:]), permutation_p(less[0], less[1:]),
                      tuple(None if one is None else own[one] for one in numbers),
                      tuple(None if one is None else float(step[one]) for one in numbers),
                      tuple(needed[one] for one in numbers if one is not None))


def _distinct(columns: Sequence[Columns]) -> tuple[list[Columns], list[int]]:
    """Those that are not tuned and guess alike once, and the place of each of `columns` among them."""
    found, place, known = list[Columns](), list[int](), dict[bytes, int]()
    for number, one in enumerate(columns):
        key = one.guesses.tobytes() if one.tuning is None else number.to_bytes(8, "big")
        if key not in known:
            known[key] = len(found)
            found.append(one)
        place.append(known[key])
    return found, place


def _successes(columns: Sequence[Columns], labels: IntArray, law: Law, rng: Generator, draws: int
               ) -> tuple[FloatArray, FloatArray, IntArray]:
    """Standardised success of each attack, (1 + draws, A), the first of `labels`; mean and deviation, (2, A), of the
    column that it is judged by there; and which attacks the law leaves room."""
    parts = [part for one in columns for part in (one.tuning, one.guesses) if part is not None]
    guesses = np.concatenate(parts, axis=1)
    moments = np.stack(law.moments(guesses))
    step, found = max(1, BLOCK // len(labels)), list[FloatArray]()
    right = hits(labels[None], guesses, law.n_classes)
    first = _places(columns, right, law.n_classes)
    found.append(np.take_along_axis(standardised(right, *moments), first, axis=1))
    for start in range(0, draws, step):
        right = hits(law.draw(min(step, draws - start), rng), guesses, law.n_classes)
        places = _places(columns, right, law.n_classes)
        found.append(np.take_along_axis(standardised(right, *moments), places, axis=1))
    free = [(law.moments(one.guesses)[1] > SMALLEST).any() for one in columns]
    return np.concatenate(found), moments[:, first[0]], np.flatnonzero(free)


def _places(columns: Sequence[Columns], right: FloatArray, n_classes: int) -> IntArray:
    """Which column of `right` (D, C) each attack is judged by, (D, A)."""
    start, found = 0, list[IntArray]()
    for one in columns:
        size = one.guesses.shape[1]
        if one.tuning is None:
            found.append(np.full(len(right), start, dtype=np.int64))
            start += 1
        else:
            found.append(start + size + one.chosen(right[:, start : start + size], n_classes))
            start += 2 * size
    return np.stack(found, axis=1)


def one_draw(rows: CanaryRows, value: IntArray) -> IntArray | None:
    """The first row of each group, if all rows of each share one `value`; else None."""
    if rows.group is None:
        return None
    _, firsts, unit = np.unique(rows.group, return_index=True, return_inverse=True)
    return firsts if (value[firsts][unit.reshape(-1)] == value).all() else None


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
