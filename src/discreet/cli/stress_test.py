"""`discreet stress-test`: the borderline-safe stress test of a guard or of any classifier's scores, with a gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common, pages
from discreet.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from discreet.data.rows import Place
    from discreet.guard.corpus import Kind

KINDS = ("unsafe", "safe", "borderline")
REQUIRED = ("id", "kind", "score")
COLUMNS = (*REQUIRED, "subtype")
EXIT = {"pass": 0, "fail": 1, "inconclusive": 3, None: 0}

Scores = Annotated[Path | None, typer.Option(
    "--scores", metavar="F",
    help="Test the classifier that gave these scores: JSON Lines, CSV or Parquet with id, kind (unsafe, safe or "
         "borderline), score (higher means unsafe) and, if it is there, subtype.")]
Fitted = Annotated[Path | None, typer.Option(
    "--guard", metavar="DIR", help="Test the guard in this folder on --unsafe, --safe and --borderline.")]
Domain = Annotated[str | None, typer.Option(
    "--domain", metavar="D", help="Test the evidence rules under the policy of this domain: " + common.DOMAINS)]
Texts = Annotated[list[Path] | None, typer.Option(
    "--unsafe", metavar="F", help="Answers that leak, as synth run writes them; may be repeated.")]
SafeTexts = Annotated[list[Path] | None, typer.Option("--safe", metavar="F", help="Answers without a leak.")]
BorderlineTexts = Annotated[list[Path] | None, typer.Option(
    "--borderline", metavar="F", help="Answers in the voice of a leak without one.")]
Limit = Annotated[float | None, typer.Option(
    "--max-borderline-fpr", metavar="R",
    help="The gate: pass where the borderline FPR at the operating point is R at the most (upper 95% bound), fail "
         "where it is more (lower bound), else inconclusive.")]
Tpr = Annotated[float, typer.Option("--tpr", metavar="R", help="TPR target; the operating point unless --threshold is "
                                    "given.")]
Threshold = Annotated[float | None, typer.Option("--threshold", metavar="T", help="Operating point: flagged where the "
                                                 "score is T or more.")]


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One line of a file of scores."""

    id: str
    kind: str
    score: float
    subtype: str | None


def stress_test(
    context: typer.Context, *, scores: Scores = None, guard: Fitted = None, domain: Domain = None,
    unsafe: Texts = None, safe: SafeTexts = None, borderline: BorderlineTexts = None,
    max_borderline_fpr: Limit = None, tpr: Tpr = 0.95, threshold: Threshold = None,
    as_json: common.Json = False, out: common.Out = None, config: common.Config = None,
    seed: common.Seed = 42, quiet: common.Quiet = False, show_text: common.ShowText = False,
) -> None:
    """Does a classifier read content or style? AUROC and FPR on borderline-safe texts, and a promotion gate.

    Give --scores, or --guard or --domain with texts that the guard was not fitted on; a guard is tested at its own
    operating point unless --threshold says otherwise, in log-odds beyond it. Exits with 0 for pass (or without a
    gate), 1 for fail, 3 for inconclusive.
    """
    from discreet.guard.stress import stress_scores

    texts: dict[Kind, list[Path] | None] = {"unsafe": unsafe, "safe": safe, "borderline": borderline}
    judged_by: dict[str, str] = {}
    if scores is not None:
        common.one_of(**{"--scores": scores, "--guard": guard, "--domain": domain},
                      **{f"--{kind}": paths or None for kind, paths in texts.items()})
        rows = read_scores(scores)
    else:
        rows, judged_by = judged_rows(guard, domain, texts, quiet)
        threshold = 0.0 if threshold is None else threshold
    of = {kind: [row for row in rows if row.kind == kind] for kind in KINDS}
    if lacking := [kind for kind in KINDS if not of[kind]]:
        raise InputError(f"{scores or 'the input'} has no {' and no '.join(lacking)} rows; expected at least one "
                         f"each of {', '.join(KINDS)}")
    result = stress_scores(
        *([row.score for row in of[kind]] for kind in KINDS), subtypes=[row.subtype for row in of["borderline"]],
        max_borderline_fpr=max_borderline_fpr, tpr=tpr, threshold=threshold, rng=seed,
    )
    run = common.open_run(out, context)
    sources = [scores] if scores is not None else [path for paths in texts.values() for path in paths or ()]
    record = {"kind": "stress-test", "schema": 1, **result.to_json(),
              "provenance": {**common.provenance(*sources, seed=seed), **judged_by}}
    pages.show(record, as_json=as_json, quiet=quiet, whole=True, sizes={kind: len(of[kind]) for kind in KINDS})
    if run:
        run.finish(record, n=len(rows), verdict=result.verdict)
    if code := EXIT[result.verdict]:
        raise typer.Exit(code)


