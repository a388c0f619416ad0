"""What a request says under a name that its door does not read: refused, so that nobody believes that it was read."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Coroutine, Iterable
from difflib import get_close_matches
from typing import Any

from fastapi import Request

from discreet.core.errors import meant
from discreet.serve.doors.declared import CONVERSATION_HEADER, USER_HEADER, WORDS_HEADER, Declaration
from discreet.serve.limits import RefusedError

OURS = "x-discreet-"
HEADERS = (CONVERSATION_HEADER, USER_HEADER, WORDS_HEADER)
FIELD = "discreet"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,60}")
MOST = 12
"""Characters of a name that can be one of ours."""
_NEAR = 0.8
"""How alike a field that goes to the model must be to ours to be a misspelt one."""


def refuse_unread(*headers: str, query: bool = False) -> Callable[..., Coroutine[Any, Any, None]]:
    """A dependency that refuses headers which begin as ours and are none, and those of ours that change a judgement and
    are not read at this door.

    With `query` also parameters of the address that the door does not have. Only for doors whose protocol is ours: the
    clients of others add some by themselves (`?beta=true`).
    """
    async def checked(request: Request) -> None:
        for name in request.headers:
            if name in headers:
                raise RefusedError(422, "invalid", f"the header {name!r} is not read at this path; see /openapi.json")
            if name.startswith(OURS) and name not in HEADERS:
                raise _unknown("header", name, HEADERS)
        if query and request.query_params:
            known = _query_of(request)
            for name in request.query_params:
                if name not in known:
                    raise _unknown("query parameter", name, known)

    return checked


def _query_of(request: Request) -> list[str]:
    """The parameters of the address that the document of the API lists for the route of a request."""
    about = request.app.openapi()["paths"][request.scope["route"].path][request.method.lower()]
    return [one["name"] for one in about.get("parameters", ()) if one["in"] == "query"]


def refuse_misplaced(fields: Iterable[str]) -> None:
    """RefusedError with 422 for a field that was meant for us, where the model gets what we do not know: a misspelt
    `discreet`, or what stands inside of it."""
    for name in fields:
        if len(name) > MOST:
            continue
        if name in Declaration.model_fields:
            raise RefusedError(422, "invalid", f"the field {name!r} is read inside of {FIELD!r} only; expected "
                               f'{{"{FIELD}": {{"{name}": …}}}}')
        if name != FIELD and get_close_matches(name.lower(), [FIELD], n=1, cutoff=_NEAR):
            raise _unknown("field", name, [FIELD])


def names_of(fields: Iterable[str]) -> list[str]:
    """The fields that are names and no texts, and `other` for the rest."""
    return sorted({name if _NAME.fullmatch(name) else "other" for name in fields})


def _unknown(what: str, name: str, known: Collection[str]) -> RefusedError:
    expected = meant(name, known) if known else "expected none at this path"
    said = f" {name!r}" if _NAME.fullmatch(name) else ""
    return RefusedError(422, "invalid", f"unknown {what}{said}; {expected}")
