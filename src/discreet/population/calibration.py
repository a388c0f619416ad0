"""How wrong a count may be: split conformal prediction of the number of people on the log scale.

Clusters of persons whose true number is known give residuals log(true / predicted). A new count takes the quantiles of
the residuals of clusters of about its own predicted size and of as many attributes (Mondrian conformal prediction,
Vovk et al. 2005, in bins of what is known before the truth is). The true numbers are at least 1, as a cluster is asked
for because somebody has it; the median of the residuals corrects the estimate, since a group that somebody is drawn
from is likelier to be one that the model underrates.

An 80% interval may miss a tenth of the truths below its lower end and a tenth above its upper end. Where more than a
tenth of the groups hold the one person, a lower end of one misses none, and the upper end alone misses a fifth; the
same goes for 95%.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.core.types import FloatArray, IntArray

LEVELS = (0.025, 0.1, 0.5, 0.9, 0.975)
"""Of the 95 and 80% interval and of the estimate, where the lower ends are above one person."""
MOST = 6
"""Attributes from which on clusters are calibrated together."""
LEAST = 0.1
"""People for whom a prediction below it is taken: how far below says little of the one person that there is."""
PER_BIN = 400
"""Residuals that a bin should hold, so that some ten lie beyond each end of a 95% interval."""


class Range(NamedTuple):
    """Calibrated numbers of people."""

    estimate: float
    interval80: tuple[float, float]
    interval95: tuple[float, float]


@dataclass(frozen=True)
class Calibration:
    """Quantiles of residuals by number of attributes and predicted size.

    Attributes
    ----------
    sizes : (MOST, B) array
        Natural log of the median predicted size of each bin, at least LEAST, ascending; row k − 1 for k attributes.
    residuals : (MOST, B, 5) array
        Quantiles of log(true / predicted) at LEVELS; of a bin with many groups of one the upper end of an interval is
        at .8 or .95 and its lower end at one person.
    """

    sizes: FloatArray
    residuals: FloatArray

    def at(self, expected: float, attributes: int) -> Range:
        """Estimate and intervals for `expected` people by the model and a cluster of so many attributes.

        Between the bins quantiles are interpolated; beyond them those of the nearest hold. Nothing falls below 1.
        """
        row = min(max(attributes, 1), MOST) - 1
        log = float(np.log(max(expected, LEAST)))
        shifts = (float(np.interp(log, self.sizes[row], quantiles)) for quantiles in self.residuals[row].T)
        q025, q10, q50, q90, q975 = (float(np.exp(max(0.0, log + shift))) for shift in shifts)
        return Range(q50, (q10, q90), (q025, q975))

    def many(self, expected: FloatArray, attributes: IntArray) -> FloatArray:
        """(N, 5) calibrated numbers at LEVELS, as `at` gives them one by one."""
        logs = np.log(np.maximum(expected, LEAST))
        found = np.empty((len(logs), len(LEVELS)))
        rows = np.clip(attributes, 1, MOST) - 1
        for row in np.unique(rows):
            asked = rows == row
            for level in range(len(LEVELS)):
                shift = np.interp(logs[asked], self.sizes[row], self.residuals[row, :, level])
                found[asked, level] = np.maximum(0.0, logs[asked] + shift)
        return np.exp(found)


def calibrate(predicted: FloatArray, true: FloatArray, attributes: IntArray, *, per_bin: int = PER_BIN) -> Calibration:
    """Calibration from clusters of known size.

    Parameters
    ----------
    predicted, true : (N,) arrays
        People that the model expects and that there are (> 0).
    attributes : (N,) integers
        Number of attributes of each cluster. A number of which there are fewer than `per_bin` clusters is calibrated on
        the clusters of all numbers.

    Raises ValueError for fewer than 40 clusters: a 95% interval needs them.
    """
    if len(predicted) < 40:
        raise ValueError(f"{len(predicted)} clusters: expected at least 40 for a 95% interval")
    logs = np.log(np.maximum(predicted, LEAST))
    residuals = np.log(np.maximum(true, 1.0)) - logs
    groups = []
    for number in range(1, MOST + 1):
        mine = attributes >= MOST if number == MOST else attributes == number
        if mine.sum() < min(per_bin, len(logs)):
            mine = np.ones(len(logs), np.bool_)
        groups.append((logs[mine], residuals[mine]))
    bins = max(1, min(24, min(len(mine) for mine, _ in groups) // per_bin))
    sizes, quantiles = np.empty((MOST, bins)), np.empty((MOST, bins, len(LEVELS)))
    for row, (size, residual) in enumerate(groups):
        order = np.argsort(size, kind="stable")
        least = np.flatnonzero(size <= np.log(LEAST))
        for at, rows in enumerate(np.array_split(order, bins)):
            part = least if size[rows].max() <= np.log(LEAST) else rows
            sizes[row, at] = np.median(size[part])
            quantiles[row, at] = _ends(size[part], residual[part])
        sizes[row] = np.maximum.accumulate(sizes[row] + 1e-9 * np.arange(bins))
    return Calibration(sizes, quantiles)


def _ends(sizes: FloatArray, residuals: FloatArray) -> list[float]:
    """The residuals of a bin at LEVELS, with an interval from one person where nobody can be below its lower end."""
    found = [conformal_quantile(residuals, level) for level in LEVELS]
    ones = float(np.mean(sizes + residuals < 1e-9))
    for lower, upper in ((0, 4), (1, 3)):
        tail = LEVELS[lower]
        if ones >= tail:
            found[lower] = min(found[lower], -float(sizes.max()))
            found[upper] = max(conformal_quantile(residuals, 1 - 2 * tail), found[2])
    return found


def conformal_quantile(residuals: FloatArray, level: float) -> float:
    """Quantile with the finite-sample correction of split conformal prediction.

    Of n sorted residuals the one of rank ceil((n + 1) level) above the median, floor((n + 1) level) below it, kept
    within 1 to n; the median for .5.
    """
    n = len(residuals)
    if level == 0.5:
        return float(np.median(residuals))
    rank = np.ceil((n + 1) * level) if level > 0.5 else np.floor((n + 1) * level)
    return float(np.sort(residuals)[int(np.clip(rank, 1, n)) - 1])
