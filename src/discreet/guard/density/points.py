"""Thresholds from calibration scores: θ of the abstain gate, and τ of the operating points (paper V-C, V-D)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.core.types import BoolArray, FloatArray

PAPER_PERCENTILE, THETA_PERCENTILE = 5.0, 1.0
"""θ of the paper's detectors and of a fitted guard, of each side's calibration scores; both under it is out of
distribution (V-D). At 5 a new writer on the very topics is sent to review in one answer of ten, at 1 in one of thirty,
and texts of other domains are still held back (`docs/results/guard.md`, "gate")."""
TPRS = {"balanced": 0.90, "strict": 0.95}
"""True-positive rates of the operating points on the calibration set (V-C); conservative is τ = 0."""
BY_COSTS = "costs"
"""The operating point that minimises stated costs; the others are named in `policy.POINTS`."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What mistakes cost, in any one unit.

    `miss` and `false_flag`, over 0: an answer that leaks and passes, and one that does not leak and is flagged;
    `review`, 0 or more: one that somebody has to look at because the guard abstained. `prevalence` is the share of
    answers that leak where the guard is used, in (0, 1); None for that of the sample.
    """

    miss: float
    false_flag: float
    review: float = 0.0
    prevalence: float | None = None

    def __post_init__(self) -> None:
        if not (0 < self.miss < inf and 0 < self.false_flag < inf and 0 <= self.review < inf):
            raise UsageError(f"costs {self.miss:g} of a missed leak, {self.false_flag:g} of a false flag and "
                             f"{self.review:g} of a review: expected finite numbers, the first two over 0 and no "
                             "negative one")
        if self.prevalence is not None and not 0 < self.prevalence < 1:
            raise UsageError(
                f"a prevalence of {self.prevalence:g}: expected the share of answers that leak, between 0 and 1"
            )

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Thetas:
    """Scores under which an answer is unlike a side; unlike both, it is out of distribution and the guard abstains."""

    safe: float
    unsafe: float

    def out_of_distribution(self, sigmas: NDArray[Any]) -> BoolArray:
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
            found = cls(inf, inf)
        if not isfinite(found.safe) or not isfinite(found.unsafe):
            raise InputError("the abstain gate must be given as finite numbers 'safe' and 'unsafe'")
        return found


def thetas(safe: NDArray[Any], unsafe: NDArray[Any], percentile: float) -> Thetas:
    """θ_s from σ_s of the safe calibration texts (n, 2), θ_u from σ_u of the unsafe ones (m, 2)."""
    return Thetas(float(np.percentile(safe[:, 0], percentile)), float(np.percentile(unsafe[:, 1], percentile)))


def tau_at_tpr(unsafe: FloatArray, tpr: float, held: int = 0) -> float:
    """The largest τ that flags a share `tpr` of n unsafe δ and `held` more; infinite where those are enough."""
    ordered = np.sort(unsafe)[::-1]
    needed = ceil(tpr * (ordered.size + held) - 1e-9) - held
    if needed <= 0 and held:
        return inf
    return float(np.nextafter(ordered[max(1, needed) - 1], -inf))


def tau_by_costs(unsafe: FloatArray, safe: FloatArray, costs: Costs, held: tuple[int, int] = (0, 0)) -> float:
    """The τ of the least expected cost on δ of both sides (n,), (m,); of several, the smallest; 0 without any δ.

    It lies halfway between two neighbouring δ, or beyond all of them. Abstentions do not depend on τ, so they do not
    move it; answers that are flagged anyway count in their side's share.
    """
    given = np.unique(np.concatenate([unsafe, safe]))
    if not given.size:
        return 0.0
    n_unsafe, n_safe = unsafe.size + held[0], safe.size + held[1]
    share = costs.prevalence if costs.prevalence is not None else n_unsafe / (n_unsafe + n_safe)
    halfway = given[:-1] + (given[1:] - given[:-1]) / 2
    candidates = np.concatenate([[np.nextafter(given[0], -inf)], halfway, [given[-1]]])
    missed = np.searchsorted(np.sort(unsafe), candidates, side="right") / n_unsafe
    flagged = (safe.size - np.searchsorted(np.sort(safe), candidates, side="right")) / n_safe
    expected = share * costs.miss * missed + (1.0 - share) * costs.false_flag * flagged
    return float(candidates[np.flatnonzero(expected <= expected.min() * (1 + 1e-12))[0]])


def operating_points(
    unsafe: FloatArray, safe: FloatArray, costs: Costs | None = None, held: tuple[int, int] = (0, 0), *,
    paper: bool = False
) -> dict[str, float]:
    """τ of every operating point from calibration δ of the answers that δ decides, (n,) and (m,).

    `held` says how many more of each side evidence flags whatever τ is. Balanced and strict reach *at least* their
    true-positive rate: where τ = 0 reaches it already, they are τ = 0 too, so that strict never lets pass what balanced
    holds, nor balanced what conservative holds. As the `paper` defines them (V-C) they stand where the rate is .90 and
    .95, above 0 too: there they flag less than *conservative*. InputError where a side has neither δ nor answers that
    are flagged.
    """
    for side, n in (("unsafe", unsafe.size + held[0]), ("safe", safe.size + held[1])):
        if not n:
            raise InputError(f"no {side} calibration text is left to set the operating points on: add {side} texts")
    most = inf if paper else 0.0
    points = {"conservative": 0.0} | {name: min(most, tau_at_tpr(unsafe, tpr, held[0])) for name,
                                      tpr in TPRS.items()}
    return points if costs is None else points | {BY_COSTS: tau_by_costs(unsafe, safe, costs, held)}


def read_points(data: Any) -> dict[str, float]:
    """Read back τ by point. Raises InputError where one of the three is missing or is no finite number."""
    if not isinstance(data, Mapping) or not {"conservative", *TPRS} <= set(data):
        raise InputError(f"operating points must be given for conservative, {', '.join(TPRS)}")
    for name, tau in data.items():
        if name not in {"conservative", BY_COSTS, *TPRS} or not isinstance(tau, int | float) or not isfinite(tau):
            raise InputError(f"operating point {name!r} must be a known one with a finite number")
    return {name: float(tau) for name, tau in data.items()}
