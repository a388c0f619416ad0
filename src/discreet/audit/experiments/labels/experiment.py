"""A label experiment: one data set, one assignment of canaries, and a model for each mechanism and ε.

Models are trained together in banks where their recipe gains from it. A model is looked for in the banks that a store
already has, so that a later ε, mechanism or seed trains only its own models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from discreet.audit.engine import DataFile, Result, Task
from discreet.audit.experiments.labels import steps
from discreet.audit.experiments.labels.steps import ASSIGNED, READ, Arm
from discreet.audit.experiments.runner import (
    LIBRARIES,
    MODELS,
    PLANTED,
    Spec,
    Trained,
    check_planted,
    check_recipe,
    read_once,
)
from discreet.audit.labels.conformance import epsilon_json
from discreet.audit.scores.table import CANARY, CONTROL, Canaries, Model, ScoreTable, stacked
from discreet.audit.train import ManyRecipe, recipe_of
from discreet.core.errors import UsageError
from discreet.inputs.canaries import ASSIGNMENTS, Assignment
from discreet.inputs.datasets import Dataset, read_dataset
from discreet.stats.mechanisms.labels.base import label_mechanism

LABEL_LIBRARIES = (*LIBRARIES, "discreet.stats.mechanisms", "discreet.audit.scores.table")
MOST = 32
"""Models that are trained in one program; more gain little and lose more where a run is stopped."""
FACTS = ("epochs_done", "steps", "training_rows", "parameters", "reached")
"""Facts of a model that the record of the training keeps; the others are in the store."""
NONE = Arm()
"""Labels as they are."""

ModelKey = tuple[Arm, int]
"""An arm, and 0 for its target or the number of a reference, from 1."""


@dataclass(frozen=True, slots=True)
class LabelExperiment:
    """What is trained on what.

    Attributes
    ----------
    target : str
        The column (or array) of the labels.
    recipe : mapping or str
        A network recipe's `to_json()`, or what `recipe_of` reads.
    arms : tuple of Arm
        One target is trained for each.
    seed : int
        Assigns canaries, controls and held-out rows, alike for all arms, and starts every model.
    canaries, control : float
        Below 1 a share of the rows that are not held out, else a number. No control: rows have no control.
    planted : tuple of int
        How often planted canaries, the positive control, stand in training; empty: none.
    planted_each : int, optional
        How many of each; a tenth of the canaries if not given, at least 20 where the rows allow it.
    heldout : float
        Rows that only measure accuracy; below 1 a share of all, else a number.
    references, references_at : int, tuple of Arm
        Models that an attacker would train for each of these arms (all if not given): on the rows of the target and
        its controls, with labels of canaries and held-out ones drawn afresh for each, by the same mechanism. They
        serve the other arms too.
    assignment : "uniform" or "balanced"
        How canary labels are drawn, see `draw_canaries`.
    labels : DataFile, optional
        The labels' file where they lie apart from arrays.
    positive : tuple of str, optional
        Values of the target that become class 1, all others class 0.
    group, drop : str, optional, and tuple of str
        The column of groups (each is held out, canary or control as a whole), and columns that are no features.
    same_epochs : bool
        Where the recipe trains until an accuracy, train all other models for as many epochs as the target without
        noise took.
    keep_models : bool
        Keep the trained models in the store.
    broken : bool
        Let mechanisms in that are broken on purpose; for reproductions.

    Raises UsageError for a number out of range, an arm twice or none, and a broken mechanism.
    """

    data: DataFile
    target: str
    recipe: Mapping[str, Any] | str
    arms: tuple[Arm, ...] = (NONE,)
    seed: int = 42
    canaries: float = 0.02
    control: float = 0.02
    planted: tuple[int, ...] = PLANTED
    planted_each: int | None = None
    heldout: float = 0.2
    references: int = 0
    references_at: tuple[Arm, ...] | None = None
    assignment: Assignment = "uniform"
    labels: DataFile | None = None
    positive: tuple[str, ...] | None = None
    group: str | None = None
    drop: tuple[str, ...] = ()
    same_epochs: bool = True
    keep_models: bool = False
    broken: bool = False

    def __post_init__(self) -> None:
        for name in ("canaries", "control", "heldout"):
            value, least = getattr(self, name), name == "canaries"
            whole = 1.0 <= value < inf and value == int(value)
            if not whole and not (0.0 < value < 1.0 or (value == 0.0 and not least)):
                raise UsageError(f"{name} is {value:g}; expected a share {'above' if least else 'from'} 0 and below 1, "
                                 "or a whole number of rows")
        if self.references < 0 or self.seed < 0 or (self.planted_each is not None and self.planted_each < 1):
            raise UsageError(f"references {self.references}, seed {self.seed}, planted_each {self.planted_each}; "
                             "expected whole numbers from 0, the last from 1")
        check_planted(self.planted)
        if self.assignment not in ASSIGNMENTS:
            raise UsageError(f"assignment is {self.assignment[:20]!r}: expected one of {', '.join(ASSIGNMENTS)}")
        names = [arm.name for arm in self.arms]
        if not names or len(set(names)) < len(names):
            raise UsageError(f"arms are {', '.join(names) or 'not there'}; expected a mechanism and an epsilon at the "
                             "least, and each pair once")
        for arm in self.arms:
            if arm != NONE:
                label_mechanism(arm.mechanism, arm.epsilon, 2, allow_broken=self.broken)

    @property
    def models(self) -> list[ModelKey]:
        """Each arm's target, then its references."""
        return [(arm, number) for arm in self.arms for number in range(
            1 + (self.references if self.references_at is None or arm in self.references_at else 0))]

    def read(self) -> Dataset:
        """The data set. Raises InputError as `read_dataset`."""
        return read_once(read_dataset, self.data.path, labels=None if self.labels is None else self.labels.path,
                         **{name: getattr(self, name) for name in READ})

    def check(self) -> None:
        """Raise, before anything is trained or written, what planning, reading or assigning would raise."""
        self.tasks()
        steps.assign(self.read(), {name: getattr(self, name) for name in ASSIGNED}, self.seed, self.data.path.name)

    def tasks(self, stored: Sequence[Spec] = ()) -> dict[str, Task]:
        """`assign`, and under their keys the tasks that train models; those that are `stored` come first.

        Raises UsageError for a recipe that is not there, that trains no network, or with patience.
        """
        recipe = recipe_of(self.recipe)
        check_recipe(recipe, lambda one: hasattr(one, "network"), "does not train under label mechanisms")
        if getattr(recipe, "patience", None) is not None:
            raise UsageError(f"the recipe {recipe.name!r} has patience, which needs validation rows with labels, and a "
                             "label audit keeps none; expected patience=none")
        files = {"data": self.data, **({} if self.labels is None else {"labels": self.labels})}
        read = {name: getattr(self, name) for name in READ}
        assign = Task.of(steps.assign_labels, "assign", files=files, seed=self.seed, libraries=LABEL_LIBRARIES,
                         params={**read, **{name: getattr(self, name) for name in ASSIGNED}})

        def trains(models: Sequence[ModelKey], clock: Task | None = None) -> Task:
            listed = [[arm.mechanism, None if arm.epsilon == inf else arm.epsilon, number] for arm, number in models]
            (first, number), more = models[0], len(models) - 1
            return Task.of(steps.fit, f"{MODELS}{first.name}/{number}" + (f"+{more}" if more else ""), files=files,
                           inputs={"assign": assign, **({} if clock is None else {"clock": clock})}, seed=self.seed,
                           libraries=(*LABEL_LIBRARIES, *recipe.libraries),
                           params={**read, "recipe": recipe.to_json(), "keep": self.keep_models, "models": listed})

        # The clock is trained for an audit without it, too: the other models follow it.
        timed = self.same_epochs and getattr(recipe, "until_accuracy", None) is not None
        clock = trains([(NONE, 0)]) if timed else None
        wanted, found = dict.fromkeys(self.models), {"assign": assign}
        shape = _shape(json.loads(trains([(NONE, 0)], clock).spec))
        there = [trains(list(_models_in(spec)), clock) for spec in stored if _shape(spec) == shape]
        for task in [*([] if clock is None else [clock]), *there]:
            held = [model for model in _models_in(json.loads(task.spec)) if model in wanted]
            if held:
                found[task.key] = task
            for model in held:
                del wanted[model]
        # Models of one scheme together, targets and references apart, as these are trained on more rows.
        kinds: dict[tuple[str, bool], list[ModelKey]] = {}
        for arm, number in wanted:
            kinds.setdefault((arm.scheme, number > 0), []).append((arm, number))
        size = MOST if isinstance(recipe, ManyRecipe) else 1
        parts = [part[start:start + size] for part in kinds.values() for start in range(0, len(part), size)]
        found |= {task.key: task for task in (trains(part, clock) for part in parts)}
        return found

    def table(self, results: Mapping[str, Result], data: Dataset) -> ScoreTable:
        """Scores of every model on every row: each arm's target, then its references.

        A reference was trained on the target's controls too, which are canaries to it, and has the same planted ones.
        """
        there, arrays = results["assign"].arrays, {name: result.arrays for name, result in results.items()}
        recipe = str(recipe_of(self.recipe).name)
        found = placed(self, {name: result.task for name, result in results.items()})
        role = [np.where(there["role"] == CONTROL, CANARY, there["role"]) if number else there["role"]
                for _, number in found]
        models = tuple(Model(arm.model(self.seed, number), "reference" if number else "target",
                             facts={"recipe": recipe}, mechanism=arm.mechanism, epsilon=arm.epsilon,
                             seed=str(self.seed)) for arm, number in found)
        label, trained, logits = (np.stack([arrays[name][kind][place] for name, place in found.values()])
                                   for kind in ("label", "trained", "logits"))
        canaries = Canaries(np.stack(role).astype(np.int8), label.astype(np.int64), trained.astype(np.int64),
                            np.tile(there["planted"].astype(np.int64), (len(models), 1)))
        return ScoreTable.of_canaries(models, np.array(data.ids, dtype=np.object_), data.labels, canaries,
                                      logits.astype(np.float64), data.groups)

    def training(self, results: Mapping[str, Result]) -> dict[str, Any]:
        """See `training_record`."""
        return training_record([Trained(self, results, None)])


