"""Refusals in one form, and the rate of a key that leads to one."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from starlette.types import Send

from discreet.core.errors import DiscreetError

T = TypeVar("T")
Many = Annotated[list[T], Field(fail_fast=True)]
"""A list in a request, of which the first mistake is enough: to write down a million takes half a minute."""
MOST_FIELDS = 200
"""Fields of a request, those included that go to the model unseen."""
MESSAGES = "/v1/messages"
"""What is in the path of a door for clients of Anthropic, also where their base address has a `/v1` too many."""
KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
         429: "rate_limit_error", 504: "timeout_error"}
"""Anthropic's types of errors by status."""


class Fields(BaseModel):
    """A request, or an object in one: unknown fields are refused, and a hundred thousand of them at once, for each is
    written down as a mistake."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, given: Any) -> Any:
        if isinstance(given, dict) and len(given) > MOST_FIELDS:
            raise PydanticCustomError("too_many_fields", "too many fields")
        return given


class RefusedError(DiscreetError):
    """A request that is not served: the HTTP status, a code for machines, one line for people, and headers."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, dict(headers or {})

    def body(self) -> dict[str, Any]:
        """The answer, in the shape that clients of OpenAI read."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "code": self.code, "param": None}}

    def anthropic(self) -> dict[str, Any]:
        """The answer, in the shape that clients of Anthropic read; `code` is ours."""
        kind = KINDS.get(self.status, "invalid_request_error" if self.status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": str(self), "code": self.code}}

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        """Status and body in the protocol of the door at a path, whoever refuses: Anthropic has no 422."""
        if MESSAGES not in path:
            return self.status, self.body()
        return 400 if self.status == 422 else self.status, self.anthropic()


class ErrorDetail(BaseModel):
    """One error: for people, and its code for machines."""

    message: str
    type: str
    code: str
    param: str | None = None


class Error(BaseModel):
    """The body of every refusal, but at the doors for clients of Anthropic."""

    error: ErrorDetail


class MessagesErrorDetail(BaseModel):
    """One error as Anthropic's clients read it; `code` is ours."""

    type: str
    message: str
    code: str


class MessagesError(BaseModel):
    """The body of every refusal at the doors for clients of Anthropic."""

    type: Literal["error"]
    error: MessagesErrorDetail


STATUSES = {
    400: "The body is not what was expected.", 401: "No key, or an unknown one.", 403: "The key may not do this.",
    404: "There is nothing of that name.", 405: "Another method was expected.",
    408: "The body did not come within the time.", 409: "Somebody else was first.",
    413: "The body or a text is over the limits.", 422: "A field is missing or of another type.",
    429: "Too many requests; Retry-After says when to come again.", 500: "A mistake in discreet; nothing was passed.",
    502: "The model behind the proxy did not answer as expected.",
    503: "Not ready, or the guard could not judge; nothing was passed.",
    504: "The model behind the proxy was too slow.",
}


ALWAYS = (400, 401, 403, 408, 413, 422, 429, 500, 503)
"""What every door may answer."""


def answers_of(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """`responses=` of a route: what every door may answer, and further statuses."""
    return {status: {"model": Error, "description": STATUSES[status]} for status in sorted({*ALWAYS, *statuses})}


def messages_answers_of(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same of a door for clients of Anthropic; with a default, or FastAPI would document the 422 that it lacks."""
    found: dict[int | str, dict[str, Any]] = {
        status: {"model": MessagesError, "description": STATUSES[status]}
        for status in sorted({405, *ALWAYS, *statuses} - {422})}
    found[400]["description"] = f"{STATUSES[400]} {STATUSES[422]}"
    return found | {"default": {"model": MessagesError, "description": "The request was refused."}}


class Rate:
    """Answers of each key in the last minute, long ones counted several times; None for any number."""

    def __init__(self, per_minute: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._seen: dict[str, deque[tuple[float, int]]] = {}
        self._sum: Counter[str] = Counter()

    def count(self, caller: str) -> None:
        """Count a request. Raises RefusedError with 429 where the key has had its share."""
        if self._most is None:
            return
        seen, now = self._seen.setdefault(caller, deque()), self._clock()
        while seen and seen[0][0] <= now - 60:
            self._sum[caller] -= seen.popleft()[1]
        if self._sum[caller] >= self._most:
            raise busy(f"{self._most} answers in a minute were judged with this key", 1 + int(seen[0][0] + 60 - now))
        self.add(caller, 1)

    def add(self, caller: str, units: int) -> None:
        """Count more of a request that was counted already."""
        if self._most is not None and units > 0:
            self._seen.setdefault(caller, deque()).append((self._clock(), units))
            self._sum[caller] += units


def busy(said: str, retry_s: int = 1) -> RefusedError:
    """429 with Retry-After in seconds."""
    return RefusedError(429, "busy", f"{said}; come again in {retry_s} s", {"Retry-After": str(retry_s)})


def too_long(said: str, most: int) -> RefusedError:
    """413 for a text that is longer than is judged at a time."""
    return RefusedError(413, "too_long", f"{said}; expected at most {most:,} (limits.text_chars in the settings)")


async def refuse(refused: RefusedError, path: str, send: Send) -> None:
    """Send a refusal without an application, in the protocol of the door at the path."""
    status, said = refused.answer(path)
    body = json.dumps(said).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()),
               (b"connection", b"close"),
               *((name.lower().encode(), value.encode()) for name, value in refused.headers.items())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
