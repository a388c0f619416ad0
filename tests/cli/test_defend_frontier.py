from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Cli = Callable[..., Any]
ROLES = {"A": ("target", ""), "N": ("reference", "neutral"), "S": ("selection", ""), "P": ("placebo", "")}
FEW = ("--draws", 3, "--queries", "1,64", "--sigma", "0,2", "--decimals", 1, "--quiet")


def write(path: Path, *, roles: tuple[str, ...] = tuple(ROLES), n: int = 60) -> Path:
    rng = np.random.default_rng(0)
    label, hard = rng.integers(0, 2, 2 * n), rng.normal(1.0, 1.5, 2 * n)
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["model", "model_role", "reference_kind", "example", "label", "member", "logit_0", "logit_1",
                         "text"])
        for name in roles:
            for row in range(2 * n):
                trained = name == "A" and row < n
                odds = hard[row] + rng.normal(0, 0.3) + 2.0 * trained
                writer.writerow([name, *ROLES[name], f"e{row}", label[row], str(trained).lower(),
                                 *((0.0, odds) if label[row] else (odds, 0.0)), "MARKEDWORD"])
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return write(tmp_path / "scores.csv")


def test_a_table_in_words(cli: Cli, scores: Path) -> None:
    said = cli("defend", "frontier", "--scores", scores, *FEW)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == "A under the reference attack (neutral, logit scale); mean of 3 noise draws"
    rows = [line.split()[0] for line in lines[3:9]]
    assert rows == ["none", "keyed", "keyed", "laplace", "rounding", "top_label"]
    assert lines[2].split() == ["AUC,", "all", "judged", "examples", "accuracy", "missed", "epsilon", "k=1", "k=64",
                                "placebo"]
    undefended, keyed, near, fresh = ([float(cell) for cell in lines[place].split()[-3:-1]] for place in (3, 4, 5, 6))
    assert keyed[0] == keyed[1] < undefended[0] - 0.1
    assert fresh[1] > fresh[0] + 0.1
    assert near[1] > near[0] + 0.1
    assert "No local epsilon is finite without --clip." in lines
    assert "MARKEDWORD" not in said.out


def test_json_and_a_run_folder(cli: Cli, scores: Path, tmp_path: Path) -> None:
    said = cli("defend", "frontier", "--scores", scores, *FEW, "--clip", 3, "--json", "--out", tmp_path / "run")
    assert (said.code, said.err) == (0, "")
    record = json.loads(said.out)
    assert (record["kind"], record["schema"], record["target"], record["placebo"]) == ("defend-frontier", 1, "A", "P")
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == record
    assert [p["local_epsilon"] for p in record["points"] if p["mechanism"] == "laplace"] == [6.0, 6.0]
    assert record["provenance"]["input"] == "scores.csv"
    assert "MARKEDWORD" not in "".join(p.read_text() for p in (tmp_path / "run").glob("*.*"))
    again = cli("defend", "frontier", "--config", tmp_path / "run" / "config.yaml", "--quiet", "--json")
    assert json.loads(again.out)["points"] == record["points"]


def test_the_boundary_needs_a_selector(cli: Cli, tmp_path: Path) -> None:
    said = cli("defend", "frontier", "--scores", write(tmp_path / "s.csv", roles=("A",)), *FEW)
    assert said.code == 0
    assert "A under the loss attack;" in said.out
    assert "AUC, boundary: unresolved (the table has no scores of a selection model" in said.out


@pytest.mark.parametrize(("options", "message"), [
    (["--sigma", "1,x"], "--sigma holds 'x'; expected numbers from 0, with commas between them"),
    (["--sigma", "-1"], "--sigma holds '-1'; expected numbers from 0"), (["--sigma", "inf"], "--sigma holds 'inf'"),
    (["--sigma", "nan"], "--sigma holds 'nan'"),
    (["--queries", "0"], "--queries holds '0'; expected whole numbers from 1, with"),
    (["--queries", "1.5"], "--queries holds '1.5'; expected whole numbers from 1, with"),
    (["--decimals", "16"], "--decimals holds '16'; expected whole numbers from 0 to 15, with"),
    (["--draws", "0"], "--draws is 0; expected a number of 1 or more"),
    (["--jitter", "-0.1"], "--jitter is -0.1"), (["--jitter", "nan"], "--jitter is nan"),
    (["--seed", "-1"], "--seed is -1"),
    (["--per-side", "-1"], "--per-side is -1"), (["--clip", "0"], "--clip is 0.0; expected a number above 0"),
    (["--positive", "2"], "--positive is 2; "), (["--target", "B"], "has no target 'B': it has A; give the model"),
])
def test_options_that_cannot_be(cli: Cli, scores: Path, options: list[str], message: str) -> None:
    said = cli("defend", "frontier", "--scores", scores, *FEW, *options)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert message in said.err


def test_a_file_without_a_target(cli: Cli, tmp_path: Path) -> None:
    said = cli("defend", "frontier", "--scores", write(tmp_path / "s.csv", roles=("N",)), *FEW)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "target" in said.err


def test_too_few_examples(cli: Cli, tmp_path: Path) -> None:
    said = cli("defend", "frontier", "--scores", write(tmp_path / "s.csv", n=9), *FEW)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "9 members and 9 non-members, planted ones apart; expected at least 10" in said.err


def test_help_of_the_group(cli: Cli) -> None:
    said = cli("defend")
    assert said.code == 0
    assert "frontier" in said.out
