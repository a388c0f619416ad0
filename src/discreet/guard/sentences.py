"""What the sentences of an answer tell of a person when each is read by itself.

General sentences around a fact, such as advice to "you", change whom the learned reader takes it to be of, or hide it.
In one answer little hangs on that: a cluster is many words. A conversation is told one fact at a time, so there a
sentence that speaks of a third person is read again alone. What the reader counts in it and marks in no span ("she
goes in every day to the Brass Heron") is a fact without a class, `OTHER`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp

from discreet.guard.domains import IDENTIFYING
from discreet.guard.identifiers import counts_directly
from discreet.guard.policy import Policy
from discreet.guard.reading import Reading
from discreet.guard.text import lexicon as lex
from discreet.guard.text.attributes import Attribute, attributes_of, facts_words
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import TOLD, Seen, packaged
from discreet.guard.text.referents import Referent

OTHER = "other"
"""The class of a fact that is counted and in no span."""
COUNTED = 0.0
"""Log-odds of the reader's count of one sentence above which it tells something of somebody. Of sentences of grammar
writers that are about one person, name nothing of the field and hold no span, 29 with an identifying fact lie above, 7
without; of 601 sentences about a third person in public answers about nobody none (`docs/results/ppe_limits.md`)."""
SURE = 0.9
"""Probability from which on a span of the whole answer needs no sentence that confirms it."""
SENTENCES = 32
"""Most sentences of an answer that are read alone."""
_NEW = frozenset("a an another one some second third next other different new further".split())
_OTHERS = _NEW - {"a", "an", "one", "some"}
DESCRIBED = "described"
"""The key of somebody whom a sentence describes by words that are in no list of a person's."""
_DEFINITE = frozenset("the this our".split())
_AS = frozenset("as is was be been now".split())
_NAMED = ("occupation", "affiliation", "place")
_BETWEEN = re.compile(r"[ '’-]{0,2}(?:(\w+)[ '’-]{1,2})?")
_SETTLED = ("public", "asker")
_SMALL = (lex.FUNCTION | lex.DETERMINERS | lex.FIRST | lex.SECOND | lex.FIRST_PLURAL | frozenset(lex.THIRD) | lex.THEY
          | frozenset("same".split()))


def words_of(text: str) -> frozenset[str]:
    """The words of a sentence that can tell one fact from another."""
    return frozenset(w for w in facts_words(text) if w not in _SMALL)


@dataclass(frozen=True, slots=True)
class Alone:
    """A sentence, tokens [first, last), as the reader sees it by itself, and the third person of whom it speaks."""

    first: int
    last: int
    place: tuple[int, int]
    referent: Referent | None
    seen: Seen = field(repr=False)


def sentences_alone(doc: Doc, read: Reading, referents: Sequence[Referent], policy: Policy) -> list[Alone]:
    """The sentences that speak of a third person, or of which something counts, each read by itself; none where the
    policy counts no third person."""
    found: list[Alone] = []
    if "third" not in policy.subjects:
        return found
    told = [a for a in read.attributes if a.subject in policy.subjects and a.kind in policy.counted]
    for first, last in doc.sentences:
        base, end = doc.tokens[first].start, doc.tokens[last - 1].end
        place = doc.prepared.span(base, end)
        referent = _spoken_of(doc, referents, first, last)
        if len(found) < SENTENCES and (referent or any(a.start < place[1] and place[0] < a.end for a in told)):
            seen = packaged().read(doc.text[base:end]) if len(doc.sentences) > 1 else read.seen
            found.append(Alone(first, last, place, referent, seen))
    return found


def read_sentences(doc: Doc, read: Reading, alone: Sequence[Alone], referents: Sequence[Referent], policy: Policy
                   ) -> list[tuple[Referent, list[Attribute]]]:
    """Facts about third persons that reading the answer as a whole did not bind to them, with the referent of the
    sentence. What the whole answer gives to a public person or the user stays theirs. Offsets are those of
    the original; a fact that the whole answer gives to somebody else is weak, and so is one of class `OTHER`.
    """
    found: list[tuple[Referent, list[Attribute]]] = []
    whole = set(policy.counted) == set(IDENTIFYING)
    for one in alone:
        first, last, at, referent, seen = one.first, one.last, one.place, one.referent, one.seen
        if referent is None:
            continue
        base, end = doc.tokens[first].start, doc.tokens[last - 1].end
        text = doc.text[base:end]
        here = [b for b in read.attributes if b.start < at[1] and at[0] < b.end]
        # What belongs to the field (a treatment, a role in a case) says less of who somebody is, and a reader that
        # sees one sentence takes it for an occupation.
        fields = [(b.start, b.end) for b in here if b.kind in policy.domain.own and b.kind not in policy.counted]
        fields += [doc.prepared.span(base + s.start, base + s.end) for s in seen.spans if s.kind == "domain"]
        facts: list[Attribute] = []
        told = False
        for a in attributes_of(seen, Doc.of(text)):
            if a.kind not in policy.counted:
                continue
            start, stop = doc.prepared.span(base + a.start, min(base + a.end, end))
            told = True
            over = [b for b in here if b.kind == a.kind and b.start < stop and start < b.end]
            if (a.subject != "third" or any(b.subject in (*policy.subjects, *_SETTLED) or b.overruled for b in over)
                    or any(lo < stop and start < hi for lo, hi in fields)
                    or any(s.start < stop and start < s.end and counts_directly(s, who, policy)
                           for s, who in read.direct)):
                continue
            facts.append(Attribute(a.kind, a.value, "third", referent.person, start, stop, f"{a.why}, in its sentence",
                                   a.weak or bool(over), a.probability))
        counted = [b for b in here if b.kind in policy.counted]
        if not (told or fields) and not any(b.subject in ("cohort", *_SETTLED) for b in counted):
            odds = float(seen.counts[TOLD.index("third"), 0])
            persons = {w for r in referents if first <= r.first < last for w in doc.lowers[r.first : r.last]}
            words = words_of(text) - persons
            if whole and words and not counted and odds > COUNTED and referent.person != DESCRIBED:
                facts.append(Attribute(OTHER, " ".join(sorted(words)), "third", referent.person, *at,
                                       "counted in its sentence and in no span", True, 1 / (1 + exp(-odds))))
        if facts:
            found.append((referent, facts))
    return found


