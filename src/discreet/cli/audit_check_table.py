"""`discreet audit check-table`: can the figures of a published table of label inference be?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import common, pages

File = Annotated[Path, typer.Argument(
    metavar="FILE", show_default=False,
    help="JSON Lines, CSV or Parquet, a row a figure: n_canaries, train_accuracy (may be empty), epsilon (or inf) and "
         "success; also n_classes (2), n_train, benchmark, attack, and guess: prediction where the attack answers the "
         "model's own prediction. Shares, or percent where a column holds a number above 1.")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="A", help="Chance that a sound table is called impossible, "
                                      "for the ceilings and for the accuracies each.")]


def check_table(
    context: typer.Context, file: File, *, alpha: Alpha = 0.05, as_json: common.Json = False, out: common.Out = None,
    config: common.Config = None, seed: common.Seed = 42, quiet: common.Quiet = False,
    show_text: common.ShowText = False,
) -> None:
    """Can these figures be? Success against what epsilon allows, and train accuracy against success and flip rate.

    Exits with 0 where every cell can be, with 1 where one cannot. A suspect flip rate alone changes no exit code.
    """
    from discreet.audit.labels.check_table import check_cells
    from discreet.audit.labels.table_rows import read_cells
    from discreet.core.errors import UsageError

    if not 0.0 < alpha < 1.0:
        raise UsageError(f"--alpha is {alpha:g}; expected a number strictly between 0 and 1")
    result = check_cells(read_cells(file), alpha)
    run = common.open_run(out, context)
    record = {"kind": "check-table", "schema": 1, **result.to_json(), "provenance": common.provenance(file)}
    pages.show(record, as_json=as_json, quiet=quiet)
    if run:
        run.finish(record, n=len(result.cells), impossible=len(result.impossible))
    if result.impossible:
        raise typer.Exit(1)
