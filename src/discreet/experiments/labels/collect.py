"""What a trial's tasks left, as one table of label scores and as a record of the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from discreet.audit.labels.conformance import epsilon_json
from discreet.data.datasets import Dataset
from discreet.engine import Result
from discreet.experiments.labels.experiment import Arm, Trial
from discreet.experiments.labels.steps import model_name
from discreet.scores.table import CANARY, PLACEBO, Canaries, Model, ScoreTable
from discreet.train import recipe_of

Models = Mapping[tuple[Arm, int], tuple[Result, int]]
TOLD = ("epochs_done", "steps", "training_rows", "parameters", "reached")
"""Facts of a model that the record keeps; the others are in the store."""


class Done(Protocol):
    """A trial whose tasks have run; see `train_trials.TrialDone`."""

    @property
    def trial(self) -> Trial:
        """As there."""
        ...

    @property
    def deal(self) -> Result:
        """As there."""
        ...

    @property
    def models(self) -> Models:
        """As there."""
        ...


def label_table(trial: Trial, deal: Result, models: Models, data: Dataset) -> ScoreTable:
    """Scores of every model on every row.

    A reference was trained on the target's placebos too, which are canaries to it, and has the same planted ones.
    """
    dealt, read = deal.arrays, dict[str, Mapping[str, np.ndarray[Any, Any]]]()
    named, role, arrays = [], [], {"secret": [], "trained": [], "logits": []}  # type: ignore[var-annotated]
    recipe = str(next(iter(models.values()))[0].task["params"]["recipe"]["name"])
    for (arm, number), (result, place) in models.items():
        found = read.setdefault(result.key, result.arrays) if result.key not in read else read[result.key]
        named.append(Model(model_name(arm, trial.seed, number), "reference" if number else "target",
                           facts={"recipe": recipe}, mechanism=arm.mechanism, epsilon=arm.epsilon,
                           seed=str(trial.seed)))
        role.append(np.where(dealt["role"] == PLACEBO, CANARY, dealt["role"]) if number else dealt["role"])
        for name, parts in arrays.items():
            parts.append(found[name][place])
    secret, trained, logits = (np.stack(parts) for parts in arrays.values())
    canaries = Canaries(np.stack(role).astype(np.int8), secret.astype(np.int64), trained.astype(np.int64),
                        np.tile(dealt["planted"].astype(np.int64), (len(named), 1)))
    return ScoreTable.of_canaries(tuple(named), np.array(data.ids, dtype=np.object_), data.labels, canaries,
                                  logits.astype(np.float64), data.groups)


def training_record(done: Sequence[Done]) -> dict[str, Any]:
    """What a report says of the training of trials that differ in their seeds and arms alone.

    Recipe and versions, the rows of each role by seed, and what is known of each model; without text and times.
    """
    first, deals, told = done[0], dict[str, Any](), list[dict[str, Any]]()
    for one in done:
        deals[str(one.trial.seed)] = one.deal.value["sizes"]
        facts = {result.key: result.value["facts"] for result, _ in one.models.values()}
        told += [{"model": model_name(arm, one.trial.seed, number), "role": "reference" if number else "target",
                  "mechanism": arm.mechanism, "epsilon": epsilon_json(arm.epsilon), "seed": one.trial.seed,
                  **{name: facts[result.key][place][name] for name in TOLD if name in facts[result.key][place]}}
                 for (arm, number), (result, place) in one.models.items()]
    value, task = first.deal.value, next(iter(first.models.values()))[0].task
    return {"recipe": recipe_of(first.trial.recipe).to_json(), "data": value["kind"], "classes": value["classes"],
            "target": first.trial.target, "law": first.trial.law, "grouped": first.trial.group is not None,
            "same_epochs": first.trial.same_epochs, "deals": deals, "models": told, "versions": dict(task["versions"])}
