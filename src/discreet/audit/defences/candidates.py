"""The defences that `discreet defend training` tries: changes of a recipe's options, or of the rows it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from discreet.audit.train.base import recipes
from discreet.audit.train.spec import recipe_of
from discreet.core.errors import UsageError, meant

DEFAULTS = "early-stopping,weight-decay,weight-decay=0.01,penalty,penalty=0.01,label-smoothing,deduplicate,dp-sgd"
"""What is tried where nobody says: those of these that the recipe has, and does not have on; DP-SGD where its library
is installed."""
PRIVATE = "private-"
"""How the name of the recipe begins that trains as another by DP-SGD."""


@dataclass(frozen=True, slots=True)
class Defence:
    """A way to train: a name such as "weight decay 0.01", the recipe's `to_json` with it, and whether one row of each
    cluster of near-duplicates is trained on."""

    name: str
    recipe: Mapping[str, Any]
    deduplicate: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """What a word stands for: an option of recipes and the strength that it has where none is given, None for a change
    of the rows; `private` where the option is of the recipe that trains by DP-SGD, `inverse` where less is stronger."""

    called: str
    option: str | None = None
    usual: float | None = None
    whole: bool = False
    private: bool = False
    inverse: bool = False


KINDS: Mapping[str, Kind] = {
    "early-stopping": Kind("early stopping, patience", "patience", 3, whole=True),
    "weight-decay": Kind("weight decay", "decay", 0.001),
    "penalty": Kind("L2 penalty, C", "C", 0.1, inverse=True),
    "label-smoothing": Kind("label smoothing", "smoothing", 0.1),
    "deduplicate": Kind("one of near-duplicates"),
    "dp-sgd": Kind("DP-SGD, ε", "epsilon", 8.0, private=True),
}


def defences_of(words: str | None, recipe: Mapping[str, Any] | str) -> list[Defence]:
    """The defences that `early-stopping,weight-decay=0.01` asks for, or the usual ones of a recipe where `words` is
    None.

    Raises UsageError for a word that is no defence, one that is there twice, a strength that cannot be, and an option
    that the recipe does not have or already has; and as `recipe_of`.
    """
    plain = recipe_of(recipe).to_json()
    given = DEFAULTS if words is None else words
    found: list[Defence] = []
    for word in given.split(","):
        kind, strength = _read(word.strip())
        if words is not None or _usual(kind, strength, plain):
            found.append(_applied(word.strip(), kind, strength, plain))
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"the defence {twice[0]!r} is there twice; expected each once")
    return found


def _read(word: str) -> tuple[Kind, float | None]:
    """Kind and strength of one word."""
    name, equals, number = word.partition("=")
    if name not in KINDS:
        raise UsageError(f"there is no defence {name[:30]!r}; {meant(name, KINDS)}")
    kind = KINDS[name]
    if not equals:
        return kind, kind.usual
    try:
        strength = float(number)
    except ValueError:
        strength = float("nan")
    if kind.option is None or not strength > 0.0 or (kind.whole and strength != int(strength)):
        expected = "no number" if kind.option is None else f"a {'whole ' if kind.whole else ''}number above 0"
        raise UsageError(f"the defence {name!r} has the strength {number[:20]!r}; expected {expected}")
    return kind, strength


def _usual(kind: Kind, strength: float | None, recipe: Mapping[str, Any]) -> bool:
    """Whether a defence is tried on a recipe where nobody names any."""
    if kind.inverse and kind.option is not None:
        return float(recipe.get(kind.option, 0.0)) > (strength or 0.0)
    if kind.private:
        return f"{PRIVATE}{recipe['name']}" in recipes and find_spec("opacus") is not None
    return kind.option is None or recipe.get(kind.option, "not there") in (None, 0.0)


def _applied(word: str, kind: Kind, strength: float | None, recipe: Mapping[str, Any]) -> Defence:
    """The recipe with a defence."""
    if kind.option is None or strength is None:
        return Defence(kind.called, recipe, deduplicate=True)
    trained = _private(word, recipe) if kind.private else recipe
    if kind.option not in trained:
        raise UsageError(f"the defence {word!r} sets the option {kind.option!r}, which the recipe {recipe['name']!r} "
                         "does not have; leave it out, or take another recipe")
    value = int(strength) if kind.whole else strength
    if recipe.get(kind.option) == value:
        raise UsageError(f"the recipe has {kind.option}={value:g} as it is, so that the defence {word!r} changes "
                         "nothing; give another strength, or a recipe without it")
    if kind.inverse and value > recipe[kind.option]:
        raise UsageError(f"the defence {word!r} is weaker than the recipe, which has {kind.option}="
                         f"{recipe[kind.option]:g}; expected a smaller number, which is a stronger penalty")
    return Defence(f"{kind.called} {value:g}", recipe_of({**trained, kind.option: value}).to_json())


def _private(word: str, recipe: Mapping[str, Any]) -> Mapping[str, Any]:
    """The recipe that trains as another by DP-SGD, with the options that both have and that are not the defaults."""
    name = str(recipe["name"])
    if name.startswith(PRIVATE):
        return recipe
    if (private := f"{PRIVATE}{name}") not in recipes:
        known = [one.removeprefix(PRIVATE) for one in recipes if one.startswith(PRIVATE)]
        raise UsageError(f"the defence {word!r} is not there for the recipe {name!r}; expected one of "
                         f"{', '.join(known)}; leave it out, or take another recipe")
    usual, own = recipe_of(name).to_json(), recipe_of(private).to_json()
    given = {option: value for option, value in recipe.items() if option in own and value != usual[option]}
    return {**own, **given}
