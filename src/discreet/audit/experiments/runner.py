"""Run experiments: every task of all of them once, each data file read once, and the scores of each in one table.

An experiment says how records are assigned and what is trained; `MembershipExperiment` and `LabelExperiment` are the
two there are. The runner knows neither of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from discreet.audit.engine import Result, Store, Task, run
from discreet.audit.scores.table import ScoreTable
from discreet.audit.train import Recipe
from discreet.audit.train.base import recipes
from discreet.core.errors import MissingExtraError, UsageError

LIBRARIES = ("discreet.audit.train", "discreet.inputs")
"""What every trained model depends on besides its recipe's libraries."""
PLANTED = (1, 4, 16)
"""How often the records of the positive control stand in training, by default."""
EXTRAS = {"opacus": "dp"}
"""The extra that brings a library of recipes, where it is not "train"."""
MODELS = "models/"
"""How the names of tasks begin whose models another experiment may use."""

Spec = Mapping[str, Any]
"""The description of a task whose result is in a store."""
D = TypeVar("D")


class Experiment(Protocol):
    """One data set, one assignment of its records, and every model that an audit of it needs."""

    def tasks(self, stored: Sequence[Spec] = ()) -> dict[str, Task]:
        """Every task by name; `stored` describes tasks of models whose results are there already.

        Raises UsageError for a recipe that is not there or cannot be used, InputError for a base model that is not.
        """

    def read(self) -> Any:
        """The data set. Raises InputError for a file that cannot be read."""

    @property
    def table(self) -> Callable[..., ScoreTable]:
        """From results by name, the data set and further options to the scores of all models."""

    def training(self, results: Mapping[str, Result]) -> dict[str, Any]:
        """What a report says of the training, without text and times."""


E = TypeVar("E", bound=Experiment)


@dataclass(frozen=True, slots=True, eq=False)
class Trained(Generic[E]):
    """An experiment after its tasks have run: their results by name, and the data set, which no result holds."""

    experiment: E
    results: Mapping[str, Result]
    data: Any

    def table(self, **options: Any) -> ScoreTable:
        """The scores of all models; options are those of the experiment's `table`."""
        return self.experiment.table(self.results, self.data, **options)

    def training(self) -> dict[str, Any]:
        """What a report says of the training."""
        return self.experiment.training(self.results)

    def texts(self) -> dict[str, str]:
        """Text of each row by id, for the blind baseline of a membership audit; never kept."""
        return {row.id: row.text for row in self.data}


def train(experiments: Sequence[E], store: Store | Path | str, *, engine: str = "local", workers: int | None = None,
          address: str | None = None, quiet: bool = False, check: Callable[[Trained[E]], object] | None = None
          ) -> list[Trained[E]]:
    """Train everything that the experiments need, each model once; what the store has is not trained again.

    `check` is called before any model is trained, with the first experiment and the results of its tasks that read no
    other result: how its records are assigned. Raises DiscreetError as `engine.run`, UsageError and InputError as
    `Experiment.tasks` and `Experiment.read`, and what `check` raises.
    """
    opened = store if isinstance(store, Store) else Store(store)
    stored = stored_models(opened)
    tasks = [experiment.tasks(stored) for experiment in experiments]
    if check is not None:
        first = {name: task for name, task in tasks[0].items() if not task.inputs}
        prepared = run(list(first.values()), opened, engine="inline", quiet=True)
        check(Trained(experiments[0], {name: prepared[task.key] for name, task in first.items()},
                      experiments[0].read()))
    found = run([task for one in tasks for task in one.values()], opened, engine=engine, workers=workers,
                address=address, quiet=quiet, label="models")
    return [Trained(experiment, {name: found[task.key] for name, task in one.items()}, experiment.read())
            for experiment, one in zip(experiments, tasks, strict=True)]


def stored_models(store: Store) -> list[Spec]:
    """Descriptions of the tasks named `MODELS` whose results are in the store, whole."""
    keys = dict.fromkeys(line["key"] for line in store.history()
                         if line.get("event") == "publish" and str(line.get("task", "")).startswith(MODELS))
    return [found.task for key in keys if (found := store.get(key)) is not None]


def read_once(reader: Callable[..., D], path: Path, **options: Any) -> D:
    """What `reader(path, **options)` gives, read again only where the file has changed.

    A process runs many tasks on the same file. What is given is shared: it must not be changed.
    """
    state = path.stat() if path.exists() else None
    plain = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in sorted(options.items()))
    found: D = _read(reader, path, None if state is None else (state.st_mtime_ns, state.st_size), plain)
    return found


@lru_cache(maxsize=4)
def _read(reader: Callable[..., Any], path: Path, _state: Hashable, options: tuple[tuple[str, Any], ...]) -> Any:
    return reader(path, **dict(options))


def check_recipe(recipe: Recipe, able: Callable[[Any], bool], refusal: str) -> None:
    """Raise UsageError where a recipe is not `able`, and name those that are; MissingExtraError without its packages.

    `able` is asked of recipes and of their classes; what the options of a recipe decide is a property of its class.
    """
    for name in recipe.libraries:
        if not name.startswith("discreet") and not _installed(name):
            raise MissingExtraError(f"the recipe {recipe.name!r}", EXTRAS.get(name, "train"), name)
    if not able(recipe):
        known = ", ".join(name for name, kind in recipes.items() if able(kind))
        given = " with these options" if able(type(recipe)) else ""
        raise UsageError(f"the recipe {recipe.name!r}{given} {refusal}; expected one of {known}")


def _installed(name: str) -> bool:
    """Whether there is a distribution or a module of this name."""
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return find_spec(name) is not None


def check_planted(planted: Sequence[int]) -> None:
    """Raise UsageError for repetitions of planted records that are below 1 or there twice."""
    if any(times < 1 for times in planted) or len(set(planted)) != len(planted):
        raise UsageError(f"planted repetitions are {', '.join(map(str, planted))}; expected different whole numbers "
                         "from 1, or none")
