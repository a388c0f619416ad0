"""The demo is the main job: it runs, meets its expectations and leaves a report."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.core.records import Estimate

ROOT = Path(__file__).resolve().parents[2]


def test_demo_meets_its_expectations_and_leaves_a_report(tmp_path: Path) -> None:
    demo = str(ROOT / "examples" / "demo.py")
    done = subprocess.run([sys.executable, demo, "--out", str(tmp_path), "--answers-only"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "NOT" not in done.stdout
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "crop-duster" not in page, "a report shows no words by default"
    batch = [json.loads(line) for line in (ROOT / "examples" / "batch.jsonl").read_text().splitlines()]
    verdicts = [json.loads(line) for line in (tmp_path / "medical.verdicts.jsonl").read_text().splitlines()]
    assert [v["id"] for v in verdicts] == [b["id"] for b in batch]
    assert {v["id"] for v in verdicts if v["action"] != "safe"} == {"m04", "m08", "m10", "m12"}


def test_guards_of_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code on fewer texts and without the transformer."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    guards = importlib.import_module("guards")
    sizes = {"safe": 60, "unsafe": 60, "borderline": 40, "unsafe_heldout": 24, "borderline_eval": 24,
             "matched_unsafe": 24, "matched_borderline": 24, "domain_only": 0}
    monkeypatch.setattr(guards, "SIZES", sizes)
    monkeypatch.setattr(guards, "DOMAINS", ("law",))
    monkeypatch.setattr(guards, "ENCODERS", "lexical")
    summary = guards.fit_all(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert summary["law"]["components"].keys() == {"gmm-v3", "gmm-v4"}
    assert set(summary["law"]["configurations"]) == {"gmm-v3", "gmm-v4", "ocsvm-v3", "ocsvm-v4", "default"}
    for by_pairing in summary["law"]["configurations"].values():
        assert list(by_pairing) == ["within", "cross_generator", "borderline", "matched"]
        for figures in by_pairing.values():
            assert set(figures) == {*guards.KEPT, "full"}
            for name in set(guards.KEPT) - {"point"}:
                assert set(figures[name]) == set(Estimate.__slots__)
    assert (tmp_path / "guards" / "law" / "guard.json").exists()
    printed = "\n".join([*guards.table(summary), *guards.finding(summary)])
    assert "0.930" in printed, "the paper's figure is shown next to ours"
    assert "self-consistency" in printed
    assert "gmm-v3: Gaussian mixtures with K = 1 on the safe side, K = 1 on the unsafe side; 8 requested" in printed
