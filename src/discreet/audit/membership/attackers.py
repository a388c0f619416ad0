"""What an attacker gets: how many members are named while few others are, and what naming them is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import ClassVar

from discreet.audit.core.power import ppv_at, ppv_estimate
from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Part, Sentences
from discreet.audit.membership.rows import NO_CONTROL, JudgedRow
from discreet.core.numbers import counted
from discreet.core.records import Estimate
from discreet.stats.attackers import distinct_attacks, strongest_rates
from discreet.stats.estimates import Sample

say = Sentences.read(__package__).of("attackers")

FPRS = (0.01, 0.001)
"""Shares of the others that an attacker names."""
BASE_RATES = (0.01, 0.1, 0.5)
"""Shares of members among the people whom an attacker asks about."""
PER = 1000
"""Sentences count so many members, and others."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Named(Part):
    """How many members the strongest of the honest attacks over all records names at one FPR.

    Attributes
    ----------
    fpr : float
        Share of the others that are named too.
    attacks : int
        Distinct attacks that were tried; those that order the records alike are one.
    attack : str or None
        The one whose TPR is largest.
    share : Estimate
        The largest TPR, in [0, 1]. With 95% confidence no attack's TPR is above `high`; with 95% one's is above `low`.
    control : Estimate
        The same of the same attacks on the control model.
    """

    derived: ClassVar[tuple[str, ...]] = ("at_most", "at_least")

    fpr: float
    attacks: int
    attack: str | None
    share: Estimate
    control: Estimate

    @property
    def at_most(self) -> str:
        """The sentence that a reader can defend, with the same bound of the control model."""
        if self.share.high is None:
            return say("unresolved", reason=self.share.reason)
        facts = {"level": f"{self.share.level:.0%}", "per": PER, "others": f"{PER * self.fpr:g}"}
        most, control = _at_most(self.share), ""
        if most >= PER:
            return say("unbounded", **facts)
        if self.control.high is not None:
            control = say("control_at_most", most=_at_most(self.control))
        return say("at_most" if self.attacks > 1 else "at_most_alone", attacks=counted(self.attacks, "attack"),
                   most=most, control=control, **facts)

    @property
    def at_least(self) -> str:
        """What follows it where an attack is shown to name more than naming at random does; else empty."""
        if self.share.low is None or self.share.low <= self.fpr:
            return ""
        # What rounding takes from a whole number is given back.
        return say("at_least", level=f"{self.share.level:.0%}", least=floor(PER * self.share.low + ROUNDING))


@dataclass(frozen=True, slots=True)
class Gain(Part):
    """What naming is worth where a share `base_rate` of the people whom an attacker asks about are members.

    Attributes
    ----------
    base_rate, fpr : float
    ppv : Estimate
        Share of members among those whom the deciding attack names at this FPR, in [0, 1].
    lift : Estimate
        `ppv` over `base_rate`: 1 is what naming at random gives.
    control_ppv : Estimate
        That of the control model.
    at_most : float or None
        What no attack that was tried exceeds, with 95% confidence: by the upper end of `Named.share`.
    """

    base_rate: float
    fpr: float
    ppv: Estimate
    lift: Estimate
    control_ppv: Estimate
    at_most: float | None


def named_members(judged: Sequence[JudgedRow], units: Units) -> tuple[Named, ...]:
    """`Named` at each of `FPRS` that the records resolve, the first in any case. `judged` are rows over all records."""
    tried = [one for one in judged if one.scores.target is not None and one.spec.whole and not one.spec.oracle
             and one.truth.any() and not one.truth.all()]
    if not tried:
        nothing = Estimate.unresolved("no attack has scores", unit=units.name)
        return (Named(FPRS[0], 0, None, nothing, Estimate.unresolved(NO_CONTROL, unit=units.name)),)
    tried = [tried[place] for place in distinct_attacks(
        (one.scores.target[one.rows], one.truth) for one in tried if one.scores.target is not None)]
    controlled = [one for one in tried if one.scores.control is not None]
    shares = strongest_rates((one.sample(units) for one in tried), FPRS, len(tried))
    controls = [one.share for one in strongest_rates((one.sample(units, control=True) for one in controlled), FPRS,
                                                     len(controlled))] if controlled else [
        Estimate.unresolved(NO_CONTROL, unit=units.name)] * len(FPRS)
    found = [Named(fpr, len(tried), None if one.place is None else tried[one.place].spec.attack, one.share, control)
             for fpr, one, control in zip(FPRS, shares, controls, strict=True)]
    return (found[0], *(one for one in found[1:] if one.share.resolved))


def gains(judged: JudgedRow, named: Sequence[Named], base_rates: Sequence[float], units: Units) -> tuple[Gain, ...]:
    """What naming by the attack of `judged` is worth at each FPR of `named` and each of `base_rates`, in (0, 1)."""
    found, fprs = list[Gain](), [one.fpr for one in named]
    target = _tprs(judged.sample(units), fprs)
    control = [Estimate.unresolved(NO_CONTROL, unit=units.name)] * len(fprs)
    if judged.scores.control is not None:
        control = _tprs(judged.sample(units, control=True), fprs)
    for one, *both in zip(named, target, control, strict=True):
        for base_rate in base_rates:
            ppv, control_ppv = (ppv_estimate(tpr, one.fpr, base_rate) for tpr in both)
            lift = ppv if ppv.value is None or ppv.low is None or ppv.high is None else replace(
                ppv, value=ppv.value / base_rate, low=ppv.low / base_rate, high=ppv.high / base_rate,
                method=f"{ppv.method}; over the base rate")
            most = None if one.share.high is None else ppv_at(one.share.high, one.fpr, base_rate)
            found.append(Gain(base_rate, one.fpr, ppv, lift, control_ppv, most))
    return tuple(found)


def _tprs(sample: Sample, fprs: Sequence[float]) -> list[Estimate]:
    return [sample.tpr_at_fpr(fpr) for fpr in fprs]


def _at_most(share: Estimate) -> int:
    """The upper end, in so many of `PER`, rounded up."""
    return ceil(PER * (share.high or 0.0) - ROUNDING)
