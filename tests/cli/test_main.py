"""The table of commands, their options and help, and what they load."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
import yaml

from discreet.cli import library
from discreet.cli.main import COMMANDS, app
from discreet.cli.options import group, numbers_of, planted_of, with_options
from discreet.core.errors import UsageError
from discreet.core.runs import Run

Cli = Callable[..., Any]
LEAVES = [path for path, (where, _, _) in COMMANDS.items() if where is not None]


def command(path: str) -> Any:
    found: Any = typer.main.get_command(app)
    for name in path.split():
        found = found.get_command(None, name)
    return found


@pytest.mark.parametrize("path", LEAVES)
def test_every_option_stands_once_under_a_heading_with_its_help(cli: Cli, path: str) -> None:
    ended = cli(*path.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    names = [name for parameter in command(path).params for name in parameter.opts]
    assert len(names) == len(set(names))
    assert all(parameter.help for parameter in command(path).params)
    headings = [line for line in ended.out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings[-1] in ("Output:", "Options:")
    assert ended.out.count("--help") == 1


@pytest.mark.parametrize("path", ["", *(path for path in COMMANDS if path not in LEAVES)])
def test_a_group_alone_shows_what_is_in_it(cli: Cli, path: str) -> None:
    ended = cli(*path.split())
    assert (ended.code, ended.err) == (0, "")
    inside = [one for one in COMMANDS if one.startswith(f"{path} ".lstrip()) and one.count(" ") == len(path.split())]
    assert inside
    for one in inside:
        assert one.split()[-1] in ended.out.split()


@pytest.mark.parametrize(("words", "said"), [
    (("audit", "lables"), "No such command 'lables'"), (("guard", "check", "--domian", "law"), "No such option"),
    (("audit", "labels", "plan", "--scores", "x"), "No such option: --scores"),
    (("audit", "membership", "scores", "x", "--recipe", "mlp"), "No such option: --recipe"),
    (("audit", "membership", "train", "--recipe", "mlp"), "Missing option '--data'")])
def test_what_is_no_command_or_option_of_it_is_one_line(cli: Cli, words: tuple[str, ...], said: str) -> None:
    ended = cli(*words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert said in ended.err


def test_everything_that_commands_use_is_where_the_table_says() -> None:
    commands = Path(library.__file__).parent.glob("*.py")
    used = set(re.findall(r"\blib\.(\w+)", "".join(path.read_text(encoding="utf-8") for path in commands)))
    assert len(used) > 30
    for name in used:
        assert getattr(library, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(library, "nothing")  # noqa: B009


@group("Size")
class Size:
    width: Annotated[int, typer.Option("--width", help="W.")] = 3
    height: Annotated[int | None, typer.Option("--height", help="H.", rich_help_panel="Other")] = None


def test_a_group_becomes_one_option_a_field() -> None:
    def area(name: str, *, size: Size) -> str:
        return f"{name} {size.width} {size.height}"

    made = with_options(area)
    assert list(signature(made).parameters) == ["name", "width", "height"]
    headings = [signature(made).parameters[name].annotation.__metadata__[0].rich_help_panel
                for name in ("width", "height")]
    assert headings == ["Size", "Other"]
    assert made(name="a", width=1, height=2) == "a 1 2"

    def twice(*, width: int, size: Size) -> None:
        """Has an option that a group has too."""

    with pytest.raises(TypeError, match="two groups have an option 'width'"):
        with_options(twice)


def test_lists_of_numbers() -> None:
    assert numbers_of("--epsilon", "inf, 4,.5,4.0", float, positive=True, infinite=True) == (float("inf"), 4.0, 0.5)
    assert planted_of(" 1, 4 ,16") == (1, 4, 16)
    assert planted_of("None") == ()
    for wrong in ("", "1,,2", "-1", "0", "1.5", "²", "inf", "nan"):
        with pytest.raises(UsageError, match=r"--planted holds .*; expected whole numbers from 1, with commas"):
            planted_of(wrong)


def test_the_configuration_of_a_run_is_given_again_with_its_argument(cli: Cli, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("n_canaries,train_accuracy,epsilon,success\n100,,1,0.6\n", encoding="utf-8")
    assert cli("audit", "check-table", table, "--out", tmp_path / "one", "--quiet").code == 0
    config = tmp_path / "one" / "config.yaml"
    assert yaml.safe_load(config.read_text(encoding="utf-8")) == {"file": str(table), "alpha": 0.05}
    assert cli("audit", "check-table", "--config", config, "--out", tmp_path / "two", "--quiet").code == 0
    assert (tmp_path / "two" / "config.yaml").read_bytes() == config.read_bytes()


def test_a_folder_of_another_command_is_named(cli: Cli, tmp_path: Path) -> None:
    assert cli("guard", "check", "Two words.", "--domain", "law", "--out", tmp_path / "run", "--quiet").code == 0
    Run.open(tmp_path / "old", {"domain": "law"})
    table = tmp_path / "table.csv"
    table.write_text("n_canaries,train_accuracy,epsilon,success\n100,,1,0.6\n", encoding="utf-8")
    ended = cli("audit", "check-table", table, "--out", tmp_path / "run")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (f"discreet: {tmp_path / 'run'} holds a run of `discreet guard check`: name a new folder, or "
                         "remove this one\n")
    assert "another configuration (differs in: " in cli("audit", "check-table", table, "--out", tmp_path / "old").err
