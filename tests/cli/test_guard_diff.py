"""`guard diff` and `guard calibrate --reviews`, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, Refused, jsonl

LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children."
REVIEW = {"guard": "medical", "policy": "medical/public@1", "action": "abstain", "layer": None, "why": "unsure"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "log.jsonl", [{"id": "a", "answer": LITIGATOR, "at": "2026-11-02"},
                                          {"id": "b", "answer": "Metformin lowers blood glucose.", "at": "2026-11-09"}])


def test_diff(cli: Cli, log: Path, tmp_path: Path) -> None:
    ended = cli("guard", "diff", "medical", "law@strict", log, "--output", tmp_path / "changed.jsonl")
    assert ended.code == 0
    for words in ("at conservative → law/", "at strict", "held by the new guard", "2026-11-02", "2026-11-09"):
        assert words in ended.out
    assert "litigator" not in ended.out + (tmp_path / "changed.jsonl").read_text()
    found = json.loads(cli("guard", "diff", "medical", "medical", log, "--json", "--quiet").out)
    assert [(one["old"], one["new"]) for one in found["changes"]] == [("flag (contextual)",) * 2, ("safe",) * 2]
    assert found["newly_held"]["value"] == 0


def test_diff_takes_policy_files_and_audiences(cli: Cli, refused: Refused, log: Path, tmp_path: Path) -> None:
    from discreet.guard.domains import load_domain

    policy = tmp_path / "policy.yaml"
    policy.write_bytes((Path(str(load_domain("medical").folder)) / "policy.yaml").read_bytes())
    ended = cli("guard", "diff", "medical", policy, log, "--audience", "treating")
    assert ended.code == 0
    assert "0 would be decided otherwise" in ended.out
    refused("unknown operating point 'loose'", "guard", "diff", "medical@loose", "law", log)
    refused("expected", "guard", "diff", "no-such-domain", "law", log)


def test_calibrate_on_reviews_proposes_and_changes_nothing(cli: Cli, refused: Refused, tmp_path: Path) -> None:
    rows = [{**REVIEW, "id": str(i), "logit": (i - 300) / 100, "decision": "release" if i < 300 else "block"}
            for i in range(600)]
    file = jsonl(tmp_path / "reviews.jsonl", rows)
    before = sorted(tmp_path.iterdir())
    ended = cli("guard", "calibrate", "--reviews", file)
    assert ended.code == 0
    for words in ("medical (medical/public@1)", "a proposal, and nothing was changed", "unsure_above: -0.",
                  "evidence_tau: ", "would not have been reviewed"):
        assert words in ended.out
    assert sorted(tmp_path.iterdir()) == before
    found = json.loads(cli("guard", "calibrate", "--reviews", file, "--json").out)
    assert found["guards"]["medical (medical/public@1)"]["saved"] > 500
    refused("--reviews and --guard were given together", "guard", "calibrate", "--reviews", file, "--guard", tmp_path)
    refused("nothing to calibrate on", "guard", "calibrate")
