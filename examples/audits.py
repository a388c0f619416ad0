"""Train small models here and audit them: who was in the training set, and which labels were memorised.

    python examples/audits.py --out demo

The membership audit trains a classifier on synthetic answers (`discreet synth run`), the label audit one on the
diagnoses that come with scikit-learn, without and with label differential privacy. Each leaves a report, its figures
and the table of scores in a folder of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sklearn.datasets import load_breast_cancer

from discreet.core.files import dump_json, write_atomic
from discreet.synth.plan import make_plan

DISCREET = [sys.executable, "-m", "discreet"]
SIZES = {"safe": 500, "unsafe": 500, "borderline": 0, "unsafe_heldout": 0, "borderline_eval": 0, "matched_unsafe": 0,
         "matched_borderline": 0, "domain_only": 0}
EPOCHS, REFERENCES = 80, 4
SEED = 7
DONE = (0, 1, 3)
"""Exit codes of an audit: pass, fail, inconclusive. A demo shows whichever it is."""


def run(*arguments: object) -> None:
    """`discreet` with these arguments. CalledProcessError for a mistake."""
    done = subprocess.run([*DISCREET, *map(str, arguments), "--quiet"], stdout=subprocess.DEVNULL, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
    if done.returncode not in DONE:
        raise subprocess.CalledProcessError(done.returncode, done.args)


def membership(out: Path) -> dict[str, Any]:
    """A classifier of synthetic answers, trained and audited; returns the record."""
    with tempfile.TemporaryDirectory() as folder:
        plan, parts, texts = Path(folder) / "plan.json", Path(folder) / "parts", Path(folder) / "texts.jsonl"
        write_atomic(plan, dump_json(make_plan("medical", SIZES, SEED).to_json()))
        run("synth", "run", "--plan", plan, "--out", parts)
        rows = [{**json.loads(line), "label": side} for side in ("safe", "unsafe")
                for line in (parts / f"{side}.jsonl").read_text(encoding="utf-8").splitlines()]
        write_atomic(texts, "".join(dump_json({"id": row["id"], "text": row["answer"], "label": row["label"]}) + "\n"
                                    for row in rows))
        run("audit", "membership", "train", "--recipe", "tfidf-mlp", "--data", texts, "--out", out, "--engine",
            "inline", "--permutations", 199, "--bootstraps", 200)
    return dict(json.loads((out / "result.json").read_text(encoding="utf-8")))


def labels(out: Path) -> dict[str, Any]:
    """A classifier of diagnoses, trained without and with randomised response, and audited; returns the record."""
    found = load_breast_cancer()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "diagnoses.csv"
        with table.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.writer(handle)
            writer.writerow(["id", *(name.replace(" ", "_") for name in found.feature_names), "diagnosis"])
            for place, (row, benign) in enumerate(zip(found.data, found.target, strict=True)):
                writer.writerow([f"r{place}", *row, "benign" if benign else "malignant"])
        run("audit", "labels", "train", "--recipe", f"mlp:epochs={EPOCHS}", "--data", table, "--target", "diagnosis",
            "--positive", "malignant", "--canaries", 120, "--control", 100, "--planted", "none", "--epsilon", "inf,0.5",
            "--references", REFERENCES, "--out", out, "--engine", "inline")
    return dict(json.loads((out / "result.json").read_text(encoding="utf-8")))


def main() -> int:
    """Both audits; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    out: Path = parser.parse_args().out
    for name, audit in (("membership", membership), ("labels", labels)):
        print(f"{name}: {audit(out / name)['verdict']}   {out / name / 'report.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
