"""`discreet reproduce blia` at the scale smoke, a corpus and a seed at a time; and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from discreet.cli.main import run

FAST = ("--engine", "inline", "--quiet", "--seeds", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rerun") / "run"
    assert run(["reproduce", "blia", *FAST, "--corpora", "made_up_texts", "--table", "5", "--figure", "2",
                "--out", str(out)]) == 0
    assert run(["reproduce", "blia", *FAST, "--corpora", "made_up", "--epsilon", "2", "--table", "4", "--figure", "2",
                "--section", "utility", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return found


def test_a_later_call_adds_items_and_corpora(record: dict[str, Any]) -> None:
    assert list(record["items"]) == ["table 4", "table 5", "figure 2", "section utility"]
    rows = record["items"]["figure 2"]["rows"]
    assert [(row["corpus"], row["mechanism"], row["epsilon"]) for row in rows] == [
        ("made_up", "none", "inf"), ("made_up", "rr", 2.0), ("made_up", "rr_halved", 2.0),
        ("made_up_texts", "none", "inf"), ("made_up_texts", "rr", 1.0), ("made_up_texts", "rr_halved", 1.0)]
    assert set(record["provenance"]["corpora"]) == {"made_up", "made_up_texts"}
    assert [record[name] for name in ("kind", "schema", "scale", "analogue")] == ["reproduce blia", 1, "smoke", True]


def test_without_noise_memory_is_seen_and_the_oracle_is_seen_in_placebos_too(record: dict[str, Any]) -> None:
    row = record["items"]["table 4"]["rows"][0]
    assert row["threshold"]["success"]["low"] > 0.55
    assert row["threshold"]["placebo"]["low"] < 0.5 < row["threshold"]["placebo"]["high"]
    assert row["delta_margin"]["placebo"]["low"] > 0.5


def test_the_folder_holds_page_tables_and_figures_without_rows_of_the_data(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    tables = (folder / "tables.md").read_text(encoding="utf-8")
    assert "made-up data" in page.lower()
    assert tables.count("### ") == 4
    names = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert names == {path.stem for path in (folder / "figures").glob("*.csv")}
    assert names == {"figure-2-made-up", "figure-2-made-up-texts", "utility-made-up"}
    said = json.loads((folder / "data" / "made_up_texts-400.jsonl").read_text(encoding="utf-8").splitlines()[0])["text"]
    for path in folder.rglob("*"):
        if path.is_file() and path.parent != folder / "data":
            assert said.encode() not in path.read_bytes(), path
    assert yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8")) == {"scale": "smoke"}


def test_the_page_is_rendered_again_from_the_folder(folder: Path, cli: Callable[..., Any]) -> None:
    before = (folder / "report.html").read_text(encoding="utf-8")
    (folder / "report.html").unlink()
    assert cli("report", folder).code == 0
    assert (folder / "report.html").read_text(encoding="utf-8") == before


def test_going_on_does_nothing_twice(folder: Path, cli: Callable[..., Any]) -> None:
    log = folder / "store" / "log.jsonl"
    begun = log.read_text(encoding="utf-8").count('"begin"')
    ended = cli("reproduce", "blia", "--engine", "inline", "--seeds", "1", "--corpora", "made_up_texts", "--table", "5",
                "--out", folder, "--json")
    assert ended.code == 0, ended.err
    assert list(json.loads(ended.out)["items"]) == ["table 5"]
    assert log.read_text(encoding="utf-8").count('"begin"') == begun
    kept = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert len(kept["items"]) == 4
    assert len(kept["items"]["figure 2"]["rows"]) == 6


@pytest.mark.parametrize(("options", "said"), [
    (("--table", "9"), "there is no table 9; expected table 2, "),
    (("--figure", "5"), "there is no figure 5; expected table 2, "),
    (("--section", "size"), "there is no section size; expected table 2, "),
    (("--scale", "huge"), "there is no scale 'huge'; expected one of smoke, small, paper"),
    (("--corpora", "mine"), "--corpora holds 'mine'; expected some of made_up, "),
    (("--corpora", "imdb"), "--corpora names none of --scale smoke; expected some of made_up, made_up_texts"),
    (("--epsilon", "7"), "--epsilon is '7'; expected some of inf, 2, 1, 0.5"),
    (("--epsilon", "x"), "--epsilon holds 'x'; expected numbers above 0, or inf"),
    (("--seeds", "1,x"), "--seeds holds 'x'; expected whole numbers from 0, with commas between them"),
    (("--scale", "small"), "--scale small was given without --data; expected the folder of public data sets"),
    (("--data", "nowhere"), "nowhere is not a folder; expected the folder of public data sets")])
def test_bad_input_is_one_line(cli: Callable[..., Any], options: tuple[str, ...], said: str) -> None:
    ended = cli("reproduce", "blia", *options)
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert said in line


def test_a_data_folder_without_the_set_is_one_line(cli: Callable[..., Any], tmp_path: Path) -> None:
    ended = cli("reproduce", "blia", "--scale", "small", "--data", tmp_path, "--table", "5", *FAST)
    assert ended.code == 2
    [line] = ended.err.splitlines()
    assert "expected the folder of public data with the data set imdb in it" in line
