"""Does a label mechanism do what its ε says? Asked of the labels that it released, before anything is trained on them.

Three questions, each of which must be answered well:

1. Is the exact ε of what it releases at most the ε that it claims?
2. Were as many labels changed as that ε demands? Exact Clopper–Pearson interval of the share of changed labels; where
   examples have different chances (RRWithPrior), one for each chance, Bonferroni over them.
3. Does every label turn into every other as often as its transition matrix says? Clopper–Pearson for each of the K²
   cells, Bonferroni over them; left out where there is no one matrix.

Questions 2 and 3 each call a sound mechanism broken with probability 1 − level at the most.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.audit.labels.bounds import ceiling
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, NO_MECHANISM, UNKNOWN, ScoreTable
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.arrays import counts, scipy_module, share
from discreet.stats.epsilon import MOST_SIZE, least_size
from discreet.stats.estimates import rate_estimate
from discreet.stats.intervals import binomial_lower, binomial_upper
from discreet.stats.mechanisms.labels.base import LabelMechanism, checked_labels, label_mechanisms
from discreet.stats.mechanisms.labels.rr import RandomisedResponse

LEVEL = 0.999
"""An audit checks many mechanisms, seeds and ε, and whole training sets have the power to spare."""
EPSILON_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Conformance:
    """What became of the check of one mechanism on one training set.

    `epsilon` is what it claims, `exact_epsilon` what holds for what it releases; `expected_flip` the share of labels
    that should have changed, `observed` the one that did; `reasons` say which questions were not answered well.
    """

    epsilon: float
    exact_epsilon: float
    expected_flip: float
    observed: Estimate
    reasons: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all three were."""
        return not self.reasons


def conform(mechanism: LabelMechanism, before: ArrayLike, after: ArrayLike, prior: ArrayLike | None = None, *,
            level: float = LEVEL) -> Conformance:
    """Check what `mechanism` made of labels `before` (N,): `after` (N,), under `prior` (K,), (N, K) or None.

    ValueError for labels that cannot be, for unequal lengths, for no labels, and where the mechanism has no chances in
    closed form under that prior (ALIBI with a prior: check its likeliest labels without one).
    """
    share(level, "level", open_interval=True)
    old, new = (checked_labels(labels, mechanism.n_classes) for labels in (before, after))
    if old.size == 0 or old.size != new.size:
        raise ValueError(f"{new.size} labels after {old.size} labels before: expected the same number, at least 1")
    stay = mechanism.should_stay(old, prior)
    if stay is None:
        raise ValueError("the mechanism has no chances in closed form under a prior: expected labels released without")
    changed, reasons, exact = old != new, list[str](), mechanism.exact_epsilon(prior)
    if exact > mechanism.epsilon * (1.0 + EPSILON_SLACK):
        reasons.append(f"its exact epsilon is {exact:.4g}, above the {mechanism.epsilon:.4g} that it claims")
    reasons += _flips_off(changed, 1.0 - stay, level)
    matrix = mechanism.transition(prior) if prior is None or np.ndim(prior) == 1 else None
    if matrix is not None:
        reasons += _cells_off(old, new, matrix, level)
    observed = rate_estimate(int(changed.sum()), changed.size, level=level, unit="label", of="labels")
    return Conformance(mechanism.epsilon, exact, float(np.mean(1.0 - stay)), observed, tuple(reasons))


def _flips_off(changed: BoolArray, expected: FloatArray, level: float) -> list[str]:
    chances, group = np.unique(expected, return_inverse=True)
    sizes, flips, tail = np.bincount(group), np.bincount(group, weights=changed), (1.0 - level) / 2.0 / chances.size
    return next(([f"{int(flipped)} of {int(size)} labels changed where {chance:.4g} of them should have"]
                 for chance, size, flipped in zip(chances, sizes, flips, strict=True)
                 if not _holds(int(flipped), int(size), float(chance), tail)), [])


def _cells_off(old: IntArray, new: IntArray, matrix: FloatArray, level: float) -> list[str]:
    k = matrix.shape[0]
    seen, tail = np.bincount(old * k + new, minlength=k**2).reshape(k, k), (1.0 - level) / 2.0 / k**2
    sizes = seen.sum(axis=1)
    return next(([f"label {label} became {released} in {count} of {sizes[label]} cases where "
                  f"{matrix[label, released]:.4g} of them should have"]
                 for (label, released), count in np.ndenumerate(seen) if sizes[label]
                 and not _holds(int(count), int(sizes[label]), float(matrix[label, released]), tail)), [])


def _holds(k: int, n: int, rate: float, tail: float) -> bool:
    # 1 − (1 − p) is not p: a certain outcome must not be missed by a rounding.
    return binomial_lower(k, n, tail) <= rate + 1e-12 and binomial_upper(k, n, tail) >= rate - 1e-12


