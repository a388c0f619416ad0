"""What a threshold costs: the metrics of a test pairing on the kept and the full population, expected cost, and the
risk–coverage curve (paper V-C, V-D, VI-A).

Pure functions of scores. An answer is flagged where δ > τ, and abstained on where σ_s < θ_s and σ_u < θ_u. θ and τ
come from a calibration set and are applied as they are to every pairing (`points.py` says how they are found).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.records import Estimate
from discreet.core.types import BoolArray
from discreet.guard.defaults import TPRS
from discreet.guard.exact import FloatArray
from discreet.guard.points import Costs, Thetas, tau_at_tpr, tau_by_costs, thetas
from discreet.stats import auroc_estimate, fpr_at_tpr_estimate, share_estimate
from discreet.stats.arrays import binary_labels, finite_scores, same_length, share

LEVEL = 0.95


def abstain_thresholds(sigma_safe: ArrayLike, sigma_unsafe: ArrayLike, q: float = 0.05) -> Thetas:
    """θ_s, the q-quantile of σ_s (n,) on the safe holdout, and θ_u, that of σ_u (m,) on the unsafe holdout (V-D)."""
    percent = 100.0 * share(q, "q", open_interval=True)
    safe, unsafe = finite_scores(sigma_safe, "sigma_safe"), finite_scores(sigma_unsafe, "sigma_unsafe")
    if not safe.size or not unsafe.size:
        raise ValueError(f"{safe.size} safe and {unsafe.size} unsafe scores: expected at least 1 each")
    return thetas(np.stack([safe, safe], axis=1), np.stack([unsafe, unsafe], axis=1), percent)


def abstains(sigmas: NDArray[Any], at: Thetas) -> BoolArray:
    """Whether both sides call a row foreign, (n,) of σ (n, 2)."""
    return at.foreign(np.asarray(sigmas))


def operating_points(delta_unsafe: ArrayLike) -> dict[str, float]:
    """τ by point from δ (n,) of kept unsafe calibration answers: conservative 0, balanced 90% and strict 95% TPR."""
    given = finite_scores(delta_unsafe, "delta_unsafe")
    if not given.size:
        raise ValueError("delta_unsafe is empty: expected at least one calibration answer")
    return {"conservative": 0.0} | {name: tau_at_tpr(given, tpr) for name, tpr in TPRS.items()}


@dataclass(frozen=True, slots=True)
class CostPoint:
    """τ of the least expected cost, and that cost per answer.

    The interval of `cost` joins exact ones of the miss, false-flag and abstention rates (Bonferroni); τ was chosen on
    the same answers, so it is a price to plan with, not a promise for new ones.
    """

    tau: float
    cost: Estimate


def by_cost(
    delta_safe: ArrayLike, delta_unsafe: ArrayLike, costs: Costs, *, abstain_safe: ArrayLike | None = None,
    abstain_unsafe: ArrayLike | None = None,
) -> CostPoint:
    """The τ that `costs` of a missed leak, a false flag and a review ask for.

    Parameters
    ----------
    delta_safe, delta_unsafe : (n,), (m,)
        δ of calibration answers.
    costs : Costs
        In any one unit, with the share of answers that leak where the guard is used (else that of the sample).
    abstain_safe, abstain_unsafe : (n,), (m,) in {0, 1}
        Who goes to review whatever τ is; nobody by default.
    """
    safe, safe_out = _population(delta_safe, abstain_safe, "safe")
    unsafe, unsafe_out = _population(delta_unsafe, abstain_unsafe, "unsafe")
    kept_safe, kept_unsafe = safe[~safe_out], unsafe[~unsafe_out]
    if not kept_safe.size or not kept_unsafe.size:
        raise ValueError(f"{kept_safe.size} safe and {kept_unsafe.size} unsafe answers kept: expected 1 or more each")
    prior = costs.prevalence if costs.prevalence is not None else unsafe.size / (unsafe.size + safe.size)
    given_kept = Costs(
        costs.miss * kept_unsafe.size / unsafe.size, costs.false_flag * kept_safe.size / safe.size, costs.review, prior
    )
    tau = tau_by_costs(kept_unsafe, kept_safe, given_kept)
    events = [
        (prior * costs.miss, (unsafe <= tau) & ~unsafe_out),
        ((1.0 - prior) * costs.false_flag, (safe > tau) & ~safe_out),
        (prior * costs.review, unsafe_out),
        ((1.0 - prior) * costs.review, safe_out),
    ]
    parts = [
        (weight, share_estimate(hits, level=1.0 - (1.0 - LEVEL) / len(events), of="answers")) for weight, hits in events
    ]
    cost = Estimate(
        sum(w * float(e.value or 0.0) for w, e in parts), sum(w * float(e.low or 0.0) for w, e in parts),
        sum(w * float(1.0 if e.high is None else e.high) for w, e in parts), LEVEL, safe.size + unsafe.size,
        unsafe.size, safe.size, method="expected cost per answer; exact rates, Bonferroni",
    )
    return CostPoint(tau, cost)


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """Error among the answers that are decided, as ever less sure ones are decided too (El-Yaniv & Wiener 2010).

    Attributes
    ----------
    coverage, risk, threshold : (k,)
        Share decided, share of errors among them, and the confidence at or above which they are decided; one point
        per distinct confidence, coverage ascending to 1.
    area : float
        Mean of `risk` over the n answers in order of confidence (AURC; ties share their risk).
    """

    coverage: FloatArray
    risk: FloatArray
    threshold: FloatArray
    area: float
    _wrong: BoolArray = field(repr=False)

    def at(self, coverage: float) -> Estimate:
        """The risk at the smallest coverage that is at least `coverage` in (0, 1], with its exact interval."""
        if not 0.0 < coverage <= 1.0:
            raise ValueError(f"coverage is {coverage}: expected a number over 0 and at most 1")
        point = int(np.flatnonzero(self.coverage >= coverage - 1e-12)[0])
        decided = round(float(self.coverage[point]) * self._wrong.size)
        return share_estimate(self._wrong[:decided], level=LEVEL, unit="answer", of="decided answers")


def risk_coverage(delta: ArrayLike, labels: ArrayLike, confidence: ArrayLike, tau: float = 0.0) -> RiskCoverage:
    """The curve of δ (n,) against labels (n,) in {0, 1}, the surest by `confidence` (n,) first, n >= 1.

    An error is a flag (δ > τ) of a safe answer or none of an unsafe one.
    """
    given, truth, sure = finite_scores(delta, "delta"), binary_labels(labels), finite_scores(confidence, "confidence")
    same_length(truth, given.size, "labels")
    same_length(sure, given.size, "confidence")
    if not given.size:
        raise ValueError("delta is empty: expected at least one answer")
    order = np.argsort(-sure, kind="stable")
    wrong, falling = ((given > tau) != truth)[order], sure[order]
    last = np.flatnonzero(np.append(np.diff(falling) < 0.0, True))
    risk = np.cumsum(wrong)[last] / (last + 1)
    area = float(np.sum(risk * np.diff(last, prepend=-1)) / given.size)
    return RiskCoverage((last + 1) / given.size, risk, falling[last], area, wrong)


def pairing_metrics(
    delta_safe: ArrayLike, delta_unsafe: ArrayLike, abstain_safe: ArrayLike, abstain_unsafe: ArrayLike, tau: float, *,
    point: str = "conservative", groups_safe: ArrayLike | None = None, groups_unsafe: ArrayLike | None = None,
    unit: str = "answer",
) -> dict[str, Any]:
    """The metrics of one test pairing (paper VI-A, Tables IV to VIII).

    Parameters
    ----------
    delta_safe, delta_unsafe : (n,), (m,)
        δ of safe (or borderline) and of unsafe answers.
    abstain_safe, abstain_unsafe : (n,), (m,) in {0, 1}
        Whom the gate holds back.
    tau : float
        Threshold of the operating point named `point`, fixed on calibration data.
    groups_safe, groups_unsafe : (n,), (m,), optional
        Documents or users, then the unit of intervals.

    Returns
    -------
    dict of str to Estimate
        `auroc, fpr95, fpr90, fpr_tau0, tpr_tau0, abstain_safe, abstain_unsafe, n_kept, point, fpr_point, tpr_point`
        on the kept population (abstentions left out of numerators and denominators), and under `full` the same keys
        with everybody in.
    """
    safe, safe_out = _population(delta_safe, abstain_safe, "safe")
    unsafe, unsafe_out = _population(delta_unsafe, abstain_unsafe, "unsafe")
    among_safe, among_unsafe = _groups(groups_safe, safe.size, "safe"), _groups(groups_unsafe, unsafe.size, "unsafe")
    if (among_safe is None) != (among_unsafe is None):
        raise ValueError("groups are given for one side only: expected both or neither")
    shared = {
        "abstain_safe": share_estimate(safe_out, level=LEVEL, unit=unit, groups=among_safe, of="safe answers"),
        "abstain_unsafe": share_estimate(unsafe_out, level=LEVEL, unit=unit, groups=among_unsafe, of="unsafe answers"),
        "point": Estimate(float(tau), None, None, unit=unit, method=f"operating point {point}, fixed on calibration"),
    }

    def figures(in_safe: BoolArray, in_unsafe: BoolArray, how: str) -> dict[str, Estimate]:
        sides = [
            _Side(d[kept], None if g is None else g[kept], name)
            for d, kept, g, name in (
                (safe, in_safe, among_safe, "safe answers"), (unsafe, in_unsafe, among_unsafe, "unsafe answers")
            )
        ]
        kept = sides[0].delta.size + sides[1].delta.size
        counted = Estimate(
            float(kept), None, None, LEVEL, safe.size + unsafe.size, sides[1].delta.size, sides[0].delta.size,
            "answer", f"count of answers, {how}",
        )
        return _ranked(sides[0], sides[1], unit) | _rates(sides[0], sides[1], tau, unit) | shared | {"n_kept": counted}

    kept = figures(~safe_out, ~unsafe_out, "abstentions left out")
    everybody = figures(np.ones_like(safe_out), np.ones_like(unsafe_out), "abstentions included")
    return {**kept, "full": everybody}


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    delta: FloatArray
    groups: NDArray[Any] | None
    name: str

    def above(self, tau: float, unit: str) -> Estimate:
        return share_estimate(self.delta > tau, level=LEVEL, unit=unit, groups=self.groups, of=self.name)


def _ranked(safe: _Side, unsafe: _Side, unit: str) -> dict[str, Estimate]:
    scores = np.concatenate([safe.delta, unsafe.delta])
    labels = np.repeat([0, 1], [safe.delta.size, unsafe.delta.size])
    known = [g for g in (safe.groups, unsafe.groups) if g is not None]
    groups = np.concatenate(known) if known else None
    # A constant score has no variance, hence no logit-scale interval.
    method: Any = "auto" if scores.size and np.ptp(scores) else "score"
    facts: dict[str, Any] = {"level": LEVEL, "unit": unit, "groups": groups}
    return {
        "auroc": auroc_estimate(scores, labels, method=method, **facts),
        "fpr95": fpr_at_tpr_estimate(scores, labels, 0.95, **facts),
        "fpr90": fpr_at_tpr_estimate(scores, labels, 0.90, **facts),
    }


def _rates(safe: _Side, unsafe: _Side, tau: float, unit: str) -> dict[str, Estimate]:
    return {
        "fpr_tau0": safe.above(0.0, unit), "tpr_tau0": unsafe.above(0.0, unit),
        "fpr_point": safe.above(tau, unit), "tpr_point": unsafe.above(tau, unit),
    }


def _population(delta: ArrayLike, abstain: ArrayLike | None, side: str) -> tuple[FloatArray, BoolArray]:
    given = finite_scores(delta, f"delta_{side}")
    out = np.zeros(given.size, dtype=np.bool_) if abstain is None else binary_labels(abstain, f"abstain_{side}")
    same_length(out, given.size, f"abstain_{side}")
    return given, out


def _groups(groups: ArrayLike | None, n: int, side: str) -> NDArray[Any] | None:
    if groups is None:
        return None
    given = np.asarray(groups)
    same_length(given, n, f"groups_{side}")
    return given
