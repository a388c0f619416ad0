"""The figures of a defence frontier: means over noise draws with their intervals and spread, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from discreet.audit.core.verdict import Part
from discreet.audit.defences.bench import Case
from discreet.audit.membership.attack import attack_facts
from discreet.audit.membership.rows import NO_CONTROL, RowSpec
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray
from discreet.stats import RocCore, auroc_estimate, percentile_interval, tpr_at_fpr_estimate
from discreet.stats.roc import most_count

Queried = Literal["same", "near-duplicates"]

FPR = 0.05
SHOWN = 3
"""Draws whose intervals are computed and averaged."""

ASKED = ("attack", "scale", "reference_kind", "selection")
"""What tells the attack rows of a frontier apart."""


@dataclass(frozen=True, slots=True)
class Spread(Part):
    """How a figure moved between noise draws: standard deviation, and the central 95% of the draws."""

    draws: int
    sd: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figure(Part):
    """One attack on the outputs of a mechanism, mean over the draws.

    An interval is as wide as that of one draw (averaged over the first few), around the mean: it is about the examples
    and holds a fortiori for the mean. A spread is about the draws, None where nothing is drawn.
    """

    hidden: ClassVar[tuple[str, ...]] = ("spec",)

    spec: RowSpec
    n_members: int
    n_nonmembers: int
    auc: Estimate
    tpr_at_5pct_fpr: Estimate
    control_auc: Estimate
    auc_spread: Spread | None = None
    tpr_spread: Spread | None = None
    control_spread: Spread | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in the rows of an audit."""
        asked = self.spec.to_json()
        return {**{name: asked[name] for name in (*ASKED, "n", "nonmembers", "oracle")}, **Part.to_json(self)}


@dataclass(frozen=True, slots=True)
class Point(Part):
    """A mechanism at one strength, met with a number of queries: answers that the attacker averages, to the same input
    or to it and near-duplicates of it.

    Local ε is exact, of one answer and of all, about the queried inputs only; None where it is not finite. `utility`
    has `accuracy` and `missed_positives` of single answers, which is what a user gets.
    """

    mechanism: str
    knob: str | None
    strength: float | None
    noise: str
    queries: int
    queried: Queried
    local_epsilon: float | None
    local_epsilon_of_all_queries: float | None
    utility: Mapping[str, Estimate]
    attacks: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Frontier(Part):
    """All points, the undefended one first; `primary` is the attack row that is shown first."""

    target: str
    control: str | None
    positive: int
    draws: int
    jitter: float
    clip: float | None
    primary: RowSpec
    points: tuple[Point, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**Part.to_json(self), "primary": {name: getattr(self.primary, name) for name in ASKED},
                "attack_facts": attack_facts([self.primary.attack])}


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
        counts = RocCore.of(scores[row], member).counts
        auc[row], tpr[row] = counts.auroc()[0], counts.tpr_at_fpr(fpr)[0]
    return auc, tpr


def figure_of(case: Case, target: Sequence[FloatArray], control: Sequence[FloatArray]) -> Figure:
    """The figure of one case from its scores (m,) in each draw, of the target and of its control model."""
    n_members = int(case.member.sum())
    (auc, spread), (tpr, tpr_spread) = _over_scores(case, target, "nothing was drawn")
    (control_auc, control_spread), _ = _over_scores(case, control, NO_CONTROL)
    return Figure(case.spec, n_members, case.member.size - n_members, auc, tpr, control_auc, spread, tpr_spread,
                  control_spread)


def _over_scores(case: Case, draws: Sequence[FloatArray],
                 missing: str) -> tuple[tuple[Estimate, Spread | None], tuple[Estimate, Spread | None]]:
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


def over_draws(values: ArrayLike, shown: Sequence[Estimate],
               reason: str = "nothing was drawn") -> tuple[Estimate, Spread | None]:
    """Mean of `values` (draws,) in [0, 1], with the mean distances of the ends of the first few; and their spread.
    Unresolved where one of these is, or, with `reason`, where there are none."""
    if not shown:
        return Estimate.unresolved(reason), None
    if missing := next((one for one in shown if not one.resolved), None):
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
