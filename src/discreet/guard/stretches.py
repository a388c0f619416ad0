"""Of whom each stretch of an answer tells.

That is not one word for all of it: behind a biography, a list of staff or the user's own matter a line of a record may
stand, and the advice to a client may name the office to call. So each stretch of an answer in which somebody is named
or told of is asked about by itself, with the user's question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from discreet.guard.closer import stretches, with_parts
from discreet.guard.identifiers import Places
from discreet.guard.policy import Policy
from discreet.guard.text.direct.detect import DirectSpan
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import Seen
from discreet.guard.text.record import seen_in
from discreet.guard.text.reply import Case, Stretch


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