def arms_of(mechanisms: Sequence[str], epsilons: Sequence[float]) -> tuple[Arm, ...]:
    """Every mechanism at every finite ε, each ε's mechanisms together; no mechanism, once, where ε is infinite."""
    found: dict[Arm, None] = {}
    for epsilon in epsilons:
        found.update(dict.fromkeys([NONE] if epsilon == inf else [Arm(name, epsilon) for name in mechanisms]))
    return tuple(found)


def placed(experiment: LabelExperiment, specs: Mapping[str, Spec]) -> dict[ModelKey, tuple[str, int]]:
    """Where each model of an experiment is: the name of its task among the described ones, and its place there."""
    found: dict[ModelKey, tuple[str, int]] = {}
    for name, spec in specs.items():
        for place, model in enumerate(_models_in(spec)):
            found.setdefault(model, (name, place))
    return {model: found[model] for model in experiment.models}


def joined(done: Sequence[Trained[LabelExperiment]]) -> ScoreTable:
    """One table of the models of experiments on the same rows, such as seeds. ValueError for others, or none."""
    if not done:
        raise ValueError("0 experiments: expected at least one")
    return stacked([one.table() for one in done])


def training_record(done: Sequence[Trained[LabelExperiment]]) -> dict[str, Any]:
    """What a report says of the training of experiments that differ in their seeds and arms alone.

    Recipe and versions, the rows of each role by seed, and what is known of each model; without text and times.
    """
    first, sizes, models = done[0].experiment, dict[str, Any](), list[dict[str, Any]]()
    for one in done:
        seed = one.experiment.seed
        sizes[str(seed)] = one.results["assign"].value["sizes"]
        facts = {name: result.value["facts"] for name, result in one.results.items() if name != "assign"}
        specs = {name: result.task for name, result in one.results.items()}
        for (arm, number), (name, place) in placed(one.experiment, specs).items():
            known = facts[name][place]
            models.append({"model": arm.model(seed, number), "role": "reference" if number else "target",
                           "mechanism": arm.mechanism, "epsilon": epsilon_json(arm.epsilon), "seed": seed,
                           **{fact: known[fact] for fact in FACTS if fact in known}})
    value = done[0].results["assign"].value
    task = next(result.task for name, result in done[0].results.items() if name != "assign")
    return {"recipe": recipe_of(first.recipe).to_json(), "data": value["kind"], "classes": value["classes"],
            "target": first.target, "assignment": first.assignment, "grouped": first.group is not None,
            "same_epochs": first.same_epochs, "deals": sizes, "models": models, "versions": dict(task["versions"])}


def _models_in(spec: Spec) -> Iterator[ModelKey]:
    """The models that a described task trains."""
    return ((Arm.of(name, epsilon), int(number)) for name, epsilon, number in spec["params"].get("models", ()))


def _shape(spec: Spec) -> dict[str, Any]:
    """A description but for which models are trained: equal where the tasks differ in those alone."""
    params = {name: value for name, value in spec["params"].items() if name != "models"}
    return {**{name: value for name, value in spec.items() if name != "name"}, "params": params}