def read_scores(path: Path) -> list[ScoredRow]:
    """All rows of a file of scores; InputError names the line that cannot be one."""
    from discreet.data.answers import unique
    from discreet.data.rows import iter_rows

    return [row for _, row in unique(iter_rows(path, COLUMNS, REQUIRED), _scored_row, lambda row: row.id)]


def judged_rows(folder: Path | None, domain: str | None, texts: Mapping[Kind, list[Path] | None],
                quiet: bool) -> tuple[list[ScoredRow], dict[str, str]]:
    """Every text of the three kinds with the score that the guard gives it, and what judged it."""
    from discreet.cli.guard_check import guard_of
    from discreet.core.files import progress
    from discreet.guard.corpus import read_side
    from discreet.guard.stress import guard_scores

    if folder is None and domain is None:
        raise UsageError("there is nothing to test; expected --scores F, or --guard DIR or --domain D with texts")
    if lacking := [f"--{kind}" for kind, paths in texts.items() if not paths]:
        raise UsageError(f"{' and '.join(lacking)} is missing; expected texts of all three kinds: --unsafe, --safe, "
                         "--borderline")
    guard = guard_of(folder, domain, None, None, None)
    samples = [sample for kind, paths in texts.items()
               for sample in read_side(paths or [], kind, guard.policy.domain.name)]
    shown = progress(samples, len(samples), quiet=quiet, label="texts judged")
    scores = guard_scores(guard, (sample.answer for sample in shown))
    rows = [ScoredRow(sample.answer.id, sample.kind, score, sample.subtype)
            for sample, score in zip(samples, scores, strict=True)]
    return rows, {"policy": guard.policy.label(), "point": guard.point}


def _scored_row(place: Place, row: Mapping[str, Any]) -> ScoredRow:
    from discreet.data.answers import clean
    from discreet.data.rows import json_type

    name, kind, subtype = row["id"], row["kind"], row.get("subtype")
    if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
        place.fail(f"'id' is {'empty' if name == '' else json_type(name)}; expected a string or a whole number")
    if not isinstance(kind, str) or kind.strip().lower() not in KINDS:
        given = "not one that is known" if isinstance(kind, str) and kind.strip() else "missing"
        place.fail(f"'kind' is {given}; expected one of {', '.join(KINDS)}")
    if not (subtype is None or isinstance(subtype, str)):
        place.fail(f"'subtype' is {json_type(subtype)}; expected a string or null")
    return ScoredRow(str(name), kind.strip().lower(), _score(place, row["score"]), clean(subtype or "").strip() or None)


def _score(place: Place, value: Any) -> float:
    from discreet.data.rows import json_type

    try:
        # bool is an int, and a Parquet column of booleans is somebody's verdicts.
        score = None if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        score = None
    if score is None:
        place.fail(f"'score' is {'not a number' if isinstance(value, str) else json_type(value)}; expected a number")
    if not isfinite(score):
        place.fail("'score' is NaN or infinite; expected a finite number: judge the answer again, or leave it out")
    return score
