"""docs/reproduce.md on the label inference paper: commands parse, tables name every item, scale and corpus."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.studies.blia.reproduction import ORDER
from discreet.studies.blia.settings import SETTINGS

WHOLE = (Path(__file__).resolve().parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
PAGE = WHOLE.split("\n## The label inference paper\n")[1]


def rows(header: str) -> list[str]:
    table = PAGE.split(header)[1].split("\n\n")[0]
    return [row.split("|")[1].strip() for row in table.splitlines()[2:]]


def test_every_item_and_scale_is_in_its_table() -> None:
    named = [re.findall(r"`--(table|figure|section) (\w+)`", row)[0] for row in rows("| asked for |")]
    assert [f"{kind} {name}" for kind, name in named] == list(ORDER)
    assert rows("| scale |") == list(SETTINGS)


def test_the_commands_go_as_far_as_their_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    [block] = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    _, *of_data = [line.split("#")[0] for line in block.splitlines()]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "DIR").mkdir()
    for command in of_data:
        assert main.run(shlex.split(command)[1:]) == 2
        assert "expected the folder of public data with the data set" in capsys.readouterr().err


def test_the_stand_ins_are_named() -> None:
    assert {"cifar10_b", "code"} <= set(SETTINGS["small"].corpora) & set(re.findall(r"`(\w+)`", PAGE))
