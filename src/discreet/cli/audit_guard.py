"""`discreet audit guard`: does a fitted guard give away which texts it was fitted on? Guard and audits meet here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

import discreet
from discreet.cli import library as lib
from discreet.cli.options import Seed, argument, option
from discreet.cli.output import PageOutput, end, provenance
from discreet.core.design import ASSIGNED
from discreet.core.errors import UsageError
from discreet.core.files import dump_json, progress
from discreet.core.records import plain

if TYPE_CHECKING:
    from discreet.guard.exposure import Exposure, Output, Released

CLASSES = ("safe", "unsafe")
IN_CARD = ("verdict", "targets", "canaries", "stored", "tolerance_auc", "tolerance_part")


def guard(
    folder: Annotated[Path, argument("DIR", "A guard that 'discreet guard fit' made; the result goes into its card.")],
    safe: Annotated[list[Path], option("F", "The texts without a leak that it was fitted on; may be repeated.")],
    unsafe: Annotated[list[Path], option("F", "The texts that leak; may be repeated.")],
    borderline: Annotated[list[Path] | None, option("F", "The borderline texts, if there were any.")] = None,
    references: Annotated[int, option(
        "K", "Detectors fitted on random halves, for attacks that compare with them.", min=0)] = 8,
    tolerance_auc: Annotated[float, option("A", "What AUC is acceptable over all texts.")] = 0.55,
    tolerance_part: Annotated[float, option("A", "What AUC is acceptable on one side.")] = 0.65,
    *, seed: Seed = 42, output: PageOutput,
) -> None:
    """Audit a fitted guard: do δ, σ, verdicts or its folder give away which texts it was fitted on?

    The texts must be those of 'guard fit', given in the same way: the fit's own random split says which of them it
    never saw. Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    lib.membership_options.check_options(tolerance_auc=tolerance_auc, tolerance_part=tolerance_part, seed=seed)
    fitted = discreet.Guard.load(folder)
    if not os.access(folder.resolve().parent, os.W_OK):
        raise UsageError(f"cannot write the result into the card of {folder}: the folder around it is read-only; copy "
                         "the guard to where it can be written")
    # The audit changes the card: the same guard is known by the rest of it.
    fit = dump_json({name: value for name, value in fitted.card.items() if name != "audit"})
    run = output.open_run(further={"folder": fit.encode()})
    found = lib.exposure.expose(
        fitted, safe, unsafe, borderline or (), references=references, seed=seed, quiet=output.quiet,
        each=lambda todo: progress(todo, len(todo), quiet=output.quiet, label="detectors"))
    ids = [str(one) for one in found.id]
    texts = dict(zip(ids, found.text, strict=True))
    outputs: tuple[Output, ...] = lib.exposure.OUTPUTS
    audits: dict[Output, discreet.MembershipAudit] = {
        name: discreet.audit_membership(
            table_of(found, ids, name), design=ASSIGNED, tolerance_auc=tolerance_auc, tolerance_part=tolerance_part,
            seed=seed, texts=texts) for name in outputs}
    record: dict[str, Any] = {
        "kind": "audit guard", "schema": 1, "verdict": lib.verdict.overall(one.verdict for one in audits.values()),
        "tolerance_auc": tolerance_auc, "tolerance_part": tolerance_part,
        "targets": [_target(name, one) for name, one in audits.items()],
        "canaries": {"fitted": int(found.canaries.fitted.sum()), "others": int((~found.canaries.fitted).sum()), **{
            name: {"twin": plain(found.canaries.auc(found.canaries.twin, name)),
                   "guard": plain(found.canaries.auc(found.canaries.guard, name))} for name in outputs}},
        "stored": plain(found.stored),
        "provenance": provenance(*safe, *unsafe, *(borderline or ()), finished=True, policy=fitted.policy.label(),
                                 seed=seed, references=references, fitted_texts=int(found.fitted.sum()),
                                 other_texts=int((~found.fitted).sum()))}
    fitted.card["audit"] = {name: record[name] for name in IN_CARD} | {
        "made": datetime.now(UTC).isoformat(timespec="seconds")}
    fitted.save(folder)
    if run is not None:
        for name, one in audits.items():
            one.save(run.path / name)
    output.finish_with_page(record, run, {"n": len(ids), "verdict": record["verdict"]})
    end(record["verdict"])


def table_of(found: Exposure, ids: Sequence[str], output: Output) -> lib.table.ScoreTable:
    """One output of guard, control and references as a score table of the classes safe and unsafe.

    References give no verdicts, so that those have none. Scores are in units of the guard's own standard deviation.
    """
    references = [] if output == "verdict" else found.references
    model = lib.table.Model
    given: list[tuple[Released, Any, lib.table.Model]] = [
        (found.guard, found.fitted, model(output, "target")),
        (found.control, np.zeros(len(ids), dtype=np.bool_), model("control", "control")),
        *((one, inside, model(f"reference_{place + 1}", "reference", "population"))
          for place, (one, inside) in enumerate(references))]
    logits = np.stack([one.logits(output, found.unsafe) for one, _, _ in given])
    logits /= np.std(logits[0, :, 1] - logits[0, :, 0]) or 1.0
    examples = lib.table.Examples(
        np.array(ids, dtype=np.object_), found.unsafe.astype(np.int64), np.zeros(len(ids), dtype=np.int64),
        lib.columns.name_codes(found.group) if len(set(found.group)) < len(ids) else None)
    return lib.table.ScoreTable(
        tuple(one for *_, one in given), examples, logits[:, :, None, :],
        np.stack([inside for _, inside, _ in given]).astype(np.int8), class_names=CLASSES)


def _target(name: str, audit: discreet.MembershipAudit) -> dict[str, Any]:
    """What the record keeps of the audit of one output."""
    one = audit.decisive.to_json()
    primary = one["primary"] or {}
    facts = lib.attack.attack_facts([primary["attack"]])[primary["attack"]] if primary else {}
    return {"target": name, **{key: one[key] for key in ("verdict", "reasons", "reason_codes", "parts", "named")},
            **{key: primary.get(key) for key in ("attack", "auc", "control_auc", "tpr_at_1pct_fpr")},
            "attack_title": facts.get("attack_title"), "blind_auc": one["controls"]["blind_auc"]}
