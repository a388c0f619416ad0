from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from safetensors.numpy import load_file

from discreet.core.errors import InputError, UsageError
from discreet.core.folders import sha256
from discreet.core.records import Answer
from discreet.guard.density.detector import ARRAYS, MANIFEST, load_detector, save_detector
from discreet.guard.density.discriminators import DENSITY, DISCRIMINATORS
from discreet.guard.guard import Guard

EVERY = list(DISCRIMINATORS)
LEAK = ("The patient is a 61-year-old welder from Tulsa with three children. Treatment with warfarin for gout was "
        "started and went well.")


@pytest.fixture
def folder(fitted_folder: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(fitted_folder, tmp_path / "copy"))


def change(folder: Path, **facts: Any) -> None:
    path = folder / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def test_what_lies_in_the_folder(fitted_folder: Path) -> None:
    files = sorted(p.relative_to(fitted_folder).as_posix() for p in fitted_folder.rglob("*") if p.is_file())
    assert files == [ARRAYS, "encoders/0-hashed/encoder.json", "encoders/1-evidence/encoder.json",
                     "encoders/fusion.json", MANIFEST]
    manifest = json.loads((fitted_folder / MANIFEST).read_text())
    assert (manifest["format"], manifest["version"]) == ("discreet-guard", 1)
    assert manifest["files"] == {ARRAYS: {"bytes": (fitted_folder / ARRAYS).stat().st_size,
                                          "sha256": sha256(fitted_folder / ARRAYS)}}
    assert manifest["encoders"]["sha256"] == sha256(fitted_folder / "encoders" / "fusion.json")
    assert {name.split("/")[0] for name in load_file(fitted_folder / ARRAYS)} == {"dual", *EVERY}


def test_no_word_of_the_training_texts(fitted_folder: Path) -> None:
    whole = b"".join(p.read_bytes() for p in fitted_folder.rglob("*") if p.is_file()).lower()
    for word in (b"welder", b"duluth", b"metformin", b"pharmacist", b"children", b"what would you say"):
        assert word not in whole


def test_there_and_back_bit_for_bit(fitted_folder: Path, tmp_path: Path) -> None:
    one, policy, card = load_detector(fitted_folder)
    save_detector(tmp_path / "again", one, policy, card)
    two, other, same = load_detector(tmp_path / "again")
    assert (other, same) == (policy, card)
    assert (tmp_path / "again" / MANIFEST).read_bytes() == (fitted_folder / MANIFEST).read_bytes()
    assert (tmp_path / "again" / ARRAYS).read_bytes() == (fitted_folder / ARRAYS).read_bytes()
    x = np.random.default_rng(0).normal(size=(9, one.fusion.dim)).astype(np.float32)
    assert np.array_equal(one.dual.sigmas(x), two.dual.sigmas(x))
    assert set(one.points) == {DENSITY, *EVERY}
    assert one.points == two.points


def test_the_card(fitted_folder: Path) -> None:
    card = load_detector(fitted_folder)[2]
    counts = card["counts"]
    assert counts["read"] == 240
    assert sum(n for name, n in counts.items() if "_" in name and name != "not_english") == 240
    stored = card["stores"]["training_embeddings"]
    manifest = json.loads((fitted_folder / MANIFEST).read_text())
    assert stored == manifest["dual"]["stored_rows"]
    assert stored["safe"] == load_file(fitted_folder / ARRAYS)["dual/safe/weights"].size > 0
    assert "embeddings of training texts" in card["stores"]["note"]
    assert card["data"]["machine_written"] == 1.0
    assert card["data"]["generators"] == {"templates": 240}
    assert [f["name"] for f in card["data"]["files"]] == ["safe.jsonl", "unsafe.jsonl", "borderline.jsonl"]
    assert all(len(f["hash"]) == 64 for f in card["data"]["files"])
    assert set(card["metrics"]) == {DENSITY, *EVERY}
    for found in (one[pairing] for one in card["metrics"].values() for pairing in ("within", "borderline")):
        assert set(found) == {"kept", "full", "abstain"}
        assert set(found["full"]["auroc"]) >= {"value", "low", "high", "n"}


