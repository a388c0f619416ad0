
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.jsonl import jsonl

from discreet.core.errors import InputError
from discreet.core.records import Turn
from discreet.inputs.rows import Place
from discreet.inputs.texts import (
    LabelledText,
    joined,
    marked,
    read_structure,
    read_texts,
    read_turns,
    role_of,
    structure_of,
    text_of_turns,
)

FULL = {"id": 7, "text": "one", "label": "safe", "group": 3, "category": ["a", " b "], "split": "train", "planted": 4}


def test_every_column(tmp_path: Path) -> None:
    bare = {"id": "8", "text": "two", "label": 1, "note": "passed over", "group": None, "category": None}
    file = jsonl(tmp_path / "f.jsonl", [FULL, bare])
    assert read_texts(file) == [
        LabelledText("7", "one", "safe", "3", frozenset({"a", "b"}), "train", 4), LabelledText("8", "two", "1")]


def test_csv_and_parquet_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("id,text,label,group,category,split,planted\n7,one,safe,3.0,a| b,train,4.0\n"
                                    "8,two,1,,,,\n", encoding="utf-8")
    found = read_texts(tmp_path / "f.csv")
    assert found[1] == LabelledText("8", "two", "1")
    assert (found[0].categories, found[0].planted) == (frozenset({"a", "b"}), 4)
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame([FULL, {"id": 8, "text": "two", "label": "1"}]).to_parquet(tmp_path / "f.parquet")
    assert read_texts(tmp_path / "f.parquet")[0] == LabelledText("7", "one", "safe", "3", frozenset({"a", "b"}),
                                                                 "train", 4)
    assert read_texts(tmp_path / "f.parquet")[1] == LabelledText("8", "two", "1")


def test_lone_surrogates_and_keys(tmp_path: Path) -> None:
    [row] = read_texts(jsonl(tmp_path / "f.jsonl", [{"id": "a", "text": "\ud800 x", "label": "0"}]))
    assert row.text == "\ufffd x"
    assert row.text not in repr(row)
    assert LabelledText("1", "Ｏne  Straße\n", "0").text_key == LabelledText("2", "one STRASSE", "1").text_key
    assert LabelledText("1", "one two", "0").text_key != LabelledText("2", "onetwo", "0").text_key


@pytest.mark.parametrize(("change", "message"), [
    ({"text": " "}, "'text' is empty"), ({"text": None}, "'text' is null"), ({"text": 4}, "'text' is a number"),
    ({"label": None}, "'label' is null"), ({"label": ""}, "'label' is null"), ({"label": True}, "'label' is true"),
    ({"label": 0.5}, "'label' is a number"), ({"id": None}, "'id' is null"), ({"group": ["a"]}, "'group' is a list"),
    ({"category": [1]}, "'category' is a list of other things"), ({"planted": -1}, "'planted' is not a count"),
    ({"planted": "many"}, "'planted' is not a count"), ({"split": {}}, "'split' is an object"),
])
def test_bad_rows(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    file = jsonl(tmp_path / "f.jsonl", [{**FULL, "id": "first"}, {**FULL, **change}])
    with pytest.raises(InputError, match=f"f.jsonl, line 2: {message}"):
        read_texts(file)


def test_ids_come_once_and_columns_are_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="used before, in line 1"):
        read_texts(jsonl(tmp_path / "f.jsonl", [FULL, FULL]))
    with pytest.raises(InputError, match="there is no 'label'"):
        read_texts(jsonl(tmp_path / "g.jsonl", [FULL, {"id": 1, "text": "x"}]))
    with pytest.raises(InputError, match="there is no file"):
        read_texts(tmp_path / "none.jsonl")


TURNS = [{"role": "seeker", "text": "hello"}, {"role": "supporter", "text": "hi"}, {"role": "seeker", "text": "why"}]
TOLD = "<|user|> hello\n<|assistant|> hi\n<|user|> why"


def test_turns_in_place_of_text(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "f.jsonl", [
        {"id": 1, "turns": TURNS, "label": 0},
        {"id": 2, "turns": TURNS[:1], "text": None, "label": 0, "structure": "multi_turn"},
        {"id": 3, "text": "one", "label": 0, "structure": "single-turn", "turns": None},
        {"id": 4, "text": "one", "label": 0, "turns": TURNS}])
    assert [(row.text, row.structure) for row in read_texts(file)] == [
        (TOLD, "multi-turn"), ("hello", "multi-turn"), ("one", "single-turn"), ("one", None)]
    assert [(row.text, row.structure) for row in read_texts(file, prefer="turns")][2:] == [
        ("one", "single-turn"), (TOLD, "multi-turn")]


def test_turns_of_csv_and_parquet(tmp_path: Path) -> None:
    cell = json.dumps(TURNS).replace('"', '""')
    (tmp_path / "f.csv").write_text(f'id,turns,label\n7,"{cell}",safe\n', encoding="utf-8")
    assert read_texts(tmp_path / "f.csv") == [LabelledText("7", TOLD, "safe", structure="multi-turn")]
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame([{"id": 7, "turns": TURNS, "label": "safe"}]).to_parquet(tmp_path / "f.parquet")
    assert read_texts(tmp_path / "f.parquet") == read_texts(tmp_path / "f.csv")


@pytest.mark.parametrize(("row", "message"), [
    ({}, "there is no 'text' .nor 'turns'.; add it"), ({"turns": []}, "'turns' holds no text"),
    ({"turns": [{"role": "x", "text": "y"}]}, "turn 1 of 'turns' has a role that is not known"),
    ({"turns": ""}, "there is no 'text'"), ({"text": "", "turns": None}, "'text' is empty"),
    ({"text": "a", "structure": "chat"}, "'structure' is not one that is known"),
])
def test_bad_turns(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"f.jsonl, line 1: {message}"):
        read_texts(jsonl(tmp_path / "f.jsonl", [{"id": 1, "label": 0, **row}]))


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
    with pytest.raises(InputError, match="a role is not known; expected one of user, human") as caught:
        role_of(f"Mr {name} Smith")
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
    said = {"Single_Turn": "single-turn", " multi turn": "multi-turn", "multi-conversation": "multi-conversation",
            None: None, "": None, " ": None, float("nan"): None}
    assert [read_structure(PLACE, cell) for cell in said] == list(said.values())
    for wrong in ("dialogue", 3, ["multi-turn"]):
        with pytest.raises(InputError, match="line 4: 'structure' is not one that is known; expected one of single"):
            read_structure(PLACE, wrong)
