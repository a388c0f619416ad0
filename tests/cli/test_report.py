from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Cli, Refused, jsonl, rendered_again

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.scores.write import write_scores
from discreet.cli.report import PAGES


def test_an_audit_is_rendered_again_as_it_was(cli: Cli, tmp_path: Path) -> None:
    run, scores = tmp_path / "run", tmp_path / "scores.parquet"
    write_scores(simulated_table(World(members=20, others=20, clean=20, selector=10), np.random.default_rng(1)), scores)
    cli("audit", "membership", "scores", scores, "--permutations", 9, "--bootstraps", 5, "--attacks", "loss", "--out",
        run)
    rendered_again(cli, run)
    apart = cli("report", run, "--report", tmp_path / "page.html", "--quiet")
    assert (apart.code, apart.out) == (0, "")
    assert (tmp_path / "page.html").read_bytes() == (run / "report.html").read_bytes()


@pytest.mark.usefixtures("scripted")
def test_a_batch_is_rendered_again(cli: Cli, refused: Refused, tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = jsonl(tmp_path / "rows.jsonl", [{"id": name, "answer": "two words"} for name in ("flag-1", "safe-2")])
    cli("guard", "check", "--domain", "medical", "--input", rows, "--out", run, "--explain", "--quiet")
    rendered_again(cli, run)
    (run / "verdicts.jsonl").unlink()
    refused("verdicts.jsonl", "report", run)


@pytest.mark.parametrize(("content", "said"), [
    (None, "holds no result.json"), ("{", "is not a JSON object"), ("[]", "is not a JSON object"),
    ('{"kind": "stress-test", "schema": 1}', "which has no page; expected one of " + ", ".join(PAGES)),
    ('{"kind": ["audit membership"], "schema": 1}', "which has no page"),
    ('{"kind": "audit membership", "schema": 2}', "has schema 2; expected 1"),
    ('{"kind": "audit membership", "schema": 1}', "lacks what the page"),
])
def test_folders_that_cannot_be_rendered(refused: Refused, tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content, encoding="utf-8")
    refused(said, "report", tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_a_folder_that_is_not_there(refused: Refused, tmp_path: Path) -> None:
    refused("is not there", "report", tmp_path / "none")
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused("is a file", "report", tmp_path / "file")
