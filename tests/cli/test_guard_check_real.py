"""`guard check` with the built-in policies and the real guard."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.guard.policy import Policy

Cli = Callable[..., Any]
ONE_PERSON = "The patient, a 47-year-old welder from Omaha, came to the clinic with his two sons."
NOBODY = "Ibuprofen lowers fever and eases pain in adults."


def test_one_person_is_held_and_nobody_passes(cli: Cli) -> None:
    ended = cli("guard", "check", ONE_PERSON, "--domain", "medical", "--json", "--explain")
    verdict = json.loads(ended.out)
    assert (ended.code, verdict["action"], verdict["layer"]) == (0, "flag", "contextual")
    assert {"age", "occupation"} <= {e["type"] for e in verdict["evidence"]}
    assert verdict["policy"] == Policy.of("medical").label()
    assert set(verdict["findings"][0]) == {"type", "subject", "person", "start", "end", "why", "layer", "counts"}
    words = ("welder", "Omaha", "47-year")
    assert not any(w in ended.out for w in words)
    assert json.loads(cli("guard", "check", NOBODY, "--domain", "medical", "--json").out)["action"] == "safe"


def test_what_the_question_says_is_told_back(cli: Cli) -> None:
    args = ("guard", "check", "As a 47-year-old welder from Omaha you may take it.", "--domain", "medical", "--json")
    told = json.loads(cli(*args, "--question", "I am a 47-year-old welder from Omaha. May I take aspirin?").out)
    assert told["action"] == "safe"


@pytest.mark.parametrize(("args", "expected"), [
    (["--domain", "cooking"], "unknown domain 'cooking': expected one of finance, law, medical"),
    (["--domain", "medical", "--audience", "nobody"], "no audience 'nobody'; expected one of public"),
    (["--policy", "none.yaml"], "cannot read the policy none.yaml"),
    (["--guard", "folder", "--domain", "medical"], "folder is no folder; expected one that holds guard.json"),
    (["--domain", "medical", "--point", "costs"], "unknown operating point 'costs': expected one of conservative, "),
    ([], "there is no policy to judge by; expected --domain, --policy or --guard"),
])
def test_policies_that_cannot_be(cli: Cli, args: list[str], expected: str) -> None:
    ended = cli("guard", "check", ONE_PERSON, *args)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert expected in ended.err


def test_a_policy_file(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(files("discreet.domains").joinpath("law", "policy.yaml").read_text(encoding="utf-8"))
    assert "policy law/" in cli("guard", "check", NOBODY, "--policy", path).out
    ended = cli("guard", "check", NOBODY, "--policy", path, "--domain", "medical")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "is a policy for 'law'; expected one for 'medical'" in ended.err
    path.write_text("domain: [")
    ended = cli("guard", "check", NOBODY, "--policy", path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "mine.yaml" in ended.err


def test_a_whole_run(cli: Cli, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    rows = [{"id": i, "answer": text} for i, text in enumerate([ONE_PERSON, NOBODY] * 20)]
    source.write_text("".join(json.dumps(r) + "\n" for r in rows))
    ended = cli("guard", "check", "--domain", "medical", "--input", source, "--out", tmp_path / "run", "--fail-on-flag")
    assert ended.code == 1
    assert "\n40 answers: 20 safe, 20 flag, 0 abstain, 0 failed" in ended.out
    assert "20 of 40 answers were held: 20 could single a person out." in (tmp_path / "run/report.html").read_text()
    for path in (tmp_path / "run").rglob("*.*"):
        assert "welder" not in path.read_text()


def test_an_interrupt_leaves_nothing_half_written(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
    process = subprocess.Popen(
        # A shell that starts the tests in the background hands them an ignored SIGINT.
        [sys.executable, "-c", "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
         "from discreet.cli.main import run; sys.exit(run())", "guard", "check",
         "--domain", "medical", "--output", tmp_path / "o.jsonl", "--json"],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None
    with process:
        process.stdin.write(json.dumps({"id": "1", "answer": ONE_PERSON}) + "\n")
        process.stdin.flush()
        deadline = time.monotonic() + 30
        while process.poll() is None and not list(tmp_path.glob(".o.jsonl.*.part")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not (tmp_path / "o.jsonl").exists()
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
    assert (process.returncode, said) == (130, "discreet: interrupted; nothing was left half-written\n")
    assert os.listdir(tmp_path) == []
