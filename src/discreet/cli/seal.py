"""`discreet seal`, `unseal` and `verify`: coins before training, a certificate after it, and its check."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import library
from discreet.cli.output import Output, end
from discreet.core.errors import InputError
from discreet.core.files import dump_json


def seal(
    data: Annotated[Path, typer.Argument(
        metavar="DATA", show_default=False, help="JSON Lines, CSV or Parquet with id, text and label.")],
    *,
    pairs: Annotated[int, typer.Option(
        "--pairs", metavar="N", help="How many pairs; one record (or user) of each is left out of training.")],
    out: Annotated[Path, typer.Option(
        "--out", metavar="DIR", help="New folder for train.jsonl, probe.jsonl, commitment.json (publish it) and "
                                     "coins.json (keep it secret).")],
    group: Annotated[str | None, typer.Option(
        "--group", metavar="COLUMN", help="Make pairs of users: the column that names them. All records of a user go "
                                          "the same way.")] = None,
    canaries: Annotated[Path | None, typer.Option(
        "--canaries", metavar="F", help="Make pairs of the records of this file (the same columns) and train on DATA "
                                        "whole.")] = None,
    alpha: Annotated[float, typer.Option(
        "--alpha", metavar="R", help="Largest chance of a false finding. The commitment holds it, so that nobody can "
                                     "choose it by the scores.")] = 0.05,
    seed: Annotated[int | None, typer.Option(
        "--seed", metavar="N", help="Draw pairs and coins from a seed: reproducible, not secret, proves nothing to "
                                    "others. By default they come from the operating system's cryptographic "
                                    "generator.")] = None,
    output: Output,
) -> None:
    """Before training: pair alike records, let sealed coins decide which of a pair is trained on.

    Then publish commitment.json, train on train.jsonl, score all of probe.jsonl, and call discreet unseal.
    """
    sealed = library.seal(data, pairs, group=group, canaries=() if canaries is None else canaries, seed=seed,
                          alpha=alpha)
    sealed.save(out)
    output.show({"kind": "seal", "schema": 1, "commitment": sealed.opening.commitment(), "out": str(out),
                 **sealed.facts, "alpha": alpha,
                 # Two scores share the stakes where logits are given.
                 "least_win_rate": library.least_rate(pairs, 2 * library.KINDS / alpha, library.POWER),
                 "epsilon_ceiling": library.epsilon_ceiling(pairs, alpha, scores=2),
                 "coins_from": sealed.opening.source}, when_quiet="nothing")


def unseal(
    folder: Annotated[Path, typer.Argument(
        metavar="DIR", show_default=False, help="The folder that discreet seal wrote.")],
    *,
    scores: Annotated[Path, typer.Option(
        "--scores", metavar="F", help="JSON Lines, CSV or Parquet for every row of probe.jsonl: id and score (higher "
                                      "means member), or id, label and logit_0 … logit_K.")],
    out: Annotated[Path | None, typer.Option(
        "--out", metavar="F", help="Where the certificate goes [default: DIR/certificate.json].")] = None,
    sign: Annotated[Path | None, typer.Option(
        "--sign", metavar="KEYFILE", help="Sign with this Ed25519 key (PEM).")] = None,
    alpha: Annotated[float | None, typer.Option(
        "--alpha", metavar="R", help="Largest chance of a false finding, for an old seal that commits to none "
                                     "[default: the seal's].")] = None,
    tolerance: Annotated[float, typer.Option(
        "--tolerance", metavar="R", help="Win rate over pairs that must not be missed; without the power to see it the "
                                         "verdict is inconclusive.")] = 0.55,
    delta: Annotated[float, typer.Option(
        "--delta", metavar="R", help="The delta of the lower bound on epsilon.")] = 0.0,
    output: Output,
) -> None:
    """After training and scoring: open the coins and write a certificate.

    DIR/opened.json keeps count of the files of scores that the seal was opened with, and a certificate says how many.
    Exits with 1: a leak found; 0: no leak found, and the test had the power to find one; 3: inconclusive.
    """
    out = folder / "certificate.json" if out is None else out
    certificate = library.unseal(folder, scores, sign=sign, alpha=alpha, tolerance=tolerance, delta=delta, out=out)
    if output.as_json:
        shown = {key: value for key, value in certificate.items() if key not in ("scores", "opened")}
        sys.stdout.write(dump_json(shown) + "\n")
    elif not output.quiet:
        print(library.to_text(library.certificate_summary(certificate)), f"\nCertificate: {out}", sep="\n")
    end(certificate["verdict"])


def verify(
    path: Annotated[Path, typer.Argument(
        metavar="CERTIFICATE", show_default=False, help="What discreet unseal wrote. Its check needs no seal, text, "
                                                        "model or training.")],
    *,
    commitment: Annotated[str | None, typer.Option(
        "--commitment", metavar="F|HASH", help="The published commitment.json, or its hash.")] = None,
    public_key: Annotated[Path | None, typer.Option(
        "--public-key", metavar="F", help="The Ed25519 key (PEM) that must have signed.")] = None,
    output: Output,
) -> None:
    """Check a certificate: exits with 0 where it is consistent, whatever it says, else with 1."""
    certificate = library.Certificate.load(path)
    published = None if commitment is None else library.known_commitment(commitment)
    key = None if public_key is None else library.read_public_key(public_key)
    found = certificate.problems(commitment=published, public_key=key)
    if output.as_json:
        facts = {name: None if found else certificate[name] for name in ("verdict", "alpha", "openings")}
        sys.stdout.write(dump_json({
            "kind": "certificate-check", "schema": 1, "consistent": not found, "problems": found,
            "against_published": published is not None, "signed": certificate.get("signature") is not None,
            "signer_checked": key is not None, **facts}) + "\n")
    elif found or not output.quiet:
        print(library.to_text(library.checked_summary(certificate, tuple(found), published=published is not None,
                                                      key=key is not None)))
    end("fail" if found else "pass")


@dataclass(frozen=True, slots=True)
class Coins:
    """Opened coins that a table of scores is compared with, and whether their hash was one that was published."""

    opening: library.Opening
    keyed: library.KeyedHash
    published: bool

    @classmethod
    def read(cls, folder: Path, commitment: str | None) -> Coins:
        """The coins of a sealed folder. Raises InputError for those of another seal than that of the commitment."""
        opening, keyed = library.read_coins(folder)
        if commitment is not None and library.known_commitment(commitment) != opening.commitment():
            raise InputError(f"{folder} is another seal than the one whose commitment was published; expected the "
                             "folder that belongs to it")
        return cls(opening, keyed, commitment is not None)

    def judged(self, table: library.ScoreTable, source: Path) -> tuple[library.ScoreTable, dict[str, Any]]:
        """The examples that the coins decided, and facts for the record; InputError as `under_seal`."""
        kept, left_out = library.under_seal(table, self.opening, self.keyed, str(source))
        return kept, {"seal": self.opening.commitment(), "seal_compared_with_published": self.published,
                      "sealed_pairs": len(self.opening.pairs), "not_sealed_left_out": left_out}
