"""Scores of the records in the pairs, one or several numbers per id where a higher one says "member", and the coins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from discreet.audit.scores.read import short
from discreet.audit.scores.table import IN, OUT, UNKNOWN, ScoreTable
from discreet.audit.sealed.opening import Opening, hash_of
from discreet.core.errors import InputError, need
from discreet.core.files import KeyedHash
from discreet.core.numbers import counted
from discreet.core.types import FloatArray
from discreet.inputs.columns import Frame
from discreet.inputs.rows import Place, Row, id_cell, iter_rows, json_type, unique

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


class _Wanted(frozenset[str]):
    """The columns that a file of scores may have; what is read of a Parquet file."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in ("id", "label") or _is_score(name) or name.startswith(PREFIXES))


def rows_of(source: Rows, columns: Collection[str], required: Collection[str]) -> Iterator[Row]:
    """The rows of a file (see `iter_rows`), a data frame or mappings; InputError for none, or a missing column."""
    if isinstance(source, str | Path):
        yield from iter_rows(Path(source), columns, required)
        return
    if hasattr(source, "__arrow_c_stream__"):
        source = need("pyarrow", "reading a data frame", "audit").table(source).to_pylist()
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

    InputError for neither, an id twice, a value that is no finite number, a label without its column, and probabilities
    that do not sum to 1.
    """
    kept: list[str] = []

    def row_scores(place: Place, row: Mapping[str, Any]) -> tuple[str, list[float]]:
        name, columns = id_cell(place, row["id"]), _columns(place, row)
        if not kept:
            kept.extend(columns)
        elif kept != columns:
            place.fail("other score columns than in the first row; expected the same in every row")
        numbers = [_number(place, column, row[column]) for column in columns]
        return name, (numbers if _is_score(columns[0]) else _of_classes(place, columns, numbers, row["label"]))

    rows = rows_of(source, _Wanted(("id", "label", "score")), ("id",))
    found = [record for _, record in unique(rows, row_scores, lambda record: record[0])]
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
        number = float("true" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
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


@dataclass(frozen=True, slots=True, repr=False)
class Revealed:
    """An opening with the scores of its members: by keyed id one number per name, such as ("log_p", "margin")."""

    opening: Opening
    names: tuple[str, ...]
    scores: Mapping[str, Sequence[float]]

    def differences(self) -> FloatArray:
        """Score of the trained side minus that of the other (means over their records), shape (names, pairs)."""
        trained, left = ([np.mean([self.scores[keyed] for keyed in side], axis=0) for side in sides]
                         for sides in self.opening.members())
        return np.asarray(np.subtract(trained, left), dtype=np.float64).T

    def scores_hash(self) -> str:
        """SHA-256 of the scores under keyed ids: the same whatever file they came in."""
        return hash_of({"names": list(self.names), "values": {k: list(v) for k, v in self.scores.items()}})


def reveal(opening: Opening, keyed: KeyedHash, scores: Scores, source: str = "scores") -> Revealed:
    """Join opening and scores; scores of records in no pair are passed over. InputError where a member has none."""
    of = {keyed.of(name): row for name, row in zip(scores.ids, scores.values.tolist(), strict=True)}
    wanted = [(number, k) for number, pair in enumerate(opening.pairs, start=1) for side in pair for k in side]
    missing = [number for number, k in wanted if k not in of]
    if len(missing) == len(wanted):
        altered = "" if opening.key_hash else ", or the 'key' in coins.json was altered after the seal"
        raise InputError(f"{source} has no score for any of the {len(wanted)} members of the pairs: its ids are those "
                         f"of other records{altered}; expected one for every row of probe.jsonl, under the same ids")
    if missing:
        raise InputError(f"{source} has no score for {len(missing)} members of the {len(opening.pairs)} pairs (the "
                         f"first in pair {missing[0]}); expected one for every row of probe.jsonl, under the same ids")
    return Revealed(opening, scores.names, {k: tuple(of[k]) for _, k in wanted})


def under_seal(table: ScoreTable, opening: Opening, keyed: KeyedHash, source: str) -> tuple[ScoreTable, int]:
    """A membership table with the examples that coins decided, and how many others were left out.

    A record in no pair was trained on whatever the coins said, so it cannot be compared with those that were left to
    them. Examples that are never compared so are kept: planted ones and those of the split "population". InputError,
    beginning with `source`, for coins from a seed, which were no secret; a record of a pair without scores, for whoever
    leaves some out may choose which; a target whose 'member' says something else than the coins.
    """
    if opening.source != "os":
        raise InputError(f"{source}: the coins of this seal came from a seed and were no secret; expected a seal made "
                         f"without --seed, or --design randomised")
    trained, left = opening.members()
    said = {name: code for sides, code in ((trained, IN), (left, OUT)) for side in sides for name in side}
    coins = np.array([said.get(keyed.of(str(name)), UNKNOWN) for name in table.examples.id], dtype=np.int8)
    if absent := len(said) - int((coins != UNKNOWN).sum()):
        raise InputError(f"{source}: {counted(absent, 'record')} of the {len(said):,} in the pairs of the seal "
                         f"{'has' if absent == 1 else 'have'} no scores; score every row of probe.jsonl, under the "
                         f"same ids")
    for target in table.of_role("target"):
        if wrong := int(((coins != UNKNOWN) & (table.member[target] != coins)).sum()):
            raise InputError(f"{source}: 'member' of target {short(table.models[target].name)} is not what the coins "
                             f"say for {wrong:,} of {len(said):,} sealed records; expected true for those of "
                             f"train.jsonl, or the seal that this target was trained under")
    kept = (coins != UNKNOWN) | (table.examples.planted > 0)
    if table.examples.split is not None:
        kept |= np.asarray(table.examples.split == "population", dtype=np.bool_)
    return (table if kept.all() else table.take(np.flatnonzero(kept))), int((~kept).sum())
