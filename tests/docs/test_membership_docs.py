"""docs/membership.md executes: the example in Python, and the command on the table that it makes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from discreet.cli import main
from discreet.scores.load import load_scores
from discreet.scores.write import write_scores

PAGE = Path(__file__).resolve().parents[2] / "docs" / "membership.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_example_and_the_command_give_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, drawing = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    exec(compile(drawing, PAGE.name, "exec"), {})
    namespace: dict[str, Any] = {}
    exec(compile(code, PAGE.name, "exec"), namespace)
    monkeypatch.chdir(tmp_path)
    write_scores(namespace["innocent"], "scores.parquet")
    found = re.search(r"```console\n\$ discreet (.*)\n(.*)\n```", TEXT)
    assert found is not None
    assert main.run([*shlex.split(found.group(1)), "--permutations", "19", "--bootstraps", "20", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == found.group(2)
    assert (tmp_path / "run" / "report.html").is_file()


def test_the_table_of_the_page_is_one(tmp_path: Path) -> None:
    block = re.search(r"```text\n(model,.*?)```", TEXT, re.S)
    assert block is not None
    head, *rows = block.group(1).splitlines()
    others = [row.replace("c-0017", "c-0018").replace("true", "false") for row in rows]
    (tmp_path / "scores.csv").write_text("\n".join([head, *rows, *others, ""]), encoding="utf-8")
    table = load_scores(tmp_path / "scores.csv")
    assert [model.role for model in table.models] == ["target", "placebo", "reference"]


def test_every_option_of_the_page_is_one() -> None:
    tree: Any = typer.main.get_command(main.app)
    known = {name for command in tree.commands["audit"].commands["membership"].commands.values()
             for param in command.params for name in param.opts}
    named = set(re.findall(r"^\| `(--[a-z-]+)`", TEXT, re.M))
    assert len(named) == 10
    assert named <= known
