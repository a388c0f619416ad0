"""`discreet guard fit`, `evaluate`, `calibrate`: guards made, and their figures on answers with labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import discreet
from discreet.cli import library as lib
from discreet.cli.options import (
    About,
    Costing,
    Encoders,
    ForAudience,
    Judging,
    Seed,
    one_of,
    option,
    policy_of,
)
from discreet.cli.output import Output, RunOutput, provenance
from discreet.core.errors import InputError, UsageError
from discreet.core.files import progress
from discreet.core.folders import check_target
from discreet.core.numbers import printable
from discreet.core.records import plain

COLUMNS = "JSON Lines, CSV or Parquet with id, answer and, if they are there, question, kind, domain, group."
LABELLED = ("Answers as for check, with 'cluster' or 'label' (yes, one, no, unclear) and, if they are there, subject, "
            "register, domain, document and counts per class.")
Labelled = Annotated[Path, option("F", LABELLED)]


def fit(
    *,
    domain: About,
    safe: Annotated[list[Path], option("F", f"Texts without a leak; may be repeated. {COLUMNS}")],
    unsafe: Annotated[list[Path], option("F", "Texts that leak; may be repeated.")],
    out: Annotated[Path, option("DIR", "The guard's folder.")],
    borderline: Annotated[list[Path] | None, option(
        "F", "Texts in the voice of a leak without one; may be repeated.")] = None,
    encoders: Encoders = None,
    encoded: Annotated[str, option("W", "What the encoders read: answer or question+answer.")] = "answer",
    cache: Annotated[Path | None, option("DIR", "Where exported encoders are kept.")] = None,
    density: Annotated[str, option("K", "ocsvm, gmm or rff: how typical a text is of each side.")] = "ocsvm",
    gate: Annotated[str, option(
        "G", "What a text must be unlike to be out of distribution: professional (broad professional text, by the "
        "learned reader) or fitted (the fitted texts of both sides, by the density).")] = "professional",
    features: Annotated[str, option(
        "K", "What the density reads: embedding, or typicality, which says where a text lies among those of each class "
        "(T3) and keeps the embeddings of all of them.")] = "embedding",
    discriminator: Annotated[str, option(
        "K", "What decides between safe and flag: density, evidence+logistic, features+logistic, both+logistic, mlp-v4 "
        "or odds+logistic.")] = "odds+logistic",
    device: Annotated[str, option("D", "Where transformers encode the fit set: cpu, or cuda in batches.")] = "cpu",
    seed: Seed = 42, audience: ForAudience, costing: Costing, output: Output,
) -> None:
    """Fit a guard on safe and unsafe texts, and print its card.

    Repeats, what layer 1 flags and what is not English are dropped; the rest is split into fit, calibration and
    evaluation sets. What a grammar wrote bootstraps and demonstrates: deploy on your own or LLM-written texts.
    """
    check_target(out, lib.detector.MANIFEST)
    policy = policy_of(domain, audience.audience, audience.policy)
    guard = discreet.fit_guard(
        policy.domain, safe, unsafe, borderline, encoders=encoders, density=density, features=features,
        discriminator=discriminator, seed=seed, out=out, cache=cache, policy=policy,
        encoded=cast(Literal["answer"], encoded), costs=costing.costs(), quiet=output.quiet,
        gate=gate, device=cast(Literal["cpu"], device))
    output.show({"kind": "guard fit", "schema": 1, "decides": guard.detector.decides, "point": guard.point,
                 "tau": guard.tau, "card": guard.card}, when_quiet="nothing")
    if not (output.as_json or output.quiet):
        print(f"guard written to {printable(str(out))}; {guard.detector.decides} decides")


def evaluate(
    *, labelled: Labelled, judging: Judging,
    discriminator: Annotated[str | None, option(
        "K", "With --guard: let another of its discriminators decide: density, evidence+logistic, features+logistic, "
        "both+logistic, mlp-v4 or odds+logistic.")] = None,
    output: RunOutput,
) -> None:
    """Evaluate on labelled answers: AUROC, FPR95/90 and more, with intervals and controls.

    Rows that name a domain are judged by the built-in policy of that domain, others by --domain or --policy. With
    --guard, rows of another domain than the guard's are passed over.
    """
    guard = judging.load_guard(discriminator)
    rows = lib.answers.read_labelled(labelled)
    own = guard.policy.domain.name
    if guard.is_fitted:
        rows = [row for row in rows if row.domain in (None, own)]
        for cluster in ("yes", "no"):
            if not any(row.cluster == cluster for row in rows):
                raise InputError(f"{labelled} has no answer of {own} with the label {cluster!r}; expected at least one "
                                 "each of yes and no")

    def guard_of(name: str) -> discreet.Guard:
        own_guard = guard.is_fitted or name == own
        return guard if own_guard else discreet.Guard(name, point=judging.point)

    run = output.open_run()
    result = lib.evaluate.evaluate(progress(rows, len(rows), quiet=output.quiet, label="answers judged"), guard_of, own)
    record = {"kind": "guard evaluate", "schema": 1, **plain(result),
              "provenance": provenance(labelled, policy=guard.policy.label())}
    output.finish(record, run, {"n": len(rows)})


def calibrate(
    *,
    guard: Annotated[Path | None, option("DIR", "A guard that 'discreet guard fit' made; with --labelled.")] = None,
    labelled: Annotated[Path | None, option("F", LABELLED)] = None,
    reviews: Annotated[Path | None, option(
        "F", "Instead of both: decisions of reviewers, which 'discreet serve reviews' wrote. Prints the thresholds "
        "that they support, and changes nothing.")] = None,
    most_missed: Annotated[float, option("P", "With --reviews: the largest share of leaks among answers that would no "
                                         "longer be reviewed but pass.")] = 0.05,
    most_false: Annotated[float, option("P", "With --reviews: the largest share without a leak among answers that "
                                        "would no longer be reviewed but flagged.")] = 0.1,
    out: Annotated[Path | None, option(
        "DIR", "Write a copy of the guard with the refitted thresholds to this folder.")] = None,
    seed: Seed = 42, audience: ForAudience, costing: Costing, output: Output,
) -> None:
    """Print leak recall, false flags and review load at each operating point, on your own labelled answers.

    Thresholds refitted to the sample are shown next to them, with prices from folds that they were not fitted on; --out
    writes them into a copy of the guard.
    """
    one_of(**{"--labelled": labelled, "--reviews": reviews})
    if reviews is not None:
        one_of(**{"--reviews": reviews, "--guard": guard})
        one_of(**{"--reviews": reviews, "--out": out})
        proposed = lib.reviews.calibrate_on_reviews(lib.reviews.read_reviews(reviews), most_missed=most_missed,
                                                    most_false=most_false)
        output.show({"kind": "guard calibrate reviews", "schema": 1, "most_missed": most_missed,
                     "most_false": most_false, "guards": plain(proposed), "provenance": provenance(reviews)},
                    when_quiet="summary")
        return
    if guard is None or labelled is None:
        raise UsageError("there is nothing to calibrate on; expected --guard with --labelled, or --reviews")
    if out is not None:
        check_target(out, lib.detector.MANIFEST)
    costs = costing.costs()
    rows = lib.answers.read_labelled(labelled)
    policy = None if audience.policy is None else discreet.Policy.load(audience.policy, audience.audience)
    found = discreet.Guard.load(guard, policy=policy, audience=audience.audience)
    told = progress(rows, len(rows), quiet=output.quiet, label="answers judged")
    result = lib.calibrate.calibrate(found, told, costs=costs, seed=seed)
    source = provenance(labelled)
    if out is not None:
        if not result.refitted:
            raise InputError(f"{labelled}: {result.note}; nothing was written to {out}")
        note = {**source, "counts": dict(result.counts), "costs": None if costs is None else costs.to_json()}
        lib.calibrate.with_points(found, result.refitted, note).save(out)
    output.show({"kind": "guard calibrate", "schema": 1, "decides": found.detector.decides, **result.to_json(),
                 "provenance": {**source, "policy": found.policy.label(), "seed": seed}}, when_quiet="summary")
