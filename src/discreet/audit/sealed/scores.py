"""Scores of the records in the pairs: one or several numbers per id, where a higher one says "member"."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from discreet.core.errors import InputError, MissingExtraError
from discreet.core.types import FloatArray
from discreet.data.columns import Frame
from discreet.data.rows import Place, Row, iter_rows, json_type, unique

Rows: TypeAlias = Path | str | Frame | Iterable[Mapping[str, Any]]
"""A JSON Lines, CSV or Parquet file, a data frame, or mappings."""

PREFIXES = ("logit_", "prob_")
LEAST_PROB = 1e-300
SUM_TOLERANCE = 1e-3
MOST_SCORE = 1e150
"""Differences and means of scores up to here are finite."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores:
    """`values[j]` (float64, shape (n, s)) belongs to `ids[j]`; `names` (s) says what the columns are."""

    names: tuple[str, ...]
    ids: tuple[str, ...]
    values: FloatArray


class _Wanted(Collection[str]):
    """The columns that a file of scores may have; what is read of a Parquet file."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in ("id", "label") or _is_score(name) or name.startswith(PREFIXES))

    def __iter__(self) -> Iterator[str]:
        return iter(("id", "label", "score"))

    def __len__(self) -> int:
        return 3


def rows_of(source: Rows, columns: Collection[str], required: Collection[str]) -> Iterator[Row]:
    """The rows of a file (see `iter_rows`), of a data frame or of mappings, each with its place.

    InputError for a row without one of the `required` columns, and for no rows.
    """
    if isinstance(source, str | Path):
        yield from iter_rows(Path(source), columns, required)
        return
    if hasattr(source, "__arrow_c_stream__"):
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingExtraError("reading a data frame", "audit", "pyarrow") from None
        source = pa.table(source).to_pylist()
    given = cast("Iterable[Mapping[str, Any]]", source)
    number = 0
    for number, row in enumerate(given, start=1):
        place = Place("the given data", "row", number)
        if absent := [name for name in required if name not in row]:
            place.fail(f"there is no {absent[0]!r}; expected {', '.join(required)}")
        yield place, row
    if not number:
        raise InputError(f"the given data hold no rows; expected at least one with {', '.join(required)}")


def read_scores(source: Rows) -> Scores:
    """Scores of a JSON Lines, CSV or Parquet file, a data frame, or mappings.

    Columns: `id` and `score` (and any `score_…`, each a score of its own); or `id`, `label` and `logit_<class>` (or
    `prob_<class>`) of every class, of which two scores are made: `log_p`, the log probability of the label (minus
    the loss), and `margin`, its logit minus the largest other. The label is the <class> itself, such as 0 for logit_0.

    Raises InputError for neither, for an id twice, a value that is no finite number, a label without its column, and
    probabilities that do not sum to 1.
    """
    kept: list[str] = []

    def row_scores(place: Place, row: Mapping[str, Any]) -> tuple[str, list[float]]:
        name = row["id"]
        if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
            place.fail(f"'id' is {'empty' if name == '' else json_type(name)}; expected a string or a whole number")
        columns = _columns(place, row)
        if not kept:
            kept.extend(columns)
        elif kept != columns:
            place.fail("other score columns than in the first row; expected the same in every row")
        numbers = [_number(place, column, row[column]) for column in columns]
        return str(name), (numbers if _is_score(columns[0]) else _of_classes(place, columns, numbers, row["label"]))

    found = [record for _, record in unique(rows_of(source, _Wanted(), ("id",)), row_scores, lambda r: r[0])]
    names = tuple(kept) if _is_score(kept[0]) else ("log_p", "margin")
    return Scores(names, tuple(name for name, _ in found), np.array([v for _, v in found], dtype=np.float64))


def _is_score(column: str) -> bool:
    return column == "score" or column.startswith("score_")


def _columns(place: Place, row: Mapping[str, Any]) -> list[str]:
    if scores := sorted(name for name in row if _is_score(name)):
        return scores
    prefix = next((one for one in PREFIXES if any(name.startswith(one) for name in row)), None)
    if prefix is None:
        place.fail("there is neither 'score' nor 'logit_…'; expected id and score, or id, label and logit_0 … logit_K")
    columns = sorted(name for name in row if name.startswith(prefix))
    if "label" not in row:
        place.fail(f"there is '{prefix}…' and no 'label'; expected the label of every row, or a column 'score'")
    if len(columns) == 1:
        place.fail(f"there is one column '{prefix}…'; expected one for every class")
    return columns


def _number(place: Place, column: str, value: Any) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        kind = "not a number" if isinstance(value, str) else json_type(value)
        place.fail(f"{column!r} is {kind}; expected a finite number")
    if not abs(number) <= MOST_SCORE:
        place.fail(f"{column!r} is {number}; expected a finite number")
    return number


def _of_classes(place: Place, columns: list[str], numbers: list[float], label: Any) -> list[float]:
    prefix = next(p for p in PREFIXES if columns[0].startswith(p))
    if f"{prefix}{label}" not in columns:
        place.fail(f"the label of this row has no column; expected one of the {len(columns)} classes of '{prefix}…'")
    if prefix == "prob_":
        if min(numbers) < 0.0 or max(numbers) > 1.0 + 1e-6:
            place.fail("a 'prob_…' is outside 0 to 1; expected probabilities, or logits as 'logit_…'")
        if abs(sum(numbers) - 1.0) > SUM_TOLERANCE + 1e-9:
            place.fail(f"the {len(numbers)} 'prob_…' sum to {sum(numbers):.4g}; expected 1 within {SUM_TOLERANCE:g}, "
                       f"with a column for every class")
        numbers = [float(np.log(max(number, LEAST_PROB))) for number in numbers]
    mine = columns.index(f"{prefix}{label}")
    others = np.array(numbers[:mine] + numbers[mine + 1 :]) - numbers[mine]
    log_p = numbers[mine] if prefix == "prob_" else -float(np.logaddexp.reduce(np.append(others, 0.0)))
    return [log_p, -float(others.max())]
