"""The demo is the main job: it runs, meets its expectations and leaves a report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_demo_meets_its_expectations_and_leaves_a_report(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "demo.py"), "--out", str(tmp_path)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "NOT" not in done.stdout
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "crop-duster" not in page, "a report shows no words by default"
    batch = [json.loads(line) for line in (ROOT / "examples" / "batch.jsonl").read_text().splitlines()]
    verdicts = [json.loads(line) for line in (tmp_path / "medical.verdicts.jsonl").read_text().splitlines()]
    assert [v["id"] for v in verdicts] == [b["id"] for b in batch]
    assert {v["id"] for v in verdicts if v["action"] != "safe"} == {"m04", "m08", "m10", "m12"}
