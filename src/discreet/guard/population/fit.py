"""Fit a population to a table of people: number of classes on held-out rows, an average of several fits, calibration.

How far counts are off is measured by doing the same once more: half of the rows are fitted, and the fit is asked about
persons of the other half. Where the table is the whole population, the fit itself is asked about the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.guard.population.calibration import MOST, calibrate
from discreet.guard.population.classes import LatentClasses, fit_classes, joined
from discreet.guard.population.columns import Column
from discreet.guard.population.population import Population

MOST_ROWS = 3000
"""Rows that a calibration fit sees at most."""
CALIBRATION_FITS, CALIBRATION_CLUSTERS = 20, 12_000
HELD_OUT = 0.2


@dataclass(frozen=True)
class Recipe:
    """How to fit so many rows.

    `classes` per fit and `fits` that are averaged; `prior` and `width` as in `fit_classes`, the width for the columns
    of `smoothed`, by default all that are ordered.
    """

    classes: int
    fits: int
    prior: float
    width: float
    smoothed: frozenset[str] | None = None


def recipe(rows: int, factor: float = 1.0, smoothed: frozenset[str] | None = None) -> Recipe:
    """The recipe for a number of rows, with `factor` times the usual number of classes.

    Powers of the number of rows: at 1,000 32 classes, 3 prior rows and a width of 3 categories, at 300,000 313 classes,
    .3 rows and 1 category. Rates as for histograms and kernels; constants chosen by held-out likelihood on the
    Census-Income table.
    """
    classes = max(2, round(32 * (rows / 1000) ** 0.4 * factor))
    return Recipe(classes, max(2, min(16, 512 // classes)), 3 * (1000 / rows) ** 0.4, 3 * (1000 / rows) ** 0.2,
                  smoothed)


class Clusters(NamedTuple):
    """Clusters of attributes of persons: (N,) rows of a table, and (N, C) which columns are told."""

    rows: IntArray
    used: BoolArray


def random_clusters(rows: IntArray, columns: int, n: int, rng: Generator, *, least: int = 2) -> Clusters:
    """`n` clusters of persons drawn from `rows`: a number of attributes from `least` to MOST, then which."""
    numbers = rng.integers(least, min(MOST, columns) + 1, n)
    ranks = rng.random((n, columns)).argsort(1).argsort(1)
    return Clusters(rng.choice(rows, n), ranks < numbers[:, None])


def true_sizes(codes: IntArray, clusters: Clusters) -> FloatArray:
    """(N,) rows of the table that share all told columns with the person of each cluster, the person included."""
    orders = [np.argsort(column, kind="stable") for column in codes.T]
    starts = [np.searchsorted(column[order], np.arange(column.max() + 2))
              for column, order in zip(codes.T, orders, strict=True)]
    columns = [np.ascontiguousarray(column.astype(np.int16)) for column in codes.T]
    found = np.empty(len(clusters.rows))
    for at, (row, used) in enumerate(zip(clusters.rows, clusters.used, strict=True)):
        told = np.flatnonzero(used)
        held = [(int(starts[c][codes[row, c] + 1] - starts[c][codes[row, c]]), int(c)) for c in told]
        rarest = min(held)[1] if held else -1
        if rarest < 0:
            found[at] = len(codes)
            continue
        value = codes[row, rarest]
        rest = orders[rarest][starts[rarest][value]:starts[rarest][value + 1]]
        for _, column in sorted(held)[1:]:
            rest = rest[columns[column][rest] == codes[row, column]]
        found[at] = len(rest)
    return found


def fit_mixture(codes: IntArray, weights: FloatArray, columns: Sequence[Column], how: Recipe, rng: Generator
                ) -> LatentClasses:
    """The average of the fits of a recipe."""
    sizes = [len(column.values) for column in columns]
    smoothed = {column.name for column in columns if column.ordered} if how.smoothed is None else how.smoothed
    widths = [min(how.width, len(column.values) / 8) if column.name in smoothed else 0.0 for column in columns]
    return joined([fit_classes(codes, weights, sizes, how.classes, one, prior=how.prior, widths=widths)
                   for one in rng.spawn(how.fits)])


class Choice(NamedTuple):
    """What held-out rows choose: multiple of the usual number of classes, and the ordered columns that are smoothed.

    `tried` is the mean log likelihood of held-out rows by number of classes.
    """

    factor: float
    smoothed: frozenset[str]
    tried: Mapping[int, float]


def choose(codes: IntArray, weights: FloatArray, columns: Sequence[Column], rng: Generator,
           factors: Sequence[float] = (0.25, 0.5, 1.0, 2.0)) -> Choice:
    """What explains held-out rows best, by single fits on four fifths of the rows.

    Of the numbers of classes the smallest within .005 nats of the best is taken. A column of numbers is smoothed unless
    that makes held-out rows less likely: codes of occupations are numbers too, and neighbours in code are no relatives.
    """
    held, kept = np.split(rng.permutation(len(codes)), [max(1, int(HELD_OUT * len(codes)))])
    seed = int(rng.integers(2**32))

    def held_out(factor: float, smoothed: frozenset[str]) -> float:
        how = replace(recipe(len(kept), factor, smoothed), fits=1)
        mixture = fit_mixture(codes[kept], weights[kept], columns, how, np.random.default_rng(seed))
        return mixture.log_likelihood(codes[held], weights[held])

    smoothed = frozenset(column.name for column in columns if column.ordered)
    for name in sorted(smoothed):
        if held_out(0.5, smoothed - {name}) > held_out(0.5, smoothed):
            smoothed -= {name}
    found = {factor: held_out(factor, smoothed) for factor in factors}
    chosen = min(factor for factor, likelihood in found.items() if likelihood >= max(found.values()) - 0.005)
    return Choice(chosen, smoothed, {recipe(len(kept), factor).classes: value for factor, value in found.items()})


def together(codes: IntArray, sizes: Sequence[int]) -> BoolArray:
    """(V, V) which two categories some row has both of; a category with itself where some row has it."""
    start = np.concatenate([[0], np.cumsum(sizes)])
    seen = np.zeros((start[-1], start[-1]), np.bool_)
    for one in range(len(sizes)):
        for other in range(one, len(sizes)):
            pairs = np.unique(codes[:, one] * sizes[other] + codes[:, other])
            a, b = start[one] + pairs // sizes[other], start[other] + pairs % sizes[other]
            seen[a, b] = seen[b, a] = True
    return seen


class Checked(NamedTuple):
    """Clusters of persons outside a fit, as `calibrate` takes them: shares by the model, others who have the same
    attributes, others at all, and numbers of attributes. Clusters with a value that the fit lacks are left out."""

    shares: FloatArray
    others: FloatArray
    outside: FloatArray
    attributes: IntArray


def checked(mixture: LatentClasses, inside: IntArray, outside: IntArray, clusters: int, rng: Generator) -> Checked:
    """A fit of the rows `inside`, asked about `clusters` of persons of the rows `outside`."""
    asked = random_clusters(np.arange(len(outside)), outside.shape[1], clusters, rng, least=1)
    cells = outside[asked.rows]
    missing = np.column_stack([~np.isin(told, seen) for told, seen in zip(cells.T, inside.T, strict=True)])
    kept = ~(missing & asked.used).any(1)
    found = Checked(mixture.probabilities(cells, asked.used), true_sizes(outside, asked) - 1,
                    np.full(clusters, len(outside) - 1.0), asked.used.sum(1))
    return Checked(found.shares[kept], found.others[kept], found.outside[kept], found.attributes[kept])


def held_out_checks(codes: IntArray, columns: Sequence[Column], rng: Generator, *, factor: float = 1.0,
                    smoothed: frozenset[str] | None = None, fits: int = CALIBRATION_FITS) -> tuple[Checked, int]:
    """Fits of half of the rows, and of MOST_ROWS at most, asked about the rest; and the number of fitted rows."""
    part, found = max(2, min(len(codes) // 2, MOST_ROWS)), []
    for one in rng.spawn(fits):
        inside, outside = np.split(codes[one.permutation(len(codes))], [part])
        mixture = fit_mixture(inside, np.ones(part), columns, recipe(part, factor, smoothed), one)
        found.append(checked(mixture, inside, outside, CALIBRATION_CLUSTERS // fits, one))
    return Checked(*(np.concatenate(parts) for parts in zip(*found, strict=True))), part


def fit_population(codes: IntArray, weights: FloatArray, columns: Sequence[Column], rng: Generator, *,
                   people: float | None = None, source: str, year: str, factor: float | None = None,
                   fits: int = CALIBRATION_FITS, progress: Callable[[str], None] | None = None) -> Population:
    """Fit and calibrate a population.

    Parameters
    ----------
    codes : (N, C) integers
        Row by row the codes of `columns`.
    weights : (N,) array
        How many people each row stands for.
    people : float, optional
        People in the population; by default the sum of `weights`.
    source, year : str
        Said in every answer.
    factor : float, optional
        Multiple of the usual number of classes; by default chosen on held-out rows, as is what is smoothed.
    fits : int
        Calibration fits.
    """
    tell = progress or (lambda _: None)
    whole = float(weights.sum()) if people is None else people
    choosing, fitting, calibrating = rng.spawn(3)
    smoothed: frozenset[str] | None = None
    if factor is None:
        factor, smoothed, tried = choose(codes, weights, columns, choosing)
        tell(f"held-out log likelihood by classes: {', '.join(f'{k}: {value:.3f}' for k, value in tried.items())}")
    mixture = fit_mixture(codes, weights, columns, recipe(len(codes), factor, smoothed), fitting)
    tell(f"fitted {len(mixture.shares)} classes")
    if len(codes) >= whole:
        known, part = checked(mixture, codes, codes, CALIBRATION_CLUSTERS, calibrating), len(codes)
    else:
        known, part = held_out_checks(codes, columns, calibrating, factor=factor, smoothed=smoothed, fits=fits)
    return Population({column.name: column for column in columns}, mixture, whole, len(codes),
                      float(weights.sum() ** 2 / (weights**2).sum()), calibrate(*known, part), source, year,
                      seen=together(codes, [len(column.values) for column in columns]))
