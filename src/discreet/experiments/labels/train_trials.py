"""Trials from data to scores: their tasks run, the models of all of them in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.audit.labels.judge_facts import utility_of
from discreet.data.datasets import Dataset, read_dataset
from discreet.engine import Result, Store, run
from discreet.experiments.labels.collect import label_table, training_record
from discreet.experiments.labels.experiment import Trial
from discreet.experiments.labels.plan import Model, banked_in, tasks_of
from discreet.experiments.labels.steps import DEALT, READ, dealt_out
from discreet.scores.table import ScoreTable, stacked


@dataclass(frozen=True, slots=True, eq=False)
class TrialDone:
    """A trial after its tasks have run.

    Attributes
    ----------
    deal : Result
    models : mapping
        Arm and number to the result that holds the model, and its place there.
    data : Dataset
        Ids, labels and groups, which no result holds.
    """

    trial: Trial
    deal: Result
    models: Mapping[Model, tuple[Result, int]]
    data: Dataset

    def table(self) -> ScoreTable:
        """Scores of every model on every row: each arm's target, then its references."""
        return label_table(self.trial, self.deal, self.models, self.data)

    def utility(self) -> dict[str, dict[str, Any]]:
        """By the name of each arm its target's `utility_of`."""
        table = self.table()
        return {arm.name: utility_of(table, target) for arm, target in zip(self.trial.arms, table.targets, strict=True)}

    def training(self) -> dict[str, Any]:
        """What a report says of the training; see `training_record`."""
        return training_record([self])


def train_trials(trials: Sequence[Trial], store: Store | Path | str, *, engine: str = "local",
                 workers: int | None = None, address: str | None = None, quiet: bool = False) -> list[TrialDone]:
    """Train everything that the trials need; what the store has is not trained again.

    Raises DiscreetError as `engine.run`, UsageError as `tasks_of`.
    """
    opened = store if isinstance(store, Store) else Store(store)
    banked = banked_in(opened)
    plans = [tasks_of(trial, banked) for trial in trials]
    found = run([task for plan in plans for task in plan.tasks], opened, engine=engine, workers=workers,
                address=address, quiet=quiet, label="steps")
    data: dict[Any, Dataset] = {}
    done = []
    for trial, plan in zip(trials, plans, strict=True):
        key = (trial.data, trial.labels, *(getattr(trial, name) for name in READ))
        if key not in data:
            data[key] = data_of(trial)
        models = {model: (found[task.key], place) for model, (task, place) in plan.models.items()}
        done.append(TrialDone(trial, found[plan.deal.key], models, data[key]))
    return done


def data_of(trial: Trial) -> Dataset:
    """A trial's data set. Raises InputError as `read_dataset`."""
    labels = None if trial.labels is None else trial.labels.path
    return read_dataset(trial.data.path, labels=labels, **{name: getattr(trial, name) for name in READ})


def check_trial(trial: Trial) -> None:
    """Raise, before anything is trained or written, what the trial's plan, data or deal would raise."""
    tasks_of(trial)
    dealt_out(data_of(trial), {name: getattr(trial, name) for name in DEALT}, trial.seed, trial.data.path.name)


def joined(done: Sequence[TrialDone]) -> ScoreTable:
    """One table of the models of trials over the same rows, such as seeds. ValueError for others, or none."""
    if not done:
        raise ValueError("0 trials: expected at least one")
    return stacked([one.table() for one in done])
