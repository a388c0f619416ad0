"""Tables of labelled texts: `id, text, label`, and where they are there `group, category, split, planted, structure`.

`turns`, a list of {role, text}, may stand in for `text`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import InputError
from discreet.core.files import clean
from discreet.core.records import Turn
from discreet.inputs.answers import turn_cells
from discreet.inputs.rows import Place, absent, iter_rows, json_type, unique, word_cell

REQUIRED = ("id", "label")
COLUMNS = (*REQUIRED, "text", "turns", "group", "category", "split", "planted", "structure")
BETWEEN_CATEGORIES = re.compile(r"[|;]")


def text_key(text: str) -> str:
    """A text as duplicates are found: Unicode-normalised, case-folded, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True, slots=True)
class LabelledText:
    """One text with its class.

    `label` is as the file has it: a class number as digits, or the name of a class. `group` is the user or document,
    the unit of splitting and resampling, `planted` how many times the record was repeated on purpose. `structure` is
    "single-turn", "multi-turn", "multi-conversation" or None: as the column says, else as the turns show.
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
        """The unit of deduplication, as `text_key`."""
        return text_key(self.text)


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
    if absent(value):
        return None
    if isinstance(value, float) and value.is_integer():
        # pandas writes whole numbers beside a null as 1.0.
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        place.fail(f"{column!r} is {json_type(value)}; expected a string or a whole number")
    return clean(str(value)).strip()


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


SINGLE_TURN, MULTI_TURN, MULTI_CONVERSATION = "single-turn", "multi-turn", "multi-conversation"
STRUCTURES = (SINGLE_TURN, MULTI_TURN, MULTI_CONVERSATION)
USER, ASSISTANT = "user", "assistant"
MARKS: Mapping[str, str] = {USER: "<|user|>", ASSISTANT: "<|assistant|>"}
ROLES: Mapping[str, str] = {
    **dict.fromkeys(("user", "human", "seeker", "agent_1", "patient", "client"), USER),
    **dict.fromkeys(("assistant", "bot", "supporter", "agent_2", "system", "therapist", "counselor", "model", "gpt"),
                    ASSISTANT),
}
BETWEEN_CONVERSATIONS = "\n\n"


def role_of(name: str) -> str:
    """"user" or "assistant" for a role as data sets spell it, in any case.

    "system" is the machine's side of a dialogue, as task-oriented corpora have it; the instructions that chat formats
    put under that name should be left out before. InputError for a name that is not in `ROLES`.
    """
    role = ROLES.get(name.strip().lower())
    if role is None:
        raise InputError(f"a role is not known; expected one of {', '.join(ROLES)}")
    return role


def text_of_turns(turns: Iterable[Turn]) -> str:
    """One text: the turn itself where there is one alone and it is the user's, else every turn behind its mark.

    Raises InputError for a role that is not known, and where no turn holds text.
    """
    marked = [(role_of(turn.role), turn.text.strip()) for turn in turns if turn.text.strip()]
    if not marked:
        raise InputError("a conversation holds no text; expected at least one turn with text")
    if [role for role, _ in marked] == [USER]:
        return marked[0][1]
    return "\n".join(f"{MARKS[role]} {text}" for role, text in marked)


def structure_of(turns: Iterable[Turn]) -> str:
    """"single-turn" where the user takes the word once (turns in a row count once), else "multi-turn"."""
    spoken = [role_of(turn.role) for turn in turns if turn.text.strip()]
    return SINGLE_TURN if [role for role, _ in groupby(spoken)].count(USER) <= 1 else MULTI_TURN


def marked(text: str) -> str:
    """`text` behind the mark of the user, unless it begins with a mark: a conversation of one turn has none."""
    return text if text.startswith(tuple(MARKS.values())) else f"{MARKS[USER]} {text}"


def joined(texts: Sequence[str]) -> str:
    """Several conversations as one text, in order, each beginning with a mark."""
    return BETWEEN_CONVERSATIONS.join(map(marked, texts))


def read_turns(place: Place, value: Any) -> tuple[Turn, ...]:
    """The cell `turns` of a row: a list of {role, text} (or content), or such a list as JSON in a CSV cell.

    Roles come back as "user" and "assistant"; turns without text are left out. Raises InputError in one line that
    names the place and the turn, never what it holds.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            place.fail("'turns' is a string that is not JSON; expected a list of objects with 'role' and 'text'")
    turns = []
    for where, item, text in turn_cells(place, "turns", value, ("text", "content")):
        role = item.get("role")
        known = ROLES.get(role.strip().lower()) if isinstance(role, str) else None
        if known is None:
            # Not quoted: it may be somebody's name.
            place.fail(f"{where} has a role that is not known; expected one of {', '.join(ROLES)}")
        turns.append(Turn(known, text.strip()))
    if not any(turn.text for turn in turns):
        place.fail("'turns' holds no text; expected at least one turn with text")
    return tuple(turn for turn in turns if turn.text)


def read_structure(place: Place, value: Any) -> str | None:
    """The cell `structure` of a row, in any case and with "_" or " " for "-"; None where it is empty."""
    said = "-".join(value.replace("_", " ").replace("-", " ").split()) if isinstance(value, str) else value
    return word_cell(place, "structure", said, STRUCTURES)


def texts_of_examples(path: Path | str, examples: Iterable[str]) -> dict[str, str]:
    """The text of each example by id, from a file with `id` (or `example`) and `text`.

    Raises InputError for a row without id or text, an id used twice, and where an example has no text.
    """
    rows = unique(iter_rows(Path(path), ("id", "example", "text"), ("text",)), _id_and_text, lambda one: one[0])
    found = dict(one for _, one in rows)
    wanted = list(examples)
    if missing := [name for name in wanted if name not in found]:
        raise InputError(f"{path}: {len(missing):,} of {len(wanted):,} examples have no text, the first of them "
                         f"{str(missing[0])[:40]!r}; expected a row with id and text for each")
    return found


def _id_and_text(place: Place, row: Mapping[str, Any]) -> tuple[str, str]:
    name = _name(place, "id", row.get("id", row.get("example")))
    if name is None:
        place.fail("'id' is null or empty; expected a string or a whole number")
    if not isinstance(row["text"], str):
        place.fail(f"'text' is {json_type(row['text'])}; expected a string")
    return name, row["text"]
