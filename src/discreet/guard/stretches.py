"""Stretches of an answer: what each tells by itself that the whole does not, and of whom.

A few telling words in a long text about other things can pass the reader by ("Bed 4: Yoruba welder, 47, Walney." behind
twenty sentences of advice), and rows of a table that seems to list no persons are not read at first. So stretches that
may tell of somebody, by a name or by words of two classes, are read again alone, and such rows without their marks.
What is surely somebody's cluster there counts; a stretch in which the whole text speaks of somebody stays as it was
read there, but for sentences that it gives to a group or to somebody made up and that do not say so.

Nor is it one word for all of an answer of whom it tells: behind a biography, a list of staff or the user's own matter a
line of a record may stand, and the advice to a client may name the office to call. So each stretch in which somebody is
named or told of is asked about by itself, with the user's question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from discreet.core.records import Subject
from discreet.guard.identifiers import Places
from discreet.guard.policy import Policy
from discreet.guard.text import lexicon as lex
from discreet.guard.text.direct.detect import DirectSpan, direct_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.provenance import Request
from discreet.guard.text.reader import Seen, Span
from discreet.guard.text.record import seen_in
from discreet.guard.text.render.words import NOBODY, READ
from discreet.guard.text.reply import Case, Stretch
from discreet.guard.text.resources import as_compared, patterns

_ROWS, _ALONE = 2.5, 2.0
"""Log-odds of a cluster above which unread rows are read, and a stretch by itself counts."""
_NAME = 0.98
"""Probability of a name from which on a stretch that names somebody counts."""
_LONG, _SENTENCES = 60, 3
"""Tokens from which on a text is looked at more closely, and sentences of a stretch."""
_FRAME = 0.0
"""Log-odds that a text speaks of somebody who does not count, above which its frame holds for all of it."""
_UNSAID: tuple[Subject, ...] = ("cohort", "nobody", "hypothetical", "fictional")
"""Whom a text makes of somebody by a word that says so."""
_AGES = range(1, 111)
_OPEN = str.maketrans({NOBODY: " ", READ: " "})


def most(seen: Seen, policy: Policy) -> float:
    """The log-odds that somebody has a cluster."""
    return float(seen.counts[:, min(policy.cluster, seen.counts.shape[1]) - 1].max())


def opened(doc: Doc, policy: Policy) -> Doc:
    """A document, with the rows that are not read at first where these tell surely of somebody, or name somebody."""
    if NOBODY not in doc.text:
        return doc
    other = Doc(replace(doc.prepared, text=doc.text.translate(_OPEN)))
    seen = seen_in(other, other.text)
    names = Places((*other.prepared.span(s.start, s.end), s) for s in seen.spans
                   if s.kind == "name" and s.subject in policy.subjects)
    named = any(any(names.at(one.start, one.end)) for one in direct_of(other) if one.type == "person_name")
    return other if named or most(seen, policy) > _ROWS else doc


def closer(doc: Doc, text: str, seen: Seen, policy: Policy) -> Seen:
    """What is seen in the text of a document, with what stretches of it tell by themselves that the whole does not.
    Raises what the reader raises."""
    if len(doc.tokens) < _LONG or not policy.subjects or seen.case.others > _FRAME:
        return seen
    names = Places((one.start, one.end, one) for one in direct_of(doc) if one.type == "person_name")
    there = Places((s.start, s.end, s) for s in seen.spans)
    parts: list[Part] = []
    for first, last in stretches(doc):
        start, end = doc.tokens[first].start, doc.tokens[last - 1].end
        inside = list(there.at(start, end))
        if any(s.kind in policy.counted for s in inside):
            continue
        named = not any(s.kind == "name" for s in inside) and any(names.at(*doc.prepared.span(start, end)))
        if not (named or _may_tell(doc, first, last)):
            continue
        alone = seen_in(doc, text[start:end])
        if most(alone, policy) > _ALONE or (named and any(
                s.kind == "name" and s.subject in policy.subjects and s.probability >= _NAME for s in alone.spans)):
            parts.append((start, f"near {first}", alone, inside))
    return with_parts(seen, parts)


def told_alone(doc: Doc, seen: Seen, said: str, request: Request, policy: Policy) -> Seen:
    """What the reader sees, with a sentence that it gives to a group or to somebody made up read again by itself, where
    no word of the answer or of the user's own says that: general sentences beside it make nobody of somebody."""
    if not policy.subjects or not any(s.subject in _UNSAID and s.kind in policy.counted for s in seen.spans):
        return seen
    texts = (doc.text, *request.of("user"))
    if any(patterns("requests")["made up"].search(as_compared(text)) for text in texts):
        return seen
    there = Places((s.start, s.end, s) for s in seen.spans)
    parts: list[Part] = []
    for first, last in doc.sentences:
        start, end = doc.tokens[first].start, doc.tokens[last - 1].end
        inside = [s for s in there.at(start, end) if start <= s.start and s.end <= end]
        if sum(s.subject in _UNSAID and s.kind in policy.counted for s in inside) < policy.cluster:
            continue
        alone = seen_in(doc, said[start:end])
        if most(alone, policy) > 0:
            parts.append((start, f"of {first}", alone, inside))
    return with_parts(seen, parts)


