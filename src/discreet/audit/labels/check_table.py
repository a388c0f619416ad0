"""Can a published table of label inference be? Every cell against what ε and arithmetic allow.

A cell says: on `n` canaries whose labels were drawn uniformly from K classes, after an ε-label-DP mechanism, an attack
inferred the share `success` of the drawn labels.

1. **Ceiling.** The count of right guesses is stochastically below Binomial(n, e^ε / (e^ε + K − 1)), whatever the
   attack does without looking at the labels (`bounds`). The p value is exact, Bonferroni over all cells with a finite
   ε. A cell beyond it says that the attack was given what it infers, or that the mechanism does not have its ε. The
   same question is asked of the ceiling of a mechanism that draws its lie from all K classes (`rr_halved`).
2. **Accuracy.** An attack that answers the model's own prediction is wrong about a drawn label only where the model is
   wrong about the label that it was trained on, or where the mechanism changed it. With E = n_train (1 − train
   accuracy) the wrong answers lie between F − E and F + E, F ~ Binomial(n, flip rate). Exact p of either side,
   Bonferroni over both sides of all such cells.
3. **Flip rate.** A model that is as right about clean labels at ε as at ε = ∞ (accuracy a), and does not fit the
   noise, is right about a (1 − f) + (1 − a) f / (K − 1) of the noisy ones. What f do the train accuracies of a table
   imply, and do they fit the f of ε or the halved one? This compares, it does not prove: it is *suspect* at worst.

Reported shares are rounded: every test uses the count, among those that round to the figure, that is kindest to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, floor, inf, isfinite, sqrt
from typing import Any, Literal

from discreet.audit.labels.bounds import ceiling, guess_epsilon
from discreet.audit.labels.conformance import epsilon_json, epsilon_of_flip
from discreet.audit.labels.published import Cell
from discreet.core.records import Estimate
from discreet.mechanisms.labels.base import truth_probability
from discreet.mechanisms.labels.rr import halved_truth
from discreet.stats.arrays import scipy_module, share
from discreet.stats.estimates import rate_estimate

CLOSE = 0.05
"""Root mean square distance, as a share, within which accuracies fit a flip rate."""
TWICE = 2.0
"""The other flip rate must fit so many times worse."""

Fits = Literal["claimed", "halved", "neither", "both"]

# A count such as .769 · 1000 must not be missed by a rounding of floats.
FUZZ = 1e-9


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The first question. `halved` and `p_halved` ask it of a mechanism that flips too rarely; p are adjusted."""

    ceiling: float
    p: float
    above: bool
    halved: float
    p_halved: float
    above_halved: bool
    epsilon_needed: Estimate


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The second. `least` and `most`: successes between which the cell must lie; p is adjusted."""

    least: float
    most: float
    p: float
    outside: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """One cell with its answers; None for a question that does not apply."""

    cell: Cell
    success: Estimate
    ceiling: Ceiling | None
    accuracy: Accuracy | None

    @property
    def impossible(self) -> bool:
        """Whether it cannot be."""
        return bool((self.ceiling and self.ceiling.above) or (self.accuracy and self.accuracy.outside))

    def to_json(self) -> dict[str, Any]:
        """The cell, its success as an estimate, and the answers."""
        said = asdict(self.cell) | {"epsilon": epsilon_json(self.cell.epsilon)}
        del said["success_unit"], said["accuracy_unit"]
        said["success"] = self.success.to_json()
        above = None
        if self.ceiling is not None:
            above = asdict(self.ceiling) | {"epsilon_needed": self.ceiling.epsilon_needed.to_json()}
        return {**said, "ceiling": above, "accuracy": None if self.accuracy is None else asdict(self.accuracy),
                "impossible": self.impossible}


@dataclass(frozen=True, slots=True)
class FlipRow:
    """One ε: the flip rate that it claims, the one that train accuracy implies (with its ε), and both predictions."""

    epsilon: float
    train_accuracy: float
    claimed_flip: float
    implied_flip: float
    implied_epsilon: float
    accuracy_if_claimed: float
    accuracy_if_halved: float

    def to_json(self) -> dict[str, Any]:
        """As the attributes."""
        return asdict(self) | {"implied_epsilon": epsilon_json(self.implied_epsilon)}


@dataclass(frozen=True, slots=True)
class Flips:
    """One table of accuracies. `fits` is "neither" where a model fits the noise itself: accuracy tells nothing then."""

    benchmark: str | None
    clean_accuracy: float
    rows: tuple[FlipRow, ...]
    distance_claimed: float
    distance_halved: float
    fits: Fits

    def to_json(self) -> dict[str, Any]:
        """As the attributes."""
        return {"benchmark": self.benchmark, "clean_accuracy": self.clean_accuracy,
                "distance_claimed": self.distance_claimed, "distance_halved": self.distance_halved, "fits": self.fits,
                "rows": [row.to_json() for row in self.rows]}


@dataclass(frozen=True, slots=True)
class TableCheck:
    """A whole table. `ceilings` and `accuracies` count the tests that Bonferroni divides `alpha` by."""

    cells: tuple[Checked, ...]
    flips: tuple[Flips, ...]
    alpha: float
    ceilings: int
    accuracies: int

    @property
    def impossible(self) -> tuple[Checked, ...]:
        """The cells that cannot be."""
        return tuple(cell for cell in self.cells if cell.impossible)

    def to_json(self) -> dict[str, Any]:
        """Counts first, then every cell and every table's flip rates."""
        tested = [cell.ceiling for cell in self.cells if cell.ceiling is not None]
        return {
            "impossible": len(self.impossible), "n_cells": len(self.cells),
            "above_ceiling": sum(one.above for one in tested),
            "above_halved_ceiling": sum(one.above_halved for one in tested),
            "outside_accuracy": sum(bool(cell.accuracy and cell.accuracy.outside) for cell in self.cells),
            "suspect_flips": sum(one.fits == "halved" for one in self.flips),
            "alpha": self.alpha, "tests": {"ceiling": self.ceilings, "accuracy": self.accuracies},
            "cells": [cell.to_json() for cell in self.cells], "flips": [one.to_json() for one in self.flips],
        }


