from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import discreet
from discreet.cli.main import guarded
from discreet.core.errors import DetectorError, InputError, MissingExtraError, UsageError

RUN = [sys.executable, "-c", "import sys; from discreet.cli.main import run; sys.exit(run())"]
ENV = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}


def raising(error: BaseException) -> Callable[[], object]:
    def command() -> object:
        raise error

    return command


@pytest.mark.parametrize(("error", "code", "said"), [
    (UsageError("a b"), 2, "discreet: a b\n"),
    (InputError("two\nlines"), 2, "discreet: two lines\n"),
    (MissingExtraError("x", "audit", "scipy"), 2, "discreet: x needs the package 'scipy'"),
    (DetectorError("names", "KeyError"), 1, "discreet: names failed with KeyError"),
    (KeyboardInterrupt(), 130, "discreet: interrupted"),
    (typer.Abort(), 130, "discreet: interrupted"),
    (typer.Exit(3), 3, ""),
    (BrokenPipeError(), 141, ""),
    (OSError(28, "No space left on device", "o.jsonl"), 2, "discreet: the system refused o.jsonl: no space left"),
    (typer.BadParameter("secret words here"), 2, "discreet: Invalid value: … (see discreet --help)\n"),
    (ValueError("secret words here"), 2, "discreet: unexpected ValueError; this is a mistake in discreet"),
    (RecursionError("secret words here"), 2, "discreet: unexpected RecursionError"),
])
def test_every_end_has_its_code_and_at_most_one_line(error: BaseException, code: int, said: str,
                                                     capsys: pytest.CaptureFixture[str],
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    assert guarded(raising(error), ["secret words here"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert err.count("\n") == (1 if said else 0)
    assert "secret" not in err


def test_no_error() -> None:
    assert guarded(lambda: None, []) == 0


def test_version(cli: Callable[..., Any]) -> None:
    assert cli("--version").out == f"discreet {discreet.__version__}\n"


def test_as_a_process() -> None:
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
