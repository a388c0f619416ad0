"""`discreet guard fit`: make a guard from safe and unsafe texts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from discreet.cli import common
from discreet.cli.guard_check import Audience, PolicyFile, policy_of
from discreet.core.errors import InputError, UsageError

Domain = Annotated[str, typer.Option("--domain", metavar="D", help="What the texts are about: " + common.DOMAINS)]
_COLUMNS = "JSON Lines, CSV or Parquet with id, answer and, if they are there, question, kind, domain, group."
Safe = Annotated[list[Path], typer.Option("--safe", metavar="F", help=f"Texts without a leak; may be repeated. "
                                                                      f"{_COLUMNS}")]
Unsafe = Annotated[list[Path], typer.Option("--unsafe", metavar="F", help="Texts that leak; may be repeated.")]
Borderline = Annotated[list[Path] | None, typer.Option(
    "--borderline", metavar="F", help="Texts in the voice of a leak without one; may be repeated.")]
Encoders = Annotated[str, typer.Option(
    "--encoders", metavar="E", help="embedded, lexical, hashed, evidence, paper, a folder or a name on the hub; "
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
    from discreet.core.files import dump_json
    from discreet.guard.fit import fit_guard
    writable(out)
    chosen = policy_of(domain, audience, policy)
    guard = fit_guard(
        chosen.domain, safe, unsafe, borderline, encoders=encoders, density=density, discriminator=discriminator,
        seed=seed, out=out, cache=cache, policy=chosen, encoded=cast(Literal["answer"], encoded),
        costs=costs_of(cost_miss, cost_false_flag, cost_review, prevalence), quiet=quiet,
    )
    if as_json:
        record = {"kind": "guard fit", "schema": 1, "decides": guard.detector.decides, "point": guard.point,
                  "tau": guard.tau, "card": guard.card}
        sys.stdout.write(dump_json(record) + "\n")
    elif not quiet:
        print("\n".join(lines(guard.card, guard.detector.decides, out)))


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


def lines(card: dict[str, Any], decides: str, out: Path) -> list[str]:
    """The card in words: counts, what is stored, and the figures of every discriminator on the evaluation set."""
    from discreet.cli.common import printable
    from discreet.guard.fitted_dual import Components

    counts = card["counts"]
    dropped = ", ".join(f"{counts[k]:,} {k.replace('_', ' ')}" for k in ("repeated", "contradictory", "direct",
                                                                        "empty", "not_english"))
    found = [f"{counts['read']:,} texts read; dropped: {dropped}"]
    for part in ("fit", "calibration", "evaluation"):
        sides = ", ".join(f"{counts.get(f'{part}_{k}', 0):,} {k}" for k in ("safe", "borderline", "unsafe"))
        found.append(f"  {part:12} {sides}")
    if components := card["density"]["components"]:
        found.append(f"Gaussian mixtures of the density: {Components(**components)}")
    stored = card["stores"]["training_embeddings"]
    found += [f"training embeddings in the folder: {stored['safe']:,} safe, {stored['unsafe']:,} unsafe", ""]
    for pairing, against in (("within", "safe"), ("borderline", "borderline")):
        rows = {kind: figures[pairing] for kind, figures in card["metrics"].items() if pairing in figures}
        if rows:
            found.append(f"unsafe against {against} texts of the evaluation set, abstentions included")
            found += _table(rows, decides)
    return [*found, "", f"guard written to {printable(str(out))}; {decides} decides"]


def _table(rows: dict[str, Any], decides: str) -> list[str]:
    from discreet.core.records import Estimate

    found = []
    for kind, figures in rows.items():
        full, mark = figures["full"], "*" if kind == decides else " "
        cells = {"AUROC": full["auroc"], "TPR at 0": full["tpr_conservative"], "FPR at 0": full["fpr_conservative"],
                 "abstained safe": figures["abstain"]["safe"]}
        said = "   ".join(f"{name} {Estimate.from_json(value)}" for name, value in cells.items())
        found.append(f"{mark} {kind:18} {said}")
    return found
