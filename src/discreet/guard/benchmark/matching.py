"""Labels against what a guard found: which predicted person is which labelled one, triples, and spans."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.guard.benchmark.guards import PredictedSpan
from discreet.guard.benchmark.passages import BOUND, LabelledSpan, Passage
from discreet.stats.arrays import scipy_module


class Triple(NamedTuple):
    """A class said of a person of a passage: whether the labels say so, and whether the guard does."""

    kind: str
    labelled: bool
    predicted: bool


class SpanCounts(NamedTuple):
    """Spans of one passage and class: labelled, of these found; predicted, of these right."""

    labelled: int
    found: int
    predicted: int
    right: int


def persons(passage: Passage, spans: Sequence[PredictedSpan]) -> dict[str, int]:
    """Each predicted person's labelled one: the assignment with most overlapping spans of one class.

    Overlaps of spans of different classes decide between equals, then the subject (a relative and the speaker may have
    the same span, "my wife"). Persons without any overlap have no partner.
    """
    mine = sorted({s.person for s in spans if s.person is not None})
    theirs = sorted(passage.people)
    score = np.zeros((len(mine), len(theirs)))
    for span in spans:
        for label in passage.spans:
            if span.person is not None and label.person in passage.people and overlap(span, label):
                same = span.subject == _subject(passage.kind(label.person))
                score[mine.index(span.person), theirs.index(label.person)] += (
                    1.0 if span.kind == label.kind else 0.01) + 0.001 * same
    rows, columns = scipy_module("optimize", "matching persons").linear_sum_assignment(score, maximize=True)
    return {mine[r]: theirs[c] for r, c in zip(rows, columns, strict=True) if score[r, c] > 0}


def overlap(span: PredictedSpan | LabelledSpan, other: PredictedSpan | LabelledSpan) -> bool:
    """Whether two spans share a character."""
    return span.start < other.end and other.start < span.end


def triples(passage: Passage, spans: Sequence[PredictedSpan]) -> list[Triple]:
    """Every (person, class) that the labels or the guard bind to a third person or the speaker.

    What only one reader marked, what the words only hint at and what is inferred is left out: it is neither missed nor
    a false alarm. A class bound to a person without a partner, or to one who is public or a group, is a false alarm.
    """
    told: dict[tuple[int, str], bool] = {}
    for label in passage.spans:
        key = label.person, label.kind
        told[key] = told.get(key, False) or label.sure
    told = {**{(p, kind): False for kind, p in passage.inferred if (p, kind) not in told}, **told}
    unsure = [s for s in passage.spans if s.person == -1]
    partner = persons(passage, spans)
    found: dict[tuple[int | str, str], list[PredictedSpan]] = defaultdict(list)
    for span in spans:
        if span.person is not None and span.subject in BOUND:
            found[partner.get(span.person, span.person), span.kind].append(span)
    bound = {key: sure for key, sure in told.items() if passage.kind(key[0]) in BOUND}
    out = [Triple(kind, True, (p, kind) in found) for (p, kind), sure in bound.items() if sure]
    for (p, kind), those in found.items():
        if (p, kind) not in bound and not all(any(s.kind == kind and overlap(one, s) for s in unsure) for one in those):
            out.append(Triple(kind, False, True))
    return out


def subjects(passage: Passage, spans: Sequence[PredictedSpan]) -> list[tuple[str, str, bool]]:
    """Of each labelled (person, class) that predicted spans of the class overlap: class, kind, and whether the subject
    is right, which most of the spans have, or as many as have another."""
    seen: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for label in passage.spans:
        if label.person in passage.people and label.sure:
            seen[label.person, label.kind].update(s.subject for s in spans if s.kind == label.kind
                                                  and s.subject is not None and overlap(s, label))
    return [(kind, passage.kind(p), said[_subject(passage.kind(p))] == max(said.values()))
            for (p, kind), said in seen.items() if said]


def _subject(kind: str) -> str:
    return "cohort" if kind == "group" else kind


def span_counts(passage: Passage, spans: Sequence[PredictedSpan], kind: str, *, exact: bool = False) -> SpanCounts:
    """Spans of a class, whoever they are of. Repeats and what is not sure are never missed, and never false."""
    labels = [s for s in passage.spans if s.kind == kind]
    mine = [s for s in spans if s.kind == kind]

    def same(span: PredictedSpan, label: LabelledSpan) -> bool:
        return (span.start, span.end) == (label.start, label.end) if exact else overlap(span, label)

    clear = [s for s in labels if s.sure and not s.repeat]
    right = [one for one in mine if any(same(one, s) for s in labels if s.sure)]
    unsure = [one for one in mine if one not in right and any(overlap(one, s) for s in labels
                                                              if not s.sure or (exact and s.repeat))]
    return SpanCounts(len(clear), sum(any(same(one, s) for one in mine) for s in clear), len(mine) - len(unsure),
                      len(right))


def bound_to(passage: Passage, spans: Sequence[PredictedSpan], person: int, kinds: Sequence[str]) -> int:
    """How many of the classes `kinds` a guard binds to a labelled person."""
    partner = persons(passage, spans)
    return len({s.kind for s in spans if s.kind in kinds and s.person is not None and partner.get(s.person) == person
                and s.subject in BOUND})
