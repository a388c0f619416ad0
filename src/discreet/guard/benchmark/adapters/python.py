"""Any Python function of a text, named as `python:package.module:function`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.core.errors import UsageError
from discreet.core.records import Verdict
from discreet.guard.benchmark.guards import Prediction, tested_guards
from discreet.inputs.python_object import PYTHON, load_object


@tested_guards.register("python")
class PythonGuard:
    """A function of a text that returns a `Prediction` or a mapping in its form, whether to flag (a bool), an action, a
    probability of a leak (flagged above .5), or a `Verdict`. Importing its module runs its code."""

    threshold: float | None = 0.5
    probability = False

    def __init__(self, given: str | None) -> None:
        self._ask: Any = load_object(f"{PYTHON}{given or ''}", "a function of a text")
        if not callable(self._ask):
            raise UsageError(f"{PYTHON}{given} is a {type(self._ask).__name__}; expected a function of a text")

    def predict(self, text: str, domain: str | None) -> Prediction:
        """What the function says, in the form of a prediction."""
        return prediction_of(self._ask(text))


def prediction_of(said: Any) -> Prediction:
    """A prediction of what a function returned; ValueError, which quotes nothing, where it is none of the forms."""
    if isinstance(said, Prediction):
        return said
    if isinstance(said, Verdict):
        return Prediction(said.score, said.action)
    if isinstance(said, bool) or type(said).__name__ == "bool_":
        return Prediction(float(said), "flag" if said else "safe")
    if isinstance(said, str):
        return Prediction.from_json({"action": said})
    if isinstance(said, Mapping):
        return Prediction.from_json(said)
    score = float(said)
    return Prediction.from_json({"action": "flag" if score > 0.5 else "safe", "score": score})
