"""What the sentences of an answer tell of a person when each is read by itself.

General sentences around a fact, such as advice to "you", change whom the learned reader takes it to be of, or hide it.
In one answer little hangs on that: a cluster is many words. A conversation is told one fact at a time, so there a
sentence that speaks of a third person is read again alone. What the reader counts in it and marks in no span ("she
goes in every day to the Brass Heron") is a fact without a class, `OTHER`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import exp

from discreet.domains import IDENTIFYING
from discreet.guard.policy import Policy
from discreet.guard.reading import Read, counts_directly
from discreet.text.doc import Doc
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.bind import find_evidence
from discreet.text.evidence.learned import attributes_of, facts_words
from discreet.text.evidence.mentions import Attribute
from discreet.text.evidence.referents import Referent
from discreet.text.reader import TOLD, packaged

OTHER = "other"
"""The class of a fact that is counted and in no span."""
COUNTED = -4.0
"""Log-odds of the reader's count of one sentence above which it tells something of somebody. Of sentences of grammar
writers that are about one person, name nothing of the field and hold no span, 51 with an identifying fact lie above,
25 without; of 601 sentences about a third person in public answers about nobody 9 (`docs/results/ppe_limits.md`)."""
LEAST = 0.5
"""The least probability of such a fact: most above the threshold are one, though the count of so few words is low."""
SENTENCES = 32
"""Most sentences of an answer that are read alone."""
_NEW = frozenset("a an another one some second third next other different new further".split())
_OTHERS = _NEW - {"a", "an", "one", "some"}
_NAMED = ("occupation", "affiliation", "place")
_BETWEEN = re.compile(r"[ '’-]{0,2}(?:(\w+)[ '’-]{1,2})?")
_SETTLED = ("cohort", "public", "asker", "nobody")
_SMALL = (lex.FUNCTION | lex.DETERMINERS | lex.FIRST | lex.SECOND | lex.FIRST_PLURAL | frozenset(lex.THIRD) | lex.THEY
          | frozenset("same".split()))


def words_of(text: str) -> frozenset[str]:
    """The words of a sentence that can tell one fact from another."""
    return frozenset(w for w in facts_words(text) if w not in _SMALL)


def told_by_user(text: str, policy: Policy, *, reader: bool) -> list[tuple[str, frozenset[str]]]:
    """Class and words of what the user said of anybody; with the reader also of each sentence, as `OTHER`."""
    doc = Doc.of(text)
    found: list[Attribute] = list(find_evidence(doc, policy.domain))
    others: list[tuple[str, frozenset[str]]] = []
    if reader:
        found += attributes_of(packaged().read(doc.text), doc)
        for a, b in doc.sentences[-SENTENCES:]:
            alone = Doc.of(doc.text[doc.tokens[a].start : doc.tokens[b - 1].end])
            others.append((OTHER, words_of(alone.text)))
            if len(doc.sentences) > 1:
                found += attributes_of(packaged().read(alone.text), alone)
    return [*((a.kind, facts_words(a.value)) for a in found), *others]


def read_sentences(doc: Doc, read: Read, referents: Sequence[Referent], policy: Policy
                   ) -> list[tuple[Referent, list[Attribute]]]:
    """Facts about third persons that reading the answer as a whole did not bind to them, with the referent of the
    sentence. What the rules give to a group, a published party, the user or nobody stays theirs. Offsets are those of
    the original; a fact that the whole answer gives to somebody else is weak, and so is one of class `OTHER`.
    """
    found: list[tuple[Referent, list[Attribute]]] = []
    if read.seen is None or "third" not in policy.subjects:
        return found
    whole = set(policy.counted) == set(IDENTIFYING)
    spoken = [(a, b, one) for a, b in doc.sentences if (one := _spoken_of(referents, a, b)) is not None]
    for first, last, referent in spoken[:SENTENCES]:
        base, end = doc.tokens[first].start, doc.tokens[last - 1].end
        text = doc.text[base:end]
        seen = packaged().read(text) if len(doc.sentences) > 1 else read.seen
        at = doc.prepared.span(base, end)
        ruled = [b for b in read.ruled if b.start < at[1] and at[0] < b.end]
        # What belongs to the field (a treatment, a role in a case) says less of who somebody is, and a reader that
        # sees one sentence takes it for an occupation.
        field = [(b.start, b.end) for b in ruled if b.kind in policy.domain.own and b.kind not in policy.counted]
        field += [doc.prepared.span(base + one.start, base + one.end) for one in seen.spans if one.kind == "domain"]
        facts: list[Attribute] = []
        told = False
        for a in attributes_of(seen, Doc.of(text)):
            if a.kind not in policy.counted:
                continue
            start, stop = doc.prepared.span(base + a.start, min(base + a.end, end))
            told = True
            over = [b for b in read.attributes if b.kind == a.kind and b.start < stop and start < b.end]
            if (a.subject != "third" or any(b.subject in policy.subjects or b.overruled for b in over) or any(
                    b.kind == a.kind and b.subject in _SETTLED and b.start < stop and start < b.end for b in ruled)
                    or any(lo < stop and start < hi for lo, hi in field)
                    or any(s.start < stop and start < s.end and counts_directly(s, who, policy)
                           for s, who in read.direct)):
                continue
            facts.append(Attribute(a.kind, a.value, "third", referent.person, start, stop, f"{a.why}, in its sentence",
                                   a.weak or bool(over), a.probability))
        odds = float(seen.counts[TOLD.index("third"), 0])
        counted = [b for b in ruled if b.kind in policy.counted]
        if whole and not (told or field) and odds > COUNTED and not any(b.subject in _SETTLED for b in counted):
            persons = {w for r in referents if first <= r.first < last for w in doc.lowers[r.first : r.last]}
            chance, why = max(LEAST, 1 / (1 + exp(-odds))), "counted in its sentence and in no span"
            # Where the rules mark what it is, it has their class.
            facts += [replace(b, person=referent.person, why=f"{why}; {b.why}", weak=True, probability=chance)
                      for b in counted if b.subject == "third"]
            if not counted and (words := words_of(text) - persons):
                facts.append(Attribute(OTHER, " ".join(sorted(words)), "third", referent.person, *at, why, True,
                                       chance))
        if facts:
            found.append((referent, facts))
    return found


def told_apart(text: str, read: Read, policy: Policy) -> list[Attribute]:
    """What counts of an answer as facts of a conversation: parts of one name or job are one, and what the rules know as
    of the field, and as nothing that counts, is none."""
    own = set(policy.domain.own) - set(policy.counted)
    found: list[Attribute] = []
    for a in sorted(read.attributes, key=lambda a: (a.person, a.subject, a.kind, a.start)):
        if a.subject not in policy.subjects or (a.kind not in policy.counted and a.kind != "sex"):
            continue
        over = [b for b in read.ruled if b.start < a.end and a.start < b.end]
        if any(b.kind in own for b in over) and not any(b.kind == a.kind for b in over):
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


def _spoken_of(referents: Sequence[Referent], first: int, last: int) -> Referent | None:
    """The third person of whom a sentence speaks, rather than whose relative or belonging."""
    third = [r for r in referents if first <= r.first < last and r.subject == "third" and r.form != "plural"]
    return next((r for r in third if not r.possessive), third[0] if third else None)


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
