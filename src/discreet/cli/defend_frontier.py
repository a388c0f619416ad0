"""`discreet defend frontier`: what releasing less of a classifier's scores buys, and what it costs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from discreet.cli import common
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.audit.frontier import Todo
    from discreet.audit.frontier_figures import Frontier, Point
    from discreet.audit.rows import Asked
    from discreet.audit.table import ScoreTable
    from discreet.records import Estimate

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
    jitter: Jitter = 0.25, positive: Positive = 1, per_side: PerSide = 5000, as_json: common.Json = False,
    out: common.Out = None, config: common.Config = None, seed: common.Seed = 42, quiet: common.Quiet = False,
    show_text: common.ShowText = False,
) -> None:
    """What attacks lose and users pay when scores are noisy, keyed, rounded or cut to the top label.

    Loss and reference attacks, global and at the boundary, after 1 to k queries, each beside its placebo.
    """
    import numpy as np

    from discreet.audit import frontier as room
    from discreet.audit.load import load_scores
    from discreet.cli.audit_membership import enough
    from discreet.files import Run, dump_json, progress

    strengths: dict[str, Sequence[float]] = {"sigma": numbers("--sigma", sigma, float, 0.0, float("inf")),
                                             "decimals": numbers("--decimals", decimals, int, 0, 15)}
    asked = numbers("--queries", queries, int, 1, 10**9)
    at_least("--draws", draws, 1)
    at_least("--jitter", jitter, 0)
    at_least("--per-side", per_side, 0)
    at_least("--seed", seed, 0)
    if clip is not None and not 0.0 < clip < float("inf"):
        raise UsageError(f"--clip is {clip}; expected a number above 0")
    table = load_scores(scores)
    enough(table, scores)
    if not 0 <= positive < table.n_classes:
        raise UsageError(f"--positive is {positive}; {scores} has classes 0 to {table.n_classes - 1}")
    run = Run.open(out, common.resolved(context)) if out is not None else None

    def each(todo: list[Todo]) -> Iterator[Todo]:
        return progress(todo, len(todo), quiet=quiet, label="mechanisms")

    result = room.frontier(
        table, chosen(table, target, scores), np.random.default_rng(seed), strengths=strengths, queries=asked,
        draws=draws, positive=positive, clip=clip, jitter=jitter, per_side=per_side or None, each=each)
    record = {"kind": "defend-frontier", "schema": 1, **result.to_json(), "provenance": _provenance(scores, seed)}
    if as_json:
        sys.stdout.write(dump_json(record) + "\n")
    else:
        print("\n".join(lines(result)))
    if run:
        run.finish(record, n=len(table.examples))


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


def _provenance(path: Path, seed: int) -> dict[str, Any]:
    from discreet import __version__
    from discreet.files import KeyedHash

    hashes = KeyedHash.from_environment()
    file = path if path.is_file() else next((p for p in sorted(path.glob("scores.*"))), None)
    return {"discreet": __version__, "input": path.name, "data_hash": None if file is None else hashes.of_file(file),
            "hash_key": hashes.scope, "seed": seed}


def lines(result: Frontier) -> list[str]:
    """A table of the primary row, global and at the boundary, and what the figures are."""
    first = result.primary
    ratio = "" if first.reference_kind is None else f" ({first.reference_kind}, {first.scale} scale)"
    boundary = next((figure.asked for figure in result.points[0].figures if figure.asked.selection == "boundary"
                     and _alike(figure.asked, first)), None)
    out = [f"{common.printable(result.target)} under the {first.attack} attack{ratio}; mean of {result.draws} noise "
           f"draws"]
    for title, asked in (("all judged examples", first), ("boundary", boundary)):
        if asked is not None:
            out += ["", *_table(result, asked, title)]
    if result.clip is None:
        out += ["", "No local epsilon is finite without --clip."]
    out += ["", f"Near-duplicates: logits {result.jitter:g} apart (standard deviation per class), independent of one "
            f"another.", "Local epsilon is of one answer, and only about the input that was asked for.",
            *(common.printable(note) for note in result.notes)]
    return out


def _alike(one: Asked, other: Asked) -> bool:
    return (one.attack, one.scale, one.reference_kind) == (other.attack, other.scale, other.reference_kind)


def _table(result: Frontier, asked: Asked, title: str) -> list[str]:
    lacking = result.points[0].figure(asked).auc
    if not lacking.resolved:
        return [f"AUC, {title}: {lacking}"]
    queries = list(dict.fromkeys(point.queries for point in result.points))
    head = ["AUC, " + title, "accuracy", "missed", "epsilon", *(f"k={k}" for k in queries), "placebo"]
    rows: dict[str, list[Point]] = {}
    for point in result.points:
        rows.setdefault(_name(point), []).append(point)
    cells = [head, *([name, *_cells(points, asked)] for name, points in rows.items())]
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    return ["  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                      for place, (cell, width) in enumerate(zip(row, widths, strict=True))) for row in cells]


def _name(point: Point) -> str:
    strength = "" if point.knob is None else f" {point.knob} {point.strength:g}"
    return f"{point.mechanism}{strength}" + (", near-duplicates" if point.queried != "same" else "")


def _cells(points: Sequence[Point], asked: Asked) -> list[str]:
    first = points[0]
    epsilon = "none" if first.epsilon is None else f"{first.epsilon:.3g}"
    aucs = [_short(point.figure(asked).auc) for point in points]
    return [_short(first.accuracy), _short(first.missed_positives), epsilon, *aucs,
            _short(points[-1].figure(asked).placebo_auc)]


def _short(figure: Estimate) -> str:
    return "-" if figure.value is None else f"{figure.value:.3f}"
