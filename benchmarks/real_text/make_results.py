"""Fill the figures of docs/results/real_text.md from the labels, the data and the code as it stands.

    python benchmarks/real_text/make_results.py --data DATA

Writes what stands between the two markers; the words around it are ours to write.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "results" / "real_text.md"
BEGIN, END = "<!-- figures -->", "<!-- /figures -->"
NAMES = {
    "auroc": "AUROC", "auroc_any_register": "AUROC against none bound in any register", "fpr95": "FPR at 95% TPR", "fpr90": "FPR at 90% TPR", "tpr_point": "clusters held at the policy's point",
    "fpr_point": "held though nothing is bound, professional voice", "contextual_fpr_point": "the same, contextual layer alone",
    "fpr_point_any_register": "held though nothing is bound, any register", "held_with_one_attribute": "held with exactly one attribute",
}
CONTROLS = {
    "told_back_verbatim_flagged": "speaker's cluster told back word for word: flagged (0 is right)",
    "told_back_second_person_flagged": "the same in the second person: flagged (0 is right)",
    "cohort_flagged": "sentence with the same facts about a cohort added: flagged (0 is right)",
    "planted_held": "sentence with a cluster of one person added: held (1 is right)",
}


def figure(e: dict[str, Any]) -> str:
    if e["value"] is None:
        return f"unresolved: {e['reason']}"
    return f"{e['value']:.3f} [{e['low']:.3f}, {e['high']:.3f}]"


def evaluated(data: Path, half: str, *more: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        subprocess.run([sys.executable, "-m", "benchmarks.real_text.passages", "assemble", "--data", str(data.resolve()), "--half", half,
                        "--output", str(rows)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([sys.executable, "-m", "discreet", "guard", "evaluate", "--labelled", str(rows), "--domain", "medical",
                               "--json", "--quiet", *more], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def headline(held: dict[str, Any], tune: dict[str, Any]) -> list[str]:
    out = ["### Clusters against professional text that binds none", "",
           "| | " + " | ".join(["all", *held["domains"]]) + " | all, tuning half |", "|---|" + "---|" * (len(held["domains"]) + 2)]
    for key, name in NAMES.items():
        cells = [held["overall"][key], *(d[key] for d in held["domains"].values()), tune["overall"][key]]
        out.append(f"| {name} | " + " | ".join(figure(c) for c in cells) + " |")
    a = [held["overall"]["auroc"], *(d["auroc"] for d in held["domains"].values()), tune["overall"]["auroc"]]
    out.append("| clusters, negatives | " + " | ".join(f"{c['n_pos']}, {c['n_neg']}" for c in a) + " |")
    return out


def classes(held: dict[str, Any]) -> list[str]:
    out = ["", "### Classes bound to the person (held-out half)", "", "| class | precision | recall |", "|---|---|---|"]
    out += [f"| {k} | {figure(v['precision'])} | {figure(v['recall'])} |" for k, v in held["classes"].items()]
    out += ["", "### Clusters held, by subject (held-out half)", "", "| subject | held |", "|---|---|"]
    return out + [f"| {k} | {figure(v['held'])} |" for k, v in held["subjects"].items()]


def controls(held: dict[str, Any]) -> list[str]:
    out = ["", "### Controls (held-out half)", "", "| control | share |", "|---|---|"]
    return out + [f"| {name} | {figure(held['controls'][key])} |" for key, name in CONTROLS.items()]


def agreement() -> list[str]:
    found = json.loads((HERE / "agreement.json").read_text(encoding="utf-8"))
    out = ["", "### Agreement of the two readings (Cohen's kappa, 760 passages)", "", "| | kappa |", "|---|---|"]
    return out + [f"| {name} | {figure(e)} |" for name, e in found.items()]


def tagger(data: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-m", "benchmarks.real_text.compare_tagger", "--data", str(data)], cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    out = ["", "### Rules, a small learned tagger, or both (held-out half, all domains)", "", "| | AUROC |", "|---|---|"]
    out += [f"| {name} | {figure(e)} |" for name, e in found["auroc"].items()]
    out += ["", f"Paired DeLong: rules against learned p = {found['rules against learned, p']:.2g}; both against rules "
            f"p = {found['both against rules, p']:.2g}.", "", "| F1 per class, any person | rules | learned |", "|---|---|---|"]
    return out + [f"| {k} | {v['rules']:.3f} | {v['learned']:.3f} |" for k, v in found["f1"].items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data: Path = parser.parse_args().data
    held, tune = evaluated(data, "held_out"), evaluated(data, "tune")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    made = (f"Made by `python benchmarks/real_text/make_results.py --data DATA` on the code of commit {commit}, "
            f"{platform.machine()}, 2 cores, Python {platform.python_version()}; policies {', '.join(held['policy'].values())}. "
            "Nothing here is drawn at random; intervals are 95%, resampled or counted by document.")
    lines = [made, "", *headline(held, tune), *classes(held), *controls(held), *tagger(data), *agreement()]
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    PAGE.write_text(head + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1], encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} filled")


if __name__ == "__main__":
    main()
