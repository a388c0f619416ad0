"""`discreet guard evaluate`: figures of a guard on labelled answers, with intervals and controls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import common, pages
from discreet.cli.guard_check import (
    Audience,
    Domain,
    Fitted,
    OperatingPoint,
    Point,
    PolicyFile,
    policy_of,
    same_domain,
)
from discreet.cli.guard_pairings import evaluate_partitions
from discreet.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from discreet.guard.guard import Guard

_LABELLED = typer.Option(
    "--labelled", metavar="F",
    help="Answers as for check, with 'cluster' or 'label' (yes, one, no, unclear) and, if they are there, subject, "
         "register, domain, document and counts per class.")
Labelled = Annotated[Path, _LABELLED]
MaybeLabelled = Annotated[Path | None, _LABELLED]
Partitions = Annotated[Path | None, typer.Option(
    "--partitions", metavar="DIR",
    help="Instead of --labelled: what synth run leaves, or files of those names. Fits every configuration of the paper "
         "and the default guard, and evaluates each within, across writers, against borderline texts and matched.")]
Configurations = Annotated[str | None, typer.Option(
    "--configurations", metavar="C", help="With --partitions: some of gmm-v3, gmm-v4, ocsvm-v3, ocsvm-v4, rff-v3, "
                                          "rff-v4, default, with commas.")]
EncodersOf = Annotated[str, typer.Option("--encoders", metavar="E", help="With --partitions: as for guard fit.")]
Save = Annotated[Path | None, typer.Option("--save", metavar="DIR", help="With --partitions: keep the default guard.")]

Deciding = Annotated[str | None, typer.Option(
    "--discriminator", metavar="K", help="Let another of the guard's discriminators decide: density, "
                                         "evidence+logistic, features+logistic, both+logistic or mlp-v4.")]


def evaluate(
    context: typer.Context, *, labelled: MaybeLabelled = None, partitions: Partitions = None, guard: Fitted = None,
    domain: Domain = None, audience: Audience = None, policy: PolicyFile = None, discriminator: Deciding = None,
    point: OperatingPoint = None, configurations: Configurations = None, encoders: EncodersOf = "embedded",
    save: Save = None, as_json: common.Json = False, out: common.Out = None,
    config: common.Config = None, seed: common.Seed = 42, quiet: common.Quiet = False,
    show_text: common.ShowText = False,
) -> None:
    """Evaluate on labelled answers, or on partitions: AUROC, FPR95/90 and more, with intervals and controls.

    Rows that name a domain are judged by the built-in policy of that domain, others by --domain or --policy. With
    --guard, rows of another domain than the guard's are passed over.
    """
    from discreet.core.files import progress
    from discreet.data.answers import read_labelled
    from discreet.guard.evaluate import evaluate as run_evaluation
    from discreet.guard.guard import Guard

    if partitions is not None:
        _only_partitions({"--labelled": labelled, "--guard": guard, "--policy": policy, "--audience": audience,
                          "--discriminator": discriminator, "--point": point})
        evaluate_partitions(partitions, domain, configurations, encoders, save, context, seed=seed,
                            out=out, as_json=as_json, quiet=quiet)
        return
    if labelled is None:
        raise UsageError("there is nothing to evaluate on; expected --labelled F or --partitions DIR")
    if configurations is not None or save is not None:
        raise UsageError("--configurations and --save belong to --partitions DIR; expected it with them")
    if domain is None and policy is None and guard is None:
        raise UsageError("there is no policy to judge by; expected --domain, --policy or --guard with a name or path")
    if discriminator is not None and guard is None:
        raise UsageError("--discriminator belongs to a fitted guard; expected --guard DIR with it")
    rows = read_labelled(labelled)
    at = None if point is None else Point(point).value
    fitted = None if guard is None else _fitted(guard, domain, audience, policy, at, discriminator)
    base = fitted.policy if fitted is not None else policy_of(domain, audience, policy)
    if fitted is not None:
        rows = [row for row in rows if row.domain in (None, base.domain.name)]
        for cluster in ("yes", "no"):
            if not any(row.cluster == cluster for row in rows):
                raise InputError(f"{labelled} has no answer of {base.domain.name} with the label {cluster!r}; "
                                 "expected at least one each of yes and no")

    def guard_of(name: str) -> Guard:
        if fitted is not None:
            return fitted
        return Guard(base if name == base.domain.name else policy_of(name, None, None), point=at)

    run = common.open_run(out, context)
    told = progress(rows, len(rows), quiet=quiet, label="answers judged")
    result = run_evaluation(told, guard_of, base.domain.name)
    record = {"kind": "guard evaluate", "schema": 1, **result.to_json(),
              "provenance": common.provenance(labelled, policy=base.label())}
    pages.show(record, as_json=as_json, quiet=quiet, whole=True)
    if run:
        run.finish(record, n=len(rows))


def _only_partitions(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} and --partitions were given together; --partitions judges by the built-in "
                             f"policy of --domain: drop {name}")


def _fitted(folder: Path, domain: str | None, audience: str | None, policy: Path | None, point: str | None,
            discriminator: str | None) -> Guard:
    from discreet.guard.guard import Guard

    found = Guard.load(folder, policy=policy, audience=audience, point=point, discriminator=discriminator)
    same_domain(domain, found, folder)
    return found


_WORDS = {
    "auroc": "AUROC", "auroc_any_register": "AUROC, none bound in any register", "fpr95": "FPR at 95% TPR",
    "fpr90": "FPR at 90% TPR", "tpr_point": "clusters held",
    "fpr_point": "held though nothing is bound", "fpr_point_any_register": "the same, any register",
    "contextual_fpr_point": "the same, contextual layer", "held_with_one_attribute": "held with one attribute",
    "abstain": "abstained", "failed": "failed", "told_back_verbatim_flagged": "told back word for word (should be 0)",
    "told_back_second_person_flagged": "told back as 'you' (should be 0)",
    "cohort_flagged": "cohort sentence added (should be 0)", "planted_held": "cluster planted (should be 1)",
}
