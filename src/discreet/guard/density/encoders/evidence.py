"""The evidence vector: how much a text says about the one person that it says most about.

It holds counts only, no words: a register without facts is the zero vector, whatever its tone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.guard.domains import IDENTIFYING, DomainLike, load_domain, save_facts, saved_domain
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.direct.detect import DirectSpan, find_direct
from discreet.guard.text.doc import Doc
from discreet.guard.text.record import Read
from discreet.guard.text.render import render
from discreet.inputs.encode.base import WholeText, encoders, open_encoder, saving

PERSONAL = ("third", "speaker")
OTHERS = ("asker", "public", "cohort", "nobody")
NAMES = ("person_name", "person_name_hypothetical")

Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Detected:
    """Attributes with their subjects, and direct identifiers that the user had not said themselves; the learned
    reader's `vector` (d,), where it has read the text."""

    attributes: tuple[Attribute, ...] = field(repr=False)
    direct: tuple[DirectSpan, ...] = ()
    vector: NDArray[np.float32] | None = field(default=None, repr=False)


def read(text: str, domain: DomainLike) -> Detected:
    """Read one text, whole, in a domain: the name of a built-in one, or a folder.

    Raises UsageError for an unknown domain, DetectorError where a recogniser broke.
    """
    prepared = render(text)
    return Detected(Read.of(Doc(prepared), load_domain(domain)).attributes, tuple(find_direct(prepared)))


def feature_names(domain: DomainLike) -> tuple[str, ...]:
    """The columns, in order; every value is in [0, 1].

    `strong:C`, `weak:C`
        Distinct values of class C bound to the fullest person (of subject third or speaker), 3 or more as 1. What is
        strong once is not counted as weak. Classes in the order of `columns_of(domain)`.
    `strong`, `total`, `classes`
        The fullest person's distinct identifying attributes (age, ethnicity, place, occupation, family,
        affiliation), without and with weak ones, and how many of the six classes they fill; 6 or more as 1.
    `facts`
        Distinct facts of the domain's own classes about that person, 6 or more as 1.
    `pair:strong`, `pair:total`, `pair:paper`
        Whether two or more are strong; strong or weak; of the shared and the domain's own classes
        (the paper's eight, Table II).
    `S:identifying`, `S:facts` for S in asker, public, cohort, nobody
        Distinct attributes of that subject, 6 or more as 1.
    `direct:names`, `direct:others`
        Direct identifiers that the user had not said: names, and all others; 4 or more as 1.

    Raises UsageError for an unknown domain.
    """
    return (
        *(f"{how}:{c}" for how in ("strong", "weak") for c in columns_of(domain)),
        "strong", "total", "classes", "facts", "pair:strong", "pair:total", "pair:paper",
        *(f"{s}:{what}" for s in OTHERS for what in ("identifying", "facts")), "direct:names", "direct:others",
    )  # fmt: skip


def columns_of(domain: DomainLike) -> tuple[str, ...]:
    """The classes with columns of their own: shared ones, the domain's, ethnicity and sex. Raises UsageError.

    That somebody is spoken of at all is left out: it is tone, and what a borderline-safe text shares with a leak. So is
    whether the fullest person is a third one or the speaker: who trains on stories of one kind would learn the kind.
    """
    found = load_domain(domain)
    return (*found.shared, *found.own, "ethnicity", "sex")


def evidence_row(reading: Detected, domain: DomainLike) -> NDArray[np.float32]:
    """The vector of one reading, in the order of `feature_names(domain)`."""
    domain = load_domain(domain)
    classes = columns_of(domain)
    persons: dict[str, tuple[set[Fact], set[Fact]]] = {}
    for a in reading.attributes:
        if a.subject in PERSONAL and a.kind in classes:
            persons.setdefault(a.person, (set(), set()))[a.weak].add((a.kind, a.value))

    def weight(person: tuple[set[Fact], set[Fact]]) -> tuple[int, ...]:
        """What makes a person the fullest: strong attributes, then all, then domain facts, then sex."""
        every = person[0] | person[1]
        return (_count(person[0], IDENTIFYING), _count(every, IDENTIFYING), _count(every, domain.own),
                _count(every, ("sex",)))

    strong, weak = max(persons.values(), key=weight, default=(set(), set()))
    every = strong | weak
    values = [min(_count(facts, (c,)), 3) / 3 for facts in (strong, weak - strong) for c in classes]
    sure, total, own, _ = weight((strong, weak))
    values += [_six(sure), _six(total), len({k for k, _ in every if k in IDENTIFYING}) / 6, _six(own), float(sure >= 2),
               float(total >= 2), float(_count(every, (*domain.shared, *domain.own)) >= 2)]
    for subject in OTHERS:
        said = {(a.kind, a.value) for a in reading.attributes if a.subject == subject}
        values += [_six(_count(said, IDENTIFYING)), _six(_count(said, domain.own))]
    names = sum(span.type in NAMES for span in reading.direct)
    values += [min(names, 4) / 4, min(len(reading.direct) - names, 4) / 4]
    return np.array(values, dtype=np.float32)


def _count(facts: Iterable[Fact], kinds: Sequence[str]) -> int:
    return sum(kind in kinds for kind, _ in facts)


def _six(count: int) -> float:
    return min(count, 6) / 6


@encoders.register("evidence")
class EvidenceEncoder(WholeText):
    """Texts to evidence vectors of one domain. Reads the whole text, and takes back what the user had said.

    Raises UsageError for an unknown domain.
    """

    kind = "evidence"

    def __init__(self, domain: DomainLike) -> None:
        self.domain = load_domain(domain)
        self.features = feature_names(self.domain)
        self.name = f"evidence-{self.domain.name}"
        self.dim = len(self.features)

    def read(self, text: str) -> Detected:
        """What the detectors see in a text."""
        return read(text, self.domain)

    def rows(self, readings: Sequence[Detected]) -> NDArray[np.float32]:
        """An (n, dim) array from what the detectors saw."""
        return np.array([evidence_row(r, self.domain) for r in readings], dtype=np.float32).reshape(-1, self.dim)

    def save(self, folder: Path) -> None:
        """Write `encoder.json`, and a copy of a domain that is not built in."""
        config: dict[str, Any] = {}
        with saving(folder, self, config) as part:
            config.update(save_facts(self.domain, part), features=self.features)

    @classmethod
    def load(cls, folder: Path) -> EvidenceEncoder:
        """Read back what `save` wrote. Raises InputError, also where this discreet counts other features."""
        manifest = open_encoder(folder, cls.kind)
        config = manifest.facts["config"]
        encoder = cls(saved_domain(config, folder))
        if config.get("features") != list(encoder.features):
            raise InputError(f"{folder} counts other evidence features than this discreet does: make it again")
        return encoder

