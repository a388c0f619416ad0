"""Can a published table of label inference be? Every cell against what ε and arithmetic allow.

A cell says: on `n` canaries whose labels were drawn uniformly from K classes, after an ε-label-DP mechanism, an attack
inferred the share `success` of the drawn labels.

1. **Ceiling.** The count of right guesses is stochastically below Binomial(n, e^ε / (e^ε + K − 1)), whatever the
   attack does without looking at the labels (`bounds`). The p value is exact, Bonferroni over all cells with a finite
   ε. A cell beyond it says that the attack was given what it infers, or that the mechanism does not have its ε. The
   same question is asked of the ceiling of a mechanism that draws its lie from all K classes (`rr_halved`).
2. **Accuracy.** An attack that answers the model's own prediction is wrong about a drawn label only where the model is
   wrong about the label that it was trained on, or where the mechanism changed it. With E = n_train (1 − train
   accuracy) the wrong answers lie between F − E and F + E, F ~ Binomial(n, flip rate). Exact p of either tail,
   Bonferroni over both tails of all such cells.
3. **Flip rate.** A model that is as right about clean labels at ε as at ε = ∞ (accuracy a), and does not fit the
   noise, is right about a (1 − f) + (1 − a) f / (K − 1) of the noisy ones. What f do the train accuracies of a table
   imply, and do they fit the f of ε or the halved one? This compares, it does not prove: it is *suspect* at worst.

Reported shares are rounded: every test uses the count, among those that round to the figure, that is kindest to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from math import ceil, floor, inf, isfinite, isnan, nan, sqrt
from pathlib import Path
from typing import Any

from discreet.audit.labels.bounds import ceiling, guess_epsilon
from discreet.audit.labels.conformance import epsilon_json
from discreet.core.records import Estimate
from discreet.inputs.rows import Place, iter_rows, json_type
from discreet.stats.arrays import scipy_module, share
from discreet.stats.estimates import rate_estimate
from discreet.stats.mechanisms.labels.base import epsilon_of_truth, truth_probability
from discreet.stats.mechanisms.labels.rr import halved_truth

REQUIRED = ("n_canaries", "train_accuracy", "epsilon", "success")
COLUMNS = (*REQUIRED, "n_classes", "n_train", "benchmark", "attack", "guess")
GUESSES = ("prediction", "other")
INFINITE = ("inf", "infinity", "∞", "none")
LEAST_DECIMALS = 2
"""Of a share that is written as 1 or .5, it is not known to how many digits it was rounded; two are assumed."""
MOST = 10**9
CLOSE = 0.05
"""Root mean square distance, as a share, within which accuracies fit a flip rate."""
TWICE = 2.0
"""The other flip rate must fit so many times worse."""
FUZZ = 1e-9
"""A count such as .769 · 1000 must not be missed by a rounding of floats."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One published figure, in a row of its file from 1.

    `n_canaries` labels were drawn uniformly from `n_classes`; `success` is the share that the attack inferred,
    `train_accuracy` against the labels that were trained on, of `n_train` examples, canaries included; `guess` is
    "prediction" where the attack answers the model's own, and a unit is one in the last place that is reported.
    """

    row: int
    n_canaries: int
    epsilon: float
    success: float
    train_accuracy: float | None = None
    n_classes: int = 2
    n_train: int | None = None
    benchmark: str | None = None
    attack: str | None = None
    guess: str = "other"
    success_unit: float = 0.0
    accuracy_unit: float = 0.0

    @property
    def least_right(self) -> int:
        """The smallest count of right guesses that the reported success rounds."""
        return max(0, ceil((self.success - self.success_unit / 2.0) * self.n_canaries - FUZZ))

    @property
    def most_right(self) -> int:
        """The largest such count."""
        return min(self.n_canaries, floor((self.success + self.success_unit / 2.0) * self.n_canaries + FUZZ))

    @property
    def has_accuracy(self) -> bool:
        """Whether the second question applies."""
        return self.guess == "prediction" and self.n_train is not None and self.train_accuracy is not None


def read_cells(path: Path) -> list[Cell]:
    """The cells of a file with the columns n_canaries, train_accuracy, epsilon and success.

    Also n_classes (2), n_train, benchmark, attack and guess ("prediction" or "other") where it has them; other columns
    are passed over. train_accuracy may be empty. A column that holds a number above 1, or a percent sign, is in
    percent, all of it. InputError, in one line, with the line of the file, for whatever keeps it from being that.
    """
    rows = list(iter_rows(path, COLUMNS, REQUIRED))
    success, success_unit = _shares(rows, "success")
    accuracy, accuracy_unit = _shares(
        [(place, row) for place, row in rows if not _empty(row["train_accuracy"])], "train_accuracy")
    cells = []
    for number, (place, row) in enumerate(rows, start=1):
        n_canaries, guess = _whole(place, row, "n_canaries", 1), (_name(place, row, "guess") or "other").lower()
        if guess not in GUESSES:
            place.fail(f"'guess' is not one that is known; expected {' or '.join(GUESSES)}")
        cells.append(
            Cell(number, n_canaries, _epsilon(place, row["epsilon"]), success[place], accuracy.get(place),
                 2 if _empty(row.get("n_classes")) else _whole(place, row, "n_classes", 2),
                 None if _empty(row.get("n_train")) else _whole(place, row, "n_train", n_canaries),
                 _name(place, row, "benchmark"), _name(place, row, "attack"), guess, success_unit, accuracy_unit))
    return cells


def _shares(rows: Sequence[tuple[Place, Mapping[str, Any]]], name: str) -> tuple[dict[Place, float], float]:
    """The column as shares by place, and one unit in the last place of any of them."""
    given = [_number(place, row, name) for place, row in rows]
    percent = any(value > 1 for value in given) or any("%" in str(row[name]) for _, row in rows)
    scale, decimals = 100 if percent else 1, max((-int(value.as_tuple().exponent) for value in given), default=0)
    for (place, _), value in zip(rows, given, strict=True):
        if not 0 <= value <= scale:
            place.fail(f"{name!r} is {value}; expected a number from 0 to {scale}" + (
                ", since the column holds percent" if percent else ""))
    unit = 10.0 ** -max(decimals, 0 if percent else LEAST_DECIMALS) / scale
    return {place: float(value / scale) for (place, _), value in zip(rows, given, strict=True)}, unit


def _number(place: Place, row: Mapping[str, Any], name: str, expected: str = "a share or a percentage") -> Decimal:
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        place.fail(f"{name!r} is {json_type(value)}; expected a number")
    try:
        number = Decimal(str(value).strip().removesuffix("%").strip())
    except InvalidOperation:
        place.fail(f"{name!r} is not a number; expected {expected}")
    if not number.is_finite():
        place.fail(f"{name!r} is NaN or infinite; expected {expected}")
    return number


def _whole(place: Place, row: Mapping[str, Any], name: str, least: int) -> int:
    number = _number(place, row, name, "a whole number")
    if number != number.to_integral_value() or not least <= number <= MOST:
        place.fail(f"{name!r} is {number}; expected a whole number, at least {least}")
    return int(number)


def _epsilon(place: Place, value: Any) -> float:
    if isinstance(value, str) and value.strip().lower() in INFINITE:
        return inf
    epsilon = nan
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            epsilon = float(value)
    if isnan(epsilon):
        place.fail("'epsilon' is not a number; expected a number above 0, or inf")
    if epsilon <= 0.0:
        place.fail(f"'epsilon' is {epsilon:g}; expected a number above 0, or inf")
    return epsilon


def _name(place: Place, row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        place.fail(f"{name!r} is {json_type(value)}; expected a name or null")
    return (value or "").strip() or None


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def check_cells(cells: Sequence[Cell], alpha: float = 0.05) -> dict[str, Any]:
    """Ask all three questions of `cells`; each of the first two calls a sound table impossible with chance `alpha`.

    Returns the record: counts of cells, `tests` (those that Bonferroni divides `alpha` by), and

    - `cells`: each with its answers, None for a question that does not apply. `ceiling`: `p` and `above`, `p_halved`
      and `above_halved` of a mechanism that flips too rarely, p adjusted, and the ε that it takes, `epsilon_needed`.
      `accuracy`: `least` and `most`, between which success must lie, adjusted `p`, and `outside`.
    - `flips`: see `implied_flips`.
    """
    share(alpha, "alpha", open_interval=True)
    tests = {"ceiling": sum(isfinite(cell.epsilon) for cell in cells), "accuracy": 2 * sum(
        cell.has_accuracy for cell in cells)}
    checked = []
    for cell in cells:
        above = _ceiling(cell, alpha, tests["ceiling"]) if isfinite(cell.epsilon) else None
        accuracy = _accuracy(cell, alpha, tests["accuracy"]) if cell.has_accuracy else None
        said = {name: value for name, value in asdict(cell).items() if not name.endswith("_unit")}
        success = rate_estimate(round(cell.success * cell.n_canaries), cell.n_canaries, unit="canary", of="canaries")
        checked.append({
            **said, "epsilon": epsilon_json(cell.epsilon), "success": success.to_json(), "ceiling": above,
            "accuracy": accuracy, "impossible": bool((above and above["above"]) or (accuracy and accuracy["outside"]))})
    flips = implied_flips(cells)

    def count(question: str, answer: str) -> int:
        return sum(bool(one[question] and one[question][answer]) for one in checked)

    return {"impossible": sum(one["impossible"] for one in checked), "n_cells": len(cells),
            "above_ceiling": count("ceiling", "above"), "above_halved_ceiling": count("ceiling", "above_halved"),
            "outside_accuracy": count("accuracy", "outside"),
            "suspect_flips": sum(one["fits"] == "halved" for one in flips), "alpha": alpha, "tests": tests,
            "cells": checked, "flips": flips}


def _ceiling(cell: Cell, alpha: float, tests: int) -> dict[str, Any]:
    n, k, right = cell.n_canaries, cell.n_classes, cell.least_right
    highest, halved = ceiling(cell.epsilon, k), halved_truth(cell.epsilon, k)
    p, p_halved = (min(1.0, tests * _at_least(right, n, rate)) for rate in (highest, halved))
    bound = guess_epsilon(right, n, k, alpha / tests)
    needed = Estimate(bound, bound, None, level=1.0 - alpha / tests, n=n, unit="canary",
                      method="K-ary one-run bound, Bonferroni over cells; a lower bound")
    return {"ceiling": highest, "p": p, "above": p <= alpha, "halved": halved, "p_halved": p_halved,
            "above_halved": p_halved <= alpha, "epsilon_needed": needed.to_json()}


def _accuracy(cell: Cell, alpha: float, tests: int) -> dict[str, Any]:
    assert cell.n_train is not None
    assert cell.train_accuracy is not None
    n, flip = cell.n_canaries, 1.0 - ceiling(cell.epsilon, cell.n_classes)
    errors = floor(cell.n_train * (1.0 - cell.train_accuracy + cell.accuracy_unit / 2.0) + FUZZ)
    fewest_wrong, most_wrong = n - cell.most_right, n - cell.least_right
    binom = scipy_module("stats", "checking a table").binom
    p = min(_at_least(fewest_wrong - errors, n, flip), float(binom.cdf(most_wrong + errors, n, flip)))
    low, high = float(binom.ppf(alpha / tests, n, flip)), float(binom.isf(alpha / tests, n, flip))
    adjusted = min(1.0, tests * p)
    return {"least": 1.0 - min(n, high + errors) / n, "most": 1.0 - max(0.0, low - errors) / n, "p": adjusted,
            "outside": adjusted <= alpha}


def _at_least(count: int, n: int, rate: float) -> float:
    """P(Binomial(n, rate) >= count)."""
    return float(scipy_module("stats", "checking a table").binom.sf(count - 1, n, rate)) if count > 0 else 1.0


def implied_flips(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """For each benchmark with one train accuracy at ε = ∞, better than chance, and at least one at a finite ε.

    Each has `rows`, one an ε: the flip rate that it claims, the one that train accuracy implies (with its ε), and the
    accuracies that the claimed and the halved rate predict. `fits` is "claimed", "halved", "both" or "neither", the
    last where a model fits the noise itself: accuracy tells nothing then. Accuracies are taken as against the labels
    that were trained on. Cells of several attacks on one model count once.
    """
    groups: dict[tuple[str | None, int], set[tuple[float, float]]] = {}
    for cell in cells:
        if cell.train_accuracy is not None:
            groups.setdefault((cell.benchmark, cell.n_classes), set()).add((cell.epsilon, cell.train_accuracy))
    made = []
    for (benchmark, k), points in groups.items():
        clean = [accuracy for epsilon, accuracy in points if epsilon == inf]
        noisy = sorted((point for point in points if isfinite(point[0])), reverse=True)
        if len(clean) == 1 and clean[0] > 1.0 / k and noisy:
            rows = [_flip_row(epsilon, accuracy, clean[0], k) for epsilon, accuracy in noisy]
            claimed, halved = (sqrt(sum((row["train_accuracy"] - row[f"accuracy_if_{name}"]) ** 2
                                        for row in rows) / len(rows)) for name in ("claimed", "halved"))
            fits = ("claimed" if claimed <= CLOSE and halved >= TWICE * claimed else "halved" if halved <= CLOSE
                    and claimed >= TWICE * halved else "both" if max(claimed, halved) <= CLOSE else "neither")
            made.append({"benchmark": benchmark, "clean_accuracy": clean[0], "distance_claimed": claimed,
                         "distance_halved": halved, "fits": fits, "rows": rows})
    return made


def noisy_accuracy(clean: float, flip: float, n_classes: int) -> float:
    """a (1 − f) + (1 − a) f / (K − 1): accuracy against flipped labels of a model right about a of the clean ones."""
    return clean * (1.0 - flip) + (1.0 - clean) * flip / (n_classes - 1)


def _flip_row(epsilon: float, accuracy: float, clean: float, n_classes: int) -> dict[str, Any]:
    implied = min(1.0, max(0.0, (clean - accuracy) / (clean - (1.0 - clean) / (n_classes - 1))))
    claimed, halved = 1.0 - truth_probability(epsilon, n_classes), 1.0 - halved_truth(epsilon, n_classes)
    return {"epsilon": epsilon, "train_accuracy": accuracy, "claimed_flip": claimed, "implied_flip": implied,
            "implied_epsilon": epsilon_json(epsilon_of_truth(1.0 - implied, n_classes)),
            "accuracy_if_claimed": noisy_accuracy(clean, claimed, n_classes),
            "accuracy_if_halved": noisy_accuracy(clean, halved, n_classes)}
