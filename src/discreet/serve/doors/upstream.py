"""The model behind the proxy: what it answers, whole, or why there is no answer. Nothing of it is logged."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

from discreet.serve.doors.assembly import Assembly
from discreet.serve.doors.chat import Json, MalformedError, as_list, as_object
from discreet.serve.limits import RefusedError
from discreet.serve.settings import Settings
from discreet.serve.telemetry import Telemetry

if TYPE_CHECKING:
    import httpx

CODES = frozenset({
    "context_length_exceeded", "string_above_max_length", "invalid_request_error", "invalid_value", "invalid_type",
    "unsupported_parameter", "unsupported_value", "missing_required_parameter", "unknown_parameter", "content_filter",
    "model_not_found", "not_found_error", "request_too_large", "rate_limit_exceeded", "rate_limit_error",
    "insufficient_quota", "overloaded_error", "server_error", "invalid_api_key", "BadRequestError", "NotFoundError",
    "exceed_context_size_error"})
"""Codes of errors that are passed on; any other may be a text."""
VERSION = "2023-06-01"
"""Of Anthropic's protocol."""
_NAME = re.compile(r"[\w.:/@+-]{1,200}")
PASSED_ON = (400, 404, 413, 422, 429)
"""What the caller can mend; other refusals of the upstream are ours to answer for."""


class UpstreamError(RefusedError):
    """The upstream did not answer as expected; `kind` is a word for metrics and logs."""

    def __init__(self, kind: str, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, f"upstream_{kind}", message, headers)
        self.kind = kind


class Upstream:
    """One client for the endpoint of the settings; `transport` takes the place of the network in tests."""

    def __init__(self, settings: Settings, telemetry: Telemetry,
                 transport: httpx.AsyncBaseTransport | None = None) -> None:
        import httpx  # where it is used: it imports rich, which draws from the global random numbers

        assert settings.upstream is not None
        given = settings.upstream
        key = None if given.key is None else given.key.get_secret_value()
        self.telemetry, self.most, self.seconds = telemetry, given.response_bytes, given.timeout_s
        self.kind = given.kind
        headers = {"anthropic-version": VERSION} if given.kind == "anthropic" else {}
        if key is not None:
            headers |= {"x-api-key": key} if given.kind == "anthropic" else {"Authorization": f"Bearer {key}"}
        # Redirects could carry the key elsewhere; proxies of the environment could read everything; a cookie that comes
        # with the answer to one caller would go out with the next request of another.
        self._client = httpx.AsyncClient(
            base_url=str(given.url).rstrip("/") + "/", timeout=given.timeout_s, follow_redirects=False, trust_env=False,
            transport=transport, headers=headers, cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            limits=httpx.Limits(max_connections=settings.limits.requests))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def complete(self, body: Json, path: str = "chat/completions") -> Json:
        """The answer to a request, of a chat completion put together where it is streamed. Raises UpstreamError."""
        async with self._answer("POST", path, _sent(body)) as response:
            if body.get("stream"):
                return await _assembled(_bytes(response, self.most))
            return as_object(json.loads(b"".join([part async for part in _bytes(response, self.most)])))

    async def numbers(self, path: str, body: Json, read: Callable[[Json], Json]) -> Json:
        """What `read` makes of an answer that holds numbers and no text. Raises UpstreamError."""
        async with self._answer("POST", path, _sent(body)) as response:
            return read(as_object(json.loads(b"".join([part async for part in _bytes(response, self.most)]))))

    async def models(self) -> list[str]:
        """The names of the models that the endpoint lists. Raises UpstreamError."""
        async with self._answer("GET", "models") as response:
            found = as_object(json.loads(b"".join([part async for part in _bytes(response, self.most)])))
            names = [as_object(one).get("id") for one in as_list(found.get("data"))]
            return [name for name in names if isinstance(name, str) and _NAME.fullmatch(name)]

    @asynccontextmanager
    async def _answer(self, method: str, path: str, content: bytes | None = None) -> AsyncIterator[httpx.Response]:
        """A response with status 200. Whatever else comes, or is wrong with what is read of it, is an UpstreamError."""
        import httpx

        try:  # The client's own limit is that of one read, which an answer that drips never meets.
            async with asyncio.timeout(self.seconds), self._client.stream(
                    method, path, content=content, headers={"Content-Type": "application/json"}) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                yield response
        except UpstreamError as error:
            raise self.counted(error) from None
        except (httpx.TimeoutException, TimeoutError):
            raise self.counted(UpstreamError("timeout", 504, "the model behind the proxy was too slow; come again")
                               ) from None
        except httpx.ConnectError:
            raise self.counted(UpstreamError("unreachable", 502, "the model behind the proxy cannot be reached")
                               ) from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise self.counted(UpstreamError("cut", 502, "the model behind the proxy broke off its answer")
                               ) from None
        except MalformedError as error:
            raise self.counted(malformed(str(error))) from None
        except (ValueError, RecursionError):
            raise self.counted(malformed("json")) from None

    def counted(self, error: UpstreamError) -> UpstreamError:
        """The error, written down by its kind and status."""
        self.telemetry.event("upstream_error", {"kind": error.kind, "status": error.status})
        return error

    async def _refusal(self, response: httpx.Response) -> UpstreamError:
        """The upstream's refusal: its status and code where the caller can mend it, and none of its words."""
        import httpx

        status = response.status_code
        try:
            said = json.loads(b"".join([part async for part in _bytes(response, 100_000)]))["error"]
            code = next(said[name] for name in ("code", "type") if isinstance(said.get(name), str)
                        and said[name] in CODES)
        except (httpx.HTTPError, MalformedError, ValueError, KeyError, TypeError, AttributeError, StopIteration,
                RecursionError):
            code = "no code"
        if status in PASSED_ON:
            after = response.headers.get("retry-after", "")
            return UpstreamError("refused", status, "the model behind the proxy refused the request with "
                                 f"{status} ({code})",
                                 {"Retry-After": after} if status == 429 and after.isdigit() else None)
        return UpstreamError("failed", 502, f"the model behind the proxy answered {status} ({code}); expected 200")


