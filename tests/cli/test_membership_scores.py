from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.audit import audit_membership
from discreet.scores.load import load_scores
from discreet.scores.write import write_scores

Cli = Callable[..., Any]
QUICK = ("--permutations", 19, "--bootstraps", 20)
MARK = "MARKEDWORD"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scores")
    sizes: dict[str, Any] = {"members": 160, "others": 160, "clean": 160, "selector": 60, "planted": {4: 30}}
    for name, leak in (("innocent", 0.0), ("leaking", 1.6)):
        write_scores(simulated_table(World(**sizes, leak=leak), np.random.default_rng(1)), folder / f"{name}.parquet")
    small = World(members=20, others=0, clean=20, selector=10, paired=0, group_size=2)
    write_scores(simulated_table(small, np.random.default_rng(1)), folder / "small.parquet")
    return folder


@pytest.fixture
def small(files: Path) -> pd.DataFrame:
    return pd.read_parquet(files / "small.parquet").astype({"model": str, "model_role": str, "example": str})


def audit(cli: Cli, path: Path, *more: object) -> Any:
    return cli("audit", "membership", "scores", path, *QUICK, "--quiet", *more)


class TestVerdicts:
    @pytest.mark.parametrize(("name", "options", "code", "word"), [
        ("innocent", ("--design", "randomised", "--tolerance-auc", 0.65), 0, "Pass: "),
        ("leaking", ("--design", "randomised"), 1, "Fail: "),
        ("leaking", (), 3, "Inconclusive: "), ("innocent", ("--design", "matched"), 3, "Inconclusive: "),
    ])
    def test_the_exit_code_is_the_verdict(
        self, cli: Cli, files: Path, name: str, options: tuple[object, ...], code: int, word: str
    ) -> None:
        ended = audit(cli, files / f"{name}.parquet", *options)
        assert (ended.code, ended.err) == (code, "")
        assert ended.out.startswith(word)
        assert ended.out.count("\n") == 1

    def test_json_is_the_record_of_the_audit(self, cli: Cli, files: Path) -> None:
        path = files / "innocent.parquet"
        ended = audit(cli, path, "--json", "--seed", 5)
        record = json.loads(ended.out)
        assert set(record) == {"kind", "schema", "verdict", "design", "reasons", "reason_codes", "claims", "primary",
                               "attacks", "controls", "utility", "targets", "provenance"}
        same = audit_membership(load_scores(path), permutations=19, bootstraps=20, seed=5).to_json()
        same.pop("provenance")
        assert {name: record[name] for name in same} == json.loads(json.dumps(same))
        assert record["provenance"]["input"] == "innocent.parquet"
        assert record["provenance"]["seed"] == 5

    def test_some_attacks_only(self, cli: Cli, files: Path) -> None:
        ended = audit(cli, files / "innocent.parquet", "--json", "--attacks", "loss, reference,loss")
        assert {row["attack"] for row in json.loads(ended.out)["attacks"]} == {"loss", "reference"}


