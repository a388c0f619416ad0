"""Fit and stress a guard in each domain on synthetic text, beside the paper's detectors: self-consistency (grammar).

    python examples/guards.py --out demo

Writes partitions with `discreet synth run`, fits with `discreet reproduce pairings`, and leaves the guards in
`OUT/guards/`, the figures in `OUT/summary.json`. The text is a grammar's: the figures say that the parts fit together
and what the stress test shows; they are no measurement on text that people wrote (`docs/results/guard.md`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from discreet.core.files import dump_json, write_atomic
from discreet.synth.plan import make_plan

HERE = Path(__file__).parent
DISCREET = [sys.executable, "-m", "discreet"]
DOMAINS = ("medical", "finance", "law")
SIZES = {"safe": 300, "unsafe": 300, "borderline": 150, "unsafe_heldout": 60, "borderline_eval": 90,
         "matched_unsafe": 60, "matched_borderline": 60, "domain_only": 0}
SEED = 7
ENCODERS = "embedded"
COMPONENTS = "K = {safe} on the safe side, K = {unsafe} on the unsafe side; {requested} requested"
COLUMNS = {"auroc": "AUROC", "fpr95": "FPR95", "fpr_tau0": "FPR at 0", "tpr_tau0": "TPR at 0",
           "abstain_safe": "abstained"}
KEPT = ("auroc", "fpr95", "fpr90", "fpr_tau0", "tpr_tau0", "abstain_safe", "abstain_unsafe", "n_kept", "point",
        "fpr_point", "tpr_point")


def fitted(domain: str, out: Path) -> dict[str, Any]:
    """Write, fit and evaluate one domain.

    Returns `configurations`, the figures by configuration and pairing, and `components`, by configuration the mixture
    components requested and fitted on each side.
    """
    threads = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        plan, partitions = Path(folder) / "plan.json", Path(folder) / domain
        write_atomic(plan, dump_json(make_plan(domain, SIZES, SEED).to_json()))
        subprocess.run([*DISCREET, "synth", "run", "--plan", str(plan), "--out", str(partitions), "--quiet"],
                       check=True, env=threads)
        done = subprocess.run(
            [*DISCREET, "reproduce", "pairings", str(partitions), "--domain", domain, "--seed", str(SEED),
             "--encoders", ENCODERS, "--save", str(out / "guards" / domain), "--json", "--quiet"],
            check=True, stdout=subprocess.PIPE, text=True, env=threads)
    record = json.loads(done.stdout)
    return {"components": record["components"], "configurations": {
        name: {pairing: _kept(figures) for pairing, figures in by.items()}
        for name, by in record["configurations"].items()}}


def _kept(figures: dict[str, Any]) -> dict[str, Any]:
    return {key: figures[key] for key in KEPT} | {"full": {key: figures["full"][key] for key in KEPT}}


def fit_all(out: Path, domains: Sequence[str] = DOMAINS) -> dict[str, Any]:
    """A guard in each of these domains, two at a time; leaves `summary.json`."""
    (out / "guards").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        summary = dict(zip(domains, pool.map(lambda domain: fitted(domain, out), domains), strict=True))
    write_atomic(out / "summary.json", dump_json(summary, indent=2) + "\n")
    return summary


def table(summary: dict[str, Any]) -> list[str]:
    """Ours next to the paper's, a table a domain; what the paper does not print is a dash."""
    paper = json.loads((HERE / "paper_ppe.json").read_text(encoding="utf-8"))["figures"]
    said = []
    for domain, found in summary.items():
        said += ["", f"{domain}: kept population, self-consistency (grammar); in brackets the paper (other text, other "
                     "encoders)",
                 *(f"  {name}: Gaussian mixtures with {COMPONENTS.format(**fitted)}"
                   for name, fitted in found["components"].items()),
                 "  " + "".join(h.ljust(18) for h in ("", *COLUMNS.values()))]
        for pairing in ("within", "cross_generator", "borderline", "matched"):
            said.append(f"  {pairing.replace('_', ' ')}")
            for name, by_pairing in found["configurations"].items():
                theirs = paper.get(domain, {}).get(name, {}).get(pairing, {})
                cells = [_cell(by_pairing[pairing][c], theirs.get(c)) for c in COLUMNS]
                said.append("  " + "".join(c.ljust(18) for c in (f"  {name}", *cells)))
    return said


def _cell(ours: dict[str, Any], theirs: float | None) -> str:
    value = "unresolved" if ours["value"] is None else f"{ours['value']:.3f}"
    return f"{value} ({'-' if theirs is None else format(theirs, '.3f')})"


def finding(summary: dict[str, Any]) -> list[str]:
    """What the stress test shows, in a sentence a domain."""
    said = []
    for domain, found in summary.items():
        by_name = found["configurations"]
        v3, v4, default = (by_name[n]["borderline"]["auroc"]["value"] for n in ("gmm-v3", "gmm-v4", "default"))
        within = by_name["gmm-v3"]["within"]["auroc"]["value"]
        seen = "unresolved" if v3 is None else "visible" if v3 <= 0.85 else "not visible here"
        inside, without, with_them, own = ("unresolved" if one is None else f"{one:.3f}"
                                           for one in (within, v3, v4, default))
        said.append(f"  {domain}: the density without borderline texts separates {inside} within its distribution "
                    f"and {without} against borderline texts (the confound is {seen}); with them {with_them}; "
                    f"the default guard {own}.")
    return said


def main() -> int:
    """Fit, print the tables; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    summary = fit_all(parser.parse_args().out)
    print("\n".join([*table(summary), "", *finding(summary)]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
