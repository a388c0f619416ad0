"""Attributes: what a text tells of whom, as the learned reader finds it; and facts of a domain, as its folder has them.

Facts of a domain are listed terms, words with a known ending and matches of patterns: conditions and visits, assets and
sums, matters and roles. Each is bound to the person of whom the reader finds something nearest to it. They make no
cluster of their own under the default rule; they make one narrower, and count in full where the policy counts them.

The value of an attribute lives in memory only; what leaves the process is `Evidence`: type, subject and offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from discreet.core.records import PERSONS, Evidence, Subject
from discreet.guard.domains import IDENTIFYING, Domain, load_domain
from discreet.guard.text import lexicon as lex
from discreet.guard.text.doc import TOKEN, Doc
from discreet.guard.text.lexicon import Matcher, suffix_kind
from discreet.guard.text.reader import Seen, Span
from discreet.guard.text.resources import words as word_lists

KINDS = (*IDENTIFYING, "sex")
"""The classes that the reader finds; those of a domain are found by its terms (`terms_of`)."""
WEAK = 0.7
"""Below this probability a span counts as weak."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_OLD = re.compile(r"[ -]{0,3}\b(?:years?|yrs?)\b[ -]{0,3}old\b")
_YEARS_OLD = re.compile(
    r"(?<![\w.,/])(?:\d{1,3}|(?:[a-z]{3,7}ty|[a-z]{3,5}teen|ten|eleven|twelve)(?:-[a-z]{3,5})?)"
    r"[ ]?-?[ ]?(?:years?|yrs?|months?|weeks?|days?)[ ]?-?[ ]?old\b", re.IGNORECASE)
_PLACES = word_lists("places")
_ABBREVIATIONS = frozenset(map(str.upper, _PLACES["abbreviations"]))
_MOST_VALUES = 64
"""Of a person who has more attributes of a class, further ones are not compared with what is said of them."""
_BEFORE = frozenset("from in at near of to".split())
"""Stand before a place and are no part of it."""
_EMPTY = frozenset("a an the of in at as for with who and to was is been were live lives lived living".split())
"""No fact by themselves: "lives with" is none, with whom is one."""
_SMALL = lex.DETERMINERS | lex.FIRST | frozenset(lex.THIRD) | lex.THEY | _EMPTY
_WHOSE = "|".join(sorted(lex.DETERMINERS | set("two three four five six seven eight nine ten".split())))
_ONE_FACT = {"family": re.compile(rf"\s+of(?:\s+(?:{_WHOSE}|1?\d|20))*\s*", re.IGNORECASE),
             "affiliation": re.compile(r"(?:['’]s?)?(?:\s+[A-Z][\w-]*){0,2},?\s*(?:(?:of|at|in)\s+)?(?:the\s+)?")}
"""What may stand between the words of one fact, by class: "a mom of three kids", "the ward of St Luke's, Ely Trust"."""
_SHORTEST_WITH_SUFFIX = 7
"""Letters of a word whose ending may count."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One fact of one class about one person. `start` and `end` are offsets in the original text; `probability` that
    it stands there, 1 for a listed term; `overruled`: it counts as a private person's, though the reader takes it for
    somebody else's."""

    kind: str
    value: str = field(repr=False)
    subject: Subject
    person: str = field(repr=False)
    start: int
    end: int
    why: str
    weak: bool = False
    probability: float = 1.0
    overruled: bool = False

    def evidence(self) -> Evidence:
        """What may leave the process: no value, no words."""
        return Evidence(self.kind, self.subject, self.start, self.end)


def attributes_of(reading: Seen, doc: Doc) -> tuple[Attribute, ...]:
    """The spans of the classes that count as facts about a person, in order of their place.

    The value is what is said, in lower case and without articles; spans of one person and class of which one holds the
    words of the other are one fact, and so are spans of a family fact or an affiliation that stand together.
    """
    whole = _whole(reading.spans, doc.text)
    told = [(span, words) for span in whole if span.kind in KINDS and (words := _words(span, doc.text))]
    for kind, between in _ONE_FACT.items():
        of_kind = [k for k, (span, _) in enumerate(told) if span.kind == kind]
        for k, i in pairwise(of_kind):
            (a, mine), (b, theirs) = told[k], told[i]
            if a.person == b.person and between.fullmatch(doc.text, a.end, max(a.end, b.start)):
                told[k], told[i] = (a, mine | theirs), (b, mine | theirs)
    found: list[Attribute] = []
    values: dict[tuple[str, str], list[frozenset[str]]] = {}
    for span, words in _of_one_age(told):
        known = values.setdefault((span.person, span.kind), [])
        same = next((k for k in known if k <= words or words <= k), None)
        if same is None:
            same = words
            if len(known) < _MOST_VALUES:
                known.append(words)
        # "52-year-" is half of a word.
        more = _WORD.match(doc.text, span.end) if doc.text[span.start : span.end].endswith("-") else None
        start, end = doc.prepared.span(span.start, more.end() if more else span.end)
        why = f"read as {'an' if span.kind[0] in 'aeo' else 'a'} {span.kind} (probability {span.probability:.2f})"
        found.append(Attribute(span.kind, " ".join(sorted(same)), span.subject, span.person, start, end, why,
                               span.probability < WEAK, span.probability))
    return tuple(found)


