"""The guard on grammar text, whole: pairings, discriminators, what τ = 0 depends on, and what the gate costs.

    python benchmarks/guard_study.py [--n 1200] [--seed 7] [--reader] --output F

One encoding a domain serves everything. Parts of the record, by domain:

`components`       Gaussian mixture components requested, and fitted on each side
`configurations`   the paper's pairings for density × v3/v4 and the default guard (`guard.pairings`)
`discriminators`   the same for each discriminator of the default guard
`tau_zero`         TPR and borderline FPR at τ = 0 of one-class SVMs by the scale of σ, ν, and the ratio of unsafe to
                   safe rows; the ratios of the paper's corpora are .95 (medicine), 1.26 (finance) and 1.54 (law)
`gate`             by percentile of θ: abstentions on borderline text and on evaluation texts of the other domains;
                   with --reader a row of the gate by professional text too

With --reader the learned reader reads along and gives the vectors.

Self-consistency (grammar): no figure here is a measurement on text that people wrote.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.files import dump_json, write_atomic
from discreet.guard.density.detector import Detector, Rows
from discreet.guard.density.dual_density import DualDensity
from discreet.guard.density.points import thetas
from discreet.guard.density.professional import professional
from discreet.guard.domains import builtin_domains
from discreet.guard.policy import Policy
from discreet.inputs.encode.presets import build_encoders, default_cache
from discreet.stats import share_estimate
from discreet.synth.campaign import run_campaign
from discreet.synth.plan import make_plan
from discreet_papers.ppe.pairings import (
    CONFIGURATIONS,
    DEFAULT,
    Partitions,
    evaluate_pairings,
    fit_configurations,
    read_partitions,
)

RATIOS = (0.5, 0.95, 1.26, 1.54, 2.0)
NUS = (0.005, 0.02, 0.05)
PERCENTILES = (5.0, 3.0, 2.0, 1.0)


def sizes(n: int) -> dict[str, int]:
    third = max(1, n // 3)
    return {"safe": n, "unsafe": n, "borderline": n // 2, "unsafe_heldout": third, "borderline_eval": third,
            "matched_unsafe": third, "matched_borderline": third, "domain_only": 0}


def encoded(domain: str, n: int, seed: int, reader: bool) -> Partitions:
    with tempfile.TemporaryDirectory() as folder:
        run_campaign(make_plan(domain, sizes(n), seed), Path(folder) / "run")
        encoders = build_encoders("reader" if reader else "embedded", domain=domain, cache=default_cache())
        return read_partitions(Path(folder) / "run", Policy.of(domain), encoders, seed=seed, reader=reader)


def side_of(partitions: Partitions, name: str) -> Rows:
    side = partitions.side(name)
    assert side is not None
    return side.rows


def rows_of(partitions: Partitions, name: str) -> NDArray[Any]:
    return side_of(partitions, name).features


def tau_zero(partitions: Partitions, seed: int) -> list[dict[str, Any]]:
    """v4 one-class SVMs on as many rows a side as the ratio leaves, at τ = 0, without the gate."""
    kinds, features = partitions.corpus.kinds("fit"), partitions.corpus.features
    unsafe, safe = features[kinds == "unsafe"], features[kinds != "unsafe"]
    held, borderline = rows_of(partitions, "unsafe"), rows_of(partitions, "borderline_eval")
    rng, found = np.random.default_rng(seed), []
    for ratio in RATIOS:
        n_safe = min(len(safe), int(len(unsafe) / ratio))
        n_unsafe = int(n_safe * ratio)
        x = np.vstack([safe[rng.permutation(len(safe))[:n_safe]], unsafe[rng.permutation(len(unsafe))[:n_unsafe]]])
        y = np.repeat([0, 1], [n_safe, n_unsafe])
        for nu in NUS:
            for scale in ("libsvm", "normalised"):
                dual = DualDensity("ocsvm", nu=nu, scale=scale, random_state=seed).fit(x, y).fitted_
                found.append({"ratio": ratio, "nu": nu, "scale": scale, "n_safe": n_safe, "n_unsafe": n_unsafe,
                              "tpr_tau0": share_estimate(np.diff(dual.sigmas(held))[:, 0] > 0, unit="text", of="unsafe texts"),
                              "fpr_tau0": share_estimate(np.diff(dual.sigmas(borderline))[:, 0] > 0, unit="text", of="borderline texts")})
    return found


def gate(detector: Detector, partitions: Partitions, others: dict[str, Partitions]) -> list[dict[str, Any]]:
    """What θ at another percentile would hold back."""
    calibration = detector.dual.sigmas(partitions.corpus.held["calibration"].features)
    unsafe = (partitions.corpus.kinds("calibration") == "unsafe")[partitions.corpus.held["calibration"].owner]
    found = []
    gates: list[Any] = [*PERCENTILES, *(["professional"] if detector.reader else [])]
    for percentile in gates:
        limits = None if isinstance(percentile, str) else thetas(calibration[~unsafe], calibration[unsafe], percentile)

        def held_back(x: Rows, of: str, limits: Any = limits) -> Any:
            far = professional().out_of_distribution(np.asarray(x.vectors)) if limits is None else limits.out_of_distribution(detector.dual.sigmas(x.features))
            return share_estimate(far, unit="text", of=of)

        found.append({
            "percentile": percentile, "borderline": held_back(side_of(partitions, "borderline_eval"), "borderline texts"),
            "matched_borderline": held_back(side_of(partitions, "matched_borderline"), "borderline texts"),
            "safe": held_back(side_of(partitions, "safe"), "safe texts"),
            "other_domains": {name: held_back(other.corpus.held["evaluation"], f"{name} texts")
                              for name, other in others.items()},
        })
    return found


def study(domain: str, every: dict[str, Partitions], seed: int) -> dict[str, Any]:
    partitions = every[domain]
    detectors, duals = fit_configurations(partitions, [*CONFIGURATIONS, DEFAULT], seed=seed)
    default = detectors[DEFAULT]
    by_kind = {kind: default.deciding(kind) for kind in default.discriminators}
    return {
        "counts": dict(partitions.corpus.corpus.counts), "point": partitions.corpus.corpus.policy.point,
        "decides": default.decides, "components": {n: d.components_ for n, d in duals.items() if d.components_ is not None},
        "configurations": evaluate_pairings(partitions, detectors),
        "discriminators": evaluate_pairings(partitions, by_kind), "tau_zero": tau_zero(partitions, seed),
        "gate": gate(default, partitions, {name: p for name, p in every.items() if name != domain}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--reader", action="store_true")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    started = time.perf_counter()
    every = {domain: encoded(domain, args.n, args.seed, args.reader) for domain in builtin_domains()}
    record = {"benchmark": "guard_study", "heading": "self-consistency (grammar)", "n": args.n, "seed": args.seed,
              "reader": args.reader, "sizes": sizes(args.n), "machine": f"{platform.machine()}, Python {platform.python_version()}",
              "domains": {domain: study(domain, every, args.seed) for domain in builtin_domains()},
              "seconds": round(time.perf_counter() - started, 1)}
    write_atomic(args.output, dump_json(record) + "\n")
    print(f"{args.output}: {record['seconds']} s")


if __name__ == "__main__":
    main()
