"""The demo's fitted guards on passages of families that taught the reader nothing: what is abstained on, and how well.

    python -m benchmarks.reader.fitted --data DATA [--texts F …] [--each N] [--seed 7] [--domains D …] [--ways W …] --output F

Fits the guard of each domain as the demo does, by the rules with MiniLM and by the reader; this one also with the paper's
gate (unlike both sides of what was fitted). Each judges N passages (all by default), whole: layer 1 apart, the order of
verdicts as it is. An error is a cluster of a third person or the speaker that is not flagged, or a passage that binds
nothing which is; of an abstention, what the scores would have decided. `writers` are the texts of the unseen writers that
are held. Prints the record's shares.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reader.corpus import labelled
from benchmarks.reader.professional import leaks
from benchmarks.reader.rows import Row
from numpy.typing import NDArray

from discreet.core.files import dump_json, write_atomic
from discreet.core.records import Answer, Estimate
from discreet.guard.benchmark.figures import risk_coverage
from discreet.guard.domains import builtin_domains
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.text.direct.detect import known_types
from discreet.inputs.encode.presets import build_encoders, default_cache
from discreet.stats import bootstrap_estimate, share_estimate
from discreet.synth.campaign import run_campaign
from discreet.synth.plan import make_plan
from discreet_papers.ppe.pairings import DEFAULT, Partitions, evaluate_pairings, fit_configurations, read_partitions

WRITERS = ("unsafe_heldout", "matched_unsafe", "borderline_eval", "matched_borderline")


def shares(guard: Guard, rows: Sequence[Row]) -> dict[str, Any]:
    """Figures of a guard's contextual layers on labelled passages."""
    passing = Guard(replace(guard.policy, allow_direct=known_types()), detector=guard.detector, point=guard.point)
    actions, reasons, margins = [], [], []
    for row in rows:
        judged = passing.judge(Answer(row["id"], row["text"], None))
        assert judged.evidence is not None
        assert judged.verdict.delta is not None
        assert passing.tau is not None
        actions.append(judged.verdict.action)
        reasons.append(judged.verdict.reason)
        sides = [judged.verdict.delta - passing.tau]
        if judged.evidence.cluster:
            sides.append(judged.evidence.logit - passing.evidence_tau)
        margins.append(max(sides))
    away, flagged = np.array(actions) == "abstain", np.array(actions) == "flag"
    leak = leaks(rows)
    known = ~np.isnan(leak)
    wrong = np.where(away, np.array(margins) > 0, flagged) != (leak == 1)
    sure = np.where(away, -np.inf, np.abs(margins))
    unlike = np.array([r.startswith("unlike") for r in reasons]) & away
    registers = np.array([r["register"] for r in rows])

    def share(hits: NDArray[np.bool_], among: NDArray[np.bool_], of: str) -> Estimate:
        return share_estimate(hits[among], unit="passage", of=of)

    def ratio(weights: NDArray[np.int64]) -> NDArray[np.float64]:
        w, a = wrong[known], away[known]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (weights @ (w & a) / (weights @ a)) / (weights @ (w & ~a) / (weights @ ~a))
        return np.where(np.isfinite(found), found, np.nan)

    every = np.ones(len(rows), np.bool_)
    return {
        "abstained": share(away, every, "passages"), "out_of_distribution": share(unlike, every, "passages"),
        "errors_abstained": share(wrong, away & known, "abstained"), "errors_kept": share(wrong, ~away & known, "kept"),
        "errors_out_of_distribution": share(wrong, unlike & known, "out of distribution"),
        "ratio": bootstrap_estimate(ratio, int(known.sum()), reason="no errors among the kept, or nobody abstained", unit="passage"),
        "clusters_flagged": share(flagged, leak == 1, "clusters"), "clusters_held": share(flagged | away, leak == 1, "clusters"),
        "none_flagged": share(flagged, leak == 0, "passages"), "none_held": share(flagged | away, leak == 0, "passages"),
        "by_register": {str(r): share(away, registers == r, "passages") for r in sorted(set(registers.tolist()))},
        "curve": risk_coverage(sure[known].tolist(), wrong[known].tolist(), 10)}  # fmt: skip


def writers(guard: Guard, partitions: Partitions) -> dict[str, Any]:
    """Of the texts of unseen writers, what is held."""
    return {name: share_estimate(np.array([guard.check(s.answer).action != "safe" for s in partitions.unseen[name].samples]),
                                 unit="text", of="texts") for name in WRITERS}  # fmt: skip


def study(domain: str, rows: Sequence[Row], seed: int) -> dict[str, Any]:
    sys.path.insert(0, "examples")
    from guards import SIZES  # type: ignore[import-not-found]

    policy, found = Policy.of(domain), {}
    with tempfile.TemporaryDirectory() as folder:
        run_campaign(make_plan(domain, SIZES, seed), Path(folder) / "run")
        encoders = build_encoders("reader", domain=domain, cache=default_cache())
        partitions = read_partitions(Path(folder) / "run", policy, encoders, seed=seed)
        detector = fit_configurations(partitions, [DEFAULT], seed=seed)[0][DEFAULT]
        for how, one in {"default": detector, "paper's gate": replace(detector, gate="fitted")}.items():
            guard = Guard(policy, detector=one)
            pairs = evaluate_pairings(partitions, {DEFAULT: one})[DEFAULT]
            auroc = {pairing: by["auroc"] for pairing, by in pairs.items()}
            found[how] = {**shares(guard, rows), "writers": writers(guard, partitions), "auroc": auroc}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--each", type=int)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--domains", nargs="*", default=builtin_domains())
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    started = time.perf_counter()
    rows = [r for r in labelled(args.data, args.texts) if not r["teaches"]]
    if args.each:
        rows = random.Random(args.seed).sample(rows, args.each)
    found = {}
    for domain in args.domains:
        found[domain] = study(domain, rows, args.seed)
        for how, one in found[domain].items():
            print(domain, how, *(f"{k} {one[k].value}" for k in ("abstained", "ratio", "clusters_held", "none_flagged")), flush=True)
    record = {"benchmark": "reader_fitted", "seed": args.seed, "passages": len(rows), "domains": found,
              "seconds": round(time.perf_counter() - started)}
    write_atomic(args.output, dump_json(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
