"""`discreet guard evaluate --partitions`: the paper's configurations and pairings, fitted and evaluated in one go."""

from __future__ import annotations

from pathlib import Path

import typer

from discreet.cli import common, pages
from discreet.cli.guard_fit import writable
from discreet.core.errors import UsageError


def evaluate_partitions(partitions: Path, domain: str | None, configurations: str | None, encoders: str,
                        save: Path | None, context: typer.Context, *, seed: int, out: Path | None, as_json: bool,
                        quiet: bool) -> None:
    """Fit every configuration on a folder of partitions, evaluate them in every pairing, print and keep the figures."""
    from discreet.encode.presets import build_encoders, default_cache
    from discreet.guard.fit import card_of
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
        rows = made.corpus
        card = card_of(rows.corpus, (rows.kinds("evaluation"), rows.held["evaluation"]), detectors[DEFAULT],
                       duals[DEFAULT], seed=seed)
        Guard(policy, detector=detectors[DEFAULT], card=card).save(save)
    if as_json or not quiet:
        pages.show(record, as_json=as_json)
    if run:
        run.finish(record, n=made.corpus.corpus.counts.get("read", 0), components=components)
