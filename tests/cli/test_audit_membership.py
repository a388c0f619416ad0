"""`audit membership scores`: verdicts, files, embeddings, seals, and what it refuses."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.cli.conftest import MARK, Cli, Ended, Refused, jsonl, lines, result

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.audit import audit_membership
from discreet.audit.membership.diagnostics import NAMES
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.write import write_scores

VERB = ("audit", "membership", "scores")
QUICK = ("--permutations", 19, "--bootstraps", 20, "--attacks", "loss")
AS_STATED = "sealed (as stated)"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scores")
    sizes: dict[str, Any] = {"members": 160, "others": 160, "clean": 160, "selector": 60, "planted": {4: 30}}
    worlds = {"safe": World(**sizes), "leaking": World(**sizes, leak=1.6),
              "small": World(members=20, others=0, clean=20, selector=10, paired=0, group_size=2),
              "plain": World(members=60, others=0, clean=60, selector=20, paired=0),
              "unselected": World(members=60, others=0, clean=60, selector=0, paired=0)}
    for name, world in worlds.items():
        write_scores(simulated_table(world, np.random.default_rng(1)), folder / f"{name}.parquet")
    return folder


@pytest.fixture
def small(files: Path) -> pd.DataFrame:
    return pd.read_parquet(files / "small.parquet").astype({"model": str, "model_role": str, "example": str})


def audit(cli: Cli, path: Path, *more: object) -> Ended:
    return cli(*VERB, path, *QUICK, "--quiet", *more)


class TestVerdicts:
    @pytest.mark.parametrize(("name", "options", "code", "word"), [
        ("safe", ("--design", "randomised", "--tolerance-auc", 0.65), 0, "Pass: "),
        ("leaking", ("--design", "randomised"), 1, "Fail: "),
        ("leaking", (), 3, "Inconclusive: "), ("safe", ("--design", "matched"), 3, "Inconclusive: "),
    ])
    def test_the_exit_code_is_the_verdict(
        self, cli: Cli, files: Path, name: str, options: tuple[object, ...], code: int, word: str
    ) -> None:
        ended = audit(cli, files / f"{name}.parquet", *options)
        assert (ended.code, ended.err, ended.out.count("\n")) == (code, "", 1)
        assert ended.out.startswith(word)

    def test_json_is_the_record_of_the_audit(self, cli: Cli, files: Path) -> None:
        path = files / "safe.parquet"
        record = audit(cli, path, "--json", "--seed", 5, "--attacks", "loss, reference,loss").record
        assert set(record) == {"kind", "schema", "verdict", "decisive", "design", "reasons", "reason_codes", "claims",
                               "primary", "attacks", "attack_facts", "parts", "controls", "control_states", "named",
                               "gains", "records", "utility", "targets", "provenance"}
        assert {row["attack"] for row in record["attacks"]} == {"loss", "reference"}
        same = audit_membership(load_scores(path), permutations=19, bootstraps=20, seed=5,
                                attacks=("loss", "reference")).to_json()
        same.pop("provenance")
        assert {name: record[name] for name in same} == json.loads(json.dumps(same))
        assert (record["provenance"]["input"], record["provenance"]["seed"]) == ("safe.parquet", 5)

    def test_names_cannot_steer_the_terminal(self, cli: Cli, small: pd.DataFrame, tmp_path: Path) -> None:
        target = small["model_role"] == "target"
        small.loc[target, "model"] = "a\x1b[31mb"
        second = small[target].assign(model="z")
        second["logit_1"] += np.linspace(0, 1, len(second))
        pd.concat([small, second]).to_csv(tmp_path / "odd.csv", index=False)
        ended = cli(*VERB, tmp_path / "odd.csv", *QUICK)
        assert "\x1b" not in ended.out
        assert re.search(r"a\\x1b\[31mb +inconclusive", ended.out)


def texts_of(path: Path, scores: Path) -> Path:
    names = load_scores(scores).examples.id
    return jsonl(path, [{"id": name, "text": f"{MARK} {place % 7}"} for place, name in enumerate(names)])


class TestFiles:
    def test_a_run_folder_is_whole_and_has_no_text(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        out, texts = tmp_path / "run", texts_of(tmp_path / "texts.jsonl", files / "safe.parquet")
        ended = audit(cli, files / "safe.parquet", "--out", out, "--texts", texts, "--attacks", "loss")
        assert ended.code == 3
        assert {one.name for one in out.iterdir()} == {
            "config.yaml", "inputs.json", "inputs.key", "result.json", "report.html", "log.jsonl", "figures",
            "junit.xml", "summary.md", "records.csv", "scores.parquet"}
        figures = {one.name for one in (out / "figures").iterdir()}
        assert {"standing.svg", "standing.csv"} <= figures
        assert {Path(name).stem for name in figures if name.endswith(".svg")} == {
            Path(name).stem for name in figures if name.endswith(".csv")}
        for one in out.rglob("*"):
            assert one.is_dir() or MARK.encode() not in one.read_bytes()
        record = result(out)
        assert "on texts" in record["controls"]["blind_auc"]["method"]
        assert yaml.safe_load((out / "config.yaml").read_text(encoding="utf-8"))["design"] == "convenience"
        assert "done" in (out / "log.jsonl").read_text(encoding="utf-8")

    def test_text_is_shown_where_it_is_asked_for_and_never_in_json(
        self, cli: Cli, files: Path, tmp_path: Path
    ) -> None:
        texts, page = texts_of(tmp_path / "texts.jsonl", files / "small.parquet"), tmp_path / "page.html"
        options = ("--texts", texts, "--show-text", "--report", page, "--attacks", "loss")
        assert MARK in cli(*VERB, files / "small.parquet", *QUICK, *options).out
        assert MARK in page.read_text(encoding="utf-8")
        assert MARK not in audit(cli, files / "small.parquet", *options, "--json").out

    def test_three_tables_are_read_as_one(self, cli: Cli, files: Path, tmp_path: Path) -> None:
        flat = pd.read_parquet(files / "small.parquet")
        of_model, of_example = ["model", "model_role", "reference_kind"], ["example", "label", "planted", "group",
                                                                          "split", "category"]
        flat[of_model].drop_duplicates().to_csv(tmp_path / "m.csv", index=False)
        flat[of_example].drop_duplicates().to_csv(tmp_path / "e.csv", index=False)
        flat.drop(columns=[*of_model[1:], *of_example[1:]]).to_csv(tmp_path / "s.csv", index=False)
        apart = ("--models", tmp_path / "m.csv", "--examples", tmp_path / "e.csv")
        ended = audit(cli, tmp_path / "s.csv", *apart, "--json")
        assert (ended.code, ended.record["provenance"]["examples"]) == (3, 50)

    def test_changed_scores_need_another_folder(self, cli: Cli, refused: Refused, files: Path, tmp_path: Path) -> None:
        scores, run = tmp_path / "scores.parquet", tmp_path / "run"
        scores.write_bytes((files / "small.parquet").read_bytes())
        audit(cli, scores, "--out", run)
        before = (run / "result.json").read_bytes()
        scores.write_bytes((files / "plain.parquet").read_bytes())
        refused("differs in the content of: scores", *VERB, scores, *QUICK, "--quiet", "--out", run)
        assert (run / "result.json").read_bytes() == before

    def test_a_reader_who_leaves_early_costs_no_results(
        self, cli: Cli, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def gone(*_: object, **__: object) -> None:
            raise BrokenPipeError

        monkeypatch.setattr("discreet.cli.output.Output.show", gone)
        monkeypatch.setattr("discreet.cli.main.os.dup2", lambda *_: None)
        assert audit(cli, files / "small.parquet", "--out", tmp_path / "run").code == 141
        assert (tmp_path / "run" / "result.json").is_file()


def selector_is_target(frame: pd.DataFrame) -> pd.DataFrame:
    of = frame["model_role"]
    for column in ("logit_0", "logit_1"):
        frame.loc[of == "selection", column] = frame.loc[of == "target", column].to_numpy()
    return frame


def group_split(frame: pd.DataFrame) -> pd.DataFrame:
    frame.loc[frame["example"] == "e0", "group"] = frame.loc[frame["example"] == "e30", "group"].iloc[0]
    return frame


class TestBadInput:
    @pytest.mark.parametrize(("spoil", "said"), [
        (selector_is_target, "same scores as target"), (group_split, "groups are split over both sets"),
        (lambda frame: frame[~frame["example"].isin([f"e{n}" for n in range(12)])], "expected at least 10 of each"),
    ])
    def test_tables_leave_no_run(self, refused: Refused, small: pd.DataFrame, tmp_path: Path,
                                 spoil: Callable[[pd.DataFrame], pd.DataFrame], said: str) -> None:
        spoil(small).to_csv(tmp_path / "bad.csv", index=False)
        refused(said, *VERB, tmp_path / "bad.csv", "--out", tmp_path / "run", "--report", tmp_path / "page.html",
                "--json", *QUICK)
        assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]

    def test_split_groups_are_left_out_where_that_is_allowed(
        self, cli: Cli, small: pd.DataFrame, tmp_path: Path
    ) -> None:
        group_split(small).to_csv(tmp_path / "split.csv", index=False)
        ended = audit(cli, tmp_path / "split.csv", "--allow-split-groups", "--json")
        facts = ended.record["provenance"]
        assert (ended.code, facts["split_groups_left_out"], facts["examples"]) == (3, 1, 47)

    @pytest.mark.parametrize(("options", "said"), [
        (("--design", "random"), "design is 'random'"), (("--attacks", "loss,looss"), "--attacks holds 'looss'"),
        (("--tolerance-auc", "0.4"), "tolerance AUC is 0.4"),
        (("--tolerance-part", "1"), "tolerance part is 1"), (("--exclude-parts", "class 9"), "'class 9' is no part"),
        (("--exclude-parts", "a,,b"), "--exclude-parts is 'a,,b'"),
        (("--base-rates", "0"), "--base-rates holds '0'"), (("--base-rates", "1"), "base rate is 1"),
        (("--permutations", "-1"), "permutations is -1"), (("--bootstraps", "0"), "bootstraps is 0"),
        (("--show-text",), "expected --texts F"), (("--report", "none/r.html"), "its folder is not there"),
        (("--report", "."), "it is a folder"),
    ])
    def test_options_leave_no_run(self, refused: Refused, files: Path, tmp_path: Path, options: tuple[str, ...],
                                  said: str) -> None:
        refused(said, *VERB, files / "small.parquet", *QUICK, *options, "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(("rows", "said"), [
        ([{"id": "e0", "text": MARK}], "49 of 50 examples have no text"), ([{"id": "e0"}], "text"),
        ([{"id": "e0", "text": 3}], "'text' is a number"), ([{"id": None, "text": MARK}], "'id' is null"),
    ])
    def test_texts(self, refused: Refused, files: Path, tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
        refused(said, *VERB, files / "small.parquet", *QUICK, "--texts", jsonl(tmp_path / "texts.jsonl", rows))


class TestEmbeddings:
    @pytest.fixture
    def vectors(self, files: Path, tmp_path: Path) -> Path:
        """In another order than the scores, members apart from all others."""
        table, rng = load_scores(files / "plain.parquet"), np.random.default_rng(0)
        order = rng.permutation(len(table.examples))
        values = rng.normal(size=(order.size, 6)) + 5.0 * (table.member[table.of_role("target")[0]] == 1)[:, None]
        np.savez(tmp_path / "vectors.npz", example=table.examples.id[order].astype(str), vectors=values[order])
        return tmp_path / "vectors.npz"

    def test_record_page_and_terminal_have_it(self, cli: Cli, files: Path, vectors: Path, tmp_path: Path) -> None:
        run = tmp_path / "run"
        ended = cli(*VERB, files / "plain.parquet", "--permutations", 39, "--bootstraps", 5, "--attacks", "loss",
                    "--embeddings", vectors, "--out", run)
        assert (ended.code, ended.err) == (3, "")
        found = result(run)["embedding"]
        assert found["representation"] == "the vectors of vectors.npz"
        by_name = {one["name"]: one for one in found["diagnostics"]}
        assert set(by_name) == set(NAMES)
        # Right only if the vectors were brought into the order of the scores.
        assert by_name["side_agreement"]["estimate"]["value"] > 0.95
        assert by_name["side_agreement"]["p"]["value"] == pytest.approx(5 * 2 / 40, abs=1e-9)
        assert "Where the boundary lies, in the vectors of vectors.npz" in ended.out
        assert max(len(line) for line in ended.out.splitlines()) <= 120
        page = (run / "report.html").read_text(encoding="utf-8")
        assert 'id="embedding"' in page
        for said in (ended.out, page):
            assert "the 10 nearest in the same set: all records" in said
        assert {"embedding.svg", "embedding.csv"} <= {path.name for path in (run / "figures").iterdir()}
        more = ("--permutations", 0, "--attacks", "loss", "--embeddings", vectors)
        untested = cli(*VERB, files / "plain.parquet", *more)
        assert "Whether anything is distinctive was not tested." in untested.out

    def test_what_cannot_be_shown(self, refused: Refused, files: Path, vectors: Path, tmp_path: Path) -> None:
        np.savez(tmp_path / "e.npz", example=np.array(["x1", "x2"]), vectors=np.zeros((2, 3)))
        refused("140 of the 140 examples that were scored have no vector", *VERB, files / "plain.parquet", *QUICK,
                "--embeddings", tmp_path / "e.npz", "--out", tmp_path / "run")
        assert not (tmp_path / "run").exists()
        refused("no scores of a selection model", *VERB, files / "unselected.parquet", *QUICK, "--embeddings", vectors)


def sealed_scores(folder: Path, shift: float = 0.0, *, flip: int = 0, drop: int = 0) -> Path:
    """Scores of target and control model; those of what the target was trained on are `shift` higher.

    The first `flip` records of the seal say the contrary of their coins, or the first `drop` have no scores.
    """
    inside, probed = {r["id"] for r in lines(folder / "train.jsonl")}, [r["id"] for r in lines(folder / "probe.jsonl")]
    rng, made = np.random.default_rng(0), []
    for model, role in (("f", "target"), ("p", "control")):
        for row in lines(folder.parent / "data.jsonl"):
            if row["id"] not in probed[:drop]:
                member = role == "target" and row["id"] in inside
                x = float(rng.normal(1.0)) + shift * member
                said = member ^ (role == "target" and row["id"] in probed[:flip])
                made.append({"model": model, "model_role": role, "example": row["id"], "label": row["label"],
                             "member": said, f"logit_{row['label']}": x, f"logit_{1 - row['label']}": 0.0})
    pd.DataFrame(made).to_csv(folder.parent / "scores.csv", index=False)
    return folder.parent / "scores.csv"


@pytest.mark.usefixtures("system_coins")
class TestSeals:
    QUICK = ("--permutations", 0, "--bootstraps", 20, "--attacks", "loss", "--json", "--design", "sealed")

    @pytest.fixture
    def sealed(self, cli: Cli, tmp_path: Path) -> Path:
        rows = [{"id": f"name-{i}", "text": f"{MARK} {'ab ' * (3 + i % 17)}{i}", "label": i % 2} for i in range(700)]
        data = jsonl(tmp_path / "data.jsonl", rows)
        assert cli("seal", data, "--pairs", "300", "--out", tmp_path / "s", "--quiet").code == 0
        return tmp_path / "s"

    def test_a_seal_that_is_shown_counts(self, cli: Cli, sealed: Path) -> None:
        published = json.loads((sealed / "commitment.json").read_text())["commitment"]
        ended = cli(*VERB, sealed_scores(sealed, 1.5), *self.QUICK, "--seal", sealed, "--commitment", published.upper())
        record = ended.record
        assert (ended.code, ended.err, record["design"], record["verdict"]) == (1, "", "sealed", "fail")
        facts = record["provenance"]
        assert (facts["seal"], facts["sealed_pairs"], facts["not_sealed_left_out"]) == (published, 300, 100)
        assert facts["seal_compared_with_published"]
        assert (record["primary"]["n_members"], record["primary"]["n_nonmembers"]) == (300, 300)
        assert "word of whoever" not in " ".join(record["reasons"])
        assert "your word" not in str(record["claims"]["cannot"])

    def test_its_power_stands_in_for_planted_records(self, cli: Cli, sealed: Path) -> None:
        ended = cli(*VERB, sealed_scores(sealed), *self.QUICK, "--tolerance-auc", 0.65, "--seal", sealed)
        assert (ended.code, ended.record["verdict"]) == (0, "pass")

    def test_sealed_without_a_seal_is_only_said(self, cli: Cli, sealed: Path, tmp_path: Path) -> None:
        ended = cli(*VERB, sealed_scores(sealed, 1.5), *self.QUICK, "--out", tmp_path / "run")
        record = ended.record
        assert (ended.code, record["design"], record["verdict"]) == (1, AS_STATED, "fail")
        assert "seal" not in record["provenance"]
        assert "no seal was compared with the table, so it counts as randomised" in record["claims"]["cannot"][0]
        assert "is the word of whoever ran this audit" in " ".join(record["reasons"])
        assert result(tmp_path / "run")["design"] == AS_STATED
        assert AS_STATED in (tmp_path / "run" / "report.html").read_text()

    @pytest.mark.parametrize(("make", "options", "said"), [
        ({"flip": 3}, ("--seal", "{}"), "'member' of target 'f' is not what the coins say for 3 of 600 sealed records"),
        ({"drop": 2}, ("--seal", "{}"), "2 records of the 600 in the pairs of the seal have no scores"),
        ({}, ("--seal", "{}", "--commitment", "0" * 64), "is another seal than the one whose commitment was published"),
        ({}, ("--seal", "{}", "--design", "randomised"), "a seal was given with design 'randomised'"),
        ({}, ("--commitment", "0" * 64), "--commitment was given without --seal"),
        ({}, ("--seal", "{}/../seeded"), "came from a seed and were no secret"),
    ])
    def test_what_the_seal_does_not_bear_out_is_refused(
        self, cli: Cli, refused: Refused, sealed: Path, make: dict[str, Any], options: tuple[str, ...], said: str
    ) -> None:
        data, seeded = sealed.parent / "data.jsonl", sealed.parent / "seeded"
        assert cli("seal", data, "--pairs", "300", "--seed", "1", "--out", seeded, "--quiet").code == 0
        scores = sealed_scores(seeded if "seeded" in options[-1] else sealed, **make)
        refused(said, *VERB, scores, *self.QUICK, *(word.format(sealed) for word in options))


def test_a_run_says_to_ci_what_failed(cli: Cli, tmp_path: Path) -> None:
    table = simulated_table(World(members=120, others=120, clean=120, selector=0, leak=4.0), np.random.default_rng(0))
    write_scores(table, tmp_path / "scores.parquet")
    run = tmp_path / "run"
    ended = cli("audit", "membership", "scores", tmp_path / "scores.parquet", "--design", "randomised", "--out", run,
                "--permutations", 19, "--bootstraps", 20)
    assert ended.code == 1
    assert (run / "summary.md").read_text(encoding="utf-8").startswith("## Fail: ")
    assert "<failure message=" in (run / "junit.xml").read_text(encoding="utf-8")


def test_an_attack_that_was_asked_for_and_cannot_run_is_said(cli: Cli, files: Path) -> None:
    said = " ".join(cli(*VERB, files / "small.parquet", *QUICK, "--attacks", "loss,lira").out.split())
    assert "An attack that was asked for says nothing here: lira cannot run: it needs population references" in said
    assert "says nothing here" not in cli(*VERB, files / "small.parquet", *QUICK, "--attacks", "loss").out


def test_a_plan_says_how_many(cli: Cli) -> None:
    ended = cli("audit", "membership", "plan", "--shares", "0.5,0.5", "--minutes", 2)
    assert ended.code == 0
    assert "To judge 2 parts and all records with a chance of 80% it takes 641 members, 713 non-members" in ended.out
    assert "references" in ended.out
    record = cli("audit", "membership", "plan", "--shares", "0.1", "--json").record
    assert (record["kind"], len(record["parts"]), record["minutes"]) == ("plan membership", 2, None)
    assert cli("audit", "membership", "plan", "--leak", 0.6).err.startswith("discreet: --leak is 0.6, of which 8")


def test_old_against_new(cli: Cli, files: Path, refused: Refused) -> None:
    for old, new, code, said in (("safe", "leaking", 1, "Fail: the new model leaks more"),
                                 ("leaking", "safe", 0, "Pass: the new model leaks less"),
                                 ("safe", "safe", 3, "Inconclusive: these records do not tell")):
        ended = cli("audit", "membership", "compare", files / f"{old}.parquet", files / f"{new}.parquet")
        assert ended.code == code
        assert said in " ".join(ended.out.split())
    record = cli("audit", "membership", "compare", files / "safe.parquet", files / "leaking.parquet", "--json").record
    assert record["parts"][0]["direction"] == "more"
    assert record["provenance"]["input"] == ["safe.parquet", "leaking.parquet"]
    refused("no file", "audit", "membership", "compare", files / "safe.parquet", files / "none.parquet")


def test_the_folders_of_runs_are_compared(cli: Cli, files: Path, refused: Refused, tmp_path: Path) -> None:
    runs = [tmp_path / "old", tmp_path / "new"]
    for name, run in zip(("safe", "leaking"), runs, strict=True):
        cli(*VERB, files / f"{name}.parquet", "--design", "randomised", *QUICK, "--out", run)
    of_runs, of_files = (cli("audit", "membership", "compare", *given, "--json").record for given in (
        runs, (files / "safe.parquet", files / "leaking.parquet")))
    assert of_runs["provenance"]["input"] == ["old", "new"]
    assert of_runs["parts"] == of_files["parts"]
    several = tmp_path / "several"
    (several / "seed-7").mkdir(parents=True)
    shutil.copy(runs[0] / "scores.parquet", several / "seed-7")
    refused("holds several retrainings; expected one of them", "audit", "membership", "compare", several, runs[1])
    (runs[0] / "scores.parquet").unlink()
    refused("has no table 'scores'", "audit", "membership", "compare", *runs)


def test_a_history_grows_by_a_line_a_run_and_is_on_the_page(cli: Cli, files: Path, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    for place, name in enumerate(("safe", "leaking"), start=1):
        cli(*VERB, files / f"{name}.parquet", "--design", "randomised", "--history", file, "--out",
            tmp_path / name, *QUICK)
        assert len(file.read_text().splitlines()) == place
    page = (tmp_path / "leaking" / "report.html").read_text()
    assert "From run to run" in page
    assert "2 runs in the history" in page
    record = result(tmp_path / "leaking")
    assert [one["verdict"] for one in record["history"]] == [json.loads(line)["verdict"]
                                                            for line in file.read_text().splitlines()]
    # The option is no part of a run's configuration: the folder resumes although the file has changed.
    again = cli(*VERB, files / "leaking.parquet", "--design", "randomised", "--history", file, "--out",
                tmp_path / "leaking", *QUICK)
    assert again.code == 1
    assert "history.jsonl has this run already, of 20" in again.err
    assert len(file.read_text().splitlines()) == 2
    file.write_text("no history\n")
    ended = cli(*VERB, files / "safe.parquet", "--history", file, *QUICK)
    assert ended.code == 2
    assert "line 1 is no run of a history" in ended.err
