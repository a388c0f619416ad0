"""The parts of the data that a verdict covers, and what the deciding attack finds in each.

Parts are fixed before scores are read: all records; the records of each class, category and input structure; and the
least likely records, where a selection model says which these are. A leak in 2% of the records does not show over all
records: each part is judged by itself.

- A part *exceeds* its tolerance where its Holm-adjusted one-sided p is below .05, its AUC is above the tolerance, the
  same attack on the control model does not do so, and the paired difference between both is clear of 0.
- A part is *within* its tolerance where the one-sided 95% upper bound of its AUC is, and the control model is clean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import NormalDist
from typing import ClassVar, Literal, NamedTuple

from discreet.audit.core.power import inflation_of, records_to_pass
from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import ALPHA, Part
from discreet.audit.membership.evaluation_sets import Selector
from discreet.audit.membership.options import FEWEST, LEAST_LIKELY, WHOLE, class_called, named_parts
from discreet.audit.membership.rows import NO_CONTROL, JudgedRow
from discreet.audit.scores.table import PartKind, ScoreTable
from discreet.core.design import off
from discreet.core.numbers import listed_parts
from discreet.core.records import Estimate
from discreet.stats import holm
from discreet.stats.estimates import auc_difference
from discreet.stats.testing import rank_p

PartState = Literal["exceeds", "within", "control", "unclear", "excluded"]

LEAST_LIKELY_SIZE = 50
"""Records per class of members, and of non-members, in that part: with the 20 of the paper's decision boundary and two
classes, one model in four without any leak would exceed a tolerance of .65."""


@dataclass(frozen=True, slots=True)
class CoveredPart:
    """A part before any figure: its name, such as "class 1", the examples that it judges, and what its value is called
    where that is another word: the name of a class."""

    kind: PartKind
    value: str
    judged: JudgedRow
    excluded: bool = False
    called: str | None = None

    @property
    def name(self) -> str:
        """The name by which a user excludes the part."""
        return f"{self.kind} {self.called or self.value}".rstrip()

    @property
    def names(self) -> frozenset[str]:
        """All names by which a user may exclude it: its own, that of its value, and its kind."""
        return frozenset({self.name, f"{self.kind} {self.value}".rstrip(), self.kind})


@dataclass(frozen=True, slots=True)
class PartFinding(Part):
    """What the deciding attack finds in one part.

    Attributes
    ----------
    name, kind, value : str
        "class 1", "class" and "1"; the value is empty for all records and the least likely ones.
    tolerance : float
        The AUC that is acceptable in this part.
    state : "exceeds", "within", "control", "unclear" or "excluded"
        "control": the control model is off chance too, or the target not clearly above it. "unclear": the records do
        not decide. "excluded": left out before scores were read, without figures.
    auc : Estimate
        With its 90% interval: each end is a one-sided 95% bound.
    p : Estimate
        One-sided, by the rank sum, adjusted by Holm over all parts; value only.
    control_auc, difference : Estimate
        The same attack on the control model, with a 90% interval, and the paired difference with its 95% interval.
    control_off : bool
        Whether `control_auc` is further off chance, to either side, than would be tolerated of the target.
    tpr_at_1pct_fpr : Estimate
    lacks_members, lacks_nonmembers : int
        About how many more units of each set would decide; 0 unless the state is "unclear".
    """

    derived: ClassVar[tuple[str, ...]] = ("n_members", "n_nonmembers", "control_off")
    hidden: ClassVar[tuple[str, ...]] = ("counts",)

    kind: PartKind
    value: str
    name: str
    tolerance: float
    state: PartState
    counts: tuple[int, int]
    auc: Estimate
    p: Estimate
    control_auc: Estimate
    difference: Estimate
    tpr_at_1pct_fpr: Estimate
    lacks_members: int = 0
    lacks_nonmembers: int = 0

    @property
    def control_off(self) -> bool:
        """Whether the control model is further off chance than would be tolerated."""
        control = self.control_auc.value
        return control is not None and abs(control - 0.5) > self.tolerance - 0.5

    @property
    def n_members(self) -> int:
        """Members in the part."""
        return self.counts[0]

    @property
    def n_nonmembers(self) -> int:
        """Non-members in the part."""
        return self.counts[1]


def covered_parts(base: JudgedRow, table: ScoreTable, selector: Selector, excluded: Sequence[str] = ()
                  ) -> list[CoveredPart]:
    """The parts of the global row `base` that have members, all records first; reads no score of the target.

    `excluded` are names of parts, or kinds ("class" for every class), as `check_parts` has checked them.
    """
    found = [CoveredPart(WHOLE, "", base)]
    for kind, value, inside in named_parts(base.rows, table):
        part = base.part(inside, "label", int(value)) if kind == "class" else base.part(inside, kind, value)
        if part.truth.any() and part.rows.size < base.rows.size:
            found.append(CoveredPart(kind, value, part, called=class_called(kind, value, table)))
    least_likely = base.boundary(selector, "boundary", LEAST_LIKELY_SIZE)
    if least_likely.reason is None and least_likely.rows.size:
        found.append(CoveredPart(LEAST_LIKELY, "", least_likely))
    return [replace(one, excluded=bool(one.names & set(excluded))) for one in found]


def part_findings(parts: Sequence[CoveredPart], units: Units, tolerance: float, tolerance_part: float,
                  n_targets: int = 1) -> tuple[PartFinding, ...]:
    """The finding of each part, in order. `tolerance` is that over all records, `tolerance_part` that in the others.

    p values are multiplied by `n_targets` after Holm, as each target has as many chances to fail by accident.
    """
    figures = [None if one.excluded else _figures(one.judged, units) for one in parts]
    kept = [one for one in figures if one is not None]
    p, control_p = (iter(_adjusted(raw, units, n_targets)) for raw in (
        [one.p for one in kept], [one.control_p for one in kept]))
    found = []
    nothing = Estimate.unresolved("excluded before scores were read", unit=units.name)
    for part, figure in zip(parts, figures, strict=True):
        most = tolerance if part.kind == WHOLE else tolerance_part
        if figure is None:
            truth = part.judged.truth
            found.append(PartFinding(part.kind, part.value, part.name, most, "excluded",
                                     (int(truth.sum()), int((~truth).sum())), nothing, nothing, nothing,
                                     nothing, nothing))
        else:
            found.append(_finding(part, figure, most, next(p), next(control_p)))
    return tuple(found)


class _Figures(NamedTuple):
    """What a part shows before tests are adjusted: intervals have one-sided 95% bounds as their ends, but for
    `control_auc`, whose interval has a level of 95%; p values are None with fewer than `FEWEST` units in a set."""

    auc: Estimate
    control: Estimate
    control_auc: Estimate
    difference: Estimate
    tpr: Estimate
    p: float | None
    control_p: float | None


def _figures(judged: JudgedRow, units: Units) -> _Figures:
    target, level = judged.sample(units), 1.0 - 2.0 * ALPHA
    tested = min(target.n_pos, target.n_neg) >= FEWEST
    auc, tpr = target.auroc(level=level), target.tpr_at_fpr(0.01)
    p = rank_p(target.core, target.groups) if tested else None
    if judged.scores.control is None:
        none, without = (Estimate.unresolved(why, unit=units.name) for why in ("there is no control model", NO_CONTROL))
        return _Figures(auc, none, without, without, tpr, p, None)
    control = judged.sample(units, control=True)
    return _Figures(auc, control.auroc(level=level), control.auroc(), auc_difference(target, control), tpr, p,
                    rank_p(control.core, control.groups) if tested else None)


def _finding(part: CoveredPart, figures: _Figures, tolerance: float, p: Estimate, control_p: Estimate) -> PartFinding:
    auc, control, excess, truth = figures.auc, figures.control, figures.difference, part.judged.truth
    control_leaks = exceeds(control, control_p, tolerance) or (
        part.kind == WHOLE and off(figures.control_auc, tolerance))
    beyond = excess.low is None or excess.low > (tolerance - 0.5 if control_leaks else 0.0)
    state: PartState
    if exceeds(auc, p, tolerance) and beyond:
        state = "exceeds"
    elif control_leaks or exceeds(auc, p, tolerance):
        state = "control"
    else:
        state = "within" if auc.high is not None and auc.high <= tolerance else "unclear"
    more = _lacking(auc, tolerance) if state == "unclear" else (0, 0)
    return PartFinding(part.kind, part.value, part.name, tolerance, state, (int(truth.sum()), int((~truth).sum())), auc,
                       p, control, excess, figures.tpr, *more)


def _adjusted(raw: Sequence[float | None], units: Units, n_targets: int) -> list[Estimate]:
    """Holm-adjusted one-sided p of each part; unresolved where it is None."""
    tested = [p for p in raw if p is not None]
    adjusted = iter(holm(tested) if tested else ())
    method = f"rank sum, one-sided, Holm over {len(tested)} parts"
    few = Estimate.unresolved(f"fewer than {FEWEST} {units.name}s in one of the sets, or no scores", unit=units.name)
    return [few if p is None else Estimate(min(1.0, n_targets * float(next(adjusted))), None, None, unit=units.name,
                                           method=method) for p in raw]


def exceeds(auc: Estimate, p: Estimate, tolerance: float) -> bool:
    """Whether an AUC is above its tolerance, and its adjusted `p` significant."""
    return auc.value is not None and p.value is not None and p.value < ALPHA and auc.value > tolerance


def _lacking(auc: Estimate, tolerance: float) -> tuple[int, int]:
    """About how many more members and non-members would decide.

    First as many as a model without any leak needs for a bound within the tolerance with power `POWER`; where these
    are there, as many as the AUC found here needs to be clear of its tolerance, or of ½ where it exceeds the tolerance.
    """
    sizes = (auc.n_pos or 0, auc.n_neg or 0)
    widening = inflation_of(auc)
    wanted = max(FEWEST, records_to_pass(tolerance, inflation=widening) or 0)
    if min(sizes) >= wanted and auc.value is not None:
        gap = auc.value - 0.5 if auc.value > tolerance else tolerance - auc.value
        wanted = ceil((widening * NormalDist().inv_cdf(1.0 - ALPHA) / max(gap, 0.005)) ** 2 / 6.0)
        if wanted <= min(sizes):
            # The figure is near its limit, and Holm's correction or the harmonic mean of both sizes decides.
            wanted = 2 * min(sizes)
    return max(0, wanted - sizes[0]), max(0, wanted - sizes[1])


def excluded_names(parts: Sequence[PartFinding]) -> str:
    """The parts that were excluded, in words; empty where none was."""
    return listed_parts((one.kind, one.name) for one in parts if one.state == "excluded")
