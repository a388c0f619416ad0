from __future__ import annotations

import json
from typing import Any

import pytest

from discreet.core.errors import InputError
from discreet.core.records import Turn
from discreet.data.conversations import (
    ROLES,
    joined,
    marked,
    read_structure,
    read_turns,
    role_of,
    structure_of,
    text_of_turns,
)
from discreet.data.rows import Place

PLACE = Place("f.jsonl", "line", 4)


def turns(*pairs: tuple[str, str]) -> tuple[Turn, ...]:
    return tuple(Turn(role, text) for role, text in pairs)


@pytest.mark.parametrize(("name", "role"), [
    ("seeker", "user"), ("user", "user"), ("agent_1", "user"), ("human", "user"), (" Human ", "user"),
    ("supporter", "assistant"), ("assistant", "assistant"), ("bot", "assistant"), ("agent_2", "assistant"),
    ("SYSTEM", "assistant"),
])
def test_roles(name: str, role: str) -> None:
    assert role_of(name) == role
    assert text_of_turns(turns((name, "x"), (name, "y"))) == f"<|{role}|> x\n<|{role}|> y"


def test_unknown_roles_are_not_quoted() -> None:
    with pytest.raises(InputError, match="a role is not known; expected one of user, human") as caught:
        role_of("Mr Smith")
    assert "Smith" not in str(caught.value)


def test_marks_and_structures() -> None:
    several = turns(("seeker", " I drink. "), ("supporter", "Since when?"), ("seeker", " "), ("seeker", "Years."))
    assert text_of_turns(several) == "<|user|> I drink.\n<|assistant|> Since when?\n<|user|> Years."
    assert structure_of(several) == "multi-turn"
    assert text_of_turns(turns(("user", " Hello there "))) == "Hello there"
    assert structure_of(turns(("user", "Hello"))) == "single-turn"
    assert text_of_turns(turns(("assistant", "Hello"))) == "<|assistant|> Hello"
    # Once is once: with an answer, and in two messages.
    assert structure_of(turns(("bot", "Hi"), ("user", "a"), ("user", "b"), ("bot", "c"))) == "single-turn"
    assert structure_of(turns(("user", "a"), ("bot", " "), ("user", "b"))) == "single-turn"
    with pytest.raises(InputError, match="holds no text"):
        text_of_turns(turns(("user", " ")))


def test_conversations_are_joined_in_order() -> None:
    assert joined(["b", "<|assistant|> c\n<|user|> d", "<|user|> a"]) == \
        "<|user|> b\n\n<|assistant|> c\n<|user|> d\n\n<|user|> a"
    assert marked("<|user|> x") == "<|user|> x"


def test_cells_of_turns() -> None:
    cell = [{"role": "Seeker", "text": " a ", "strategy": 3}, {"role": "supporter", "content": "\ud800"},
            {"role": "user", "content": None}, {"role": "bot", "text": None, "content": "z"}]
    expected = turns(("user", "a"), ("assistant", "\ufffd"), ("assistant", "z"))
    assert read_turns(PLACE, cell) == expected
    assert read_turns(PLACE, json.dumps(cell)) == expected


@pytest.mark.parametrize(("cell", "message"), [
    ("seeker: hello", "'turns' is a string that is not JSON"), ({"role": "user"}, "'turns' is an object"),
    ("4", "'turns' is a number"), (7, "'turns' is a number"),
    ([], "'turns' holds no text"), ([{"role": "user", "text": " "}], "'turns' holds no text"),
    ([{"role": "user", "text": "x"}, "words"], "turn 2 of 'turns' is a string"),
    ([{"role": "Mr Smith", "text": "x"}], "turn 1 of 'turns' has a role that is not known; expected one of user"),
    ([{"text": "x"}], "turn 1 of 'turns' has a role"), ([{"role": 3, "text": "x"}], "turn 1 of 'turns' has a role"),
    ([{"role": "user", "text": 5}], "the text of turn 1 of 'turns' is a number"),
])
def test_bad_cells(cell: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^f.jsonl, line 4: {message}") as caught:
        read_turns(PLACE, cell)
    assert "Smith" not in str(caught.value)
    assert "hello" not in str(caught.value)


def test_structures_by_name() -> None:
    assert [read_structure(PLACE, cell) for cell in ("Single_Turn", " multi turn", "multi-conversation")] == \
        ["single-turn", "multi-turn", "multi-conversation"]
    assert [read_structure(PLACE, cell) for cell in (None, "", " ", float("nan"))] == [None] * 4
    for wrong in ("dialogue", 3, ["multi-turn"]):
        with pytest.raises(InputError, match="line 4: 'structure' is not one that is known; expected one of single"):
            read_structure(PLACE, wrong)


def test_every_role_is_one_of_two() -> None:
    assert set(ROLES.values()) == {"user", "assistant"}
    assert all(name == name.strip().lower() for name in ROLES)
