"""Regular expressions, a few a class, and how many classes they find: what any guard must beat."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from discreet.core.errors import InputError
from discreet.core.files import why
from discreet.guard.benchmark.guards import PredictedSpan, Prediction, tested_guards
from discreet.guard.benchmark.passages import CLASSES

CLUSTER = 2


@tested_guards.register("regex")
class RegexGuard:
    """Counts classes that some expression finds, whoever they are of, and flags two or more.

    `given` is a table of `class<TAB>expression`, one a line, `#` for comments; by default `patterns.tsv`.
    """

    threshold: float | None = CLUSTER - 0.5
    probability = False

    def __init__(self, given: str | None = None) -> None:
        try:
            ours = files("discreet.guard.benchmark").joinpath("patterns.tsv")
            table = (Path(given) if given else ours).read_text("utf-8")
        except OSError as error:
            raise InputError(f"cannot read {given}: {why(error)}; expected lines of class, tab, expression") from None
        self._patterns = [_pattern(line, number, given or "patterns.tsv")
                          for number, line in enumerate(table.splitlines(), start=1)
                          if line.strip() and not line.startswith("#")]

    def predict(self, text: str, domain: str | None) -> Prediction:
        """The number of classes as the score."""
        spans = tuple(PredictedSpan(*m.span(), kind) for kind, pattern in self._patterns for m in pattern.finditer(text)
                      if m.group())
        score = float(len({s.kind for s in spans}))
        return Prediction(score, "flag" if score >= CLUSTER else "safe", None, spans)


def _pattern(line: str, number: int, source: str) -> tuple[str, re.Pattern[str]]:
    kind, _, expression = line.partition("\t")
    if kind not in CLASSES:
        raise InputError(f"{source}, line {number}: the class is {kind[:20]!r}; expected one of {', '.join(CLASSES)}, "
                         "then a tab and an expression")
    try:
        return kind, re.compile(expression)
    except re.error as error:
        raise InputError(f"{source}, line {number}: no regular expression ({error.msg}); expected one of Python's"
                         ) from None
