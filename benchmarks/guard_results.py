"""Fill the figures of docs/results/guard.md from what the benchmarks left.

    python benchmarks/guard_results.py --study F --real F [--pool F] [--check F] [--density F]

`--study` is of `guard_study.py`, `--real` of `real_text/fitted.py`, `--pool` of `reader/fitted.py`,
`--check` of `guard_check.py`; `--density` the lines of `density.py`. Writes what stands between the two markers; the
words around it are ours to write.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "results" / "guard.md"
BEGIN, END = "<!-- figures -->", "<!-- /figures -->"
PAIRINGS = ("within", "cross_generator", "borderline", "matched")
COLUMNS = {"auroc": "AUROC", "fpr95": "FPR95", "fpr_tau0": "FPR at τ = 0", "tpr_tau0": "TPR at τ = 0", "abstain_safe": "abstained, negatives",
           "abstain_unsafe": "abstained, unsafe"}
COMPONENTS = "K = {safe} on the safe side, K = {unsafe} on the unsafe side; {requested} requested"
Record = Mapping[str, Any]


def cell(e: Record, theirs: float | None = None) -> str:
    value = "unresolved" if e["value"] is None else f"{e['value']:.3f} [{e['low']:.2f}, {e['high']:.2f}]"
    return value if theirs is None else f"{value} ({theirs:.3f})"


def row(*cells: object) -> str:
    return "| " + " | ".join(str(c) for c in cells) + " |"


def head(*names: str) -> list[str]:
    return [row(*names), "|" + "---|" * len(names)]


def pairings(study: Record) -> list[str]:
    paper = json.loads((ROOT / "examples" / "paper_ppe.json").read_text(encoding="utf-8"))["figures"]
    out = ["### Pairings, kept population: self-consistency (grammar); in brackets the paper's figure", ""]
    for domain, found in study["domains"].items():
        if "components" in found:
            fitted = "; ".join(f"{name} {COMPONENTS.format(**k)}" for name, k in found["components"].items())
            out += [f"{domain}, Gaussian mixtures: {fitted}.", ""]
        for pairing in PAIRINGS:
            out += [f"**{domain}, {pairing.replace('_', ' ')}**", "", *head("", *COLUMNS.values(), f"FPR at {found['point']}", f"TPR at {found['point']}")]
            for name, by in found["configurations"].items():
                theirs = paper.get(domain, {}).get(name, {}).get(pairing, {})
                out.append(row(name, *(cell(by[pairing][c], theirs.get(c)) for c in COLUMNS), cell(by[pairing]["fpr_point"]), cell(by[pairing]["tpr_point"])))
            out.append("")
    return out


def targets(study: Record) -> list[str]:
    out = ["### The default guard against what was asked: self-consistency (grammar)", "", *head("", *study["domains"])]
    asked = {
        "borderline AUROC ≥ .97": ("borderline", "auroc"), "borderline FPR95 ≤ .10": ("borderline", "fpr95"),
        "borderline FPR at the default point ≤ .05": ("borderline", "fpr_point"), "TPR there ≥ .85": ("borderline", "tpr_point"),
        "borderline abstention ≤ .05": ("borderline", "abstain_safe"), "cross-generator AUROC ≥ .97": ("cross_generator", "auroc"),
        "matched AUROC ≥ .97": ("matched", "auroc"), "TPR of the unseen writer, default point (not asked)": ("cross_generator", "tpr_point"),
        "TPR of the matched writer, default point (not asked)": ("matched", "tpr_point"),
    }  # fmt: skip
    for name, (pairing, key) in asked.items():
        out.append(row(name, *(cell(d["configurations"]["default"][pairing][key]) for d in study["domains"].values())))
    out += ["", "Full population, abstentions included:", "", *head("", *study["domains"])]
    for name, (pairing, key) in list(asked.items())[:4]:
        out.append(row(name, *(cell(d["configurations"]["default"][pairing]["full"][key]) for d in study["domains"].values())))
    return [*out, ""]


def subtypes(study: Record) -> list[str]:
    out = ["### Borderline text flagged, by subtype, full population, default point", ""]
    for domain, found in study["domains"].items():
        names = ("gmm-v3", "ocsvm-v4", "default")
        out += [f"**{domain}**", "", *head("", *names, "abstained (default)")]
        by = {n: found["configurations"][n]["borderline"]["subtypes"] for n in names}
        out += [row(s, *(cell(by[n][s]["fpr_point"]) for n in names), cell(by["default"][s]["abstain"])) for s in by["default"]]
        out.append("")
    return out


def discriminators(study: Record) -> list[str]:
    out = ["### Discriminators on the same rows, AUROC, full population: self-consistency (grammar)", ""]
    for domain, found in study["domains"].items():
        out += [f"**{domain}**", "", *head("", *PAIRINGS, "borderline FPR95")]
        every = {"density (ocsvm-v4)": found["configurations"]["ocsvm-v4"], **found["discriminators"]}
        out += [row(n, *(cell(by[p]["full"]["auroc"]) for p in PAIRINGS), cell(by["borderline"]["full"]["fpr95"])) for n, by in every.items()]
        out.append("")
    return out


def tau_zero(study: Record) -> list[str]:
    out = ["### What τ = 0 depends on: one-class SVM v4, full population, self-consistency (grammar)", "",
           "TPR of unsafe, FPR of borderline texts at τ = 0, by the ratio of unsafe to safe rows.", ""]
    for domain, found in study["domains"].items():
        ratios = sorted({r["ratio"] for r in found["tau_zero"]})
        out += [f"**{domain}**", "", *head("scale, ν", *(f"{r:g}" for r in ratios))]
        for nu in sorted({r["nu"] for r in found["tau_zero"]}):
            for scale in ("libsvm", "normalised"):
                at = {r["ratio"]: r for r in found["tau_zero"] if r["nu"] == nu and r["scale"] == scale}
                out.append(row(f"{scale}, {nu:g}", *(f"{at[r]['tpr_tau0']['value']:.2f} / {at[r]['fpr_tau0']['value']:.2f}" for r in ratios)))
        out.append("")
    return out


def gate(study: Record) -> list[str]:
    out = ["### The gate: shares held back, by percentile of θ: self-consistency (grammar)", "",
           *head("", "percentile", "borderline, new writer", "matched borderline, new writer", "safe", "texts of the other domains")]
    for domain, found in study["domains"].items():
        out += [row(domain, g["percentile"] if isinstance(g["percentile"], str) else f"{g['percentile']:g}", *(cell(g[k]) for k in ("borderline", "matched_borderline", "safe")),
                    ", ".join(f"{name} {cell(e)}" for name, e in g["other_domains"].items())) for g in found["gate"]]
    return [*out, ""]


def real(record: Record, half: str) -> list[str]:
    out = [f"### Real passages, {half} half: guards fitted on real safe text and grammar leaks", ""]
    for domain, found in {**record["domains"], "all": record["all"]}.items():
        loads = list(found["density"]["held"])
        out += [f"**{domain}**, abstained {cell(found['abstained'])}", "",
                *head("", "AUROC, professional negatives", "AUROC, any negatives", "p against evidence+logistic (any)", *(f"clusters held at load {load}" for load in loads))]
        for name, by in found.items():
            if name != "abstained":
                p = "–" if "any_p" not in by else f"{by['any_p']:.3g}"
                out.append(row(name, cell(by["professional"]), cell(by["any"]), p, *(cell(by["held"][load]) for load in loads)))
        out.append("")
    return out


def pool(record: Record) -> list[str]:
    out = ["### The demo's fitted guards on passages of families that taught the reader nothing", "",
           f"{record['passages']} passages, seed {record['seed']}; contextual layers, each domain's default point.", ""]
    asked = {"abstained": "abstained", "out_of_distribution": "… as out of distribution", "errors_abstained": "errors among the abstained",
             "errors_kept": "errors among the kept", "ratio": "ratio", "clusters_flagged": "clusters flagged", "clusters_held": "clusters held",
             "none_flagged": "none flagged", "none_held": "none held"}  # fmt: skip
    for domain, found in record["domains"].items():
        out += [f"**{domain}**", "", *head("", *found)]
        out += [row(name, *(cell(by[key]) for by in found.values())) for key, name in asked.items()]
        out += [row(f"abstained: {r}", *(cell(by["by_register"][r]) for by in found.values())) for r in next(iter(found.values()))["by_register"]]
        out += [row(f"held: {w.replace('_', ' ')}", *(cell(by["writers"][w]) for by in found.values())) for w in next(iter(found.values()))["writers"]]
        out += [row(f"AUROC: {p.replace('_', ' ')}", *(cell(by["auroc"][p]) for by in found.values())) for p in PAIRINGS]
        levels = [p["coverage"] for p in next(iter(found.values()))["curve"]]
        out += [row(f"errors at coverage {c:.1f}", *(f"{by['curve'][i]['risk']:.3f}" for by in found.values())) for i, c in enumerate(levels)]
        out.append("")
    return out


def costs(check: Record | None, density: Iterable[Record]) -> list[str]:
    out = []
    if check is not None:
        out += ["### What a check costs", "", f"`{json.dumps(check)}`", ""]
    lines = list(density)
    if lines:
        out += ["### Densities against scikit-learn, ratios in one run", "", *(f"`{json.dumps(line)}`\n" for line in lines)]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("study", "real"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--pool", type=Path)
    parser.add_argument("--check", type=Path)
    parser.add_argument("--density", type=Path)
    args = parser.parse_args()
    study, halves = (json.loads(p.read_text(encoding="utf-8")) for p in (args.study, args.real))
    held, tune = halves["halves"]["held_out"], halves["halves"]["tune"]
    check = json.loads(args.check.read_text(encoding="utf-8")) if args.check else None
    density = [json.loads(line) for line in args.density.read_text(encoding="utf-8").splitlines() if line] if args.density else []
    body = [f"Study: {study['n']} records a side and domain, seed {study['seed']}, {study['machine']}, {study['seconds']:.0f} s. Intervals are 95%.", "",
            *targets(study), *(pool(json.loads(args.pool.read_text(encoding="utf-8"))) if args.pool else []), *real(held, "held-out"), *real(tune, "tuning"), *discriminators(study), *tau_zero(study), *gate(study), *costs(check, density),
            *subtypes(study), *pairings(study)]
    page = PAGE.read_text(encoding="utf-8")
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END):]
    PAGE.write_text("\n".join([before, "", *body, after]), encoding="utf-8")


if __name__ == "__main__":
    main()
