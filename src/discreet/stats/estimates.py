"""From arrays to `Estimate`: the figure, an interval that holds at this n, and the sample behind both.

What a sample cannot resolve comes back as `Estimate.unresolved`, saying what sample would; wrong input (NaN scores,
labels other than 0 and 1, unequal lengths) raises ValueError. With `groups` (users) the unit is the group: n, n_pos
and n_neg then count groups, those that hold positives and those that hold negatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.arrays import binary_labels, counts, group_codes, same_length, scored_labels, share
from discreet.stats.intervals import (
    Interval,
    auc_interval,
    clopper_pearson,
    delong_logit_interval,
    fpr_at_tpr_interval,
    rate_interval,
    tpr_ends,
    wilson,
)
from discreet.stats.roc import AucVariance, RocCore, auc_variance, least_count, most_count
from discreet.stats.testing import paired_auc

MISORDERED = 30.0
"""Misordered examples of the smaller class from which the plain logit-scale DeLong interval is used."""


class PrecisionRecall(NamedTuple):
    """Precision over predicted positives and recall over positives."""

    precision: Estimate
    recall: Estimate


def auroc_estimate(
    scores: ArrayLike, labels: ArrayLike, *, level: float = 0.95, unit: str = "example",
    groups: ArrayLike | None = None, method: Literal["auto", "score"] = "auto",
) -> Estimate:
    """AUROC of `scores` (n,) for `labels` (n,) in {0, 1}, higher score = positive.

    "auto" is the logit-scale DeLong interval where the smaller class has 30 misordered examples or more and there are
    no groups, else "score": Agresti–Coull at the effective sample size (Obuchowski's variance with groups).
    Unresolved with fewer than two units of a class.
    """
    return Sample.of(scores, labels, unit, groups).auroc(level=level, method=method)


def tpr_at_fpr_estimate(
    scores: ArrayLike, labels: ArrayLike, fpr: float = 0.01, *, level: float = 0.95, unit: str = "example",
    groups: ArrayLike | None = None,
) -> Estimate:
    """Largest TPR at an empirical FPR <= `fpr` in (0, 1), with `tpr_at_fpr_interval` around it.

    Unresolved where the negatives are so few that not one may pass (n_neg < 1 / fpr): that figure would be the TPR at
    zero false positives, whatever its name.
    """
    return Sample.of(scores, labels, unit, groups).tpr_at_fpr(fpr, level=level)


def fpr_at_tpr_estimate(
    scores: ArrayLike, labels: ArrayLike, tpr: float = 0.95, *, level: float = 0.95, unit: str = "example",
    groups: ArrayLike | None = None,
) -> Estimate:
    """Smallest FPR at an empirical TPR >= `tpr` in (0, 1) (FPR95, FPR90), with `fpr_at_tpr_interval` around it.

    Unresolved where the positives are so few that not one may be missed (n_pos < 1 / (1 − tpr)).
    """
    share(level, "level", open_interval=True)
    sample, target = Sample.of(scores, labels, unit, groups), share(tpr, "tpr", open_interval=True)
    lacking = sample.too_few_to_choose(f"FPR at TPR {target:g}", "positives", 1.0 - target, level,
                                       lambda n: int(least_count(target, n)[0]) < int(n[0]))
    if lacking:
        return lacking
    ends = fpr_at_tpr_interval(sample.scores, sample.labels, target, level, sample.groups)
    return sample.estimate(sample.core.fpr_at_tpr(target), ends, level, sample.at_threshold("positives"))


def rate_estimate(
    k: int, n: int, *, level: float = 0.95, unit: str = "example", of: str = "examples",
    method: Literal["clopper-pearson", "wilson"] = "clopper-pearson",
) -> Estimate:
    """Share k of n with an exact interval. Unresolved for n = 0; `of` names in the reason what was missing."""
    if n == 0 and k == 0:
        return Estimate.unresolved(f"a share of no {of}: at least 1 is needed", level=level, n=0, unit=unit)
    hits, total = counts(k, n)
    interval, name = (wilson, "Wilson") if method == "wilson" else (clopper_pearson, "Clopper–Pearson")
    return Estimate(hits / total, *interval(hits, total, level), level=level, n=total, unit=unit, method=name)


def share_estimate(
    hits: ArrayLike, *, level: float = 0.95, unit: str = "example", groups: ArrayLike | None = None,
    of: str = "examples",
) -> Estimate:
    """Share of `hits` (n,) in {0, 1}: `rate_estimate`, or with `groups` (n,) exact at the effective sample size."""
    given = binary_labels(hits, "hits")
    if groups is None or given.size == 0:
        return rate_estimate(int(given.sum()), given.size, level=level, unit=unit, of=of)
    codes = group_codes(groups, given.size)
    n_groups = int(codes.max()) + 1
    if n_groups < 2:
        return Estimate.unresolved(
            f"a share over 1 {unit}: at least 2 are needed to see how they differ", level=level, n=1, unit=unit
        )
    return Estimate(float(given.mean()), *rate_interval(given, level, codes), level=level, n=n_groups, unit=unit,
                    method="Clopper–Pearson at the effective n of groups")


def precision_recall_estimates(
    predicted: ArrayLike, labels: ArrayLike, *, level: float = 0.95, unit: str = "example",
    groups: ArrayLike | None = None,
) -> PrecisionRecall:
    """Precision and recall of fixed predictions (n,) in {0, 1}, exact given how many were predicted and are positive.

    Each estimate's n is what its share is taken of (predicted positives; positives); n_pos and n_neg are the classes
    of the whole sample. Precision is unresolved where nothing was predicted positive, recall where nothing is.
    """
    flagged, truth = binary_labels(predicted, "predicted"), binary_labels(labels)
    same_length(truth, flagged.size, "labels")
    codes = None if groups is None else group_codes(groups, truth.size)
    n_pos, n_neg = (int(of.sum()) if codes is None else np.unique(codes[of]).size for of in (truth, ~truth))

    def among(members: BoolArray, hits: BoolArray, name: str) -> Estimate:
        of_members = None if codes is None else codes[members]
        rate = share_estimate(hits[members], level=level, unit=unit, groups=of_members, of=name)
        return replace(rate, n_pos=n_pos, n_neg=n_neg)

    return PrecisionRecall(among(flagged, truth, "predicted positives"), among(truth, flagged, "positives"))


@dataclass(frozen=True, eq=False)
class Sample:
    """Checked scores (n,), labels (n,) and group codes (n,); n, n_pos and n_neg count units (groups if any).

    Several figures of one sample sort it once.
    """

    scores: FloatArray
    labels: BoolArray
    groups: IntArray | None
    unit: str
    n: int
    n_pos: int
    n_neg: int

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike, unit: str = "example", groups: ArrayLike | None = None
           ) -> Sample:
        """Check and count. ValueError for NaN scores, other labels, unequal lengths."""
        values, truth = scored_labels(scores, labels)
        if groups is None:
            n_pos = int(truth.sum())
            return cls(values, truth, None, unit, truth.size, n_pos, truth.size - n_pos)
        codes = group_codes(groups, truth.size)
        n, n_pos, n_neg = (np.unique(of).size for of in (codes, codes[truth], codes[~truth]))
        return cls(values, truth, codes, unit, n, n_pos, n_neg)

    @cached_property
    def core(self) -> RocCore:
        """The sorted scores. ValueError where a class is missing."""
        return RocCore.of(self.scores, self.labels)

    @cached_property
    def spread(self) -> AucVariance:
        """The AUC and its variance. ValueError with fewer than two units of a class."""
        return auc_variance(self.core, self.groups)

    def auroc(self, *, level: float = 0.95, method: Literal["auto", "score"] = "auto") -> Estimate:
        """As `auroc_estimate`."""
        share(level, "level", open_interval=True)
        if lacking := self.lacking("AUROC", level, least=2):
            return lacking
        spread = self.spread
        misordered = min(self.core.n_pos, self.core.n_neg) * min(spread.auc, 1.0 - spread.auc)
        if method == "auto" and self.groups is None and misordered >= MISORDERED and spread.variance > 0.0:
            ends = delong_logit_interval(spread, level)
            return self.estimate(spread.auc, ends, level, "Mann–Whitney, logit-scale DeLong")
        how = f"Agresti–Coull at the effective n of {'DeLong' if self.groups is None else 'Obuchowski'}"
        return self.estimate(spread.auc, auc_interval(spread, level), level, f"Mann–Whitney, {how}")

    def tpr_at_fpr(self, fpr: float, *, level: float = 0.95) -> Estimate:
        """As `tpr_at_fpr_estimate`."""
        share(level, "level", open_interval=True)
        target = share(fpr, "fpr", open_interval=True)
        lacking = self.too_few_to_choose(f"TPR at FPR {target:g}", "negatives", target, level,
                                         lambda n: int(most_count(target, n)[0]) >= 1)
        if lacking:
            return lacking
        ends = tpr_ends(self.core, target, level, self.groups)
        return self.estimate(self.core.tpr_at_fpr(target), ends, level, self.at_threshold("negatives"))

    def estimate(self, value: float, ends: Interval, level: float, method: str) -> Estimate:
        """A resolved estimate over this sample."""
        return Estimate(value, *ends, level, self.n, self.n_pos, self.n_neg, self.unit, method)

    def lacking(self, what: str, level: float, least: int = 1) -> Estimate | None:
        """Unresolved if a class has fewer than `least` units."""
        for name, have in (("positives", self.n_pos), ("negatives", self.n_neg)):
            if have < least:
                return self._unresolved(what, have, name, level, f"{least} needed at the least")
        return None

    def too_few_to_choose(
        self, what: str, name: Literal["positives", "negatives"], rate: float, level: float,
        resolves: Callable[[IntArray], bool],
    ) -> Estimate | None:
        """`lacking`, or unresolved if of the units of a class not one may be misjudged; says how many would do.

        `rate` in (0, 1) is the share that may, `resolves` decides for a sample size. Both bounds of the interval are
        informative once the extreme score bounds the threshold: (1 − rate)ⁿ <= (1 − level) / 4.
        """
        have = self.n_pos if name == "positives" else self.n_neg
        if (lacking := self.lacking(what, level)) or resolves(np.array([have])):
            return lacking
        enough = max(1, int(1.0 / rate) - 1)
        while not resolves(np.array([enough])):
            enough += 1
        bounded = max(enough, ceil(log((1.0 - level) / 4.0) / log(1.0 - rate)))
        return self._unresolved(what, have, name, level,
                                f"{enough} needed at the least, {bounded} for both bounds")

    def at_threshold(self, name: str) -> str:
        """How a rate at an empirical threshold was made, the threshold being found among the class `name`."""
        size = "" if self.groups is None else ", at the effective n of groups"
        return f"empirical step; order statistics of the {name} and Clopper–Pearson, Bonferroni{size}"

    def _unresolved(self, what: str, have: int, name: str, level: float, needed: str) -> Estimate:
        counted = name if self.groups is None else f"{self.unit}s with {name}"
        return Estimate.unresolved(f"{what} over {have} {counted}: {needed}", level=level, n=self.n,
                                   n_pos=self.n_pos, n_neg=self.n_neg, unit=self.unit)


def auc_difference(target: Sample, control: Sample) -> Estimate:
    """AUC of one score less that of another, as of a target and its control model, on the same examples."""
    facts: dict[str, Any] = {name: getattr(target, name) for name in ("n", "n_pos", "n_neg", "unit")}
    if (reason := target.auroc().reason) is not None:
        return Estimate.unresolved(reason, **facts)
    try:
        test = paired_auc(target.core, control.core, groups=target.groups)
    except ValueError:
        return Estimate.unresolved("both AUCs are without spread: more examples are needed", **facts)
    return Estimate(test.difference, test.low, test.high, method="paired DeLong", **facts)
