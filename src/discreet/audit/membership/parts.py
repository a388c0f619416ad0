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
from typing import ClassVar, Literal

from discreet.audit.core.power import inflation_of, records_to_pass
from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import ALPHA, Part
from discreet.audit.membership.evaluation_sets import Selector
from discreet.audit.membership.named_parts import FEWEST, LEAST_LIKELY, WHOLE, class_called, named_parts
from discreet.audit.membership.rows import JudgedRow, estimate_row
from discreet.audit.scores.table import PartKind, ScoreTable
from discreet.core.design import off
from discreet.core.numbers import listed_parts
from discreet.core.records import Estimate
from discreet.stats import auroc_estimate, holm, rank_sum_p

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
    kept = [place for place, one in enumerate(parts) if not one.excluded]
    p, control_p = (dict(zip(kept, _adjusted([parts[place].judged for place in kept], units, control, n_targets),
                             strict=True)) for control in (False, True))
    found = []
    nothing = Estimate.unresolved("excluded before scores were read", unit=units.name)
    for place, part in enumerate(parts):
        most = tolerance if part.kind == WHOLE else tolerance_part
        if part.excluded:
            truth = part.judged.truth
            found.append(PartFinding(part.kind, part.value, part.name, most, "excluded",
                                     (int(truth.sum()), int((~truth).sum())), nothing, nothing, nothing,
                                     nothing, nothing))
        else:
            found.append(_finding(part, units, most, p[place], control_p[place]))
    return tuple(found)


def _finding(part: CoveredPart, units: Units, tolerance: float, p: Estimate, control_p: Estimate) -> PartFinding:
    row = estimate_row(part.judged, units)
    auc, control = (_bounded(part.judged, units, control) for control in (False, True))
    excess = row.difference["auc"]
    control_leaks = _exceeds(control, control_p, tolerance) or (part.kind == WHOLE and off(row.control_auc, tolerance))
    beyond = excess.low is None or excess.low > (tolerance - 0.5 if control_leaks else 0.0)
    state: PartState
    if _exceeds(auc, p, tolerance) and beyond:
        state = "exceeds"
    elif control_leaks or _exceeds(auc, p, tolerance):
        state = "control"
    else:
        state = "within" if auc.high is not None and auc.high <= tolerance else "unclear"
    more = _lacking(auc, tolerance) if state == "unclear" else (0, 0)
    return PartFinding(part.kind, part.value, part.name, tolerance, state, (row.n_members, row.n_nonmembers), auc, p,
                       control, excess, row.tpr_at_1pct_fpr, *more)


def _bounded(judged: JudgedRow, units: Units, control: bool) -> Estimate:
    """The AUC whose interval has one-sided 95% bounds as its ends."""
    scores = judged.scores.control if control else judged.scores.target
    if scores is None:
        return Estimate.unresolved("there is no control model" if control else "no scores", unit=units.name)
    return auroc_estimate(scores[judged.rows], judged.truth, level=1.0 - 2.0 * ALPHA, unit=units.name,
                          groups=units.at(judged.rows))


def _adjusted(judged: Sequence[JudgedRow], units: Units, control: bool, n_targets: int) -> list[Estimate]:
    """Holm-adjusted one-sided p of each part; unresolved with fewer than `FEWEST` units in one of the sets."""
    raw = list[float | None]()
    for one in judged:
        scores = one.scores.control if control else one.scores.target
        n = min(units.count(one.rows[one.truth]), units.count(one.rows[~one.truth]))
        raw.append(None if scores is None or n < FEWEST else rank_sum_p(
            scores[one.rows], one.truth, units.at(one.rows)))
    tested = [p for p in raw if p is not None]
    adjusted = iter(holm(tested) if tested else ())
    method = f"rank sum, one-sided, Holm over {len(tested)} parts"
    few = Estimate.unresolved(f"fewer than {FEWEST} {units.name}s in one of the sets, or no scores", unit=units.name)
    return [few if p is None else Estimate(min(1.0, n_targets * float(next(adjusted))), None, None, unit=units.name,
                                           method=method) for p in raw]


def _exceeds(auc: Estimate, p: Estimate, tolerance: float) -> bool:
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
