"""What a sample of this size would see: the power of "lower bound above ½", and the smallest AUC that it would find."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import Any

from discreet.records import Estimate

POWER = 0.8
"""Power at which an AUC counts as detectable."""


def auc_deviation(auc: float, n_members: int, n_nonmembers: int) -> float:
    """Standard error of an AUC in (0, 1) from m + n units (Hanley & McNeil 1982, eqs. 1 and 2)."""
    q1, q2 = auc / (2.0 - auc), 2.0 * auc * auc / (1.0 + auc)
    variance = auc * (1.0 - auc) + (n_members - 1) * (q1 - auc * auc) + (n_nonmembers - 1) * (q2 - auc * auc)
    return sqrt(max(variance, 0.0) / (n_members * n_nonmembers))


def power_of(auc: float, n_members: int, n_nonmembers: int, level: float = 0.95) -> float:
    """Chance, in [0, 1], that the lower `level` bound exceeds ½ when the true AUC is `auc`; normal approximation."""
    spread = auc_deviation(auc, n_members, n_nonmembers)
    if spread == 0.0:
        return float(auc > 0.5)
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    return NormalDist().cdf((auc - 0.5) / spread - z)


def detectable_auc(n_members: int, n_nonmembers: int, level: float = 0.95, power: float = POWER) -> float | None:
    """Smallest AUC that m + n units find with this power, to 1e-4; None where not even AUC .9999 is found."""
    if min(n_members, n_nonmembers) < 2 or power_of(0.9999, n_members, n_nonmembers, level) < power:
        return None
    low, high = 0.5, 0.9999
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        if power_of(middle, n_members, n_nonmembers, level) >= power:
            high = middle
        else:
            low = middle
    return high


def detectable_estimate(auc: Estimate) -> Estimate:
    """`detectable_auc` for the sample behind an AUC; a value without interval, since it is planned, not measured."""
    members, others = auc.n_pos or 0, auc.n_neg or 0
    facts: dict[str, Any] = {"level": auc.level, "n": auc.n, "n_pos": members, "n_neg": others, "unit": auc.unit}
    found = detectable_auc(members, others, auc.level)
    if found is None:
        return Estimate.unresolved(f"{members} members and {others} non-members find no AUC with power {POWER:g}: "
                                   f"more {auc.unit}s are needed", **facts)
    return Estimate(found, None, None, method=f"Hanley–McNeil, power {POWER:g}", **facts)
