"""`discreet reproduce` at the scale smoke: two calls into one folder for each paper; and what it refuses."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Cli, Refused, rendered_again, result
from tests.conftest import texts, write_side

from discreet.cli.main import run
from discreet_papers.mia.reproduction import ORDER

FAST = ("--engine", "inline", "--quiet")
CALLS = {
    "mia": ("--permutations 9 --table 1 --table 2 --table 7 --figure 2 --figure 3",
            "--permutations 9 --figure 4 --section 8.2 --section size"),
    "blia": ("--seeds 1 --corpora made_up_texts --table 5 --figure 2",
             "--seeds 1 --corpora made_up --epsilon 2 --table 4 --figure 2 --section utility")}
FIGURES = {
    "mia": {"figure-2-made_up", "figure-3-tenths", "figure-4-noise", "section-8.2", "size"},
    "blia": {"figure-2-made-up", "figure-2-made-up-texts", "utility-made-up"}}


def rerun(study: str, factory: pytest.TempPathFactory) -> Path:
    out = factory.mktemp("rerun") / study
    for call in CALLS[study]:
        assert run(["reproduce", study, *FAST, *call.split(), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def mia(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rerun("mia", tmp_path_factory)


@pytest.fixture(scope="module")
def blia(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rerun("blia", tmp_path_factory)


@pytest.fixture(params=["mia", "blia"])
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def test_the_folder_holds_page_tables_and_figures_without_rows_of_the_data(folder: Path, cli: Cli) -> None:
    record = result(folder)
    assert [record[name] for name in ("kind", "schema", "scale", "analogue")] == [
        f"reproduce {folder.name}", 1, "smoke", True]
    tables = (folder / "tables.md").read_text(encoding="utf-8")
    assert "made-up" in (folder / "report.html").read_text(encoding="utf-8").lower()
    assert "paper's AUC" not in (folder / "report.html").read_text(encoding="utf-8") + tables
    assert tables.count("### ") == len(record["items"])
    names = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert names == {path.stem for path in (folder / "figures").glob("*.csv")}
    assert names >= FIGURES[folder.name]
    data = next(path for path in sorted((folder / "data").glob("made_up*.jsonl")) if '"text"' in path.read_text())
    said = json.loads(data.read_text(encoding="utf-8").splitlines()[0])["text"].encode()
    for path in folder.rglob("*"):
        assert path.is_dir() or path.parent == folder / "data" or said not in path.read_bytes(), path
    rendered_again(cli, folder)


@pytest.mark.parametrize(("study", "call", "made"), [
    ("mia", "--permutations 9 --table 7 --section 8.2", ["table 7", "section 8.2"]),
    ("blia", "--seeds 1 --corpora made_up_texts --table 5", ["table 5"])])
def test_going_on_does_nothing_twice(cli: Cli, request: pytest.FixtureRequest, study: str, call: str,
                                     made: list[str]) -> None:
    folder: Path = request.getfixturevalue(study)
    log, before = folder / "store" / "log.jsonl", result(folder)
    begun = log.read_text(encoding="utf-8").count('"begin"')
    ended = cli("reproduce", study, "--engine", "inline", *call.split(), "--out", folder, "--json")
    assert ended.code == 0, ended.err
    assert list(ended.record["items"]) == made
    assert log.read_text(encoding="utf-8").count('"begin"') == begun
    assert result(folder)["items"] == before["items"]


class TestMia:
    def test_a_later_call_adds_to_the_items_of_an_earlier_one(self, mia: Path) -> None:
        record = result(mia)
        made = {"table 1", "table 2", "table 7", "figure 2", "figure 3", "figure 4", "section 8.2", "size"}
        assert list(record["items"]) == [name for name in ORDER if name in made]
        assert (record["provenance"]["seeds"], record["provenance"]["paraphraser"]) == ([42], "rules")

    def test_rows_have_estimates_with_control_models_next_to_them(self, mia: Path) -> None:
        items = result(mia)["items"]
        for name in ("table 7", "size", "figure 3"):
            assert items[name]["rows"]
            for row in items[name]["rows"]:
                assert {"corpus", "structure", "model", "regime", "variant", "definition", "auc", "control"} <= set(row)
                assert row["auc"]["value"] is None or row["control"]["value"] is not None
        for row in items["section 8.2"]["rows"]:
            assert row["non_boundary_auc"]["value"] is not None
            assert row["non_boundary_control"]["value"] is not None
            assert ("boundary_change" in row) is (row["variant"] != "plain")
        with (mia / "figures" / "figure-2-made_up.csv").open(encoding="utf-8", newline="") as handle:
            assert {row["label"] for row in csv.DictReader(handle)} == {"safe", "unsafe", "both"}

    def test_the_papers_definition_finds_a_leak_in_a_control_model_and_the_honest_one_does_not(self, mia: Path) -> None:
        """The reference of the paper's definition has the non-members by heart, whatever the target is."""
        rows = result(mia)["items"]["table 7"]["rows"]
        found = {row["definition"]: row for row in rows if row["attack"] == "reference"}
        assert found["paper"]["control"]["low"] > 0.5
        assert found["honest, logit"]["control"]["low"] < 0.5 < found["honest, logit"]["auc"]["low"]

    def test_markdown_is_of_this_call_alone(self, mia: Path, cli: Cli) -> None:
        ended = cli("reproduce", "mia", "--engine", "inline", "--permutations", 9, "--table", "2", "--out", mia)
        assert ended.out.count("### ") == 1
        assert "| made_up | single-turn | none | 1,400 | 50.0% | 9, 9, 9 |" in ended.out

    def test_seeds_and_corpora(self, cli: Cli, tmp_path: Path) -> None:
        ended = cli("reproduce", "mia", "--table", "1", "--seeds", "7,8,7", "--corpora", "made_up_users,made_up",
                    "--engine", "inline", "--json", "--out", tmp_path / "run")
        assert ended.code == 0, ended.err
        assert ended.record["provenance"]["seeds"] == [7, 8]
        assert [row["corpus"] for row in ended.record["items"]["table 1"]["rows"]] == ["made_up"]
        config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text(encoding="utf-8"))
        assert config == {"scale": "smoke", "seed": 42, "permutations": 99, "dtype": "auto"}

    def test_the_paper_scale_without_a_hub_is_one_line(self, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
        def unreachable(*args: Any, **options: Any) -> Any:
            raise ConnectionError("no route")

        monkeypatch.setattr(import_module("datasets"), "load_dataset", unreachable)
        refused("--scale paper needs the Hugging Face hub", "reproduce", "mia", "--scale", "paper", "--table", "1",
                *FAST)


def test_a_later_call_of_blia_adds_items_and_corpora(blia: Path) -> None:
    record = result(blia)
    assert list(record["items"]) == ["table 4", "table 5", "figure 2", "section utility"]
    assert [(row["corpus"], row["mechanism"], row["epsilon"]) for row in record["items"]["figure 2"]["rows"]] == [
        ("made_up", "none", "inf"), ("made_up", "rr", 2.0), ("made_up", "rr_halved", 2.0),
        ("made_up_texts", "none", "inf"), ("made_up_texts", "rr", 1.0), ("made_up_texts", "rr_halved", 1.0)]
    assert set(record["provenance"]["corpora"]) == {"made_up", "made_up_texts"}
    assert yaml.safe_load((blia / "config.yaml").read_text(encoding="utf-8")) == {"scale": "smoke"}


def test_without_noise_memory_is_seen_and_the_oracle_is_seen_in_held_out_canaries_too(blia: Path) -> None:
    row = result(blia)["items"]["table 4"]["rows"][0]
    assert row["threshold"]["success"]["low"] > 0.55
    assert row["threshold"]["control"]["low"] < 0.5 < row["threshold"]["control"]["high"]
    assert row["delta_margin"]["control"]["low"] > 0.5


@pytest.mark.parametrize(("study", "options", "said"), [
    *((study, options, said) for study in ("mia", "blia") for options, said in (
        (("--table", "11"), "there is no table 11; expected table "),
        (("--figure", "5"), "there is no figure 5; expected table "),
        (("--section", "9.9"), "there is no section 9.9; expected table "),
        (("--scale", "huge"), "there is no scale 'huge'; expected one of smoke, small, paper"),
        (("--corpora", "mine"), "--corpora holds 'mine'; expected some of made_up, "),
        (("--seeds", "1,x"), "--seeds holds 'x'; expected whole numbers from 0, with commas between them"),
        (("--scale", "small"), "--scale small was given without --data; expected the folder of public data sets"),
        (("--data", "nowhere"), "nowhere is not a folder; expected the folder of public data sets"))),
    ("mia", ("--corpora", "davidson"), "--corpora names none of --scale smoke; expected some of made_up, made_up_user"),
    ("blia", ("--corpora", "imdb"), "--corpora names none of --scale smoke; expected some of made_up, made_up_texts"),
    ("mia", ("--dtype", "int8"), "--dtype is 'int8'; expected auto, float32, bfloat16"),
    ("mia", ("--section", "8.2", "--paraphraser", "parrot"), "parrot"),
    ("blia", ("--epsilon", "7"), "--epsilon is '7'; expected some of inf, 2, 1, 0.5"),
    ("blia", ("--epsilon", "x"), "--epsilon holds 'x'; expected numbers above 0, or inf")])
def test_bad_input_is_one_line(refused: Refused, study: str, options: tuple[str, ...], said: str) -> None:
    refused(said, "reproduce", study, *options, *FAST)


@pytest.mark.parametrize(("study", "table", "corpus"), [("mia", 2, "beavertails_mini"), ("blia", 5, "imdb")])
def test_a_data_folder_without_the_set_is_one_line(refused: Refused, tmp_path: Path, study: str, table: int,
                                                   corpus: str) -> None:
    refused(f"expected the folder of public data with the data set {corpus} in it", "reproduce", study, "--scale",
            "small", "--data", tmp_path, "--table", table, *FAST)


@pytest.mark.parametrize(("options", "said"), [
    (("--table", "XII"), "there is no table XII; expected table III, "),
    (("--scale", "paper"), "--scale paper was given without --data; expected the folder of campaigns"),
    (("--texts", "5000"), "--texts is 5000; expected 1 to 100"),
    (("--corpora", "physics"), "--corpora holds 'physics'; expected some of medical, finance, law"),
    (("--data", "absent"), "absent is not a folder; expected the folder of campaigns"),
    (("--encoders", "paper=absent", "--table", "VII"), "there is no such folder; expected one that holds the folders"),
    (("--baseline", "MiniLM"), "'MiniLM, full', 'MiniLM, LoRA'"),
    (("--seed", "-1"), "--seed is -1; expected at least 0"),
    (("--engine", "inline"), "No such option: --engine"),
    (("--seeds", "1,x"), "--seeds holds 'x'; expected whole numbers from 0, with commas between them"),
    (("--roles", "loose"), "--roles holds 'loose'; expected some of strict, paper"),
    (("--roles", "paper", "--data", "."), "--roles and --data were given together; campaigns in --data have their wr"),
    (("--seeds", "1,2", "--seed", "3"), "--seed and --seeds were given together; expected one of them"),
])
def test_bad_input_of_ppe_is_one_line(refused: Refused, options: tuple[str, ...], said: str) -> None:
    refused(said, "reproduce", "ppe", *options, "--quiet")


def test_ppe_puts_the_roles_of_two_calls_side_by_side(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "run"
    for roles in ((), ("--roles", "paper")):
        ended = cli("reproduce", "ppe", "--corpora", "law", "--texts", 50, "--table", "VII", *roles, "--out", out,
                    "--quiet")
        assert ended.code == 0, ended.err
    record = result(out)
    assert record["provenance"]["roles"] == ["strict", "paper"]
    found = record["items"]["table VII"]["rows"]
    assert {row["roles"] for row in found} == {"strict", "paper"}
    tables = [line.split(" | ") for line in (out / "tables.md").read_text(encoding="utf-8").splitlines()
              if line.startswith("| SECOND_PERSON_EDUCATION")]
    assert [cells[1:3] for cells in tables[:2]] == [["T3+GMM-v3", "strict"], ["T3+GMM-v3", "paper"]]
    assert {path.parent.name for path in out.glob("data/**/law-0")} == {"data", "roles-paper"}


def test_tables_of_ppe_are_numbered_in_either_way(cli: Cli, tmp_path: Path) -> None:
    for number in ("4", "iv"):
        cli("reproduce", "ppe", "--corpora", "law", "--table", number, "--out", tmp_path / "run", "--quiet")
    assert list(result(tmp_path / "run")["items"]) == ["table IV"]
    assert "Self-consistency" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def partitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("partitions")
    for name in ("safe", "unsafe", "borderline"):
        write_side(home / f"{name}.jsonl", name, 80)
    write_side(home / "borderline_eval.jsonl", "borderline", 40, 2)
    return home


def test_pairings(cli: Cli, partitions: Path, tmp_path: Path) -> None:
    args = ("reproduce", "pairings", partitions, "--domain", "medical", "--encoders", "lexical", "--configurations")
    done = cli(*args, "gmm-v3,default", "--save", tmp_path / "guard", "--out", tmp_path / "run", "--json")
    assert done.code == 0, done.err
    record = done.record
    assert list(record["configurations"]) == ["gmm-v3", "default"]
    assert record["configurations"]["default"]["borderline"]["auroc"]["unit"] == "text"
    assert result(tmp_path / "run")["configurations"] == record["configurations"]
    components = {"gmm-v3": {"requested": 8, "safe": 1, "unsafe": 1}}
    assert record["components"] == components
    assert json.loads((tmp_path / "run" / "log.jsonl").read_text())["components"] == components
    assert cli("guard", "check", texts("unsafe", 1)[0], "--guard", tmp_path / "guard", "--json").code == 0
    done = cli(*args, "gmm-v3", "--quiet")
    assert (done.code, done.out) == (0, "")
    said = " ".join(cli(*args, "gmm-v3").out.split())
    for words in ("AUROC", "borderline", "gmm-v3 K = 1 on the safe side, K = 1 on the unsafe side; 8 requested"):
        assert words in said


@pytest.mark.parametrize(("words", "said"), [
    (["{}"], "--domain"), (["{}", "--domain", "medical", "--labelled", "x.jsonl"], "--labelled"),
    (["{}", "--domain", "medical", "--configurations", "gmm-v9"], "gmm-v9"),
    (["{}", "--domain", "medical", "--configurations", "gmm-v3", "--save", "{}/g"], "--save"),
    (["{}/nowhere", "--domain", "medical"], "safe.jsonl"),
])
def test_pairings_that_cannot_be(refused: Refused, partitions: Path, words: list[str], said: str) -> None:
    refused(said, "reproduce", "pairings", "--encoders", "lexical", *(w.format(partitions) for w in words))
