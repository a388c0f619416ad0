"""The figures of a defence frontier: means over noise draws with their intervals and spread, and their JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from discreet.audit.core.verdict import plain
from discreet.audit.defences.bench import NO_PLACEBO, Case
from discreet.audit.membership.rows import RowSpec
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray
from discreet.stats import RocCore, auroc_estimate, percentile_interval, tpr_at_fpr_estimate
from discreet.stats.roc import most_count

Queried = Literal["same", "near-duplicates"]

FPR = 0.05
SHOWN = 3
"""Draws whose intervals are computed and averaged."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a figure moved between noise draws: standard deviation, and the central 95% of the draws."""

    draws: int
    sd: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """As the attributes."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Figure:
    """One attack on the outputs of a mechanism.

    Attributes
    ----------
    auc, tpr_at_5pct_fpr, placebo_auc : Estimate
        Mean over the draws. Its interval is as wide as that of one draw (averaged over the first few), around the
        mean: it is about the examples and holds a fortiori for the mean; `spread` is about the draws.
    spread, tpr_spread, placebo_spread : Spread or None
        None where nothing is drawn, or the figure is unresolved.
    """

    spec: RowSpec
    n_members: int
    n_nonmembers: int
    auc: Estimate
    tpr_at_5pct_fpr: Estimate
    placebo_auc: Estimate
    spread: Spread | None = None
    tpr_spread: Spread | None = None
    placebo_spread: Spread | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in the rows of an audit."""
        spec = self.spec
        return {
            "attack": spec.attack, "scale": spec.scale, "reference_kind": spec.reference_kind,
            "selection": spec.selection, "n": spec.n, "nonmembers": spec.nonmembers, "oracle": spec.oracle,
            "n_members": self.n_members, "n_nonmembers": self.n_nonmembers, "auc": self.auc.to_json(),
            "auc_spread": plain(self.spread), "tpr_at_5pct_fpr": self.tpr_at_5pct_fpr.to_json(),
            "tpr_spread": plain(self.tpr_spread), "placebo_auc": self.placebo_auc.to_json(),
            "placebo_spread": plain(self.placebo_spread),
        }


@dataclass(frozen=True, slots=True)
class Point:
    """A mechanism at one strength, met with a number of queries.

    Attributes
    ----------
    queries, queried
        How many answers the attacker averages, to the same input or to it and near-duplicates of it.
    epsilon, epsilon_queries : float or None
        Exact local ε of one answer and of all of them, about the queried inputs only; None where none is finite.
    accuracy, missed_positives : Estimate
        Of single answers, which is what a user gets: share right, share of the positive class not called positive.
    """

    mechanism: str
    knob: str | None
    strength: float | None
    noise: str
    queries: int
    queried: Queried
    epsilon: float | None
    epsilon_queries: float | None
    accuracy: Estimate
    missed_positives: Estimate
    figures: tuple[Figure, ...]

    def figure(self, spec: RowSpec) -> Figure:
        """The figure of one attack row. KeyError if there is none."""
        for figure in self.figures:
            if figure.spec == spec:
                return figure
        raise KeyError(spec)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "mechanism": self.mechanism, "knob": self.knob, "strength": self.strength, "noise": self.noise,
            "queries": self.queries, "queried": self.queried, "local_epsilon": self.epsilon,
            "local_epsilon_of_all_queries": self.epsilon_queries,
            "utility": {"accuracy": self.accuracy.to_json(), "missed_positives": self.missed_positives.to_json()},
            "attacks": [figure.to_json() for figure in self.figures],
        }


