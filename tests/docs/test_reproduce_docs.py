"""docs/reproduce.md on the membership paper: commands run, tables name every item, scale and definition."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.studies.mia import hf_datasets as hf
from discreet.studies.mia.reproduction import ORDER
from discreet.studies.mia.results import DEFINITIONS
from discreet.studies.mia.settings import SETTINGS

WHOLE = (Path(__file__).resolve().parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
PAGE = WHOLE.split("\n## The label inference paper\n")[0]


def column(header: str) -> str:
    table = PAGE.split(header)[1].split("\n\n")[0]
    return "\n".join(row.split("|")[1] for row in table.splitlines()[2:])


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    [block] = re.findall(r"```console\n(.*?)```", PAGE, re.S)
    first, second = re.findall(r"^\$ discreet (.*)", block, re.M)
    monkeypatch.chdir(tmp_path)
    assert main.run([*shlex.split(first), "--engine", "inline", "--permutations", "0", "--quiet"]) == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert main.run(shlex.split(second)) == 0
    assert capsys.readouterr().out.strip() == "run/report.html"
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8") == page


def test_every_item_is_in_the_table() -> None:
    named = re.findall(r"`--(table|figure|section) ([\w.]+)`", column("| item |"))
    beyond = ("size", "mismatched", "users")
    assert {name if name in beyond else f"{kind} {name}" for kind, name in named} == set(ORDER)


def test_every_scale_and_definition_is_in_its_table() -> None:
    assert re.findall(r"`(\w+)`", column("| `--scale` |")) == list(SETTINGS)
    assert re.findall(r"`([^`]+)`", column("| in the tables |")) == list(DEFINITIONS["reference"])


def test_the_data_sets_of_the_paper_are_named() -> None:
    for name in (hf.BEAVERTAILS, hf.XGUARD, hf.WILDCHAT, hf.ESCONV, hf.DEPRESSION):
        assert f"`{name}`" in PAGE