def asked_apart(doc: Doc, question: str, together: Case | None, seen: Seen, recognised: Sequence[DirectSpan],
                policy: Policy) -> tuple[Stretch, ...]:
    """The stretches of an answer that name somebody or tell of somebody; none of an answer of one, or of which is not
    known what it is to the question as a whole (`together`). A frame that makes it up covers what stands behind it: no
    stretch of it is private. Raises DetectorError."""
    if together is None or len(places := list(stretches(doc))) < 2:
        return ()
    from discreet.guard.text.classifier import together_with  # Most answers tell of nobody.

    told = Places((s.start, s.end, s) for s in seen.spans
                  if s.subject not in ("cohort", "asker") and (s.kind == "name" or s.kind in policy.counted))
    direct = Places((one.start, one.end, one) for one in recognised)
    found: list[Stretch] = []
    for first, last in places:
        start, end = doc.tokens[first].start, doc.tokens[last - 1].end
        if any(told.at(start, end)) or any(direct.at(*doc.prepared.span(start, end))):
            case = together_with(doc, question, (start, end))
            found += [] if case is None else [Stretch(start, end, case)]
    return tuple(one for one in found if not (one.private and together.made_up))


def read_apart(seen: Seen, said: str, doc: Doc, found: Iterable[Stretch]) -> Seen:
    """What is seen in an answer, with each of some stretches as it is read by itself: whom the rest is about says
    nothing of theirs. `said` is the answer as it is read. Raises DetectorError."""
    there = Places((s.start, s.end, s) for s in seen.spans)
    return with_parts(seen, [(one.start, f"at {one.start}", seen_in(doc, said[one.start : one.end]),
                              list(there.at(one.start, one.end))) for one in found])


def told_by(case: Case, parts: Iterable[Case]) -> Case:
    """What an answer is, where some stretches of it by themselves tell of somebody."""
    return replace(case, tells=max([case.tells, *(part.tells for part in parts)]))


Part = tuple[int, str, Seen, Sequence[Span]]
"""Where a stretch begins, what tells its persons from others, what is seen in it alone, and the spans this replaces."""


def with_parts(seen: Seen, parts: Sequence[Part]) -> Seen:
    """What is seen in a text, with what stretches of it tell by themselves."""
    if not parts:
        return seen
    counts, held, come = seen.counts, dict(seen.held), list[Span]()
    for start, where, alone, _ in parts:
        come += [replace(s, start=s.start + start, end=s.end + start, person=_named(s.person, s.subject, where))
                 for s in alone.spans]
        counts = np.maximum(counts, alone.counts)
        held |= {(_named(who, of, where), of): odds for (who, of), odds in alone.held.items()}
    gone = {s for *_, replaced in parts for s in replaced}
    spans = sorted([*(s for s in seen.spans if s not in gone), *come], key=lambda s: (s.start, s.end))
    return replace(seen, spans=tuple(spans), counts=counts, held=held)


def _named(person: str, subject: Subject, where: str) -> str:
    return person if person == subject else f"{person} {where}"


def stretches(doc: Doc) -> Iterator[tuple[int, int]]:
    """Tokens [first, last) of some sentences each, all of one paragraph."""
    group: list[tuple[int, int]] = []
    for first, last in doc.sentences:
        gap = doc.text[doc.tokens[first - 1].end : doc.tokens[first].start] if first else ""
        if group and (len(group) == _SENTENCES or gap.count("\n") > 1):
            yield group[0][0], group[-1][1]
            group = []
        group.append((first, last))
    if group:
        yield group[0][0], group[-1][1]


def _may_tell(doc: Doc, first: int, last: int) -> bool:
    """Whether words of two classes stand in a stretch."""
    words = doc.lowers[first:last]
    classes = sum(any(word in known for word in words)
                  for known in (lex.occupations(), lex.places(), lex.KIN, lex.demonyms()))
    return classes + any(word.isdigit() and int(word) in _AGES for word in words) > 1
