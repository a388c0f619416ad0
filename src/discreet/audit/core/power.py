"""What a sample of this size would find: the power of "lower bound above ½", the smallest AUC that it would find, how
many records a part of the data needs to pass or to fail, the size of the planted control, and what "member" means where
members are rare."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import inf, log, sqrt
from statistics import NormalDist
from typing import Any

from discreet.core.errors import UsageError
from discreet.core.records import Estimate
from discreet.stats.epsilon import least_size

POWER = 0.8
"""Power at which an AUC counts as detectable."""

ONE_SIDED = 0.9
"""Level of an interval whose ends are one-sided 95% bounds."""

PLANTED_AUC = 0.8
"""The leak that planted records are there to show: one scores above a record that was not planted in 80% of pairs."""


def auc_deviation(auc: float, n_members: int, n_nonmembers: int) -> float:
    """Standard error of an AUC in (0, 1) from m + n units (Hanley & McNeil 1982, eqs. 1 and 2)."""
    q1, q2 = auc / (2.0 - auc), 2.0 * auc * auc / (1.0 + auc)
    variance = auc * (1.0 - auc) + (n_members - 1) * (q1 - auc * auc) + (n_nonmembers - 1) * (q2 - auc * auc)
    return sqrt(max(variance, 0.0) / (n_members * n_nonmembers))


def power_of(auc: float, n_members: int, n_nonmembers: int, level: float = 0.95, inflation: float = 1.0) -> float:
    """Chance, in [0, 1], that the lower `level` bound exceeds ½ when the true AUC is `auc`; normal approximation.

    The bound is on the logit scale, as those of audits: one that is symmetric around the AUC would promise too much of
    few units. `inflation` multiplies the standard error, for units of several records (see `inflation_of`). 0 with
    fewer than two units in one of the sets.
    """
    if min(n_members, n_nonmembers) < 2:
        return 0.0
    spread = inflation * auc_deviation(auc, n_members, n_nonmembers)
    if spread == 0.0:
        return float(auc > 0.5)
    return NormalDist().cdf(_logit(auc) * auc * (1.0 - auc) / spread - _z(level))


def inflation_of(auc: Estimate) -> float:
    """How much wider an AUC's interval is than its units, a record each, would make it.

    Groups of many records make an AUC steadier than as many records, groups of unlike ones less steady. 1 where a unit
    is one record, and where nobody can say.
    """
    members, others = auc.n_pos or 0, auc.n_neg or 0
    if (
        auc.unit != "group"
        or auc.value is None
        or auc.low is None
        or auc.high is None
        or min(members, others) < 2
        or not 0.0 < auc.low < auc.value < auc.high < 1.0
    ):
        return 1.0
    measured = (_logit(auc.high) - _logit(auc.low)) / (2.0 * _z(auc.level)) * auc.value * (1.0 - auc.value)
    return measured / auc_deviation(auc.value, members, others)


def _z(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2.0)


def _logit(p: float) -> float:
    return log(p / (1.0 - p)) if 0.0 < p < 1.0 else inf if p > 0.5 else -inf


def detectable_auc(n_members: int, n_nonmembers: int, level: float = 0.95, inflation: float = 1.0) -> float | None:
    """Smallest AUC that m + n units find with power `POWER`, to 1e-4 (on the logit scale power falls again towards an
    AUC of 1); None where not even .9999 is found."""
    grid = (0.5 + 0.0001 * step for step in range(1, 5000))
    return next((auc for auc in grid if power_of(auc, n_members, n_nonmembers, level, inflation) >= POWER), None)


def pass_power(tolerance: float, n_members: int, n_nonmembers: int, inflation: float = 1.0) -> float:
    """Chance, in [0, 1], that a model without any leak is within `tolerance`: that the one-sided 95% upper bound of its
    AUC, on the logit scale, is at most that. `tolerance` in (½, 1); normal approximation."""
    spread = inflation * auc_deviation(0.5, n_members, n_nonmembers)
    return NormalDist().cdf(_logit(tolerance) / (4.0 * spread) - _z(ONE_SIDED))


def fail_power(auc: float, n_members: int, n_nonmembers: int, tolerance: float, n_parts: int = 1) -> float:
    """Chance, in [0, 1], that a part with this true AUC exceeds its tolerance (`discreet.audit.membership.parts`).

    Of the three conditions the hardest is counted: the one-sided p of the rank sum is below .05 after Holm, as the
    smallest of `n_parts`; the AUC found is above `tolerance`; and the target exceeds its control model, whose AUC is
    taken to be ½ and to vary independently. Normal approximation.
    """
    spread, null = auc_deviation(auc, n_members, n_nonmembers), auc_deviation(0.5, n_members, n_nonmembers)
    if spread == 0.0:
        return float(auc > tolerance)
    normal = NormalDist()
    least = max(tolerance, 0.5 + normal.inv_cdf(1.0 - 0.05 / n_parts) * null)
    return min(normal.cdf((auc - least) / spread), planted_power(auc, n_members, n_nonmembers, 0.95))


def records_to_pass(tolerance: float, power: float = POWER, inflation: float = 1.0) -> int | None:
    """Fewest members, with as many non-members, with which a model without any leak is within `tolerance` with chance
    `power`; None where no reasonable number is enough."""
    return least_size(lambda n: pass_power(tolerance, n, n, inflation) >= power)


def records_to_fail(auc: float, tolerance: float, n_parts: int = 1, power: float = POWER) -> int | None:
    """Fewest members, with as many non-members, with which a part with this true AUC exceeds `tolerance` with chance
    `power`; None where no reasonable number is enough, as for an AUC at the tolerance."""
    return least_size(lambda n: fail_power(auc, n, n, tolerance, n_parts) >= power)


def least_leak(n_members: int, n_nonmembers: int, tolerance: float, n_parts: int = 1, power: float = POWER
               ) -> float | None:
    """Smallest AUC, to .001, that exceeds `tolerance` with chance `power`; None where not even .999 does."""
    grid = (thousandth / 1000 for thousandth in range(501, 1000))
    return next((auc for auc in grid if auc > tolerance
                 and fail_power(auc, n_members, n_nonmembers, tolerance, n_parts) >= power), None)


def planted_power(auc: float, n_members: int, n_nonmembers: int, level: float) -> float:
    """Chance, in [0, 1], that planted records with this true AUC are detected (`discreet.audit.membership.controls`).

    Of the two conditions the harder is counted: the target exceeds its control model, whose AUC is taken to be ½ and to
    vary independently. That the lower bound exceeds ½ then nearly follows. Normal approximation.
    """
    spread = sqrt(auc_deviation(auc, n_members, n_nonmembers) ** 2 + auc_deviation(0.5, n_members, n_nonmembers) ** 2)
    return NormalDist().cdf((auc - 0.5) / spread - _z(level))


def planted_needed(auc: float, n_levels: int) -> int:
    """Fewest planted members of each number of repetitions that show this AUC in them with power `POWER`.

    As many records that were not planted in the target stand against them, all `n_levels` together; the level of 95%
    is shared out over the numbers of repetitions. `auc` in (½, 1).
    """
    level = 1.0 - 0.05 / n_levels
    return next(n for n in count(2) if planted_power(auc, n, n * n_levels, level) >= POWER)


def planted_detectable(n_members: int, n_nonmembers: int, level: float) -> float | None:
    """Smallest AUC, to .01, that so many planted members show with power `POWER`; None where not even .99 is shown."""
    if min(n_members, n_nonmembers) < 2:
        return None
    grid = (percent / 100 for percent in range(51, 100))
    return next((auc for auc in grid if planted_power(auc, n_members, n_nonmembers, level) >= POWER), None)


def has_power(planted: Estimate) -> bool:
    """Whether the AUC of planted records is of enough of them to show `PLANTED_AUC` with power `POWER`."""
    members, others = planted.n_pos or 0, planted.n_neg or 0
    return min(members, others) >= 2 and planted_power(PLANTED_AUC, members, others, planted.level) >= POWER


def detectable_estimate(auc: Estimate) -> Estimate:
    """`detectable_auc` for the sample behind an AUC; a value without interval, since it is planned, not measured."""
    members, others = auc.n_pos or 0, auc.n_neg or 0
    facts: dict[str, Any] = {"level": auc.level, "n": auc.n, "n_pos": members, "n_neg": others, "unit": auc.unit}
    found = detectable_auc(members, others, auc.level, inflation=inflation_of(auc))
    if found is None:
        return Estimate.unresolved(
            f"{members} members and {others} non-members find no AUC with power {POWER:g}: more {auc.unit}s are needed",
            **facts)
    return Estimate(found, None, None, method=f"Hanley–McNeil on the logit scale, power {POWER:g}", **facts)


def ppv_at(tpr: float, fpr: float, base_rate: float) -> float | None:
    """Share of true members among those called members, in [0, 1]; None where nobody is called one."""
    called = base_rate * tpr + (1.0 - base_rate) * fpr
    return base_rate * tpr / called if called > 0.0 else None


def ppv_estimate(tpr: Estimate, fpr: float, base_rate: float) -> Estimate:
    """PPV of an attack with this TPR at a true FPR of `fpr`, where a share `base_rate` in (0, 1) are members.

    It rises with the TPR, so the ends of the TPR's interval are the ends of its own. UsageError for a base rate
    outside (0, 1).
    """
    if not 0.0 < base_rate < 1.0:
        raise UsageError(f"base rate is {base_rate}: expected a share between 0 and 1, such as 0.01")
    if tpr.value is None or tpr.low is None or tpr.high is None:
        return replace(tpr, value=None, low=None, high=None, method="", reason=tpr.reason or "no TPR interval")
    value, low, high = (ppv_at(rate, fpr, base_rate) for rate in (tpr.value, tpr.low, tpr.high))
    method = f"Bayes at base rate {base_rate:g} and FPR {fpr:g}; ends from those of the TPR"
    return replace(tpr, value=value, low=low, high=high, method=method)
