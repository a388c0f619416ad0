"""A language model behind HTTP that speaks the OpenAI protocol: POST {url}/chat/completions."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, TypeAlias
from urllib.parse import SplitResult, urlsplit

from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.core.files import KeyedHash, dump_json, why, write_atomic

Message: TypeAlias = Mapping[str, str]
"""`role` ("system", "user" or "assistant") and `content`."""

KEY_VARIABLE = "DISCREET_CHAT_KEY"
ROLES = ("system", "user", "assistant")
PATH = "/chat/completions"
LONGEST_ASKED = 120.0
MOST_WORKERS = 64
KEY_FILE = "key"
PASSING = (408, 425, 429)
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0


class _PassingError(Exception):
    """An attempt failed in a way that passes; `pause` is what the service asks for, in seconds."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class ChatEndpoint:
    """One model of one endpoint, with one way of asking.

    Parameters
    ----------
    url : str
        Where the protocol lives, such as `http://127.0.0.1:8000/v1`.
    api_key_from_environment : str, optional
        Name of the variable that holds the key, sent as a bearer token. By default DISCREET_CHAT_KEY, if it is set.
    timeout : float
        Seconds without a byte after which an attempt has failed.
    retries : int
        Further attempts after one that failed in a way that passes: no connection, a time out, 408, 425, 429, 5xx.
        Pauses grow from half a second to 30; Retry-After is honoured, and one above 120 seconds ends the request.
    seed, temperature, max_tokens
        Sent as they are; a seed or bound that is None is not sent. What a seed is worth is up to the endpoint.
    cache : Path, optional
        A folder that keeps answers, which are text, under keyed hashes of address and request; by default none does.
    pause : callable, optional
        Called with seconds in place of waiting.

    Raises MissingExtraError without httpx, UsageError for an address, key, number or folder that cannot be.
    """

    def __init__(self, url: str, model: str, *, api_key_from_environment: str | None = None, timeout: float = 60.0,
                 retries: int = 4, seed: int | None = None, temperature: float = 0.0, max_tokens: int | None = None,
                 cache: Path | str | None = None, pause: Callable[[float], object] | None = None) -> None:
        try:
            import httpx
            import tenacity
        except ImportError as error:
            raise MissingExtraError("asking a language model over HTTP", "audit", str(error.name)) from None
        self._httpx, self._tenacity = httpx, tenacity
        parts = _parts(url)
        self._url = parts._replace(path=parts.path.rstrip("/").removesuffix(PATH) + PATH, fragment="").geturl()
        # Without the query: a message ends up in logs.
        self.name = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        try:
            httpx.URL(self._url)
        except httpx.InvalidURL:
            raise UsageError("the address of the endpoint cannot be read; expected http://host/v1") from None
        if not model:
            raise UsageError("the endpoint needs the name of a model; expected what it calls the model")
        if not (isfinite(temperature) and temperature >= 0.0 and isfinite(timeout) and timeout > 0.0 and retries >= 0
                and (max_tokens is None or max_tokens >= 1)):
            raise UsageError(f"temperature {temperature}, timeout {timeout}, retries {retries} and max_tokens "
                             f"{max_tokens} were given; expected at least 0, above 0, at least 0, at least 1 or none")
        self.model, self.seed, self.temperature, self.max_tokens = model, seed, temperature, max_tokens
        self._headers = _headers(api_key_from_environment)
        self._timeout, self._attempts, self._pause = timeout, retries + 1, pause
        self._cache = None if cache is None else AnswerCache(cache)

    def __repr__(self) -> str:
        return f"ChatEndpoint({self.name!r}, {self.model!r})"

    def complete(self, messages: Sequence[Message], *, seed: int | None = None) -> str:
        """The model's answer to a conversation, as it came; `seed` in place of the endpoint's.

        Raises ValueError for messages that are none, InputError in one line, without a word of the conversation or
        the answer, where no whole answer came.
        """
        return self.complete_many([messages], None if seed is None else [seed], workers=1)[0]

    def complete_many(self, conversations: Sequence[Sequence[Message]], seeds: Sequence[int] | None = None, *,
                      workers: int = 4) -> list[str]:
        """The answers in the order of the conversations, with at most `workers` (1 to 64) requests under way.

        `seeds` has one for each conversation. The first failure ends the whole: what has not begun is left out, and
        nothing is tried again. Errors as in `complete`.
        """
        if not 1 <= workers <= MOST_WORKERS:
            raise UsageError(f"{workers} requests at a time were asked for; expected 1 to {MOST_WORKERS}")
        if seeds is not None and len(seeds) != len(conversations):
            raise ValueError(f"{len(seeds)} seeds for {len(conversations)} conversations: expected one each")
        bodies = [self._body(one, self.seed if seeds is None else seeds[number])
                  for number, one in enumerate(conversations)]
        stop = threading.Event()
        with self._httpx.Client(timeout=self._timeout, headers=self._headers) as client, \
                ThreadPoolExecutor(min(workers, max(len(bodies), 1))) as pool:
            futures = [pool.submit(self._answer, client, body, stop) for body in bodies]
            try:
                wait(futures)
            finally:
                # After an interrupt: leaving the pool waits for what is under way, and for nothing else.
                stop.set()
            errors = [one.exception() for one in futures]
            if failed := [error for error in errors if error is not None and not isinstance(error, CancelledError)]:
                raise failed[0]
            return [one.result() for one in futures]

    def _body(self, messages: Sequence[Message], seed: int | None) -> dict[str, Any]:
        if not messages or not all(set(one) == {"role", "content"} and one["role"] in ROLES
                                   and isinstance(one["content"], str) for one in messages):
            raise ValueError(f"a conversation needs messages with a role of {', '.join(ROLES)} and content as text")
        further = {"seed": seed, "max_tokens": self.max_tokens}
        return {"model": self.model, "messages": [dict(one) for one in messages], "temperature": self.temperature,
                **{name: value for name, value in further.items() if value is not None}}

    def _answer(self, client: Any, body: dict[str, Any], stop: threading.Event) -> str:
        """One answer, kept or new. CancelledError once `stop` is set; a failure sets it."""
        request = {"url": self._url, "body": body}
        try:
            if self._cache is not None and (kept := self._cache.get(request)) is not None:
                return kept
            answer = self._read(self._post(client, body, stop))
            if self._cache is not None:
                self._cache.put(request, answer)
            return answer
        except BaseException:
            stop.set()
            raise

    def _post(self, client: Any, body: dict[str, Any], stop: threading.Event) -> Any:
        waits = self._tenacity.wait_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)

        def pause(state: Any) -> float:
            asked = state.outcome.exception().pause
            return float(waits(state) if asked is None else asked)

        sleep: Any = self._pause or stop.wait
        attempts = self._tenacity.Retrying(
            stop=self._tenacity.stop_after_attempt(self._attempts), wait=pause, sleep=sleep,
            retry=self._tenacity.retry_if_exception_type(_PassingError), reraise=True)
        try:
            return attempts(self._attempt, client, body, stop)
        except _PassingError as error:
            self._fail(f"no answer in {self._attempts} attempt{'s'[: self._attempts > 1]}, at last {error}; see that "
                       f"the service runs and start again")

    def _attempt(self, client: Any, body: dict[str, Any], stop: threading.Event) -> Any:
        if stop.is_set():
            raise CancelledError
        # ASCII escapes: a lone surrogate in a text is sent as it is, where UTF-8 has no form for it.
        content, headers = json.dumps(body), {"Content-Type": "application/json"}
        try:
            answer = client.post(self._url, content=content, headers=headers)
        except self._httpx.TransportError as error:
            raise _PassingError(type(error).__name__) from None
        except self._httpx.HTTPError as error:
            self._fail(f"the request failed with {type(error).__name__}; check the address")
        status = answer.status_code
        if status == 200:
            return answer
        if status not in PASSING and status < 500:
            self._fail(f"it answered with status {status}; check address, model and key")
        asked = asked_pause(answer.headers.get("Retry-After"), datetime.now(UTC))
        if asked is not None and asked > LONGEST_ASKED:
            self._fail(f"it answered with status {status} and asks to wait {asked:.0f} seconds; start again then")
        raise _PassingError(f"status {status}", asked)

    def _read(self, answer: Any) -> str:
        found: Any = None
        with suppress(ValueError, RecursionError):
            found = answer.json()
        choice = None
        with suppress(TypeError, KeyError, IndexError):
            choice = found["choices"][0]
            content = choice["message"]["content"]
            if isinstance(content, str) and choice.get("finish_reason") != "length":
                return content
        if isinstance(choice, dict) and choice.get("finish_reason") == "length":
            self._fail(f"an answer was cut off at {self.max_tokens or 'its own number of'} tokens; allow more of them")
        return self._fail("its answer has no text; expected JSON with choices[0].message.content")

    def _fail(self, message: str) -> NoReturn:
        raise InputError(f"{self.name}: {message}") from None


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise UsageError("the address of the endpoint cannot be read; expected http://host/v1")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the address of the endpoint holds a password; expected it in {KEY_VARIABLE}, which is sent "
                         f"as a bearer token and kept nowhere")
    return parts