class TestFiles:
    def test_a_run_folder_is_whole_and_has_no_text(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        out, texts = tmp_path / "run", tmp_path / "texts.jsonl"
        names = load_scores(files / "innocent.parquet").examples.id
        texts.write_text("".join(json.dumps({"id": name, "text": f"{MARK} {place % 7}"}) + "\n"
                                 for place, name in enumerate(names)), encoding="utf-8")
        ended = audit(cli, files / "innocent.parquet", "--out", out, "--texts", texts, "--frontier")
        assert ended.code == 3
        assert {one.name for one in out.iterdir()} == {
            "config.yaml", "inputs.json", "inputs.key", "result.json", "report.html", "log.jsonl", "figures"}
        figures = {one.name for one in (out / "figures").iterdir()}
        assert {"standing.svg", "standing.csv", "frontier.svg", "frontier.csv"} <= figures
        assert {Path(name).stem for name in figures if name.endswith(".svg")} == {
            Path(name).stem for name in figures if name.endswith(".csv")}
        for one in out.rglob("*"):
            assert one.is_dir() or MARK not in one.read_text(encoding="utf-8")
        record = json.loads((out / "result.json").read_text(encoding="utf-8"))
        assert "on texts" in record["controls"]["blind_auc"]["method"]
        assert record["frontier"]["points"]
        assert yaml.safe_load((out / "config.yaml").read_text(encoding="utf-8"))["design"] == "convenience"
        assert "done" in (out / "log.jsonl").read_text(encoding="utf-8")

    def test_text_is_shown_where_it_is_asked_for_and_never_in_json(
        self, cli: Cli, files: Path, tmp_path: Path
    ) -> None:
        texts, page = tmp_path / "texts.csv", tmp_path / "page.html"
        names = load_scores(files / "innocent.parquet").examples.id
        pd.DataFrame({"id": names, "text": [f"{MARK} {n % 7}" for n in range(len(names))]}).to_csv(texts, index=False)
        options = ("--texts", texts, "--show-text", "--report", page)
        ended = cli("audit", "membership", "scores", files / "innocent.parquet", *QUICK, *options)
        assert MARK in ended.out
        assert MARK in page.read_text(encoding="utf-8")
        assert MARK not in audit(cli, files / "innocent.parquet", *options, "--json").out

    def test_three_tables_are_read_as_one(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        flat = pd.read_parquet(files / "small.parquet")
        of_model, of_example = ["model", "model_role", "reference_kind"], ["example", "label", "planted", "group",
                                                                          "split", "category"]
        flat[of_model].drop_duplicates().to_csv(tmp_path / "m.csv", index=False)
        flat[of_example].drop_duplicates().to_csv(tmp_path / "e.csv", index=False)
        flat.drop(columns=[*of_model[1:], *of_example[1:]]).to_csv(tmp_path / "s.csv", index=False)
        apart = ("--models", tmp_path / "m.csv", "--examples", tmp_path / "e.csv")
        ended = audit(cli, tmp_path / "s.csv", *apart, "--json")
        assert ended.code == 3
        assert json.loads(ended.out)["provenance"]["examples"] == 50


def rows_of(frame: pd.DataFrame, role: str) -> pd.Series[bool]:
    return frame["model_role"] == role


def selector_is_target(frame: pd.DataFrame) -> pd.DataFrame:
    for column in ("logit_0", "logit_1"):
        frame.loc[rows_of(frame, "selection"), column] = frame.loc[rows_of(frame, "target"), column].to_numpy()
    return frame


def group_split(frame: pd.DataFrame) -> pd.DataFrame:
    frame.loc[frame["example"] == "e0", "group"] = frame.loc[frame["example"] == "e30", "group"].iloc[0]
    return frame


def too_few(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[~frame["example"].isin([f"e{n}" for n in range(12)])]


class TestBadInput:
    @pytest.mark.parametrize(("spoil", "said"), [
        (selector_is_target, "same scores as target"), (group_split, "groups are split over both sets"),
        (too_few, "expected at least 10 of each"),
    ])
    def test_one_line_and_exit_2_and_no_run(
        self, cli: Cli, small: pd.DataFrame, tmp_path: Path, spoil: Callable[[pd.DataFrame], pd.DataFrame], said: str
    ) -> None:
        path, out = tmp_path / "bad.csv", tmp_path / "run"
        spoil(small).to_csv(path, index=False)
        ended = audit(cli, path, "--out", out, "--report", tmp_path / "page.html", "--json")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.count("\n") == 1
        assert ended.err.startswith(f"discreet: {path}")
        assert said in ended.err
        assert not out.exists()
        assert not (tmp_path / "page.html").exists()

    def test_split_groups_are_left_out_where_that_is_allowed(
        self, cli: Cli, small: pd.DataFrame, tmp_path: Path
    ) -> None:
        path = tmp_path / "split.csv"
        group_split(small).to_csv(path, index=False)
        ended = audit(cli, path, "--allow-split-groups", "--json")
        assert ended.code == 3
        facts = json.loads(ended.out)["provenance"]
        assert facts["split_groups_left_out"] == 1
        assert facts["examples"] == 47

    @pytest.mark.parametrize(("options", "said"), [
        (("--design", "random"), "design is 'random'"), (("--attacks", "loss,looss"), "--attacks holds 'looss'"),
        (("--tolerance-auc", "0.4"), "tolerance AUC is 0.4"), (("--base-rate", "0"), "base rate is 0"),
        (("--permutations", "-1"), "permutations is -1"), (("--bootstraps", "0"), "bootstraps is 0"),
        (("--show-text",), "expected --texts F"),
    ])
    def test_options_that_cannot_be(self, cli: Cli, files: Path, options: tuple[str, ...], said: str) -> None:
        ended = audit(cli, files / "small.parquet", *options)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
        assert ended.err.count("\n") == 1

    def test_changed_scores_need_another_folder(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        scores, run = tmp_path / "scores.parquet", tmp_path / "run"
        scores.write_bytes((files / "small.parquet").read_bytes())
        audit(cli, scores, "--out", run)
        before = (run / "result.json").read_bytes()
        scores.write_bytes((files / "innocent.parquet").read_bytes())
        ended = audit(cli, scores, "--out", run)
        assert (ended.code, ended.out) == (2, "")
        assert "differs in the content of: FILE|DIR" in ended.err
        assert (run / "result.json").read_bytes() == before

    def test_an_option_that_cannot_be_leaves_no_run_folder(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        out = tmp_path / "run"
        for options in (["--tolerance-auc", "0.4"], ["--report", tmp_path / "none" / "r.html"], ["--report", tmp_path]):
            ended = audit(cli, files / "small.parquet", *options, "--out", out)
            assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
            assert not out.exists()

    @pytest.mark.parametrize(("rows", "said"), [
        ([{"id": "e0", "text": MARK}], "49 of 50 examples have no text"), ([{"id": "e0"}], "text"),
        ([{"id": "e0", "text": 3}], "'text' is a number"), ([{"id": None, "text": MARK}], "'id' is null"),
    ])
    def test_texts_that_cannot_be(
        self, cli: Cli, files: Path, tmp_path: Path, rows: list[dict[str, Any]], said: str
    ) -> None:
        texts = tmp_path / "texts.jsonl"
        texts.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        ended = audit(cli, files / "small.parquet", "--texts", texts)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert said in ended.err
        assert MARK not in ended.err

    def test_a_reader_who_leaves_early_costs_no_results(
        self, cli: Cli, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def gone(*_: object) -> None:
            raise BrokenPipeError

        monkeypatch.setattr("discreet.cli.output.Output.show", lambda *_, **__: gone())
        monkeypatch.setattr("discreet.cli.main.os.dup2", lambda *_: None)
        assert audit(cli, files / "small.parquet", "--out", tmp_path / "run").code == 141
        assert (tmp_path / "run" / "result.json").is_file()


def test_names_cannot_steer_the_terminal(cli: Cli, small: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    small.loc[rows_of(small, "target"), "model"] = "a\x1b[31mb"
    second = small[rows_of(small, "target")].assign(model="z")
    second["logit_1"] += np.linspace(0, 1, len(second))
    pd.concat([small, second]).to_csv(path, index=False)
    ended = cli("audit", "membership", "scores", path, *QUICK)
    assert "\x1b" not in ended.out
    assert re.search(r"a\\x1b\[31mb +inconclusive", ended.out)