def _sent(body: Json) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise RefusedError(422, "invalid", "the request holds a number that is not finite, or is nested too deeply; "
                           "expected JSON") from None


def malformed(what: str) -> UpstreamError:
    """An answer that cannot be read whole: none of it passes."""
    return UpstreamError("malformed", 502, f"the answer of the model behind the proxy cannot be read whole ({what}); "
                         "nothing was passed")


async def _bytes(response: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """The body, decompressed, up to `most` bytes."""
    total = 0
    async for part in response.aiter_bytes():
        total += len(part)
        if total > most:
            raise MalformedError("too_large")
        yield part


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines, and an empty one behind the last, which some servers leave out. They end with a line feed: httpx's own
    would also be cut at separators that JSON may hold."""
    held: list[bytes] = []
    async for part in parts:
        first, *others = part.split(b"\n")
        held.append(first)
        for one in others:
            yield b"".join(held).rstrip(b"\r")
            held = [one]
    yield b"".join(held).rstrip(b"\r")
    yield b""


async def _assembled(parts: AsyncIterator[bytes]) -> Json:
    """The completion of a stream of server-sent events."""
    whole = Assembly()
    data: list[bytes] = []
    async for line in _lines(parts):
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line and data:
            event, data = b"\n".join(data), []
            if whole.closed:
                raise MalformedError("text_after_the_end")
            if event == b"[DONE]":
                whole.closed = True
            else:
                whole.add(_parsed(event))
    return whole.completion()


def _parsed(event: bytes) -> Any:
    try:
        return json.loads(event)
    except (ValueError, RecursionError):
        raise MalformedError("json") from None
