"""An adapter that makes Microsoft Presidio's pattern recognisers one more recogniser of layer 1.

It is not built in: no guard runs it until it is registered, as `docs/guard.md` shows.

Nothing is downloaded and no socket is opened: the spaCy pipeline is a blank tokeniser (Presidio's own slim engine
fetches a model for English even when asked for a blank one), and the public-suffix list that the e-mail recogniser
consults is the copy inside `tldextract`. Needs the extra `presidio`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.core.errors import need
from discreet.guard.text.direct.detect import BOUND, CHECKED, SHAPED, Facts, Hit

ENTITIES: Mapping[str, str] = {
    "US_SSN": "ssn", "US_ITIN": "itin", "CREDIT_CARD": "card", "IBAN_CODE": "iban", "ABA_ROUTING_NUMBER": "aba_routing",
    "US_BANK_NUMBER": "bank_account", "US_NPI": "npi", "MEDICAL_LICENSE": "dea", "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone", "IP_ADDRESS": "ip", "URL": "url",
}
"""Presidio's entities to the types of layer 1; others keep their name in lower case."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST = 2**31 - 1


class PresidioRecogniser:
    """Presidio's analyzer behind the `Recogniser` protocol.

    `recognizers` (of presidio_analyzer) are by default the twelve that have a pattern or a check digit and share a type
    with layer 1. `threshold`, in [0, 1], is the least score that counts: Presidio scores a bare nine-digit number .05
    and the same behind "SSN" .4 or more. Raises MissingExtraError where presidio-analyzer is not installed.
    """

    def __init__(self, *, recognizers: Sequence[Any] | None = None, threshold: float = 0.4, priority: int = -1) -> None:
        self._engine = pattern_engine(recognizers)
        self._entities = sorted(self._engine.get_supported_entities("en"))
        self._threshold = threshold
        self.types = tuple(sorted({_type(entity) for entity in self._entities}))
        self.priority = priority

    def find(self, facts: Facts) -> Iterator[Hit]:
        """Presidio's results at or over the threshold; score 1 counts as checked, .6 or more as bound."""
        text = _SURROGATE.sub("?", facts.text)
        for result in self._engine.analyze(text, "en", entities=self._entities, score_threshold=self._threshold):
            validity = CHECKED if result.score >= 1 else BOUND if result.score >= 0.6 else SHAPED
            yield Hit(_type(result.entity_type), result.start, result.end, validity)


def _type(entity: str) -> str:
    return ENTITIES.get(entity, entity.lower())


def pattern_engine(recognizers: Sequence[Any] | None = None) -> Any:
    """An `AnalyzerEngine` over a blank English tokeniser whose lemmas are the lower-cased words.

    Without lemmas, Presidio's context words ("ssn", "routing") would never raise a score. Its log is kept free of
    text: debug lines quote the context, and the IBAN recogniser logs values that it cannot read.
    """
    need("presidio_analyzer", "the Presidio recogniser", "presidio")
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NlpArtifacts, SlimSpacyNlpEngine

    slim: Any = SlimSpacyNlpEngine

    class BlankEngine(slim):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(models=[{"lang_code": "en", "model_name": "unused"}], auto_download=False)

        def load(self) -> None:
            tokeniser = spacy.blank("en")
            tokeniser.max_length = _LONGEST
            self.nlp = {"en": tokeniser}

        def _doc_to_nlp_artifact(self, doc: Any, language: str) -> Any:
            return NlpArtifacts(entities=[], tokens=doc, tokens_indices=[token.idx for token in doc],
                                lemmas=[token.lower_ for token in doc], nlp_engine=self, language=language, scores=[])

    logging.getLogger("presidio-analyzer").addFilter(_tells_no_text)
    registry = RecognizerRegistry(supported_languages=["en"])
    for recognizer in pattern_recognizers() if recognizers is None else recognizers:
        registry.add_recognizer(recognizer)
    return AnalyzerEngine(registry=registry, nlp_engine=BlankEngine(), supported_languages=["en"])


def pattern_recognizers() -> list[Any]:
    """The twelve recognizers of `ENTITIES`, those that Presidio disables by default included."""
    import tldextract
    from presidio_analyzer import predefined_recognizers as predefined

    extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

    online: Any = predefined.EmailRecognizer

    class OfflineEmailRecognizer(online):  # type: ignore[misc]
        def validate_result(self, pattern_text: str) -> bool:
            return extract(pattern_text).fqdn != ""

    others = ("UsSsn", "UsItin", "CreditCard", "Iban", "AbaRouting", "UsBank", "UsNpi", "MedicalLicense", "Phone", "Ip",
              "Url")
    return [OfflineEmailRecognizer(), *(getattr(predefined, f"{name}Recognizer")() for name in others)]


def _tells_no_text(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.INFO and not str(record.msg).startswith("Failed to validate text")
