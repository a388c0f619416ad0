"""What flip rate the train accuracies of a table imply, and whether it is that of ε or the halved one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite, sqrt
from typing import Any, Literal

from discreet.audit.labels.conformance import epsilon_json, epsilon_of_flip
from discreet.audit.labels.table_rows import Cell
from discreet.mechanisms.labels.base import truth_probability
from discreet.mechanisms.labels.rr import halved_truth

CLOSE = 0.05
"""Root mean square distance, as a share, within which accuracies fit a flip rate."""
TWICE = 2.0
"""The other flip rate must fit so many times worse."""

Fits = Literal["claimed", "halved", "neither", "both"]


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
