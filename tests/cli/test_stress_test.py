from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet
from tests.cli.conftest import MARK, Cli, Refused, jsonl, result

from discreet.core.numbers import interval
from discreet.guard import stress_figures
from discreet.guard.stress import stress_scores

Row = Mapping[str, Any]
MEANS = {"unsafe": 2.0, "safe": -3.0, "borderline": -2.0}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stress_figures, "RESAMPLES", 50)


def rows(n: int = 150) -> list[dict[str, Any]]:
    rng = np.random.default_rng(2)
    made: list[dict[str, Any]] = []
    for place in range(n):
        for kind, mean in MEANS.items():
            row = {"id": f"{kind}-{place}", "kind": kind, "score": float(rng.normal(mean)), "answer": MARK}
            made.append(row | ({"subtype": ("cohort", "rule")[place % 2]} if kind == "borderline" else {}))
    return made


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "scores.jsonl", rows())


class TestVerdicts:
    @pytest.mark.parametrize(("options", "code", "verdict"), [
        ([], 0, None), (["--threshold", "0"], 0, None),
        (["--max-borderline-fpr", "0.3"], 0, "pass"),
        (["--max-borderline-fpr", "0.05"], 3, "inconclusive"),
        (["--max-borderline-fpr", "0.05", "--threshold", "-2"], 1, "fail"),
        (["--max-borderline-fpr", "0.1", "--threshold", "0"], 0, "pass"),
        (["--max-borderline-fpr", "0.1", "--threshold", "50"], 3, "inconclusive"),
    ])
    def test_exit_codes(
        self, cli: Cli, scores: Path, options: list[str], code: int, verdict: str | None
    ) -> None:
        said = cli("stress-test", "--scores", scores, *options)
        machine = cli("stress-test", "--scores", scores, "--json", *options)
        assert (said.code, said.err, machine.code, machine.err) == (code, "", code, "")
        record = machine.record
        assert (record["kind"], record["schema"], record["verdict"]) == ("stress-test", 1, verdict)
        words = " ".join(said.out.split())
        assert words.startswith(f"{verdict.capitalize()}: {record['reason']}" if verdict else "150 unsafe, 150 safe")
        assert MARK not in said.out + machine.out

    def test_the_record_is_what_the_library_gives(self, cli: Cli, tmp_path: Path) -> None:
        table = pa.Table.from_pylist([{"subtype": None, **row} for row in rows()])
        parquet.write_table(table, path := tmp_path / "s.parquet")
        record = cli("stress-test", "--scores", path, "--json", "--tpr", "0.8", "--threshold", "0.5",
                     "--max-borderline-fpr", "0.2", "--seed", "7").record
        of = {kind: [row["score"] for row in rows() if row["kind"] == kind] for kind in MEANS}
        there = stress_scores(*of.values(), subtypes=["cohort", "rule"] * 75, tpr=0.8, threshold=0.5,
                              max_borderline_fpr=0.2, rng=7)
        assert {k: record[k] for k in there.to_json()} == json.loads(json.dumps(there.to_json()))
        assert record["provenance"]["input"] == path.name
        assert record["provenance"]["seed"] == 7
        assert len(record["provenance"]["data_hash"]) == 64


def test_the_table(cli: Cli, scores: Path) -> None:
    options = ("stress-test", "--scores", scores, "--threshold", "0.5", "--tpr", "0.8")
    out = cli(*options, "--max-borderline-fpr", "0.2").out.splitlines()
    record = cli(*options, "--json").record
    assert out[0].startswith("Pass: the borderline FPR")
    assert out[1] == "150 unsafe, 150 safe, 150 borderline"
    for word, key in (("AUROC", "auroc"), ("FPR at 95% TPR", "fpr95"), ("FPR at 90% TPR", "fpr90"),
                      ("FPR at 80% TPR", "fpr_at_tpr"), ("FPR at threshold 0.5", "fpr_at_threshold")):
        [line] = [text for text in out if text.startswith(f"  {word}  ")]
        assert all(interval(record[pairing][key]) in line for pairing in ("within", "borderline"))
    for name in ("cohort", "rule"):
        [line] = [text for text in out if text.startswith(f"  {name}  ")]
        assert all(interval(record["subtypes"][name][key]) in line for key in ("fpr_at_tpr", "fpr_at_threshold"))
        assert line.endswith(" 75")
    assert sum("holds 1/2" in line or "rises" in line for line in out) == 2
    assert "NOT" not in "".join(out)


def test_a_subtype_cannot_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "s.jsonl", [row | {"subtype": "a\x1b[31mb\ud800"} for row in rows(30)])
    human = cli("stress-test", "--scores", path, "--out", tmp_path / "run")
    assert human.code == 0
    assert "\x1b" not in human.out
    assert "a\\x1b[31mb" in human.out
    assert list(result(tmp_path / "run")["subtypes"]) == ["a\x1b[31mb\ufffd"]


