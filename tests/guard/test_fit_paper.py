"""The paper's encoders (V-A) from folders to a guard that judges: 3 × 1,024 dimensions, of random models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tiny_models import CudaThatIsNone, paper_folders
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.core.records import Answer
from discreet.guard.guard import Guard


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, side_files: Mapping[str, Path]) -> Path:
    """The guard of `discreet guard fit --encoders paper=DIR`."""
    home = tmp_path_factory.mktemp("paper")
    given = [str(part) for side in ("safe", "unsafe", "borderline") for part in (f"--{side}", side_files[side])]
    ran = CliRunner().invoke(app, [
        "guard", "fit", "--domain", "medical", *given, "--out", str(home / "guard"), "--encoders",
        f"paper={paper_folders(home / 'models')}", "--cache", str(home / "cache"), "--gate", "fitted",
        "--discriminator", "density", "--quiet"])
    assert ran.exit_code == 0, ran.output
    return home / "guard"


def test_three_blocks_of_a_thousand_dimensions(folder: Path) -> None:
    guard = Guard.load(folder)
    fusion = guard.detector.fusion
    assert (fusion.dim, [e.name for e in fusion.encoders]) == (3072, ["qwen3", "bge-m3", "e5"])
    saved = [json.loads((folder / "encoders" / f"{n}-onnx" / "encoder.json").read_text()) for n in range(3)]
    assert [(one["config"]["pooling"], one["dim"]) for one in saved] == [("last", 1024), ("cls", 1024), ("mean", 1024)]
    assert all(one["config"]["parity"] <= 1e-5 for one in saved)
    row = fusion.encode(["A text without any prefix."])[0]
    # Every block has norm 1, times its weight; weights make the mean squared norm of a block 1, which it was.
    norms = [float(np.linalg.norm(block)) for block in np.split(row, 3)]
    np.testing.assert_allclose(norms, fusion.weights, rtol=1e-5)
    np.testing.assert_allclose(fusion.weights, 1.0, atol=1e-5)
    said = [one.encode(["A text without any prefix."])[0] for one in fusion.encoders]
    np.testing.assert_allclose(np.concatenate(said), row, atol=1e-5)
    assert guard.card["fitted_on"] == "cpu"


def test_it_judges_as_it_was_saved(folder: Path, side_files: Mapping[str, Path], tmp_path: Path) -> None:
    guard = Guard.load(folder)
    answers = [json.loads(line)["answer"] for side in ("safe", "unsafe")
               for line in side_files[side].read_text().splitlines()[:4]]
    verdicts = [guard.check(answer) for answer in answers]
    assert {verdict.action for verdict in verdicts} <= {"safe", "flag", "abstain"}
    assert [v.delta for v in verdicts] == [v.delta for v in guard.check_many([Answer(str(n), a) for n, a in
                                                                              enumerate(answers)])]
    guard.save(tmp_path / "again")
    assert [Guard.load(tmp_path / "again").check(a).delta for a in answers] == [v.delta for v in verdicts]


def test_on_a_gpu_only_the_fit_set_is_encoded(folder: Path, side_files: Mapping[str, Path],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.guard.fit import fit_guard

    cuda = CudaThatIsNone(monkeypatch)
    given: list[Any] = [side_files[side] for side in ("safe", "unsafe")]
    guard = fit_guard("medical", *given, encoders=f"paper={folder.parent / 'models'}", cache=folder.parent / "cache",
                      discriminator="density", device="cuda")
    fitted = sum(n for n, _ in cuda.batches if n > 1)
    batched = len([1 for n, _ in cuda.batches if n > 1])
    assert guard.card["fitted_on"] == "cuda"
    assert fitted >= 3 * guard.card["counts"]["fit_safe"]
    assert batched <= fitted / 8
    before = len(cuda.batches)
    verdict = guard.check(given[0].read_text().splitlines()[0])
    assert verdict.action in ("safe", "flag", "abstain")
    assert {n for n, _ in cuda.batches[before:]} <= {1}
