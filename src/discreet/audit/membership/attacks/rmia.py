"""RMIA: against how many population records does the target prefer this one, more than its prior would?

Zarifzadeh, Liu & Shokri 2024, "Low-cost high-power membership inference attacks":
LR(x, z) = (p(x|θ) / p(x)) / (p(z|θ) / p(z)), and the score of x is the share of population records z with
LR(x, z) ≥ γ. Here p is the softmax probability of the true class, averaged over queries first.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.attack import Attack, Scale, View, attacks
from discreet.audit.scores.signals import masked_mean, query_mean, true_p
from discreet.audit.scores.table import ReferenceKind
from discreet.core.types import FloatArray, IntArray

P_FLOOR = 1e-30
"""Probabilities are at least this, so that a ratio of ratios is always finite."""

DEFAULT_GAMMA = 1.0
"""The authors' released code compares with 1 too, but strictly; here a tie counts, as in the definition."""

DEFAULT_A = 0.3
"""The default of the authors' released code, which can tune it. 1 says that training on a record changes nothing."""


@attacks.register("rmia")
class Rmia(Attack):
    """Online: p(x) = ½ (mean over references trained on x + mean over those not trained on x).

    A population record that no reference trained on has p(z) = the mean over the references, as there is no other mean
    to average it with. A candidate that all references trained on, or none, is NaN. x counts as preferred from a ratio
    of `gamma` > 0 on.
    """

    title: ClassVar[str] = "RMIA"
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = ("population",)
    n_in: ClassVar[int] = 1
    n_out: ClassVar[int] = 1
    reads_others: ClassVar[bool] = True

    def __init__(self, gamma: float = DEFAULT_GAMMA) -> None:
        if not (gamma > 0 and np.isfinite(gamma)):
            raise ValueError(f"gamma is {gamma}: expected a finite number above 0")
        self.gamma = gamma

    def requirements(self, view: View, kind: ReferenceKind | None) -> str | None:
        """As `Attack.requirements`, and population records that not all references trained on."""
        clause = super().requirements(view, kind)
        if clause is not None or kind is None:
            return clause
        if not view.population.size:
            return "it needs population records that nobody judges and there are none"
        if not view.references[kind].outside(kind)[:, view.population].any():
            return f"it needs a population record that a {kind} reference did not train on and there is none"
        return None

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) shares in [0, 1]; NaN where a row has not the references that are needed."""
        assert kind is not None
        prior = view.once((self, kind), lambda: self.prior(view, kind))
        own = query_mean(true_p(view.target, view.label))
        ratio = np.maximum(own, P_FLOOR) / np.maximum(prior, P_FLOOR)
        return share_beaten(ratio, ratio[view.population], self.gamma)

    def prior(self, view: View, kind: ReferenceKind) -> FloatArray:
        """(N,) p(x)."""
        references = view.references[kind]
        p = query_mean(references.of(true_p, view.label))
        mean_in, mean_out = masked_mean(p, references.inside()), masked_mean(p, references.outside(kind))
        prior, lone = 0.5 * (mean_in + mean_out), view.population[np.isnan(mean_in[view.population])]
        prior[lone] = mean_out[lone]
        return prior


@attacks.register("rmia_offline")
class RmiaOffline(Rmia):
    """Offline: p(x) = ½ ((1 + a) p_out(x) + (1 − a)), p_out the mean over references not trained on x; `a` in [0, 1] is
    the slope of the line p_in = a p_out + 1 − a that stands for the references trained on x."""

    title: ClassVar[str] = "RMIA offline"
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = ("population", "neutral")
    n_in: ClassVar[int] = 0

    def __init__(self, gamma: float = DEFAULT_GAMMA, a: float = DEFAULT_A) -> None:
        super().__init__(gamma)
        if not 0 <= a <= 1:
            raise ValueError(f"a is {a}: expected a number from 0 to 1")
        self.a = a

    def prior(self, view: View, kind: ReferenceKind) -> FloatArray:
        """(N,) p(x)."""
        references = view.references[kind]
        p_out = masked_mean(query_mean(references.of(true_p, view.label)), references.outside(kind))
        return 0.5 * ((1 + self.a) * p_out + (1 - self.a))


def share_beaten(x: FloatArray, z: FloatArray, gamma: float) -> FloatArray:
    """Share of `z` with x / z ≥ gamma for each of `x`; shapes (N,), (Z,) to (N,), all ratios > 0. NaN stays NaN.

    Bitwise equal to comparing all N × Z quotients: x / z as rounded does not rise with z, so that the z that count
    are the smallest ones. The place where they end is searched at x / gamma, whose rounding may miss it by a neighbour
    or so, and then moved until the quotients themselves agree. With gamma 1 there is nothing to move: where x < z,
    x / z is at most 1 less half a unit in the last place, which a double holds.
    """
    ordered, scored = np.sort(z[np.isfinite(z)]), np.isfinite(x)
    if not ordered.size:
        return np.full(x.shape, np.nan)
    shares, value = np.full(x.shape, np.nan), x[scored]
    end = np.searchsorted(ordered, value, side="right") if gamma == 1.0 else _agreed(ordered, value, gamma)
    shares[scored] = end / ordered.size
    return shares


def _agreed(ordered: FloatArray, value: FloatArray, gamma: float) -> IntArray:
    """The place in `ordered` where the quotients cross gamma, from value / gamma on, a distinct value at a time."""
    levels, first = np.unique(ordered, return_index=True)
    n_below = np.append(first, ordered.size)
    end = np.searchsorted(levels, value / gamma, side="right")
    while True:
        up = (end < levels.size) & (value / levels[np.minimum(end, levels.size - 1)] >= gamma)
        down = (end > 0) & (value / levels[np.maximum(end - 1, 0)] < gamma)
        if not up.any() and not down.any():
            return n_below[end]
        end = end + up - down
