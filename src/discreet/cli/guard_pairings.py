"""`discreet guard evaluate --partitions`: the paper's configurations and pairings, fitted and evaluated in one go."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from discreet.cli import common
from discreet.cli.guard_fit import writable
from discreet.core.errors import UsageError
from discreet.core.records import Estimate

COLUMNS = {"auroc": "AUROC", "fpr95": "FPR95", "fpr_tau0": "FPR at 0", "tpr_tau0": "TPR at 0",
           "abstain_safe": "abstain (-)", "abstain_unsafe": "abstain (+)"}
WIDTH = 20


def evaluate_partitions(partitions: Path, domain: str | None, configurations: str | None, encoders: str,
                        save: Path | None, context: typer.Context, *, seed: int, out: Path | None, as_json: bool,
                        quiet: bool) -> None:
    """Fit every configuration on a folder of partitions, evaluate them in every pairing, print and keep the figures."""
    from discreet.core.files import dump_json
    from discreet.encode.presets import build_encoders, default_cache
    from discreet.guard.card import card_of
    from discreet.guard.guard import Guard
    from discreet.guard.pairings import (
        DEFAULT,
        PAPER_CONFIGURATIONS,
        evaluate_pairings,
        fit_configurations,
        read_partitions,
    )
    from discreet.guard.policy import Policy

    if domain is None:
        raise UsageError("--partitions needs to know the domain; expected --domain with it: " + common.DOMAINS)
    names = configurations.split(",") if configurations else [*PAPER_CONFIGURATIONS, DEFAULT]
    if save is not None:
        if DEFAULT not in names:
            raise UsageError(f"--save keeps the guard of the configuration {DEFAULT!r}; add it to --configurations")
        writable(save)
    policy = Policy.of(domain)
    run = common.open_run(out, context)
    made = read_partitions(partitions, policy, build_encoders(encoders, domain=policy.domain, cache=default_cache()),
                           seed=seed, quiet=quiet)
    detectors, duals = fit_configurations(made, names, seed=seed)
    found = evaluate_pairings(made, detectors)
    components = {name: dual.components_.to_json() for name, dual in duals.items() if dual.components_ is not None}
    record = {"kind": "guard evaluate partitions", "schema": 1, "domain": policy.domain.name, "point": policy.point,
              "seed": seed, "encoders": encoders, "counts": dict(made.corpus.corpus.counts), "components": components,
              "configurations": found}
    if save is not None:
        card = card_of(made.corpus, detectors[DEFAULT], duals[DEFAULT], seed=seed)
        Guard(policy, detector=detectors[DEFAULT], card=card).save(save)
    if as_json:
        sys.stdout.write(dump_json(record) + "\n")
    elif not quiet:
        print("\n".join(lines(policy.domain.name, policy.point, found, components)))
    if run:
        run.finish(record, n=made.corpus.corpus.counts.get("read", 0), components=components)


def lines(domain: str, point: str, found: Mapping[str, Mapping[str, Mapping[str, Any]]],
          components: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A table a pairing: figures of the texts that each configuration keeps, with intervals.

    `components` are those of the configurations with Gaussian mixtures: requested, and fitted on each side.
    """
    from discreet.guard.fitted_dual import Components

    said = [f"{domain}: texts that the detector does not abstain on; default point {point}"]
    said += [f"{name}: Gaussian mixtures with {Components(**fitted)}" for name, fitted in components.items()]
    pairings = list(dict.fromkeys(p for by_pairing in found.values() for p in by_pairing))
    for pairing in pairings:
        said += ["", pairing.replace("_", " "),
                 "  " + "".join(h.ljust(WIDTH) for h in ("", *COLUMNS.values(), f"FPR at {point}", f"TPR at {point}"))]
        for name, by_pairing in found.items():
            figures = by_pairing[pairing]
            cells = [figures[c] for c in (*COLUMNS, "fpr_point", "tpr_point")]
            said.append("  " + "".join(c.ljust(WIDTH) for c in (name, *(short(e) for e in cells))))
            said += [f"    {subtype:32} FPR at {point} {short(e['fpr_point'])}   abstained {short(e['abstain'])}"
                     for subtype, e in figures.get("subtypes", {}).items() if name == "default"]
    return said


def short(estimate: Estimate) -> str:
    """Two or three figures and the interval, or a dash where the sample cannot say."""
    if estimate.value is None:
        return "unresolved"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.2f},{estimate.high:.2f}]"
