"""What `--recipe` may say, the recipe that it names, and the folders in which its models are saved.

`tfidf-mlp`                                     a recipe with its defaults
`transformer:base=minilm,regime=lora,rank=64`   with options; the parts of a list are separated by `+`
`recipe.yaml`, `recipe.json`                    a file that holds `name` and options
a mapping                                       the same, such as a recipe's `to_json()`

A folder is written whole or not at all, and checked byte by byte when it is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
import yaml
from numpy.typing import NDArray

from discreet.audit.train.base import Fitted, Recipe, recipes
from discreet.core.arrays import read_arrays
from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json, refuse_text, why
from discreet.core.folders import atomic_folder, read_manifest, write_manifest

MANIFEST, FORM, VERSION = "recipe.json", "discreet-recipe", 1
ARRAYS = "model.safetensors"
"""Where the built-in recipes keep the arrays of a model."""
_WITH_OPTIONS = re.compile(r"[\w-]+:\s*\w+\s*=")
_WORDS: dict[str, Any] = {"none": None, "true": True, "false": False}
_CALLED = {int: "a whole number", float: "a number", str: "text", bool: "true or false", NoneType: "none"}


class _Word(str):
    """The text of a value, as opposed to a string that a mapping holds."""

    __slots__ = ()


def recipe_of(spec: str | Mapping[str, Any]) -> Recipe:
    """The recipe that a value of `--recipe`, or a mapping, asks for; see the head of this module.

    Raises UsageError for an unknown name or option, a value of another type or out of range, or a file that cannot be
    read; one line that lists what there is.
    """
    given = dict(spec) if isinstance(spec, Mapping) else _parsed(spec)
    name = given.pop("name", None)
    if not isinstance(name, str):
        raise UsageError(f"a recipe without a name: expected one of {', '.join(recipes)}")
    maker = recipes[name]
    hints = get_type_hints(maker)
    known = [one.name for one in fields(cast(Any, maker))]
    odd = [str(key) for key in given if key not in known]
    if odd:
        raise UsageError(f"the recipe {name!r} has no option {odd[0]!r}: expected {', '.join(known) or 'none'}")
    try:
        return maker(**{key: _value(key, value, hints[key]) for key, value in given.items()})
    except ValueError as error:
        raise UsageError(f"the recipe {name!r}: {error}") from None


@contextmanager
def saving(folder: Path, recipe: Recipe, n_classes: int, facts: Mapping[str, Any]) -> Iterator[Path]:
    """Save a fitted model atomically: the block writes its files into the folder that is yielded.

    `facts` are `Fitted.facts`. Raises UsageError where the folder cannot be written or holds something else, and
    ValueError where a fact may hold text.
    """
    refuse_text(facts)
    body = {"recipe": recipe.to_json(), "n_classes": int(n_classes), "facts": dict(facts)}
    with atomic_folder(folder, MANIFEST) as part:
        yield part
        write_manifest(part, MANIFEST, FORM, VERSION, {**body, "body_sha256": _digest(body)})


def load_fitted(folder: Path) -> Fitted:
    """The model that was saved in a folder, all its files verified.

    Raises InputError where the folder holds none, or one that is truncated, changed, of another version, or of a recipe
    that is not installed.
    """
    manifest = read_manifest(folder, MANIFEST, FORM, VERSION)
    spec = manifest.fact("recipe", dict)
    if manifest.fact("n_classes", int) < 2 or not isinstance(manifest.facts.get("facts"), dict):
        raise InputError(f"{folder}: the manifest must give n_classes >= 2 and facts: save the model again")
    try:
        maker = recipe_of(spec)
    except UsageError as error:
        raise InputError(f"{folder}: {error}") from None
    if manifest.fact("body_sha256", str) != _digest({k: v for k, v in manifest.facts.items() if k != "body_sha256"}):
        raise InputError(f"{folder / MANIFEST} was changed after it was saved: copy the whole folder again")
    return maker.load(folder, manifest.verify())


def saved_arrays(folder: Path, shapes: Mapping[str, tuple[int | None, ...]]) -> dict[str, NDArray[Any]]:
    """The arrays of a saved model; None in a shape stands for any size.

    Raises InputError where one is missing, unexpected, not finite, or of another shape.
    """
    state = read_arrays(folder / ARRAYS)
    odd = sorted(state.keys() ^ shapes.keys()) or [
        name for name, shape in shapes.items() if len(shape) != state[name].ndim or not np.isfinite(state[name]).all()
        or any(size not in (None, found) for size, found in zip(shape, state[name].shape, strict=True))]
    if odd:
        raise InputError(f"{folder}: {odd[0]!r} is missing, unexpected, not finite or of another shape than the recipe "
                         "has it; save the model again")
    return state


def _digest(body: Mapping[str, Any]) -> str:
    """SHA-256 of what the manifest says, in 64 hexadecimal digits."""
    plain = json.loads(dump_json(body))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode("utf-8")).hexdigest()


def _parsed(spec: str) -> dict[str, Any]:
    """Name and options of a string, or what a file holds."""
    if Path(spec).suffix.lower() in (".yaml", ".yml", ".json") and not _WITH_OPTIONS.match(spec):
        return _read(Path(spec))
    name, colon, rest = spec.partition(":")
    parts = [part.partition("=") for part in rest.split(",")] if colon else []
    if not name or any(not key.strip() or not equals for key, equals, _ in parts):
        raise UsageError(f"the recipe {spec!r}: expected name, or name:option=value,option=value; names are "
                         f"{', '.join(recipes)}")
    found: dict[str, Any] = {"name": name.strip()}
    for key, _, value in parts:
        if key.strip() in found:
            raise UsageError(f"the recipe {spec!r} gives {key.strip()!r} twice: expected each option once")
        found[key.strip()] = _Word(value.strip())
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UsageError(f"cannot read the recipe {path}: {why(error)}; name a file that can be read") from None
    except (ValueError, yaml.YAMLError):
        raise UsageError(f"{path} is no {path.suffix[1:].upper()}: expected a mapping of name and options") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path} holds no mapping: expected name and options of a recipe")
    return found


def _value(key: str, value: Any, hint: Any) -> Any:
    """A value of the option's type. Raises ValueError."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    # None before text, so that the word "none" is None where that may be.
    kinds = sorted(members, key=lambda kind: (kind is str, kind is not NoneType))
    for kind in kinds:
        for one in _readings(value) if isinstance(value, _Word) else [value]:
            if _fits(one, kind):
                return tuple(one) if isinstance(one, list) else float(one) if kind is float else one
    shown = f"{str(value)!r}" if isinstance(value, str | int | float | NoneType) else f"a {type(value).__name__}"
    raise ValueError(f"{key} is {shown}; expected {' or '.join(map(_called, kinds))}")


def _readings(word: str) -> list[Any]:
    """What a word may stand for."""
    found = [_WORDS[word.lower()]] if word.lower() in _WORDS else []
    for kind in (int, float):
        with suppress(ValueError):
            found.append(kind(word))
    return [*found, [part.strip() for part in word.split("+")], str(word)]


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is tuple:
        return isinstance(value, list | tuple) and all(isinstance(one, str) and one for one in value)
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    return isinstance(value, int | float if kind is float else kind) and (kind is bool or not isinstance(value, bool))


def _called(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return "a list of words"
    return "one of " + ", ".join(map(str, get_args(kind))) if get_origin(kind) is Literal else _CALLED[kind]
