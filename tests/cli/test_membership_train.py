"""`discreet audit membership train`: data in, everything trained, a run folder out."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.experiments.membership.made_up import SAFE, UNSAFE, write_rows

from discreet.cli.main import run
from discreet.scores.load import load_scores

Cli = Callable[..., Any]
RECIPE = "tfidf-mlp:steps=40"
KEY = "ab" * 32
QUICK = ("--permutations", 9, "--bootstraps", 5)
TRAINED = ("audit", "membership", "train", "--recipe", RECIPE, "--sizes", "a=60", "--planted", "1", *QUICK)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """Runs can be compared: hashes of the data have one key."""
    monkeypatch.setenv("DISCREET_HASH_KEY", KEY)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "d.jsonl", 420)


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    """Exit code, what was printed, and the folder of a run."""
    out, printed = tmp_path_factory.mktemp("runs") / "run", StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setenv("DISCREET_HASH_KEY", KEY)
        code = run([str(one) for one in (*TRAINED, "--data", data, "--out", out, "--workers", 2)])
    return code, printed.getvalue(), out


def results(store: Path) -> dict[str, bytes]:
    return {path.relative_to(store).as_posix(): path.read_bytes()
            for path in (store / "results").rglob("*") if path.is_file()}


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
        assert "What was trained\n  Trained here with tfidf-mlp, seed 42. Rows and accuracy on validation: " in printed
        assert max(map(len, printed.splitlines())) <= 120
        page = (out / "report.html").read_text(encoding="utf-8")
        assert ">What was trained</h2>" in page
        assert "columns=2048, decay=0.0, every=5, hidden=16" in page

    def test_its_record_says_what_was_trained(self, done: tuple[int, str, Path]) -> None:
        record = record_of(done[2])
        assert record["design"] == "randomised (assigned here)"
        said = record["training"]
        assert said["recipe"]["steps"] == 40
        assert said["sides"] == {"a": 60, "b": 60, "val": 24, "cal": 36, "eval": 60, "neutral": 60, "placebo": 60}
        assert said["planted"] == {"1": 30}
        models = said["models"]
        assert list(models) == ["f_A", "f_B", "f_S", "neutral", "placebo"]
        assert models["f_A"]["planted_records"] == models["f_B"]["planted_records"] == 15
        for name, size in (("f_A", 60), ("f_B", 60), ("f_S", 18), ("neutral", 60), ("placebo", 60)):
            assert models[name]["trained_on"] == size + models[name]["planted_records"]
        assert said["shadows"] is None
        assert {"python", "numpy", "discreet.train"} <= said["versions"].keys()

    def test_it_holds_no_text(self, done: tuple[int, str, Path]) -> None:
        words = {word.encode() for word in (*SAFE, *UNSAFE) if len(word) > 5}
        for path in done[2].rglob("*"):
            assert path.is_dir() or not any(word in path.read_bytes() for word in words), path.name

    def test_its_scores_are_audited_again(self, cli: Cli, done: tuple[int, str, Path]) -> None:
        out = done[2]
        table = load_scores(out / "scores.parquet")
        assert [model.name for model in table.models] == ["f_A", "f_B", "f_S", "neutral", "placebo"]
        ended = cli("audit", "membership", "scores", out / "scores.parquet", "--design", "randomised", *QUICK, "--json")

        def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
            asked = ("target", "attack", "scale", "reference_kind", "selection", "n", "nonmembers", "label", "decile")
            return {str([row[name] for name in asked]): (row["auc"]["value"], row["placebo_auc"]["value"])
                    for row in rows if not row["attack"].startswith("rmia")}

        again, first = figures(json.loads(ended.out)["attacks"]), figures(record_of(out)["attacks"])
        assert again.keys() == first.keys()
        for row, values in first.items():
            assert again[row] == pytest.approx(values, abs=1e-6), row

    def test_its_page_is_made_again(self, cli: Cli, done: tuple[int, str, Path], tmp_path: Path) -> None:
        assert cli("report", done[2], "--report", tmp_path / "again.html").code == 0
        assert (tmp_path / "again.html").read_bytes() == (done[2] / "report.html").read_bytes()


class TestGoingOn:
    def test_a_finished_run_trains_nothing_again_whoever_works(
        self, cli: Cli, data: Path, done: tuple[int, str, Path]
    ) -> None:
        out = done[2]
        before, record = results(out / "store"), record_of(out)
        events = (out / "store" / "log.jsonl").read_text().count('"begin"')
        assert cli(*TRAINED, "--data", data, "--out", out, "--quiet", "--engine", "inline").code == done[0]
        assert results(out / "store") == before
        assert record_of(out) == record
        assert (out / "store" / "log.jsonl").read_text().count('"begin"') == events
        saved = yaml.safe_load((out / "config.yaml").read_text())
        assert saved["recipe"] == RECIPE
        assert not {"engine", "workers", "store", "out"} & saved.keys()

    def test_another_question_needs_another_folder(self, cli: Cli, data: Path, done: tuple[int, str, Path]) -> None:
        ended = cli(*TRAINED, "--data", data, "--out", done[2], "--seed", 7)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert "differs in: seed" in ended.err
        assert f"--store {done[2] / 'store'}" in ended.err


class TestWhatElseThereIs:
    def test_turns_users_and_models_that_are_kept(self, cli: Cli, tmp_path: Path) -> None:
        data, out = write_rows(tmp_path / "d.jsonl", 700, users=220, turns=2), tmp_path / "run"
        ended = cli("audit", "membership", "train", "--recipe", RECIPE, "--data", data, "--sizes", "a=60", "--planted",
                    "1", "--engine", "inline", *QUICK, "--out", out, "--keep-models", "--allow-near")
        assert ended.code in {0, 1, 3}
        record = record_of(out)
        assert {"single-turn", "multi-turn"} >= {row["structure"] for row in record["attacks"]} - {None}
        assert {row["structure"] for row in record["attacks"]} & {"multi-turn"}
        assert all(one["controls"]["group_auc"]["value"] is not None for one in record["targets"])
        assert 100 < record["training"]["groups"] <= 220
        assert "were allowed in different sets" in " ".join(ended.out.split())
        table = load_scores(out / "scores.parquet")
        assert table.examples.group is not None
        for target in (0, 1):
            members, plain = table.member[target] == 1, table.examples.planted == 0
            assert not set(table.examples.group[members & plain]) & set(table.examples.group[~members & plain])
        assert len(list((out / "store").glob("results/*/*/files/model/recipe.json"))) == 5


def one_class(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "label": "safe"}


class TestBadInput:
    @pytest.mark.parametrize(("spoil", "more", "said"), [
        (one_class, (), "all 420 rows have one label"),
        (None, ("--sizes", "a=9000"), "class 'safe' has 210 examples"),
    ])
    def test_data_that_cannot_be_dealt_are_one_line(
        self, cli: Cli, data: Path, tmp_path: Path, spoil: Callable[[dict[str, Any]], dict[str, Any]] | None,
        more: tuple[str, ...], said: str
    ) -> None:
        path, out = tmp_path / "d.jsonl", tmp_path / "run"
        rows = [json.loads(line) for line in data.read_text().splitlines()]
        path.write_text("".join(json.dumps(spoil(row) if spoil else row) + "\n" for row in rows))
        ended = cli(*TRAINED, "--data", path, "--out", out, "--engine", "inline", "--json", *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert said in ended.err
        assert not any(word in ended.err for word in ("how to", "stranger", "Traceback", "unexpected"))
        assert not (out / "result.json").exists()

    @pytest.mark.parametrize(("more", "said"), [
        (("--recipe", "tfidf"), "is called 'tfidf': expected one of "),
        (("--recipe", "tfidf-mlp:stps=9"), "has no option 'stps'"),
        (("--recipe", "tfidf-mlp:steps=many"), "steps is 'many'"),
        *((("--recipe", recipe), f"{said} takes no texts; expected one of head, rnn, tfidf-linear, tfidf-mlp, token-")
          for recipe, said in (("mlp", "'mlp'"), ("cnn", "'cnn'"), ("resnet18:width=2", "'resnet18'"),
                               ("head:encoder=none", "'head' with these options"))),
        (("--recipe", "gone.yaml"), "cannot read the recipe"),
        (("--recipe", "transformer:base=./gone"), "there is no folder './gone'"),
        (("--shadows", "-1"), "-1 shadows were asked for"), (("--planted", "0"), "--planted holds '0'"),
        (("--planted", "two"), "--planted holds 'two'; expected whole numbers from 1"),
        (("--sizes", "a=many"), "--sizes holds 'a=many'"),
        (("--sizes", "a=1,a=2"), "--sizes holds 'a=2'"), (("--sizes", "a"), "--sizes holds 'a'"),
        (("--sizes", "a=-1"), "--sizes holds 'a=-1'"), (("--sizes", "a=²"), "--sizes holds 'a=²'"),
        (("--design", "randomised"), "No such option: --design"),
        (("--data", "gone.jsonl"), "gone.jsonl: no such file"),
        (("--mismatched", "gone.csv"), "gone.csv: no such file"),
        (("--tolerance-auc", "2"), "tolerance AUC is 2"),
    ])
    def test_options_that_cannot_be_leave_no_folder(
        self, cli: Cli, data: Path, tmp_path: Path, more: tuple[str, ...], said: str
    ) -> None:
        out = tmp_path / "run"
        ended = cli(*TRAINED, "--data", data, "--out", out, *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert said in ended.err
        assert not out.exists()

    @pytest.mark.parametrize(("more", "said"), [
        (("--engine", "dask"), "there is no engine 'dask'"), (("--workers", "0"), "the number of workers is 0"),
        (("--address", "auto"), "the engine local takes no address"),
    ])
    def test_workers_that_cannot_be(
        self, cli: Cli, data: Path, tmp_path: Path, more: tuple[str, ...], said: str
    ) -> None:
        ended = cli(*TRAINED, "--data", data, "--store", tmp_path / "store", *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert said in ended.err

    def test_a_store_that_is_a_file(self, cli: Cli, data: Path, tmp_path: Path) -> None:
        (tmp_path / "store").write_text("x")
        ended = cli(*TRAINED, "--data", data, "--store", tmp_path / "store")
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert "is not empty and holds no results" in ended.err


@pytest.mark.parametrize("kept", [True, False])
def test_a_log_is_named_only_where_it_is_kept(cli: Cli, data: Path, tmp_path: Path, kept: bool,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("MARK")

    monkeypatch.setattr("discreet.experiments.membership.steps.assign", broken)
    more = ("--store", tmp_path / "store") if kept else ()
    ended = cli(*TRAINED, "--data", data, "--engine", "inline", *more)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "MARK" not in ended.err
    if kept:
        assert (tmp_path / "store" / "log.jsonl").is_file()
        assert ended.err.endswith(f"; {tmp_path / 'store' / 'log.jsonl'} has the calls\n")
    else:
        assert "log.jsonl" not in ended.err
        assert ended.err.endswith("; run again with --out DIR or --store DIR, whose log keeps the calls\n")
