"""`audit guard` as it is typed, and its verdicts on made-up guards that remember and that do not."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Cli, Refused, jsonl

import discreet
from discreet.cli.audit_guard import table_of
from discreet.core.design import ASSIGNED
from discreet.guard.exposure import Canaries, Exposure, Output, Released
from discreet.inputs.encode.encoders.hashed import HashedEncoder

Files = Mapping[str, Path]
SIDES = ("safe", "unsafe", "borderline")


def typed(folder: Path, files: Files, *more: object) -> list[object]:
    return ["audit", "guard", folder, *(word for side in SIDES for word in (f"--{side}", files[side])), *more]


def record_of(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "result.json").read_text()))


@pytest.fixture
def guard(side_files: Files, tmp_path: Path) -> Path:
    discreet.fit_guard("medical", *(side_files[side] for side in SIDES), encoders=[HashedEncoder(64)],
                       density="rff", discriminator="density", gate="fitted", out=tmp_path / "guard")
    return tmp_path / "guard"


def test_the_result_is_shown_kept_and_written_into_the_card(cli: Cli, guard: Path, side_files: Files, tmp_path: Path
                                                            ) -> None:
    before = discreet.Guard.load(guard)
    ended = cli(*typed(guard, side_files, "--references", "2", "--out", tmp_path / "run"))
    assert ended.code in (1, 3)  # A few texts decide little, and by chance what they decide.
    assert ended.out.startswith(("Inconclusive: these texts do not show whether outputs of this guard give away",
                                 "Fail: outputs of this guard give away which texts it was fitted on"))
    for words in ("σ of the text's own side", "The folder holds no embedding of a text.", "control (this guard)"):
        assert words in ended.out
    record = record_of(tmp_path / "run")
    assert [one["target"] for one in record["targets"]] == ["delta", "sigma", "verdict"]
    assert {one["attack"] for one in record["targets"][:2]} == {"reference"}
    assert (tmp_path / "run" / "sigma" / "report.html").exists()
    # The density remembers what is unlike all other texts.
    sigma = record["canaries"]["sigma"]
    assert sigma["twin"]["low"] > 0.6 > sigma["guard"]["value"]
    assert "Unusual texts are remembered by σ" in ended.out
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "δ" in page
    assert cli("report", tmp_path / "run").code == 0
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8") == page
    # The reasons of each output stand under its name, and so do limits in the summary for CI.
    summary = (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")
    for target in record_of(tmp_path / "run")["targets"]:
        assert f": {target['verdict']}**\n\n- {target['reasons'][0]}\n" in summary + "\n"
    assert "### What this does not say\n\n- The control is" in summary
    after = discreet.Guard.load(guard)
    assert after.card["audit"]["verdict"] == record["verdict"]
    assert after.card["audit"]["targets"] == record["targets"]
    assert {name: one for name, one in after.card.items() if name != "audit"} == before.card
    text = json.loads(side_files["unsafe"].read_text().splitlines()[0])["answer"]
    assert after.check(text).delta == before.check(text).delta
    assert text not in json.dumps(record) + json.dumps(after.card)


def exposed(leak: float, seed: int, n: int = 600) -> Exposure:
    """A made-up guard whose δ and σ of a text's own side are higher by `leak` where it was fitted on it."""
    rng = np.random.default_rng(seed)
    unsafe, fitted = rng.integers(2, size=n) == 1, rng.random(n) < 0.7
    hard = rng.normal(size=n)

    def released(inside: np.ndarray, own_leak: float) -> Released:
        own = hard + 0.5 * rng.normal(size=n) + own_leak * inside
        delta = np.where(unsafe, own, -own)
        return Released(delta, np.column_stack([own, own]), np.sign(delta))

    halves = [rng.integers(2, size=n) == 1 for _ in range(2)]
    references = [(released(half, leak), half) for one in halves for half in (one, ~one)]
    canary = Canaries(unsafe[:8], fitted[:8], *(Released(hard[:8], np.zeros((8, 2)), hard[:8]) for _ in range(2)))
    ids = [str(place) for place in range(n)]
    return Exposure(ids, ids, ids, unsafe, fitted, released(fitted, leak), released(np.zeros(n), 0.0), references,
                    canary, {})


@pytest.mark.parametrize("output", ["delta", "sigma"])
def test_a_guard_that_remembers_fails_and_one_that_does_not_never_does(output: Output) -> None:
    for seed in range(6):
        leaking, innocent = (exposed(leak, seed) for leak in (1.0, 0.0))
        for given, verdicts in ((leaking, {"fail"}), (innocent, {"pass", "inconclusive"})):
            audit = discreet.audit_membership(table_of(given, given.id, output), design=ASSIGNED, permutations=0,
                                              bootstraps=1, attacks=[])
            assert audit.verdict in verdicts


def test_refusals(refused: Refused, guard: Path, side_files: Files, tmp_path: Path) -> None:
    refused("other texts than the guard was fitted on", "audit", "guard", guard, "--safe", side_files["safe"],
            "--unsafe", side_files["unsafe"], "--quiet")
    refused("tolerance AUC is 0.4", *typed(guard, side_files, "--tolerance-auc", "0.4"))
    refused("is no folder", *typed(tmp_path / "nothing", side_files))
    # As many texts, in the same numbers, but not the same.
    rows = [json.loads(line) for line in side_files["safe"].read_text().splitlines()]
    others = jsonl(tmp_path / "others.jsonl", [{**row, "answer": row["answer"] + " Thank you."} for row in rows])
    refused("they are as many, and δ of the calibration texts varies otherwise",
            *typed(guard, {**side_files, "safe": others}, "--quiet"))


@pytest.mark.parametrize(("name", "value"), [("counts", None), ("density", "rff"), ("seed", "x")])
def test_a_card_that_does_not_say_how_the_guard_was_fitted(refused: Refused, guard: Path, side_files: Files, name: str,
                                                           value: object) -> None:
    saved = json.loads((guard / "guard.json").read_text())
    saved["card"][name] = value
    (guard / "guard.json").write_text(json.dumps(saved))
    refused(f"the guard's card does not give its '{name}'", *typed(guard, side_files, "--quiet"))


def test_the_result_in_the_card_makes_it_no_other_guard(cli: Cli, refused: Refused, guard: Path, side_files: Files,
                                                        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = typed(guard, side_files, "--references", "0", "--quiet", "--out", tmp_path / "run")
    assert cli(*words).out == cli(*words).out
    saved = json.loads((guard / "guard.json").read_text())
    saved["card"]["made"] = "another day"
    (guard / "guard.json").write_text(json.dumps(saved))
    refused("holds the result of another input (differs in the content of: folder)", *words)
    access = os.access
    monkeypatch.setattr("os.access", lambda path, how: how != os.W_OK and access(path, how))
    refused("the folder around it is read-only; copy the guard", *words)
