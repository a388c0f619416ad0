"""`discreet audit labels`: do a model's outputs give away the labels that it was trained on?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common, labels_entry, pages, recipe_entry
from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from discreet.scores.table import ScoreTable

EXIT = {"pass": 0, "fail": 1, "inconclusive": 3}

Scores = Annotated[Path | None, typer.Option(
    "--scores", metavar="F", help="Parquet, CSV or JSON Lines: a row per model and example with model, example, "
                                  "example_role (canary, placebo, train, heldout), label_original, label_secret, "
                                  "label_trained and logit_0 … or prob_0 …; also model_role, epsilon, mechanism, seed, "
                                  "planted, group.")]
Law = Annotated[str, typer.Option("--law", metavar="L", help="How secrets were drawn: uniform, or exact_half (dealt in "
                                                             "equal numbers).")]
Permutations = Annotated[int, typer.Option("--permutations", metavar="N", help="Draws of the labels for null p values; "
                                                                               "0 leaves them out.")]
Tune = Annotated[bool, typer.Option("--tune/--no-tune", help="Also try attacks that are tuned on half of the canaries "
                                                             "and judged on the other half.")]
Plan = Annotated[bool, typer.Option("--plan", help="No audit: say how many canaries it takes to show --epsilon with "
                                                   "--classes.")]
Epsilon = Annotated[str | None, typer.Option("--epsilon", metavar="E,E,…", help="With --recipe: the ε of each "
                                             "mechanism, inf for no noise (inf if not given). With --plan: the one to "
                                             "be shown (1 if not given).")]
Classes = Annotated[int, typer.Option("--classes", metavar="K", help="With --plan: the number of classes.")]
Guessed = Annotated[float, typer.Option("--guessed", metavar="S", help="With --plan: the share of canaries that the "
                                                                       "attack is sure enough of to guess.")]
Report = Annotated[Path | None, typer.Option("--report", metavar="F", help="Write an HTML report.")]


def labels(
    context: typer.Context, *, scores: Scores = None, recipe: labels_entry.Recipe = None,
    data: labels_entry.Data = None, target: labels_entry.Target = None, positive: labels_entry.Positive = None,
    group: labels_entry.Group = None, drop: labels_entry.Drop = None, mechanism: labels_entry.Mechanism = "rr",
    epsilon: Epsilon = None, canaries: labels_entry.Canaries = 0.02, placebo: labels_entry.Placebo = 0.02,
    planted: labels_entry.Planted = "1,4,16", heldout: labels_entry.Heldout = 0.2, seeds: labels_entry.Seeds = 1,
    references: labels_entry.References = 4, engine: recipe_entry.Engine = "local",
    workers: labels_entry.Workers = None, address: recipe_entry.Address = None, store: labels_entry.StoreAt = None,
    keep_models: recipe_entry.Keep = False, law: Law = "uniform", permutations: Permutations = 999, tune: Tune = True,
    plan: Plan = False, classes: Classes = 2, guessed: Guessed = 1.0,
    report: Report = None, as_json: common.Json = False, out: common.Out = None, config: common.Config = None,
    seed: common.Seed = 42, quiet: common.Quiet = False, show_text: common.ShowText = False,
) -> None:
    """Do a model's outputs give away the labels that it was trained on? A verdict, with placebos and ceiling.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    from discreet.audit.labels.judge import audit_labels, check_options
    from discreet.scores.write import write_scores

    trains = labels_entry.Trains.of(context.params)
    if plan:
        if scores is not None:
            raise UsageError("--plan and --scores were given together; expected one of them")
        _plan(epsilon, classes, guessed, quiet, as_json)
        return
    check_options(permutations, seed, law)
    if report is not None:
        pages.can_report(report)
    further: dict[str, Any] = {}
    if trains is not None:
        # Training is long, and goes on in its run folder where it was stopped.
        run = common.open_run(out, context)
        table, further["training"] = trains.scored(out, quiet=quiet)
        source = trains.source
    else:
        source, table = _scores(scores, epsilon)
        run = None
    found = audit_labels(table, permutations=permutations, seed=seed, law=law, tune=tune,
                         drawn_here=trains is not None, provenance=common.provenance(source, finished=True))
    if run is None:
        run = common.open_run(out, context)
    record: dict[str, Any] = {"kind": "audit labels", "schema": 1, **found.to_json(), **further}
    # Files first: a reader of the output who has seen enough must not cost the run its results.
    if trains is not None and run is not None:
        write_scores(table, run.path / "scores.parquet")
    pages.write_run(record, report, run, quiet=quiet, n=record["provenance"]["examples"], verdict=record["verdict"])
    pages.show(record, as_json=as_json, quiet=quiet, report=report, run=run)
    if code := EXIT[found.verdict]:
        raise typer.Exit(code)


def _scores(scores: Path | None, epsilon: str | None) -> tuple[Path, ScoreTable]:
    from discreet.scores.load import load_scores

    if scores is None:
        raise UsageError("there is nothing to audit; expected --scores F, --recipe R --data F --target COLUMN, or "
                         "--plan")
    if epsilon is not None:
        raise UsageError("--epsilon and --scores were given together; expected each model's in the table")
    return scores, load_scores(scores, kind="labels")


def _plan(epsilon: str | None, classes: int, guessed: float, quiet: bool, as_json: bool) -> None:
    from discreet.audit.labels.judge_plan import plan_canaries

    try:
        shown = float(epsilon or 1)
    except ValueError:
        raise UsageError(f"--epsilon is {(epsilon or '')[:20]!r}; expected one number with --plan") from None
    record = {"kind": "plan labels", "schema": 1, **plan_canaries(shown, classes, guessed)}
    pages.show(record, as_json=as_json, quiet=quiet)
