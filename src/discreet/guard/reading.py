"""One reading of an answer in its request: what everything else that judges, remembers or explains it takes.

It is made once a check: the rendered text, its language, direct identifiers, attributes with the person and the
subject of each, quotes of retrieved passages, and the request by origin (`text.provenance`). An attribute or identifier
that only repeats what the user said of themselves, or of somebody whom they bring, is the asker's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.records import PERSONS, Answer, Subject
from discreet.guard.policy import Policy
from discreet.guard.private import as_private, private_persons
from discreet.guard.text import lexicon as lex
from discreet.guard.text.attributes import Attribute, attributes_of
from discreet.guard.text.cases import named_by_caption
from discreet.guard.text.direct.detect import DirectSpan, direct_of
from discreet.guard.text.doc import Doc, Docs
from discreet.guard.text.facts import fact_words
from discreet.guard.text.language import Language, guess_language
from discreet.guard.text.provenance import Request, request_of
from discreet.guard.text.quotes import Quote, find_quotes
from discreet.guard.text.reader import Seen
from discreet.guard.text.record import Alone, seen_in
from discreet.guard.text.render import render, shown
from discreet.guard.text.resources import patterns, words
from discreet.guard.text.terms import terms_of

if TYPE_CHECKING:
    from discreet.guard.probes import Probe
    from discreet.guard.text.referents import Referent

REPEATS = 2
"""Repeated words from which on only what is stated counts."""
_OF_OFFICE: tuple[Subject, ...] = ("staff", "public", "historic")
_APPOSED = re.compile(r"[\s,:;()*–—-]{0,6}"
                      r"(?:(?:is|was|the|an?|our|named|who is|Dr|Mrs?|Ms|Prof|Sister|Shri|Smt)\.? ){0,3}")
"""What stands between a name and the office that its bearer holds."""
_TITLED = re.compile(r"(?:Dr|Mrs?|Ms|Miss|Mx|Prof|Sir|Dame|Rev|Fr|Sr|Judge|Justice)\b", re.IGNORECASE)
_BEFORE = re.compile(r"([A-Za-z]+)\.?\s+$")
_UNSAID: tuple[Subject, ...] = ("cohort", "nobody", "hypothetical", "fictional")
"""Whom a text makes of somebody by a word that says so."""
_FEW = -2.0
"""Log-odds of a cluster below which a reading speaks of nobody's."""
_NAMES = ("person_name", "person_name_hypothetical")
_SORT = {**dict.fromkeys(_NAMES, "name"), "phone": "contact", "email": "contact", "street_address": "address",
         "postal_code": "address"}
"""The reader's class for identifiers that may be those of an office."""
_SURE = 0.9
"""From this probability on a name that only the reader sees is a name."""
_CODE = re.compile(r"\b(?=[\w-]*\d)[A-Z\d-]+(?: (?:[A-Z]*\d[A-Z\d]*|[A-Z]{2})\b)?")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found, with why: for people who ask. Holds no words of the answer."""

    type: str
    subject: Subject
    person: str
    start: int
    end: int
    why: str
    layer: str
    counts: bool


@dataclass(frozen=True)
class Reading:
    """What was read of one answer in its request.

    `attributes` are what the learned reader sees (`seen`; the `repeats` words that only repeat the user's own are
    hidden from it) and the terms of the domain. `probe` is a described person of whom the answer tells something that
    the question asked for. Offsets are those of the original answer.
    """

    answer: Answer = field(repr=False)
    request: Request = field(repr=False)
    doc: Doc = field(repr=False)
    language: Language
    direct: tuple[tuple[DirectSpan, Subject], ...]
    attributes: tuple[Attribute, ...]
    seen: Seen
    quotes: tuple[Quote, ...] = ()
    probe: Probe | None = None
    repeats: int = 0

    @cached_property
    def text(self) -> str:
        """What an encoder reads: the rendered answer, and one without markup letter for letter as it came."""
        return shown(self.doc.prepared)

    @cached_property
    def empty(self) -> bool:
        """Whether it has no character that can be seen."""
        return not any(c.isprintable() and not c.isspace() for c in self.doc.text)

    @cached_property
    def persons(self) -> dict[str, tuple[Attribute, ...]]:
        """The attributes of each person by name ("person 1", "asker", "speaker"), in order of place; groups and nobody
        are left out."""
        named: dict[str, str] = {}
        found: dict[str, list[Attribute]] = {}
        for a in self.attributes:
            if a.subject not in ("cohort", "nobody"):
                found.setdefault(_named(a, named), []).append(a)
        return {name: tuple(members) for name, members in found.items()}

    def told(self, policy: Policy) -> tuple[str, ...]:
        """The words of facts in sentences about individuals."""
        spoken = {self.doc.tokens[r.first].sentence for r in self.referents(policy)
                  if r.subject in ("third", "speaker", "public") and r.form != "plural"}
        mine = [a for a in self.attributes if a.subject in ("third", "speaker", "public")]
        spoken |= {self.doc.tokens[self.doc.token_at_original(a.start)].sentence for a in mine
                   if not a.weak or len(mine) > 1}
        texts = (self.doc.text[self.doc.tokens[a].start : self.doc.tokens[b - 1].end] for a, b in self.doc.sentences
                 if self.doc.tokens[a].sentence in spoken)
        return tuple(dict.fromkeys(word for text in texts for word in fact_words(text)))

    def referents(self, policy: Policy) -> tuple[Referent, ...]:
        """Whom the text points at, by the person nouns of the policy's domain."""
        from discreet.guard.text.referents import find_referents  # Who is flagged need not be remembered.

        return find_referents(self.doc, lex.person_words(policy.domain.person, policy.domain.people))


