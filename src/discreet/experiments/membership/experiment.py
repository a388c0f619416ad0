"""A membership experiment: one data set assigned to evaluation sets by seeded coins, and every model of its audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.audit.membership.audit import audit_membership
from discreet.core.design import ASSIGNED
from discreet.core.errors import UsageError
from discreet.core.types import IntArray
from discreet.data.texts import LabelledText, read_texts
from discreet.engine import DataFile, Job, Result, Task
from discreet.experiments.membership import steps
from discreet.experiments.membership.assign import SCORED, training_rows
from discreet.experiments.runner import LIBRARIES, PLANTED, Spec, check_planted, check_recipe, read_once
from discreet.scores.table import GROUP_KIND, IN, NEAR_DUPLICATES, OUT, Examples, Model, ReferenceKind, Role, ScoreTable
from discreet.train import FiledRecipe, recipe_of

Copies = Literal["exact", "paraphrase"]

ROLES: Mapping[str, tuple[str, Role, ReferenceKind | None]] = {
    "a": ("f_A", "target", None), "b": ("f_B", "target", None), "selector": ("f_S", "selection", None),
    "neutral": ("neutral", "reference", "neutral"), "placebo": ("placebo", "placebo", None)}
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
    copies, copied : int, "exact" or "paraphrase"
        How often a training row stands in the training set (paper §8.2), and whether copies are the row itself or
        paraphrases of it, from `paraphrases`.
    positives_only : bool
        Copies are made of the last class alone.
    paraphrases : DataFile, optional
        Rows with id `<id>#<k>` and text: the k-th paraphrase of a row, k from 1.
    mismatched : DataFile, optional
        Another corpus with the same labels: one more neutral reference is trained on it, as public weights would be.
    hidden : bool
        Keep the representation of every scored row that f_A makes, for diagnostics.
    keep_models : bool
        Keep the trained models in the store.
    allow_near : bool
        Let near duplicates be in different sets.
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

    def __post_init__(self) -> None:
        if self.shadows < 0:
            raise UsageError(f"{self.shadows} shadows were asked for; expected 0 or more")
        check_planted(self.planted)
        if not 1 <= self.copies <= MOST_COPIES:
            raise UsageError(f"{self.copies} copies were asked for; expected 1 to {MOST_COPIES}")
        if (self.copied == "paraphrase" and self.copies > 1) != (self.paraphrases is not None):
            raise UsageError("paraphrased copies and a file of paraphrases go together; expected both or neither")

    def with_seed(self, seed: int) -> MembershipExperiment:
        """The same study, assigned and trained anew."""
        return replace(self, seed=seed)

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
            steps.prepare, "prepare", files={"data": self.data}, seed=self.seed,
            libraries=(*LIBRARIES, "discreet.audit.core.power"),
            params={"sizes": dict(self.sizes), "planted": list(self.planted), "near": not self.allow_near})
        common = {"recipe": recipe.to_json(), "copies": self.copies, "positives_only": self.positives_only,
                  "keep": self.keep_models}
        # A base model that changes is another recipe.
        base = {} if not isinstance(recipe, FiledRecipe) else {
            f"base/{name}": _described(path, path.stat().st_mtime_ns, path.stat().st_size)
            for name, path in recipe.files().items()}

        def fit(function: Any, name: str, extra: Mapping[str, DataFile], **params: Any) -> Task:
            return Task.of(function, name, params={**common, **params}, inputs={"prepare": prepare},
                           files={"data": self.data, **base, **extra}, seed=self.seed,
                           libraries=(*LIBRARIES, *recipe.libraries))

        found = {"prepare": prepare}
        copied = {} if self.paraphrases is None else {"paraphrases": self.paraphrases}
        for role in ROLES:
            name = f"fit/{role}"
            found[name] = fit(steps.fit, name, copied, role=role, hidden=self.hidden and role == "a")
        if self.shadows and hasattr(recipe, "fit_many"):
            found["shadows"] = fit(steps.fit_shadows, "shadows", {}, which=list(range(self.shadows)))
        else:
            for number in range(self.shadows):
                name = f"shadow/{number}"
                found[name] = fit(steps.fit_shadows, name, {}, which=[number])
        if self.mismatched is not None:
            found["fit/mismatched"] = fit(steps.fit_mismatched, "fit/mismatched", {"other": self.mismatched})
        return found

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


def audit_task(experiment: MembershipExperiment, *, permutations: int = 199, bootstraps: int = 200,
               reference: str = "neutral", structure: str | None = None) -> Task:
    """The audit of an experiment as one more task: `{"audit": the audit's JSON, "training": what was trained}`."""
    name = "/".join(["audit", reference, *([structure] if structure else [])])
    return Task.of(audit, name, inputs=experiment.tasks(), files={"data": experiment.data}, seed=experiment.seed,
                   params={"reference": reference, "structure": structure, "permutations": permutations,
                           "bootstraps": bootstraps}, libraries=AUDIT_LIBRARIES)


def audit(job: Job) -> dict[str, Any]:
    """Audit both directions of an experiment."""
    rows, asked = read_once(read_texts, job.files["data"]), job.params
    table = score_table(job.inputs, rows, reference=asked["reference"], structure=asked["structure"])
    found = audit_membership(
        table, design=ASSIGNED, texts={row.id: row.text for row in rows}, permutations=asked["permutations"],
        bootstraps=asked["bootstraps"], seed=job.seed)
    return {"audit": found.to_json(), "training": training_record(job.inputs)}


def score_table(found: Mapping[str, Result], rows: Sequence[LabelledText], *, reference: str = "neutral",
                structure: str | None = None) -> ScoreTable:
    """The scores of all models of an experiment.

    Parameters
    ----------
    found : mapping of str to Result
        Results under the names of `MembershipExperiment.tasks`.
    rows : sequence of LabelledText
        The data file's, in its order.
    reference : "neutral" or "mismatched"
        Which model stands for the neutral reference.
    structure : str, optional
        Only examples of this input structure.
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
