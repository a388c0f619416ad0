"""`guard pairings` as its user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import write_side

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("partitions")
    for name in ("safe", "unsafe", "borderline"):
        write_side(home / f"{name}.jsonl", name, 80)
    write_side(home / "borderline_eval.jsonl", "borderline", 40, 2)
    return home


def test_evaluates_saves_and_keeps_a_run(cli: Cli, folder: Path, tmp_path: Path) -> None:
    done = cli("guard", "pairings", folder, "--domain", "medical", "--encoders", "lexical",
               "--configurations", "gmm-v3,default", "--save", tmp_path / "guard", "--out", tmp_path / "run", "--json")
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert list(record["configurations"]) == ["gmm-v3", "default"]
    assert record["configurations"]["default"]["borderline"]["auroc"]["unit"] == "text"
    assert json.loads((tmp_path / "run" / "result.json").read_text())["configurations"] == record["configurations"]
    components = {"gmm-v3": {"requested": 8, "safe": 1, "unsafe": 1}}
    assert record["components"] == components
    assert json.loads((tmp_path / "run" / "log.jsonl").read_text())["components"] == components
    leak = "She is a 61-year-old welder from Tulsa with three children. Treatment went well."
    checked = cli("guard", "check", leak, "--guard", tmp_path / "guard", "--json")
    assert checked.code == 0, checked.err


def test_prints_tables(cli: Cli, folder: Path) -> None:
    done = cli("guard", "pairings", folder, "--domain", "medical", "--encoders", "lexical",
               "--configurations", "gmm-v3", "--quiet")
    assert (done.code, done.out) == (0, "")
    done = cli("guard", "pairings", folder, "--domain", "medical", "--encoders", "lexical",
               "--configurations", "gmm-v3")
    assert "AUROC" in done.out
    said = " ".join(done.out.split())
    assert "gmm-v3 K = 1 on the safe side, K = 1 on the unsafe side; 8 requested" in said
    assert "borderline" in done.out


@pytest.mark.parametrize(("words", "said"), [
    (["{folder}"], "--domain"), (["{folder}", "--domain", "medical", "--labelled", "x.jsonl"], "--labelled"),
    (["{folder}", "--domain", "medical", "--configurations", "gmm-v9"], "gmm-v9"),
    (["{folder}", "--domain", "medical", "--configurations", "gmm-v3", "--save", "{folder}/g"], "--save"),
    (["{folder}/nowhere", "--domain", "medical"], "safe.jsonl"),
])
def test_mistakes_are_one_line(cli: Cli, folder: Path, words: list[str], said: str) -> None:
    done = cli("guard", "pairings", "--encoders", "lexical", *(w.format(folder=folder) for w in words))
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