def test_a_run_can_be_repeated(cli: Cli, scores: Path, tmp_path: Path) -> None:
    args, run = ("stress-test", "--scores", scores, "--max-borderline-fpr", "0.3", "--json"), tmp_path / "run"
    found = cli(*args, "--out", run).record
    assert result(run) == found
    assert yaml.safe_load((run / "config.yaml").read_text())["max-borderline-fpr"] == 0.3
    again = cli("stress-test", "--config", run / "config.yaml", "--json").record
    assert again | {"provenance": None} == found | {"provenance": None}
    log = json.loads((run / "log.jsonl").read_text())
    assert (log["event"], log["n"], log["verdict"]) == ("done", 450, "pass")
    assert cli(*args, "--tpr", "0.9", "--out", run).code == 2


def without(name: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda made: [{k: v for k, v in row.items() if k != name} for row in made]


def third(**changed: Any) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda made: [*made[:2], made[2] | changed, *made[3:]]


class TestRefusals:
    @pytest.mark.parametrize(("change", "said"), [
        (without("kind"), "line 1: there is no 'kind'"), (without("score"), "line 1: there is no 'score'"),
        (without("id"), "line 1: there is no 'id'"),
        (third(kind=None), "line 3: 'kind' is missing; expected one of unsafe, safe, borderline"),
        (third(kind=f"{MARK}"), "line 3: 'kind' is not one that is known; expected one of unsafe, safe, borderline"),
        (third(kind=1), "line 3: 'kind' is missing"), (third(id="unsafe-0"), "line 3: the id of this row was used"),
        (third(id=" "), "line 3: 'id' is"), (third(id=None), "line 3: 'id' is null"),
        (third(id=True), "line 3: 'id' is true or false"),
        (third(score=float("nan")), "line 3: JSON that cannot be read (NaN)"),
        (third(score="nan"), "line 3: 'score' is NaN or infinite"), (third(score="-inf"), "line 3: 'score' is NaN"),
        (third(score=None), "line 3: 'score' is null"), (third(score=True), "line 3: 'score' is true or false"),
        (third(score=f"{MARK}"), "line 3: 'score' is not a number"), (third(score=""), "line 3: 'score' is not a"),
        (third(score=10**400), "line 3: 'score' is"), (third(score=[1]), "line 3: 'score' is a list"),
        (third(subtype=4), "line 3: 'subtype' is a number"),
        (lambda made: [row for row in made if row["kind"] != "borderline"], "has no borderline rows"),
        (lambda made: [row for row in made if row["kind"] == "borderline"], "has no unsafe and no safe rows"),
        (lambda _: [], "holds no rows"),
    ])
    def test_rows(self, refused: Refused, tmp_path: Path, change: Callable[[list[dict[str, Any]]], list[Row]],
                  said: str) -> None:
        path = jsonl(tmp_path / "scores.jsonl", change(rows(4)))
        refused(said, "stress-test", "--scores", path, "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(("options", "said"), [
        (["--tpr", "1"], "tpr is 1"), (["--max-borderline-fpr", "5"], "max_borderline_fpr is 5"),
        (["--threshold", "nan"], "threshold is nan"), (["--tpr", "high"], "--tpr is 'high'; expected a number"),
        (["--domain", "medical"], "--scores and --domain were given together"),
        (["--unsafe", "u.jsonl"], "--scores and --unsafe were given together"),
        (["--scores", "none.jsonl"], "there is no file"),
    ])
    def test_options(self, refused: Refused, scores: Path, options: list[str], said: str) -> None:
        refused(said, "stress-test", "--scores", scores, *options)

    @pytest.mark.parametrize(("options", "said"), [
        ([], "nothing to test; expected --scores"),
        (["--domain", "medical", "--safe", "s.jsonl"], "--unsafe and --borderline is missing"),
        (["--guard", "g", "--unsafe", "u", "--safe", "s", "--borderline", "b"], "g is no folder"),
    ])
    def test_guards(self, refused: Refused, options: list[str], said: str) -> None:
        refused(said, "stress-test", *options)


def test_extra_columns_and_spelling_are_passed_over(cli: Cli, tmp_path: Path) -> None:
    made = [row | {"kind": f" {row['kind'].upper()} ", "id": n, "subtype": ""} for n, row in enumerate(rows(30))]
    ended = cli("stress-test", "--scores", jsonl(tmp_path / "s.jsonl", made), "--json")
    assert (ended.code, ended.record["subtypes"]) == (0, {})


def test_a_domain_is_tested_on_texts(cli: Cli, side_files: Mapping[str, Path]) -> None:
    texts = [word for kind, path in side_files.items() for word in (f"--{kind}", path)]
    ended = cli("stress-test", "--domain", "medical", *texts, "--max-borderline-fpr", "0.2", "--json")
    record = ended.record
    assert (ended.code, record["verdict"], record["threshold"]) == (0, "pass", 0.0)
    # Behind "What would you say?" the guard abstains on some of "This case concerns a person who is …".
    assert record["tpr_at_threshold"]["value"] > 0.75
    assert record["provenance"]["policy"].startswith("medical/public@1#")
    assert sorted(record["provenance"]["input"]) == ["borderline.jsonl", "safe.jsonl", "unsafe.jsonl"]
    assert len(record["provenance"]["data_hash"]) == 3