def read_answer(answer: Answer, policy: Policy, *, alone: Alone | None = None, docs: Docs | None = None) -> Reading:
    """Run every detector.

    `alone`: other text of the request was read and describes nobody, so that an answer can only repeat what the user
    says of anybody. `docs`: texts that were parsed, where the request was read before. Raises whatever a detector
    raises: the caller turns it into `failed`.
    """
    docs = Docs() if docs is None else docs
    doc, request = docs[answer.answer], replace(request_of(answer, docs), alone=alone)
    said, repeats = request.without_repeated(doc)
    if alone is not None:  # Then the text as a whole speaks of whom the user described.
        repeats = max(repeats, REPEATS)
    asked = "\n".join(request.of("user"))
    seen = _told_alone(doc, _seen(doc, said, asked, policy), said, request, policy)
    spans = _by_both(direct_of(doc), seen, doc)
    told = [a for a in attributes_of(seen, doc) if a.kind != "age" or not _identifies(a, spans)]
    private = private_persons(told, seen, doc, request, policy)
    found = as_private([*told, *terms_of(doc, policy.domain, seen.spans)], private)
    attributes = tuple(sorted(request.repeated(found, doc), key=lambda a: (a.start, a.end, a.kind)))
    status = _Status(seen, doc, private)
    direct = tuple((span, _whose(span, doc, request, answer, policy, status)) for span in spans)
    sources = request.of("retrieved", "tool")
    quotes = doc.once(("quotes", sources), lambda: find_quotes(answer.answer, sources, policy.quotes, docs))
    return Reading(answer, request, doc, guess_language(doc), direct, attributes, seen, quotes,
                   _probe(answer, request, doc, attributes, policy), repeats)


def _seen(doc: Doc, said: str, asked: str, policy: Policy) -> Seen:
    """What the reader sees in an answer: behind its question where that makes private people somebody else.

    A question may say that somebody is invented, or of the staff, and what it tells itself is no part of the answer. So
    an answer is read by itself first, its question is asked only where something could be cleared, and it clears only
    what it gives to another individual: never what is then nobody's, or less likely.
    """
    plain = seen_in(doc, said)
    if not asked or not policy.subjects:
        return plain

    def of(seen: Seen, subjects: Collection[Subject]) -> set[int]:
        return {at for s in seen.spans if s.subject in subjects and (s.kind == "name" or s.kind in policy.counted)
                for at in range(s.start, s.end)}

    told = of(plain, policy.subjects)
    if not told:
        return plain
    framed = seen_in(doc, said, asked)
    cleared = told & of(framed, [one for one in PERSONS if one not in policy.subjects])
    fewer = _most(framed, policy) <= max(_most(plain, policy), _FEW)
    return framed if fewer and 2 * len(cleared) > len(told) else plain


