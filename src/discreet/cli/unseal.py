"""`discreet unseal`: coins and scores to a certificate, and a certificate to whether it is consistent."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import common
from discreet.errors import UsageError

EXIT = {"pass": 0, "fail": 1, "inconclusive": 3}

Folder = Annotated[Path | None, typer.Argument(metavar="DIR", help="The folder that discreet seal wrote.")]
Scores = Annotated[Path | None, typer.Option(
    "--scores", metavar="F", help="JSON Lines, CSV or Parquet for every row of probe.jsonl: id and score (higher means "
                                  "member), or id, label and logit_0 … logit_K.")]
CertificateOut = Annotated[Path | None, typer.Option("--out", metavar="F", help="Where the certificate goes [default: "
                                                     "DIR/certificate.json].")]
Sign = Annotated[Path | None, typer.Option("--sign", metavar="KEYFILE", help="Sign with this Ed25519 key (PEM).")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="R", help="Largest chance of convicting an innocent model.")]
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
    sign: Sign = None, alpha: Alpha = 0.05, tolerance: Tolerance = 0.55, delta: Delta = 0.0, verify: Verify = None,
    commitment: Commitment = None, public_key: PublicKey = None, as_json: common.Json = False,
    config: common.Config = None, seed: common.Seed = 42, quiet: common.Quiet = False,
    show_text: common.ShowText = False,
) -> None:
    """After training and scoring: open the coins and write a certificate, or check one.

    Exits with 1 where the model is convicted, 0 where it is not and a leak of the tolerated size would have been seen,
    3 where it would not. With --verify: 0 for a consistent certificate whatever it says, else 1.
    """
    if verify is not None:
        if folder is not None or scores is not None or out is not None or sign is not None:
            raise UsageError("--verify was given with DIR, --scores, --out or --sign; expected the certificate alone")
        _verify(verify, commitment, public_key, as_json, quiet)
        return
    if folder is None or scores is None:
        raise UsageError("DIR or --scores is missing; expected discreet unseal DIR --scores F, or --verify certificate")
    if commitment is not None or public_key is not None:
        raise UsageError("--commitment or --public-key was given without --verify; expected the certificate to check")
    certificate = _certify(folder, scores, sign, alpha, tolerance, delta, folder / "certificate.json"
                           if out is None else out)
    _say(certificate, as_json, quiet)
    if code := EXIT[certificate["verdict"]]:
        raise typer.Exit(code)


def _certify(folder: Path, scores: Path, sign: Path | None, alpha: float, tolerance: float, delta: float,
             out: Path) -> dict[str, Any]:
    from discreet import __version__
    from discreet.audit.seal import make_certificate, read_coins, read_scores, reveal
    from discreet.audit.seal.findings import in_range
    from discreet.audit.seal.plan import FILES
    from discreet.audit.seal.sign import Signer
    from discreet.files import dump_json, write_atomic

    if not in_range(alpha, tolerance, delta):
        raise UsageError(f"alpha {alpha:g}, tolerance {tolerance:g}, delta {delta:g}; expected alpha between 0 and 1, "
                         f"a tolerance between .5 and 1, and a delta from 0 to below 1")
    if any(out.resolve() == kept.resolve() for kept in (scores, *(folder / name for name in FILES))):
        raise UsageError(f"--out {out} is a file of the seal or of the scores; expected a name of its own for the "
                         f"certificate")
    signer = None if sign is None else Signer.read(sign)
    opening, keyed = read_coins(folder)
    revealed = reveal(opening, keyed, read_scores(scores), scores)
    certificate = make_certificate(revealed, alpha=alpha, tolerance=tolerance, delta=delta, signer=signer,
                                   version=__version__)
    write_atomic(out, dump_json(certificate, indent=1) + "\n")
    return certificate


def _verify(path: Path, commitment: str | None, public_key: Path | None, as_json: bool, quiet: bool) -> None:
    from discreet.audit.seal import problems, read_certificate
    from discreet.audit.seal.reveal import read_commitment
    from discreet.audit.seal.sign import read_public_key
    from discreet.files import dump_json

    certificate = read_certificate(path)
    published = commitment
    if commitment is not None and not re.fullmatch("[0-9a-f]{64}", commitment):
        published = read_commitment(Path(commitment))
    key = None if public_key is None else read_public_key(public_key)
    found = problems(certificate, commitment=published, public_key=key)
    if as_json:
        sys.stdout.write(dump_json({
            "kind": "certificate-check", "schema": 1, "consistent": not found, "problems": found,
            "against_published": published is not None, "signed": certificate.get("signature") is not None,
            "signer_checked": key is not None, "verdict": None if found else certificate["verdict"]}) + "\n")
    elif found:
        print("\n".join(["not consistent", *(f"  {common.printable(problem)}" for problem in found)]))
    elif not quiet:
        print("\n".join([f"consistent: {certificate['verdict']}, {certificate['reason']}", *_caveats(
            published is not None, certificate["signature"] is not None, key is not None)]))
    if found:
        raise typer.Exit(1)


def _caveats(published: bool, signed: bool, key: bool) -> list[str]:
    said = []
    if not published:
        said.append("  checked against its own commitment; give the published one with --commitment")
    if signed and not key:
        said.append("  signed, by whoever holds the key that is in it; give the signer's with --public-key")
    if not signed:
        said.append("  not signed: whoever held the coins could have written other scores into it")
    return said


def _say(certificate: dict[str, Any], as_json: bool, quiet: bool) -> None:
    from discreet.files import dump_json

    if as_json:
        shown = {key: value for key, value in certificate.items() if key not in ("scores", "opened")}
        sys.stdout.write(dump_json(shown) + "\n")
        return
    if quiet:
        return
    print("\n".join(_lines(certificate)))


def _lines(found: dict[str, Any]) -> list[str]:
    from discreet.records import Estimate

    least, ceiling = found["least_win_rate"], found["epsilon_ceiling"]
    rows = [("pairs", f"{found['pairs']:,}")]
    rows += [(f"trained one first, {common.printable(name)}", str(Estimate.from_json(rate)))
             for name, rate in found["win_rate"].items()]
    rows += [
        ("e-value", f"10^{found['log10_e_value']:.2f} (convicts at {1.0 / found['alpha']:g})"),
        ("first convicted after", f"{found['rejected_at']:,} pairs" if found["rejected"] else "never"),
        ("epsilon at least", f"{found['epsilon_lower']:.3f} (replacing one {found['unit']}; anytime "
                             f"{found['epsilon_lower_anytime']:.3f}; could show "
                             f"{'nothing' if ceiling is None else format(ceiling, '.2f')})"),
        (f"power at win rate {found['tolerance']:g}", f"{found['power']:.3f} at the least"),
        ("least win rate seen", "none" if least is None else f"{least:.3f}"), ("commitment", found["commitment"])]
    words = [f"  {name:30}  {value}" for name, value in rows]
    return [*words, "", *(f"  {claim}" for claim in found["claims"]), "",
            f"{found['verdict'].capitalize()}: {found['reason']}"]
