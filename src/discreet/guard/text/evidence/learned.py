"""Attributes that the learned reader finds, in the form of the rules' own, and both put together."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

from discreet.core.records import PERSONS, Subject
from discreet.guard.domains import IDENTIFYING, load_domain
from discreet.guard.text.doc import Doc
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import Attribute
from discreet.guard.text.reader import Seen, Span
from discreet.guard.text.resources import words as word_lists

KINDS = (*IDENTIFYING, "sex")
"""The classes that the reader decides; those of a domain, and whether a person is spoken of, are the rules' own."""
WEAK = 0.7
"""Below this probability a span counts as weak."""
_FORM: tuple[Subject, ...] = ("cohort", "public")
_SETTLED: tuple[Subject, ...] = (*_FORM, "asker")
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
_WHOSE = (lex.DETERMINERS | frozenset("two three four five six seven eight nine ten".split())
          | frozenset(map(str, range(1, 21))))
"""What may stand behind "of" between the words of one family fact."""


def attributes_of(reading: Seen, doc: Doc) -> tuple[Attribute, ...]:
    """The spans of the classes that the reader decides, in order of their place.

    The value is what is said, in lower case and without articles; spans of one person and class of which one holds the
    words of the other are one fact, and so are family spans with only "of" between ("a mom of three kids").
    """
    whole = _whole(reading.spans, doc.text)
    told = [(span, words) for span in whole if span.kind in KINDS and (words := _words(span, doc.text))]
    family = [k for k, (span, _) in enumerate(told) if span.kind == "family"]
    for k, i in pairwise(family):
        (a, mine), (b, theirs) = told[k], told[i]
        first, *rest = doc.text[a.end : b.start].lower().split() or [""]
        if a.person == b.person and first == "of" and set(rest) <= _WHOSE:
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
                               span.probability < WEAK, span.probability, rendered=(span.start, span.end)))
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


def _as_ruled(read: Sequence[Attribute], ruled: Sequence[Attribute], settled: Collection[Subject]
              ) -> list[Attribute]:
    """Attributes, those of somebody who is to the rules one of `settled` (nobody in particular, the asker, a party of a
    published case) as theirs; with a group or a party all that is read of this person, where the rules bind none of it
    to an individual. What the user had said of somebody is theirs at its own place only: the rest may still leak.

    Conditions, rules, groups and case captions are matters of form, where rules err less than a reader.
    """
    over = [next((i for i in shared if ruled[i].kind == b.kind and ruled[i].subject != "nobody"), None)
            for b, shared in zip(read, overlapping(read, ruled), strict=True)]
    first: dict[str, int] = {}  # by person
    individual: set[str] = set()
    for b, k in zip(read, over, strict=True):
        if k is not None:
            first[b.person] = min(k, first.get(b.person, k))
            if ruled[k].subject not in _FORM:
                individual.add(b.person)
    out = []
    for b, k in zip(read, over, strict=True):
        if k is None and b.person not in individual and b.person != "speaker":
            k = first.get(b.person)  # noqa: PLW2901
        if k is not None and ruled[k].subject in settled and b.subject in ("third", "speaker"):
            a = ruled[k]
            out.append(replace(b, subject=a.subject, person=a.person, why=f"{b.why}; {a.why}", overruled=True))
        else:
            out.append(b)
    return out


def overlapping(one: Sequence[Attribute], other: Sequence[Attribute]) -> list[list[int]]:
    """For each attribute of `one` the indices of those of `other` that share a character with it, ascending.

    Places are those in the rendered text: a long decoded run has one place in the original for all that it says.
    """
    order = sorted(range(len(other)), key=lambda i: other[i].place)
    found: list[list[int]] = [[] for _ in one]
    active: list[int] = []
    reached = 0
    for k in sorted(range(len(one)), key=lambda k: one[k].place):
        start, end = one[k].place
        while reached < len(order) and other[order[reached]].place[0] < end:
            active.append(order[reached])
            reached += 1
        active = [i for i in active if other[i].place[1] > start]
        found[k] = sorted(i for i in active if max(start, other[i].place[0]) < min(end, other[i].place[1]))
    return found


def merged(read: Sequence[Attribute], ruled: Iterable[Attribute], *, sure: bool = False) -> tuple[Attribute, ...]:
    """What was read, and of the rules the classes that the reader does not decide, each person under one key.

    A person of the rules is the person of the reader with whom they share most attributes; the only third person of the
    reader is every third person of the rules with whom nobody shares anything. Where the reader is `sure` of somebody
    private, the rules make nobody a group's: "for example, the patient is …" is no condition.
    """
    ruled = tuple(ruled)
    told = [b for b in read if b.subject in PERSONS]
    votes: dict[str, Counter[tuple[str, Subject]]] = {}
    for a, shared in zip(ruled, overlapping(ruled, told), strict=True):
        if a.subject in PERSONS:
            votes.setdefault(a.person, Counter()).update((told[i].person, told[i].subject) for i in shared)
    same = {person: counted.most_common(1)[0][0] for person, counted in votes.items() if counted}
    third = {(b.person, b.subject) for b in told}
    alone = next(iter(third)) if len(third) == 1 else None
    settled: list[Subject] = [one for one in _SETTLED if not (sure and one == "cohort")]
    out = _as_ruled(read, ruled, settled)
    for a in (a for a in ruled if a.kind not in KINDS):
        person, subject = a.person, a.subject
        if subject in PERSONS:
            person, subject = same.get(a.person) or alone or (person, subject)
        out.append(Attribute(a.kind, a.value, subject, person, a.start, a.end, a.why, a.weak, a.probability,
                             rendered=a.rendered))
    return tuple(sorted(out, key=lambda a: (a.start, a.end, a.kind)))
