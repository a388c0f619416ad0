"""Thresholds from calibration scores: θ of the abstain gate, and τ of the operating points (paper V-C, V-D)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.guard.defaults import TPRS
from discreet.guard.exact import FloatArray

BY_COSTS = "costs"
"""The operating point that minimises stated costs; the others are named in `policy.POINTS`."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What mistakes cost, in any one unit.

    Attributes
    ----------
    miss : float
        An answer that leaks and passes; over 0.
    false_flag : float
        An answer that does not leak and is flagged; over 0.
    review : float
        An answer that somebody has to look at because the guard abstained; 0 or more.
    prevalence : float or None
        Share of answers that leak where the guard is used, in (0, 1); None for that of the sample.
    """

    miss: float
    false_flag: float
    review: float = 0.0
    prevalence: float | None = None

    def __post_init__(self) -> None:
        if not all(isfinite(c) for c in (self.miss, self.false_flag, self.review)):
            raise UsageError("costs of a missed leak, a false flag and a review must be finite numbers")
        if not (self.miss > 0 and self.false_flag > 0 and self.review >= 0):
            raise UsageError(f"costs {self.miss:g} of a missed leak, {self.false_flag:g} of a false flag and "
                             f"{self.review:g} of a review: expected the first two over 0 and no negative one")
        if self.prevalence is not None and not 0 < self.prevalence < 1:
            raise UsageError(f"a prevalence of {self.prevalence:g}: expected the share of answers that leak, between "
                             "0 and 1")

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Thetas:
    """Scores under which a side calls an answer foreign; both sides together make the guard abstain."""

    safe: float
    unsafe: float

    def foreign(self, sigmas: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether σ_s < θ_s and σ_u < θ_u, row by row of (n, 2)."""
        return np.asarray((sigmas[:, 0] < self.safe) & (sigmas[:, 1] < self.unsafe))

    def to_json(self) -> dict[str, float]:
        """Plain numbers."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Thetas:
        """Read back what `to_json` wrote. Raises InputError."""
        try:
            found = cls(float(data["safe"]), float(data["unsafe"]))
        except (KeyError, TypeError, ValueError):
            raise InputError("the thresholds of the abstain gate must be given as 'safe' and 'unsafe'") from None
        if not isfinite(found.safe) or not isfinite(found.unsafe):
            raise InputError("the thresholds of the abstain gate must be finite numbers")
        return found


def thetas(safe: NDArray[Any], unsafe: NDArray[Any], percentile: float) -> Thetas:
    """θ_s from σ_s of the safe calibration texts (n, 2), θ_u from σ_u of the unsafe ones (m, 2)."""
    return Thetas(float(np.percentile(safe[:, 0], percentile)), float(np.percentile(unsafe[:, 1], percentile)))


def tau_at_tpr(unsafe: FloatArray, tpr: float) -> float:
    """The largest τ at which a share `tpr` of unsafe δ (n,), n >= 1, lies above it."""
    ordered = np.sort(unsafe)[::-1]
    return float(np.nextafter(ordered[max(1, ceil(tpr * ordered.size - 1e-9)) - 1], -inf))


def tau_by_costs(unsafe: FloatArray, safe: FloatArray, costs: Costs) -> float:
    """The τ of the least expected cost on δ of both sides (n,), (m,), at least one each; of several, the smallest.

    It lies halfway between two neighbouring δ, or beyond all of them. Abstentions do not depend on τ, so they do not
    move it.
    """
    share = costs.prevalence if costs.prevalence is not None else unsafe.size / (unsafe.size + safe.size)
    given = np.unique(np.concatenate([unsafe, safe]))
    halfway = given[:-1] + (given[1:] - given[:-1]) / 2
    candidates = np.concatenate([[np.nextafter(given[0], -inf)], halfway, [given[-1]]])
    missed = np.searchsorted(np.sort(unsafe), candidates, side="right") / unsafe.size
    flagged = 1.0 - np.searchsorted(np.sort(safe), candidates, side="right") / safe.size
    expected = share * costs.miss * missed + (1.0 - share) * costs.false_flag * flagged
    return float(candidates[np.flatnonzero(expected <= expected.min() * (1 + 1e-12))[0]])


def operating_points(unsafe: FloatArray, safe: FloatArray, costs: Costs | None = None) -> dict[str, float]:
    """τ of every operating point from calibration δ of the answers that the guard does not abstain on.

    Balanced and strict reach *at least* their true-positive rate: where τ = 0 reaches it already, they are τ = 0 too,
    so that strict never lets pass what balanced holds, nor balanced what conservative holds.

    Raises
    ------
    InputError
        Where a side is empty.
    """
    if not unsafe.size or not safe.size:
        side = "unsafe" if not unsafe.size else "safe"
        raise InputError(f"no {side} calibration text is left to set the operating points on: add {side} texts")
    points = {"conservative": 0.0} | {
        name: min(0.0, tau_at_tpr(unsafe, tpr)) for name, tpr in TPRS.items()}
    return points if costs is None else points | {BY_COSTS: tau_by_costs(unsafe, safe, costs)}


def read_points(data: Any) -> dict[str, float]:
    """Read back τ by point. Raises InputError where one of the three is missing or is no finite number."""
    if not isinstance(data, Mapping) or not {"conservative", *TPRS} <= set(data):
        raise InputError(f"operating points must be given for conservative, {', '.join(TPRS)}")
    for name, tau in data.items():
        if name not in {"conservative", BY_COSTS, *TPRS} or isinstance(tau, bool) or not isinstance(tau, int | float):
            raise InputError(f"operating point {name!r} must be a known one with a number")
        if not isfinite(tau):
            raise InputError(f"operating point {name!r} must be a finite number")
    return {name: float(tau) for name, tau in data.items()}
