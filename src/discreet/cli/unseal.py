"""`discreet unseal`: coins and scores to a certificate, and a certificate to whether it is consistent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import common
from discreet.core.errors import UsageError

EXIT = {"pass": 0, "fail": 1, "inconclusive": 3}

Folder = Annotated[Path | None, typer.Argument(metavar="DIR", help="The folder that discreet seal wrote.")]
Scores = Annotated[Path | None, typer.Option(
    "--scores", metavar="F", help="JSON Lines, CSV or Parquet for every row of probe.jsonl: id and score (higher means "
                                  "member), or id, label and logit_0 … logit_K.")]
CertificateOut = Annotated[Path | None, typer.Option("--out", metavar="F", help="Where the certificate goes [default: "
                                                     "DIR/certificate.json].")]
Sign = Annotated[Path | None, typer.Option("--sign", metavar="KEYFILE", help="Sign with this Ed25519 key (PEM).")]
Alpha = Annotated[float | None, typer.Option("--alpha", metavar="R", help="Largest chance of a false finding, "
                                             "for an old seal that commits to none [default: the seal's].")]
Tolerance = Annotated[float, typer.Option("--tolerance", metavar="R", help="Win rate over pairs that must not be "
                                          "missed; without the power to see it the verdict is inconclusive.")]
Delta = Annotated[float, typer.Option("--delta", metavar="R", help="The delta of the lower bound on epsilon.")]
Verify = Annotated[Path | None, typer.Option("--verify", metavar="F", help="Check this certificate instead: needs no "
                                             "DIR, text, model or training.")]
Commitment = Annotated[str | None, typer.Option("--commitment", metavar="F|HASH", help="With --verify: the published "
                                                "commitment.json, or its hash.")]
PublicKey = Annotated[Path | None, typer.Option("--public-key", metavar="F", help="With --verify: the Ed25519 key "
                                                "(PEM) that must have signed.")]


def unseal(
    context: typer.Context, *, folder: Folder = None, scores: Scores = None, out: CertificateOut = None,
    sign: Sign = None, alpha: Alpha = None, tolerance: Tolerance = 0.55, delta: Delta = 0.0, verify: Verify = None,
    commitment: Commitment = None, public_key: PublicKey = None, as_json: common.Json = False,
    config: common.Config = None, quiet: common.Quiet = False,
) -> None:
    """After training and scoring: open the coins and write a certificate, or check one.

    DIR/opened.json keeps count of the files of scores that the seal was opened with, and a certificate says how many.

    Exits with 1: a leak found; 0: no leak found, and the test had the power to find one; 3: inconclusive. With
    --verify: 0 for a consistent certificate whatever it says, else 1.
    """
    from discreet.audit.sealed import unseal as open_seal
    from discreet.core.files import dump_json
    from discreet.report.published import certificate_summary
    from discreet.report.render import to_text

    if verify is not None:
        if folder is not None or scores is not None or out is not None or sign is not None:
            raise UsageError("--verify was given with DIR, --scores, --out or --sign; expected the certificate alone")
        _verify(verify, commitment, public_key, as_json, quiet)
        return
    if folder is None or scores is None:
        raise UsageError("DIR or --scores is missing; expected discreet unseal DIR --scores F, or --verify certificate")
    if commitment is not None or public_key is not None:
        raise UsageError("--commitment or --public-key was given without --verify; expected the certificate to check")
    certificate = open_seal(folder, scores, sign=sign, alpha=alpha, tolerance=tolerance, delta=delta,
                            out=folder / "certificate.json" if out is None else out)
    if as_json:
        shown = {key: value for key, value in certificate.items() if key not in ("scores", "opened")}
        sys.stdout.write(dump_json(shown) + "\n")
    elif not quiet:
        print(to_text(certificate_summary(certificate)))
    if code := EXIT[certificate["verdict"]]:
        raise typer.Exit(code)


def _verify(path: Path, commitment: str | None, public_key: Path | None, as_json: bool, quiet: bool) -> None:
    from discreet.audit.sealed import Certificate, known_commitment, read_public_key
    from discreet.core.files import dump_json
    from discreet.report.published import checked_summary
    from discreet.report.render import to_text

    certificate = Certificate.load(path)
    published = None if commitment is None else known_commitment(commitment)
    key = None if public_key is None else read_public_key(public_key)
    found = certificate.problems(commitment=published, public_key=key)
    if as_json:
        sys.stdout.write(dump_json({
            "kind": "certificate-check", "schema": 1, "consistent": not found, "problems": found,
            "against_published": published is not None, "signed": certificate.get("signature") is not None,
            "signer_checked": key is not None, "verdict": None if found else certificate["verdict"],
            "alpha": None if found else certificate["alpha"],
            "openings": None if found else certificate["openings"]}) + "\n")
    elif found or not quiet:
        print(to_text(checked_summary(certificate, tuple(found), published=published is not None, key=key is not None)))
    if found:
        raise typer.Exit(1)
