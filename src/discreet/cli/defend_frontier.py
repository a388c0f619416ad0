"""`discreet defend frontier`: what releasing less of a classifier's scores gains, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import library
from discreet.cli.options import Seed, names_of, numbers_of
from discreet.cli.output import RunOutput, provenance
from discreet.core.errors import UsageError
from discreet.core.files import progress


def frontier(
    *,
    scores: Annotated[Path, typer.Option(
        "--scores", metavar="F", help="A table of scores as for `audit membership scores`.")],
    target: Annotated[str | None, typer.Option(
        "--target", metavar="NAME", help="The model to defend; the first target of the file if not given.")] = None,
    attacks: Annotated[str, typer.Option(
        "--attacks", metavar="A,A,…", help="Attacks to run, as for `audit membership scores`; those that rank the "
                                           "examples alike are shown once.")] = "loss,reference",
    sigma: Annotated[str, typer.Option(
        "--sigma", metavar="S,S,…", help="Scales of the Laplace noise, fresh and keyed; 0 is the undefended model, "
                                         "which is always there.")] = "0,0.25,0.5,1,2",
    decimals: Annotated[str, typer.Option(
        "--decimals", metavar="D,D,…", help="Decimals to round probabilities to.")] = "3,2,1",
    queries: Annotated[str, typer.Option(
        "--queries", metavar="K,K,…", help="How often the attacker asks.")] = "1,4,16,64,256",
    draws: Annotated[int, typer.Option("--draws", metavar="N", help="Noise draws that are averaged.")] = 50,
    clip: Annotated[float | None, typer.Option(
        "--clip", metavar="C", help="Centre the logits and clip them to [-C, C] before noise; without it the noise has "
                                    "no finite local epsilon.")] = None,
    jitter: Annotated[float, typer.Option(
        "--jitter", metavar="S", help="How far logits of near-duplicates lie apart: standard deviation per "
                                      "class.")] = 0.25,
    positive: Annotated[int, typer.Option(
        "--positive", metavar="L", help="The class whose misses are counted.")] = 1,
    per_side: Annotated[int, typer.Option(
        "--per-side", metavar="N", help="Most members, and most non-members, judged globally, drawn once; 0 takes "
                                        "all.")] = 5000,
    allow_split_groups: Annotated[bool, typer.Option(
        "--allow-split-groups", help="Leave out groups that have records among members and non-members, instead of "
                                     "refusing the table.")] = False,
    seed: Seed = 42, output: RunOutput,
) -> None:
    """What attacks lose and users pay when scores are noisy, keyed, rounded or cut to the top label.

    Attacks are global and at the boundary, after 1 to k queries, each next to its control model.
    """
    strengths: dict[str, Sequence[float]] = {"sigma": numbers_of("--sigma", sigma, float),
                                             "decimals": numbers_of("--decimals", decimals, int, most=15)}
    asked = numbers_of("--queries", queries, int, least=1)
    for option, given, least in (("--draws", draws, 1), ("--jitter", jitter, 0), ("--per-side", per_side, 0),
                                 ("--seed", seed, 0)):
        if not least <= given < float("inf"):
            raise UsageError(f"{option} is {given}; expected a number of {least} or more")
    if clip is not None and not 0.0 < clip < float("inf"):
        raise UsageError(f"--clip is {clip}; expected a number above 0")
    read = library.load_scores(scores, kind="membership", allow_split_groups=allow_split_groups)
    table, left_out = read.without_split_groups()
    library.check_enough(table, scores, left_out)
    if not 0 <= positive < table.n_classes:
        raise UsageError(f"--positive is {positive}; {scores} has classes 0 to {table.n_classes - 1}")
    run = output.open_run()
    result = library.frontier(
        table, _chosen(table, target, scores), library.default_rng(seed), strengths=strengths,
        attacks=names_of("--attacks", attacks), queries=asked, draws=draws, positive=positive, clip=clip,
        jitter=jitter, per_set=per_side or None,
        each=lambda todo: progress(todo, len(todo), quiet=output.quiet, label="mechanisms"))
    record = {"kind": "defend-frontier", "schema": 1, **result.to_json(),
              "provenance": provenance(scores, finished=True, seed=seed, split_groups_left_out=left_out)}
    output.finish_with_page(record, run, {"n": len(table.examples)}, when_quiet="summary")


def _chosen(table: library.ScoreTable, name: str | None, path: Path) -> int:
    """Row of the target called `name`, the first target if None. UsageError where there is none."""
    targets = table.of_role("target")
    for row in targets:
        if name is None or table.models[row].name == name:
            return row
    known = ", ".join(table.models[row].name for row in targets[:5]) or "no target at all"
    raise UsageError(f"{path} has no target{'' if name is None else f' {name!r}'}: it has {known}; give the model to "
                     f"defend the model_role 'target'")
