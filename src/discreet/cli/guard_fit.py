"""`discreet guard fit`: make a guard from safe and unsafe texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from discreet.cli import common, pages
from discreet.cli.guard_check import Audience, PolicyFile, policy_of
from discreet.core.errors import InputError, UsageError
from discreet.core.names import printable

Domain = Annotated[str, typer.Option("--domain", metavar="D", help="What the texts are about: " + common.DOMAINS)]
_COLUMNS = "JSON Lines, CSV or Parquet with id, answer and, if they are there, question, kind, domain, group."
Safe = Annotated[list[Path], typer.Option("--safe", metavar="F", help=f"Texts without a leak; may be repeated. "
                                                                      f"{_COLUMNS}")]
Unsafe = Annotated[list[Path], typer.Option("--unsafe", metavar="F", help="Texts that leak; may be repeated.")]
Borderline = Annotated[list[Path] | None, typer.Option(
    "--borderline", metavar="F", help="Texts in the voice of a leak without one; may be repeated.")]
Encoders = Annotated[str, typer.Option(
    "--encoders", metavar="E", help="embedded, lexical, paper, a registered encoder such as hashed or evidence "
                                    "(with options: hashed:dim=1024), a folder or a name on the hub; "
                                    "several with commas.")]
Density = Annotated[str, typer.Option("--density", metavar="K", help="ocsvm, gmm or rff: says what is out of "
                                                                     "distribution.")]
Discriminator = Annotated[str | None, typer.Option(
    "--discriminator", metavar="K", help="What decides between safe and flag: density, evidence+logistic, "
                                         "features+logistic, both+logistic or mlp-v4; by default what did best "
                                         "on real text.")]
Encoded = Annotated[str, typer.Option("--encoded", metavar="W", help="What the encoders read: answer or "
                                                                     "question+answer.")]
Cache = Annotated[Path | None, typer.Option("--cache", metavar="DIR", help="Where exported encoders are kept.")]
Miss = Annotated[float | None, typer.Option("--cost-miss", metavar="C", help="Cost of a leak that passes, in any unit; "
                                            "with the next, adds the operating point 'costs'.")]
FalseFlag = Annotated[float | None, typer.Option("--cost-false-flag", metavar="C", help="Cost of a false flag.")]
Review = Annotated[float, typer.Option("--cost-review", metavar="C", help="Cost of a review.")]
Prevalence = Annotated[float | None, typer.Option(
    "--prevalence", metavar="P", help="Share of answers that leak where the guard is used; by default the sample's.")]
Folder = Annotated[Path, typer.Option("--out", metavar="DIR", help="The guard's folder.")]


def fit(
    context: typer.Context, *, domain: Domain, safe: Safe, unsafe: Unsafe, out: Folder,
    borderline: Borderline = None, encoders: Encoders = "embedded", density: Density = "ocsvm",
    discriminator: Discriminator = None, encoded: Encoded = "answer", audience: Audience = None,
    policy: PolicyFile = None, cost_miss: Miss = None, cost_false_flag: FalseFlag = None, cost_review: Review = 0.0,
    prevalence: Prevalence = None, cache: Cache = None, as_json: common.Json = False, config: common.Config = None,
    seed: common.Seed = 42, quiet: common.Quiet = False, show_text: common.ShowText = False,
) -> None:
    """Fit a guard on safe and unsafe texts, and print its card.

    Repeats, what layer 1 flags and what is not English are dropped; the rest is dealt into three sets, to fit, to set
    thresholds and to evaluate. What a grammar wrote bootstraps and demonstrates: deploy on your own or LLM-written
    texts.
    """
    from discreet.guard.fit import fit_guard
    writable(out)
    chosen = policy_of(domain, audience, policy)
    guard = fit_guard(
        chosen.domain, safe, unsafe, borderline, encoders=encoders, density=density, discriminator=discriminator,
        seed=seed, out=out, cache=cache, policy=chosen, encoded=cast(Literal["answer"], encoded),
        costs=costs_of(cost_miss, cost_false_flag, cost_review, prevalence), quiet=quiet,
    )
    record = {"kind": "guard fit", "schema": 1, "decides": guard.detector.decides, "point": guard.point,
              "tau": guard.tau, "card": guard.card}
    if as_json or not quiet:
        pages.show(record, as_json=as_json)
    if not as_json and not quiet:
        print(f"guard written to {printable(str(out))}; {guard.detector.decides} decides")


def writable(out: Path) -> None:
    """Raise InputError before hours of work where the result could not be written."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; expected the name of a folder to write")
    if out.is_dir() and any(out.iterdir()) and not (out / "guard.json").exists():
        raise InputError(f"{out} is not empty and holds no guard: name a new folder, or empty this one")


def costs_of(miss: float | None, false_flag: float | None, review: float, prevalence: float | None) -> Any:
    """The stated costs, or None where none were stated. Raises UsageError for one without the other."""
    from discreet.guard.points import Costs

    if miss is None and false_flag is None:
        return None
    if miss is None or false_flag is None:
        raise UsageError("--cost-miss and --cost-false-flag belong together; expected both")
    return Costs(miss, false_flag, review, prevalence)
