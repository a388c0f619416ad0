"""The sample behind an estimate of two classes: checked once, described in every answer, refused alike."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.records import Estimate
from discreet.stats.arrays import BoolArray, FloatArray, IntArray, group_codes, scored_labels, share
from discreet.stats.intervals import Interval
from discreet.stats.resample import Statistic, bootstrap_roc, percentile_interval
from discreet.stats.roc import RocCore


class Sample(NamedTuple):
    """Checked scores (n,), labels (n,) and group codes (n,); n, n_pos and n_neg count units (groups if any)."""

    scores: FloatArray
    labels: BoolArray
    groups: IntArray | None
    level: float
    unit: str
    n: int
    n_pos: int
    n_neg: int

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike, level: float, unit: str, groups: ArrayLike | None) -> Sample:
        """Check and count. ValueError for NaN scores, other labels, unequal lengths, a level outside (0, 1)."""
        values, truth = scored_labels(scores, labels)
        share(level, "level", open_interval=True)
        if groups is None:
            n_pos = int(truth.sum())
            return cls(values, truth, None, level, unit, truth.size, n_pos, truth.size - n_pos)
        codes = group_codes(groups, truth.size)
        n, n_pos, n_neg = (np.unique(of).size for of in (codes, codes[truth], codes[~truth]))
        return cls(values, truth, codes, level, unit, n, n_pos, n_neg)

    def facts(self) -> dict[str, Any]:
        """The keys of an `Estimate` that describe the sample."""
        return {"level": self.level, "n": self.n, "n_pos": self.n_pos, "n_neg": self.n_neg, "unit": self.unit}

    def estimate(self, value: float, ends: Interval, method: str) -> Estimate:
        """A resolved estimate over this sample."""
        return Estimate(value, ends.low, ends.high, method=method, **self.facts())

    def unresolved(self, reason: str) -> Estimate:
        """An unresolved estimate over this sample."""
        return Estimate.unresolved(reason, **self.facts())

    def lacking(self, what: str, least: int = 1) -> Estimate | None:
        """Unresolved if a class has fewer than `least` units."""
        for name, have in (("positives", self.n_pos), ("negatives", self.n_neg)):
            if have < least:
                return self.unresolved(f"{what} over {have} {self._counted(name)}: {least} needed at the least")
        return None

    def too_coarse(
        self, what: str, have: int, name: str, rate: float, resolves: Callable[[IntArray], bool]
    ) -> Estimate | None:
        """Unresolved if of `have` units not one may stand on the wrong side; says how many would do.

        `rate` in (0, 1) is the share that may, `resolves` decides for a sample size. Both bounds of the interval are
        informative once the extreme score bounds the threshold: (1 − rate)ⁿ <= (1 − level) / 4.
        """
        if resolves(np.array([have])):
            return None
        enough = max(1, int(1.0 / rate) - 1)
        while not resolves(np.array([enough])):
            enough += 1
        bounded = max(enough, ceil(log((1.0 - self.level) / 4.0) / log(1.0 - rate)))
        return self.unresolved(
            f"{what} over {have} {self._counted(name)}: {enough} needed at the least, {bounded} for both bounds"
        )

    def at_threshold(self, name: str) -> str:
        """How a rate at an empirical threshold was made, the threshold being found among the class `name`."""
        size = "" if self.groups is None else ", at the effective n of groups"
        return f"empirical step; order statistics of the {name} and Clopper–Pearson, Bonferroni{size}"

    def bootstrapped(
        self, core: RocCore, value: float, statistic: Statistic, rng: Generator | None, n_resamples: int
    ) -> Estimate:
        """`value` with the percentile bootstrap interval of `statistic`."""
        draws = bootstrap_roc(core, [statistic], needed_rng(rng), n_resamples=n_resamples, groups=self.groups)[0]
        return percentile_estimate(value, draws, self.facts())

    def _counted(self, name: str) -> str:
        return name if self.groups is None else f"{self.unit}s with {name}"


def percentile_estimate(value: float, draws: FloatArray, facts: dict[str, Any]) -> Estimate:
    """`value` with the percentile interval of `draws` (m,); unresolved if any is undefined or all are equal."""
    undefined = int(np.isnan(draws).sum())
    if undefined:
        reason = f"{undefined} of {draws.size} resamples are undefined: a larger sample is needed"
        return Estimate.unresolved(reason, **facts)
    if np.ptp(draws) == 0.0:
        return Estimate.unresolved("all resamples agree, so a bootstrap shows no spread: use method 'auto'", **facts)
    low, high = percentile_interval(draws, facts["level"])
    return Estimate(value, low, high, method=f"percentile bootstrap, {draws.size} resamples", **facts)


def needed_rng(rng: Generator | None) -> Generator:
    """The generator, or ValueError: nothing here draws from a hidden one."""
    if rng is None:
        raise ValueError("method 'bootstrap' draws at random: pass rng=numpy.random.default_rng(seed)")
    return rng