def _of_one_age(told: Sequence[tuple[Span, frozenset[str]]]) -> Iterator[tuple[Span, frozenset[str]]]:
    """Spans, a further age in digits of one person as that of somebody else."""
    ages: dict[str, frozenset[str]] = {}
    for span, words in told:
        digits = span.kind == "age" and span.subject in PERSONS and all(map(str.isdigit, words))
        if digits and words != ages.setdefault(span.person, words):
            yield replace(span, person=f"{span.person}, aged {min(words)}"), words
        else:
            yield span, words


def _whole(spans: Iterable[Span], text: str) -> list[Span]:
    """Spans with every age that ends in "years old" as one of all its words, and places without what follows them."""
    aged = [m.span() for m in _YEARS_OLD.finditer(text)]
    open_: dict[tuple[int, int], int] = {}  # Which span an age has.
    out: list[Span] = []
    for span in spans:
        if span.kind == "place":
            out += [place] if (place := _place(span, text)) is not None else []
            continue
        at = bisect_left(aged, span.end, key=lambda age: age[0]) - 1
        if span.kind != "age" or at < 0 or aged[at][1] <= span.start:
            out.append(span)
            continue
        k = open_.setdefault(aged[at], len(out))
        if k == len(out):
            out.append(replace(span, start=min(span.start, aged[at][0]), end=max(span.end, aged[at][1])))
        else:
            out[k] = replace(out[k], end=max(span.end, out[k].end),
                             probability=max(span.probability, out[k].probability))
    return out


def _place(span: Span, text: str) -> Span | None:
    """A place without "from" or "in" before it, up to the first word in lower case that is no part of a name; none
    where the words are no place."""
    said = list(_WORD.finditer(text, span.start, span.end))
    while said and said[0][0] in _BEFORE:
        del said[0]
    if said and all(m[0] in _ABBREVIATIONS or m[0].lower() in _drugs() for m in said):
        return None
    if not said:
        return None
    span = replace(span, start=said[0].start())
    if not said[0][0][0].isupper():
        return span
    end = said[0].end()
    for m in said[1:]:
        if m[0].lower() in _PLACES["joiners"]:
            continue
        if m[0][0].islower() and m[0] not in _PLACES["nouns"]:
            return replace(span, end=end)
        end = m.end()
    return span


@cache
def _drugs() -> frozenset[str]:
    """Names of drugs that are no place."""
    terms = load_domain("medical").terms.values()
    return frozenset(term.surface for term in terms if term.kind == "drug") - lex.places().keys()


def _words(span: Span, text: str) -> frozenset[str]:
    """What of a span tells one fact from another."""
    said = text[span.start : span.end]
    words = [lex.singular(w) for w in _WORD.findall(said.lower())]
    if span.kind == "age" and (digits := re.findall(r"\d+", said)):
        return frozenset(digits[:1])
    if span.kind == "age":
        words = _WORD.findall(_OLD.sub("", said.lower())) or words
    if span.kind == "family" and (kin := [lex.KIN[w][0] for w in words if w in lex.KIN]):
        return frozenset(kin[:1])
    return frozenset(w for w in words if w not in _SMALL) or frozenset(words) - _EMPTY


def facts_words(text: str) -> frozenset[str]:
    """The words of a text, as values of attributes hold them."""
    words = [lex.singular(w) for w in _WORD.findall(text.lower())]
    return frozenset([*words, *re.findall(r"\d+", text), *(lex.KIN[w][0] for w in words if w in lex.KIN)])


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
        found.append(replace(term, subject=subject, person=person, start=start, end=end))
    return tuple(found)


def _whose(doc: Doc, term: Attribute, told: Sequence[Span], starts: Sequence[int]) -> Span | None:
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


def _found(doc: Doc, domain: Domain) -> Iterator[Attribute]:
    """Every term once, in order; of terms of one kind that lie in one another the longest."""
    kept: list[Attribute] = []
    for term in sorted(_all(doc, domain), key=lambda t: (t.start, -t.end, t.weak, t.kind, t.value)):
        if not any(k.kind == term.kind and k.start <= term.start and term.end <= k.end for k in kept[-12:]):
            kept.append(term)
    yield from kept


def _all(doc: Doc, domain: Domain) -> Iterator[Attribute]:
    """Terms of nobody yet, with their place in the rendered text."""
    for first, last, key in _matcher(domain).find(doc.lowers):
        listed = domain.terms[key]
        kind = domain.class_of_kind.get(listed.kind)
        # A short key is an abbreviation: "MS" is a disease, "Ms." is not.
        spelled = len(key) > 3 or key in domain.lower_case_terms or doc.tokens[first].text.isupper()
        if kind is not None and spelled:
            yield Attribute(kind, listed.canonical, "nobody", "nobody", doc.tokens[first].start,
                            doc.tokens[last - 1].end, f"{listed.kind} term", listed.flag == "w")
    for token in doc.tokens if domain.suffixes[0] else ():
        if len(token.lower) >= _SHORTEST_WITH_SUFFIX and token.lower.isalpha():
            kind = domain.class_of_kind.get(suffix_kind(domain, token.lower) or "")
            if kind is not None:
                yield Attribute(kind, token.lower, "nobody", "nobody", token.start, token.end, domain.suffix_reason)
    for kind, why, pattern in domain.patterns:
        for m in pattern.finditer(doc.text):
            value = m[1] if pattern.groups else m.group()
            if value:
                yield Attribute(kind, value.lower(), "nobody", "nobody", *m.span(), why)
