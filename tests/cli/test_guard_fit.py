"""fit, check, evaluate and calibrate of guards, as they are typed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, Refused, jsonl, lines, result

from discreet.cli.main import run
from discreet.guard.density.detector import Detector

Files = Mapping[str, Path]
LEAK = ("The patient is a 61-year-old welder from Tulsa with three children. Treatment with warfarin for gout was "
        "started and went well.")


@pytest.fixture(scope="module")
def folder(side_files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A guard that the command line fitted."""
    out = tmp_path_factory.mktemp("cli") / "guard"
    sides = [word for side in ("safe", "unsafe", "borderline") for word in (f"--{side}", str(side_files[side]))]
    assert run(["guard", "fit", "--domain", "medical", *sides, "--encoders", "lexical", "--quiet",
                "--out", str(out), "--cost-miss", "10", "--cost-false-flag", "1"]) == 0
    return out


def fit_args(side_files: Files, *more: object) -> tuple[object, ...]:
    return ("guard", "fit", "--domain", "medical", "--safe", side_files["safe"], "--unsafe", side_files["unsafe"],
            "--encoders", "evidence", *more)


def test_check(cli: Cli, folder: Path, side_files: Files) -> None:
    ended = cli("guard", "check", "--guard", folder, LEAK)
    assert ended.code == 0
    assert ended.out.startswith("flag     1  person 1 (third): age")
    assert "1 answer: 0 safe, 1 flag" in ended.out
    known = json.loads(side_files["safe"].read_text().splitlines()[0])["answer"]
    verdict = json.loads(cli("guard", "check", "--guard", folder, known, "--json", "--quiet").out)
    assert verdict["action"] == "safe"
    assert None not in (verdict["sigma_safe"], verdict["sigma_unsafe"], verdict["delta"], verdict["score"])
    assert cli("guard", "check", "--guard", folder, LEAK, "--fail-on-flag").code == 1


def test_check_under_another_policy_and_point(cli: Cli, refused: Refused, folder: Path) -> None:
    ended = cli("guard", "check", "--guard", folder, LEAK, "--audience", "treating", "--point", "costs")
    for words in ("policy medical/treating@", "point costs", "1 safe"):
        assert words in ended.out
    refused("--domain is 'law'", "guard", "check", "--guard", folder, "--domain", "law", LEAK)
    refused("no audience 'x'", "guard", "check", "--guard", folder, "--audience", "x", LEAK)


def test_fit_prints_its_card(cli: Cli, side_files: Files, tmp_path: Path) -> None:
    args = fit_args(side_files, "--density", "rff", "--discriminator", "density")
    ended = cli(*args, "--out", tmp_path / "a")
    assert ended.code == 0
    for words in ("160 texts read; dropped: 0 repeated", "density (decides)",
                  "Training embeddings in the folder: 0 safe, 0 unsafe"):
        assert words in ended.out
    record = cli(*args, "--out", tmp_path / "b", "--json").record
    assert (record["kind"], record["decides"], record["tau"]) == ("guard fit", "density", 0.0)
    assert set(record["card"]["metrics"]["mlp-v4"]) == {"within"}


def test_typicality_features_keep_every_text_and_the_card_says_so(cli: Cli, side_files: Files, tmp_path: Path) -> None:
    args = fit_args(side_files, "--features", "typicality", "--discriminator", "density")
    assert "Features of the density: typicality" in cli(*args, "--out", tmp_path / "a").out
    card = cli(*args, "--out", tmp_path / "b", "--json").record["card"]
    kept = {side: card["counts"][f"fit_{side}"] for side in ("safe", "unsafe")}
    assert (card["density"]["features"], card["stores"]["training_embeddings"]) == ("typicality", kept)
    checked = [json.loads(cli("guard", "check", "--guard", tmp_path / name, LEAK, "--json", "--quiet").out)["delta"]
               for name in "ab"]
    assert checked[0] == checked[1]
    assert checked[0] is not None


@pytest.mark.parametrize(("density", "printed"), [("gmm", True), ("ocsvm", False)])
def test_a_mixture_with_fewer_components_says_so(cli: Cli, side_files: Files, tmp_path: Path, density: str,
                                                 printed: bool) -> None:
    said = "K = 1 on the safe side, K = 1 on the unsafe side; 8 requested"
    guard, run, config = tmp_path / "guard", tmp_path / "run", tmp_path / "fit.yaml"
    config.write_text(f"domain: medical\nsafe: {side_files['safe']}\nunsafe: [{side_files['unsafe']}]\n"
                      f"encoders: evidence\ndensity: {density}\n")
    assert (said in cli("guard", "fit", "--config", config, "--out", guard).out) == printed
    assert cli("guard", "check", "--guard", guard, LEAK, "--out", run).code == 0
    components = {"requested": 8, "safe": 1, "unsafe": 1} if printed else None
    assert result(run)["provenance"]["components"] == components
    assert json.loads((run / "log.jsonl").read_text())["components"] == components
    assert (said in (run / "report.html").read_text()) == printed


