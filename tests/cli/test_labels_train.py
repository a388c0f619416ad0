"""`discreet audit labels train`: data in, everything trained, a run folder out."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.labels.made_up import write_table

pytest.importorskip("torch")

from discreet.cli.main import run
from discreet.engine import Store
from discreet.scores.load import load_scores

Cli = Callable[..., Any]
KEY = "ab" * 32
RECIPE = "mlp:hidden=8,layers=1,epochs=3,batch=64"
QUICK = ("--permutations", 0, "--no-tune", "--engine", "inline")
TRAINED = ("audit", "labels", "train", "--recipe", RECIPE, "--target", "label", "--group", "user", "--canaries", 0.1,
           "--placebo", 0.1, "--planted", "1,4", "--references", 1, *QUICK)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """Runs can be compared: hashes of the data have one key."""
    monkeypatch.setenv("DISCREET_HASH_KEY", KEY)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("data") / "d.csv", 300)


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    """Exit code, what was printed, and the folder of a run of two seeds at no noise and at ε = 2."""
    out, printed = tmp_path_factory.mktemp("runs") / "run", StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setenv("DISCREET_HASH_KEY", KEY)
        code = run([str(one) for one in (*TRAINED, "--data", data, "--epsilon", "inf,2", "--seeds", 2, "--out", out)])
    return code, printed.getvalue(), out


def record_of(out: Path) -> dict[str, Any]:
    """The record of a run, without the moment when it ended."""
    found: dict[str, Any] = json.loads((out / "result.json").read_text(encoding="utf-8"))
    del found["provenance"]["finished"]
    return found


class TestARun:
    def test_its_folder_is_whole(self, done: tuple[int, str, Path]) -> None:
        code, printed, out = done
        assert code in {0, 1, 3}
        assert {one.name for one in out.iterdir()} == {
            "config.yaml", "inputs.json", "inputs.key", "result.json", "report.html", "log.jsonl", "figures",
            "scores.parquet", "store"}
        assert printed.endswith(f"\nReport: {out / 'report.html'}\nRun folder: {out}\n")
        page = (out / "report.html").read_text(encoding="utf-8")
        assert ">What was trained</h2>" in page
        assert "hidden=8, layers=1" in page

    def test_its_record_is_that_of_the_issue(self, done: tuple[int, str, Path]) -> None:
        record = record_of(done[2])
        assert [one["target"] for one in record["targets"]] == ["none/42", "rr-2/42", "none/43", "rr-2/43"]
        assert set(record["utility"]) == {"train_accuracy", "test_accuracy"}
        assert [row["ok"] for row in record["conformance"]] == [True] * 4
        assert record["conformance"][1]["observed"]["n"] == 240
        said = record["training"]
        assert said["recipe"]["hidden"] == 8
        sizes = {"rows": 300, "train": 168, "canary": 24, "planted": {"1": 12, "4": 12}, "placebo": 24, "heldout": 60}
        assert said["deals"] == {"42": sizes, "43": sizes}
        assert len(said["models"]) == 8
        assert {one["epochs_done"] for one in said["models"]} == {3}
        assert {"python", "numpy", "torch", "discreet.train"} <= said["versions"].keys()
        claims = [line for one in record["targets"] for line in one["claims"]["cannot"]]
        assert not any("your word" in line for line in claims)

    def test_its_scores_are_audited_again(self, cli: Cli, done: tuple[int, str, Path]) -> None:
        table = load_scores(done[2] / "scores.parquet")
        assert len(table.models) == 8
        ended = cli("audit", "labels", "scores", done[2] / "scores.parquet", "--json", *QUICK[:3])
        again, before = json.loads(ended.out), record_of(done[2])
        rows = {(row["model"], row["attack"], row["beta"], row["loss_labels"], row["threshold"], row["margin"],
                 row["target"], row["fit"]): row["success"] for row in before["attacks"]}
        assert {tuple(row[name] for name in ("model", "attack", "beta", "loss_labels", "threshold", "margin", "target",
                                             "fit")): row["success"] for row in again["attacks"]} == rows

    def test_it_goes_on_where_it_was_stopped(self, cli: Cli, data: Path, done: tuple[int, str, Path]) -> None:
        _, _, out = done
        before, lines = record_of(out), len(Store(out / "store").history())
        again = cli(*TRAINED, "--data", data, "--epsilon", "inf,2", "--seeds", 2, "--out", out, "--quiet")
        assert again.code == done[0]
        assert again.out.split() == done[1].split()[:len(again.out.split())]
        assert record_of(out) == before
        assert len(Store(out / "store").history()) == lines
        other = cli(*TRAINED, "--data", data, "--epsilon", "inf,4", "--seeds", 2, "--out", out)
        assert (other.code, other.err.count("\n")) == (2, 1)
        assert "another configuration (differs in: epsilon)" in other.err


class TestMistakes:
    @pytest.mark.parametrize(("given", "said"), [
        (("--epsilon", 0), "--epsilon holds '0'"), (("--epsilon", "inf,-2"), "--epsilon holds '-2'"),
        (("--epsilon", "nan"), "--epsilon holds 'nan'"), (("--epsilon", "two"), "--epsilon holds 'two'"),
        (("--mechanism", "rr_halved", "--epsilon", 2), "broken on purpose"),
        (("--mechanism", "coin", "--epsilon", 2), "'coin': expected one of alibi, rr, rr_top_k, rr_with_prior\n"),
        (("--mechanism", "coin"), "'coin'"), (("--mechanism", "rr,,alibi"), "--mechanism is"),
        (("--recipe", "tfidf-mlp"), "does not train under label mechanisms"), (("--recipe", "no"), "'no'"),
        (("--seeds", 0), "--seeds is 0"), (("--references", -1), "references -1"),
        (("--assignment", "coin"), "assignment is 'coin'"),
        (("--canaries", 0), "canaries is 0"), (("--placebo", -1), "placebo is -1"), (("--planted", "x"), "--planted"),
        (("--target", "nothing"), "no column 'nothing'"), (("--positive", "k7"), "no row has 'k7'"),
        (("--drop", "nothing"), "no column 'nothing'"),
        (("--canaries", 0.6, "--placebo", 0.6), "ask for fewer"), (("--canaries", 1), "has no canary"),
        (("--heldout", 300), "held out"), (("--target", "x0"), "has no canary")])
    def test_each_is_one_line(self, cli: Cli, data: Path, tmp_path: Path, given: tuple[object, ...], said: str
                              ) -> None:
        ended = cli(*TRAINED, "--data", data, *given, "--quiet", "--out", tmp_path / "run")
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert said in ended.err
        # What cannot be is no run, and does not keep a better one from the folder.
        assert not (tmp_path / "run").exists()


def test_an_array_has_its_labels_apart(cli: Cli, tmp_path: Path) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    np.save(tmp_path / "x.npy", rng.normal(size=(200, 3)) + labels[:, None])
    np.save(tmp_path / "y.npy", labels)
    ended = cli("audit", "labels", "train", "--recipe", RECIPE, "--data", tmp_path / "x.npy", "--target",
                tmp_path / "y.npy",
                "--canaries", 20, "--placebo", 20, "--planted", "none", "--references", 0, *QUICK, "--json", "--quiet")
    assert ended.code in {1, 3}
    assert json.loads(ended.out)["training"]["data"] == "array"
