from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
MARK = "MARKEDWORD"
FILES = ["coins.json", "commitment.json", "probe.jsonl", "train.jsonl"]


def rows(n: int = 120) -> list[dict[str, Any]]:
    return [{"id": f"name-{i}", "text": f"{MARK} {'ab ' * (3 + i % 17)}{i}", "label": ("safe", "unsafe")[i % 2],
             "user": f"person-{i % 30}", "more": 1} for i in range(n)]


def write(path: Path, made: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data.jsonl", rows())


def test_four_files_and_what_to_do_next(cli: Cli, data: Path, tmp_path: Path) -> None:
    ended = cli("seal", data, "--pairs", "40", "--out", tmp_path / "s")
    assert (ended.code, ended.err) == (0, "")
    assert sorted(p.name for p in (tmp_path / "s").iterdir()) == FILES
    assert stat.S_IMODE((tmp_path / "s" / "coins.json").stat().st_mode) == 0o600
    commitment = json.loads((tmp_path / "s" / "commitment.json").read_text())["commitment"]
    assert commitment in ended.out
    assert "40 pairs of records; train on 80 records, score 80" in ended.out
    assert "40 records in no pair" in ended.out
    assert MARK not in ended.out
    train, probe = lines(tmp_path / "s" / "train.jsonl"), lines(tmp_path / "s" / "probe.jsonl")
    assert list(train[0]) == ["id", "text", "label"]
    assert len({r["id"] for r in probe} & {r["id"] for r in train}) == 40
    for name in ("coins.json", "commitment.json"):
        written = (tmp_path / "s" / name).read_text()
        assert MARK not in written
        assert "name-" not in written


def test_too_few_pairs_to_convict_is_said(cli: Cli, data: Path, tmp_path: Path) -> None:
    assert "cannot find a leak" in cli("seal", data, "--pairs", "5", "--out", tmp_path / "s").out


def test_canaries_and_a_configuration(cli: Cli, data: Path, tmp_path: Path) -> None:
    canaries = write(tmp_path / "c.jsonl", [{**r, "id": f"k{r['id']}", "text": r["text"] + "k"} for r in rows(40)])
    (tmp_path / "config.yaml").write_text(f"pairs: 12\ncanaries: {canaries}\n")
    assert cli("seal", data, "--config", tmp_path / "config.yaml", "--out", tmp_path / "s").code == 0
    assert all(r["id"].startswith("k") for r in lines(tmp_path / "s" / "probe.jsonl"))
    assert len(lines(tmp_path / "s" / "train.jsonl")) == 120 + 40 - 12


@pytest.mark.parametrize(("change", "options", "said"), [
    ({"label": "safe"}, [], "all 120 records have the same label"), ({}, ["--pairs", "0"], "--pairs is 0"),
    ({"text": None}, [], "line 1: 'text' is null"), ({}, ["--pairs", "many"], "--pairs"),
    ({}, ["--group", "team"], "there is no 'team'"), ({}, ["--alpha", "nan"], "--alpha is"),
    ({}, ["--seed", "-1"], "--seed is -1"),
])
def test_bad_input_is_one_line_and_leaves_nothing(
    cli: Cli, tmp_path: Path, change: dict[str, Any], options: list[str], said: str
) -> None:
    data = write(tmp_path / "data.jsonl", [{**row, **change} for row in rows()])
    ended = cli("seal", data, "--pairs", "10", "--out", tmp_path / "s", *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert MARK not in ended.err
    assert [p.name for p in tmp_path.iterdir()] == ["data.jsonl"]


def test_the_level_is_committed_to(cli: Cli, data: Path, tmp_path: Path) -> None:
    ended = cli("seal", data, "--pairs", "40", "--alpha", "0.01", "--out", tmp_path / "s")
    assert "with chance 0.01 at the most; the commitment holds that level" in " ".join(ended.out.split())
    assert json.loads((tmp_path / "s" / "commitment.json").read_text())["alpha"] == 0.01
    assert json.loads((tmp_path / "s" / "coins.json").read_text())["opened"]["alpha"] == 0.01
    said = [json.loads(cli("seal", data, "--pairs", "40", "--alpha", alpha, "--out", tmp_path / alpha, "--json").out)
            for alpha in ("0.01", "0.2")]
    assert [one["alpha"] for one in said] == [0.01, 0.2]
    # A stricter level needs a clearer leak.
    assert said[0]["least_win_rate"] > said[1]["least_win_rate"]
