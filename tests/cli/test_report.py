from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.core.simulate import World, simulated_table
from discreet.cli.report import PAGES
from discreet.scores.write import write_scores

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "scores.parquet"
    write_scores(simulated_table(World(members=20, others=20, clean=20, selector=10), np.random.default_rng(1)), path)
    return path


def test_an_audit_is_rendered_again_as_it_was(cli: Cli, scores: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    cli("audit", "membership", "scores", scores, "--permutations", 9, "--bootstraps", 5, "--out", run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for path in (run / "report.html", run / "figures" / "roc.svg"):
        path.unlink()
    ended = cli("report", run)
    assert (ended.code, ended.out) == (0, f"{run / 'report.html'}\n")
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    apart = cli("report", run, "--report", tmp_path / "page.html", "--quiet")
    assert (apart.code, apart.out) == (0, "")
    assert (tmp_path / "page.html").read_bytes() == (run / "report.html").read_bytes()


@pytest.mark.usefixtures("scripted")
def test_a_batch_is_rendered_again(cli: Cli, tmp_path: Path) -> None:
    run, rows = tmp_path / "run", tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"id": name, "answer": "two words"}) + "\n" for name in ("flag-1", "safe-2")),
                    encoding="utf-8")
    cli("guard", "check", "--domain", "medical", "--input", rows, "--out", run, "--explain", "--quiet")
    before = (run / "report.html").read_bytes()
    (run / "report.html").unlink()
    assert cli("report", run).code == 0
    assert (run / "report.html").read_bytes() == before
    (run / "verdicts.jsonl").unlink()
    ended = cli("report", run)
    assert ended.code == 2
    assert "verdicts.jsonl" in ended.err


@pytest.mark.parametrize(("content", "said"), [
    (None, "holds no result.json"), ("{", "is not a JSON object"), ("[]", "is not a JSON object"),
    ('{"kind": "stress-test", "schema": 1}', "which has no page; expected one of " + ", ".join(PAGES)),
    ('{"kind": ["audit membership"], "schema": 1}', "which has no page"),
    ('{"kind": "audit membership", "schema": 2}', "has schema 2; expected 1"),
    ('{"kind": "audit membership", "schema": 1}', "lacks what the page"),
])
def test_folders_that_cannot_be_rendered(cli: Cli, tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content, encoding="utf-8")
    ended = cli("report", tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


def test_a_folder_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    assert "is not there" in cli("report", tmp_path / "none").err
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "is a file" in cli("report", tmp_path / "file").err
