"""docs/defend.md executes; its table names every mechanism, its words every figure and option."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from discreet.audit.defences.figures import SHOWN, Figure, Frontier, Point
from discreet.audit.membership.rows import RowSpec
from discreet.cli.main import app
from discreet.core.records import Estimate
from discreet.mechanisms.base import output_mechanisms

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "defend.md").read_text(encoding="utf-8")


def column(header: str) -> set[str]:
    table = PAGE.split(header)[1].split("\n\n")[0]
    return {part for row in table.splitlines()[2:] for part in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_the_example_runs() -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    namespace: dict[str, Any] = {}
    exec(compile(code, "defend.md", "exec"), namespace)
    assert namespace["answers"].shape == (2, 2)


def test_every_mechanism_is_in_the_table() -> None:
    assert column("| name |") == set(output_mechanisms)


def test_every_figure_is_one() -> None:
    none = Estimate.unresolved("no")
    asked = RowSpec("loss", "p", None)
    point = Point("none", None, None, "none", 1, "same", None, None, none, none,
                  (Figure(asked, 0, 0, none, none, none),))
    said = Frontier("A", None, 1, 1, 0.1, None, asked, (point,), ()).to_json()["points"][0]
    known = {*said, *said["utility"], *said["attacks"][0]}
    named = column("| figure |")
    assert len(named) == 9
    assert named <= known
    assert {f.name for f in fields(Point)} >= {"accuracy", "missed_positives"}
    assert f"the first {('', 'one', 'two', 'three')[SHOWN]}" in PAGE


def test_the_commands_have_the_options_that_the_page_gives_them() -> None:
    command = typer.main.get_command(app).commands["defend"].commands["frontier"]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts}
    [block] = re.findall(r"```console\n(.*?)```", PAGE, re.S)
    named = {word for line in block.splitlines() for word in shlex.split(line[2:]) if word.startswith("--")}
    named |= set(re.findall(r"`(--[\w-]+)`", PAGE))
    assert {"--scores", "--jitter", "--clip", "--per-side", "--positive"} <= named <= options
    [per_side] = [p.default for p in command.params if "--per-side" in p.opts]
    assert f"at most {per_side:,} a side" in PAGE
