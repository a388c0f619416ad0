"""A language model behind HTTP that speaks the OpenAI protocol: POST {url}/chat/completions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash, dump_json, why, write_atomic
from discreet.inputs.endpoints.http import Service

Message: TypeAlias = Mapping[str, str]
"""`role` ("system", "user" or "assistant") and `content`."""

KEY_VARIABLE = "DISCREET_CHAT_KEY"
ROLES = ("system", "user", "assistant")
PATH = "/chat/completions"
MOST_WORKERS = 64
KEY_FILE = "key"
REFUSED = (400, 422)
"""Statuses by which an endpoint refuses one request, such as for its content or its length."""


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
        self._service = Service(
            url, what="endpoint", example="http://host/v1", path=PATH, timeout=timeout, pause=pause,
            attempts=retries + 1, variable=api_key_from_environment or KEY_VARIABLE,
            required=api_key_from_environment is not None)
        self.name = self._service.name
        if not model:
            raise UsageError("the endpoint needs the name of a model; expected what it calls the model")
        if not (isfinite(temperature) and temperature >= 0.0 and isfinite(timeout) and timeout > 0.0 and retries >= 0
                and (max_tokens is None or max_tokens >= 1)):
            raise UsageError(f"temperature {temperature}, timeout {timeout}, retries {retries} and max_tokens "
                             f"{max_tokens} were given; expected at least 0, above 0, at least 0, at least 1 or none")
        self.model, self.seed, self.temperature, self.max_tokens = model, seed, temperature, max_tokens
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
                      workers: int = 4, lost: str | None = None) -> list[str]:
        """The answers in the order of the conversations, with at most `workers` (1 to 64) requests under way.

        `seeds` has one for each conversation. The first failure ends the whole: what has not begun is left out, and
        nothing is tried again; with `lost`, an answer that was cut off or has no text, or a request that is refused
        (status 400 or 422), is `lost` and no failure. Errors as in `complete`.
        """
        if not 1 <= workers <= MOST_WORKERS:
            raise UsageError(f"{workers} requests at a time were asked for; expected 1 to {MOST_WORKERS}")
        if seeds is not None and len(seeds) != len(conversations):
            raise ValueError(f"{len(seeds)} seeds for {len(conversations)} conversations: expected one each")
        bodies = [self._body(one, self.seed if seeds is None else seeds[number])
                  for number, one in enumerate(conversations)]
        stop = threading.Event()
        with self._service.client() as client, \
                ThreadPoolExecutor(min(workers, max(len(bodies), 1))) as pool:
            futures = [pool.submit(self._answer, client, body, stop, lost) for body in bodies]
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

    def _answer(self, client: Any, body: dict[str, Any], stop: threading.Event, lost: str | None) -> str:
        """One answer, kept or new. CancelledError once `stop` is set; a failure sets it."""
        request = {"url": self._service.url, "body": body}
        try:
            if self._cache is not None and (kept := self._cache.get(request)) is not None:
                return kept
            let = () if lost is None else REFUSED
            answer = self._read(self._service.post(client, body, "check address, model and key", stop, let), lost)
            if answer is None:
                return lost or ""
            if self._cache is not None:
                self._cache.put(request, answer)
            return answer
        except BaseException:
            stop.set()
            raise

    def _read(self, answer: Any, lost: str | None) -> str | None:
        """The text of an answer; where there is none, None if it may be `lost`, else an error."""
        found: Any = None
        with suppress(ValueError, RecursionError):
            found = answer.json()
        choice = None
        with suppress(TypeError, KeyError, IndexError):
            choice = found["choices"][0]
            content = choice["message"]["content"]
            if isinstance(content, str) and choice.get("finish_reason") != "length":
                return content
        if lost is not None:
            return None
        if isinstance(choice, dict) and choice.get("finish_reason") == "length":
            self._service.fail(f"an answer was cut off at {self.max_tokens or 'its own number of'} tokens; allow more "
                               f"of them")
        return self._service.fail("its answer has no text; expected JSON with choices[0].message.content")


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
