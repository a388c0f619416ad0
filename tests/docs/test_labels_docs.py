"""docs/labels.md executes: the example in Python, the commands on the table that it makes, the table of its format."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from discreet.cli import main
from discreet.core.errors import InputError
from discreet.scores.load import load_scores

PAGE = Path(__file__).resolve().parents[2] / "docs" / "labels.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_example_and_the_commands_give_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        exec(compile(code, PAGE.name, "exec"), names)
    commands = re.findall(r"```console\n\$ discreet (.*)\n(.*)\n```", TEXT)
    assert len(commands) == 3
    quick = {"scores.parquet": ["--permutations", "19", "--quiet"], "labels plan": ["--quiet"],
             "--recipe": ["--permutations", "0", "--no-tune", "--references", "0", "--engine", "inline", "--quiet"]}
    for (command, said), expected in zip(commands, (1, 1, 0), strict=True):
        capsys.readouterr()
        [more] = [words for option, words in quick.items() if option in command]
        assert main.run([*shlex.split(command), *more]) == expected
        assert capsys.readouterr().out.splitlines()[0] == said
    for folder in ("run", "trained"):
        assert (tmp_path / folder / "report.html").is_file()


def test_the_table_of_the_page_is_one(tmp_path: Path) -> None:
    block = re.search(r"```text\n(model,.*?)```", TEXT, re.S)
    assert block is not None
    (tmp_path / "scores.csv").write_text(block.group(1), encoding="utf-8")
    table = load_scores(tmp_path / "scores.csv")
    assert (len(table.examples), table.n_classes, table.models[0].epsilon) == (5, 2, 2.0)
    (tmp_path / "scores.csv").write_text(block.group(1).replace("canary,0,1", "canary,0,0"), encoding="utf-8")
    with pytest.raises(InputError, match="class 1 has no canary"):
        load_scores(tmp_path / "scores.csv")


def test_every_option_of_the_page_is_one() -> None:
    tree: Any = typer.main.get_command(main.app)
    known = {name for command in tree.commands["audit"].commands["labels"].commands.values()
             for param in command.params for name in (*param.opts, *param.secondary_opts)}
    rows = re.findall(r"^\| (`--[^|]*) \|", TEXT, re.M)
    named = {name for row in rows for name in re.findall(r"`(--[a-z-]+)`", row)}
    assert len(named) == 21
    assert named <= known