@pytest.mark.parametrize(("change", "said"), [
    (["--density", "kde"], "--density 'kde'"), (["--features", "x"], "--features 'x'"),
    (["--encoders", "x"], "--encoders 'x'"), (["--discriminator", "x"], "--discriminator 'x'"),
    (["--domain", "cooking"], "unknown domain 'cooking'"),
    (["--cost-miss", "1"], "--cost-miss and --cost-false-flag belong together"),
    (["--encoded", "x"], "--encoded 'x'"), (["--policy", "none.yaml"], "cannot read the policy none.yaml"),
])
def test_options_that_cannot_be(refused: Refused, side_files: Files, tmp_path: Path, change: list[str],
                                said: str) -> None:
    refused(said, *fit_args(side_files, "--quiet", "--out", tmp_path / "guard", *change))
    assert not (tmp_path / "guard").exists()


def test_a_class_that_is_absent_and_a_folder_that_is_taken(refused: Refused, side_files: Files,
                                                           tmp_path: Path) -> None:
    args = ("guard", "fit", "--domain", "medical", "--safe", side_files["safe"], "--encoders", "hashed", "--quiet")
    refused("holds no unsafe text of medical", *args, "--unsafe", side_files["safe"], "--out", tmp_path / "guard")
    (tmp_path / "notes.txt").write_text("mine")
    refused("holds no guard", *args, "--unsafe", side_files["unsafe"], "--out", tmp_path)
    refused("is a file", *args, "--unsafe", side_files["unsafe"], "--out", tmp_path / "notes.txt")


@pytest.mark.parametrize("command", ["check", "evaluate", "calibrate"])
def test_a_guard_that_is_not_whole(refused: Refused, folder: Path, labelled_file: Path, tmp_path: Path,
                                   command: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    words = ("guard", command, "--guard", copy, "--input" if command == "check" else "--labelled", labelled_file)
    (copy / "arrays.safetensors").write_bytes((copy / "arrays.safetensors").read_bytes()[:1000])
    refused("is truncated", *words, "--quiet")
    shutil.rmtree(copy)
    refused("is no folder", *words, "--quiet")


def test_evaluate(cli: Cli, refused: Refused, folder: Path, labelled_file: Path, tmp_path: Path,
                  monkeypatch: pytest.MonkeyPatch) -> None:
    args = ("guard", "evaluate", "--guard", folder, "--labelled", labelled_file, "--quiet")
    record = cli(*args, "--json").record
    assert record["overall"]["auroc"]["value"] > 0.95
    assert record["policy"].keys() == {"medical"}
    asked: list[str | None] = []
    real = Detector.deciding

    def deciding(self: Detector, kind: str | None) -> Detector:
        asked.append(kind)
        return real(self, kind)

    monkeypatch.setattr(Detector, "deciding", deciding)
    assert cli(*args, "--discriminator", "density").code == 0
    assert asked == ["density"]
    refused("no discriminator 'x'", *args, "--discriminator", "x")
    refused("belongs to a fitted guard", "guard", "evaluate", "--domain", "law", "--labelled", labelled_file,
            "--discriminator", "density")
    only = jsonl(tmp_path / "only.jsonl", [{"id": 1, "answer": "x", "label": "yes"}])
    refused("no answer of medical with the label 'no'", "guard", "evaluate", "--guard", folder, "--labelled", only)


def test_calibrate(cli: Cli, refused: Refused, folder: Path, labelled_file: Path, tmp_path: Path) -> None:
    args = ("guard", "calibrate", "--guard", folder, "--quiet", "--cost-miss", "5", "--cost-false-flag", "1",
            "--labelled")
    ended = cli(*args, labelled_file, "--out", tmp_path / "copy")
    assert ended.code == 0
    for word in ("40 answers leak, 40 do not", "leaks flagged", "false flags", "answers to review", "cost per answer",
                 "refitted to these answers"):
        assert word in ended.out
    record = cli(*args, labelled_file, "--json").record
    for guard, kind in ((tmp_path / "copy", "refitted"), (folder, "points")):
        verdict = cli("guard", "check", "--guard", guard, LEAK, "--json", "--point", "strict").record
        assert verdict["tau"] == record[kind]["strict"]
    rows = lines(labelled_file)
    few = jsonl(tmp_path / "few.jsonl", rows[:3] + rows[-3:])
    assert "thresholds were not refitted" in cli(*args, few).out
    refused("nothing was written", *args, few, "--out", tmp_path / "other")
    assert not (tmp_path / "other").exists()
    refused("does not leak (label no)", *args, jsonl(few, rows[:3]))
