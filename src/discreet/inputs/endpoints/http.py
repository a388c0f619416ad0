"""JSON posted to a service behind HTTP, and posted again where a failure passes: what all endpoints share."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn
from urllib.parse import SplitResult, urlsplit

from discreet.core.errors import InputError, UsageError, need

LONGEST_ASKED = 120.0
PASSING = (408, 425, 429)
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0


class PassingError(Exception):
    """An attempt failed in a way that passes; `pause` is what the service asks for, in seconds."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class Service:
    """An address that JSON is posted to.

    Parameters
    ----------
    what, example : str
        For messages: what lives there ("endpoint"), and an address of one.
    path : str
        What ends the address of the requests, whether or not `url` has it.
    variable : str
        Name of the variable that holds the key, sent as a bearer token; it must be set if `required`.
    timeout : float
        Seconds without a byte after which an attempt has failed.
    attempts : int
        In all, where one fails in a way that passes: no connection, a time out, 408, 425, 429, 5xx. Pauses grow from
        half a second to 30; Retry-After is honoured, and one above 120 seconds ends the request.
    pause : callable, optional
        Called with seconds in place of waiting.

    Raises MissingExtraError without httpx, UsageError for an address or key that cannot be.
    """

    def __init__(self, url: str, *, what: str, example: str, variable: str, path: str = "", required: bool = False,
                 timeout: float = 60.0, attempts: int = 5, pause: Callable[[float], object] | None = None) -> None:
        self._httpx, self._tenacity = (need(name, "asking a model over HTTP", "audit")
                                       for name in ("httpx", "tenacity"))
        parts = _parts(url, what, example, variable)
        self.url = parts._replace(path=parts.path.rstrip("/").removesuffix(path) + path if path else parts.path,
                                  fragment="").geturl()
        # Without the query: a message ends up in logs.
        self.name = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        try:
            self._httpx.URL(self.url)
        except self._httpx.InvalidURL:
            raise UsageError(f"the address of the {what} cannot be read; expected {example}") from None
        self._headers = {"Content-Type": "application/json", **_key(variable, what, required)}
        self._timeout, self._attempts, self._pause = timeout, attempts, pause

    def client(self) -> Any:
        """The httpx client of one run, a context manager."""
        return self._httpx.Client(timeout=self._timeout, headers=self._headers)

    def async_client(self, most: int) -> Any:
        """The same for asyncio, with at most `most` connections."""
        limits = self._httpx.Limits(max_connections=most, max_keepalive_connections=most)
        return self._httpx.AsyncClient(timeout=self._timeout, headers=self._headers, limits=limits)

    def post(self, client: Any, body: Any, hint: str, stop: threading.Event | None = None,
             let: Collection[int] = ()) -> Any:
        """The answer to a JSON value, with status 200 or one of `let`. InputError for any other, saying `hint` where
        none passes.

        Once `stop` is set nothing is tried again: CancelledError.
        """
        stop = stop or threading.Event()
        try:
            return self.attempts("Retrying", "wait_exponential", self._pause or stop.wait)(
                self._attempt, client, body, hint, stop, let)
        except PassingError as error:
            self.fail(f"no answer in {self._attempts} attempt{'s'[: self._attempts > 1]}, at last {error}; see that "
                      f"the service runs and start again")

    def attempts(self, kind: str, waiting: str, sleep: Callable[[float], object]) -> Any:
        """tenacity's `kind` of attempts, again after a PassingError: as `waiting` says, or as the service asks for."""
        tenacity = self._tenacity
        waits = getattr(tenacity, waiting)(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)

        def pause(state: Any) -> float:
            asked = state.outcome.exception().pause
            return float(waits(state) if asked is None else asked)

        return getattr(tenacity, kind)(stop=tenacity.stop_after_attempt(self._attempts), wait=pause, sleep=sleep,
                                       retry=tenacity.retry_if_exception_type(PassingError), reraise=True)

    def _attempt(self, client: Any, body: Any, hint: str, stop: threading.Event, let: Collection[int]) -> Any:
        if stop.is_set():
            raise CancelledError
        try:
            # ASCII escapes: a lone surrogate in a text is sent as it is, where UTF-8 has no form for it.
            answer = client.post(self.url, content=json.dumps(body))
        except self._httpx.TransportError as error:
            raise PassingError(type(error).__name__) from None
        except self._httpx.HTTPError as error:
            self.fail(f"the request failed with {type(error).__name__}; check the address")
        status = answer.status_code
        if status == 200 or status in let:
            return answer
        if status not in PASSING and status < 500:
            self.fail(f"it answered with status {status}; {hint}")
        asked = asked_pause(answer.headers.get("Retry-After"), datetime.now(UTC))
        if asked is not None and asked > LONGEST_ASKED:
            self.fail(f"it answered with status {status} and asks to wait {asked:.0f} seconds; start again then")
        raise PassingError(f"status {status}", asked)

    def fail(self, message: str) -> NoReturn:
        """Raise InputError with the address in front."""
        raise InputError(f"{self.name}: {message}") from None


def _parts(url: str, what: str, example: str, variable: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise UsageError(f"the address of the {what} cannot be read; expected {example}")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the address of the {what} holds a password; expected it in {variable}, which is sent as a "
                         f"bearer token and kept nowhere")
    return parts


def _key(variable: str, what: str, required: bool) -> dict[str, str]:
    """The bearer token. Checked here: what HTTP cannot carry would be quoted by the library's own errors."""
    key = os.environ.get(variable, "").strip()
    if required and not key:
        raise UsageError(f"the key of the {what} was to come from {variable}, which is not set; set it")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(f"{variable} holds characters that no key has; expected ASCII without blanks")
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
