"""`discreet reproduce pairings`: the guard paper's configurations on partitions that `discreet synth run` left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import discreet
from discreet.cli.options import About, Encoders, Seed, argument, names_of, option, policy_of
from discreet.cli.output import RunOutput
from discreet.core.errors import UsageError
from discreet.core.folders import check_target
from discreet_papers import library as lib


def pairings(
    partitions: Annotated[Path, argument("DIR", "What synth run leaves, or files of those names.")],
    *,
    domain: About,
    configurations: Annotated[str | None, option(
        "C", "Some of gmm-v3, gmm-v4, ocsvm-v3, ocsvm-v4, rff-v3, rff-v4, default; all if not given.")] = None,
    encoders: Encoders = None,
    save: Annotated[Path | None, option("DIR", "Keep the default guard.")] = None,
    seed: Seed = 42, output: RunOutput,
) -> None:
    """Fit the paper's configurations and the default guard, and evaluate each in every pairing of the partitions.

    Pairings are within, across writers, against borderline texts and matched.
    """
    room = lib.pairings
    default = room.DEFAULT
    names = names_of("--configurations", configurations) if configurations else (*room.PAPER_CONFIGURATIONS, default)
    if save is not None:
        if default not in names:
            raise UsageError(f"--save keeps the guard of the configuration {default!r}; add it to --configurations")
        check_target(save, lib.detector.MANIFEST)
    policy = policy_of(domain, None, None)
    run = output.open_run()
    encoders = encoders or "reader"
    built = lib.presets.build_encoders(encoders, domain=policy.domain, cache=lib.presets.default_cache())
    made = room.read_partitions(partitions, policy, built, seed=seed, quiet=output.quiet)
    detectors, duals = room.fit_configurations(made, names, seed=seed)
    found = room.evaluate_pairings(made, detectors)
    components = {name: dual.components_ for name, dual in duals.items() if dual.components_ is not None}
    counts = made.corpus.corpus.counts
    record = {"kind": "reproduce pairings", "schema": 1, "domain": policy.domain.name, "point": policy.point,
              "seed": seed, "encoders": encoders, "counts": dict(counts), "components": components,
              "configurations": found}
    if save is not None:
        card = lib.fit.card_of(made.corpus, detectors[default], duals[default], seed=seed)
        discreet.Guard(policy, detector=detectors[default], card=card).save(save)
    output.finish(record, run, {"n": counts.get("read", 0), "components": components}, when_quiet="nothing")