def _headers(variable: str | None) -> dict[str, str]:
    """The bearer token. Checked here: what HTTP cannot carry would be quoted by the library's own errors."""
    key = os.environ.get(variable or KEY_VARIABLE, "").strip()
    if variable is not None and not key:
        raise UsageError(f"the key of the endpoint was to come from {variable}, which is not set; set it")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(f"{variable or KEY_VARIABLE} holds characters that no key has; expected ASCII without blanks")
    return {"Authorization": f"Bearer {key}"} if key else {}


def asked_pause(header: str | None, now: datetime) -> float | None:
    """Seconds that a header Retry-After asks for (RFC 9110, section 10.2.3): a number, or a date as of `now`.

    At least 0; None without the header, and for one that is neither.
    """
    said = (header or "").strip()
    if said.isascii() and said.isdecimal():
        return float(said)
    try:
        then = parsedate_to_datetime(said)
    except (ValueError, IndexError):
        return None
    # A date of the form "-0000" has no zone; it is in UTC all the same.
    return max((then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - now.timestamp(), 0.0)


class AnswerCache:
    """Answers in `folder`, a file each, readable for their owner alone, under keyed hashes of the requests.

    The key of the hashes is that of the deployment where DISCREET_HASH_KEY is set; else it is drawn once and lies
    beside the answers. Raises UsageError for a folder that cannot be written, InputError for a key that is none.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._keyed = KeyedHash.kept_in(self._folder / KEY_FILE)
        except OSError as error:
            raise UsageError(f"cannot keep answers in {folder}: {why(error)}; name a folder that can be written"
                             ) from None

    def get(self, request: Mapping[str, Any]) -> str | None:
        """The answer to a request of plain JSON values; None where there is none, or its file is not whole."""
        try:
            found = json.loads(self._file(request).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        answer = found.get("answer") if isinstance(found, dict) else None
        return answer if isinstance(answer, str) else None

    def put(self, request: Mapping[str, Any], answer: str) -> None:
        """Keep an answer, whole or not at all."""
        file = self._file(request)
        write_atomic(file, dump_json({"answer": answer}))
        file.chmod(0o600)

    def _file(self, request: Mapping[str, Any]) -> Path:
        said = json.dumps(request, sort_keys=True, ensure_ascii=True, allow_nan=False)
        return self._folder / f"{self._keyed.of(said)}.json"
