"""`audit membership scores --design sealed`, with a seal and without."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Cli = Callable[..., Any]
QUICK = ("--permutations", 0, "--bootstraps", 20, "--attacks", "loss")
MARK = "MARKEDWORD"
AS_STATED = "sealed (as stated)"
pytestmark = pytest.mark.usefixtures("system_coins")


@pytest.fixture
def sealed(cli: Cli, tmp_path: Path) -> Path:
    rows = [{"id": f"name-{i}", "text": f"{MARK} {'ab ' * (3 + i % 17)}{i}", "label": i % 2} for i in range(700)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli("seal", tmp_path / "data.jsonl", "--pairs", "300", "--out", tmp_path / "s", "--quiet").code == 0
    return tmp_path / "s"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def table(folder: Path, shift: float = 0.0, *, flip: int = 0, drop: int = 0) -> Path:
    """Scores of target and placebo; those of what the target was trained on are `shift` higher.

    The first `flip` records of the seal say the contrary of their coins, or the first `drop` have no scores.
    """
    inside = {r["id"] for r in read(folder / "train.jsonl")}
    probed, rng = [r["id"] for r in read(folder / "probe.jsonl")], np.random.default_rng(0)
    path = folder.parent / "scores.csv"
    with path.open("w", newline="") as handle:
        out = csv.writer(handle)
        out.writerow(["model", "model_role", "example", "label", "member", "logit_0", "logit_1"])
        for model, role in (("f", "target"), ("p", "placebo")):
            for row in read(folder.parent / "data.jsonl"):
                if row["id"] in probed[:drop]:
                    continue
                member = role == "target" and row["id"] in inside
                x = float(rng.normal(1.0)) + shift * member
                if role == "target" and row["id"] in probed[:flip]:
                    member = not member
                out.writerow([model, role, row["id"], row["label"], str(member).lower(),
                              *((x, 0.0) if row["label"] == 0 else (0.0, x))])
    return path


def audit(cli: Cli, path: Path, *more: object) -> Any:
    return cli("audit", "membership", "scores", path, *QUICK, "--json", *more)


def test_a_seal_that_is_shown_counts(cli: Cli, sealed: Path) -> None:
    published = json.loads((sealed / "commitment.json").read_text())["commitment"]
    ended = audit(cli, table(sealed, 1.5), "--design", "sealed", "--seal", sealed, "--commitment", published.upper())
    record = json.loads(ended.out)
    assert (ended.code, ended.err, record["design"], record["verdict"]) == (1, "", "sealed", "fail")
    facts = record["provenance"]
    assert (facts["seal"], facts["sealed_pairs"], facts["not_sealed_left_out"]) == (published, 300, 100)
    assert facts["seal_compared_with_published"]
    assert (record["primary"]["n_members"], record["primary"]["n_nonmembers"]) == (300, 300)
    assert "word of whoever" not in " ".join(record["reasons"])
    assert not any("your word" in said for said in record["claims"]["cannot"])


def test_its_power_stands_in_for_planted_records(cli: Cli, sealed: Path) -> None:
    ended = audit(cli, table(sealed), "--design", "sealed", "--tolerance-auc", 0.65, "--seal", sealed)
    assert (ended.code, json.loads(ended.out)["verdict"]) == (0, "pass")


def test_without_a_seal_it_is_only_stated(cli: Cli, sealed: Path, tmp_path: Path) -> None:
    ended = audit(cli, table(sealed, 1.5), "--design", "sealed", "--out", tmp_path / "run")
    record = json.loads(ended.out)
    assert (ended.code, record["design"], record["verdict"]) == (1, AS_STATED, "fail")
    assert "seal" not in record["provenance"]
    assert "no seal was compared with the table, so it counts as randomised" in record["claims"]["cannot"][0]
    assert "is the word of whoever ran this audit" in " ".join(record["reasons"])
    assert json.loads((tmp_path / "run" / "result.json").read_text())["design"] == AS_STATED
    again = cli("report", tmp_path / "run")
    assert (again.code, again.err) == (0, "")
    assert AS_STATED in (tmp_path / "run" / "report.html").read_text()
    shown = cli("audit", "membership", "scores", table(sealed, 1.5), *QUICK, "--design", "sealed").out
    assert "It is stated, and was not shown, that committed coins" in " ".join(shown.split())


@pytest.mark.parametrize(("make", "options", "said"), [
    ({"flip": 3}, (), "'member' of target 'f' is not what the coins say for 3 of 600 sealed records"),
    ({"drop": 2}, (), "2 records of the 600 in the pairs of the seal have no scores"),
    ({}, ("--commitment", "0" * 64), "is another seal than the one whose commitment was published"),
    ({}, ("--design", "randomised"), "a seal was given with design 'randomised'"),
])
def test_what_the_seal_does_not_bear_out_is_refused(
    cli: Cli, sealed: Path, make: dict[str, Any], options: tuple[str, ...], said: str
) -> None:
    ended = audit(cli, table(sealed, **make), "--design", "sealed", "--seal", sealed, *options)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert said in ended.err
    assert MARK not in ended.err


def test_a_seeded_seal_and_a_lone_commitment_are_refused(cli: Cli, sealed: Path, tmp_path: Path) -> None:
    seeded = tmp_path / "seeded"
    assert cli("seal", tmp_path / "data.jsonl", "--pairs", "300", "--seed", "1", "--out", seeded, "--quiet").code == 0
    ended = audit(cli, table(seeded), "--design", "sealed", "--seal", seeded)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "came from a seed and were no secret" in ended.err
    lone = audit(cli, table(sealed), "--design", "sealed", "--commitment", "0" * 64)
    assert (lone.code, lone.err.count("\n")) == (2, 1)
    assert "--commitment was given without --seal" in lone.err
