"""What a trial has to train, as tasks: one deal, and models together in banks where their recipe gains from it.

A model is looked for in the banks that a store already has, so that a later ε, mechanism or seed trains itself alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from discreet.core.errors import UsageError
from discreet.engine import DataFile, Store, Task
from discreet.experiments.labels import steps
from discreet.experiments.labels.experiment import NONE, Arm, Trial
from discreet.train import ManyRecipe, Recipe, recipe_of
from discreet.train.base import recipes

LIBRARIES = ("discreet.train", "discreet.data", "discreet.mechanisms", "discreet.scores.table")
MOST = 32
"""Models that are trained in one program; more gain little and lose more where a run is stopped."""

Model = tuple[Arm, int]
"""An arm, and 0 for its target or the number of a reference, from 1."""
Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The tasks of a trial, and in which of them, at which place, each model is."""

    deal: Task
    models: Mapping[Model, tuple[Task, int]]

    @property
    def tasks(self) -> list[Task]:
        """All of them, each once."""
        return list({task.key: task for task in (self.deal, *(task for task, _ in self.models.values()))}.values())


def tasks_of(trial: Trial, banked: Iterable[Spec] = ()) -> Plan:
    """Plan a trial; `banked` describes tasks whose results are there (see `banked_in`).

    Raises UsageError for a recipe that is not there, or that trains no network.
    """
    recipe = recipe_of(trial.recipe)
    if not hasattr(recipe, "network"):
        known = ", ".join(name for name, kind in recipes.items() if hasattr(kind, "network"))
        raise UsageError(f"the recipe {recipe.name!r} does not train under label mechanisms; expected one of {known}")
    make = _Maker.of(trial, recipe)
    # The clock is trained for an audit without it, too: the other models follow it.
    clock = make.task([(NONE, 0)], None) if make.clocked else None
    found = {} if clock is None else {(NONE, 0): (clock, 0)}
    wanted = [(arm, number) for arm in trial.arms for number in range(trial.references_of(arm) + 1)]
    for there in make.alike(banked, clock):
        task = make.task(there, clock)
        found.update({model: (task, place) for place, model in enumerate(there) if model not in found})
    for part in _parts([model for model in wanted if model not in found], together=isinstance(recipe, ManyRecipe)):
        task = make.task(part, clock)
        found.update({model: (task, place) for place, model in enumerate(part)})
    return Plan(make.deal, {model: found[model] for model in wanted})


def banked_in(store: Store) -> list[Spec]:
    """Descriptions of the tasks that trained models of any trial and whose results are in the store, whole."""
    keys = dict.fromkeys(line["key"] for line in store.history() if line.get("event") == "publish" and str(
        line.get("task", "")).startswith("models/"))
    return [found.task for key in keys if (found := store.get(key)) is not None]


def _parts(models: Sequence[Model], *, together: bool) -> list[list[Model]]:
    """Models of one scheme, targets and references apart, as these are trained on more rows; up to `MOST` a part."""
    kinds: dict[tuple[str, bool], list[Model]] = {}
    for arm, number in models:
        kinds.setdefault((steps.scheme_of(arm), number > 0), []).append((arm, number))
    size = MOST if together else 1
    return [part[start:start + size] for part in kinds.values() for start in range(0, len(part), size)]


@dataclass(frozen=True, slots=True, eq=False)
class _Maker:
    """Tasks of one trial."""

    trial: Trial
    recipe: Recipe
    deal: Task
    files: Mapping[str, DataFile]
    read: Mapping[str, Any]

    @classmethod
    def of(cls, trial: Trial, recipe: Recipe) -> _Maker:
        files = {"data": trial.data, **({} if trial.labels is None else {"labels": trial.labels})}
        read = {name: getattr(trial, name) for name in steps.READ}
        deal = Task.of(steps.deal_out, "deal", files=files, seed=trial.seed, libraries=LIBRARIES,
                       params={**read, **{name: getattr(trial, name) for name in steps.DEALT}})
        return cls(trial, recipe, deal, files, read)

    @property
    def clocked(self) -> bool:
        """Whether all models are trained as long as one of them was."""
        return self.trial.same_epochs and getattr(self.recipe, "until_accuracy", None) is not None

    def task(self, models: Sequence[Model], clock: Task | None) -> Task:
        """The task that trains these."""
        said = [[arm.mechanism, None if arm.epsilon == inf else arm.epsilon, number] for arm, number in models]
        (first, number), more = models[0], len(models) - 1
        name = f"models/{first.name}/{number}" + (f"+{more}" if more else "")
        inputs = {"deal": self.deal, **({} if clock is None else {"clock": clock})}
        return Task.of(steps.fit, name, inputs=inputs, files=self.files, seed=self.trial.seed,
                       libraries=(*LIBRARIES, *self.recipe.libraries),
                       params={**self.read, "recipe": self.recipe.to_json(), "keep": self.trial.keep_models,
                               "models": said})

    def alike(self, banked: Iterable[Spec], clock: Task | None) -> list[list[Model]]:
        """The models of each described task that is as one of this trial would be but for which models it trains."""
        wanted = _shape(json.loads(self.task([(NONE, 0)], clock).spec))
        return [[(steps.arm_of(name, epsilon), number) for name, epsilon, number in spec["params"]["models"]]
                for spec in banked if _shape(spec) == wanted]


def _shape(spec: Spec) -> dict[str, Any]:
    params = {name: value for name, value in spec["params"].items() if name != "models"}
    return {**{name: value for name, value in spec.items() if name != "name"}, "params": params}
