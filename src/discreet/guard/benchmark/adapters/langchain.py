"""LangChain's `PIIMiddleware`, called as an agent calls it after its model has answered."""

from __future__ import annotations

from typing import Any

from discreet.core.errors import UsageError
from discreet.guard.benchmark.guards import PredictedSpan, Prediction, tested_guards
from discreet.inputs.python_object import PYTHON, load_object

TYPES = "email,credit_card,ip,mac_address,url"
"""All that the middleware knows by itself."""


@tested_guards.register("langchain")
class LangchainGuard:
    """Flags a text that some middleware would change or block; the score is how many would.

    `given` are types with commas between them (all five by default), or `module:object`, your own middleware or a list
    of them. UsageError where langchain is not installed, or there is no such type.
    """

    threshold: float | None = 0.5
    probability = False

    def __init__(self, given: str | None = None) -> None:
        try:
            from langchain.agents.middleware import PIIMiddleware
            from langchain_core.messages import AIMessage, HumanMessage
        except ImportError:
            raise UsageError("LangChain's middleware needs the package 'langchain', which is not installed: "
                             "pip install 'langchain>=1'") from None
        self._answer, self._question = AIMessage, HumanMessage
        if given and ":" in given:
            found = load_object(f"{PYTHON}{given}", "a PIIMiddleware, or a list of them")
            self._middleware: list[Any] = list(found) if isinstance(found, list | tuple) else [found]
            if not all(hasattr(one, "after_model") for one in self._middleware):
                raise UsageError(f"{given} is a {type(found).__name__}; expected a PIIMiddleware, or a list of them")
            return
        try:
            self._middleware = [PIIMiddleware(kind.strip(), strategy="redact", apply_to_output=True)
                                for kind in (given or TYPES).split(",")]
        except ValueError:
            raise UsageError(f"{str(given)[:40]!r} has a type that PIIMiddleware does not know; expected some of "
                             f"{TYPES}") from None

    def predict(self, text: str, domain: str | None) -> Prediction:
        """Whether the hooks change or block the text; places where the middleware has a detector."""
        hits = [one for one in self._middleware if self._changes(one, text)]
        matches = [match for one in hits for match in getattr(one, "detector", lambda _: [])(text)]
        spans = tuple(PredictedSpan(match["start"], match["end"], "contact") for match in matches)
        return Prediction(float(len(hits)), "flag" if hits else "safe", None, spans)

    def _changes(self, middleware: Any, text: str) -> bool:
        output = getattr(middleware, "apply_to_output", True)
        hook, message = ((middleware.after_model, self._answer) if output
                         else (middleware.before_model, self._question))
        try:
            return hook({"messages": [message(content=text)]}, None) is not None
        except Exception as error:
            # The strategy "block" raises.
            if type(error).__name__ == "PIIDetectionError":
                return True
            raise
