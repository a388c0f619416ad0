"""`discreet stress-test`: the borderline-safe stress test of a guard or of any classifier's scores, with a gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from discreet.cli import library as lib
from discreet.cli.options import ByGuard, Seed, one_of, option
from discreet.cli.output import RunOutput, end, provenance
from discreet.core.errors import InputError, UsageError
from discreet.core.files import progress

KINDS = ("unsafe", "safe", "borderline")
REQUIRED = ("id", "kind", "score")


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One line of a file of scores."""

    id: str
    kind: str
    score: float
    subtype: str | None


def stress_test(
    *,
    scores: Annotated[Path | None, option(
        "F", "Test the classifier that gave these scores: JSON Lines, CSV or Parquet with id, kind (unsafe, safe or "
        "borderline), score (higher means unsafe) and, if it is there, subtype.")] = None,
    by: ByGuard,
    unsafe: Annotated[list[Path] | None, option(
        "F", "For a guard: answers that leak, as synth run writes them; may be repeated.")] = None,
    safe: Annotated[list[Path] | None, option("F", "For a guard: answers without a leak.")] = None,
    borderline: Annotated[list[Path] | None, option(
        "F", "For a guard: answers in the voice of a leak without one.")] = None,
    max_borderline_fpr: Annotated[float | None, option(
        "R", "The gate: pass where the borderline FPR at the operating point is R at the most (upper 95% bound), fail "
        "where it is more (lower bound), else inconclusive.")] = None,
    tpr: Annotated[float, option("R", "TPR target; the operating point unless --threshold is given.")] = 0.95,
    threshold: Annotated[float | None, option("T", "Operating point: flagged where the score is T or more.")] = None,
    seed: Seed = 42, output: RunOutput,
) -> None:
    """Does a classifier read content or style? AUROC and FPR on borderline-safe texts, and a promotion gate.

    Give --scores, or --guard or --domain with texts that the guard was not fitted on; a guard is tested at its own
    operating point unless --threshold says otherwise, in log-odds beyond it. Exits with 0 for pass (or without a
    gate), 1 for fail, 3 for inconclusive.
    """
    texts: dict[lib.corpus.Kind, list[Path] | None] = {"unsafe": unsafe, "safe": safe, "borderline": borderline}
    judged_by: dict[str, str] = {}
    if scores is not None:
        one_of(**{"--scores": scores, "--guard": by.guard, "--domain": by.domain},
               **{f"--{kind}": paths or None for kind, paths in texts.items()})
        rows = read_scores(scores)
    else:
        rows, judged_by = _judged(by, texts, output.quiet)
        threshold = 0.0 if threshold is None else threshold
    of = {kind: [row for row in rows if row.kind == kind] for kind in KINDS}
    if missing := [kind for kind in KINDS if not of[kind]]:
        raise InputError(f"{scores or 'the input'} has no {' and no '.join(missing)} rows; expected at least one "
                         f"each of {', '.join(KINDS)}")
    result = lib.stress.stress_scores(
        *([row.score for row in of[kind]] for kind in KINDS), subtypes=[row.subtype for row in of["borderline"]],
        max_borderline_fpr=max_borderline_fpr, tpr=tpr, threshold=threshold, rng=seed)
    run = output.open_run()
    sources = [scores] if scores is not None else [path for paths in texts.values() for path in paths or ()]
    record = {"kind": "stress-test", "schema": 1, **result.to_json(),
              "provenance": {**provenance(*sources, seed=seed), **judged_by}}
    output.finish(record, run, {"n": len(rows), "verdict": result.verdict},
                  sizes={kind: len(of[kind]) for kind in KINDS})
    end(result.verdict)


def read_scores(path: Path) -> list[ScoredRow]:
    """All rows of a file of scores; InputError names the line that cannot be one."""
    rows = lib.rows.iter_rows(path, (*REQUIRED, "subtype"), REQUIRED)
    return [row for _, row in lib.rows.unique(rows, _scored_row, lambda row: row.id)]


def _judged(by: ByGuard, texts: Mapping[lib.corpus.Kind, list[Path] | None],
            quiet: bool) -> tuple[list[ScoredRow], dict[str, str]]:
    """Every text of the three kinds with the score that the guard gives it, and what judged it."""
    if by.guard is None and by.domain is None:
        raise UsageError("there is nothing to test; expected --scores F, or --guard DIR or --domain D with texts")
    if missing := [f"--{kind}" for kind, paths in texts.items() if not paths]:
        raise UsageError(f"{' and '.join(missing)} is missing; expected texts of all three kinds: --unsafe, --safe, "
                         "--borderline")
    guard = by.load()
    domain = guard.policy.domain.name
    samples = [sample for kind, paths in texts.items() for sample in lib.corpus.read_side(paths or [], kind, domain)]
    shown = progress(samples, len(samples), quiet=quiet, label="texts judged")
    scores = lib.stress.guard_scores(guard, (sample.answer for sample in shown))
    rows = [ScoredRow(sample.answer.id, sample.kind, score, sample.subtype)
            for sample, score in zip(samples, scores, strict=True)]
    return rows, {"policy": guard.policy.label(), "point": guard.point}


def _scored_row(place: lib.rows.Place, row: Mapping[str, Any]) -> ScoredRow:
    name, kind, subtype = lib.rows.id_cell(place, row["id"]), row["kind"], row.get("subtype")
    if not isinstance(kind, str) or kind.strip().lower() not in KINDS:
        given = "not one that is known" if isinstance(kind, str) and kind.strip() else "missing"
        place.fail(f"'kind' is {given}; expected one of {', '.join(KINDS)}")
    subtype = lib.rows.string_cell(place, "subtype", subtype) or ""
    return ScoredRow(name, kind.strip().lower(), _score(place, row["score"]), subtype.strip() or None)


def _score(place: lib.rows.Place, value: Any) -> float:
    try:
        # bool is an int, and a Parquet column of booleans is somebody's verdicts.
        score = None if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
    except (ValueError, OverflowError):
        score = None
    if score is None:
        given = "not a number" if isinstance(value, str) else lib.rows.json_type(value)
        place.fail(f"'score' is {given}; expected a number")
    if not isfinite(score):
        place.fail("'score' is NaN or infinite; expected a finite number: judge the answer again, or leave it out")
    return score