def conformance_power(n: int, expected: float, actual: float, *, level: float = LEVEL) -> float:
    """The chance that question 2 notices, on n labels, a flip rate of `actual` where `expected` is right.

    Exact: the binomial mass, under `actual`, of the counts whose Clopper–Pearson interval excludes `expected`.
    """
    counts(0, n, "n")
    share(expected, "expected"), share(actual, "actual")
    tail = (1.0 - share(level, "level", open_interval=True)) / 2.0
    binom = scipy_module("stats", "the power of a conformance check").binom
    # Counts from `low` to `high` are accepted: P(X <= low − 1) < tail and P(X > high) <= tail.
    low, high = int(binom.ppf(tail, n, expected)), int(binom.isf(tail, n, expected))
    return float(binom.cdf(low - 1, n, actual) + binom.sf(high, n, actual))


def labels_needed(expected: float, actual: float, *, level: float = LEVEL, power: float = 0.99) -> int:
    """About how many labels `conformance_power` needs to reach `power`; ValueError where the rates are too alike."""
    share(power, "power", open_interval=True)
    found = least_size(lambda n: conformance_power(n, expected, actual, level=level) >= power)
    if found is None:
        raise ValueError(f"flip rates of {expected:.6g} and {actual:.6g} need more than {MOST_SIZE:,} labels to tell "
                         f"apart: expected rates further apart")
    return found


def epsilon_json(epsilon: float) -> float | str:
    """ε as JSON can hold it: infinity as "inf"."""
    return "inf" if epsilon == inf else epsilon


@dataclass(frozen=True, slots=True)
class ConformanceRow:
    """Observed flips of one model's labels against what its ε demands.

    Attributes
    ----------
    expected_flip : float
        The share of labels that should change; at least that many where `at_least`.
    ok : bool or None
        None where nothing can be said, for the reason in `reasons`.
    """

    model: str
    mechanism: str
    epsilon: float
    seed: str | None
    expected_flip: float
    at_least: bool
    observed: Estimate
    ok: bool | None
    reasons: tuple[str, ...] = ()

    @property
    def too_few(self) -> bool:
        """Whether fewer labels were changed than ε demands."""
        return self.ok is False and self.observed.high is not None and self.observed.high < self.expected_flip

    def to_json(self) -> dict[str, Any]:
        """As the attributes; an infinite ε is the string "inf"."""
        return {name: getattr(self, name) for name in self.__slots__} | {
            "epsilon": epsilon_json(self.epsilon), "observed": self.observed.to_json(), "reasons": list(self.reasons)}


def refuse_broken(table: ScoreTable) -> None:
    """InputError where a model's mechanism is one that is broken on purpose."""
    for model in table.models:
        if model.mechanism in set(label_mechanisms) and label_mechanisms[model.mechanism].broken:
            raise InputError(f"model {model.name[:40]!r} was trained under {model.mechanism!r}, which is broken on "
                             f"purpose and serves `discreet reproduce` only; expected a mechanism that keeps its ε")


def conformance_of(table: ScoreTable, target: int) -> ConformanceRow:
    """The check of one model's released labels.

    A registered mechanism with one transition matrix is compared with that (`conform`). Of any other only the fair
    draws of canaries and held-out ones tell: no mechanism of that ε leaves more of them as they are than its ceiling.
    """
    model, (label, trained, role) = (table.models[target], (
        values[target] for values in (table.canaries.label, table.canaries.trained, table.canaries.role)))
    known = (trained != UNKNOWN) & (role != HELDOUT)
    facts = (model.name, model.mechanism, model.epsilon, model.seed)
    least = 1.0 - ceiling(model.epsilon, table.n_classes)
    if not known.any():
        why = "the labels that were trained on are not in the table"
        return ConformanceRow(
            *facts, least, True, Estimate.unresolved(why, level=LEVEL, n=0, unit="label"), None, (why,))
    kind = (RandomisedResponse if model.mechanism == NO_MECHANISM else (
        label_mechanisms[model.mechanism] if model.mechanism in set(label_mechanisms) else None))
    # The chances of one that takes a prior depend on that, and a table of scores does not hold it.
    if kind is not None and kind.takes_prior == "no":
        found = conform(kind.at(model.epsilon, table.n_classes), label[known], trained[known])
        return ConformanceRow(*facts, found.expected_flip, False, found.observed, found.ok, found.reasons)
    drawn = known & ((role == CANARY) | (role == CONTROL))
    changed, n = int((label != trained)[drawn].sum()), int(drawn.sum())
    too_few = n > 0 and binomial_upper(changed, n, 1.0 - LEVEL) < least
    why_not = (f"{changed} of {n} labels changed where at least {least:.4g} of them must",) if too_few else ()
    return ConformanceRow(*facts, least, True, rate_estimate(changed, n, level=LEVEL, unit="label", of="labels"),
                          not too_few if n else None, why_not)
