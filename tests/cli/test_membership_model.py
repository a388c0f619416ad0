"""`discreet audit membership model`: what goes together, and what is said of it. docs/models.md is executed apart."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.scores.adapters.conftest import write_model
from typer.testing import CliRunner, Result

from discreet.cli.main import app
from discreet.core.files import KeyedHash
from discreet.scores.load import load_scores

MODULE = "brought_to_command"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / f"{MODULE}.py").write_text(
        "def target(texts): return [[0.0, (len(t) * 7 + ord(t[0])) % 5 - 2.0] for t in texts]\n"
        "def placebo(texts): return [[0.0, (len(t) * 3 + ord(t[-1])) % 7 - 3.0] for t in texts]\n")
    for side in ("members", "others"):
        rows = [{"id": f"{side}{n}", "text": f"{side[0]} secret words {'x' * n}", "label": n % 2} for n in range(40)]
        (tmp_path / f"{side}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    yield tmp_path
    sys.modules.pop(MODULE, None)


def ran(*words: str) -> Result:
    return CliRunner().invoke(app, ["audit", "membership", "model", *words])


BOTH = ("--members", "members.jsonl", "--nonmembers", "others.jsonl", "--permutations", "0")
TARGET = ("--model", f"python:{MODULE}:target")


@pytest.mark.parametrize(("words", "message"), [
    ((*TARGET, *BOTH, "--show-text"), "no selection model says where that is; expected --selector M"),
    ((*TARGET, *BOTH, "--reference", "x"), "expected KIND=MODEL"),
    ((*TARGET, *BOTH, "--dtype", "half"), "dtype is 'half'"),
    ((*TARGET, *BOTH, "--selector", TARGET[1]), "same model is given twice"),
    ((*TARGET, *BOTH, "--prompt", "sfaety"), "the prompt is 'sfaety': expected one of safety, depression, none, auto"),
    ((*TARGET, *BOTH, "--prompt", "@none.txt"), "cannot read the prompt in none.txt: no such file"),
    ((*TARGET, *BOTH, "--prompt", "safety"), "a prompt was given for a Python object"),
    (("--model", "http://127.0.0.1:9/score", *BOTH, "--prompt", "safety"), "a prompt was given for a Python object"),
    (("--model", "./none", *BOTH), "there is no folder './none'"),
    (("--model", f"python:{MODULE}:none", *BOTH), "there is no none"),
])
def test_one_line_for_a_mistake(words: tuple[str, ...], message: str) -> None:
    done = ran(*words)
    error = done.exception
    assert message in str(error)
    assert "\n" not in str(error)
    assert getattr(error, "exit_code", None) == 2


def test_the_run_and_its_report(desk: Path) -> None:
    done = ran(*TARGET, *BOTH, "--placebo", f"python:{MODULE}:placebo", "--out", "run", "--report", "page.html",
               "--design", "randomised")
    assert done.exit_code in (0, 1, 3), done.output
    result = json.loads((desk / "run" / "result.json").read_text())
    assert [model.name for model in load_scores(desk / "run" / "scores.parquet").models] == ["placebo", "target"]
    assert result["controls"]["blind_auc"]["value"] is not None
    assert result["provenance"]["scored_target"].startswith("model type function; fingerprint ")
    for file in (desk / "run").rglob("*"):
        assert file.is_dir() or b"secret words" not in file.read_bytes()
    page = (desk / "page.html").read_text()
    assert "secret words" not in page
    assert "model type function" in page


def test_words_are_shown_when_asked() -> None:
    words = (*TARGET, *BOTH, "--selector", f"python:{MODULE}:placebo")
    assert "secret words" in ran(*words, "--show-text").output
    assert "secret words" not in ran(*words).output


def test_scores_that_are_cached(desk: Path) -> None:
    for _ in range(2):
        assert ran(*TARGET, *BOTH, "--cache", "kept").exit_code == 3
    assert len(list((desk / "kept").rglob("*.npz"))) == 1


def test_a_prompt_is_recorded_and_its_words_are_not(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_HASH_KEY", "ab" * 32)
    (desk / "own.txt").write_text("Does anybody here mention marmalade?\n")
    write_model(desk / "model", "llama", num_labels=2)
    for way in ((), ("--chat",)):
        done = ran("--model", "model", *BOTH, "--max-tokens", "200", "--prompt", "@own.txt", *way, "--out",
                   f"run{len(way)}")
        assert done.exit_code == 3, done.output
    said = [json.loads((desk / f"run{n}" / "result.json").read_text())["provenance"] for n in (0, 1)]
    assert [f"chat template {word}; prompt @own.txt (yours);" in one["scored_target"]
            for word, one in zip(("no", "yes"), said, strict=True)] == [True, True]
    expected = KeyedHash(bytes.fromhex("ab" * 32)).of_file(desk / "own.txt")
    assert {one["prompt_hash"] for one in said} == {expected}
    for file in desk.glob("run*/**/*"):
        assert file.is_dir() or b"marmalade" not in file.read_bytes()
