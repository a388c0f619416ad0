"""`discreet audit check-table`: can the figures of a published table of label inference be?"""

from __future__ import annotations

import sys
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common

if TYPE_CHECKING:
    from discreet.audit.labels.check_table import Checked, TableCheck
    from discreet.audit.labels.flips import Flips

FITS = {
    "claimed": "as epsilon says",
    "halved": "SUSPECT: half of what epsilon says, as if the lie were drawn from all classes",
    "neither": "not to be told: the model fits the noise, or its accuracy on clean labels moved",
    "both": "not to be told: both predictions are near",
}

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
    from discreet.core.files import dump_json

    if not 0.0 < alpha < 1.0:
        raise UsageError(f"--alpha is {alpha:g}; expected a number strictly between 0 and 1")
    result = check_cells(read_cells(file), alpha)
    run = common.open_run(out, context)
    record = {"kind": "check-table", "schema": 1, **result.to_json(), "provenance": _provenance(file)}
    if as_json:
        sys.stdout.write(dump_json(record) + "\n")
    else:
        print("\n".join(lines(result, quiet=quiet)))
    if run:
        run.finish(record, n=len(result.cells), impossible=len(result.impossible))
    if result.impossible:
        raise typer.Exit(1)


def _provenance(path: Path) -> dict[str, Any]:
    from discreet import __version__
    from discreet.core.files import KeyedHash

    hashes = KeyedHash.from_environment()
    return {"discreet": __version__, "input": path.name, "data_hash": hashes.of_file(path), "hash_key": hashes.scope}


def lines(result: TableCheck, *, quiet: bool = False) -> list[str]:
    """The impossible cells with their reasons, the flip rates, and a summary of counts that is left out by `quiet`."""
    above = [cell for cell in result.cells if cell.ceiling and cell.ceiling.above]
    outside = [cell for cell in result.cells if cell.accuracy and cell.accuracy.outside]
    out = []
    if above:
        out += ["More often right than epsilon allows", *(_above(cell) for cell in above), ""]
    if outside:
        out += ["Success and train accuracy exclude each other", *(_outside(cell) for cell in outside), ""]
    if result.flips:
        out += ["Flip rate that train accuracy implies", *(_flips(one) for one in result.flips), ""]
    if not quiet:
        halved = sum(bool(cell.ceiling and cell.ceiling.above_halved) for cell in result.cells)
        out.append(f"{len(result.cells)} cells: {len(above)} of {result.ceilings} with a finite epsilon above its "
                   f"ceiling ({halved} even if labels flip half as often), {len(outside)} of "
                   f"{result.accuracies // 2} at odds with train accuracy; Bonferroni at {result.alpha:g}")
    return [*out, f"{len(result.impossible)} cells cannot be." if result.impossible else "Every cell can be."]


def _name(cell: Checked) -> str:
    given = cell.cell
    named = " ".join(common.printable(part) for part in (given.benchmark, given.attack) if part)
    epsilon = "inf" if given.epsilon == inf else f"{given.epsilon:g}"
    return f"  row {given.row:<4} {named:36} epsilon {epsilon:>4}  n={given.n_canaries:<6} {given.success:7.2%}"


def _above(cell: Checked) -> str:
    assert cell.ceiling is not None
    found = cell.ceiling
    still = "  above the halved ceiling too" if found.above_halved else ""
    return (f"{_name(cell)} > {found.ceiling:.2%}  p={found.p:.2g}  needs epsilon >= "
            f"{found.epsilon_needed.value:.2f}{still}")


def _outside(cell: Checked) -> str:
    assert cell.accuracy is not None
    found = cell.accuracy
    return f"{_name(cell)}, expected {found.least:.2%} to {found.most:.2%}  p={found.p:.2g}"


def _flips(one: Flips) -> str:
    name = common.printable(one.benchmark or "all rows")
    return (f"  {name:16} off by {one.distance_claimed:6.2%} if as epsilon says, {one.distance_halved:6.2%} if halved: "
            f"{FITS[one.fits]}")
