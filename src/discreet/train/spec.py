"""What `--recipe` may say, and the recipe that it names.

`tfidf-mlp`                                     a recipe with its defaults
`transformer:base=minilm,regime=lora,rank=64`   with options; the parts of a list are separated by `+`
`recipe.yaml`, `recipe.json`                    a file that holds `name` and options
a mapping                                       the same, such as a recipe's `to_json()`
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import yaml

from discreet.core.errors import UsageError
from discreet.core.files import why
from discreet.train.base import Recipe, recipes

FILES = (".yaml", ".yml", ".json")
_WITH_OPTIONS = re.compile(r"[\w-]+:\s*\w+\s*=")
_WORDS = {"none": None, "true": True, "false": False}


def recipe_of(spec: str | Mapping[str, Any]) -> Recipe:
    """The recipe that a value of `--recipe`, or a mapping, asks for; see the head of this module.

    Raises
    ------
    UsageError
        For an unknown name or option, a value of another type or out of range, or a file that cannot be read; one line
        that lists what there is.
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
    values = {key: _value(name, key, value, hints[key]) for key, value in given.items()}
    try:
        return maker(**values)
    except ValueError as error:
        raise UsageError(f"the recipe {name!r}: {error}") from None


def options_of(recipe: Any) -> dict[str, Any]:
    """`{"name": …, option: value, …}` of a recipe that is a dataclass; what `to_json` returns."""
    values = {one.name: getattr(recipe, one.name) for one in fields(recipe)}
    return {"name": recipe.name, **{k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}}


def _parsed(spec: str) -> dict[str, Any]:
    """Name and options of a string, or what a file holds."""
    if Path(spec).suffix.lower() in FILES and not _WITH_OPTIONS.match(spec):
        return _read(Path(spec))
    name, colon, rest = spec.partition(":")
    parts = [part.partition("=") for part in rest.split(",")] if colon else []
    if not name or any(not key.strip() or not equals for key, equals, _ in parts):
        raise UsageError(f"the recipe {spec!r}: expected name, or name:option=value,option=value; names are "
                         f"{', '.join(recipes)}")
    keys = [key.strip() for key, _, _ in parts]
    twice = next((key for key in keys if keys.count(key) > 1 or key == "name"), None)
    if twice is not None:
        raise UsageError(f"the recipe {spec!r} gives {twice!r} twice: expected each option once")
    return {"name": name.strip(), **{key: _Word(value.strip()) for key, (_, _, value) in zip(keys, parts, strict=True)}}


class _Word(str):
    """The text of a value, as opposed to a string that a mapping holds."""

    __slots__ = ()


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


def _value(name: str, key: str, value: Any, hint: Any) -> Any:
    """A value of the option's type. Raises UsageError."""
    for kind in _kinds(hint):
        taken, found = _as(value, kind)
        if taken:
            return found
    shown = f"{str(value)!r}" if isinstance(value, str | int | float | NoneType) else f"a {type(value).__name__}"
    raise UsageError(f"the recipe {name!r}: {key} is {shown}; expected {' or '.join(map(_called, _kinds(hint)))}")


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The members of a union, None before text so that the word "none" is None where that may be."""
    found = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(sorted(found, key=lambda kind: (kind is str, kind is not NoneType)))


def _as(value: Any, kind: Any) -> tuple[bool, Any]:
    """Whether a value can be of a kind, and it as that kind."""
    word = isinstance(value, _Word)
    if get_origin(kind) is tuple:
        parts = [part.strip() for part in value.split("+")] if word else value
        good = isinstance(parts, list | tuple) and all(isinstance(one, str) and one for one in parts)
        return good, tuple(map(str, parts)) if good else None
    if get_origin(kind) is Literal:
        found = next((one for one in get_args(kind) if (str(one) == value if word else one == value)), None)
        return found is not None, found
    if word and kind in (bool, NoneType):
        value = _WORDS.get(value.lower(), value)
    elif word and kind in (int, float):
        try:
            value = kind(value)
        except ValueError:
            return False, None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return good, str(value) if good and kind is str else value


def _called(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return "a list of words"
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    return {int: "a whole number", float: "a number", str: "text", bool: "true or false", NoneType: "none"}.get(
        kind, str(kind))
