"""The results of a membership experiment as a score table, and what a report says of its training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.audit.engine import Result
from discreet.audit.experiments.membership.assign import SCORED, training_rows
from discreet.audit.scores.adapters.scorer import named_classes
from discreet.audit.scores.table import (
    DP_SGD,
    GROUP_KIND,
    IN,
    NEAR_DUPLICATES,
    OUT,
    Examples,
    Model,
    ReferenceKind,
    Role,
    ScoreTable,
)
from discreet.audit.train.private import guarantee_of
from discreet.core.types import IntArray
from discreet.inputs.texts import LabelledText

ROLES: Mapping[str, tuple[str, Role, ReferenceKind | None]] = {
    "a": ("f_A", "target", None), "b": ("f_B", "target", None), "selector": ("f_S", "selection", None),
    "neutral": ("neutral", "reference", "neutral"), "control": ("unseen", "control", None)}
"""Models of every experiment: what each is called, and its role in the audit."""
MISMATCHED = "mismatched"
EVALUATED, SET_ASIDE = "eval", "population"


def score_table(found: Mapping[str, Result], rows: Sequence[LabelledText], *, reference: str = "neutral",
                structure: str | None = None) -> ScoreTable:
    """The scores of all models of an experiment, from results under the names of `MembershipExperiment.tasks`.

    `rows` are the data file's, in its order. `reference` says which model stands for the neutral reference, "neutral"
    or "mismatched"; with a `structure` there are only examples of that input structure.
    """
    assigned = found["prepare"].arrays
    at: IntArray = assigned[SCORED]
    classes = tuple(map(str, found["prepare"].value["classes"]))
    logits, member, models = [], [], []
    for role, (name, audit_role, kind) in ROLES.items():
        other = role == "neutral" and reference == MISMATCHED
        logits.append(found[f"fit/{MISMATCHED if other else role}"].arrays["logits"])
        trained = np.zeros(0, np.int64) if other else training_rows(assigned, role)
        member.append(np.where(np.isin(at, trained), IN, OUT))
        models.append(_model(MISMATCHED if other else name, audit_role, kind, found, role))
    for arrays in (result.arrays for name, result in found.items() if name.startswith("shadow")):
        logits += list(arrays["logits"])
        member += list(arrays["member"])
        models += [Model(f"shadow-{number}", "shadow", "population", _facts(found, "shadow"))
                   for number in arrays["which"]]
    kept = np.arange(at.size) if structure is None else np.flatnonzero([rows[row].structure == structure for row in at])
    return ScoreTable(tuple(models), examples_of(found["prepare"], rows, at, kept),
                      np.stack(logits)[:, kept, None, :], np.stack(member)[:, kept].astype(np.int8),
                      class_names=named_classes(classes, len(classes)))


def _model(name: str, audit_role: Role, kind: ReferenceKind | None, found: Mapping[str, Result], role: str) -> Model:
    """A model with the guarantee that its training gives."""
    facts, guarantee = _facts(found, role), guarantee_of(found[f"fit/{role}"].value["facts"])
    # A row that is trained on k times is a row of k times the ε.
    if guarantee is None or found["fit/a"].task["params"]["copies"] > 1:
        return Model(name, audit_role, kind, facts)
    epsilon, delta = guarantee
    return Model(name, audit_role, kind, {**facts, "delta": str(delta)}, DP_SGD, epsilon)


def _facts(found: Mapping[str, Result], role: str) -> dict[str, str]:
    task = found["fit/a"].task
    recipe = task["params"]["recipe"]
    facts = {"recipe": str(recipe["name"]), "seed": str(task["seed"])}
    if recipe.get("regime") is not None:
        facts["regime"] = str(recipe["regime"])
    if role in ("a", "b"):
        facts["direction"] = role.upper()
    return facts


def examples_of(assigned: Result, rows: Sequence[LabelledText], at: IntArray, kept: IntArray) -> Examples:
    """The examples `at[kept]`; what they have columns for is decided by all of `at`."""
    arrays, value = assigned.arrays, assigned.value
    code = {name: number for number, name in enumerate(value["classes"])}
    everything, chosen = [rows[row] for row in at], [rows[row] for row in at[kept]]
    split = np.full(len(chosen), None, dtype=object)
    split[np.isin(at[kept], arrays["eval"])] = EVALUATED
    split[np.isin(at[kept], arrays["aside"])] = SET_ASIDE
    columns = {}
    if any(row.structure for row in everything):
        columns["structure"] = np.array([row.structure for row in chosen], dtype=object)
    # What was assigned together is permuted, resampled and held out together; units of one row each are no groups.
    units = arrays["unit"][at]
    shared = np.unique(units).size < at.size
    if shared and not value["grouped"]:
        columns[GROUP_KIND] = np.full(len(chosen), NEAR_DUPLICATES, dtype=object)
    return Examples(
        np.array([row.id for row in chosen], dtype=object),
        np.array([code[row.label] for row in chosen], dtype=np.int64), arrays["times"][kept],
        group=units[kept] if shared or value["grouped"] else None, split=split, columns=columns,
        categories=tuple(row.categories for row in chosen) if any(row.categories for row in everything) else None)


def training_record(found: Mapping[str, Result]) -> dict[str, Any]:
    """Recipe, seed and versions; sizes of the sets, counts of duplicates and groups; the facts of every model.

    `class_rows` are the rows of A by class; `trained_on` counts rows, repetitions of planted records included, without
    the `near_left_out`; `planted` are the records planted in f_A and f_B together, by repetitions, and
    `planted_records` of a model those in its training set.
    Without text and times.
    """
    assigned, task = found["prepare"], found["fit/a"].task
    value, arrays, models = assigned.value, assigned.arrays, {}
    in_a = arrays["in_a"][arrays[SCORED][arrays["times"] > 0]]
    planted = {"a": int((in_a == 1).sum()), "b": int((in_a == 0).sum())}
    for name, result in found.items():
        if name.startswith("fit/"):
            said, role = result.value, name.removeprefix("fit/")
            models[ROLES[role][0] if role in ROLES else role] = {
                "trained_on": said["trained_on"], "near_left_out": said["near_left_out"],
                "planted_records": planted.get(role, 0),
                "validation_accuracy": said["validation_accuracy"], **said["facts"]}
    units = arrays["unit"]
    rows = [int(count) for name, result in found.items() if name.startswith("shadow")
            for count in result.arrays["member"].sum(axis=1, dtype=np.int64)]
    return {"recipe": dict(task["params"]["recipe"]), "seed": task["seed"], "copies": task["params"]["copies"],
            "classes": value["classes"], "class_rows": value["class_rows"], "sides": value["sides"],
            "planted": {times: 2 * number for times, number in value["planted"].items()},
            "groups": int(np.unique(units[units >= 0]).size) if value["grouped"] else None,
            "deduplicate": task["params"]["deduplicate"], "duplicates": value["duplicates"],
            "notes": value["notes"], "models": models,
            "shadows": {"number": len(rows), "fewest_rows": min(rows), "most_rows": max(rows)} if rows else None,
            "versions": dict(task["versions"])}
