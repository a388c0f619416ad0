"""`discreet defend frontier`: what releasing less of a classifier's scores buys, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from discreet.cli import common, pages
from discreet.cli.audit_membership import Split
from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from discreet.audit.defences.frontier import Todo
    from discreet.scores.table import ScoreTable

N = TypeVar("N", int, float)

Scores = Annotated[Path, typer.Option(
    "--scores", metavar="F", help="A table of scores as for `audit membership`: JSON Lines, CSV or Parquet.")]
Target = Annotated[str | None, typer.Option("--target", metavar="NAME", help="The model to defend; the first target "
                                            "of the file if not given.")]
Sigma = Annotated[str, typer.Option("--sigma", metavar="S,S,…", help="Scales of the Laplace noise, fresh and keyed; "
                                    "0 is the undefended model, which is always there.")]
Decimals = Annotated[str, typer.Option("--decimals", metavar="D,D,…", help="Decimals to round probabilities to.")]
Queries = Annotated[str, typer.Option("--queries", metavar="K,K,…", help="How often the attacker asks.")]
Draws = Annotated[int, typer.Option("--draws", metavar="N", help="Noise draws that are averaged.")]
Clip = Annotated[float | None, typer.Option("--clip", metavar="C", help="Centre the logits and clip them to [-C, C] "
                                            "before noise; without it the noise has no finite local epsilon.")]
Jitter = Annotated[float, typer.Option("--jitter", metavar="S", help="How far logits of near-duplicates lie apart: "
                                       "standard deviation per class.")]
Positive = Annotated[int, typer.Option("--positive", metavar="L", help="The class whose misses are counted.")]
PerSide = Annotated[int, typer.Option("--per-side", metavar="N", help="Most members, and most non-members, judged "
                                      "globally, drawn once; 0 takes all.")]


def frontier(
    context: typer.Context, *, scores: Scores, target: Target = None, sigma: Sigma = "0,0.25,0.5,1,2",
    decimals: Decimals = "3,2,1", queries: Queries = "1,4,16,64,256", draws: Draws = 50, clip: Clip = None,
    jitter: Jitter = 0.25, positive: Positive = 1, per_side: PerSide = 5000, allow_split_groups: Split = False,
    as_json: common.Json = False,
    out: common.Out = None, config: common.Config = None, seed: common.Seed = 42, quiet: common.Quiet = False,
    show_text: common.ShowText = False,
) -> None:
    """What attacks lose and users pay when scores are noisy, keyed, rounded or cut to the top label.

    Loss and reference attacks, global and at the boundary, after 1 to k queries, each beside its placebo.
    """
    import numpy as np

    from discreet.audit.defences import frontier as room
    from discreet.cli.audit_membership import enough
    from discreet.core.files import progress
    from discreet.scores.load import load_scores

    strengths: dict[str, Sequence[float]] = {"sigma": numbers("--sigma", sigma, float, 0.0, float("inf")),
                                             "decimals": numbers("--decimals", decimals, int, 0, 15)}
    asked = numbers("--queries", queries, int, 1, 10**9)
    at_least("--draws", draws, 1)
    at_least("--jitter", jitter, 0)
    at_least("--per-side", per_side, 0)
    at_least("--seed", seed, 0)
    if clip is not None and not 0.0 < clip < float("inf"):
        raise UsageError(f"--clip is {clip}; expected a number above 0")
    read = load_scores(scores, kind="membership", allow_split_groups=allow_split_groups)
    table, left_out = read.without_split_groups()
    enough(table, scores, left_out)
    if not 0 <= positive < table.n_classes:
        raise UsageError(f"--positive is {positive}; {scores} has classes 0 to {table.n_classes - 1}")
    run = common.open_run(out, context)

    def each(todo: list[Todo]) -> Iterator[Todo]:
        return progress(todo, len(todo), quiet=quiet, label="mechanisms")

    result = room.frontier(
        table, chosen(table, target, scores), np.random.default_rng(seed), strengths=strengths, queries=asked,
        draws=draws, positive=positive, clip=clip, jitter=jitter, per_set=per_side or None, each=each)
    record = {"kind": "defend-frontier", "schema": 1, **result.to_json(),
              "provenance": common.provenance(scores, finished=True, seed=seed,
                                               split_groups_left_out=left_out)}
    # Files first: a reader of the output who has seen enough must not cost the run its results.
    pages.write_run(record, None, run, quiet=quiet, n=len(table.examples))
    pages.show(record, as_json=as_json, quiet=quiet, whole=True, run=run)


def numbers(option: str, given: str, kind: type[N], least: float, most: float) -> list[N]:
    """The numbers of a list with commas, in order and once each. UsageError for anything else."""
    found: list[N] = []
    for part in given.split(","):
        try:
            value = kind(part.strip())
        except ValueError:
            value = None
        if value is None or not least <= value <= most or value == float("inf"):
            what = "whole numbers" if kind is int else "numbers"
            limit = "" if most >= 10**9 else f" to {most:g}"
            raise UsageError(f"{option} holds {part.strip()[:20]!r}; expected {what} from {least:g}{limit}, with "
                             f"commas between them")
        found.append(value)
    return list(dict.fromkeys(found))


def at_least(option: str, given: float, least: int) -> None:
    """UsageError where a number is too small, or none."""
    if not least <= given < float("inf"):
        raise UsageError(f"{option} is {given}; expected a number of {least} or more")


def chosen(table: ScoreTable, name: str | None, path: Path) -> int:
    """Row of the target called `name`, the first target if None. UsageError where there is none."""
    targets = table.of_role("target")
    for row in targets:
        if name is None or table.models[row].name == name:
            return row
    known = ", ".join(table.models[row].name for row in targets[:5]) or "no target at all"
    raise UsageError(f"{path} has no target{'' if name is None else f' {name!r}'}: it has {known}; give the model to "
                     f"defend the model_role 'target'")
