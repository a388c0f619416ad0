"""Calls of public functions that cannot be: arguments that are missing, unknown, or of another kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from discreet.core.errors import UsageError, meant, shown
from discreet.core.files import dump_json

P = ParamSpec("P")
R = TypeVar("R")


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, which raises UsageError instead of TypeError where the arguments are not those that it takes."""
    taken = signature(function)

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            taken.bind(*args, **kwargs)
        except TypeError:
            own = {name: one for name, one in taken.parameters.items() if name != "self"}
            given = [*args] if len(own) == len(taken.parameters) else [*args[1:]]
            raise UsageError(_misfit(function.__name__, own, len(given), kwargs)) from None
        return function(*args, **kwargs)

    return called


def _misfit(name: str, taken: Mapping[str, Parameter], values: int, given: Mapping[str, Any]) -> str:
    """What is wrong with a call of `values` arguments by place and those by name that are `given`."""
    placed = [one for one, said in taken.items() if said.kind is not Parameter.KEYWORD_ONLY
              and said.kind is not Parameter.VAR_KEYWORD]
    named = [one for one, said in taken.items() if said.kind is not Parameter.VAR_KEYWORD]
    unknown = [one for one in given if one not in named]
    missing = [one for one in placed[values:] if one not in given and taken[one].default is Parameter.empty]
    call = f"{name}({', '.join(placed)}{', …' if len(taken) > len(placed) else ''})"
    if len(named) == len(taken) and unknown:
        return f"{name}() has no argument {unknown[0]!r}; {meant(unknown[0], named)}"
    if missing:
        instead = f" ({', '.join(unknown)} was given)" if unknown else ""
        return f"{name}() was called without {' and '.join(missing)}{instead}; expected {call}"
    if values > len(placed):
        return f"{name}() was called with {values} arguments without a name; expected {call}: name the others"
    return f"{name}() was given an argument twice; expected {call}"


def path_of(given: Any, name: str) -> Path:
    """`given` as a path. UsageError, which calls it `name`, where it is none."""
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"{name} is {shown(given)}; expected a path: a str or a Path")
    return Path(given)


def check_flags(**given: Any) -> None:
    """UsageError for an option that is neither True nor False: "no" would count as yes."""
    for name, value in given.items():
        if value not in (True, False) or isinstance(value, str):
            raise UsageError(f"{name} is {shown(value)}; expected True or False")


def check_facts(given: Any, name: str) -> None:
    """UsageError where `given` is no mapping that JSON can hold."""
    try:
        if isinstance(given, Mapping) and all(isinstance(one, str) for one in given):
            dump_json(dict(given))
            return
    except (TypeError, ValueError):
        raise UsageError(f"{name} holds a value that JSON cannot; expected words, finite numbers, and lists of them"
                         ) from None
    raise UsageError(f"{name} is {shown(given)}; expected a mapping of names to facts")
