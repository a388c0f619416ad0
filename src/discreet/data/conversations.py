"""Conversations as one text: turns with the marks of the paper, and the names of the three input structures.

The paper on training-set membership of safety classifiers gives a classifier the user's prompt alone (single-turn), or
turns behind `<|user|>` and `<|assistant|>` (Appendix E, Table 3). It does not say what stands between turns; here it is
a line feed, and a blank line between conversations. A mark that somebody wrote into a turn stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import isnan
from typing import Any

from discreet.core.errors import InputError
from discreet.core.records import Turn
from discreet.data.answers import clean
from discreet.data.rows import Place, json_type

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


def absent(value: Any) -> bool:
    """Whether a cell says nothing: null, not a number (as pandas writes null), or empty."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and isnan(value))


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
    if not isinstance(value, list):
        place.fail(f"'turns' is {json_type(value)}; expected a list of objects with 'role' and 'text'")
    turns = tuple(turn for number, item in enumerate(value, start=1) if (turn := _turn(place, number, item)).text)
    if not turns:
        place.fail("'turns' holds no text; expected at least one turn with text")
    return turns


def _turn(place: Place, number: int, item: Any) -> Turn:
    where = f"turn {number} of 'turns'"
    if not isinstance(item, dict):
        place.fail(f"{where} is {json_type(item)}; expected an object with 'role' and 'text'")
    role = item.get("role")
    known = ROLES.get(role.strip().lower()) if isinstance(role, str) else None
    if known is None:
        # Not quoted: it may be somebody's name.
        place.fail(f"{where} has a role that is not known; expected one of {', '.join(ROLES)}")
    text = item.get("text") if item.get("text") is not None else item.get("content")
    if text is not None and not isinstance(text, str):
        place.fail(f"the text of {where} is {json_type(text)}; expected a string")
    return Turn(known, clean(text or "").strip())


def read_structure(place: Place, value: Any) -> str | None:
    """The cell `structure` of a row, in any case and with "_" or " " for "-"; None where it is empty."""
    if absent(value):
        return None
    said = "-".join(value.strip().lower().replace("_", " ").replace("-", " ").split()) if isinstance(value, str) else ""
    if said not in STRUCTURES:
        place.fail(f"'structure' is not one that is known; expected one of {', '.join(STRUCTURES)}")
    return said
