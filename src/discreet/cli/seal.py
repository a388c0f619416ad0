"""`discreet seal`: pairs, coins and a commitment, before training."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common

if TYPE_CHECKING:
    from discreet.audit.sealed import Sealed

Data = Annotated[Path, typer.Argument(metavar="DATA", help="JSON Lines, CSV or Parquet with id, text and label.")]
Pairs = Annotated[int, typer.Option("--pairs", metavar="N", help="How many pairs; one record (or user) of each is left "
                                    "out of training.")]
Group = Annotated[str | None, typer.Option("--group", metavar="COLUMN", help="Make pairs of users: the column that "
                                           "names them. All records of a user go the same way.")]
Canaries = Annotated[Path | None, typer.Option("--canaries", metavar="F", help="Make pairs of the records of this file "
                                               "(the same columns) and train on DATA whole.")]
SealOut = Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for train.jsonl, probe.jsonl, "
                                       "commitment.json (publish it) and coins.json (keep it secret).")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="R", help="Largest chance of convicting an innocent model. "
                                      "The commitment holds it, so that nobody can choose it by the scores.")]
SealSeed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Draw pairs and coins from a seed: "
                                              "reproducible, not secret, proves nothing to others. By default they "
                                              "come from the operating system's cryptographic generator.")]


def seal(
    context: typer.Context, *, data: Data, pairs: Pairs, out: SealOut, group: Group = None, canaries: Canaries = None,
    alpha: Alpha = 0.05, seed: SealSeed = None, as_json: common.Json = False, config: common.Config = None,
    quiet: common.Quiet = False,
) -> None:
    """Before training: pair alike records, let sealed coins decide which of a pair is trained on.

    Then publish commitment.json, train on train.jsonl, score all of probe.jsonl, and call discreet unseal.
    """
    from discreet.audit.sealed import read_data, seal_data
    from discreet.core.files import dump_json

    records = read_data(data, group)
    sealed = seal_data(records, pairs, canaries=[] if canaries is None else read_data(canaries, group), seed=seed,
                       alpha=alpha)
    facts = {**sealed.facts, "alpha": alpha, **_can_show(pairs, alpha)}
    sealed.write(out, group)
    if as_json:
        record = {"kind": "seal", "schema": 1, "commitment": sealed.opening.commitment(), "out": str(out), **facts,
                  "coins_from": sealed.opening.source}
        sys.stdout.write(dump_json(record) + "\n")
    elif not quiet:
        print("\n".join(_lines(sealed, facts, out)))


def _can_show(pairs: int, alpha: float) -> dict[str, Any]:
    from discreet.audit.sealed.findings import POWER
    from discreet.stats.epsilon import epsilon_ceiling, least_rate
    from discreet.stats.evalues import KINDS

    # Two scores share the money where logits are given.
    return {"least_win_rate": least_rate(pairs, 2 * KINDS / alpha, POWER),
            "epsilon_ceiling": epsilon_ceiling(pairs, alpha, scores=2)}


def _lines(sealed: Sealed, facts: dict[str, Any], out: Path) -> list[str]:
    unit = "records" if facts["unit"] == "record" else "groups"
    least = facts["least_win_rate"]
    kept = f", {facts['copies_kept_out']:,} copies of another's text among them" if facts["copies_kept_out"] else ""
    said = [
        f"{facts['pairs']:,} pairs of {unit}; train on {facts['train']:,} records, score {facts['probe']:,}",
        f"  {facts['unpaired'] + facts['copies_kept_out']:,} {unit} in no pair are trained on as they are{kept}",
        f"  the longer text of a pair is {facts['length_ratio_median']:.2f} times the shorter (median; most "
        f"{facts['length_ratio_most']:.2f})",
        "  so many pairs cannot convict even where every one is won: more are needed" if least is None else
        f"  so many pairs convict a model that ranks the trained one first in {least:.0%} of pairs with chance .8; "
        f"their bound on epsilon is {facts['epsilon_ceiling']:.3f} at the most (the one for stopping early apart)",
        f"  an innocent model is convicted with chance {facts['alpha']:g} at the most; the commitment holds that level",
        "", f"commitment  {sealed.opening.commitment()}",
        f"  publish {common.printable(str(out / 'commitment.json'))} now; keep coins.json and train.jsonl from whoever "
        f"scores",
    ]
    seeded = ["  seeded: not secret; this seal proves nothing to others"]
    return said if sealed.opening.source == "os" else said + seeded
