"""`discreet guard evaluate`, `pairings` and `calibrate`: figures of guards on labelled answers and on partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import library
from discreet.cli.judging import Costing, ForAudience, Judging, policy_of, writable
from discreet.cli.options import DOMAINS, ENCODERS, Seed, names_of
from discreet.cli.output import Output, RunOutput, provenance
from discreet.core.errors import InputError, UsageError
from discreet.core.files import progress

Labelled = Annotated[Path, typer.Option(
    "--labelled", metavar="F", help="Answers as for check, with 'cluster' or 'label' (yes, one, no, unclear) and, if "
                                    "they are there, subject, register, domain, document and counts per class.")]


def evaluate(
    *, labelled: Labelled, judging: Judging,
    discriminator: Annotated[str | None, typer.Option(
        "--discriminator", metavar="K", help="With --guard: let another of its discriminators decide: density, "
                                             "evidence+logistic, features+logistic, both+logistic or mlp-v4.")] = None,
    output: RunOutput,
) -> None:
    """Evaluate on labelled answers: AUROC, FPR95/90 and more, with intervals and controls.

    Rows that name a domain are judged by the built-in policy of that domain, others by --domain or --policy. With
    --guard, rows of another domain than the guard's are passed over.
    """
    guard = judging.load_guard(discriminator)
    rows = library.read_labelled(labelled)
    own = guard.policy.domain.name
    if guard.is_fitted:
        rows = [row for row in rows if row.domain in (None, own)]
        for cluster in ("yes", "no"):
            if not any(row.cluster == cluster for row in rows):
                raise InputError(f"{labelled} has no answer of {own} with the label {cluster!r}; expected at least one "
                                 "each of yes and no")
    point = None if judging.point is None else judging.point.value

    def guard_of(name: str) -> library.Guard:
        return guard if guard.is_fitted or name == own else library.Guard(name, point=point)

    run = output.open_run()
    result = library.evaluate(progress(rows, len(rows), quiet=output.quiet, label="answers judged"), guard_of, own)
    record = {"kind": "guard evaluate", "schema": 1, **result.to_json(),
              "provenance": provenance(labelled, policy=guard.policy.label())}
    output.finish(record, run, {"n": len(rows)})


def pairings(
    partitions: Annotated[Path, typer.Argument(
        metavar="DIR", show_default=False, help="What synth run leaves, or files of those names.")],
    *,
    domain: Annotated[str, typer.Option("--domain", metavar="D", help="What the texts are about: " + DOMAINS)],
    configurations: Annotated[str | None, typer.Option(
        "--configurations", metavar="C", help="Some of gmm-v3, gmm-v4, ocsvm-v3, ocsvm-v4, rff-v3, rff-v4, default, "
                                              "with commas; all if not given.")] = None,
    encoders: Annotated[str, typer.Option("--encoders", metavar="E", help=ENCODERS)] = "embedded",
    save: Annotated[Path | None, typer.Option("--save", metavar="DIR", help="Keep the default guard.")] = None,
    seed: Seed = 42, output: RunOutput,
) -> None:
    """Fit the paper's configurations and the default guard, and evaluate each in every pairing of the partitions.

    Pairings are within, across writers, against borderline texts and matched.
    """
    default = library.DEFAULT
    names = (*library.PAPER_CONFIGURATIONS, default) if configurations is None else names_of(
        "--configurations", configurations)
    if save is not None:
        if default not in names:
            raise UsageError(f"--save keeps the guard of the configuration {default!r}; add it to --configurations")
        writable(save)
    policy = policy_of(domain, None, None)
    run = output.open_run()
    built = library.build_encoders(encoders, domain=policy.domain, cache=library.default_cache())
    made = library.read_partitions(partitions, policy, built, seed=seed, quiet=output.quiet)
    detectors, duals = library.fit_configurations(made, names, seed=seed)
    found = library.evaluate_pairings(made, detectors)
    components = {name: dual.components_.to_json() for name, dual in duals.items() if dual.components_ is not None}
    counts = made.corpus.corpus.counts
    record = {"kind": "guard evaluate partitions", "schema": 1, "domain": policy.domain.name, "point": policy.point,
              "seed": seed, "encoders": encoders, "counts": dict(counts), "components": components,
              "configurations": found}
    if save is not None:
        rows = made.corpus
        card = library.card_of(rows.corpus, (rows.kinds("evaluation"), rows.held["evaluation"]), detectors[default],
                               duals[default], seed=seed)
        library.Guard(policy, detector=detectors[default], card=card).save(save)
    output.finish(record, run, {"n": counts.get("read", 0), "components": components}, when_quiet="nothing")


def calibrate(
    *, guard: Annotated[Path, typer.Option(
        "--guard", metavar="DIR", help="A guard that 'discreet guard fit' made.")],
    labelled: Labelled,
    out: Annotated[Path | None, typer.Option(
        "--out", metavar="DIR", help="Write a copy of the guard with the refitted thresholds to this folder.")] = None,
    seed: Seed = 42, audience: ForAudience, costing: Costing, output: Output,
) -> None:
    """Print leak recall, false flags and review load at each operating point, on your own labelled answers.

    Thresholds refitted to the sample are shown next to them, with prices from folds that they were not fitted on; --out
    writes them into a copy of the guard.
    """
    if out is not None:
        writable(out)
    costs = costing.costs()
    rows = library.read_labelled(labelled)
    policy = None if audience.policy is None else library.Policy.load(audience.policy, audience.audience)
    found = library.Guard.load(guard, policy=policy, audience=audience.audience)
    told = progress(rows, len(rows), quiet=output.quiet, label="answers judged")
    result = library.calibrate(found, told, costs=costs, seed=seed)
    source = provenance(labelled)
    if out is not None:
        if not result.refitted:
            raise InputError(f"{labelled}: {result.note}; nothing was written to {out}")
        note = {**source, "counts": dict(result.counts), "costs": None if costs is None else costs.to_json()}
        library.with_points(found, result.refitted, note).save(out)
    output.show({"kind": "guard calibrate", "schema": 1, "decides": found.detector.decides, **result.to_json(),
                 "provenance": {**source, "policy": found.policy.label(), "seed": seed}}, when_quiet="summary")
