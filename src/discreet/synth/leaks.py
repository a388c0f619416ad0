"""The three ways in which a generator with retrieval gives somebody away (paper section III-B), as cases with passages.

    retention     one retrieved passage holds the cluster, and the answer repeats it
    synthesis     each of several passages tells one attribute of the same person, and the answer joins them
    fabrication   no passage speaks of anybody, and the answer makes up a person with a cluster

A case has a control: the same question and passages with an answer that binds nothing to anybody. The grammar writes
the cases.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import Generator as Rng

from discreet.core.records import Answer
from discreet.guard.domains import Domain, DomainLike, load_domain
from discreet.synth.grammar import Cluster, borderline_text, case_text, without_marks
from discreet.synth.plan import apportion, uniform
from discreet.synth.records import PLACEMENTS, SETTINGS, SHARED, SUBTYPES, Slot, Spec
from discreet.synth.writer import PROFILES, Writer, sentence_case

Leak = Literal["retention", "synthesis", "fabrication"]
LEAKS: tuple[Leak, ...] = get_args(Leak)
GENERAL = 2
"""Passages of a case that speak of nobody; one in `fabrication` more."""


@dataclass(frozen=True, slots=True)
class LeakCase:
    """An answer that leaks, its control, and the passages that both had.

    `qi` are the classes that the answer binds to one person, at least two of them shared; `told` the classes that each
    passage tells of this person; `verbatim` whether the answer repeats the sentences of the passage as they stand
    (retention only). `profiles` wrote the passages and the answers; `slots` say where the grammar told the classes in
    `answer`.
    """

    id: str
    leak: Leak
    domain: str
    profiles: tuple[str, str]
    qi: tuple[str, ...]
    told: tuple[tuple[str, ...], ...]
    verbatim: bool = False
    generator: str = "grammar"
    question: str = field(default="", repr=False)
    sources: tuple[str, ...] = field(default=(), repr=False)
    answer: str = field(default="", repr=False)
    slots: tuple[Slot, ...] = field(default=(), repr=False)
    control: str = field(default="", repr=False)

    def answers(self) -> tuple[Answer, Answer]:
        """The leak and its control, as a guard judges them."""
        return (Answer(self.id, self.answer, self.question, self.sources),
                Answer(f"{self.id}-control", self.control, self.question, self.sources))

    def to_json(self) -> Iterator[dict[str, Any]]:
        """Two lines that `guard check` and `synth validate` read: the leak and its control."""
        for leaks, one in zip((True, False), self.answers(), strict=True):
            yield {"id": one.id, "kind": "unsafe" if leaks else "borderline", "domain": self.domain, "leak": self.leak,
                   "question": one.question, "answer": one.answer, "sources": list(one.sources),
                   "qi": list(self.qi) if leaks else [], "told": [list(of) for of in self.told],
                   **({"slots": [asdict(slot) for slot in self.slots]} if leaks and self.slots else {}),
                   "verbatim": self.verbatim, "profile": self.profiles[1], "generator": self.generator,
                   "synthetic": True}


def make_leaks(domain: DomainLike, n: int, seed: int) -> list[LeakCase]:
    """n cases of each leak, written by the grammar; the same arguments give the same cases.

    Two profiles write each case, one the passages and another one the answers, so that the answer is in other words
    than the passages. Half of the retentions repeat sentences as they stand.
    """
    found = load_domain(domain)
    out = []
    for leak in LEAKS:
        rng = np.random.default_rng((seed, zlib.crc32(f"{found.name}/{leak}".encode())))
        sizes = apportion(n, SETTINGS["classes_bound"])
        each = [k for k, count in sizes.items() for _ in range(count)]
        placements = uniform(PLACEMENTS, n, rng)
        for i, k in enumerate(each):
            authors = [PROFILES[int(j)] for j in rng.permutation(len(PROFILES))[:2]]
            spec = Spec("unsafe", found.name, authors[0], qi=_classes(k, found, rng), framing="CASE_VOICE",
                        placement=placements[i])
            case = LeakCase(f"{found.name}-{leak}-{i:05d}", leak, found.name, (authors[0], authors[1]), spec.qi, (),
                            verbatim=leak == "retention" and i % 2 == 0)
            out.append(_written(case, spec, found, rng))
    return out


def _classes(k: int, domain: Domain, rng: Rng) -> tuple[str, ...]:
    """k classes, at least two of them shared: a cluster by the default rule and by the paper's."""
    labels = list(domain.labels)
    shared = [qi for qi in labels if qi in SHARED]
    chosen = {shared[int(i)] for i in rng.permutation(len(shared))[:2]}
    rest = [qi for qi in labels if qi not in chosen]
    chosen |= {rest[int(i)] for i in rng.permutation(len(rest))[: k - 2]}
    return tuple(qi for qi in labels if qi in chosen)


def _written(case: LeakCase, spec: Spec, domain: Domain, rng: Rng) -> LeakCase:
    """A case with its passages and answers by the grammar."""
    author, speaker = Writer(spec, domain, rng), Writer(replace(spec, profile=case.profiles[1]), domain, rng)
    # Both speak of one person and one subject.
    speaker.sex, speaker.topic = author.sex, author.topic
    cluster = Cluster(author)
    retold = Cluster(speaker, dict(cluster.values))
    notes: list[list[str]] = []
    if case.leak == "retention":
        notes = [[cluster.single(qi) for qi in spec.qi]]
    elif case.leak == "synthesis":
        notes = [[cluster.single(qi)] for qi in spec.qi]
    bound = (lambda: list(notes[0])) if case.verbatim else retold.bound
    answer = case_text(speaker, bound, retold)
    told = [tuple(spec.qi)] if case.leak == "retention" else [(qi,) for qi in spec.qi] if notes else []
    passages = [(_note(author, note), of) for note, of in zip(notes, told, strict=True)]
    passages += [(_note(author, []), ()) for _ in range(GENERAL + (case.leak == "fabrication"))]
    order = [passages[int(i)] for i in rng.permutation(len(passages))]
    return replace(case, question=answer.question, answer=answer.answer,
                   slots=answer.slots, control=_control(speaker, domain, rng), sources=tuple(text for text, _ in order),
                   told=tuple(of for _, of in order))


def _note(author: Writer, sentences: list[str]) -> str:
    """A passage with these sentences about the person among general ones; without any, a bulletin about nobody."""
    if sentences:
        # No statistics about groups: a note tells of its case.
        rest = [author.from_pool(pool) for pool in ("voice", "content", "voice")]
        marked = sentence_case(author.profile.joiner.join(
            [author.one_of("openings", "CONSULT_NOTE"), *rest[:1], *sentences, *rest[1:]]))
        return without_marks(marked, author.spec.qi)[0]
    lines = [author.one_of("styles", "bulletin"), *(author.from_pool("content") for _ in range(4))]
    return sentence_case(author.profile.joiner.join(lines))


def _control(speaker: Writer, domain: Domain, rng: Rng) -> str:
    """An answer on the same subject in the voice of a case that binds nothing."""
    subtype = SUBTYPES[int(rng.integers(len(SUBTYPES)))]
    spec = replace(speaker.spec, kind="borderline", qi=(), placement=None, subtype=subtype,
                   opening=int(rng.integers(5)))
    writer = Writer(spec, domain, rng)
    writer.topic = speaker.topic
    return borderline_text(writer).answer
