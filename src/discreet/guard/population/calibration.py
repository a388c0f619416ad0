"""How wrong a count may be: the distribution of log(true / predicted share), by how many fitted rows a group has.

The model is fitted on a part of the table and asked about persons of the rest. How many others of the rest share the
attributes is a binomial number of them with the share p · eʳ, where p is the share by the model and r its error.
The distribution of r is estimated in bins of clusters with as many attributes and about as many fitted rows, by
maximum likelihood over fixed values of r (Kiefer and Wolfowitz 1956; Laird, JASA 1978), with few steps of EM from a
wide start, so that what the counts cannot tell stays wide. Sampling error is what a small fit gets wrong most, and it
depends on fitted rows and not on people: bins are in rows, whatever the population behind them.

A count of N people is then 1 + Poisson(N · share · eʳ): the person of whom the attributes are said, and others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discreet.core.types import FloatArray, IntArray

MOST = 6
"""Attributes from which on clusters are calibrated together."""
PER_BIN, WIDTH = 400, 1.0
"""Clusters that a bin should hold, and its least width in log fitted rows: well above the error of a share that many
rows tell, or a bin would hold only those fits of a cluster that err alike."""
WELL_SEEN = 30.0
"""Fitted rows from which the sampling error is known better than parts of one table can show it."""
LEAST_ROWS = 1e-5
"""Fitted rows for which fewer are taken: far below one row, how far says nothing."""
START_SPREAD, STEPS = 1.5, 10
"""EM starts from errors with this standard deviation on the log scale, and takes so many steps. Chosen on
Census-Income, EU-SILC and SES (docs/results/population.md)."""
UNSEEN_ROWS, UNSEEN_SPREAD = 1.0, 2.5
"""Rows that a value is expected in which no fitted row has, and the standard deviation of the error of that."""
LARGEST = 8.0
"""Largest error on the log scale: a factor of 3,000."""
_FINEST, _NODES = 0.02, 81
ERRORS: FloatArray = _FINEST * np.sinh(np.linspace(-1, 1, _NODES) * np.arcsinh(LARGEST / _FINEST))
"""(R,) values of the error r, from −LARGEST to LARGEST, finer around 0."""
ERRORS.setflags(write=False)


class Range(NamedTuple):
    """Calibrated numbers of people."""

    estimate: float
    interval80: tuple[float, float]
    interval95: tuple[float, float]


@dataclass(frozen=True)
class Calibration:
    """Distributions of the error of the model by number of attributes and fitted rows.

    Attributes
    ----------
    rows : (MOST, B) array
        Natural log of the median `fitted_rows` of each bin, ascending; row k − 1 for k attributes.
    weights : (MOST, B, R) array
        Probabilities of the ERRORS in each bin, sum to 1.
    """

    rows: FloatArray
    weights: FloatArray

    def at(self, fitted: float, attributes: int, *, sampled: bool = True) -> FloatArray:
        """(R,) probabilities of the ERRORS for a cluster of so many `fitted_rows` and attributes.

        Between the bins they are interpolated; beyond them those of the nearest hold. Where rows are
        `sampled`, from WELL_SEEN rows they have at least the variance that drawing the rows gives to a share.
        """
        row = min(max(attributes, 1), MOST) - 1
        place = float(np.interp(np.log(max(fitted, LEAST_ROWS)), self.rows[row], np.arange(self.rows.shape[1])))
        low = int(place)
        high = min(low + 1, self.rows.shape[1] - 1)
        mixed: FloatArray = self.weights[row, low] * (1 - place + low) + self.weights[row, high] * (place - low)
        if not sampled or fitted < WELL_SEEN:
            return mixed
        # Half of the middle two thirds: one standard deviation of normal errors, whatever lies far out.
        low68, high68 = np.interp((0.1587, 0.8413), np.cumsum(mixed), ERRORS)
        return widened(mixed, float(np.sqrt(max(0.0, 1 / fitted - (high68 - low68) ** 2 / 4))))


def fitted_rows(share: FloatArray, rows: float) -> FloatArray:
    """share · rows / (1 − share): rows that a group has among the fitted ones, by how well they tell its share.

    One over the variance of the log of a share that is estimated from `rows` rows; for small groups their rows.
    """
    return np.asarray(share * rows / np.maximum(1 - share, 1e-6))


def people_of(weights: FloatArray, others: float, inside: float = 0.0) -> Range:
    """How many people: the person of whom it is said, those inside the fit, and about Poisson(others · eʳ) more.

    An 80% interval may miss a tenth of the numbers below its lower end and a tenth above its upper end. Where more than
    a tenth of the groups hold nobody else, a lower end of one person misses none, and the upper end alone misses a
    fifth; the same goes for 95%.

    Parameters
    ----------
    weights : (R,) array
        Probabilities of the ERRORS.
    others, inside : float
        People of the group by the model, outside and inside the fit.
    """
    means = others * np.exp(ERRORS)
    counts = np.unique(np.concatenate([[0.0], np.floor(means)]))
    below = np.maximum.accumulate(poisson_cdf(counts[:, None], means) @ weights)

    def people(level: float) -> float:
        return 1 + inside + float(np.interp(level, below, counts))

    def interval(tail: float) -> tuple[float, float]:
        if below[0] >= tail:
            return float(np.floor(1 + inside)), float(np.ceil(people(1 - 2 * tail)))
        return float(np.floor(people(tail))), float(np.ceil(people(1 - tail)))

    return Range(people(0.5), interval(0.1), interval(0.025))


def poisson_cdf(counts: FloatArray, means: FloatArray) -> FloatArray:
    """P(Poisson(mean) ≤ count) by the cube root of a gamma variable (Wilson and Hilferty 1931): to .02."""
    shape = counts + 1
    z = (1 - 1 / (9 * shape) - np.cbrt(means / shape)) * 3 * np.sqrt(shape)
    return normal_cdf(z)


def normal_cdf(z: FloatArray) -> FloatArray:
    """Distribution function of the standard normal to 1e-7 (Abramowitz and Stegun 7.1.26)."""
    x = np.abs(z) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * x)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * series * np.exp(-x * x)
    return np.asarray(np.where(z > 0, 1 - tail, tail), dtype=np.float64)


def widened(weights: FloatArray, spread: float) -> FloatArray:
    """(R,) probabilities of the ERRORS with an independent normal error of standard deviation `spread` added."""
    if spread <= 0:
        return weights
    kernel = _normal(ERRORS - ERRORS[:, None], spread)
    return np.asarray(weights @ (kernel / kernel.sum(1, keepdims=True)))


def normal_errors(spread: float) -> FloatArray:
    """(R,) probabilities of the ERRORS: normal with standard deviation `spread`, and one in a thousand anywhere."""
    normal, anywhere = _normal(ERRORS, spread), np.gradient(ERRORS)
    return np.asarray(0.999 * normal / normal.sum() + 0.001 * anywhere / anywhere.sum())


def calibrate(shares: FloatArray, others: FloatArray, outside: FloatArray, attributes: IntArray, rows: float
              ) -> Calibration:
    """Calibration from clusters of persons outside the fit.

    Parameters
    ----------
    shares : (N,) array
        Share of the people that have the attributes of each cluster, by the model.
    others, outside : (N,) arrays
        Other persons outside the fit with these attributes, and other persons there at all.
    attributes : (N,) integers
        Number of attributes of each cluster. A number of which there are fewer than PER_BIN clusters is calibrated on
        the clusters of all numbers.
    rows : float
        Rows that the model was fitted on.

    Raises ValueError for fewer than 40 clusters: a 95% interval needs them.
    """
    if len(shares) < 40:
        raise ValueError(f"{len(shares)} clusters: expected at least 40 for a 95% interval")
    logs = np.log(np.maximum(fitted_rows(shares, rows), LEAST_ROWS))
    groups = []
    for number in range(1, MOST + 1):
        mine = np.flatnonzero(attributes >= MOST if number == MOST else attributes == number)
        groups.append(mine if len(mine) >= PER_BIN else np.arange(len(logs)))
    parts = [_bins(mine[np.argsort(logs[mine], kind="stable")], logs) for mine in groups]
    most = max(map(len, parts))
    middles, weights = np.empty((MOST, most)), np.empty((MOST, most, _NODES))
    for number, bins in enumerate(parts):
        for at, part in enumerate(bins):
            middles[number, at] = np.median(logs[part])
            weights[number, at] = error_weights(shares[part], others[part], outside[part])
        # Where there are fewer bins the last is repeated.
        middles[number, len(bins):] = middles[number, len(bins) - 1] + np.arange(1, most - len(bins) + 1)
        weights[number, len(bins):] = weights[number, len(bins) - 1]
    return Calibration(middles, weights)


def _bins(ordered: IntArray, logs: FloatArray) -> list[IntArray]:
    """Clusters in order of `logs`, cut where a bin has PER_BIN of them and is WIDTH wide."""
    ends = [0]
    while ends[-1] < len(ordered):
        wide = int(np.searchsorted(logs[ordered], logs[ordered[ends[-1]]] + WIDTH))
        end = max(wide, ends[-1] + PER_BIN)
        ends.append(end if end + PER_BIN <= len(ordered) else len(ordered))
    return [ordered[start:end] for start, end in pairwise(ends)]


def error_weights(shares: FloatArray, others: FloatArray, outside: FloatArray, *, steps: int = STEPS) -> FloatArray:
    """(R,) probabilities of the ERRORS under which (N,) `others` of `outside` are counted for `shares`; by EM."""
    true = np.clip(shares[:, None] * np.exp(ERRORS), 1e-15, 1 - 1e-9)
    logs = others[:, None] * np.log(true) + (outside - others)[:, None] * np.log1p(-true)
    likelihood = np.exp(logs - logs.max(1, keepdims=True))
    weights = normal_errors(START_SPREAD)
    for _ in range(steps):
        posterior = likelihood * weights
        weights = (posterior / posterior.sum(1, keepdims=True)).mean(0)
    return weights


def _normal(away: FloatArray, spread: float) -> FloatArray:
    """Normal density at `away`, times how much of the line each of the ERRORS stands for."""
    return np.asarray(np.exp(-0.5 * (away / spread) ** 2) * np.gradient(ERRORS))
