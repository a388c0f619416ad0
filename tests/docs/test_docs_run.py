"""Documentation executes: Python blocks run, commands run, policies parse, links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from discreet.guard.policy import Policy
from discreet.text.direct.detect import recognisers

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


def test_readme_python_runs_in_order() -> None:
    namespace: dict[str, Any] = {}
    code = blocks(ROOT / "README.md", "python")
    assert len(code) >= 2
    for block in code:
        exec(compile(block, "README.md", "exec"), namespace)


def test_readme_commands_run() -> None:
    commands = [c for b in blocks(ROOT / "README.md", "console") for c in re.findall(r"^\$ ((?:.*\\\n)*.*)", b, re.M)]
    assert commands
    for command in commands:
        words = shlex.split(command.replace("\\\n", " "))
        assert words[0] == "discreet"
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=True)
        assert "flag" in done.stdout


def test_the_recogniser_of_contributing_finds_a_badge() -> None:
    from discreet.core.unicode import prepare
    from discreet.text.direct.detect import find_direct

    namespace: dict[str, Any] = {}
    list(recognisers)
    try:
        exec(compile(blocks(ROOT / "CONTRIBUTING.md", "python")[0], "CONTRIBUTING.md", "exec"), namespace)
        found = find_direct(prepare("The officer wore badge number 40213 that day."), types=["badge"])
        assert [(s.type, s.start) for s in found] == [("badge", 30)]
    finally:
        recognisers._items.pop("badge", None)


def test_the_policy_of_the_docs_is_one(tmp_path: Path) -> None:
    [text] = blocks(ROOT / "docs" / "guard.md", "yaml")
    file = tmp_path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    policy = Policy.load(file, "treating")
    assert (policy.subjects, policy.cluster) == ((), yaml.safe_load(text)["audiences"]["treating"]["cluster"])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
