"""`audit labels` (scores, train, plan) and `audit check-table`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.audit.experiments.labels.made_up import write_table
from tests.cli.conftest import KEY, Cli, Ended, Refused, jsonl, rendered_again, result, run_kept

import discreet_papers
from discreet.audit.core.simulate import LabelWorld, World, simulated_labels, simulated_table
from discreet.audit.engine import Store
from discreet.audit.labels.audit import audit_labels
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import stacked
from discreet.audit.scores.write import write_scores

QUICK = ("--no-tune",)
FAINT: dict[str, Any] = {"canaries": 600, "held_out": 600, "memory": 0.2, "signal": 1.0, "spread": 0.5,
                         "planted": (1, 4, 16)}
RECIPE = "mlp:hidden=8,layers=1,epochs=3,batch=64"
INLINE = ("--no-tune", "--engine", "inline")
TRAINED = ("audit", "labels", "train", "--recipe", RECIPE, "--target", "label", "--group", "user", "--canaries", 0.1,
           "--control", 0.1, "--planted", "1,4", "--references", 1, *INLINE)
PAPER = Path(discreet_papers.__file__).parent / "blia" / "paper.csv"
HEAD = "benchmark,n_canaries,n_train,train_accuracy,epsilon,success,guess\n"
SOUND = "mine,500,20000,95,inf,97,prediction\nmine,500,20000,80,1,60,prediction\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    for name, given in (("passing", FAINT), ("leaking", {"memory": 2.0}), ("bare", {})):
        write_scores(simulated_labels(LabelWorld(**given), np.random.default_rng(5)), folder / f"{name}.parquet")
    return folder


def audit(cli: Cli, path: Path, *more: object) -> Ended:
    return cli("audit", "labels", "scores", path, *QUICK, *more)


class TestScores:
    @pytest.mark.parametrize(("name", "code", "word"), [
        ("passing", 0, "Pass: "), ("leaking", 1, "Fail: "), ("bare", 3, "Inconclusive: ")])
    def test_the_exit_code_is_the_verdict(self, cli: Cli, files: Path, name: str, code: int, word: str) -> None:
        ended = audit(cli, files / f"{name}.parquet", "--quiet")
        assert (ended.code, ended.err, ended.out.count("\n")) == (code, "", 1)
        assert ended.out.startswith(word)

    def test_json_is_the_record_of_the_audit(self, cli: Cli, files: Path) -> None:
        path = files / "leaking.parquet"
        record = audit(cli, path, "--json", "--seed", 5).record
        found = audit_labels(load_scores(path), seed=5, tune=False)
        expected = json.loads(json.dumps(found.to_json()))
        assert record["provenance"].items() >= expected.pop("provenance").items()
        assert record.items() >= expected.items()
        assert (record["kind"], record["schema"]) == ("audit labels", 1)

    def test_a_run_is_kept_and_rendered_again(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        run = tmp_path / "run"
        assert audit(cli, files / "leaking.parquet", "--out", run, "--quiet").code == 1
        assert {"config.yaml", "result.json", "report.html", "figures"} <= {path.name for path in run.iterdir()}
        assert str(files) in str(yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8")))
        assert {"success.svg", "success.csv", "confidence.svg"} <= {one.name for one in (run / "figures").iterdir()}
        rendered_again(cli, run)

    def test_a_page_alone_and_options_from_a_file(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        config = tmp_path / "options.yaml"
        config.write_text("seed: 7\ntune: false\n", encoding="utf-8")
        ended = cli("audit", "labels", "scores", files / "bare.parquet", "--config", config, "--json", "--report",
                    tmp_path / "page.html")
        assert (ended.code, ended.record["provenance"]["seed"]) == (3, 7)
        assert "Inconclusive" in (tmp_path / "page.html").read_text(encoding="utf-8")

    def test_a_table_of_the_other_audit(self, refused: Refused, files: Path, tmp_path: Path) -> None:
        write_scores(simulated_table(World(60, 0, 60, 0), np.random.default_rng(0)), tmp_path / "members.parquet")
        refused("its columns are those of a membership audit: discreet audit membership scores", "audit", "labels",
                "scores", tmp_path / "members.parquet")
        refused("its columns are those of a label audit: discreet audit labels scores", "audit", "membership", "scores",
                files / "bare.parquet")

    def test_many_models_are_listed(self, cli: Cli, tmp_path: Path) -> None:
        table = simulated_labels(LabelWorld(memory=2.0), np.random.default_rng(1))
        other = replace(table.models[0], name="other\x1b", seed="2")
        write_scores(stacked([table, replace(table, models=(other,))]), tmp_path / "scores.parquet")
        out = audit(cli, tmp_path / "scores.parquet").out
        assert out.startswith("Fail for both models: ")
        assert "canary label right" in out
        assert "\x1b" not in out

    @pytest.mark.parametrize(("words", "said"), [
        (("scores",), "Missing argument 'FILE'"), (("scores", "{}", "--seed", -1), "seed is -1"),
        (("scores", "{}", "--assignment", "coin"), "assignment is 'coin'"),
        (("scores", "{}", "--report", "."), "it is a folder"),
        (("scores", "{}", "--report", "no/page.html"), "folder is not there"),
        (("plan", "--epsilon", 0), "--epsilon is 0")])
    def test_options_that_cannot_be(self, refused: Refused, files: Path, words: tuple[object, ...], said: str) -> None:
        refused(said, "audit", "labels", *(str(one).format(files / "bare.parquet") for one in words))

    @pytest.mark.parametrize(("column", "value", "said"), [
        ("logit_0", float("nan"), "NaN"), ("epsilon", 0.0, "'epsilon'"), ("mechanism", "rr_halved", "broken on purpo"),
        ("label_canary", 0, "class 1 has no canary"), ("example_role", "control", "no canary")])
    def test_tables_that_cannot_be_audited(self, refused: Refused, files: Path, tmp_path: Path, column: str, value: Any,
                                           said: str) -> None:
        frame = pd.read_parquet(files / "bare.parquet")
        frame[column] = value
        frame.to_parquet(tmp_path / "bad.parquet")
        refused(said, "audit", "labels", "scores", tmp_path / "bad.parquet", *QUICK, "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_how_many_canaries(cli: Cli) -> None:
    ended = cli("audit", "labels", "plan", "--epsilon", 1, "--classes", 2)
    assert ended.code == 0
    assert ended.out.startswith("To show that ε is at least 1 with 2 classes")
    assert re.search(r"100\.0% +15\n", ended.out)
    record = cli("audit", "labels", "plan", "--epsilon", 1, "--classes", 2, "--json").record
    assert record["rows"][-1] == {"success": 1.0, "canaries": 15}
    assert cli("audit", "labels", "plan", "--quiet").out.count("\n") == 1
    assert "no reasonable number" in cli("audit", "labels", "plan", "--epsilon", 40).out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("data") / "d.csv", 300)


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    """Of two seeds at no noise and at ε = 2."""
    return run_kept(tmp_path_factory, *TRAINED, "--data", data, "--epsilon", "inf,2", "--seeds", 2)


class TestTrain:
    def test_its_folder_and_its_record(self, done: tuple[int, str, Path]) -> None:
        code, printed, out = done
        assert code in {0, 1, 3}
        assert {one.name for one in out.iterdir()} == {
            "config.yaml", "inputs.json", "inputs.key", "result.json", "report.html", "log.jsonl", "figures",
            "junit.xml", "summary.md",
            "scores.parquet", "store"}
        assert printed.endswith(f"\nReport: {out / 'report.html'}\nRun folder: {out}\n")
        page = (out / "report.html").read_text(encoding="utf-8")
        assert ">What was trained</h2>" in page
        assert "hidden=8, layers=1" in page
        record = result(out)
        assert [one["target"] for one in record["targets"]] == ["none/42", "rr-2/42", "none/43", "rr-2/43"]
        assert set(record["utility"]) == {"train_accuracy", "test_accuracy"}
        assert [row["ok"] for row in record["conformance"]] == [True] * 4
        assert record["conformance"][1]["observed"]["n"] == 240
        said = record["training"]
        assert said["recipe"]["hidden"] == 8
        sizes = {"rows": 300, "train": 168, "canary": 24, "planted": {"1": 12, "4": 12}, "control": 24, "heldout": 60}
        assert said["deals"] == {"42": sizes, "43": sizes}
        assert len(said["models"]) == 8
        assert {one["epochs_done"] for one in said["models"]} == {3}
        assert {"python", "numpy", "torch", "discreet.audit.train"} <= said["versions"].keys()
        assert "your word" not in str([one["claims"]["cannot"] for one in record["targets"]])

    def test_its_scores_are_audited_again(self, cli: Cli, done: tuple[int, str, Path]) -> None:
        def successes(record: dict[str, Any]) -> dict[str, Any]:
            names = ("model", "attack", "beta", "loss_labels", "threshold", "margin", "target", "fit")
            return {str([row[name] for name in names]): row["success"] for row in record["attacks"]}

        assert len(load_scores(done[2] / "scores.parquet").models) == 8
        again = cli("audit", "labels", "scores", done[2] / "scores.parquet", "--json", *QUICK).record
        assert successes(again) == successes(result(done[2]))

    def test_it_goes_on_where_it_was_stopped(self, cli: Cli, refused: Refused, data: Path,
                                             done: tuple[int, str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DISCREET_HASH_KEY", KEY)
        before, events = result(done[2]), len(Store(done[2] / "store").history())
        words = (*TRAINED, "--data", data, "--seeds", 2, "--out", done[2], "--quiet")
        again = cli(*words, "--epsilon", "inf,2")
        assert again.code == done[0]
        assert again.out.split() == done[1].split()[:len(again.out.split())]
        assert result(done[2]) == before
        assert len(Store(done[2] / "store").history()) == events
        refused("another configuration (differs in: epsilon)", *words, "--epsilon", "inf,4")

    @pytest.mark.parametrize(("given", "said"), [
        (("--epsilon", 0), "--epsilon holds '0'"), (("--epsilon", "inf,-2"), "--epsilon holds '-2'"),
        (("--epsilon", "nan"), "--epsilon holds 'nan'"), (("--epsilon", "two"), "--epsilon holds 'two'"),
        (("--mechanism", "rr_halved", "--epsilon", 2), "broken on purpose"),
        (("--mechanism", "coin", "--epsilon", 2), "'coin': expected one of alibi, rr, rr_top_k, rr_with_prior\n"),
        (("--mechanism", "coin"), "'coin'"), (("--mechanism", "rr,,alibi"), "--mechanism is"),
        (("--recipe", "tfidf-mlp"), "does not train under label mechanisms"), (("--recipe", "no"), "'no'"),
        (("--seeds", 0), "--seeds is 0"), (("--references", -1), "references -1"),
        (("--assignment", "coin"), "assignment is 'coin'"),
        (("--canaries", 0), "canaries is 0"), (("--control", -1), "control is -1"), (("--planted", "x"), "--planted"),
        (("--target", "nothing"), "no column 'nothing'"), (("--positive", "k7"), "no row has 'k7'"),
        (("--drop", "nothing"), "no column 'nothing'"),
        (("--canaries", 0.6, "--control", 0.6), "ask for fewer"), (("--canaries", 1), "has no canary"),
        (("--heldout", 300), "held out"), (("--target", "x0"), "has no canary")])
    def test_what_cannot_be_leaves_no_run(self, refused: Refused, data: Path, tmp_path: Path,
                                          given: tuple[object, ...], said: str) -> None:
        refused(said, *TRAINED, "--data", data, *given, "--quiet", "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_an_array_has_its_labels_apart(self, cli: Cli, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 2, 200)
        np.save(tmp_path / "x.npy", rng.normal(size=(200, 3)) + labels[:, None])
        np.save(tmp_path / "y.npy", labels)
        ended = cli("audit", "labels", "train", "--recipe", RECIPE, "--data", tmp_path / "x.npy", "--target",
                    tmp_path / "y.npy", "--canaries", 20, "--control", 20, "--planted", "none", "--references", 0,
                    *INLINE, "--json", "--quiet")
        assert ended.code in {1, 3}
        assert ended.record["training"]["data"] == "array"


class TestCheckTable:
    @pytest.fixture
    def sound(self, tmp_path: Path) -> Path:
        (tmp_path / "sound.csv").write_text(HEAD + SOUND, encoding="utf-8")
        return tmp_path / "sound.csv"

    def test_the_papers_tables_cannot_be(self, cli: Cli, tmp_path: Path) -> None:
        ended = cli("audit", "check-table", PAPER)
        assert (ended.code, ended.err) == (1, "")
        text = ended.out.splitlines()
        assert text[0] == "16 cells are impossible."
        assert text[1].startswith("84 cells: 14 of 72 with a finite epsilon above its ceiling (6 even if labels flip")
        [line] = [line for line in text if "imdb" in line and "delta" in line and " 0.3 " in line]
        assert re.search(r"89\.20% +> 57\.44% .* 1\.67 ", line)
        assert "above the halved ceiling too" in line
        assert any(re.search("58.75% +81.75% to 100.00%", line) for line in text)
        assert sum("SUSPECT" in line for line in text) == 3
        said = cli("audit", "check-table", PAPER, "--json", "--out", tmp_path / "run").record
        assert (said["kind"], said["schema"], said["impossible"], len(said["cells"])) == ("check-table", 1, 16, 84)
        assert said["provenance"]["input"] == "paper.csv"
        assert result(tmp_path / "run") == said

    def test_a_sound_table_is_zero(self, cli: Cli, sound: Path) -> None:
        ended = cli("audit", "check-table", sound)
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.splitlines()[0] == "Every cell is possible."
        assert "More often right" not in ended.out
        assert "Bonferroni" in ended.out
        assert "Bonferroni" not in cli("audit", "check-table", sound, "--quiet").out

    def test_names_do_not_steer_the_terminal(self, cli: Cli, tmp_path: Path) -> None:
        row = {"n_canaries": 500, "train_accuracy": None, "epsilon": 0.3, "success": 0.9, "attack": "a\x1b[31m"}
        ended = cli("audit", "check-table", jsonl(tmp_path / "names.jsonl", [row]))
        assert ended.code == 1
        assert "\x1b" not in ended.out

    def test_what_cannot_be_asked(self, cli: Cli, refused: Refused, sound: Path, tmp_path: Path) -> None:
        for said, *words in (("nothing.csv", "nothing.csv"), ("--alpha is 0", PAPER, "--alpha", "0"),
                             ("--alpha is 1.5", PAPER, "--alpha", "1.5"), ("Missing argument 'FILE'",)):
            refused(str(said), "audit", "check-table", *words)
        args = ("audit", "check-table", sound, "--out", tmp_path / "run")
        assert cli(*args).code == cli(*args).code == 0
        sound.write_text(sound.read_text(encoding="utf-8").replace("95", "96"), encoding="utf-8")
        refused("differs in the content of: file", *args)
