from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "make_docs.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_docs", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_cli_docs_are_current(tool: ModuleType) -> None:
    there = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    if f"typer {typer.__version__})" in there:
        assert there == tool.render(), "run: python tools/make_docs.py"
    # Releases of typer lay help out differently; what each option is called and said to do stays.
    tree: Any = typer.main.get_command(tool.app)
    seen = 0
    for path in tool.commands(tree):
        command = tree
        for name in path:
            command = command.get_command(None, name)
        for parameter in command.params:
            for option in parameter.opts:
                assert option in there
            assert squeezed(getattr(parameter, "help", None) or "") in squeezed(there)
            seen += 1
    assert seen >= 18


def test_no_colours_and_a_fixed_width(tool: ModuleType) -> None:
    page = tool.render()
    assert "\x1b" not in page
    blocks = re.findall(r"```text\n(.*?)```", page, flags=re.S)
    assert len(blocks) == len(list(tool.commands(typer.main.get_command(tool.app))))
    assert max(len(line) for block in blocks for line in block.splitlines()) <= tool.COLUMNS


def test_check_notices_a_change(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tool, "TARGET", tmp_path / "docs" / "cli.md")
    monkeypatch.setattr(sys, "argv", ["make_docs.py", "--check"])
    assert tool.main() == 1
    monkeypatch.setattr(sys, "argv", ["make_docs.py"])
    assert tool.main() == 0
    monkeypatch.setattr(sys, "argv", ["make_docs.py", "--check"])
    assert tool.main() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "cli.md is current"
