"""Tables of labelled texts: `id, text, label`, and where they are there `group, category, split, planted, structure`.

`turns`, a list of {role, text}, may stand in for `text`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, Literal

from discreet.data.answers import clean, unique
from discreet.data.conversations import absent, read_structure, read_turns, structure_of, text_of_turns
from discreet.data.rows import Place, iter_rows, json_type

REQUIRED = ("id", "label")
COLUMNS = (*REQUIRED, "text", "turns", "group", "category", "split", "planted", "structure")
BETWEEN_CATEGORIES = re.compile(r"[|;]")


@dataclass(frozen=True, slots=True)
class LabelledText:
    """One text with its class.

    Attributes
    ----------
    label : str
        As the file has it: a class number as digits, or the name of a class.
    group : str or None
        The user or document that is the unit of splitting and resampling.
    categories : frozenset of str
        Several are possible; empty where the row has none.
    planted : int
        How many times the record was repeated on purpose; 0 = not planted.
    structure : "single-turn", "multi-turn", "multi-conversation" or None
        As the column `structure` says, else as the turns show where the text was made of them.
    """

    id: str
    text: str = field(repr=False)
    label: str
    group: str | None = None
    categories: frozenset[str] = frozenset()
    split: str | None = None
    planted: int = 0
    structure: str | None = None

    @property
    def text_key(self) -> str:
        """The unit of deduplication: Unicode-normalised, case-folded, white space collapsed."""
        return " ".join(unicodedata.normalize("NFKC", self.text).casefold().split())


def read_texts(path: Path | str, *, prefer: Literal["text", "turns"] = "text") -> list[LabelledText]:
    """All rows of a JSON Lines, CSV or Parquet file; columns that are not ours are passed over.

    A row has its text as `text` or as `turns`, which are put together with the marks of `conversations`; `prefer`
    says which of them counts in a row that has both.

    Raises InputError, naming file and line and never the text, for rows without id, label, or text and turns, for
    values of other types than strings and whole numbers, for roles and structures that are not known, and for an id
    used twice.
    """
    rows = iter_rows(Path(path), COLUMNS, REQUIRED)
    return [record for _, record in unique(rows, partial(text_from_row, prefer=prefer), lambda record: record.id)]


def text_from_row(place: Place, row: Mapping[str, Any], *, prefer: Literal["text", "turns"] = "text") -> LabelledText:
    """One row as a labelled text."""
    for name in REQUIRED:
        if name not in row:
            place.fail(f"there is no {name!r}; every row needs 'id', 'text' (or 'turns') and 'label'")
    text, shown = _text(place, row, prefer)
    identity, label = (_name(place, name, row[name]) for name in ("id", "label"))
    if identity is None or label is None:
        place.fail(f"{'id' if identity is None else 'label'!r} is null or empty; expected a string or a whole number")
    return LabelledText(
        identity, text, label, _name(place, "group", row.get("group")),
        _categories(place, row.get("category")), _name(place, "split", row.get("split")), _planted(place, row),
        read_structure(place, row.get("structure")) or shown,
    )


def _text(place: Place, row: Mapping[str, Any], prefer: Literal["text", "turns"]) -> tuple[str, str | None]:
    """The text, and its structure where turns show it."""
    text, given = row.get("text"), row.get("turns")
    if not absent(given) and (prefer == "turns" or absent(text)):
        turns = read_turns(place, given)
        return text_of_turns(turns), structure_of(turns)
    if "text" not in row:
        place.fail("there is no 'text' (nor 'turns'); add it, or rename the column that holds the text")
    if not isinstance(text, str) or not text.strip():
        place.fail(f"'text' is {'empty' if isinstance(text, str) else json_type(text)}; expected a string")
    return clean(text), None


def _name(place: Place, column: str, value: Any) -> str | None:
    """A string or whole number as a stripped string; None for null and empty cells."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        # pandas writes whole numbers beside a null as 1.0.
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        place.fail(f"{column!r} is {json_type(value)}; expected a string or a whole number")
    return clean(str(value)).strip() or None


def _categories(place: Place, value: Any) -> frozenset[str]:
    if value is None:
        return frozenset()
    listed = value if isinstance(value, list) else BETWEEN_CATEGORIES.split(str(value))
    if not all(isinstance(one, str) for one in listed):
        place.fail("'category' is a list of other things than strings; expected the names of categories")
    return frozenset(name for one in listed if (name := clean(one).strip()))


def _planted(place: Place, row: Mapping[str, Any]) -> int:
    given = _name(place, "planted", row.get("planted"))
    if given is None:
        return 0
    plain = given.removesuffix(".0")
    if not (plain.isascii() and plain.isdecimal()):
        place.fail("'planted' is not a count; expected how many times the record was repeated, or 0")
    return int(plain)
