"""A world: one data set dealt into sides by seeded coins, and every model that an audit of one recipe needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import UsageError
from discreet.engine import DataFile, Task
from discreet.experiments.membership import steps
from discreet.train import FiledRecipe, Recipe, recipe_of
from discreet.train.base import recipes

Copies = Literal["exact", "paraphrase"]

ROLES = ("a", "b", "selector", "neutral", "placebo")
"""Models of every world: f_A, f_B, f_S, the neutral reference, the placebo target."""
PLANTED = (1, 4, 16)
LIBRARIES = ("discreet.train", "discreet.data")
MOST_COPIES = 64


@dataclass(frozen=True, slots=True)
class World:
    """What is trained on what.

    Attributes
    ----------
    data : DataFile
        Rows with id, text (or turns) and label, and where they are there group, category, structure.
    recipe : mapping
        A recipe's `to_json()`, or what `recipe_of` reads.
    seed : int
        Deals the sides and starts every model; each model draws numbers of its own from it.
    sizes : mapping of str to int, optional
        Examples of each side; the paper's proportions of what there is for those not named.
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
        Let near duplicates stand on different sides.
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
        if any(times < 1 for times in self.planted) or len(set(self.planted)) != len(self.planted):
            raise UsageError(f"planted repetitions are {', '.join(map(str, self.planted))}; expected different whole "
                             "numbers from 1, or none")
        if not 1 <= self.copies <= MOST_COPIES:
            raise UsageError(f"{self.copies} copies were asked for; expected 1 to {MOST_COPIES}")
        if (self.copied == "paraphrase" and self.copies > 1) != (self.paraphrases is not None):
            raise UsageError("paraphrased copies and a file of paraphrases go together; expected both or neither")

    def with_seed(self, seed: int) -> World:
        """The same study, dealt and trained anew."""
        return replace(self, seed=seed)


def tasks_of(world: World) -> dict[str, Task]:
    """Every task of a world by its name: `prepare`, `fit/<role>`, `shadows`, `fit/mismatched`.

    Raises UsageError for a recipe that is not there or takes no texts, or an option that cannot be, InputError for a
    base model that is not there.
    """
    recipe = recipe_of(world.recipe)
    _refuse_textless(recipe)
    said = recipe.to_json()
    data = {"data": world.data}
    prepare = Task.of(
        steps.prepare, "prepare", files=data, seed=world.seed, libraries=(*LIBRARIES, "discreet.audit.core.power"),
        params={"sizes": dict(world.sizes), "planted": list(world.planted), "near": not world.allow_near})
    found = {"prepare": prepare}
    common = {"recipe": said, "copies": world.copies, "positives_only": world.positives_only,
              "keep": world.keep_models}
    libraries = (*LIBRARIES, *recipe.libraries)
    base = _files(recipe)

    def fit(function: Any, name: str, extra: Mapping[str, DataFile], **params: Any) -> Task:
        return Task.of(function, name, params={**common, **params}, inputs={"prepare": prepare},
                       files={**data, **base, **extra}, seed=world.seed, libraries=libraries)

    copied = {} if world.paraphrases is None else {"paraphrases": world.paraphrases}
    for role in ROLES:
        found[f"fit/{role}"] = fit(steps.fit, f"fit/{role}", copied, role=role, hidden=world.hidden and role == "a")
    if world.shadows and hasattr(recipe, "fit_many"):
        found["shadows"] = fit(steps.fit_shadows, "shadows", {}, which=list(range(world.shadows)))
    else:
        for number in range(world.shadows):
            name = f"shadow/{number}"
            found[name] = fit(steps.fit_shadows, name, {}, which=[number])
    if world.mismatched is not None:
        found["fit/mismatched"] = fit(steps.fit_mismatched, "fit/mismatched", {"other": world.mismatched})
    return found


def _refuse_textless(recipe: Recipe) -> None:
    if not getattr(recipe, "takes_texts", True):
        # Of a class whose options decide it the attribute is a property.
        known = ", ".join(name for name, kind in recipes.items() if getattr(kind, "takes_texts", True) is not False)
        given = "" if getattr(type(recipe), "takes_texts", True) is False else " with these options"
        raise UsageError(f"the recipe {recipe.name!r}{given} takes no texts; expected one of {known}")


def _files(recipe: Recipe) -> dict[str, DataFile]:
    """What a recipe reads besides the data; a base model that changes is another recipe."""
    if not isinstance(recipe, FiledRecipe):
        return {}
    return {f"base/{name}": _known(path, path.stat().st_mtime_ns, path.stat().st_size)
            for name, path in recipe.files().items()}


@lru_cache(maxsize=4096)
def _known(path: Path, _changed: int, _size: int) -> DataFile:
    # A study describes its base models hundreds of times.
    return DataFile.of(path)
