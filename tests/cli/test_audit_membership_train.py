"""`audit membership model` and `train`: models in, a run folder out. docs/models.md is executed apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.audit.experiments.membership.made_up import SAFE, UNSAFE, write_rows
from tests.audit.membership.scenes import sure
from tests.audit.scores.adapters.conftest import write_model
from tests.cli.conftest import KEY, MARK, Cli, Refused, content, jsonl, lines, result, run_kept

from discreet.audit.membership.facts import tree_structure
from discreet.audit.scores.load import load_scores
from discreet.core.files import KeyedHash

RECIPE = "tfidf-mlp:steps=40"
QUICK = ("--permutations", 9, "--bootstraps", 5, "--attacks", "loss")
TRAIN = ("audit", "membership", "train")
TRAINED = (*TRAIN, "--recipe", RECIPE, "--sizes", "a=60", "--planted", "1", *QUICK)
MODULE = "brought_to_command"
MODEL = ("audit", "membership", "model", "--members", "members.jsonl", "--nonmembers", "others.jsonl",
         "--permutations", "0", "--model")
TARGET, OTHER = f"python:{MODULE}:target", f"python:{MODULE}:control"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """Runs can be compared: hashes of the data have one key."""
    monkeypatch.setenv("DISCREET_HASH_KEY", KEY)


class TestModel:
    @pytest.fixture(autouse=True)
    def desk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        (tmp_path / f"{MODULE}.py").write_text(
            "def target(texts): return [[0.0, (len(t) * 7 + ord(t[0])) % 5 - 2.0] for t in texts]\n"
            "def control(texts): return [[0.0, (len(t) * 3 + ord(t[-1])) % 7 - 3.0] for t in texts]\n")
        for side in ("members", "others"):
            jsonl(tmp_path / f"{side}.jsonl", [
                {"id": f"{side}{n}", "text": f"{side[0]} {MARK} {'x' * n}", "label": n % 2} for n in range(40)])
        yield tmp_path
        sys.modules.pop(MODULE, None)

    @pytest.mark.parametrize(("words", "said"), [
        ((TARGET, "--show-text"), "no selection model says where that is; expected --selector M"),
        ((TARGET, "--reference", "x"), "expected KIND=MODEL"), ((TARGET, "--dtype", "half"), "dtype is 'half'"),
        ((TARGET, "--selector", TARGET), "same model is given twice"),
        ((TARGET, "--prompt", "sfaety"), "the prompt is 'sfaety': expected one of safety, depression, none, auto"),
        ((TARGET, "--prompt", "@none.txt"), "cannot read the prompt in none.txt: no such file"),
        ((TARGET, "--prompt", "safety"), "a prompt was given for a Python object"),
        (("http://127.0.0.1:9/score", "--prompt", "safety"), "a prompt was given for a Python object"),
        (("./none",), "there is no folder './none'"), ((f"python:{MODULE}:none",), "there is no none"),
    ])
    def test_one_line_for_a_mistake(self, refused: Refused, words: tuple[str, ...], said: str) -> None:
        refused(said, *MODEL, *words)

    def test_the_run_and_its_report(self, cli: Cli, desk: Path) -> None:
        words = (*MODEL, TARGET, "--control", OTHER, "--cache", "kept")
        ended = cli(*words, "--out", "run", "--report", "page.html", "--design", "randomised")
        assert ended.code in (0, 1, 3), ended.err
        record = result(desk / "run")
        assert [model.name for model in load_scores(desk / "run" / "scores.parquet").models] == ["control", "target"]
        assert record["controls"]["blind_auc"]["value"] is not None
        assert record["provenance"]["scored_target"].startswith("model type function; fingerprint ")
        assert not any(MARK.encode() in held for held in content(desk / "run").values())
        assert MARK not in (page := (desk / "page.html").read_text())
        assert "model type function" in page
        assert cli(*words, "--quiet").code in (0, 1, 3)
        assert len(list((desk / "kept").rglob("*.npz"))) == 2

    def test_what_trees_give_away_is_shown_as_in_memory(self, cli: Cli, desk: Path) -> None:
        (desk / f"{MODULE}.py").write_text(
            "import json\nfrom sklearn.feature_extraction.text import TfidfVectorizer\n"
            "from sklearn.pipeline import make_pipeline\nfrom sklearn.tree import DecisionTreeClassifier\n"
            "from pathlib import Path\nrows = list(map(json.loads, Path('members.jsonl').read_text().splitlines()))\n"
            "tree = make_pipeline(TfidfVectorizer(analyzer='char'), DecisionTreeClassifier(random_state=0))\n"
            "target = tree.fit([row['text'] for row in rows], [row['label'] for row in rows])\n")
        cli(*MODEL, TARGET, "--out", "run")
        texts, labels = ([row[name] for row in lines(desk / "members.jsonl")] for name in ("text", "label"))
        found = tree_structure(sys.modules[MODULE].target, texts, labels)
        assert result(desk / "run")["structure"] == sure(found).to_json()
        assert "What the trees give away by themselves" in (desk / "run" / "report.html").read_text()

    def test_words_are_shown_when_asked(self, cli: Cli) -> None:
        words = (*MODEL, TARGET, "--selector", OTHER)
        assert MARK in cli(*words, "--show-text").out
        assert MARK not in cli(*words).out

    def test_a_prompt_is_recorded_and_its_words_are_not(self, cli: Cli, desk: Path) -> None:
        (desk / "own.txt").write_text("Does anybody here mention marmalade?\n")
        write_model(desk / "model", "llama", num_labels=2)
        expected = KeyedHash(bytes.fromhex(KEY)).of_file(desk / "own.txt")
        for word, way in (("no", ()), ("yes", ("--chat",))):
            ended = cli(*MODEL, "model", "--max-tokens", "200", "--prompt", "@own.txt", *way, "--out", word)
            assert ended.code == 3, ended.err
            said = result(desk / word)["provenance"]
            assert f"chat template {word}; prompt @own.txt (yours);" in said["scored_target"]
            assert said["prompt_hash"] == expected
            assert not any(b"marmalade" in held for held in content(desk / word).values())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "d.jsonl", 420)


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, Path]:
    return run_kept(tmp_path_factory, *TRAINED, "--data", data, "--workers", 2)


class TestTrain:
    def test_its_folder_and_its_record(self, done: tuple[int, str, Path]) -> None:
        code, printed, out = done
        assert code in {0, 1, 3}
        assert {one.name for one in out.iterdir()} == {
            "config.yaml", "inputs.json", "inputs.key", "result.json", "report.html", "log.jsonl", "figures",
            "junit.xml", "summary.md", "records.csv",
            "scores.parquet", "store"}
        assert "What was trained\n  Trained here with tfidf-mlp, seed 42. Rows and accuracy on validation: " in printed
        assert max(map(len, printed.splitlines())) <= 120
        page = (out / "report.html").read_text(encoding="utf-8")
        assert ">What was trained</h2>" in page
        assert "columns=2048, decay=0.0, every=5, hidden=16" in page
        words = {word.encode() for word in (*SAFE, *UNSAFE) if len(word) > 5}
        assert not any(word in held for word in words for held in content(out).values())
        record = result(out)
        assert record["design"] == "randomised (assigned here)"
        said = record["training"]
        assert said["recipe"]["steps"] == 40
        assert said["sides"] == {"a": 60, "b": 60, "val": 24, "cal": 36, "eval": 60, "neutral": 60, "control": 60}
        assert said["planted"] == {"1": 30}
        models = said["models"]
        assert list(models) == ["f_A", "f_B", "f_S", "neutral", "unseen"]
        assert models["f_A"]["planted_records"] == models["f_B"]["planted_records"] == 15
        for name, size in (("f_A", 60), ("f_B", 60), ("f_S", 18), ("neutral", 60), ("unseen", 60)):
            assert models[name]["trained_on"] == size + models[name]["planted_records"]
        assert said["shadows"] is None
        assert {"python", "numpy", "discreet.audit.train"} <= said["versions"].keys()

    def test_its_scores_are_audited_again(self, cli: Cli, done: tuple[int, str, Path]) -> None:
        def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
            asked = ("target", "attack", "scale", "reference_kind", "selection", "n", "nonmembers", "label", "decile")
            return {str([row[name] for name in asked]): (row["auc"]["value"], row["control_auc"]["value"])
                    for row in rows}

        table = load_scores(done[2] / "scores.parquet")
        assert [model.name for model in table.models] == ["f_A", "f_B", "f_S", "neutral", "unseen"]
        ended = cli("audit", "membership", "scores", done[2] / "scores.parquet", "--design", "randomised", *QUICK,
                    "--json")
        again, first = figures(ended.record["attacks"]), figures(result(done[2])["attacks"])
        assert again.keys() == first.keys()
        for row, values in first.items():
            assert again[row] == pytest.approx(values, abs=1e-6), row

    def test_a_finished_run_trains_nothing_again_whoever_works(
        self, cli: Cli, refused: Refused, data: Path, done: tuple[int, str, Path]
    ) -> None:
        out = done[2]
        before, record = content(out / "store" / "results"), result(out)
        events = (out / "store" / "log.jsonl").read_text().count('"begin"')
        assert cli(*TRAINED, "--data", data, "--out", out, "--quiet", "--engine", "inline").code == done[0]
        assert content(out / "store" / "results") == before
        assert result(out) == record
        assert (out / "store" / "log.jsonl").read_text().count('"begin"') == events
        saved = yaml.safe_load((out / "config.yaml").read_text())
        assert saved["recipe"] == RECIPE
        assert not {"engine", "workers", "store", "out"} & saved.keys()
        refused(f"(differs in: seed): name a new folder; --store {out / 'store'}", *TRAINED, "--data", data, "--out",
                out, "--seed", 7)

    def test_several_retrainings_are_one_verdict_on_the_recipe(
        self, cli: Cli, data: Path, tmp_path: Path, done: tuple[int, str, Path]
    ) -> None:
        """What the single run trained is not trained again; each seed has a folder that reads back."""
        out, store = tmp_path / "recipe", done[2] / "store"
        before = set(content(store / "results"))
        ended = cli(*TRAINED, "--data", data, "--out", out, "--store", store, "--engine", "inline", "--seeds", 2)
        record = result(out)
        assert (record["kind"], record["seeds"]) == ("audit recipe", [42, 43])
        assert ended.code == {"pass": 0, "fail": 1, "inconclusive": 3}[record["verdict"]]
        assert "This is a verdict on the recipe" in " ".join(ended.out.split())
        new = {path.split("/")[1] for path in set(content(store / "results")) - before}
        assert len(new) == 4  # f_A, f_B, the neutral reference and the control model.
        kept = result(out / "seed-42")
        assert kept["targets"][0]["primary"]["auc"] == record["models"][0]["auc"]
        scored = [load_scores(out / f"seed-{seed}" / "scores.parquet").models[0] for seed in (42, 43)]
        assert [model.seed for model in scored] == ["42", "43"]
        assert (out / "seed-43" / "records.csv").read_text().startswith("target,id,part,p,q,named,")
        assert {part["name"] for part in record["parts"]} == {part["name"] for part in kept["parts"]}

    def test_a_plan_trains_no_model_of_the_run(self, cli: Cli, refused: Refused, data: Path, tmp_path: Path) -> None:
        ended = cli(*TRAINED, "--data", data, "--plan")
        assert ended.code == 0
        assert "With 60 members and 120 non-members a model without any leak passes" in " ".join(ended.out.split())
        assert "a whole model" in ended.out
        record = cli(*TRAINED, "--data", data, "--plan", "--exclude-parts", "class", "--json").record
        assert (record["kind"], [one["part"] for one in record["parts"]]) == (
            "plan training", ["all records", "least likely records"])
        refused("'class calm' is no part that can be excluded: expected some of class safe, class unsafe, least likely",
                *TRAINED, "--data", data, "--plan", "--exclude-parts", "class calm")
        refused("--plan keeps nothing", *TRAINED, "--data", data, "--plan", "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_turns_users_and_models_that_are_kept(self, cli: Cli, tmp_path: Path) -> None:
        data, out = write_rows(tmp_path / "d.jsonl", 700, users=220, turns=2), tmp_path / "run"
        ended = cli(*TRAINED, "--data", data, "--engine", "inline", "--out", out, "--keep-models", "--allow-near")
        assert ended.code in {0, 1, 3}
        record = result(out)
        assert {row["structure"] for row in record["attacks"]} - {None, "single-turn"} == {"multi-turn"}
        assert all(one["controls"]["group_auc"]["value"] is not None for one in record["targets"])
        assert 100 < record["training"]["groups"] <= 220
        assert "were allowed in different sets" in " ".join(ended.out.split())
        table = load_scores(out / "scores.parquet")
        assert table.examples.group is not None
        for target in (0, 1):
            members, plain = table.member[target] == 1, table.examples.planted == 0
            assert not set(table.examples.group[members & plain]) & set(table.examples.group[~members & plain])
        assert len(list((out / "store").glob("results/*/*/files/model/recipe.json"))) == 5


class TestBadInput:
    @pytest.mark.parametrize(("spoil", "more", "said"), [
        (lambda row: {**row, "label": "safe"}, (), "all 420 rows have one label"),
        (dict, ("--sizes", "a=9000"), "class 'safe' has 210 examples"),
    ])
    def test_data_that_cannot_be_split(
        self, refused: Refused, data: Path, tmp_path: Path, spoil: Callable[[dict[str, Any]], dict[str, Any]],
        more: tuple[str, ...], said: str
    ) -> None:
        path = jsonl(tmp_path / "d.jsonl", map(spoil, lines(data)))
        refused(said, *TRAINED, "--data", path, "--out", tmp_path / "run", "--engine", "inline", "--json", *more)
        assert not (tmp_path / "run" / "result.json").exists()

    def test_parts_are_looked_at_before_a_model_is_trained(
        self, cli: Cli, refused: Refused, data: Path, tmp_path: Path
    ) -> None:
        rows = [{**row, "category": f"case-{place // 3}"} for place, row in enumerate(lines(data))]
        path, words = jsonl(tmp_path / "d.jsonl", rows), ("--engine", "inline", "--store", tmp_path / "store")
        refused("'category' names 88 parts of the records", *TRAINED, "--data", path, *words)
        refused("is no part that can be excluded", *TRAINED, "--data", path, *words, "--exclude-parts", "class calm")
        done = [line for line in lines(tmp_path / "store" / "log.jsonl") if line["event"] == "publish"]
        assert {line["task"] for line in done} == {"prepare"}
        few = [{**row, "category": "rare" if place < 12 else "common"} for place, row in enumerate(lines(data))]
        ended = cli(*TRAINED, "--data", jsonl(tmp_path / "few.jsonl", few), *words)
        assert "1 of the 2 parts by 'category' have fewer than 10 members or non-members (the smallest" in ended.err

    @pytest.mark.parametrize(("more", "said"), [
        (("--recipe", "tfidf"), "'tfidf' is none of the recipes that are installed; did you mean 'tfidf-"),
        (("--recipe", "tfidf-mlp:stps=9"), "has no option 'stps'"),
        (("--recipe", "tfidf-mlp:steps=many"), "steps is 'many'"),
        *((("--recipe", recipe), f"{said} takes no texts; expected one of head, private-head, private-tfidf-mlp, ")
          for recipe, said in (("mlp", "'mlp'"), ("cnn", "'cnn'"), ("resnet18:width=2", "'resnet18'"),
                               ("head:encoder=none", "'head' with these options"))),
        (("--recipe", "gone.yaml"), "cannot read the recipe"),
        (("--recipe", "transformer:base=./gone"), "there is no folder './gone'"),
        (("--seeds", "2", "--show-text"), "--show-text is about one training, and --seeds 2 trains several"),
        (("--seeds", "3", "--recipe", "tfidf-linear"), "--seeds is 3, and the recipe 'tfidf-linear' draws nothing"),
        (("--shadows", "-1"), "-1 shadows were asked for"), (("--planted", "0"), "--planted holds '0'"),
        (("--planted", "two"), "--planted holds 'two'; expected whole numbers from 1"),
        (("--sizes", "a=many"), "--sizes holds 'a=many'"),
        (("--sizes", "b=9"), "sizes name b without a"), (("--sizes", "q=9,a=9"), "sizes name a set 'q'"),
        (("--sizes", "a=1,a=2"), "--sizes holds 'a=2'"), (("--sizes", "a"), "--sizes holds 'a'"),
        (("--sizes", "a=-1"), "--sizes holds 'a=-1'"), (("--sizes", "a=²"), "--sizes holds 'a=²'"),
        (("--design", "randomised"), "No such option: --design"),
        (("--data", "gone.jsonl"), "gone.jsonl: no such file"),
        (("--mismatched", "gone.csv"), "gone.csv: no such file"),
        (("--tolerance-auc", "2"), "tolerance AUC is 2"),
    ])
    def test_options_that_cannot_be_leave_no_folder(
        self, refused: Refused, data: Path, tmp_path: Path, more: tuple[str, ...], said: str
    ) -> None:
        refused(said, *TRAINED, "--data", data, "--out", tmp_path / "run", *more)
        assert not (tmp_path / "run").exists()

    def test_a_package_that_is_absent_is_named_before_anything_runs(
        self, refused: Refused, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("discreet.audit.experiments.runner._installed", lambda name: name != "scikit-learn")
        said = r"the recipe 'tfidf-mlp' needs the package 'scikit-learn', which is not installed: pip install"
        refused(said, *TRAINED, "--data", data, "--recipe", "tfidf-mlp", "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(("more", "said"), [
        (("--engine", "dask"), "there is no engine 'dask'"), (("--workers", "0"), "the number of workers is 0"),
        (("--address", "auto"), "the engine local takes no address"), ((), "is not empty and holds no results"),
    ])
    def test_workers_and_stores_that_cannot_be(self, refused: Refused, data: Path, tmp_path: Path,
                                               more: tuple[str, ...], said: str) -> None:
        if not more:
            (tmp_path / "store").write_text("x")
        refused(said, *TRAINED, "--data", data, "--store", tmp_path / "store", *more)

    @pytest.mark.parametrize("kept", [True, False])
    def test_a_log_is_named_only_where_it_is_kept(self, cli: Cli, data: Path, tmp_path: Path, kept: bool,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise ValueError(MARK)

        monkeypatch.setattr("discreet.audit.experiments.membership.training.assign", broken)
        more = ("--store", tmp_path / "store") if kept else ()
        ended = cli(*TRAINED, "--data", data, "--engine", "inline", *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert MARK not in ended.err
        log = tmp_path / "store" / "log.jsonl"
        assert log.is_file() == kept
        assert ended.err.endswith(f"; {log} has the calls\n" if kept else
                                  "; run again with --out DIR or --store DIR, whose log keeps the calls\n")
        assert ("log.jsonl" in ended.err) == kept
