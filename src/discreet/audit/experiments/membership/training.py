"""What the tasks of a membership experiment do: assign rows, train a model of a role, or shadows, and score with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.audit.engine import Job, seeds_of
from discreet.audit.experiments.membership.assign import SCORED, assign, classes_of, training_rows
from discreet.audit.experiments.runner import read_once
from discreet.audit.train import Data, recipe_of
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
