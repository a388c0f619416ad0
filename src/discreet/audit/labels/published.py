"""A file of published figures to cells: JSON Lines, CSV or Parquet, shares or percent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any, Literal

from discreet.data.rows import Place, iter_rows, json_type

REQUIRED = ("n_canaries", "train_accuracy", "epsilon", "success")
FURTHER = ("n_classes", "n_train", "benchmark", "attack", "guess")
COLUMNS = (*REQUIRED, *FURTHER)
GUESSES = ("prediction", "other")
INFINITE = ("inf", "infinity", "∞", "none")
LEAST_DECIMALS = 2
"""Of a share that is written as 1 or .5, it is not known to how many digits it was rounded; two are assumed."""
MOST = 10**9

Guess = Literal["prediction", "other"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One published figure.

    Attributes
    ----------
    row : int
        Where it stands in its file, from 1.
    n_canaries, n_classes : int
        Canaries >= 1 with labels drawn uniformly from `n_classes` >= 2.
    epsilon : float
        Of the label mechanism, above 0; infinity for none.
    success : float
        The share of drawn labels that the attack inferred, in [0, 1].
    train_accuracy : float or None
        Against the labels that were trained on, in [0, 1].
    n_train : int or None
        All training examples, canaries included.
    guess : "prediction" or "other"
        Whether the attack answers the model's own prediction.
    success_unit, accuracy_unit : float
        One unit in the last place that is reported.
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
    guess: Guess = "other"
    success_unit: float = 0.0
    accuracy_unit: float = 0.0


def read_cells(path: Path) -> list[Cell]:
    """The cells of a file with the columns n_canaries, train_accuracy, epsilon and success.

    Also n_classes (2), n_train, benchmark, attack and guess ("prediction" or "other") where it has them; other columns
    are passed over. train_accuracy may be empty. A column that holds a number above 1, or a percent sign, is in
    percent, all of it.

    Raises
    ------
    InputError
        In one line, with the line of the file, for whatever keeps it from being that.
    """
    rows = list(iter_rows(path, COLUMNS, REQUIRED))
    success = [_number(place, row, "success") for place, row in rows]
    accuracy = [None if _empty(row["train_accuracy"]) else _number(place, row, "train_accuracy") for place, row in rows]
    success_scale, success_unit = _scale(success, [row["success"] for _, row in rows])
    accuracy_scale, accuracy_unit = _scale([value for value in accuracy if value is not None],
                                           [row["train_accuracy"] for _, row in rows])
    cells = []
    for number, ((place, row), right, trained) in enumerate(zip(rows, success, accuracy, strict=True), start=1):
        n_canaries = _whole(place, row, "n_canaries", 1)
        n_train = None if _empty(row.get("n_train")) else _whole(place, row, "n_train", n_canaries)
        cells.append(Cell(
            number, n_canaries, _epsilon(place, row["epsilon"]), _share(place, "success", right, success_scale),
            None if trained is None else _share(place, "train_accuracy", trained, accuracy_scale),
            2 if _empty(row.get("n_classes")) else _whole(place, row, "n_classes", 2), n_train,
            _name(place, row, "benchmark"), _name(place, row, "attack"), _guess(place, row.get("guess")),
            success_unit, accuracy_unit,
        ))
    return cells


def _scale(given: list[Decimal], written: list[Any]) -> tuple[int, float]:
    """100 for percent, else 1; and one unit in the last place of any of them, as a share."""
    percent = any(value > 1 for value in given) or any(isinstance(cell, str) and "%" in cell for cell in written)
    decimals = max((-int(value.as_tuple().exponent) for value in given), default=0)
    scale = 100 if percent else 1
    return scale, 10.0 ** -max(decimals, 0 if percent else LEAST_DECIMALS) / scale


def _share(place: Place, name: str, value: Decimal, scale: int) -> float:
    if not 0 <= value <= scale:
        place.fail(f"{name!r} is {value}; expected a number from 0 to {scale}"
                   + (", since the column holds percent" if scale == 100 else ""))
    return float(value / scale)


def _number(place: Place, row: Mapping[str, Any], name: str) -> Decimal:
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        place.fail(f"{name!r} is {json_type(value)}; expected a number")
    try:
        number = Decimal(str(value).strip().removesuffix("%").strip())
    except InvalidOperation:
        place.fail(f"{name!r} is not a number; expected a share or a percentage")
    if not number.is_finite():
        place.fail(f"{name!r} is NaN or infinite; expected a share or a percentage")
    return number


def _whole(place: Place, row: Mapping[str, Any], name: str, least: int) -> int:
    number = _number(place, row, name)
    if number != number.to_integral_value() or not least <= number <= MOST:
        place.fail(f"{name!r} is {number}; expected a whole number, at least {least}")
    return int(number)


def _epsilon(place: Place, value: Any) -> float:
    if isinstance(value, str) and value.strip().lower() in INFINITE:
        return inf
    try:
        epsilon = None if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        epsilon = None
    if epsilon is None or isnan(epsilon):
        place.fail("'epsilon' is not a number; expected a number above 0, or inf")
    if epsilon <= 0.0:
        place.fail(f"'epsilon' is {epsilon:g}; expected a number above 0, or inf")
    return epsilon if isfinite(epsilon) else inf


def _name(place: Place, row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        place.fail(f"{name!r} is {json_type(value)}; expected a name or null")
    return (value or "").strip() or None


def _guess(place: Place, value: Any) -> Guess:
    if _empty(value):
        return "other"
    word = value.strip().lower() if isinstance(value, str) else ""
    if word == "prediction":
        return "prediction"
    if word != "other":
        place.fail(f"'guess' is not one that is known; expected {' or '.join(GUESSES)}")
    return "other"


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
