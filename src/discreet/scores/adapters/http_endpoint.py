"""A classifier behind HTTP: POST {"texts": […]}, answered by {"logits": [[…]]} or {"probabilities": [[…]]}."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.core.types import FloatArray
from discreet.scores.adapters.python_object import rounded
from discreet.scores.adapters.scorer import Kind

TOKEN_VARIABLE = "DISCREET_MODEL_TOKEN"
SCORES: dict[str, Kind] = {"logits": "logit", "probabilities": "prob"}
ATTEMPTS = 5
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
TIMEOUT = 60.0


class HttpEndpoint:
    """A service of this protocol.

    The answer has a row a text in the order of the texts, a column a class; `labels` may name the classes, and
    `model` the version that answered. A bearer token comes from DISCREET_MODEL_TOKEN. Failures that pass (no
    connection, a time out, 408, 425, 429, 5xx) are tried again, five times in all, with growing pauses. Raises
    MissingExtraError without httpx, UsageError for an address that is none, InputError for whatever else keeps the
    answer from being that.
    """

    def __init__(self, url: str, *, batch: int = 16, timeout: float = TIMEOUT,
                 pause: Callable[[float], None] = time.sleep) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("asking a model over HTTP", "audit", "httpx") from None
        self._httpx, self._url, self._batch, self._pause = httpx, url, batch, pause
        try:
            parts = urlsplit(url)
            httpx.URL(url)
        except (ValueError, httpx.InvalidURL):
            raise UsageError("the address of the model cannot be read; expected http://host/path") from None
        if not parts.hostname:
            raise UsageError("the address of the model has no host; expected http://host/path")
        if parts.username is not None or parts.password is not None:
            raise UsageError(f"the address of the model holds a password; expected it in {TOKEN_VARIABLE}, which is "
                             f"sent as a bearer token and kept nowhere")
        # Without the query: a message ends up in logs.
        self.name = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        token = os.environ.get(TOKEN_VARIABLE)
        self._timeout, self._headers = timeout, {"Authorization": f"Bearer {token}"} if token else {}
        self._given: str | None = None
        self.classes: tuple[str, ...] | None = None
        self._model: str | None = None

    @property
    def kind(self) -> Kind:
        """"logit" until the service has answered."""
        return SCORES[self._given or "logits"]

    def fingerprint(self, probes: Sequence[str]) -> str:
        """By address, the version that the service states, and what it says of `probes` today."""
        found = self.outputs(probes)
        digest = hashlib.sha256(f"{self._url} {self._given} {self._model} {self.classes}".encode())
        digest.update(rounded(found))
        return digest.hexdigest()

    def outputs(self, texts: Sequence[str]) -> FloatArray:
        """As `Scorer`, `batch` texts a request."""
        batches = [list(texts[start : start + self._batch]) for start in range(0, len(texts), self._batch)]
        with self._httpx.Client(timeout=self._timeout, headers=self._headers) as client:
            parts = [self._read(self._post(client, batch), len(batch)) for batch in batches]
        if len({part.shape[1] for part in parts}) > 1:
            self._fail("two answers have different numbers of classes; expected one model")
        return np.concatenate(parts)

    def facts(self, texts: Sequence[str]) -> Mapping[str, str]:
        """The version that the service stated."""
        return {"model_type": "http", **({"model_version": self._model} if self._model else {})}

    def _post(self, client: Any, texts: list[str]) -> Any:
        for attempt in range(1, ATTEMPTS + 1):
            wait, why = None, ""
            try:
                answer = client.post(self._url, json={"texts": texts})
            except self._httpx.TransportError as error:
                why = type(error).__name__
            except self._httpx.HTTPError as error:
                self._fail(f"the request failed with {type(error).__name__}; check the address")
            else:
                if answer.status_code == 200:
                    return self._json(answer)
                why, wait = f"status {answer.status_code}", answer.headers.get("Retry-After")
                if answer.status_code not in PASSING:
                    self._fail(f"it answered with status {answer.status_code}; expected 200, for a POST of "
                               f'{{"texts": […]}}')
            if attempt < ATTEMPTS:
                self._pause(_pause(attempt, wait))
        return self._fail(f"no answer in {ATTEMPTS} attempts, at last {why}; see that the service runs and start again")

    def _json(self, answer: Any) -> Any:
        try:
            return answer.json()
        except (ValueError, RecursionError):
            return self._fail("its answer is not JSON; expected an object with 'logits' or 'probabilities'")

    def _read(self, answer: Any, n_texts: int) -> FloatArray:
        named = [name for name in SCORES if isinstance(answer, dict) and answer.get(name) is not None]
        if len(named) != 1:
            self._fail(f"its answer has {'both' if named else 'neither'} 'logits' {'and' if named else 'nor'} "
                       f"'probabilities'; expected an object with one of them")
        self._settle(answer, named[0])
        try:
            found = np.array(answer[named[0]], dtype=np.float64)
        except (TypeError, ValueError):
            self._fail(f"{named[0]!r} is not a list of equally long lists of numbers; expected a row a text")
        if found.ndim != 2 or len(found) != n_texts:
            self._fail(f"{named[0]!r} has the shape {found.shape} for {n_texts} texts; expected ({n_texts}, K)")
        if self.classes is not None and len(self.classes) != max(found.shape[1], 2):
            self._fail(f"'labels' has {len(self.classes)} names for {found.shape[1]} columns; expected one each")
        return found

    def _settle(self, answer: Mapping[str, Any], given: str) -> None:
        """What the first answer says of the service, the others must say too: a run has one model."""
        labels, model = answer.get("labels"), answer.get("model")
        if labels is not None and not (isinstance(labels, list) and all(isinstance(one, str) for one in labels)):
            self._fail("'labels' is no list of strings; expected the name of each class, or nothing")
        said = (given, None if labels is None else tuple(labels), None if model is None else str(model)[:200])
        if self._given is not None and said != (self._given, self.classes, self._model):
            self._fail("'model', 'labels' or the kind of scores changed between two answers; expected one model for a "
                       "whole run: start again")
        self._given, self.classes, self._model = said

    def _fail(self, message: str) -> Any:
        raise InputError(f"{self.name}: {message}")


def _pause(attempt: int, wanted: str | None) -> float:
    """Seconds before the next attempt; what the service asks for where it is a number that is bearable."""
    if wanted is not None and wanted.strip().isdecimal():
        return min(float(wanted), LONGEST_PAUSE)
    return min(FIRST_PAUSE * 2.0 ** (attempt - 1), LONGEST_PAUSE)