@dataclass(frozen=True, slots=True)
class Frontier:
    """All points, the undefended one first; `primary` is the attack row that is shown first."""

    target: str
    placebo: str | None
    positive: int
    draws: int
    jitter: float
    clip: float | None
    primary: RowSpec
    points: tuple[Point, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        spec = self.primary
        return {
            "target": self.target, "placebo": self.placebo, "positive": self.positive, "draws": self.draws,
            "jitter": self.jitter, "clip": self.clip,
            "primary": {"attack": spec.attack, "scale": spec.scale, "reference_kind": spec.reference_kind,
                        "selection": spec.selection},
            "points": [point.to_json() for point in self.points], "notes": list(self.notes),
        }


def auc_and_tpr(scores: FloatArray, member: BoolArray, fpr: float) -> tuple[FloatArray, FloatArray]:
    """AUC and TPR at `fpr` of each row of `scores` (draws, m) for one `member` (m,), as in `RocCore`; both (draws,).

    The class goes into the last bit of each score, read as a whole number of the same order, so that one sort of
    plain numbers does. A row where members and non-members tie is left to `RocCore`. Both classes must be there.
    """
    bits = (np.ascontiguousarray(scores, dtype=np.float64) + 0.0).view(np.int64)
    rising = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    keys = np.sort((rising & ~np.int64(1)) | member, axis=1)
    inside = keys & 1
    below = np.cumsum(1 - inside, axis=1)
    n_in, n_out = int(member.sum()), int((~member).sum())
    auc = np.einsum("dm,dm->d", below, inside) / (n_in * n_out)
    allowed = int(most_count(fpr, np.array([n_out]))[0])
    tpr = ((below >= n_out - allowed) & (inside == 1)).sum(axis=1) / n_in
    tied = ((keys[:, 1:] ^ keys[:, :-1]) == 1).any(axis=1)
    for row in np.flatnonzero(tied):
        counts = RocCore.of(scores[row], member).counts()
        auc[row], tpr[row] = counts.auroc()[0], counts.tpr_at_fpr(fpr)[0]
    return auc, tpr


def figure_of(case: Case, target: Sequence[FloatArray], placebo: Sequence[FloatArray]) -> Figure:
    """The figure of one case from its scores (m,) in each draw, of the target and of its control model."""
    n_members = int(case.member.sum())
    (auc, spread), (tpr, tpr_spread) = _over_scores(case, target, "nothing was drawn")
    (control, control_spread), _ = _over_scores(case, placebo, NO_PLACEBO)
    return Figure(case.spec, n_members, case.member.size - n_members, auc, tpr, control, spread, tpr_spread,
                  control_spread)


def _over_scores(
    case: Case, draws: Sequence[FloatArray], missing: str
) -> tuple[tuple[Estimate, Spread | None], tuple[Estimate, Spread | None]]:
    """AUC and TPR at 5% FPR; unresolved for the case's own reason, or as `missing` says where nothing was drawn."""
    if case.reason is not None or not draws:
        nothing = Estimate.unresolved(case.reason or missing)
        return (nothing, None), (nothing, None)
    facts: dict[str, Any] = {"groups": case.groups, "unit": "example" if case.groups is None else "group"}
    aucs = [auroc_estimate(scores, case.member, **facts) for scores in draws[:SHOWN]]
    tprs = [tpr_at_fpr_estimate(scores, case.member, FPR, **facts) for scores in draws[:SHOWN]]
    if not aucs[0].resolved:
        return (aucs[0], None), (tprs[0], None)
    auc, tpr = auc_and_tpr(np.stack(draws), case.member, FPR)
    return over_draws(auc, aucs), over_draws(tpr, tprs)


def over_draws(
    values: ArrayLike, shown: Sequence[Estimate], reason: str | None = None
) -> tuple[Estimate, Spread | None]:
    """Mean of `values` (draws,) in [0, 1], with the mean distances of the ends of the first few; and their spread.

    Unresolved where the first estimate is, or, with `reason`, where there are none.
    """
    if not shown:
        return Estimate.unresolved(reason or "nothing was drawn"), None
    missing = next((one for one in shown if not one.resolved), None)
    if missing is not None:
        return missing, None
    draws = np.asarray(values, dtype=np.float64)
    if draws.size == 1:
        return shown[0], None
    mean, sd = float(draws.mean()), float(draws.std(ddof=1))
    # Around the mean of all draws: the first few lie elsewhere by their noise.
    below = np.mean([one.value - one.low for one in shown if one.value is not None and one.low is not None])
    above = np.mean([one.high - one.value for one in shown if one.value is not None and one.high is not None])
    low, high = max(0.0, mean - float(below)), min(1.0, mean + float(above))
    method = f"{shown[0].method}; mean of {draws.size} noise draws, interval as wide as of one"
    return replace(shown[0], value=mean, low=low, high=high, method=method), Spread(
        draws.size, sd, *percentile_interval(draws))
