"""Results of a world's tasks as the table that an audit reads, and what the report says of the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.texts import LabelledText
from discreet.engine import Result
from discreet.experiments.membership.assign import SCORED, training_rows
from discreet.scores.table import GROUP_KIND, IN, NEAR_DUPLICATES, OUT, Examples, Model, ReferenceKind, Role, ScoreTable

AUDIT_ROLE: Mapping[str, tuple[Role, ReferenceKind | None]] = {
    "a": ("target", None), "b": ("target", None), "selector": ("selection", None),
    "neutral": ("reference", "neutral"), "placebo": ("placebo", None)}
CALLED = {"a": "f_A", "b": "f_B", "selector": "f_S", "neutral": "neutral", "placebo": "placebo"}
MISMATCHED = "mismatched"
EVALUATED, SET_ASIDE = "eval", "population"


def score_table(found: Mapping[str, Result], rows: Sequence[LabelledText], *, reference: str = "neutral",
                structure: str | None = None) -> ScoreTable:
    """The scores of all models of a world.

    Parameters
    ----------
    found : mapping of str to Result
        Results under the names of `tasks_of`.
    rows : sequence of LabelledText
        The data file's, in its order.
    reference : "neutral" or "mismatched"
        Which model stands for the neutral reference.
    structure : str, optional
        Only examples of this input structure.
    """
    dealt = found["prepare"].arrays
    at: NDArray[np.int64] = dealt[SCORED]
    logits, member, models = [], [], []
    for role, (audit_role, kind) in AUDIT_ROLE.items():
        name = MISMATCHED if role == "neutral" and reference == MISMATCHED else role
        result = found[f"fit/{name}"]
        logits.append(result.arrays["logits"])
        trained = np.zeros(0, np.int64) if name == MISMATCHED else training_rows(dealt, role)
        member.append(np.where(np.isin(at, trained), IN, OUT))
        models.append(Model(CALLED.get(name, name), audit_role, kind, _facts(found, role)))
    for shadows in (result for name, result in found.items() if name.startswith("shadow")):
        arrays = shadows.arrays
        for number, scores, inside in zip(arrays["which"], arrays["logits"], arrays["member"], strict=True):
            logits.append(scores)
            member.append(inside)
            models.append(Model(f"shadow-{number}", "shadow", "population", _facts(found, "shadow")))
    table = ScoreTable(tuple(models), _examples(found["prepare"], rows, at), np.stack(logits)[:, :, None, :],
                       np.stack(member).astype(np.int8))
    return table if structure is None else _only(table, structure)


def training_record(found: Mapping[str, Result]) -> dict[str, Any]:
    """Recipe, seed and versions; sizes of the sides, counts of duplicates and groups; the facts of every model.

    `trained_on` counts rows, repetitions of planted records included; `planted` are the records planted in f_A and f_B
    together, by repetitions, and `planted_records` of a model those in its training set. Without text and times.
    """
    dealt, task = found["prepare"], found["fit/a"].task
    value, models = dealt.value, {}
    for name, result in found.items():
        if name.startswith("fit/"):
            said, role = result.value, name.removeprefix("fit/")
            models[CALLED.get(role, role)] = {
                "trained_on": said["trained_on"], "planted_records": _planted_in(dealt, role),
                "validation_accuracy": said["validation_accuracy"], **said["facts"]}
    units = dealt.arrays["unit"]
    return {"recipe": dict(task["params"]["recipe"]), "seed": task["seed"], "copies": task["params"]["copies"],
            "classes": value["classes"], "sides": value["sides"],
            "planted": {times: 2 * number for times, number in value["planted"].items()},
            "groups": int(np.unique(units[units >= 0]).size) if value["grouped"] else None,
            "duplicates": value["duplicates"], "notes": value["notes"], "models": models, "shadows": _shadows(found),
            "versions": dict(task["versions"])}


def _planted_in(dealt: Result, role: str) -> int:
    """How many records are planted in the training set of a role."""
    pool = dealt.arrays[SCORED][dealt.arrays["times"] > 0]
    return int((dealt.arrays["in_a"][pool] == (role == "a")).sum()) if role in ("a", "b") else 0


def _shadows(found: Mapping[str, Result]) -> dict[str, Any] | None:
    """How many shadows there are, and the rows that the least and the most of them trained on."""
    rows = [int(count) for name, result in found.items() if name.startswith("shadow")
            for count in result.arrays["member"].sum(axis=1, dtype=np.int64)]
    return {"number": len(rows), "fewest_rows": min(rows), "most_rows": max(rows)} if rows else None


def _facts(found: Mapping[str, Result], role: str) -> dict[str, str]:
    task = found["fit/a"].task
    recipe = task["params"]["recipe"]
    facts = {"recipe": str(recipe["name"]), "seed": str(task["seed"])}
    if recipe.get("regime") is not None:
        facts["regime"] = str(recipe["regime"])
    if role in ("a", "b"):
        facts["direction"] = role.upper()
    return facts


def _examples(dealt: Result, rows: Sequence[LabelledText], at: NDArray[np.int64]) -> Examples:
    arrays, value = dealt.arrays, dealt.value
    code = {name: number for number, name in enumerate(value["classes"])}
    kept = [rows[row] for row in at]
    split = np.array([None] * at.size, dtype=object)
    split[np.isin(at, arrays["eval"])] = EVALUATED
    split[np.isin(at, arrays["aside"])] = SET_ASIDE
    columns = {"structure": np.array([row.structure for row in kept], dtype=object)} if any(
        row.structure for row in kept) else {}
    # What was assigned together is permuted, resampled and held out together; units of one row each are no groups.
    units = arrays["unit"][at]
    shared = np.unique(units).size < at.size
    if shared and not value["grouped"]:
        columns[GROUP_KIND] = np.full(at.size, NEAR_DUPLICATES, dtype=object)
    return Examples(
        np.array([row.id for row in kept], dtype=object), np.array([code[row.label] for row in kept], dtype=np.int64),
        arrays["times"], group=units if shared or value["grouped"] else None, split=split,
        categories=tuple(row.categories for row in kept) if any(row.categories for row in kept) else None,
        columns=columns)


def _only(table: ScoreTable, structure: str) -> ScoreTable:
    from dataclasses import replace

    old = table.examples
    kept = np.flatnonzero(old.columns["structure"] == structure)
    examples = replace(
        old, id=old.id[kept], label=old.label[kept], planted=old.planted[kept],
        group=None if old.group is None else old.group[kept], split=None if old.split is None else old.split[kept],
        categories=None if old.categories is None else tuple(old.categories[row] for row in kept),
        columns={name: values[kept] for name, values in old.columns.items()})
    return ScoreTable(table.models, examples, table.logits[:, kept], table.member[:, kept], table.given_as)