def rewrite(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


SPOILT: list[tuple[Callable[[Path], object], str]] = [
    (shutil.rmtree, "no folder"), (lambda f: (f / MANIFEST).unlink(), "holds no guard.json"),
    (lambda f: (f / MANIFEST).write_text((f / MANIFEST).read_text()[:-100]), "truncated or no JSON"),
    (lambda f: change(f, version=2), "has version 2; this discreet reads version 1"),
    (lambda f: change(f, format="other"), "no manifest of the format discreet-guard"),
    (lambda f: change(f, files={}), f"lists no {ARRAYS}"), (lambda f: (f / ARRAYS).unlink(), f"{ARRAYS} is missing"),
    (lambda f: (f / ARRAYS).write_bytes((f / ARRAYS).read_bytes()[:-10]), "is truncated"),
    (lambda f: (f / ARRAYS).write_bytes((f / ARRAYS).read_bytes()[:-1] + b"?"), "another hash"),
    (lambda f: shutil.rmtree(f / "encoders"), "encoders is missing"),
    (lambda f: shutil.rmtree(f / "encoders" / "0-hashed"), "0-hashed"),
    (lambda f: rewrite(f / "encoders" / "0-hashed" / "encoder.json", "hashed-256", "hashed-257"),
     "encoder of another hash"),
    (lambda f: rewrite(f / "encoders" / "fusion.json", '"dim": 256', '"dim": 255'), "encoders of another hash"),
    (lambda f: change(f, domain="cooking"), "does not hold its domain 'cooking'"),
    (lambda f: change(f, encoded="everything"), "encodes 'everything'"),
    (lambda f: change(f, evidence=["age"]), "counts other evidence features"),
    (lambda f: change(f, thetas={}), "abstain gate"), (lambda f: change(f, spread=0), "positive spread"),
    (lambda f: change(f, spread="wide"), "positive spread"), (lambda f: change(f, decides="nothing"), "without points"),
    (lambda f: change(f, points={}), "without points"), (lambda f: change(f, points={DENSITY: {}}), "operating points"),
    (lambda f: change(f, dual={"kind": "x"}), "pair of densities lacks or spoils"),
    (lambda f: change(f, discriminators={"mlp-v4": {"kind": "mlp-v5"}}), "names the kind 'mlp-v5'"),
    (lambda f: change(f, policy={"domain": "medical"}), "policy of another form"),
    (lambda f: change(f, policy=None), "'policy' as a dict"),
    (lambda f: change(f, recognisers=["badge"]), "the recogniser 'badge', which is not installed: install the pack"),
]


@pytest.mark.parametrize(("spoil", "said"), SPOILT, ids=[said for _, said in SPOILT])
def test_what_is_not_whole_is_not_read(folder: Path, spoil: Callable[[Path], object], said: str) -> None:
    spoil(folder)
    with pytest.raises(InputError) as caught:
        Guard.load(folder)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_fit_that_breaks_leaves_what_was_there(folder: Path, fitted_guard: Guard,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / MANIFEST).read_bytes()
    monkeypatch.setattr("discreet.inputs.encode.fusion.Fusion.save", Mock(side_effect=OSError("full")))
    with pytest.raises(OSError, match="full"):
        fitted_guard.save(folder)
    assert (folder / MANIFEST).read_bytes() == before
    assert [p.name for p in folder.parent.iterdir()] == ["copy"]


def test_not_over_something_else(fitted_guard: Guard, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for path, said in ((tmp_path, r"holds no guard\.json"), (tmp_path / "notes.txt", "is a file")):
        with pytest.raises(UsageError, match=said):
            fitted_guard.save(path)


def test_saved_over_an_older_guard(folder: Path, fitted_guard: Guard) -> None:
    change(folder, version=2)
    fitted_guard.save(folder)
    assert Guard.load(folder).check(Answer("1", LEAK)).action == "flag"
