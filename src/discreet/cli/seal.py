"""`discreet seal`: pairs, coins and a commitment, before training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common, pages

if TYPE_CHECKING:
    pass

Data = Annotated[Path, typer.Argument(metavar="DATA", help="JSON Lines, CSV or Parquet with id, text and label.")]
Pairs = Annotated[int, typer.Option("--pairs", metavar="N", help="How many pairs; one record (or user) of each is left "
                                    "out of training.")]
Group = Annotated[str | None, typer.Option("--group", metavar="COLUMN", help="Make pairs of users: the column that "
                                           "names them. All records of a user go the same way.")]
Canaries = Annotated[Path | None, typer.Option("--canaries", metavar="F", help="Make pairs of the records of this file "
                                               "(the same columns) and train on DATA whole.")]
SealOut = Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for train.jsonl, probe.jsonl, "
                                       "commitment.json (publish it) and coins.json (keep it secret).")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="R", help="Largest chance of a false finding. "
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
    from discreet.audit.sealed import seal as seal_pairs

    sealed = seal_pairs(data, pairs, group=group, canaries=() if canaries is None else canaries, seed=seed,
                        alpha=alpha)
    facts = {**sealed.facts, "alpha": alpha, **_can_show(pairs, alpha)}
    sealed.save(out)
    record = {"kind": "seal", "schema": 1, "commitment": sealed.opening.commitment(), "out": str(out), **facts,
              "coins_from": sealed.opening.source}
    if as_json or not quiet:
        pages.show(record, as_json=as_json)


def _can_show(pairs: int, alpha: float) -> dict[str, Any]:
    from discreet.audit.sealed.findings import POWER
    from discreet.stats.epsilon import epsilon_ceiling, least_rate
    from discreet.stats.evalues import KINDS

    # Two scores share the money where logits are given.
    return {"least_win_rate": least_rate(pairs, 2 * KINDS / alpha, POWER),
            "epsilon_ceiling": epsilon_ceiling(pairs, alpha, scores=2)}
