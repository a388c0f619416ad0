"""Answers to the rows that densities and discriminators score: one a chunk, and the evidence of the whole text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import UsageError
from discreet.core.records import Answer
from discreet.encode.base import Encoder, WholeText
from discreet.encode.encoders.evidence import EvidenceEncoder
from discreet.encode.fusion import Fusion
from discreet.encode.reading import Reading
from discreet.guard.reading import Read, said_before

Encoded = Literal["answer", "question+answer"]
ENCODED: tuple[Encoded, ...] = ("answer", "question+answer")
"""What the encoders of pieces read (paper III-A; V-A). The evidence reads the answer, and the question as what the
user had said."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What is scored of several answers.

    Attributes
    ----------
    features : (m, dim) float32
        A row for each chunk of each answer.
    owner : (m,) int
        Whose chunk it is, ascending from 0.
    evidence : (n, k) float32
        The evidence vector of each whole answer.
    """

    features: NDArray[np.float32] = field(repr=False)
    owner: NDArray[np.intp] = field(repr=False)
    evidence: NDArray[np.float32] = field(repr=False)


def reading_of(read: Read) -> Reading:
    """What encoders need of what the guard has read: a direct identifier that is told back is no evidence."""
    return Reading(read.attributes, tuple(span for span, subject in read.direct if subject != "asker"))


def text_of(answer: Answer, encoded: Encoded) -> str:
    """What the encoders of pieces read of an answer."""
    said = said_before(answer) if encoded == "question+answer" else None
    return answer.answer if said is None else f"{said}\n\n{answer.answer}"


def rows_of(fusion: Fusion, evidence: EvidenceEncoder, answer: Answer, read: Read, encoded: Encoded) -> Rows:
    """The rows of one answer."""
    reading = reading_of(read)
    features = fusion.encode_chunks(text_of(answer, encoded), reading=reading)
    return Rows(features, np.zeros(len(features), dtype=np.intp), evidence.rows([reading]))


def rows_of_many(fusion: Fusion, evidence: EvidenceEncoder, answers: Sequence[Answer], reads: Sequence[Read],
                 encoded: Encoded) -> Rows:
    """The rows of several answers, each as it would be alone."""
    def features(pair: tuple[Answer, Read]) -> NDArray[np.float32]:
        return fusion.encode_chunks(text_of(pair[0], encoded), reading=reading_of(pair[1]))

    parts = _each(features, list(zip(answers, reads, strict=True)))
    owner = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    joined = np.concatenate(parts) if parts else np.empty((0, fusion.dim), dtype=np.float32)
    return Rows(joined, owner, evidence.rows([reading_of(read) for read in reads]))


def fit_fusion(encoders: Sequence[Encoder], answers: Sequence[Answer], reads: Sequence[Read],
               encoded: Encoded) -> tuple[Fusion, NDArray[np.float32]]:
    """A fusion whose blocks have a mean squared norm of 1 on these answers, and their (n, dim) rows.

    Here a row stands for a whole answer: what a long text says in the mean is what its class is like.
    """
    if not answers:
        raise UsageError("no texts to scale the encoders on: expected those that the density is fitted on")
    readings = [reading_of(read) for read in reads]
    texts = [text_of(answer, encoded) for answer in answers]
    blocks = [e.rows(readings) if isinstance(e, WholeText) else e.encode(texts) for e in encoders]
    squared = [float(np.mean(np.sum(b.astype(np.float64) ** 2, axis=1))) for b in blocks]
    # A block that is zero on all of them says nothing about its scale.
    fusion = Fusion(encoders, [1 / np.sqrt(s) if s > 0 else 1.0 for s in squared])
    return fusion, np.hstack([b * np.float32(w) for b, w in zip(blocks, fusion.weights, strict=True)])


def _each(call: Callable[[tuple[Answer, Read]], NDArray[np.float32]],
          items: Iterable[tuple[Answer, Read]]) -> list[NDArray[np.float32]]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(call, items))
