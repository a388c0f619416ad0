"""`discreet seal`, `unseal` and `verify`: coins before training, a certificate after it, and its check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import library as lib
from discreet.cli.options import argument, option
from discreet.cli.output import Output, end


def seal(
    data: Annotated[Path, argument("DATA", "JSON Lines, CSV or Parquet with id, text and label.")],
    *,
    pairs: Annotated[int, option("N", "How many pairs; one record (or user) of each is left out of training.")],
    out: Annotated[Path, option(
        "DIR", "New folder for train.jsonl, probe.jsonl, commitment.json (publish it), coins.json (tell nobody).")],
    group: Annotated[str | None, option(
        "COLUMN", "Make pairs of users: the column that names them. All records of a user go the same way.")] = None,
    canaries: Annotated[Path | None, option(
        "F", "Make pairs of the records of this file (the same columns) and train on DATA whole.")] = None,
    alpha: Annotated[float, option(
        "R", "Largest chance of a false finding; the commitment holds it, so that no scores can decide it.")] = 0.05,
    seed: Annotated[int | None, option(
        "N", "Draw pairs and coins from a seed: reproducible, not secret, proves nothing to others. By default they "
        "come from the operating system's cryptographic generator.")] = None,
    output: Output,
) -> None:
    """Before training: pair alike records, let sealed coins decide which of a pair is trained on.

    Then publish commitment.json, train on train.jsonl, score all of probe.jsonl, and call discreet unseal.
    """
    sealed = lib.sealed.seal(data, pairs, group=group, canaries=() if canaries is None else canaries, seed=seed,
                          alpha=alpha)
    sealed.save(out)
    output.show({"kind": "seal", "schema": 1, "commitment": sealed.opening.commitment(), "out": str(out),
                 **sealed.facts, "alpha": alpha,
                 # Two scores share the stakes where logits are given.
                 "least_win_rate": lib.epsilon.least_rate(pairs, 2 * lib.evalues.KINDS / alpha, lib.sealed.POWER),
                 "epsilon_ceiling": lib.epsilon.epsilon_ceiling(pairs, alpha, scores=2),
                 "coins_from": sealed.opening.source}, when_quiet="nothing")


def unseal(
    folder: Annotated[Path, argument("DIR", "The folder that discreet seal wrote.")],
    *,
    scores: Annotated[Path, option(
        "F", "JSON Lines, CSV or Parquet for every row of probe.jsonl: id and score (higher means member), or id, "
        "label and logit_0 … logit_K.")],
    out: Annotated[Path | None, option("F", "Where the certificate goes [default: DIR/certificate.json].")] = None,
    sign: Annotated[Path | None, option("KEYFILE", "Sign with this Ed25519 key (PEM).")] = None,
    tolerance: Annotated[float, option(
        "R", "Win rate over pairs that must not be missed; inconclusive without the power to see it.")] = 0.55,
    delta: Annotated[float, option("R", "The delta of the lower bound on epsilon.")] = 0.0,
    output: Output,
) -> None:
    """After training and scoring: open the coins and write a certificate.

    DIR/opened.json keeps count of the files of scores that the seal was opened with, and a certificate says how many.
    Exits with 1: a leak found; 0: no leak found, and the test had the power to find one; 3: inconclusive.
    """
    out = folder / "certificate.json" if out is None else out
    certificate = lib.sealed.unseal(folder, scores, sign=sign, tolerance=tolerance, delta=delta, out=out)
    summary = lib.commands.certificate_summary(certificate)
    output.say({key: value for key, value in certificate.items() if key not in ("scores", "opened")},
               lambda: f"{lib.report.to_text(summary)}\n\nCertificate: {out}")
    end(certificate["verdict"])


def verify(
    path: Annotated[Path, argument(
        "CERTIFICATE", "What discreet unseal wrote. Its check needs no seal, text, model or training.")],
    *,
    commitment: Annotated[str | None, option("F|HASH", "The published commitment.json, or its hash.")] = None,
    public_key: Annotated[Path | None, option("F", "The Ed25519 key (PEM) that must have signed.")] = None,
    output: Output,
) -> None:
    """Check a certificate: exits with 0 where it is consistent, whatever it says, else with 1."""
    certificate = lib.sealed.Certificate.load(path)
    published = None if commitment is None else lib.sealed.known_commitment(commitment)
    key = None if public_key is None else lib.sealed.read_public_key(public_key)
    found = certificate.problems(commitment=published, public_key=key)
    facts = {name: None if found else certificate[name] for name in ("verdict", "alpha", "openings")}
    record = {"kind": "certificate-check", "schema": 1, "consistent": not found, "problems": found,
              "against_published": published is not None, "signed": certificate.get("signature") is not None,
              "signer_checked": key is not None, **facts}
    output.say(record, lambda: lib.report.to_text(lib.commands.checked_summary(
        certificate, tuple(found), published=published is not None, key=key is not None)), whenever=bool(found))
    end("fail" if found else "pass")
