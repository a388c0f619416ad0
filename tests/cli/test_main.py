"""The table of commands, their options and help, what they load, and how they end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
import yaml
from tests.cli.conftest import MARK, Cli, Refused

import discreet
from discreet.cli import library
from discreet.cli.main import COMMANDS, app, guarded
from discreet.cli.options import group, numbers_of, planted_of, with_options
from discreet.core.errors import DetectorError, InputError, MissingExtraError, UsageError
from discreet.core.runs import Run

LEAVES = [path for path, (where, _, _) in COMMANDS.items() if where is not None]
RUN = [sys.executable, "-c", "import sys; from discreet.cli.main import run; sys.exit(run())"]
ENV = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}


@pytest.mark.parametrize("path", LEAVES)
def test_every_option_stands_once_under_a_heading_with_its_help(cli: Cli, path: str) -> None:
    ended = cli(*path.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    command: Any = typer.main.get_command(app)
    for name in path.split():
        command = command.get_command(None, name)
    names = [name for parameter in command.params for name in parameter.opts]
    assert len(names) == len(set(names))
    assert all(parameter.help for parameter in command.params)
    headings = [line for line in ended.out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings[-1] in ("Output:", "Options:", "Commands:")
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
    (("audit", "lables"), "No such command 'lables'"),
    (("audit", "membership", "mine.csv"), "No such command 'mine.csv'; expected one of scores, model, train,"),
    (("guard", "check", "--domian", "law"), "No such option"),
    (("audit", "labels", "plan", "--scores", "x"), "No such option: --scores"),
    (("audit", "membership", "scores", "x", "--recipe", "mlp"), "No such option: --recipe"),
    (("audit", "membership", "train", "--recipe", "mlp"), "Missing option '--data'"),
    (("synth", "plan", "--n", "0"), "--n is 0; expected at least 1"),
    (("synth", "plan", "--n=2.5"), "--n is 2.5; expected a whole number"),
    (("synth", "plan", "--scale", MARK * 9), "--scale is '…'; expected a number"),
    (("synth", "plan", "law"), "too many arguments were given; expected options alone"),
    (("synth", "status", "a", "b"), "too many arguments were given; expected DIR")])
def test_what_is_no_command_or_option_of_it_is_one_line(refused: Refused, words: tuple[str, ...], said: str) -> None:
    refused(said, *words)


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


def test_a_run_is_of_one_command_and_its_configuration_is_given_again(cli: Cli, refused: Refused,
                                                                      tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("n_canaries,train_accuracy,epsilon,success\n100,,1,0.6\n", encoding="utf-8")
    assert cli("audit", "check-table", table, "--out", tmp_path / "one", "--quiet").code == 0
    config = tmp_path / "one" / "config.yaml"
    assert yaml.safe_load(config.read_text(encoding="utf-8")) == {"file": str(table), "alpha": 0.05}
    assert cli("audit", "check-table", "--config", config, "--out", tmp_path / "two", "--quiet").code == 0
    assert (tmp_path / "two" / "config.yaml").read_bytes() == config.read_bytes()
    refused(f"{tmp_path / 'one'} holds a run of `discreet audit check-table`: name a new folder, or remove this one\n",
            "guard", "check", "Two words.", "--domain", "law", "--out", tmp_path / "one")
    Run.open(tmp_path / "old", {"domain": "law"})
    refused("another configuration (differs in: ", "audit", "check-table", table, "--out", tmp_path / "old")


def raising(error: BaseException) -> Callable[[], object]:
    def command() -> object:
        raise error

    return command


@pytest.mark.parametrize(("error", "code", "said"), [
    (UsageError("a b"), 2, "discreet: a b\n"), (InputError("two\nlines"), 2, "discreet: two lines\n"),
    (MissingExtraError("x", "audit", "scipy"), 2, "discreet: x needs the package 'scipy'"),
    (DetectorError("names", "KeyError"), 1, "discreet: names failed with KeyError"),
    (KeyboardInterrupt(), 130, "discreet: interrupted"), (typer.Abort(), 130, "discreet: interrupted"),
    (typer.Exit(3), 3, ""), (BrokenPipeError(), 141, ""),
    (OSError(28, "No space left on device", "o.jsonl"), 2, "discreet: the system refused o.jsonl: no space left"),
    (typer.BadParameter(f"{MARK} words here"), 2, "discreet: Invalid value: … (see discreet --help)\n"),
    (ValueError(f"{MARK} words here"), 2, "discreet: unexpected ValueError; this is a mistake in discreet"),
    (RecursionError(f"{MARK} words here"), 2, "discreet: unexpected RecursionError"),
])
def test_every_end_has_its_code_and_at_most_one_line(error: BaseException, code: int, said: str,
                                                     capsys: pytest.CaptureFixture[str],
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    assert guarded(lambda: None, []) == 0
    assert guarded(raising(error), [f"{MARK} words here"]) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1 if said else 0)
    assert err.startswith(said)
    assert MARK not in err


def test_as_a_process(cli: Cli) -> None:
    assert cli("--version").out == f"discreet {discreet.__version__}\n"
    ended = subprocess.run([*RUN, "guard", "check", "x"], env=ENV, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("discreet: there is no policy to judge by")
    assert ended.stderr.count("\n") == 1


def test_a_closed_pipe_is_quiet() -> None:
    script = f"{sys.executable} -c \"{RUN[2]}\" guard check --help | true; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", script], env=ENV, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert ended.stdout.strip() in ("0", "141")


def test_a_terminal_that_knows_no_unicode() -> None:
    ended = subprocess.run([*RUN, "guard", "check", "--config", "naïve.yaml"], capture_output=True, check=False,
                           env={**ENV, "PYTHONIOENCODING": "ascii"})
    assert ended.returncode == 2
    assert b"na\\xefve.yaml" in ended.stderr
