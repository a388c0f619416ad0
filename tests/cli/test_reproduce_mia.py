"""`discreet reproduce mia` at the scale smoke, once for all tests of this file; and what it refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from discreet.cli.main import run
from discreet.studies.mia.reproduction import ORDER

FAST = ("--engine", "inline", "--permutations", "9", "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rerun") / "run"
    assert run(["reproduce", "mia", *FAST, "--table", "1", "--table", "2", "--table", "7", "--figure", "2",
                "--figure", "3", "--out", str(out)]) == 0
    assert run(["reproduce", "mia", *FAST, "--figure", "4", "--section", "8.2", "--section", "size", "--section",
                "mismatched", "--section", "users", "--table", "10", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return found


def test_a_later_call_adds_to_the_items_of_an_earlier_one(record: dict[str, Any]) -> None:
    assert list(record["items"]) == [name for name in ORDER if name not in (
        "table 6", "table 8", "table 9", "section 7.1")]
    assert [record[name] for name in ("kind", "schema", "scale", "analogue")] == ["reproduce mia", 1, "smoke", True]
    assert record["provenance"]["seeds"] == [42]
    assert record["provenance"]["paraphraser"] == "rules"


def test_rows_have_estimates_with_placebos_beside_them(record: dict[str, Any]) -> None:
    for name in ("table 7", "table 10", "size", "mismatched", "users", "figure 3"):
        rows = record["items"][name]["rows"]
        assert rows
        for row in rows:
            assert {"corpus", "structure", "model", "regime", "variant", "definition", "auc", "placebo"} <= set(row)
            assert row["auc"]["value"] is None or row["placebo"]["value"] is not None
    for row in record["items"]["section 8.2"]["rows"]:
        assert row["non_boundary_auc"]["value"] is not None
        assert row["non_boundary_placebo"]["value"] is not None
        assert ("boundary_change" in row) is (row["variant"] != "plain")
    assert {row["variant"] for row in record["items"]["mismatched"]["rows"]} == {"matched", "mismatched made_up_users"}
    assert [row["unit"] for row in record["items"]["users"]["rows"]].count("user") == 1


def test_the_papers_definition_finds_a_leak_in_a_placebo_and_the_honest_one_does_not(record: dict[str, Any]) -> None:
    """The reference of the paper's definition has the non-members by heart, whatever the target is."""
    found = {row["definition"]: row for row in record["items"]["table 7"]["rows"] if row["attack"] == "reference"}
    assert found["paper"]["placebo"]["low"] > 0.5
    assert found["honest, logit"]["placebo"]["low"] < 0.5 < found["honest, logit"]["auc"]["low"]


def test_the_folder_holds_page_tables_and_figures_without_text(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    tables = (folder / "tables.md").read_text(encoding="utf-8")
    assert "made-up sentences" in page.lower()
    assert "paper's AUC" not in page + tables
    assert tables.count("### ") == 11
    names = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert names == {path.stem for path in (folder / "figures").glob("*.csv")}
    assert {"figure-2-made_up", "figure-3-tenths", "figure-4-noise", "section-8.2", "size"} <= names
    with (folder / "figures" / "figure-2-made_up.csv").open(encoding="utf-8", newline="") as handle:
        assert {row["label"] for row in csv.DictReader(handle)} == {"safe", "unsafe", "both"}
    said = json.loads((folder / "data" / "made_up-0.jsonl").read_text(encoding="utf-8").splitlines()[0])["text"]
    for path in folder.rglob("*"):
        if path.is_file() and path.parent != folder / "data":
            assert said.encode() not in path.read_bytes(), path


def test_the_page_is_rendered_again_from_the_folder(folder: Path, cli: Callable[..., Any]) -> None:
    before = (folder / "report.html").read_text(encoding="utf-8")
    (folder / "report.html").unlink()
    ended = cli("report", folder)
    assert (ended.code, ended.out.strip()) == (0, str(folder / "report.html"))
    assert (folder / "report.html").read_text(encoding="utf-8") == before


def test_going_on_does_nothing_twice(folder: Path, cli: Callable[..., Any]) -> None:
    log = folder / "store" / "log.jsonl"
    begun = log.read_text(encoding="utf-8").count('"begin"')
    ended = cli("reproduce", "mia", *FAST[:-1], "--table", "7", "--section", "8.2", "--out", folder, "--json")
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    assert list(record["items"]) == ["table 7", "section 8.2"]
    assert log.read_text(encoding="utf-8").count('"begin"') == begun
    kept = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert record["items"]["table 7"] == kept["items"]["table 7"]
    assert len(kept["items"]) == 11


def test_markdown_is_of_this_call_alone(folder: Path, cli: Callable[..., Any]) -> None:
    ended = cli("reproduce", "mia", *FAST[:-1], "--table", "2", "--out", folder)
    assert ended.out.count("### ") == 1
    assert "| made_up | single-turn | none | 1,400 | 50.0% | 9, 9, 9 |" in ended.out


def test_seeds_and_corpora(folder: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    ended = cli("reproduce", "mia", "--table", "1", "--seeds", "7,8,7", "--corpora", "made_up_users,made_up",
                "--engine", "inline", "--json", "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    assert record["provenance"]["seeds"] == [7, 8]
    assert [row["corpus"] for row in record["items"]["table 1"]["rows"]] == ["made_up"]
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text(encoding="utf-8"))
    assert config == {"scale": "smoke", "seed": 42, "permutations": 99, "dtype": "auto"}


@pytest.mark.parametrize(("options", "said"), [
    (("--table", "3"), "there is no table 3; expected table 1, "),
    (("--figure", "5"), "there is no figure 5; expected table 1, "),
    (("--section", "9.9"), "there is no section 9.9; expected table 1, "),
    (("--scale", "huge"), "there is no scale 'huge'; expected one of smoke, small, paper"),
    (("--corpora", "mine"), "--corpora holds 'mine'; expected some of made_up, "),
    (("--corpora", "davidson"), "--corpora names none of --scale smoke; expected some of made_up, made_up_users"),
    (("--dtype", "int8"), "--dtype is 'int8'; expected auto, float32, bfloat16"),
    (("--seeds", "1,x"), "--seeds holds 'x'; expected whole numbers from 0, with commas between them"),
    (("--scale", "small"), "--scale small was given without --data; expected the folder of public data sets"),
    (("--data", "nowhere"), "nowhere is not a folder; expected the folder of public data sets"),
    (("--section", "8.2", "--paraphraser", "parrot"), "parrot")])
def test_bad_input_is_one_line(cli: Callable[..., Any], options: tuple[str, ...], said: str) -> None:
    ended = cli("reproduce", "mia", *options, *FAST)
    assert ended.code == 2
    assert ended.out == ""
    [line] = ended.err.splitlines()
    assert said in line


def test_a_data_folder_without_the_set_is_one_line(cli: Callable[..., Any], tmp_path: Path) -> None:
    ended = cli("reproduce", "mia", "--scale", "small", "--data", tmp_path, "--table", "2", *FAST)
    assert ended.code == 2
    [line] = ended.err.splitlines()
    assert "expected the folder of public data with the data set beavertails_mini in it" in line


def test_the_paper_scale_without_a_hub_is_one_line(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    def unreachable(*args: Any, **options: Any) -> Any:
        raise ConnectionError("no route")

    monkeypatch.setattr(import_module("datasets"), "load_dataset", unreachable)
    ended = cli("reproduce", "mia", "--scale", "paper", "--table", "1", *FAST)
    assert ended.code == 2
    [line] = ended.err.splitlines()
    assert "--scale paper needs the Hugging Face hub" in line
