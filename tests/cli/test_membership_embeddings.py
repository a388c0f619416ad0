from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.diagnostics import NAMES
from discreet.scores.load import load_scores
from discreet.scores.write import write_scores

Cli = Callable[..., Any]
QUICK = ("--permutations", 39, "--bootstraps", 5)


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "scores.parquet"
    world = World(members=60, others=0, clean=60, selector=20, paired=0)
    write_scores(simulated_table(world, np.random.default_rng(1)), path)
    return path


@pytest.fixture(scope="module")
def vectors(scores: Path) -> Path:
    """In another order than the scores, members apart from all others."""
    table, rng = load_scores(scores), np.random.default_rng(0)
    order = rng.permutation(len(table.examples))
    values = rng.normal(size=(order.size, 6)) + 5.0 * (table.member[table.of_role("target")[0]] == 1)[:, None]
    np.savez(scores.parent / "vectors.npz", example=table.examples.id[order].astype(str), vectors=values[order])
    return scores.parent / "vectors.npz"


def audit(cli: Cli, path: Path, *more: object) -> Any:
    return cli("audit", "membership", "scores", path, *QUICK, *more)


def test_the_record_the_page_and_the_terminal_have_it(cli: Cli, scores: Path, vectors: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = audit(cli, scores, "--embeddings", vectors, "--out", run)
    assert (ended.code, ended.err) == (3, "")
    found = json.loads((run / "result.json").read_text(encoding="utf-8"))["embedding"]
    assert found["representation"] == "the vectors of vectors.npz"
    by_name = {one["name"]: one for one in found["diagnostics"]}
    assert set(by_name) == set(NAMES)
    # Right only if the vectors were brought into the order of the scores.
    assert by_name["side_agreement"]["estimate"]["value"] > 0.95
    assert by_name["side_agreement"]["p"]["value"] == pytest.approx(5 * 2 / 40, abs=1e-9)
    assert "Where the boundary lies, in the vectors of vectors.npz" in ended.out
    assert "the 10 nearest in the same set: all records" in ended.out
    assert max(len(line) for line in ended.out.splitlines()) <= 120
    page = (run / "report.html").read_text(encoding="utf-8")
    assert 'id="embedding"' in page
    assert "the 10 nearest in the same set: all records" in page
    assert {"embedding.svg", "embedding.csv"} <= {path.name for path in (run / "figures").iterdir()}


def test_no_permutations_no_p(cli: Cli, scores: Path, vectors: Path) -> None:
    ended = audit(cli, scores, "--embeddings", vectors, "--permutations", 0)
    assert "Whether anything is distinctive was not tested." in ended.out


def test_examples_that_do_not_match_are_one_line(cli: Cli, scores: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", example=np.array(["x1", "x2"]), vectors=np.zeros((2, 3)))
    ended = audit(cli, scores, "--embeddings", tmp_path / "e.npz", "--out", tmp_path / "run")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "140 of the 140 examples that were scored have no vector" in ended.err
    assert not (tmp_path / "run").exists()


def test_without_a_selection_model_there_is_no_boundary_to_show(cli: Cli, vectors: Path, tmp_path: Path) -> None:
    world = World(members=60, others=0, clean=60, selector=0, paired=0)
    write_scores(simulated_table(world, np.random.default_rng(1)), tmp_path / "s.parquet")
    ended = audit(cli, tmp_path / "s.parquet", "--embeddings", vectors)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "no scores of a selection model" in ended.err
