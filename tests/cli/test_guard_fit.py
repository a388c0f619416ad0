"""fit, check, evaluate and calibrate of one guard, as they are typed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from discreet.guard.detector import Detector

Cli = Callable[..., Any]
Files = Mapping[str, Path]
LEAK = ("The patient is a 61-year-old welder from Tulsa with three children. Treatment with warfarin for gout was "
        "started and went well.")


@pytest.fixture(scope="module")
def folder(side_files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A guard that the command line fitted."""
    from discreet.cli.main import run

    out = tmp_path_factory.mktemp("cli") / "guard"
    sides = [word for side in ("safe", "unsafe", "borderline") for word in (f"--{side}", str(side_files[side]))]
    assert run(["guard", "fit", "--domain", "medical", *sides, "--encoders", "lexical", "--quiet",
                "--out", str(out), "--cost-miss", "10", "--cost-false-flag", "1"]) == 0
    return out


def error(ended: Any) -> str:
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    return str(ended.err)


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


def test_check_under_another_policy_and_point(cli: Cli, folder: Path) -> None:
    ended = cli("guard", "check", "--guard", folder, LEAK, "--audience", "treating", "--point", "costs")
    assert "policy medical/treating@" in ended.out
    assert "point costs" in ended.out
    assert "1 safe" in ended.out
    assert "--domain is 'law'" in error(cli("guard", "check", "--guard", folder, "--domain", "law", LEAK))
    assert "no audience 'x'" in error(cli("guard", "check", "--guard", folder, "--audience", "x", LEAK))


def test_fit_prints_its_card(cli: Cli, side_files: Files, tmp_path: Path) -> None:
    args = ("guard", "fit", "--domain", "medical", "--safe", side_files["safe"], "--unsafe", side_files["unsafe"],
            "--encoders", "evidence", "--density", "rff", "--discriminator", "density")
    ended = cli(*args, "--out", tmp_path / "a")
    assert ended.code == 0
    assert "160 texts read; dropped: 0 repeated" in ended.out
    assert "Training embeddings in the folder: 0 safe, 0 unsafe" in ended.out
    assert "density (decides)" in ended.out
    record = json.loads(cli(*args, "--out", tmp_path / "b", "--json").out)
    assert (record["kind"], record["decides"], record["tau"]) == ("guard fit", "density", 0.0)
    assert set(record["card"]["metrics"]["mlp-v4"]) == {"within"}


@pytest.mark.parametrize(("density", "printed"), [("gmm", True), ("ocsvm", False)])
def test_a_mixture_with_fewer_components_says_so(cli: Cli, side_files: Files, tmp_path: Path, density: str,
                                                 printed: bool) -> None:
    said = "K = 1 on the safe side, K = 1 on the unsafe side; 8 requested"
    guard, run = tmp_path / "guard", tmp_path / "run"
    ended = cli("guard", "fit", "--domain", "medical", "--safe", side_files["safe"], "--unsafe", side_files["unsafe"],
                "--encoders", "evidence", "--density", density, "--out", guard)
    assert (said in ended.out) == printed
    assert cli("guard", "check", "--guard", guard, LEAK, "--out", run).code == 0
    components = {"requested": 8, "safe": 1, "unsafe": 1} if printed else None
    assert json.loads((run / "result.json").read_text())["provenance"]["components"] == components
    assert json.loads((run / "log.jsonl").read_text())["components"] == components
    assert (said in (run / "report.html").read_text()) == printed


def test_fit_from_a_file_of_options(cli: Cli, side_files: Files, tmp_path: Path) -> None:
    config = tmp_path / "fit.yaml"
    config.write_text(f"domain: medical\nsafe: {side_files['safe']}\nunsafe: [{side_files['unsafe']}]\n"
                      "encoders: evidence\ndensity: gmm\n")
    ended = cli("guard", "fit", "--config", config, "--out", tmp_path / "guard")
    assert (ended.code, ended.err.count("Traceback")) == (0, 0)
    assert (tmp_path / "guard" / "guard.json").exists()