def check_cells(cells: Sequence[Cell], alpha: float = 0.05) -> TableCheck:
    """Ask all three questions of `cells`; each of the first two calls a sound table impossible with chance `alpha`."""
    share(alpha, "alpha", open_interval=True)
    ceilings = sum(isfinite(cell.epsilon) for cell in cells)
    accuracies = 2 * sum(_has_accuracy(cell) for cell in cells)
    checked = tuple(
        Checked(
            cell,
            rate_estimate(round(cell.success * cell.n_canaries), cell.n_canaries, unit="canary", of="canaries"),
            _ceiling(cell, alpha, ceilings) if isfinite(cell.epsilon) else None,
            _accuracy(cell, alpha, accuracies) if _has_accuracy(cell) else None,
        )
        for cell in cells
    )
    return TableCheck(checked, implied_flips(cells), alpha, ceilings, accuracies)


def _ceiling(cell: Cell, alpha: float, tests: int) -> Ceiling:
    n, k = cell.n_canaries, cell.n_classes
    right = least_right(cell)
    highest, halved = ceiling(cell.epsilon, k), halved_truth(cell.epsilon, k)
    p, p_halved = (min(1.0, tests * _at_least(right, n, rate)) for rate in (highest, halved))
    level = 1.0 - alpha / tests
    bound = guess_epsilon(right, n, k, alpha / tests)
    needed = Estimate(bound, bound, None, level=level, n=n, unit="canary",
                      method="K-ary one-run bound, Bonferroni over cells; a lower bound")
    return Ceiling(highest, p, p <= alpha, halved, p_halved, p_halved <= alpha, needed)


def _has_accuracy(cell: Cell) -> bool:
    return cell.guess == "prediction" and cell.n_train is not None and cell.train_accuracy is not None


