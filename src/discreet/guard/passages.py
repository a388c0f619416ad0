"""What an answer tells out of a passage that anybody may read: it is no leak.

A judgement as it is published, a manual, a novel, a page about staff: the caller can say that a passage is one
(`Public`), or the classifier reads it so (`Classifier.source`). An answer out of it need not say again that "the
bricklayer in the guideline" is nobody. Persons, names and numbers of an answer that stand in such a passage count no
more, unless any other text of the request tells of them too, be it one fact: a record beside the passage stays a
record. Of a passage that nobody marked, the sentences out of which the answer tells are read by themselves too: a line
about somebody private may stand in a page about others. What tools give is never read so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from math import inf
from typing import NamedTuple

from discreet.core.records import Public, Subject
from discreet.guard.identifiers import Places, counts_directly
from discreet.guard.policy import Policy
from discreet.guard.reading import Reading, as_somebody_else
from discreet.guard.text.classifier import packaged_classifier, source_odds
from discreet.guard.text.direct.detect import DirectSpan
from discreet.guard.text.known_names import words_of
from discreet.guard.text.language import guess_language
from discreet.guard.text.reader import RECORD
from discreet.guard.text.record import Fact, Words, fact_words, pieces
from discreet.guard.text.reply import NOTHING

_PUBLIC: Subject = "public"
"""What such persons are called, whom a policy may count after all."""
_NEARLY = 2 / 3
"""The share of what is told of a person that a passage must tell: the rest may be words that the reader takes for a
fact, or that say it in another way."""
_PAGE, _LINES, _SECOND = -2.0, -1.0, 0.5
"""Log-odds of telling of somebody private below which a passage is believed to be public: as a whole, also with that
share of what the classifier would say of an answer that tells the same, and the sentences out of which the answer
tells. Chosen on writers and real notes that taught nothing (`docs/results/reader.md`)."""
_PART, _LEAK = 0.4, 2.0
"""The share of a passage up to which such sentences are a small part of it; and log-odds of the classifier from which
on these look like a leak."""
_MOST = 16
"""Passages that nobody marked which are read at most: those beyond stay private."""
_SHARED = 2
"""Words that a sentence shares with an answer which tells something out of it."""


def told_by_passages(reading: Reading, policy: Policy) -> Reading:
    """The reading of an answer, with persons and names that only public passages of its request tell of as public.
    Raises DetectorError."""
    text = reading.answer.answer
    values = {span: frozenset(words_of(text[span.start : span.end])) for span, subject in reading.direct
              if counts_directly(span, subject, policy)}
    told = {person: facts for person, facts in _facts(reading, policy) if facts}
    if not (told or values):
        return reading
    public, other = _pages(reading, {fact for of in told.values() for fact in of}, frozenset().union(*values.values()))
    if not public:
        return reading
    pages = [one.words for one in public]
    persons = {person for person, of in told.items() if not any(one.words.tells(fact) for one in other for fact in of)
               and any(_tells(one, of) for one in pages)}
    # Whoever is described as a passage does is whom it is about; a name alone, behind a fact of which no passage tells,
    # need not be.
    further, bearers = _told_further(reading, pages) - persons, _bearers(reading, values)
    spans = {span for span, value in values.items() if value and any(value <= one.names for one in public)
             and all(value.isdisjoint(one.names) for one in other) and further.isdisjoint(bearers[span])}
    attributes = tuple(replace(a, subject=_PUBLIC, why=f"{a.why}; stands in a public passage", overruled=True)
                       if a.person in persons else a for a in reading.attributes)
    direct = tuple((span, _PUBLIC if span in spans else subject) for span, subject in reading.direct)
    found = replace(reading, attributes=attributes, direct=direct)
    if not (persons or spans) or len(persons) < len(told) or len(spans) < len(values):
        return found
    # All that is told stands in public passages: what the text as a whole looks like says no more.
    seen = replace(as_somebody_else(reading.seen, _PUBLIC), case=NOTHING, together=None, asked=False)
    given, retrieved = {one.text for one in other}, reading.request.of("retrieved", "tool")
    return replace(found, seen=seen, behind=reading.behind if any(text in given for text in retrieved) else {})


class _Page(NamedTuple):
    """A text, the words of its facts and those of its names."""

    text: str
    words: Words
    names: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Page:
        return cls(text, Words(text), frozenset(words_of(text)))


def _pages(reading: Reading, facts: Collection[Fact], names: frozenset[str]) -> tuple[list[_Page], list[_Page]]:
    """Public passages; and the other text of a request that is not the user's, without passages that are pasted in.
    Of passages that nobody marked those are read which hold a fact or a word of a name."""
    request = reading.request
    retrieved = request.of("retrieved", "tool")
    marked = [_Page.of(piece) for text in retrieved if isinstance(text, Public) for piece in pieces(text)]
    unmarked = [_Page.of(text) for text in request.of("retrieved") if not isinstance(text, Public)]
    telling = (one for one in unmarked if not names.isdisjoint(one.names) or any(map(one.words.tells, facts)))
    read = {one.text for one in islice(telling, _MOST) if _is_public(one.text, reading)}
    public = [*marked, *(one for one in unmarked if one.text in read)]
    if not public:
        return [], []
    tools = [_Page.of(text) for text in request.of("tool") if not isinstance(text, Public) and text not in read]
    around = (reduce(lambda left, one: left.replace(one.text, " "), public, text) for text in request.around)
    return public, [*(one for one in unmarked if one.text not in read), *tools, *map(_Page.of, around)]


def _is_public(text: str, reading: Reading) -> bool:
    """Whether an answer tells something out of a passage of which the classifier is sure that it is about nobody
    private: as a whole, and the sentences by themselves out of which the answer tells. Where these are a small part of
    it, they must not look like a leak either."""
    doc = reading.request.docs[text]
    rows = RECORD in doc.text or text.lstrip().startswith(("{", "[{"))
    if rows or not guess_language(doc).english:  # Such taught nothing.
        return False
    mine = frozenset(fact_words(reading.doc.text))
    told = (doc.text[doc.tokens[a].start : doc.tokens[b - 1].end] for a, b in doc.sentences)
    lines = " ".join(one for one in told if len(mine.intersection(fact_words(one))) >= _SHARED)
    page = source_odds(doc, text) if lines else inf
    if page >= _PAGE or source_odds(doc, lines) >= _LINES:
        return False
    if page + _SECOND * _tells_of_somebody(text) >= _PAGE:
        return False
    return len(lines) > _PART * len(text) or _tells_of_somebody(lines) < _LEAK


def _tells_of_somebody(text: str) -> float:
    """Log-odds that a text tells something of somebody private, were it an answer."""
    case = packaged_classifier().read(text, "")
    return inf if case is None else case.tells


def _facts(reading: Reading, policy: Policy) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    """What is told of each person but the user, in the classes that count."""
    text = reading.answer.answer
    for members in reading.persons.values():
        counted = [a for a in members if a.kind in policy.counted and a.subject != "asker"]
        told = ((a.kind, tuple(fact_words(text[a.start : a.end]))) for a in counted)
        if counted:
            yield counted[0].person, tuple(dict.fromkeys(fact for fact in told if fact[1]))


def _told_further(reading: Reading, pages: Sequence[Words]) -> set[str]:
    """Of whom the answer tells a private fact, of health, law or money, that stands in no public passage."""
    facts = ((s.person, (s.kind, tuple(fact_words(reading.doc.text[s.start : s.end]))))
             for s in reading.seen.spans if s.kind == "domain")
    return {person for person, fact in facts if fact[1] and not any(one.tells(fact) for one in pages)}


def _bearers(reading: Reading, spans: Iterable[DirectSpan]) -> dict[DirectSpan, set[str]]:
    """Whose name or number the reader takes each of some stretches for; anybody's where it takes it for none."""
    seen, place = reading.seen.spans, reading.doc.prepared.span
    there = Places((*place(s.start, s.end), s.person) for s in seen if s.kind != "domain")
    everybody = {s.person for s in seen}
    return {span: set(there.at(span.start, span.end)) or everybody for span in spans}


def _tells(words: Words, facts: Sequence[Fact]) -> bool:
    """Whether nearly all that is told of a person, every age among it, stands in a passage of these words: a fact does
    by more than half of its own."""
    found = [_mostly(words, fact) for fact in facts]
    ages = (told for (kind, _), told in zip(facts, found, strict=True) if kind == "age")
    return all(ages) and sum(found) >= _NEARLY * len(facts)


def _mostly(words: Words, fact: Fact) -> bool:
    """Whether more than half of the words of a fact stand there."""
    kind, told = fact
    return 2 * sum(words.tells((kind, (one,))) for one in told) > len(told)
