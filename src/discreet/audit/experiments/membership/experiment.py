"""A membership experiment: one data set assigned to evaluation sets by seeded coins, and every model of its audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from discreet.audit.engine import DataFile, Job, Result, Task
from discreet.audit.experiments.membership.assign import check_sizes
from discreet.audit.experiments.membership.training import (
    ROLES,
    fit_mismatched,
    fit_role,
    fit_shadows,
    prepare_rows,
    rows_of,
    score_table,
    training_record,
)
from discreet.audit.experiments.runner import LIBRARIES, PLANTED, Spec, check_planted, check_recipe, read_once
from discreet.audit.membership.audit import audit_membership
from discreet.audit.scores.table import ScoreTable
from discreet.audit.train import FiledRecipe, recipe_of
from discreet.core.design import ASSIGNED
from discreet.core.errors import UsageError
from discreet.inputs.texts import LabelledText, read_texts

Copies = Literal["exact", "paraphrase"]

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
    training_seed : int, optional
        Starts the audited models, the neutral reference and the control model instead: a retraining on the same rows,
        which shares the selector and the shadows with those of other training seeds.
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
    deduplicate : bool
        Train on the first of each cluster of near-duplicate texts alone (`discreet.inputs.duplicates.near_clusters`),
        planted copies included. Rows that are left out count as members all the same: what is audited is the training
        from the rows that it was given.
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
    deduplicate: bool = False
    mismatched: DataFile | None = None
    hidden: bool = False
    keep_models: bool = False
    allow_near: bool = False
    balance: bool = False
    training_seed: int | None = None

    def __post_init__(self) -> None:
        if self.shadows < 0:
            raise UsageError(f"{self.shadows} shadows were asked for; expected 0 or more")
        check_sizes(self.sizes)
        check_planted(self.planted)
        if not 1 <= self.copies <= MOST_COPIES:
            raise UsageError(f"{self.copies} copies were asked for; expected 1 to {MOST_COPIES}")
        if self.deduplicate and self.copies > 1:
            raise UsageError(f"{self.copies} copies of each row were asked for, and deduplicate leaves copies out; "
                             "expected one of both")
        if (self.copied == "paraphrase" and self.copies > 1) != (self.paraphrases is not None):
            raise UsageError("paraphrased copies and a file of paraphrases go together; expected both or neither")

    @property
    def recipe_name(self) -> str:
        """The name of the recipe, without its options."""
        return recipe_of(self.recipe).name

    @property
    def draws(self) -> bool:
        """Whether another seed trains another model on the same rows."""
        return getattr(recipe_of(self.recipe), "draws", True) is not False

    def check_retrainings(self, seeds: int) -> None:
        """Raise UsageError for several retrainings of a recipe that draws nothing."""
        if seeds > 1 and not self.draws:
            raise UsageError(f"--seeds is {seeds}, and the recipe {self.recipe_name!r} draws nothing from its seed, so "
                             "that all would be one model; expected --seeds 1, whose verdict is that on the recipe")

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
                  "deduplicate": self.deduplicate, "keep": self.keep_models}
        # A base model that changes is another recipe.
        base = {} if not isinstance(recipe, FiledRecipe) else {
            f"base/{name}": _described(path, path.stat().st_mtime_ns, path.stat().st_size)
            for name, path in recipe.files().items()}

        def fit(function: Any, name: str, *, extra: Mapping[str, DataFile] | None = None, seed: int = self.seed,
                **params: Any) -> Task:
            return Task.of(function, name, params={**common, **params}, inputs={"prepare": prepare},
                           files={"data": self.data, **base, **(extra or {})}, seed=seed,
                           libraries=(*LIBRARIES, *recipe.libraries))

        copied = {} if self.paraphrases is None else {"paraphrases": self.paraphrases}
        together = self.shadows > 0 and hasattr(recipe, "fit_many")
        shadows = {"shadows": list(range(self.shadows))} if together else {
            f"shadow/{number}": [number] for number in range(self.shadows)}
        again = self.seed if self.training_seed is None else self.training_seed
        found = [prepare, *(fit(fit_role, f"fit/{role}", extra=copied, role=role, hidden=self.hidden and role == "a",
                                seed=self.seed if role == "selector" else again) for role in ROLES)]
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


def audit_task(experiment: MembershipExperiment, *, permutations: int = 199, bootstraps: int = 200,
               reference: str = "neutral", structure: str | None = None) -> Task:
    """The audit of an experiment as one more task: `{"audit": the audit's JSON, "training": what was trained}`."""
    name = "/".join(["audit", reference, *([structure] if structure else [])])
    return Task.of(audit, name, inputs=experiment.tasks(), files={"data": experiment.data}, seed=experiment.seed,
                   params={"reference": reference, "structure": structure, "permutations": permutations,
                           "bootstraps": bootstraps}, libraries=AUDIT_LIBRARIES)


def audit(job: Job) -> dict[str, Any]:
    """Audit both directions of an experiment."""
    rows, asked = rows_of(job), job.params
    table = score_table(job.inputs, rows, reference=asked["reference"], structure=asked["structure"])
    found = audit_membership(table, design=ASSIGNED, texts={row.id: row.text for row in rows},
                             permutations=asked["permutations"], bootstraps=asked["bootstraps"], seed=job.seed)
    return {"audit": found.to_json(), "training": training_record(job.inputs)}
