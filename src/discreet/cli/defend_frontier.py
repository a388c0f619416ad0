"""`discreet defend frontier`: what releasing less of a classifier's scores gains, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import discreet
from discreet.cli import library as lib
from discreet.cli.options import AllowSplitGroups, Seed, names_of, numbers_of, option
from discreet.cli.output import RunOutput, provenance
from discreet.core.errors import UsageError
from discreet.core.files import progress


def frontier(
    *,
    scores: Annotated[Path, option("F", "A table of scores as for `audit membership scores`.")],
    target: Annotated[str | None, option(
        "NAME", "The model to defend; the first target of the file if not given.")] = None,
    attacks: Annotated[str, option(
        "A,A,…", "As for `audit membership scores`; those that rank alike are shown once.")] = "loss,reference",
    sigma: Annotated[str, option(
        "S,S,…", "Scales of the Laplace noise, fresh and keyed; 0, no defence, is always there.")] = "0,0.25,0.5,1,2",
    decimals: Annotated[str, option("D,D,…", "Decimals to round probabilities to.")] = "3,2,1",
    queries: Annotated[str, option("K,K,…", "How often the attacker asks.")] = "1,4,16,64,256",
    draws: Annotated[int, option("N", "Noise draws that are averaged.")] = 50,
    clip: Annotated[float | None, option(
        "C", "Centre the logits and clip them to [-C, C] before noise; without it no local epsilon is finite.")] = None,
    jitter: Annotated[float, option(
        "S", "How far logits of near-duplicates lie apart: standard deviation per class.")] = 0.25,
    positive: Annotated[int, option("L", "The class whose misses are counted.")] = 1,
    per_set: Annotated[int, option(
        "N", "Most members, and most non-members, judged globally, drawn once; 0 takes all.")] = 5000,
    allow_split_groups: AllowSplitGroups = False,
    seed: Seed = 42, output: RunOutput,
) -> None:
    """What attacks lose and users pay when scores are noisy, keyed, rounded or cut to the top label.

    Attacks are global and at the boundary, after 1 to k queries, each next to its control model.
    """
    strengths: dict[str, Sequence[float]] = {"sigma": numbers_of("--sigma", sigma, float),
                                             "decimals": numbers_of("--decimals", decimals, int, most=15)}
    asked = numbers_of("--queries", queries, int, least=1)
    for name, given, least in (("--draws", draws, 1), ("--jitter", jitter, 0), ("--per-set", per_set, 0),
                               ("--seed", seed, 0)):
        if not least <= given < float("inf"):
            raise UsageError(f"{name} is {given}; expected a number of {least} or more")
    if clip is not None and not 0.0 < clip < float("inf"):
        raise UsageError(f"--clip is {clip}; expected a number above 0")
    read = discreet.load_scores(scores, kind="membership", allow_split_groups=allow_split_groups)
    table, left_out = read.without_split_groups()
    lib.check.check_enough(table, scores, left_out)
    if not 0 <= positive < table.n_classes:
        raise UsageError(f"--positive is {positive}; {scores} has classes 0 to {table.n_classes - 1}")
    targets = [row for row in table.of_role("target") if target in (None, table.models[row].name)]
    if not targets:
        known = ", ".join(table.models[row].name for row in table.of_role("target")[:5]) or "no target at all"
        raise UsageError(f"{scores} has no target{'' if target is None else f' {target!r}'}: it has {known}; give the "
                         "model to defend the model_role 'target'")
    run = output.open_run()
    result = lib.defences.frontier(
        table, targets[0], lib.random.default_rng(seed), strengths=strengths,
        attacks=names_of("--attacks", attacks), queries=asked, draws=draws, positive=positive, clip=clip,
        jitter=jitter, per_set=per_set or None,
        each=lambda todo: progress(todo, len(todo), quiet=output.quiet, label="mechanisms"))
    record = {"kind": "defend-frontier", "schema": 1, **result.to_json(),
              "provenance": provenance(scores, finished=True, seed=seed, split_groups_left_out=left_out)}
    output.finish_with_page(record, run, {"n": len(table.examples)}, when_quiet="summary")
