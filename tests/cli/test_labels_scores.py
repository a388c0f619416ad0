from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.audit import audit_labels
from discreet.scores.load import load_scores
from discreet.scores.table import stacked
from discreet.scores.write import write_scores

Cli = Callable[..., Any]
QUICK = ("--permutations", 19, "--no-tune")
FAINT: dict[str, Any] = {"canaries": 600, "held_out": 600, "memory": 0.2, "signal": 1.0, "spread": 0.5,
                         "planted": (1, 4, 16)}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    for name, given in (("passing", FAINT), ("leaking", {"memory": 2.0, "epsilon": 2.0}), ("bare", {})):
        write_scores(simulated_labels(LabelWorld(**given), np.random.default_rng(5)), folder / f"{name}.parquet")
    return folder


def audit(cli: Cli, path: Path, *more: object) -> Any:
    return cli("audit", "labels", "scores", path, *QUICK, *more)


class TestVerdicts:
    @pytest.mark.parametrize(("name", "code", "word"), [
        ("passing", 0, "Pass: "), ("leaking", 1, "Fail: "), ("bare", 3, "Inconclusive: ")])
    def test_the_exit_code_is_the_verdict(self, cli: Cli, files: Path, name: str, code: int, word: str) -> None:
        ended = audit(cli, files / f"{name}.parquet", "--quiet")
        assert (ended.code, ended.err) == (code, "")
        assert ended.out.startswith(word)
        assert ended.out.count("\n") == 1

    def test_json_is_the_record_of_the_audit(self, cli: Cli, files: Path) -> None:
        path = files / "leaking.parquet"
        record = json.loads(audit(cli, path, "--json", "--seed", 5).out)
        found = audit_labels(load_scores(path), permutations=19, seed=5, tune=False)
        expected = json.loads(json.dumps(found.to_json()))
        assert record["provenance"].items() >= expected.pop("provenance").items()
        assert record.items() >= expected.items()
        assert (record["kind"], record["schema"]) == ("audit labels", 1)


class TestFolder:
    def test_a_run_is_kept_and_rendered_again(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        run = tmp_path / "run"
        assert audit(cli, files / "leaking.parquet", "--out", run, "--quiet").code == 1
        names = {path.name for path in run.iterdir()}
        assert {"config.yaml", "result.json", "report.html", "figures"} <= names
        config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        assert str(files) in str(config)
        page = (run / "report.html").read_text(encoding="utf-8")
        drawn = {path.name for path in (run / "figures").iterdir()}
        assert {"success.svg", "success.csv", "confidence.svg"} <= drawn
        (run / "report.html").unlink()
        assert cli("report", run).code == 0
        assert (run / "report.html").read_text(encoding="utf-8") == page

    def test_a_page_alone(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        assert audit(cli, files / "bare.parquet", "--report", tmp_path / "page.html").code == 3
        assert "Inconclusive" in (tmp_path / "page.html").read_text(encoding="utf-8")

    def test_options_from_a_file(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        config = tmp_path / "options.yaml"
        config.write_text("permutations: 7\ntune: false\n", encoding="utf-8")
        ended = cli("audit", "labels", "scores", files / "bare.parquet", "--config", config, "--json")
        assert json.loads(ended.out)["provenance"]["permutations"] == 7


class TestMistakes:
    def one_line(self, ended: Any, said: str) -> None:
        assert ended.code == 2
        assert ended.out == ""
        assert ended.err.count("\n") == 1
        assert said in ended.err

    def test_options(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        path = files / "bare.parquet"
        self.one_line(cli("audit", "labels", "scores"), "Missing argument 'FILE'")
        self.one_line(cli("audit", "labels", "scores", path, "--permutations", -1), "permutations is -1")
        self.one_line(audit(cli, path, "--assignment", "coin"), "assignment is 'coin'")
        self.one_line(audit(cli, path, "--report", tmp_path), "it is a folder")
        self.one_line(audit(cli, path, "--report", tmp_path / "no" / "page.html"), "folder is not there")
        self.one_line(cli("audit", "labels", "plan", "--epsilon", 0), "--epsilon is 0")

    @pytest.mark.parametrize(("column", "value", "said"), [
        ("logit_0", float("nan"), "NaN"), ("epsilon", 0.0, "'epsilon'"),
        ("mechanism", "rr_halved", "broken on purpose"),
        ("label_canary", 0, "class 1 has no canary"), ("example_role", "placebo", "no canary")])
    def test_tables_that_cannot_be_audited(self, cli: Cli, files: Path, tmp_path: Path, column: str, value: Any,
                                           said: str) -> None:
        frame = pd.read_parquet(files / "bare.parquet")
        frame[column] = value
        frame.to_parquet(tmp_path / "bad.parquet")
        self.one_line(audit(cli, tmp_path / "bad.parquet", "--out", tmp_path / "run"), said)
        assert not (tmp_path / "run").exists()


class TestPlan:
    def test_how_many_canaries(self, cli: Cli) -> None:
        ended = cli("audit", "labels", "plan", "--epsilon", 1, "--classes", 2)
        assert ended.code == 0
        assert ended.out.startswith("To show that ε is at least 1 with 2 classes")
        assert re.search(r"100\.0% +15\n", ended.out)
        record = json.loads(cli("audit", "labels", "plan", "--epsilon", 1, "--classes", 2, "--json").out)
        assert record["rows"][-1] == {"success": 1.0, "canaries": 15}
        assert cli("audit", "labels", "plan", "--quiet").out.count("\n") == 1

    def test_where_no_number_suffices(self, cli: Cli) -> None:
        assert "no reasonable number" in cli("audit", "labels", "plan", "--epsilon", 40).out


def test_many_models_are_listed(cli: Cli, tmp_path: Path) -> None:
    table = simulated_labels(LabelWorld(memory=2.0), np.random.default_rng(1))
    other = replace(table.models[0], name="other\x1b", seed="2")
    write_scores(stacked([table, replace(table, models=(other,))]), tmp_path / "scores.parquet")
    out = audit(cli, tmp_path / "scores.parquet").out
    assert out.startswith("Fail for all 2 models: ")
    assert "canary label right" in out
    assert "\x1b" not in out
