"""One model behind HTTP, asked many times at once: `AsyncChat`, for campaigns of thousands of requests.

`ChatEndpoint` asks a few questions and stops at the first failure. Here a failure is an outcome that says whether the
request may have been paid for, rates and concurrency are kept, and usage and finish reason come back with the text.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from typing import Any, Literal, NoReturn

from discreet.core.errors import InputError, need
from discreet.inputs.endpoints.chat import KEY_VARIABLE, PATH, Message
from discreet.inputs.endpoints.http import LONGEST_ASKED, PASSING, PassingError, Service, asked_pause

Failure = Literal["timeout", "cut", "malformed", "refused", "denied", "unavailable"]
ATTEMPTS = 8
DENIED = (401, 403, 404)
BYTES_A_TOKEN, TOKENS_A_MESSAGE = 3.0, 8
RATE_SECONDS = 10.0
"""What a limit of tokens a minute may spend at once is its share of this many seconds."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them."""

    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. `finish` is the server's finish reason, None where it gave none."""

    text: str = field(repr=False)
    finish: str | None
    usage: Usage | None
    attempts: int
    seconds: float


class AskError(InputError):
    """A request without a whole answer.

    `kind`: timeout, cut (the connection broke off), malformed (status 200, and not the protocol), refused (the request
    itself: 400, 413, 422, …), denied (address, key or model, or a pause above 120 seconds) or unavailable (attempts are
    used up). `paid`: the server may have done the work.
    """

    def __init__(self, name: str, kind: Failure, said: str, *, attempts: int = 1, seconds: float = 0.0) -> None:
        super().__init__(f"{name}: {said}")
        self.kind, self.paid = kind, kind in ("timeout", "cut", "malformed")
        self.attempts, self.seconds = attempts, seconds


class HeldBackError(Exception):
    """`sending` said no: the request was not made."""


def estimated_tokens(text: str) -> int:
    """Tokens of a text, rather too many than too few in English: a third of its UTF-8 bytes (papers say a quarter)."""
    return ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_A_TOKEN)


def prompt_tokens(messages: Sequence[Message]) -> int:
    """The estimate for a conversation, with what its template adds a message."""
    return sum(estimated_tokens(one["content"]) + TOKENS_A_MESSAGE for one in messages)


