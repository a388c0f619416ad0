"""`discreet audit check-table`: is a published table of label inference possible at its stated ε?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import library
from discreet.cli.output import RunOutput, provenance
from discreet.core.errors import UsageError


def check_table(
    file: Annotated[Path, typer.Argument(
        metavar="FILE", show_default=False,
        help="JSON Lines, CSV or Parquet, a row a figure: n_canaries, train_accuracy (may be empty), epsilon (or inf) "
             "and success; also n_classes (2), n_train, benchmark, attack, and guess: prediction where the attack "
             "answers the model's own prediction. Shares, or percent where a column holds a number above 1.")],
    *,
    alpha: Annotated[float, typer.Option(
        "--alpha", metavar="A", help="Chance that a sound table is called impossible, for the ceilings and for the "
                                     "accuracies each.")] = 0.05,
    output: RunOutput,
) -> None:
    """Check whether a published table is possible at its stated ε.

    Success is compared with what ε allows, and train accuracy with success and the flip rate. Exits with 0 where every
    cell is possible, with 1 where one is not. A suspect flip rate alone changes no exit code.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"--alpha is {alpha:g}; expected a number strictly between 0 and 1")
    result = library.check_cells(library.read_cells(file), alpha)
    run = output.open_run()
    record = {"kind": "check-table", "schema": 1, **result.to_json(), "provenance": provenance(file)}
    output.finish(record, run, {"n": len(result.cells), "impossible": len(result.impossible)}, when_quiet="headline")
    if result.impossible:
        raise typer.Exit(1)
