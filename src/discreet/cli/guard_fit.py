"""`discreet guard fit`: make a guard from safe and unsafe texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from discreet.cli import library
from discreet.cli.judging import Costing, ForAudience, policy_of, writable
from discreet.cli.options import DOMAINS, ENCODERS, Seed
from discreet.cli.output import Output

COLUMNS = "JSON Lines, CSV or Parquet with id, answer and, if they are there, question, kind, domain, group."


def fit(
    *,
    domain: Annotated[str, typer.Option("--domain", metavar="D", help="What the texts are about: " + DOMAINS)],
    safe: Annotated[list[Path], typer.Option(
        "--safe", metavar="F", help=f"Texts without a leak; may be repeated. {COLUMNS}")],
    unsafe: Annotated[list[Path], typer.Option("--unsafe", metavar="F", help="Texts that leak; may be repeated.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The guard's folder.")],
    borderline: Annotated[list[Path] | None, typer.Option(
        "--borderline", metavar="F", help="Texts in the voice of a leak without one; may be repeated.")] = None,
    encoders: Annotated[str, typer.Option("--encoders", metavar="E", help=ENCODERS)] = "embedded",
    encoded: Annotated[str, typer.Option(
        "--encoded", metavar="W", help="What the encoders read: answer or question+answer.")] = "answer",
    cache: Annotated[Path | None, typer.Option(
        "--cache", metavar="DIR", help="Where exported encoders are kept.")] = None,
    density: Annotated[str, typer.Option(
        "--density", metavar="K", help="ocsvm, gmm or rff: says what is out of distribution.")] = "ocsvm",
    discriminator: Annotated[str | None, typer.Option(
        "--discriminator", metavar="K", help="What decides between safe and flag: density, evidence+logistic, "
                                             "features+logistic, both+logistic or mlp-v4; by default what did best "
                                             "on real text.")] = None,
    seed: Seed = 42, audience: ForAudience, costing: Costing, output: Output,
) -> None:
    """Fit a guard on safe and unsafe texts, and print its card.

    Repeats, what layer 1 flags and what is not English are dropped; the rest is split into fit, calibration and
    evaluation sets. What a grammar wrote bootstraps and demonstrates: deploy on your own or LLM-written texts.
    """
    writable(out)
    policy = policy_of(domain, audience.audience, audience.policy)
    guard = library.fit_guard(
        policy.domain, safe, unsafe, borderline, encoders=encoders, density=density, discriminator=discriminator,
        seed=seed, out=out, cache=cache, policy=policy, encoded=cast(Literal["answer"], encoded),
        costs=costing.costs(), quiet=output.quiet)
    output.show({"kind": "guard fit", "schema": 1, "decides": guard.detector.decides, "point": guard.point,
                 "tau": guard.tau, "card": guard.card}, when_quiet="nothing")
    if not (output.as_json or output.quiet):
        print(f"guard written to {library.printable(str(out))}; {guard.detector.decides} decides")
