"""A classifier behind HTTP: POST {"texts": […]}, answered by {"logits": [[…]]} or {"probabilities": [[…]]}."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.core.types import FloatArray
from discreet.inputs.endpoints.http import Service
from discreet.inputs.python_object import Kind, rounded

TOKEN_VARIABLE = "DISCREET_MODEL_TOKEN"
SCORES: dict[str, Kind] = {"logits": "logit", "probabilities": "prob"}
ATTEMPTS = 5
HINT = 'expected 200, for a POST of {"texts": […]}'


class HttpEndpoint:
    """A service of this protocol.

    The answer has a row a text in the order of the texts, a column a class; `labels` may name the classes, and
    `model` the version that answered. A bearer token comes from DISCREET_MODEL_TOKEN. Failures that pass are tried
    again as in `discreet.inputs.endpoints.http.Service`, five times in all. Raises MissingExtraError without httpx,
    UsageError for an address that is none, InputError for whatever else keeps the answer from being that.
    """

    def __init__(self, url: str, *, batch: int = 16, timeout: float = 60.0,
                 pause: Callable[[float], object] | None = None) -> None:
        self._service = Service(url, what="model", example="http://host/path", variable=TOKEN_VARIABLE,
                                timeout=timeout, attempts=ATTEMPTS, pause=pause)
        self.name, self._batch = self._service.name, batch
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
        digest = hashlib.sha256(f"{self._service.url} {self._given} {self._model} {self.classes}".encode())
        digest.update(rounded(found))
        return digest.hexdigest()

    def outputs(self, texts: Sequence[str]) -> FloatArray:
        """As `Scorer`, `batch` texts a request."""
        batches = [list(texts[start : start + self._batch]) for start in range(0, len(texts), self._batch)]
        with self._service.client() as client:
            parts = [self._read(self._service.post(client, {"texts": one}, HINT), len(one)) for one in batches]
        if len({part.shape[1] for part in parts}) > 1:
            self._service.fail("two answers have different numbers of classes; expected one model")
        return np.concatenate(parts)

    def facts(self, texts: Sequence[str]) -> Mapping[str, str]:
        """The version that the service stated."""
        return {"model_type": "http", **({"model_version": self._model} if self._model else {})}

    def _read(self, response: Any, n_texts: int) -> FloatArray:
        fail = self._service.fail
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            fail("its answer is not JSON; expected an object with 'logits' or 'probabilities'")
        named = [name for name in SCORES if isinstance(answer, dict) and answer.get(name) is not None]
        if len(named) != 1:
            fail(f"its answer has {'both' if named else 'neither'} 'logits' {'and' if named else 'nor'} "
                 f"'probabilities'; expected an object with one of them")
        self._settle(answer, named[0])
        try:
            found = np.array(answer[named[0]], dtype=np.float64)
        except (TypeError, ValueError):
            fail(f"{named[0]!r} is not a list of equally long lists of numbers; expected a row a text")
        if found.ndim != 2 or len(found) != n_texts:
            fail(f"{named[0]!r} has the shape {found.shape} for {n_texts} texts; expected ({n_texts}, K)")
        if self.classes is not None and len(self.classes) != max(found.shape[1], 2):
            fail(f"'labels' has {len(self.classes)} names for {found.shape[1]} columns; expected one each")
        return found

    def _settle(self, answer: Mapping[str, Any], given: str) -> None:
        """What the first answer says of the service, the others must say too: a run has one model."""
        labels, model = answer.get("labels"), answer.get("model")
        if labels is not None and not (isinstance(labels, list) and all(isinstance(one, str) for one in labels)):
            self._service.fail("'labels' is no list of strings; expected the name of each class, or nothing")
        said = (given, None if labels is None else tuple(labels), None if model is None else str(model)[:200])
        if self._given is not None and said != (self._given, self.classes, self._model):
            self._service.fail("'model', 'labels' or the kind of scores changed between two answers; expected one "
                               "model for a whole run: start again")
        self._given, self.classes, self._model = said
