"""Fit a population under differential privacy: noise on the counts of pairs of values, and nothing else of the table.

The sufficient statistics are the tables of all pairs of columns, to each of which a person adds one weight. They are
released once, with Gaussian noise; classes, estimates and intervals are made of the noisy tables alone, so that the
guarantee of the release is that of everything (post-processing). Classes are fitted to pairs by EM on the composite
likelihood Σ log P(pair), with Q_ij = Σ_k π_k P(i | k) P(j | k) the model's share of the pair of categories i and j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from discreet.core.errors import UsageError
from discreet.core.types import FloatArray, IntArray
from discreet.guard.population.calibration import calibrate
from discreet.guard.population.classes import LatentClasses, joined
from discreet.guard.population.columns import Column
from discreet.guard.population.fit import random_clusters, recipe
from discreet.guard.population.population import Population
from discreet.stats.mechanisms.gaussian import gaussian_sigma

FITS, STEPS, PRIOR = 4, 150, 0.5
KEPT_ABOVE = 3.0
"""Cells of a noisy table that are taken as they are: above so many standard deviations of the noise."""
REFITS, CLUSTERS = 6, 3000


@dataclass(frozen=True)
class Guarantee:
    """What is private, and how much.

    `(epsilon, delta)`-differential privacy for adding or removing one row. `sigma` is the standard deviation of the
    noise on each count, `sensitivity` the L2 sensitivity of all counts: `most_weight` √(number of pairs of columns).
    """

    epsilon: float
    delta: float
    most_weight: float
    sensitivity: float
    sigma: float

    @classmethod
    def of(cls, columns: int, epsilon: float, delta: float, most_weight: float) -> Guarantee:
        """The guarantee of a release of the pairs of so many columns. UsageError for one that cannot be."""
        if columns < 2:
            raise UsageError(f"{columns} columns: expected at least two, whose pairs are counted")
        if not (epsilon > 0 and 0 < delta < 1 and 0 < most_weight < np.inf):
            raise UsageError(f"epsilon {epsilon}, delta {delta}, most weight {most_weight}: expected epsilon and "
                             "weight above 0, delta between 0 and 1 and below 1 over the number of rows")
        sensitivity = most_weight * float(np.sqrt(columns * (columns - 1) / 2))
        return cls(epsilon, delta, most_weight, sensitivity, gaussian_sigma(epsilon, delta, sensitivity))

    def in_words(self) -> str:
        """The guarantee in one sentence, with what it does not protect."""
        return (f"({self.epsilon:g}, {self.delta:g})-differential privacy for adding or removing one row: Gaussian "
                f"noise of standard deviation {self.sigma:.4g} on each count of a pair of values, L2 sensitivity "
                f"{self.sensitivity:.4g}, weights above {self.most_weight:g} cut to it. Not protected: the columns and "
                "their values, a number of people that was given, and what several rows of one person or household "
                "have in common. The noise is drawn in double precision.")


def pair_counts(codes: IntArray, weights: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """(V, V) symmetric counts of the pairs of categories of different columns; 0 within a column."""
    start = np.concatenate([[0], np.cumsum(sizes)])
    counts = np.zeros((start[-1], start[-1]))
    for one in range(len(sizes)):
        for other in range(one + 1, len(sizes)):
            table = np.bincount(codes[:, one] * sizes[other] + codes[:, other], weights,
                                sizes[one] * sizes[other]).reshape(sizes[one], sizes[other])
            counts[start[one]:start[one + 1], start[other]:start[other + 1]] = table
            counts[start[other]:start[other + 1], start[one]:start[one + 1]] = table.T
    return counts


def release(codes: IntArray, weights: FloatArray, sizes: Sequence[int], guarantee: Guarantee, rng: Generator
            ) -> FloatArray:
    """(V, V) pair counts with noise: all that is ever read of the table. Each pair of categories has one draw."""
    cut = np.minimum(np.asarray(weights, np.float64), guarantee.most_weight)
    noise = np.triu(rng.normal(0, guarantee.sigma, (sum(sizes), sum(sizes))), 1)
    noisy = pair_counts(codes, cut, sizes) + noise + noise.T
    start = np.concatenate([[0], np.cumsum(sizes)])
    for at, end in pairwise(start):
        noisy[at:end, at:end] = 0
    return np.asarray(noisy)


def cleaned(noisy: FloatArray, sizes: Sequence[int], sigma: float) -> tuple[FloatArray, float]:
    """Shares of pairs without negative numbers, each table summing to 1, and the estimated sum of weights.

    Marginals are averaged over the tables of a column. Cells within KEPT_ABOVE standard deviations of 0 share what
    the others leave of the total as the marginals have it, if columns were independent.
    """
    start = np.concatenate([[0], np.cumsum(sizes)])
    blocks = [slice(a, b) for a, b in pairwise(start)]
    total = max(1.0, float(noisy.sum()) / (len(sizes) * (len(sizes) - 1)))
    base = [np.maximum(noisy[one].sum(1) / (len(sizes) - 1) / total, 0.1 / total) for one in blocks]
    base = [part / part.sum() for part in base]
    shares = np.zeros(noisy.shape)
    for i, one in enumerate(blocks):
        for j, other in enumerate(blocks):
            if i != j:
                table, apart = noisy[one, other] / total, np.outer(base[i], base[j])
                kept = table > KEPT_ABOVE * sigma / total
                rest = max(0.0, 1 - table[kept].sum())
                small = apart * ~kept
                full = np.where(kept, table, small * rest / max(small.sum(), 1e-300))
                shares[one, other] = full / full.sum()
    return shares, total


def classes_of_pairs(shares: FloatArray, sizes: Sequence[int], rows: float, n_classes: int, rng: Generator
                     ) -> LatentClasses:
    """Latent classes whose pairs are nearest to `shares`, by EM on the composite likelihood."""
    start = np.concatenate([[0], np.cumsum(sizes)])
    base = shares.sum(1) / (len(sizes) - 1)
    tables = base[:, None] * rng.lognormal(0, 0.5, (len(base), n_classes))
    mixing = np.full(n_classes, 1 / n_classes)
    different = np.ones(shares.shape, np.bool_)
    for at, end in pairwise(start):
        tables[at:end] /= tables[at:end].sum(0)
        different[at:end, at:end] = False
    for _ in range(STEPS):
        model = (tables * mixing) @ tables.T
        ratio = np.where(different, shares / np.maximum(model, 1e-30), 0.0)
        counts = rows * tables * mixing * (ratio @ tables) / (len(sizes) - 1)
        members = counts.sum(0) / len(sizes)
        for at, end in pairwise(start):
            part = counts[at:end] + PRIOR * base[at:end, None]
            tables[at:end] = part / part.sum(0)
        mixing = (members + 1e-3) / (members + 1e-3).sum()
    return LatentClasses(mixing, tables, tuple(sizes))


def fit_private(codes: IntArray, weights: FloatArray, columns: Sequence[Column], guarantee: Guarantee, rng: Generator,
                *, people: float | None = None, source: str, year: str) -> Population:
    """A population under `guarantee`; arguments as of `fit_population`.

    Intervals come from the model alone (parametric bootstrap): made-up tables are released, fitted and asked in the
    same way. They hold the error of noise and sampling, not that of a population which no latent classes describe.
    """
    sizes = [len(column.values) for column in columns]
    releasing, fitting, checking = rng.spawn(3)

    def model(noisy: FloatArray, one: Generator) -> tuple[LatentClasses, float]:
        shares, total = cleaned(noisy, sizes, guarantee.sigma)
        rows = max(10.0, total / guarantee.most_weight)
        classes = max(2, min(64, recipe(round(rows)).classes))
        return joined([classes_of_pairs(shares, sizes, rows, classes, each) for each in one.spawn(FITS)]), total

    mixture, total = model(release(codes, weights, sizes, guarantee, releasing), fitting)
    whole, rows = total if people is None else people, max(10, round(total / guarantee.most_weight))
    found, outside = [], max(1, round(whole) - 1)
    for one in checking.spawn(REFITS):
        made = mixture.sample(min(rows, 100_000), one)
        weight = np.full(len(made), guarantee.most_weight * rows / len(made))
        noise = release(made, np.zeros(len(made)), sizes, guarantee, one)
        again, _ = model(pair_counts(made, weight, sizes) + noise, one)
        asked = random_clusters(np.arange(len(made)), len(sizes), CLUSTERS, one, least=1)
        shares, true = (classes.probabilities(made[asked.rows], asked.used) for classes in (again, mixture))
        others = one.binomial(outside, np.minimum(true, 1.0)).astype(np.float64)
        found.append((shares, others, np.full(len(shares), float(outside)), asked.used.sum(1)))
    shares, others, apart, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
    calibration = calibrate(shares, others, apart, numbers, rows)
    return Population({column.name: column for column in columns}, mixture, whole, rows, float(rows), calibration,
                      source, year, privacy=guarantee.in_words())