@pytest.mark.parametrize(("change", "said"), [
    (["--density", "kde"], "--density 'kde'"), (["--encoders", "x"], "--encoders 'x'"),
    (["--discriminator", "x"], "--discriminator 'x'"), (["--domain", "cooking"], "unknown domain 'cooking'"),
    (["--cost-miss", "1"], "--cost-miss and --cost-false-flag belong together"),
    (["--encoded", "x"], "--encoded 'x'"), (["--policy", "none.yaml"], "cannot read the policy none.yaml"),
])
def test_options_that_cannot_be(cli: Cli, side_files: Files, tmp_path: Path, change: list[str], said: str) -> None:
    args = ["guard", "fit", "--domain", "medical", "--safe", side_files["safe"], "--unsafe", side_files["unsafe"],
            "--encoders", "hashed", "--quiet", "--out", tmp_path / "guard", *change]
    assert said in error(cli(*args))
    assert not (tmp_path / "guard").exists()


def test_a_class_that_is_absent_and_a_folder_that_is_taken(cli: Cli, side_files: Files, tmp_path: Path) -> None:
    args = ["guard", "fit", "--domain", "medical", "--safe", side_files["safe"], "--encoders", "hashed", "--quiet"]
    same = cli(*args, "--unsafe", side_files["safe"], "--out", tmp_path / "guard")
    assert "holds no unsafe text of medical" in error(same)
    (tmp_path / "notes.txt").write_text("mine")
    taken = cli(*args, "--unsafe", side_files["unsafe"], "--out", tmp_path)
    assert "holds no guard" in error(taken)
    assert "is a file" in error(cli(*args, "--unsafe", side_files["unsafe"], "--out", tmp_path / "notes.txt"))


@pytest.mark.parametrize("command", [("check", "--guard"), ("evaluate", "--guard"), ("calibrate", "--guard")])
@pytest.mark.parametrize("spoil", ["truncated", "absent"])
def test_a_guard_that_is_not_whole(cli: Cli, folder: Path, labelled_file: Path, tmp_path: Path,
                                   command: tuple[str, str], spoil: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    if spoil == "truncated":
        (copy / "arrays.safetensors").write_bytes((copy / "arrays.safetensors").read_bytes()[:1000])
    else:
        shutil.rmtree(copy)
    rest = ["--input" if command[0] == "check" else "--labelled", labelled_file]
    said = error(cli("guard", *command, copy, *rest, "--quiet"))
    assert {"truncated": "is truncated", "absent": "is no folder"}[spoil] in said


def test_evaluate(cli: Cli, folder: Path, labelled_file: Path, tmp_path: Path,
                  monkeypatch: pytest.MonkeyPatch) -> None:
    args = ("guard", "evaluate", "--guard", folder, "--labelled", labelled_file, "--quiet")
    record = json.loads(cli(*args, "--json").out)
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
    assert "no discriminator 'x'" in error(cli(*args, "--discriminator", "x"))
    alone = ("guard", "evaluate", "--domain", "law", "--labelled", labelled_file, "--discriminator", "density")
    assert "belongs to a fitted guard" in error(cli(*alone))
    only = tmp_path / "only.jsonl"
    only.write_text('{"id": 1, "answer": "x", "label": "yes"}\n')
    absent = cli("guard", "evaluate", "--guard", folder, "--labelled", only, "--quiet")
    assert "no answer of medical with the label 'no'" in error(absent)


def test_calibrate(cli: Cli, folder: Path, labelled_file: Path, tmp_path: Path) -> None:
    args = ("guard", "calibrate", "--guard", folder, "--labelled", labelled_file, "--quiet", "--cost-miss", "5",
            "--cost-false-flag", "1")
    ended = cli(*args, "--out", tmp_path / "copy")
    assert ended.code == 0
    assert "40 answers leak, 40 do not" in ended.out
    for word in ("leaks flagged", "false flags", "answers to review", "cost per answer", "refitted to these answers"):
        assert word in ended.out
    record = json.loads(cli(*args, "--json").out)
    new = json.loads(cli("guard", "check", "--guard", tmp_path / "copy", LEAK, "--json", "--point", "strict").out)
    assert new["tau"] == record["refitted"]["strict"]
    old = json.loads(cli("guard", "check", "--guard", folder, LEAK, "--json", "--point", "strict").out)
    assert old["tau"] == record["points"]["strict"]


def test_calibrate_on_too_few(cli: Cli, folder: Path, labelled_file: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    lines = labelled_file.read_text().splitlines(keepends=True)
    few.write_text("".join(lines[:3] + lines[-3:]))
    args = ("guard", "calibrate", "--guard", folder, "--labelled", few, "--quiet")
    assert "thresholds were not refitted" in cli(*args).out
    assert "nothing was written" in error(cli(*args, "--out", tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()
    few.write_text("".join(lines[:3]))
    assert "does not leak (label no)" in error(cli(*args))