def _accuracy(cell: Cell, alpha: float, tests: int) -> Accuracy:
    assert cell.n_train is not None
    assert cell.train_accuracy is not None
    n, flip = cell.n_canaries, 1.0 - ceiling(cell.epsilon, cell.n_classes)
    errors = floor(cell.n_train * (1.0 - cell.train_accuracy + cell.accuracy_unit / 2.0) + FUZZ)
    fewest_wrong, most_wrong = n - most_right(cell), n - least_right(cell)
    binom = scipy_module("stats", "checking a table").binom
    p = min(_at_least(fewest_wrong - errors, n, flip), float(binom.cdf(most_wrong + errors, n, flip)))
    low, high = float(binom.ppf(alpha / tests, n, flip)), float(binom.isf(alpha / tests, n, flip))
    least, most = 1.0 - min(n, high + errors) / n, 1.0 - max(0.0, low - errors) / n
    adjusted = min(1.0, tests * p)
    return Accuracy(least, most, adjusted, adjusted <= alpha)


def least_right(cell: Cell) -> int:
    """The smallest count of right guesses that the reported success rounds."""
    return max(0, ceil((cell.success - cell.success_unit / 2.0) * cell.n_canaries - FUZZ))


def most_right(cell: Cell) -> int:
    """The largest such count."""
    return min(cell.n_canaries, floor((cell.success + cell.success_unit / 2.0) * cell.n_canaries + FUZZ))


def _at_least(count: int, n: int, rate: float) -> float:
    """P(Binomial(n, rate) >= count)."""
    return float(scipy_module("stats", "checking a table").binom.sf(count - 1, n, rate)) if count > 0 else 1.0


def implied_flips(cells: Sequence[Cell]) -> tuple[Flips, ...]:
    """For each benchmark with one train accuracy at ε = ∞, better than chance, and at least one at a finite ε.

    Accuracies are taken as against the labels that were trained on. Cells of several attacks on one model count once.
    """
    groups: dict[tuple[str | None, int], set[tuple[float, float]]] = {}
    for cell in cells:
        if cell.train_accuracy is not None:
            group = groups.setdefault((cell.benchmark, cell.n_classes), set())
            group.add((cell.epsilon, cell.train_accuracy))
    made = []
    for (benchmark, n_classes), points in groups.items():
        clean = [accuracy for epsilon, accuracy in points if epsilon == inf]
        noisy = sorted((point for point in points if isfinite(point[0])), reverse=True)
        if len(clean) == 1 and clean[0] > 1.0 / n_classes and noisy:
            made.append(_flips(benchmark, n_classes, clean[0], noisy))
    return tuple(made)


def noisy_accuracy(clean: float, flip: float, n_classes: int) -> float:
    """a (1 − f) + (1 − a) f / (K − 1): accuracy against flipped labels of a model right about a of the clean ones."""
    return clean * (1.0 - flip) + (1.0 - clean) * flip / (n_classes - 1)


def _flips(benchmark: str | None, n_classes: int, clean: float, noisy: Sequence[tuple[float, float]]) -> Flips:
    rows = tuple(_row(epsilon, accuracy, clean, n_classes) for epsilon, accuracy in noisy)
    claimed = _distance([row.train_accuracy - row.accuracy_if_claimed for row in rows])
    halved = _distance([row.train_accuracy - row.accuracy_if_halved for row in rows])
    fits: Fits = "neither"
    if claimed <= CLOSE and halved >= TWICE * claimed:
        fits = "claimed"
    elif halved <= CLOSE and claimed >= TWICE * halved:
        fits = "halved"
    elif max(claimed, halved) <= CLOSE:
        fits = "both"
    return Flips(benchmark, clean, rows, claimed, halved, fits)


def _row(epsilon: float, accuracy: float, clean: float, n_classes: int) -> FlipRow:
    slope = clean - (1.0 - clean) / (n_classes - 1)
    implied = min(1.0, max(0.0, (clean - accuracy) / slope))
    claimed, halved = 1.0 - truth_probability(epsilon, n_classes), 1.0 - halved_truth(epsilon, n_classes)
    return FlipRow(epsilon, accuracy, claimed, implied, epsilon_of_flip(implied, n_classes),
                   noisy_accuracy(clean, claimed, n_classes), noisy_accuracy(clean, halved, n_classes))


def _distance(gaps: Sequence[float]) -> float:
    return sqrt(sum(gap * gap for gap in gaps) / len(gaps))
