"""What is sealed: records with id, text, label and, where pairs are made of users, the user."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError
from discreet.data.answers import clean, unique
from discreet.data.rows import Place, iter_rows, json_type

REQUIRED = ("id", "text", "label")


@dataclass(frozen=True, slots=True)
class Datum:
    """One record. `label` keeps the type of the file; `group` is None where pairs are made of records."""

    id: str
    text: str = field(repr=False)
    label: str | int
    group: str | None = None

    def to_json(self, group_column: str | None = None) -> dict[str, Any]:
        """The row of `train.jsonl` and `probe.jsonl`."""
        row: dict[str, Any] = {"id": self.id, "text": self.text, "label": self.label}
        return row if group_column is None else {**row, group_column: self.group}

    @property
    def text_key(self) -> str:
        """The unit of deduplication: Unicode-normalised, case-folded, white space collapsed."""
        return " ".join(unicodedata.normalize("NFKC", self.text).casefold().split())


def read_data(path: Path | str, group: str | None = None) -> list[Datum]:
    """All records of a JSON Lines, CSV or Parquet file; other columns than those needed are passed over.

    Raises InputError, naming file and line and never the text, for rows without id, text, label or group, for other
    types than strings (and whole numbers, for id, label and group), and for an id used twice.
    """
    columns = REQUIRED if group is None else (*REQUIRED, group)
    if group in REQUIRED:
        raise InputError(f"--group {group} is one of {', '.join(REQUIRED)}; expected the column that names the user")

    def datum(place: Place, row: Mapping[str, Any]) -> Datum:
        text = row["text"]
        if not isinstance(text, str) or not text.strip():
            place.fail(f"'text' is {json_type(text) if not isinstance(text, str) else 'empty'}; expected a string")
        label = _name(place, "label", row["label"])
        user = None if group is None else str(_name(place, group, row[group]))
        return Datum(str(_name(place, "id", row["id"])), clean(text), label, user)

    return [record for _, record in unique(iter_rows(Path(path), columns, columns), datum, lambda record: record.id)]


def _name(place: Place, column: str, value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        place.fail(f"{column!r} is {json_type(value)}; expected a string or a whole number")
    if isinstance(value, str) and not value.strip():
        place.fail(f"{column!r} is empty; expected a string or a whole number")
    return clean(value) if isinstance(value, str) else value