def _told_alone(doc: Doc, seen: Seen, said: str, request: Request, policy: Policy) -> Seen:
    """What the reader sees, with a sentence that it gives to a group or to somebody made up read again by itself, where
    no word of the answer or of the user's own says that: general sentences beside it make nobody of somebody."""
    if not policy.subjects or not any(s.subject in _UNSAID and s.kind in policy.counted for s in seen.spans):
        return seen
    texts = (doc.text, *request.of("user"))
    if any(patterns("requests")["made up"].search(" ".join(text.lower().split())) for text in texts):
        return seen
    spans, counts, held = list(seen.spans), seen.counts, dict(seen.held)
    for first, last in doc.sentences:
        start, end = doc.tokens[first].start, doc.tokens[last - 1].end
        inside = [s for s in spans if start <= s.start and s.end <= end]
        if sum(s.subject in _UNSAID and s.kind in policy.counted for s in inside) < policy.cluster:
            continue
        alone = seen_in(doc, said[start:end])
        if _most(alone, policy) > 0:
            spans = [s for s in spans if s not in inside]
            spans += [replace(s, start=s.start + start, end=s.end + start, person=f"{s.person} of {first}")
                      if s.person != s.subject else replace(s, start=s.start + start, end=s.end + start)
                      for s in alone.spans]
            counts = np.maximum(counts, alone.counts)
            held |= {(f"{who} of {first}" if who != of else who, of): odds for (who, of), odds in alone.held.items()}
    return replace(seen, spans=tuple(sorted(spans, key=lambda s: (s.start, s.end))), counts=counts, held=held)


def _most(seen: Seen, policy: Policy) -> float:
    """The log-odds that somebody has a cluster."""
    return float(seen.counts[:, min(policy.cluster, seen.counts.shape[1]) - 1].max())


def _identifies(a: Attribute, direct: Sequence[DirectSpan]) -> bool:
    """Whether digits are those of a number that identifies, and nobody's age. Direct identifiers do not overlap."""
    at = bisect_right(direct, a.start, key=lambda one: one.start) - 1
    return at >= 0 and a.end < direct[at].end and direct[at].type != "date_of_birth"


def _probe(answer: Answer, request: Request, doc: Doc, attributes: tuple[Attribute, ...], policy: Policy
           ) -> Probe | None:
    if not request.asked or not doc.text.strip():
        return None
    from discreet.guard.probes import find_probe  # Most answers come without a question.

    return find_probe(request, doc, attributes, policy, asker=answer.asker)


def _whose(span: DirectSpan, doc: Doc, request: Request, answer: Answer, policy: Policy, status: _Status) -> Subject:
    """The asker's own, a published party's, a listed person's or a name of somebody who is not private, else a third
    person's.

    Who treats or represents the person, or has proved to be the person, may read again any identifier that they gave.
    """
    value = render(doc.prepared.original[span.start : span.end]).text
    if span.type == "postal_code" and (code := _CODE.search(value)) is not None:
        value = code.group()  # which tells the town
    if request.own is not None:
        known = not policy.subjects or answer.asker == "self" or request.alone is not None
        if doc.once(("gave", span.type, value, request.alone), lambda: request.gave(span.type, value, anybody=known)):
            return "asker"
        if _declines(doc, span) and doc.once(("gave", value), lambda: request.gave(span.type, value, anybody=True)):
            return "asker"
    if span.type not in _NAMES:
        return status.of(span)
    start = doc.tokens[doc.token_at_original(span.start)].start if doc.tokens else 0
    if named_by_caption(doc, start, start + len(value)):
        return "public"
    if doc.once(("listed", value), lambda: policy.may_name(value, doc.text)):
        return "public"
    return status.of(span)


def identifies(text: str, policy: Policy, docs: Docs) -> bool:
    """Whether a text holds a direct identifier that makes an answer a flag."""
    answer, doc = Answer("", text), docs[text]
    status = _Status(None, doc, ())
    return any(counts_directly(span, _whose(span, doc, Request(()), answer, policy, status), policy)
               for span in direct_of(doc))


def _declines(doc: Doc, span: DirectSpan) -> bool:
    """Whether the sentence that holds an identifier declines: a refusal that repeats a name tells nothing."""
    from discreet.guard.text.consent import declines
    begin, end = doc.sentence_of(doc.token_at_original(span.start))
    return declines(doc.text[doc.tokens[begin].start : doc.tokens[end - 1].end])


