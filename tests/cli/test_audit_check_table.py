from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import discreet.studies

Cli = Callable[..., Any]
PAPER = Path(discreet.studies.__file__).parent / "blia" / "paper.csv"
HEAD = "benchmark,n_canaries,n_train,train_accuracy,epsilon,success,guess\n"
SOUND = "mine,500,20000,95,inf,97,prediction\nmine,500,20000,80,1,60,prediction\n"


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.csv"
    path.write_text(HEAD + SOUND, encoding="utf-8")
    return path


def test_the_papers_tables_cannot_be(cli: Cli) -> None:
    ended = cli("audit", "check-table", str(PAPER))
    assert (ended.code, ended.err) == (1, "")
    text = ended.out.splitlines()
    assert text[0] == "16 cells are impossible."
    assert text[1].startswith("84 cells: 14 of 72 with a finite epsilon above its ceiling (6 even if labels flip half")
    [line] = [line for line in text if "imdb" in line and "delta" in line and " 0.3 " in line]
    assert re.search(r"89\.20% +> 57\.44% .* 1\.67 ", line)
    assert "above the halved ceiling too" in line
    assert any(re.search("58.75% +81.75% to 100.00%", line) for line in text)
    assert sum("SUSPECT" in line for line in text) == 3


def test_a_sound_table_is_zero(cli: Cli, sound: Path) -> None:
    ended = cli("audit", "check-table", str(sound))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[0] == "Every cell is possible."
    assert "More often right" not in ended.out


def test_json_is_the_record_and_goes_to_the_folder(cli: Cli, tmp_path: Path) -> None:
    ended = cli("audit", "check-table", str(PAPER), "--json", "--out", str(tmp_path / "run"))
    assert (ended.code, ended.err) == (1, "")
    said = json.loads(ended.out)
    assert (said["kind"], said["schema"], said["impossible"], len(said["cells"])) == ("check-table", 1, 16, 84)
    assert said["provenance"]["input"] == "paper.csv"
    assert json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8")) == said
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text(encoding="utf-8"))["alpha"] == 0.05


def test_a_changed_table_needs_another_folder(cli: Cli, sound: Path, tmp_path: Path) -> None:
    args = ("audit", "check-table", str(sound), "--out", str(tmp_path / "run"))
    assert cli(*args).code == cli(*args).code == 0
    sound.write_text(sound.read_text(encoding="utf-8").replace("95", "96"), encoding="utf-8")
    assert "differs in the content of: FILE" in cli(*args).err


def test_quiet_leaves_the_counts_out(cli: Cli, sound: Path) -> None:
    assert "Bonferroni" in cli("audit", "check-table", str(sound)).out
    assert "Bonferroni" not in cli("audit", "check-table", str(sound), "--quiet").out


def test_names_do_not_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "names.jsonl"
    row = {"n_canaries": 500, "train_accuracy": None, "epsilon": 0.3, "success": 0.9, "attack": "a\x1b[31m"}
    path.write_text(json.dumps(row), encoding="utf-8")
    ended = cli("audit", "check-table", str(path))
    assert ended.code == 1
    assert "\x1b" not in ended.out


@pytest.mark.parametrize("options", [
    ("nothing.csv",), (str(PAPER), "--alpha", "0"), (str(PAPER), "--alpha", "1.5"), (),
])
def test_what_cannot_be_asked_is_two(cli: Cli, options: tuple[str, ...]) -> None:
    ended = cli("audit", "check-table", *options)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
