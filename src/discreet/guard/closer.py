"""A closer look: what the reader sees in a part of an answer by itself that it does not see in the whole.

A few telling words in a long text about other things can pass it by ("Bed 4: Yoruba welder, 47, Walney." behind twenty
sentences of advice), and rows of a table that seems to list no persons are not read at first. So stretches that may
tell of somebody, by a name or by words of two classes, are read again alone, and such rows without their marks. What is
surely somebody's cluster there counts; a stretch in which the whole text speaks of somebody stays as it was read there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.guard.identifiers import Places
from discreet.guard.policy import Policy
from discreet.guard.text import lexicon as lex
from discreet.guard.text.direct.detect import direct_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import Seen, Span
from discreet.guard.text.record import seen_in
from discreet.guard.text.render.words import NOBODY, READ

_ROWS, _ALONE = 2.5, 2.0
"""Log-odds of a cluster above which unread rows are read, and a stretch by itself counts."""
_NAME = 0.98
"""Probability of a name from which on a stretch that names somebody counts."""
_LONG, _SENTENCES = 60, 3
"""Tokens from which on a text is looked at more closely, and sentences of a stretch."""
_FRAME = 0.0
"""Log-odds that a text speaks of somebody who does not count, above which its frame holds for all of it."""
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
    counts, held = seen.counts, dict(seen.held)
    names = Places((one.start, one.end, one) for one in direct_of(doc) if one.type == "person_name")
    there, gone, come = Places((s.start, s.end, s) for s in seen.spans), set[Span](), list[Span]()
    for first, last in _stretches(doc):
        start, end = doc.tokens[first].start, doc.tokens[last - 1].end
        inside = list(there.at(start, end))
        if any(s.kind in policy.counted for s in inside):
            continue
        named = not any(s.kind == "name" for s in inside) and any(names.at(*doc.prepared.span(start, end)))
        if not (named or _may_tell(doc, first, last)):
            continue
        alone = seen_in(doc, text[start:end])
        if most(alone, policy) <= _ALONE and not (named and any(
                s.kind == "name" and s.subject in policy.subjects and s.probability >= _NAME for s in alone.spans)):
            continue
        gone.update(inside)
        come += [replace(s, start=s.start + start, end=s.end + start, person=_named(s.person, s.subject, first))
                 for s in alone.spans]
        counts = np.maximum(counts, alone.counts)
        held |= {(_named(who, of, first), of): odds for (who, of), odds in alone.held.items()}
    if not come:
        return seen
    found = sorted([*(s for s in seen.spans if s not in gone), *come], key=lambda s: (s.start, s.end))
    return replace(seen, spans=tuple(found), counts=counts, held=held)


def _named(person: str, subject: str, first: int) -> str:
    return person if person == subject else f"{person} near {first}"


def _stretches(doc: Doc) -> Iterator[tuple[int, int]]:
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
    found: set[str] = set()
    for word in doc.lowers[first:last]:
        found |= {name for name, known in (("job", lex.occupations()), ("place", lex.places()), ("kin", lex.KIN),
                                           ("origin", lex.demonyms())) if word in known}
        if word.isdigit() and int(word) in _AGES:
            found.add("age")
    return len(found) > 1
