"""Which names there are, and which one somebody meant: of settings, of their variables, and of fields of a request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from discreet.core.errors import UsageError, meant

OURS = "DISCREET_"
SURE = 0.9
"""How alike the name of a variable without our prefix must be to that of a setting."""
NEAR = 0.75
"""How alike a path must be to be a misspelt one."""
NEEDS = {("/v1/messages", "/v1/messages/count_tokens", "/v1/models"): "a model behind the service (upstream)",
         ("/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/embeddings"):
             "a model behind the service that speaks OpenAI's protocol (upstream, with kind: openai)"}
"""Paths that not every service has, and what they need."""
STORED = ("previous_response_id", "conversation", "prompt")
"""Fields of OpenAI's responses that name what was stored elsewhere."""
_BELOW_GUARD = re.compile("^/guards/[^/]*(?=/)")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_LINK = re.compile(r"(.*_)?(SERVICE_HOST|SERVICE_PORT|PORT)(_.*)?")
"""What Kubernetes sets in every container for a Service: one called discreet begins as our variables do."""


def beside(kind: Any, path: Sequence[str | int]) -> list[str]:
    """The fields that a model has where an unknown one stood, at the end of a path as pydantic gives it."""
    for part in path[:-1]:
        kind = _inside(kind, part) or kind  # A part that is none names a member of a union.
    return sorted({name for model in _models(kind) for name in model.model_fields})


def unknown_field(kind: Any, path: Sequence[str | int]) -> str:
    """What to say of an unknown field of a request: its name, where that is one and no text, and which there are."""
    name, known = str(path[-1]), beside(kind, path)
    if not _NAME.fullmatch(name):
        return f"an unknown field; expected some of {', '.join(known)}"
    if name in STORED and "store" in known:
        return f"the field {name!r} names what is stored elsewhere, and nothing is stored here; send all items in input"
    return f"unknown field {name!r}; {meant(name, known)}"


def absent(path: str, known: Iterable[str]) -> str:
    """What to say of a path that there is not: what it takes to have it, or the nearest that there is. Of the path
    itself, which may be a text, nothing."""
    given, known = _BELOW_GUARD.sub("", path[:200]), list(known)
    if path.startswith("/console"):
        return "there is no console here: it comes with a review queue (queue in the settings)"
    if path.startswith("/health"):
        return "there is nothing of that name; did you mean /health/live or /health/ready?"
    for name, what in ((one, what) for names, what in NEEDS.items() for one in names):
        if given.rstrip("/") == name and name not in known:
            return f"{name} needs {what}"
    near = get_close_matches(given, [one for one in known if "{" not in one], n=1, cutoff=NEAR)
    return f"there is nothing of that name; did you mean {near[0]}?" if near else (
        "there is nothing of that name; /openapi.json lists what there is")


def check_environment(kind: type[BaseModel], prefix: str, environment: Mapping[str, str]) -> None:
    """Raises UsageError for a variable that looks like one of ours and is no setting, with the nearest that is."""
    linked = "KUBERNETES_SERVICE_HOST" in environment
    for name in sorted(environment):
        upper = name.upper()
        if not upper.startswith(OURS) or linked and _LINK.fullmatch(upper):
            continue
        rest = upper.removeprefix(prefix if upper.startswith(prefix) else OURS)
        known = [one.upper() for one in _variables(kind, rest.lower().split("__"))]
        if not upper.startswith(prefix):
            full = [prefix + one for one in known]
            near = [prefix + rest] if rest in known else get_close_matches(upper, full, n=1, cutoff=SURE)
            if not near:
                continue  # Another program's, or another command's.
        elif rest in known:
            continue
        else:
            near = [prefix + one for one in get_close_matches(rest, known, n=1)]
        said = f"did you mean {near[0]}?" if near else f"expected {prefix} and the name of a setting"
        raise UsageError(f"the environment: {name[:80]} is not a setting ({said}); see docs/serve.md")


def _variables(kind: Any, given: Sequence[str], before: str = "") -> Iterator[str]:
    """The names of all settings, nested ones with `__`; keys of mappings as they are `given`."""
    for model in _models(kind):
        for name, field in model.model_fields.items():
            yield before + name
            yield from _variables(field.annotation, given[1:], f"{before}{name}__")
    for one in _members(kind):
        if get_origin(one) is dict and given[0:1] not in ([], [""]):
            yield before + given[0]
            yield from _variables(get_args(one)[1], given[1:], f"{before}{given[0]}__")


def _inside(kind: Any, part: str | int) -> Any:
    """What stands in a field, under a key or at a place of something; None where it has none."""
    found: list[Any] = []
    for one in _members(kind):
        origin = get_origin(one)
        if isinstance(one, type) and issubclass(one, BaseModel) and part in one.model_fields:
            found.append(one.model_fields[str(part)].annotation)
        elif origin is dict and isinstance(part, str):
            found.append(get_args(one)[1])
        elif origin in (list, tuple) and isinstance(part, int):
            found.append(get_args(one)[0])
    return Union[tuple(found)] if found else None  # noqa: UP007


def _models(kind: Any) -> Iterable[type[BaseModel]]:
    return (one for one in _members(kind) if isinstance(one, type) and issubclass(one, BaseModel))


def _members(kind: Any) -> Iterator[Any]:
    """The types that a type may be."""
    origin = get_origin(kind)
    if origin is Annotated:
        yield from _members(get_args(kind)[0])
    elif origin in (Union, UnionType):
        for one in get_args(kind):
            yield from _members(one)
    else:
        yield kind
