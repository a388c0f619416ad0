"""A membership experiment: one data set assigned to evaluation sets by seeded coins, and every model of its audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.audit.engine import DataFile, Job, Result, Task, seeds_of
from discreet.audit.experiments.membership.assign import SCORED, assign, classes_of, training_rows
from discreet.audit.experiments.runner import LIBRARIES, PLANTED, Spec, check_planted, check_recipe, read_once
from discreet.audit.membership.audit import audit_membership
from discreet.audit.scores.table import (
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
from discreet.audit.train import Data, FiledRecipe, recipe_of
from discreet.core.design import ASSIGNED
from discreet.core.errors import InputError, UsageError
from discreet.core.types import IntArray
from discreet.inputs.texts import LabelledText, read_texts

Copies = Literal["exact", "paraphrase"]

ROLES: Mapping[str, tuple[str, Role, ReferenceKind | None]] = {
    "a": ("f_A", "target", None), "b": ("f_B", "target", None), "selector": ("f_S", "selection", None),
    "neutral": ("neutral", "reference", "neutral"), "control": ("unseen", "control", None)}
"""Models of every experiment: what each is called, and its role in the audit."""
MISMATCHED = "mismatched"
EVALUATED, SET_ASIDE = "eval", "population"
MOST_COPIES = 64
AUDIT_LIBRARIES = (*LIBRARIES, "discreet.audit", "discreet.stats", "scipy", "scikit-learn")


@dataclass(frozen=True, slots=True)
class MembershipExperiment:
    """What is trained on what.

    Attributes
    ----------
    data : DataFile
        Rows with id, text (or turns) and label, and where they are there group, category, structure.
    recipe : mapping
        A recipe's `to_json()`, or what `recipe_of` reads.
    seed : int
        Assigns the rows and starts every model; each model draws numbers of its own from it.
    sizes : mapping of str to int, optional
        Examples of each set; the paper's proportions of what there is for those not named.
    shadows : int
        Further references, each trained on a random set of the size of A out of A, B and eval.
    planted : tuple of int
        Repetitions of the planted records; A trains on half of each, B on the other. Empty: none.
    copies, copied, positives_only : int, "exact" or "paraphrase", bool
        How often a training row (of the last class alone) stands in the training set (paper §8.2), and whether copies
        are the row itself or paraphrases of it.
    paraphrases : DataFile, optional
        Rows with id `<id>#<k>` and text: the k-th paraphrase of a row, k from 1.
    mismatched : DataFile, optional
        Another corpus with the same labels: one more neutral reference is trained on it, as public weights would be.
    hidden : bool
        Keep the representation of every scored row that f_A makes, for diagnostics.
    keep_models, allow_near : bool
        Keep the trained models in the store; let near duplicates be in different sets.
    balance : bool
        As many rows of every class in each set, as the paper has it; else each class has its share of the data, as in
        a model that ships.
    """

    data: DataFile
    recipe: Mapping[str, Any] | str
    seed: int = 42
    sizes: Mapping[str, int] = field(default_factory=dict)
    shadows: int = 0
    planted: tuple[int, ...] = PLANTED
    copies: int = 1
    copied: Copies = "exact"
    positives_only: bool = False
    paraphrases: DataFile | None = None
    mismatched: DataFile | None = None
    hidden: bool = False
    keep_models: bool = False
    allow_near: bool = False
    balance: bool = False

    def __post_init__(self) -> None:
        if self.shadows < 0:
            raise UsageError(f"{self.shadows} shadows were asked for; expected 0 or more")
        check_planted(self.planted)
        if not 1 <= self.copies <= MOST_COPIES:
            raise UsageError(f"{self.copies} copies were asked for; expected 1 to {MOST_COPIES}")
        if (self.copied == "paraphrase" and self.copies > 1) != (self.paraphrases is not None):
            raise UsageError("paraphrased copies and a file of paraphrases go together; expected both or neither")

    def read(self) -> list[LabelledText]:
        """The rows of the data file."""
        return read_once(read_texts, self.data.path)

    def tasks(self, stored: Sequence[Spec] = ()) -> dict[str, Task]:
        """Every task by its name: `prepare`, `fit/<role>`, `shadows` (or `shadow/<number>`), `fit/mismatched`.

        Raises UsageError for a recipe that is not there or takes no texts, or an option that cannot be, InputError for
        a base model that is not there.
        """
        recipe = recipe_of(self.recipe)
        check_recipe(recipe, lambda one: getattr(one, "takes_texts", True) is not False, "takes no texts")
        prepare = Task.of(
            prepare_rows, "prepare", files={"data": self.data}, seed=self.seed,
            libraries=(*LIBRARIES, "discreet.audit.core.power"),
            params={"sizes": dict(self.sizes), "planted": list(self.planted), "near": not self.allow_near,
                    "balance": self.balance})
        common = {"recipe": recipe.to_json(), "copies": self.copies, "positives_only": self.positives_only,
                  "keep": self.keep_models}
        # A base model that changes is another recipe.
        base = {} if not isinstance(recipe, FiledRecipe) else {
            f"base/{name}": _described(path, path.stat().st_mtime_ns, path.stat().st_size)
            for name, path in recipe.files().items()}

        def fit(function: Any, name: str, *, extra: Mapping[str, DataFile] | None = None, **params: Any) -> Task:
            return Task.of(function, name, params={**common, **params}, inputs={"prepare": prepare},
                           files={"data": self.data, **base, **(extra or {})}, seed=self.seed,
                           libraries=(*LIBRARIES, *recipe.libraries))

        copied = {} if self.paraphrases is None else {"paraphrases": self.paraphrases}
        together = self.shadows > 0 and hasattr(recipe, "fit_many")
        shadows = {"shadows": list(range(self.shadows))} if together else {
            f"shadow/{number}": [number] for number in range(self.shadows)}
        found = [prepare, *(fit(fit_role, f"fit/{role}", extra=copied, role=role, hidden=self.hidden and role == "a")
                            for role in ROLES)]
        found += [fit(fit_shadows, name, which=which) for name, which in shadows.items()]
        if self.mismatched is not None:
            found.append(fit(fit_mismatched, "fit/mismatched", extra={"other": self.mismatched}))
        return {task.name: task for task in found}

    def table(self, results: Mapping[str, Result], data: Sequence[LabelledText], **options: Any) -> ScoreTable:
        """See `score_table`."""
        return score_table(results, data, **options)

    def training(self, results: Mapping[str, Result]) -> dict[str, Any]:
        """See `training_record`."""
        return training_record(results)


@lru_cache(maxsize=4096)
def _described(path: Path, _changed: int, _size: int) -> DataFile:
    # A study describes its base models hundreds of times.
    return DataFile.of(path)


def prepare_rows(job: Job) -> dict[str, Any]:
    """Row numbers of each set, of the planted pool and of what is scored; counts of duplicates; the classes."""
    return assign(_rows(job), job.params, job.rng("sides"), job.files["data"].name)


def fit_role(job: Job) -> dict[str, Any]:
    """Train the model of one role and score with it."""
    return _fitted(job, _copied(job))


def fit_mismatched(job: Job) -> dict[str, Any]:
    """Train a reference on another corpus with the same labels, and score with it."""
    assigned, others = job.inputs["prepare"], _rows(job, "other")
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
    rows, assigned = _rows(job), job.inputs["prepare"]
    arrays, classes = assigned.arrays, assigned.value["classes"]
    drawn_from = np.concatenate([arrays["a"], arrays["b"], arrays["eval"]])
    pool, size = arrays[SCORED][np.isin(arrays[SCORED], drawn_from)], arrays["a"].size
    chosen = {number: _drawn(pool, arrays["unit"], size, job.seed, number) for number in job.params["which"]}
    data, validation = data_of(rows, pool, classes), data_of(rows, arrays["val"], classes)
    recipe, scored = recipe_of(job.params["recipe"]), data_of(rows, arrays[SCORED], classes)
    seeds = [seeds_of(job.seed, f"shadow/{number}", "fit") for number in chosen]
    if len(chosen) > 1:
        weights = np.stack([np.isin(pool, inside).astype(np.int64) for inside in chosen.values()])
        fitted = recipe.fit_many(data, weights, validation, len(classes), seeds)  # type: ignore[attr-defined]
    else:
        fitted = [recipe.fit(data.take(np.flatnonzero(np.isin(pool, inside))), validation, len(classes), one)
                  for inside, one in zip(chosen.values(), seeds, strict=True)]
    return {"logits": np.stack([one.logits(scored.inputs) for one in fitted]),
            "member": np.stack([np.isin(arrays[SCORED], inside) for inside in chosen.values()]).astype(np.int8),
            "which": np.array(list(chosen), dtype=np.int64), "facts": [dict(one.facts) for one in fitted]}


def data_of(rows: Sequence[LabelledText], at: IntArray, classes: Sequence[str]) -> Data:
    """Some of the rows as what a recipe trains on and scores."""
    code = {name: number for number, name in enumerate(classes)}
    return Data(tuple(rows[row].text for row in at), np.array([code[rows[row].label] for row in at], dtype=np.int64))


def _rows(job: Job, name: str = "data") -> list[LabelledText]:
    return read_once(read_texts, job.files[name])


def _fitted(job: Job, train: Data) -> dict[str, Any]:
    rows, arrays, classes = _rows(job), job.inputs["prepare"].arrays, job.inputs["prepare"].value["classes"]
    validation, scored = data_of(rows, arrays["val"], classes), data_of(rows, arrays[SCORED], classes)
    fitted = recipe_of(job.params["recipe"]).fit(train, validation, len(classes), job.seeds("fit"))
    right = fitted.logits(validation.inputs).argmax(axis=1) == validation.labels if len(validation) else None
    found: dict[str, Any] = {"logits": fitted.logits(scored.inputs), "facts": dict(fitted.facts),
                             "trained_on": len(train),
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
    rows, assigned, copies = _rows(job), job.inputs["prepare"], int(job.params["copies"])
    at, classes = training_rows(assigned.arrays, job.params["role"]), assigned.value["classes"]
    data = data_of(rows, at, classes)
    if copies == 1 or job.params["role"] == "selector":
        return data
    again = np.flatnonzero(data.labels == len(classes) - 1) if job.params["positives_only"] else np.arange(at.size)
    if "paraphrases" not in job.files:
        return data.take(np.concatenate([np.arange(at.size), np.repeat(again, copies - 1)]))
    there: Mapping[str, LabelledText] = {row.id: row for row in _rows(job, "paraphrases")}
    names = [f"{rows[at[row]].id}#{number}" for row in again for number in range(1, copies)]
    if missing := [name for name in names if name not in there]:
        raise InputError(f"{job.files['paraphrases'].name} lacks {len(missing):,} of {len(names):,} paraphrases, the "
                         f"first of them {missing[0][:40]!r}; make {copies - 1} of each row")
    whole = [*(rows[row] for row in at), *(there[name] for name in names)]
    return data_of(whole, np.arange(len(whole)), classes)


def audit_task(experiment: MembershipExperiment, *, permutations: int = 199, bootstraps: int = 200,
               reference: str = "neutral", structure: str | None = None) -> Task:
    """The audit of an experiment as one more task: `{"audit": the audit's JSON, "training": what was trained}`."""
    name = "/".join(["audit", reference, *([structure] if structure else [])])
    return Task.of(audit, name, inputs=experiment.tasks(), files={"data": experiment.data}, seed=experiment.seed,
                   params={"reference": reference, "structure": structure, "permutations": permutations,
                           "bootstraps": bootstraps}, libraries=AUDIT_LIBRARIES)


def audit(job: Job) -> dict[str, Any]:
    """Audit both directions of an experiment."""
    rows, asked = _rows(job), job.params
    table = score_table(job.inputs, rows, reference=asked["reference"], structure=asked["structure"])
    found = audit_membership(table, design=ASSIGNED, texts={row.id: row.text for row in rows},
                             permutations=asked["permutations"], bootstraps=asked["bootstraps"], seed=job.seed)
    return {"audit": found.to_json(), "training": training_record(job.inputs)}


def score_table(found: Mapping[str, Result], rows: Sequence[LabelledText], *, reference: str = "neutral",
                structure: str | None = None) -> ScoreTable:
    """The scores of all models of an experiment, from results under the names of `MembershipExperiment.tasks`.

    `rows` are the data file's, in its order. `reference` says which model stands for the neutral reference, "neutral"
    or "mismatched"; with a `structure` there are only examples of that input structure.
    """
    assigned = found["prepare"].arrays
    at: IntArray = assigned[SCORED]
    logits, member, models = [], [], []
    for role, (name, audit_role, kind) in ROLES.items():
        other = role == "neutral" and reference == MISMATCHED
        logits.append(found[f"fit/{MISMATCHED if other else role}"].arrays["logits"])
        trained = np.zeros(0, np.int64) if other else training_rows(assigned, role)
        member.append(np.where(np.isin(at, trained), IN, OUT))
        models.append(Model(MISMATCHED if other else name, audit_role, kind, _facts(found, role)))
    for arrays in (result.arrays for name, result in found.items() if name.startswith("shadow")):
        logits += list(arrays["logits"])
        member += list(arrays["member"])
        models += [Model(f"shadow-{number}", "shadow", "population", _facts(found, "shadow"))
                   for number in arrays["which"]]
    kept = np.arange(at.size) if structure is None else np.flatnonzero([rows[row].structure == structure for row in at])
    return ScoreTable(tuple(models), _examples(found["prepare"], rows, at, kept),
                      np.stack(logits)[:, kept, None, :], np.stack(member)[:, kept].astype(np.int8))


def _facts(found: Mapping[str, Result], role: str) -> dict[str, str]:
    task = found["fit/a"].task
    recipe = task["params"]["recipe"]
    facts = {"recipe": str(recipe["name"]), "seed": str(task["seed"])}
    if recipe.get("regime") is not None:
        facts["regime"] = str(recipe["regime"])
    if role in ("a", "b"):
        facts["direction"] = role.upper()
    return facts


def _examples(assigned: Result, rows: Sequence[LabelledText], at: IntArray, kept: IntArray) -> Examples:
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

    `trained_on` counts rows, repetitions of planted records included; `planted` are the records planted in f_A and f_B
    together, by repetitions, and `planted_records` of a model those in its training set. Without text and times.
    """
    assigned, task = found["prepare"], found["fit/a"].task
    value, arrays, models = assigned.value, assigned.arrays, {}
    in_a = arrays["in_a"][arrays[SCORED][arrays["times"] > 0]]
    planted = {"a": int((in_a == 1).sum()), "b": int((in_a == 0).sum())}
    for name, result in found.items():
        if name.startswith("fit/"):
            said, role = result.value, name.removeprefix("fit/")
            models[ROLES[role][0] if role in ROLES else role] = {
                "trained_on": said["trained_on"], "planted_records": planted.get(role, 0),
                "validation_accuracy": said["validation_accuracy"], **said["facts"]}
    units = arrays["unit"]
    rows = [int(count) for name, result in found.items() if name.startswith("shadow")
            for count in result.arrays["member"].sum(axis=1, dtype=np.int64)]
    return {"recipe": dict(task["params"]["recipe"]), "seed": task["seed"], "copies": task["params"]["copies"],
            "classes": value["classes"], "sides": value["sides"],
            "planted": {times: 2 * number for times, number in value["planted"].items()},
            "groups": int(np.unique(units[units >= 0]).size) if value["grouped"] else None,
            "duplicates": value["duplicates"], "notes": value["notes"], "models": models,
            "shadows": {"number": len(rows), "fewest_rows": min(rows), "most_rows": max(rows)} if rows else None,
            "versions": dict(task["versions"])}