def told_apart(text: str, doc: Doc, read: Reading, alone: Sequence[Alone], policy: Policy) -> list[Attribute]:
    """What counts of an answer as facts of a conversation: parts of one name or job are one; what is a term of the
    field is none; and so is what is not `SURE` where its sentence by itself does not say it."""
    own = set(policy.domain.own) - set(policy.counted)
    found: list[Attribute] = []
    for a in sorted(read.attributes, key=lambda a: (a.person, a.subject, a.kind, a.start)):
        if a.subject not in policy.subjects or (a.kind not in policy.counted and a.kind != "sex"):
            continue
        if a.kind != "sex" and any(b.kind in own and b.start < a.end and a.start < b.end for b in read.attributes):
            continue
        if a.probability < SURE and a.kind != "sex" and _unconfirmed(doc, a, alone, policy):
            continue
        last = found[-1] if found else None
        between = _BETWEEN.fullmatch(text[last.end : a.start]) if last is not None and last.end <= a.start else None
        if (last is not None and between is not None and (between[1] or "").lower() not in _SMALL and
                (last.person, last.subject, last.kind) == (a.person, a.subject, a.kind) and a.kind in _NAMED):
            value = " ".join(sorted({*last.value.split(), *a.value.split(), *facts_words(between[0])}))
            found[-1] = replace(last, value=value, end=a.end, weak=last.weak and a.weak,
                                probability=max(last.probability, a.probability))
        else:
            found.append(a)
    return found


def _unconfirmed(doc: Doc, a: Attribute, alone: Sequence[Alone], policy: Policy) -> bool:
    """Whether the sentence of an attribute was read by itself and says nothing of its class about anybody there."""
    for one in alone:
        if one.place[0] <= a.start < one.place[1]:
            base = doc.tokens[one.first].start
            at = [doc.prepared.span(base + s.start, base + s.end) for s in one.seen.spans
                  if s.kind == a.kind and s.subject in policy.subjects]
            return not any(lo < a.end and a.start < hi for lo, hi in at)
    return False


def _spoken_of(doc: Doc, referents: Sequence[Referent], first: int, last: int) -> Referent | None:
    """The third person of whom a sentence speaks, rather than whose relative or belonging. Of a sentence with no person
    that is pointed at, what it begins with where that is definite ("the party in this matter")."""
    here = [r for r in referents if first <= r.first < last and not describes(doc, r)]
    third = [r for r in here if r.subject == "third" and r.form != "plural"]
    if third or here:
        return next((r for r in third if not r.possessive), third[0] if third else None)
    i = _definite(doc, first, last)
    return None if i is None else Referent(DESCRIBED, "third", "noun", i, i + 2)


def describes(doc: Doc, referent: Referent) -> bool:
    """Whether a noun says what somebody is whom its sentence names before ("the party in this matter works as a
    fisherman"), and points at nobody new."""
    i = referent.first
    return (referent.form == "noun" and i > 0 and doc.lowers[i - 1] in _AS
            and _definite(doc, doc.sentence_of(i)[0], i) is not None)


def _definite(doc: Doc, first: int, last: int) -> int | None:
    """Where a definite noun stands near the beginning of tokens [first, last)."""
    return next((i for i in range(first, min(first + 6, last - 1)) if doc.lowers[i] in _DEFINITE
                 and doc.lowers[i + 1].isalpha() and doc.lowers[i + 1] not in _SMALL), None)


def sex_of(a: Attribute) -> str | None:
    """What an attribute says of somebody's sex: "m", "f", or None."""
    if a.kind != "sex":
        return None
    said = set(a.value.split())
    return ("f" if said & {"female", "woman", "girl", "lady", "f", "she"} else
            "m" if said & {"male", "man", "boy", "gentleman", "m", "he"} else None)


def begins(doc: Doc, referent: Referent | None, *, others: bool = False) -> bool:
    """Whether the words begin to speak of somebody new; with `others` not by "a" or "one" alone."""
    if referent is None or referent.form in ("pronoun", "name"):
        return False
    said = doc.lowers[referent.first : referent.last]
    return referent.form == "kin" or bool((_OTHERS if others else _NEW) & set(said[:2])) and "same" not in said[:2]
