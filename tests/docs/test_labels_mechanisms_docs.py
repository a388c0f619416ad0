"""docs/labels_mechanisms.md executes; its table names every mechanism, its command has the options that it is given."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import typer

from discreet.audit.labels.table_rows import COLUMNS
from discreet.cli.main import app
from discreet.mechanisms.labels.base import label_mechanisms

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "labels_mechanisms.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order() -> None:
    namespace: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "labels_mechanisms.md", "exec"), namespace)
    assert namespace["bound"].n == 1000


def test_every_mechanism_is_in_the_table() -> None:
    table = PAGE.split("| name |")[1].split("\n\n")[0]
    assert {row.split("|")[1].strip(" `") for row in table.splitlines()[2:]} == set(label_mechanisms)


def test_the_command_has_its_options_and_columns() -> None:
    command = typer.main.get_command(app).commands["audit"].commands["check-table"]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts}
    [block] = re.findall(r"```console\n(.*?)```", PAGE, re.S)
    assert {word for line in block.splitlines() for word in shlex.split(line[2:]) if word.startswith("--")} <= options
    row = PAGE.split("A row is a figure:")[1].split("It exits")[0]
    assert set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", row)))) == {*COLUMNS, "prediction"}
