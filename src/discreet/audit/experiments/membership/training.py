"""What the tasks of a membership experiment do: assign rows, train a model of a role, or shadows, score with it, and
put the results into a score table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.audit.engine import Job, Result, seeds_of
from discreet.audit.experiments.membership.assign import SCORED, assign, classes_of, training_rows
from discreet.audit.experiments.runner import read_once
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
from discreet.audit.train import Data, recipe_of
from discreet.audit.train.private import guarantee_of
from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.inputs.duplicates import first_of_near
from discreet.inputs.texts import LabelledText, read_texts


def prepare_rows(job: Job) -> dict[str, Any]:
    """Row numbers of each set, of the planted pool and of what is scored; counts of duplicates; the classes."""
    return assign(rows_of(job), job.params, job.rng("sides"), job.files["data"].name)


def fit_role(job: Job) -> dict[str, Any]:
    """Train the model of one role and score with it."""
    return _fitted(job, _copied(job))


def fit_mismatched(job: Job) -> dict[str, Any]:
    """Train a reference on another corpus with the same labels, and score with it."""
    assigned, others = job.inputs["prepare"], rows_of(job, "other")
    classes = assigned.value["classes"]
    if (found := classes_of(others)) != classes:
        raise InputError(f"{job.files['other'].name} has {len(found)} classes, and they are not the "
                         f"{len(classes)} of {job.files['data'].name}; expected a corpus with the same labels")
    chosen = job.rng("rows").permutation(len(others))[:assigned.arrays["a"].size]
    by_id = sorted(others, key=lambda row: row.id)
    return _fitted(job, data_of(by_id, np.sort(chosen), classes))


def fit_shadows(job: Job) -> dict[str, Any]:
    """Train shadows, each on a random set of the size of A out of A, B and eval, and score with each.

    `member` is (shadows, scored): what each trained on. What a shadow draws depends on its number and the seed alone.
    """
    rows, assigned = rows_of(job), job.inputs["prepare"]
    arrays, classes = assigned.arrays, assigned.value["classes"]
    drawn_from = np.concatenate([arrays["a"], arrays["b"], arrays["eval"]])
    pool, size = arrays[SCORED][np.isin(arrays[SCORED], drawn_from)], arrays["a"].size
    chosen = {number: _drawn(pool, arrays["unit"], size, job.seed, number) for number in job.params["which"]}
    data, validation = data_of(rows, pool, classes), data_of(rows, arrays["val"], classes)
    recipe, scored = recipe_of(job.params["recipe"]), data_of(rows, arrays[SCORED], classes)
    seeds = [seeds_of(job.seed, f"shadow/{number}", "fit") for number in chosen]
    own = [_without_near(job, data, np.flatnonzero(np.isin(pool, inside))) for inside in chosen.values()]
    if len(chosen) > 1:
        weights = np.stack([np.isin(np.arange(pool.size), places).astype(np.int64) for places in own])
        fitted = recipe.fit_many(data, weights, validation, len(classes), seeds)  # type: ignore[attr-defined]
    else:
        fitted = [recipe.fit(data.take(places), validation, len(classes), one)
                  for places, one in zip(own, seeds, strict=True)]
    return {"logits": np.stack([one.logits(scored.inputs) for one in fitted]),
            "member": np.stack([np.isin(arrays[SCORED], inside) for inside in chosen.values()]).astype(np.int8),
            "which": np.array(list(chosen), dtype=np.int64), "facts": [dict(one.facts) for one in fitted]}


def data_of(rows: Sequence[LabelledText], at: IntArray, classes: Sequence[str]) -> Data:
    """Some of the rows as what a recipe trains on and scores."""
    code = {name: number for number, name in enumerate(classes)}
    return Data(tuple(rows[row].text for row in at), np.array([code[rows[row].label] for row in at], dtype=np.int64))


def rows_of(job: Job, name: str = "data") -> list[LabelledText]:
    """The rows of a file of the job."""
    return read_once(read_texts, job.files[name])


def _without_near(job: Job, data: Data, places: IntArray) -> IntArray:
    """The places to train on: where `deduplicate` asks for it, the first of each cluster of near-duplicates."""
    if not job.params["deduplicate"]:
        return places
    texts = [str(data.inputs[place]) for place in places.tolist()]
    return np.asarray(places[first_of_near(texts)], dtype=np.int64)


def _fitted(job: Job, given: Data) -> dict[str, Any]:
    train = given.take(_without_near(job, given, np.arange(len(given))))
    rows, arrays, classes = rows_of(job), job.inputs["prepare"].arrays, job.inputs["prepare"].value["classes"]
    validation, scored = data_of(rows, arrays["val"], classes), data_of(rows, arrays[SCORED], classes)
    fitted = recipe_of(job.params["recipe"]).fit(train, validation, len(classes), job.seeds("fit"))
    right = fitted.logits(validation.inputs).argmax(axis=1) == validation.labels if len(validation) else None
    found: dict[str, Any] = {"logits": fitted.logits(scored.inputs), "facts": dict(fitted.facts),
                             "trained_on": len(train), "near_left_out": len(given) - len(train),
                             "validation_accuracy": None if right is None else float(np.mean(right))}
    if job.params.get("hidden"):
        found["hidden"] = fitted.hidden(scored.inputs).astype(np.float32)
    if job.params["keep"]:
        fitted.save(job.folder / "model")
    return found


def _drawn(pool: IntArray, unit: IntArray, size: int, seed: int, number: int) -> IntArray:
    """About `size` rows of the pool, whole groups at a time, in the order of a seeded shuffle."""
    rng = np.random.default_rng(seeds_of(seed, f"shadow/{number}", "rows"))
    names, counts = np.unique(unit[pool], return_counts=True)
    order = rng.permutation(names.size)
    taken = names[order[np.cumsum(counts[order]) <= size]]
    return pool[np.isin(unit[pool], taken)]


def _copied(job: Job) -> Data:
    """The training set of paper §8.2: every row (or those of the last class) `copies` times, or with paraphrases."""
    rows, assigned, copies = rows_of(job), job.inputs["prepare"], int(job.params["copies"])
    at, classes = training_rows(assigned.arrays, job.params["role"]), assigned.value["classes"]
    data = data_of(rows, at, classes)
    if copies == 1 or job.params["role"] == "selector":
        return data
    again = np.flatnonzero(data.labels == len(classes) - 1) if job.params["positives_only"] else np.arange(at.size)
    if "paraphrases" not in job.files:
        return data.take(np.concatenate([np.arange(at.size), np.repeat(again, copies - 1)]))
    there: Mapping[str, LabelledText] = {row.id: row for row in rows_of(job, "paraphrases")}
    names = [f"{rows[at[row]].id}#{number}" for row in again for number in range(1, copies)]
    if missing := [name for name in names if name not in there]:
        raise InputError(f"{job.files['paraphrases'].name} lacks {len(missing):,} of {len(names):,} paraphrases, the "
                         f"first of them {missing[0][:40]!r}; make {copies - 1} of each row")
    whole = [*(rows[row] for row in at), *(there[name] for name in names)]
    return data_of(whole, np.arange(len(whole)), classes)


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
