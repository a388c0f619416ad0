from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.audit.sealed import Datum, read_data
from discreet.core.errors import InputError

GOOD: dict[str, Any] = {"id": "a", "text": "MARK", "label": "x", "user": "u"}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_json_and_csv(tmp_path: Path) -> None:
    there = read_data(write(tmp_path / "d.jsonl", GOOD, {**GOOD, "id": 7, "label": 1, "user": 9, "more": 1}), "user")
    assert there == [Datum("a", "MARK", "x", "u"), Datum("7", "MARK", 1, "9")]
    (tmp_path / "d.csv").write_text("id,text,label\na,MARK,x\n")
    assert read_data(tmp_path / "d.csv") == [Datum("a", "MARK", "x")]
    assert "MARK" not in repr(there)


def test_rows_as_written() -> None:
    assert Datum("7", "t", 1, "u").to_json() == {"id": "7", "text": "t", "label": 1}
    assert Datum("7", "t", 1, "u").to_json("user") == {"id": "7", "text": "t", "label": 1, "user": "u"}


def test_text_key_is_the_unit_of_deduplication() -> None:
    assert Datum("1", " Ａ  straße\n", "x").text_key == Datum("2", "a STRASSE", "x").text_key
    assert Datum("1", "a b", "x").text_key != Datum("2", "ab", "x").text_key


@pytest.mark.parametrize(("change", "said"), [
    ({"text": None}, "'text' is null"), ({"text": "  "}, "'text' is empty"), ({"text": 3}, "'text' is a number"),
    ({"label": None}, "'label' is null"), ({"label": 0.5}, "'label' is a number"), ({"label": " "}, "'label' is empty"),
    ({"label": True}, "'label' is true or false"), ({"id": None}, "'id' is null"), ({"user": None}, "'user' is null"),
    ({"user": ""}, "'user' is empty"), ({"id": "b"}, "used before, in line 1"),
])
def test_bad_rows(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = write(tmp_path / "d.jsonl", {**GOOD, "id": "b"}, {**GOOD, **change})
    with pytest.raises(InputError, match=said) as caught:
        read_data(path, "user")
    assert "line 2" in str(caught.value)
    assert "MARK" not in str(caught.value)


@pytest.mark.parametrize("column", ["id", "text", "label", "user"])
def test_missing_columns(tmp_path: Path, column: str) -> None:
    path = write(tmp_path / "d.jsonl", {key: value for key, value in GOOD.items() if key != column})
    with pytest.raises(InputError, match=f"there is no '{column}'"):
        read_data(path, "user")


def test_the_group_is_a_column_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--group label is one of"):
        read_data(write(tmp_path / "d.jsonl", GOOD), "label")
