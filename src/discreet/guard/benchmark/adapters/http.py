"""A guard behind HTTP: POST {"text": …}, answered by {"action": …} with a score and spans where it has them."""

from __future__ import annotations

from discreet.guard.benchmark.guards import Prediction, tested_guards
from discreet.inputs.endpoints.http import Service

TOKEN_VARIABLE = "DISCREET_GUARD_TOKEN"
ATTEMPTS = 5
HINT = 'expected 200, for a POST of {"text": …}'


@tested_guards.register("http")
class HttpGuard:
    """A service that answers in the form of a `Prediction`: `action`; `score`, `direct` and `spans` if it has them.

    A bearer token comes from DISCREET_GUARD_TOKEN. Failures that pass are tried again as in
    `discreet.inputs.endpoints.http.Service`. Texts leave the machine: name only a service that may have them.
    """

    threshold: float | None = None
    probability = False

    def __init__(self, given: str | None) -> None:
        self._service = Service(given or "", what="guard", example="http://host/check", variable=TOKEN_VARIABLE,
                                attempts=ATTEMPTS)
        self._client = self._service.client()

    def predict(self, text: str, domain: str | None) -> Prediction:
        """What the service says. InputError where it is not there or says something else."""
        answer = self._service.post(self._client, {"text": text}, HINT)
        try:
            return Prediction.from_json(answer.json())
        except (ValueError, TypeError, AttributeError, RecursionError):
            self._service.fail('its answer is no prediction; expected {"action": "safe", "flag", "abstain" or '
                               '"failed", "score": number, "spans": [[start, end, class, person, subject]]}')
