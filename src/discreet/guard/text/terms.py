"""Facts of a domain, as its folder describes them: conditions and visits, assets and sums, matters and roles.

Listed terms, words with a known ending and matches of patterns, each bound to the person of whom the learned reader
finds something nearest to it. They make no cluster of their own under the default rule; they make one narrower, and
count in full where the policy counts them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from discreet.core.records import Subject
from discreet.guard.domains import Domain
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.doc import TOKEN, Doc
from discreet.guard.text.lexicon import Matcher, suffix_kind
from discreet.guard.text.reader import Span

_SHORTEST_WITH_SUFFIX = 7
"""Letters of a word whose ending may count."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term at [start, end) of the rendered text."""

    kind: str
    value: str = field(repr=False)
    start: int
    end: int
    why: str
    weak: bool = False


def terms_of(doc: Doc, domain: Domain, spans: Sequence[Span]) -> tuple[Attribute, ...]:
    """The terms of a domain in a text, in order of place; `spans` are those that the reader finds there.

    A term is said of the person whose span shares a character with it; else of the one named last before it in its
    sentence or the one before, else of the first one named behind it in its sentence, else of the only private person
    of the text, else of nobody.
    """
    # Whom the reader knows by nothing but such facts is mostly somebody whom the sentence has named.
    known = {s.person for s in spans if s.kind != "domain"}
    told = sorted((s for s in spans if s.subject != "nobody" and s.person in known), key=lambda s: (s.start, s.end))
    starts = [s.start for s in told]
    private = {s.person: s for s in told if s.subject in ("third", "speaker")}
    alone = next(iter(private.values())) if len(private) == 1 else None
    found = []
    for term in doc.once(("terms", domain), lambda: tuple(_found(doc, domain))):
        whose = _whose(doc, term, told, starts) or alone
        subject: Subject = "nobody" if whose is None else whose.subject
        person = "nobody" if whose is None else whose.person
        start, end = doc.prepared.span(term.start, term.end)
        found.append(Attribute(term.kind, term.value, subject, person, start, end, term.why, term.weak))
    return tuple(found)


def _whose(doc: Doc, term: Term, told: Sequence[Span], starts: Sequence[int]) -> Span | None:
    at = bisect_right(starts, term.end)
    shared = next((s for s in reversed(told[max(0, at - 4) : at]) if s.end > term.start and s.start < term.end), None)
    if shared is not None:
        return shared
    token = doc.token_at(term.start)
    first, last = doc.sentence_of(token)
    begin = doc.tokens[doc.sentence_of(first - 1)[0] if first else first].start
    before = bisect_right(starts, term.start) - 1
    if before >= 0 and told[before].start >= begin:
        return told[before]
    after = before + 1
    return told[after] if after < len(told) and told[after].start < doc.tokens[last - 1].end else None


@cache
def _matcher(domain: Domain) -> Matcher:
    return Matcher(domain.terms, max_tokens=8, tokenise=TOKEN.findall)


def _found(doc: Doc, domain: Domain) -> Iterator[Term]:
    """Every term once, in order; of terms of one kind that lie in one another the longest."""
    kept: list[Term] = []
    for term in sorted(_all(doc, domain), key=lambda t: (t.start, -t.end, t.weak, t.kind, t.value)):
        if not any(k.kind == term.kind and k.start <= term.start and term.end <= k.end for k in kept[-12:]):
            kept.append(term)
    yield from kept


def _all(doc: Doc, domain: Domain) -> Iterator[Term]:
    for first, last, key in _matcher(domain).find(doc.lowers):
        listed = domain.terms[key]
        kind = domain.class_of_kind.get(listed.kind)
        # A short key is an abbreviation: "MS" is a disease, "Ms." is not.
        spelled = len(key) > 3 or key in domain.lower_case_terms or doc.tokens[first].text.isupper()
        if kind is not None and spelled:
            yield Term(kind, listed.canonical, doc.tokens[first].start, doc.tokens[last - 1].end,
                       f"{listed.kind} term", listed.flag == "w")
    for token in doc.tokens if domain.suffixes[0] else ():
        if len(token.lower) >= _SHORTEST_WITH_SUFFIX and token.lower.isalpha():
            kind = domain.class_of_kind.get(suffix_kind(domain, token.lower) or "")
            if kind is not None:
                yield Term(kind, token.lower, token.start, token.end, domain.suffix_reason)
    for kind, why, pattern in domain.patterns:
        for m in pattern.finditer(doc.text):
            value = m[1] if pattern.groups else m.group()
            if value:
                yield Term(kind, value.lower(), *m.span(), why)