def findings_of(reading: Reading, policy: Policy) -> tuple[Finding, ...]:
    """Everything that was found, in order of place, and whether the policy counts it."""
    found = [Finding(span.type, subject, "", span.start, span.end, f"{span.type} pattern", "direct",
                     counts_directly(span, subject, policy)) for span, subject in reading.direct]
    named: dict[str, str] = {}
    for a in reading.attributes:
        counts = a.subject in policy.subjects and a.kind in policy.counted
        found.append(Finding(a.kind, a.subject, _named(a, named), a.start, a.end, a.why, "contextual", counts))
    found += [Finding("quote", "nobody", "", one.start, one.end, f"{one.words} words as in passage {one.source}",
                      "verbatim", policy.quotes.action in ("abstain", "flag")) for one in reading.quotes]
    if reading.probe is not None:
        found.append(Finding("answer_to_probe", reading.probe.subject, "", 0, len(reading.answer.answer),
                             "tells what the question asks of a described person", "contextual", True))
    return tuple(sorted(found, key=lambda f: (f.start, f.end, f.type)))


def _named(a: Attribute, named: dict[str, str]) -> str:
    """What explanations call the person of an attribute; `named` keeps the numbers that were given."""
    if a.subject in ("cohort", "nobody", "speaker"):
        return a.subject
    return named.setdefault(a.person, "asker" if a.person == "addressee" else f"person {len(named) + 1}")


def _by_both(spans: Sequence[DirectSpan], seen: Seen, doc: Doc) -> list[DirectSpan]:
    """Direct identifiers: of the recognisers' names those that have a title or that the reader takes for a name too,
    and further names that the reader is sure of. Other identifiers stay: they have a form of their own."""
    names = [(*doc.prepared.span(s.start, s.end), s) for s in seen.spans if s.kind == "name"]
    kept = [span for span in spans if span.type != "person_name"
            or _TITLED.match(doc.prepared.original, span.start)
            or any(start < span.end and span.start < end for start, end, _ in names)]
    more = [DirectSpan("person_name", start, end) for start, end, s in names
            if s.subject in ("third", "speaker") and s.probability >= _SURE and doc.text[s.start : s.end].strip()
            and not _in_office(doc.text, s.start)
            and not any(start < span.end and span.start < end for span in kept)]
    return sorted([*kept, *more], key=lambda span: (span.start, span.end))


def _in_office(text: str, start: int) -> bool:
    """Whether the word before a name is a title of office ("Dr.", "Judge"), whose bearers the recognisers pass."""
    before = _BEFORE.search(text, max(0, start - 24), start)
    return before is not None and before[1].lower() in words("names")["offices"]


class _Status:
    """Whose identifiers the reader takes those of an answer for, by place in the original; some persons count as
    `private` whatever it takes them for. A name is also that of an office right before or behind it ("the district
    supervisor, Hyacinth Dubé")."""

    def __init__(self, seen: Seen | None, doc: Doc, private: Collection[str]) -> None:
        spans = [] if seen is None else [s for s in seen.spans if s.subject in PERSONS]
        offices = [(s.start, s.end, s.subject) for s in spans if s.kind in ("occupation", "affiliation")
                   and s.subject in _OF_OFFICE and s.person not in private]
        self._spans: dict[str, list[tuple[int, int, Subject]]] = {}
        for s in spans:
            subject: Subject = "third" if s.person in private else s.subject
            if subject == "third" and s.person not in private and s.kind == "name":
                subject = next((of for start, end, of in offices if _beside(doc.text, s.start, s.end, start, end)),
                               subject)
            self._spans.setdefault(s.kind, []).append((*doc.prepared.span(s.start, s.end), subject))

    def of(self, span: DirectSpan) -> Subject:
        """That of the reader's spans of the same sort that share a character with an identifier, where they agree;
        else private."""
        kind = _SORT.get(span.type)
        shared = {subject for start, end, subject in self._spans.get(kind or "", ())
                  if start < span.end and span.start < end}
        subject = shared.pop() if len(shared) == 1 else "third"
        return subject if kind == "name" or subject in _OF_OFFICE else "third"


def _beside(text: str, start: int, end: int, other_start: int, other_end: int) -> bool:
    """Whether two stretches stand in apposition."""
    last, first = (end, other_start) if start < other_start else (other_end, start)
    return _APPOSED.fullmatch(text, last, max(last, first)) is not None


def counts_directly(span: DirectSpan, subject: Subject, policy: Policy) -> bool:
    """Whether a direct identifier makes the answer a flag."""
    spared = subject in ("asker", *PERSONS[1:]) and subject not in policy.subjects
    return not spared and span.type not in policy.allow_direct