class AsyncChat:
    """One model of one endpoint, within one event loop and one `async with`.

    Parameters
    ----------
    url, model, api_key_from_environment, temperature, max_tokens
        As of `ChatEndpoint`.
    timeout : float
        Seconds an attempt may take in all.
    stream : bool
        Ask for the answer in pieces, with usage at the end.
    concurrency : int
        Most requests under way.
    requests_per_minute, tokens_per_minute : float, optional
        Limits of the account, kept before a request is made (tokens: estimate of the prompt plus `max_tokens`).
    attempts : int
        In all, where one fails in a way that passes and is not paid for: no connection, 408, 425, 429, 5xx.
    pause : callable, optional
        Awaited with seconds in place of waiting between attempts.
    """

    def __init__(self, url: str, model: str, *, api_key_from_environment: str | None = None, temperature: float = 0.9,
                 max_tokens: int = 600, timeout: float = 120.0, stream: bool = False, concurrency: int = 32,
                 requests_per_minute: float | None = None, tokens_per_minute: float | None = None,
                 attempts: int = ATTEMPTS, pause: Callable[[float], Any] = asyncio.sleep) -> None:
        self._limiter = need("aiolimiter", "asking many times at once", "audit").AsyncLimiter
        self._service = Service(
            url, what="endpoint", example="http://host/v1", path=PATH, timeout=timeout, attempts=attempts,
            variable=api_key_from_environment or KEY_VARIABLE, required=api_key_from_environment is not None)
        self._httpx = self._service._httpx
        self.name, self.model, self.temperature, self.max_tokens = self._service.name, model, temperature, max_tokens
        self._timeout, self._stream, self._most = timeout, stream, concurrency
        self._rates = requests_per_minute, tokens_per_minute
        self._pause = pause

    async def __aenter__(self) -> AsyncChat:
        self._client = await self._service.async_client(self._most).__aenter__()
        requests, tokens = self._rates
        self._requests = requests and self._limiter(max(requests / 60.0, 1.0), max(60.0 / requests, 1.0))
        self._tokens = tokens and self._limiter(tokens * RATE_SECONDS / 60.0, RATE_SECONDS)
        self._places = asyncio.Semaphore(self._most)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._client.__aexit__(*error)

    def body(self, messages: Sequence[Message], seed: int | None = None) -> dict[str, Any]:
        """What is posted, but for streaming: what identifies a request."""
        return {"model": self.model, "messages": [dict(one) for one in messages], "temperature": self.temperature,
                "max_tokens": self.max_tokens, **({} if seed is None else {"seed": seed})}

    async def ask(self, body: Mapping[str, Any], *, sending: Callable[[], bool] = lambda: True,
                  sent_away: Callable[[], object] = lambda: None) -> Reply:
        """The answer to a request. Raises AskError without one.

        `sending` is called right before each attempt, when it may be made, and holds it back with False
        (HeldBackError); `sent_away` after one that failed, was not paid for and will be made again.
        """
        made, began = 0, 0.0
        most = prompt_tokens(body["messages"]) + body["max_tokens"]
        try:
            async for attempt in self._service.attempts("AsyncRetrying", "wait_random_exponential", self._pause):
                with attempt:
                    async with self._slot(most):
                        if not sending():
                            raise HeldBackError
                        made, began = made + 1, time.monotonic()
                        try:
                            text, finish, usage = await asyncio.wait_for(self._attempt(body), self._timeout)
                        except PassingError:
                            sent_away()
                            raise
                        seconds = time.monotonic() - began
        except PassingError as error:
            self._fail("unavailable", f"no answer in {made} attempts, at last {error}", made)
        except TimeoutError:
            self._fail("timeout", f"no whole answer in {self._timeout:g} seconds", made, time.monotonic() - began)
        except AskError as error:
            error.attempts, error.seconds = made, time.monotonic() - began
            raise
        return Reply(text, finish, usage, made, seconds)

    @asynccontextmanager
    async def _slot(self, tokens: int) -> AsyncIterator[None]:
        if self._tokens:
            await self._tokens.acquire(min(tokens, self._tokens.max_rate))
        if self._requests:
            await self._requests.acquire()
        async with self._places:
            yield

    async def _attempt(self, body: Mapping[str, Any]) -> tuple[str, str | None, Usage | None]:
        more = {"stream": True, "stream_options": {"include_usage": True}} if self._stream else {}
        request = self._client.build_request("POST", self._service.url, content=json.dumps({**body, **more}))
        http = self._httpx
        try:
            answer = await self._client.send(request, stream=True)
        except (http.ConnectError, http.ConnectTimeout, http.PoolTimeout, http.WriteError) as error:
            raise PassingError(type(error).__name__) from None
        except http.HTTPError as error:
            self._broken(error)
        try:
            self._check_status(answer)
            if self._stream and answer.headers.get("Content-Type", "").startswith("text/event-stream"):
                return await self._pieces(answer)
            return self._whole(await answer.aread())
        except http.HTTPError as error:
            self._broken(error)
        finally:
            await answer.aclose()

    def _broken(self, error: Exception) -> NoReturn:
        if isinstance(error, self._httpx.TimeoutException):
            self._fail("timeout", f"nothing came for {self._timeout:g} seconds")
        self._fail("cut", f"the connection broke off ({type(error).__name__})")

    def _check_status(self, answer: Any) -> None:
        status = answer.status_code
        if status == 200:
            return
        asked = asked_pause(answer.headers.get("Retry-After"), datetime.now(UTC))
        if status in PASSING or status >= 500:
            if asked is not None and asked > LONGEST_ASKED:
                self._fail("denied", f"it answered with status {status} and asks to wait {asked:.0f} seconds")
            raise PassingError(f"status {status}", asked)
        self._fail("denied" if status in DENIED else "refused",
                   f"it answered with status {status}; check address, model and key")

    def _whole(self, content: bytes) -> tuple[str, str | None, Usage | None]:
        try:
            found = json.loads(content)
            choice = found["choices"][0]
            text = choice["message"]["content"]
        except (ValueError, RecursionError, TypeError, KeyError, IndexError):
            self._fail("malformed", "its answer is not the protocol's JSON")
        if text is None and choice.get("finish_reason") == "content_filter":
            text = ""
        if not isinstance(text, str):
            self._fail("malformed", "its answer has no text")
        return text, _finish(choice), _usage(found)

    async def _pieces(self, answer: Any) -> tuple[str, str | None, Usage | None]:
        parts: list[str] = []
        finish, usage = None, None
        async for line in answer.aiter_lines():
            said = line.removeprefix("data:").strip()
            if not line.startswith("data:") or said == "[DONE]":
                continue
            try:
                found = json.loads(said)
                for choice in found["choices"]:
                    parts.append(choice["delta"].get("content") or "")
                    finish = _finish(choice) or finish
                usage = _usage(found) or usage
            except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
                self._fail("malformed", "a piece of its answer is not the protocol's JSON")
        return "".join(parts), finish, usage

    def _fail(self, kind: Failure, said: str, attempts: int = 1, seconds: float = 0.0) -> NoReturn:
        raise AskError(self.name, kind, said, attempts=attempts, seconds=seconds) from None


def _finish(choice: Mapping[str, Any]) -> str | None:
    said = choice.get("finish_reason")
    return said if isinstance(said, str) and said else None


def _usage(found: Mapping[str, Any]) -> Usage | None:
    """None where the server says nothing that can be a count of tokens."""
    said = found.get("usage")
    if not isinstance(said, dict):
        return None
    prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens", 0)
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in (prompt, completion)):
        return None
    return Usage(prompt, completion)  # type: ignore[arg-type]
