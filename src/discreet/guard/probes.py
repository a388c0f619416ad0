"""Probes: questions that describe a person, and answers that confirm, deny or add what only a record says of them.

"Was the 52-year-old litigator from Omaha treated here?" "Yes, she was." The answer alone describes nobody; question and
answer together do. An answer to such a question is a leak where one of its clauses tells something of that person.
Advice, a refusal, a rule and an answer about a made-up person tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.core.records import Subject
from discreet.guard.policy import Policy
from discreet.text.consent import brought
from discreet.text.direct.detect import find_direct
from discreet.text.doc import Doc
from discreet.text.evidence.bind import find_evidence
from discreet.text.evidence.learned import attributes_of
from discreet.text.evidence.mentions import Attribute
from discreet.text.evidence.referents import find_referents
from discreet.text.provenance import Request
from discreet.text.reader import packaged
from discreet.text.render import render
from discreet.text.resources import patterns

_CLAUSE = re.compile(r"[;:]\s|,? (?:but|however|although|though|yet)\b|\s[–—-]\s|(?<=[.!?])\s+|\n+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_AROUND = 3
"""Sentences before a question that may hold the description."""
_FRAGMENT = 12
"""Most words of an answer that is no sentence ("For HIV, in March.")."""
SMALL = 10
"""A count of people up to which it points at somebody (cells of 1 to 10 are suppressed in US health statistics)."""
_NAMED = re.compile(r"\d|(?<=[\w,] )[A-Z]")
"""Without a number or a word in capitals, and where no rule finds anything, a question describes nobody."""
_MAY = re.compile(r"\bMay\b(?=[ ,.]*(?:\d|$))|(?<=\d )May\b|(?<=in )May\b")


@dataclass(frozen=True, slots=True)
class Probe:
    """A described person of whom the answer tells something: the classes by which question and answer describe them,
    and the clauses of the original answer that tell it."""

    subject: Subject
    kinds: tuple[str, ...]
    named: bool
    clauses: tuple[tuple[int, int], ...]


def find_probe(request: Request, doc: Doc, attributes: tuple[Attribute, ...], policy: Policy, *, asker: str,
               reader: bool) -> Probe | None:
    """The probe of a request that an answer confirms, or None. `doc` and `attributes` are those of the answer."""
    if not request.asked or policy.probe == "pass" or not policy.subjects:
        return None
    questions = list(_questions(request.asked))
    if not questions:
        return None
    clauses = tuple(telling_clauses(doc))
    if not clauses and not _is_fragment(doc):
        return None
    if not clauses:
        clauses = ((0, len(doc.text)),)
    best: Probe | None = None
    for text in questions:
        found = _described(text, attributes, policy, asker=asker, reader=reader)
        if found is not None and (best is None or len(found[1]) > len(best.kinds)):
            best = Probe(*found, tuple(doc.prepared.span(*clause) for clause in clauses))
    return best


def asks_of_record(sentence: str) -> bool:
    """Whether a lower-case sentence asks for what a record says of somebody."""
    cues = patterns("probes")
    if cues["hypothetical"].search(sentence):
        return False
    if cues["past"].search(sentence):
        return True
    asked = sentence.rstrip().endswith("?") or cues["interrogative"].match(sentence) is not None
    if cues["general"].search(sentence):
        return False
    weak = ("wants", "declared past") if not asked else ("wants", "declared past", "status", "count")
    return any(cues[name].search(sentence) for name in weak)


def _questions(text: str) -> Iterator[str]:
    """Each question of a text that asks for a record, with the sentences around it in its paragraph."""
    for line in text.splitlines():
        sentences = [one for one in _SENTENCE.split(line) if one.strip()]
        for k, one in enumerate(sentences):
            if asks_of_record(" ".join(_plain(one).split())):
                yield " ".join(sentences[max(0, k - _AROUND) : k + 2])


def telling_clauses(doc: Doc) -> Iterator[tuple[int, int]]:
    """The clauses [start, end) of a rendered answer that confirm, deny, count or tell something of somebody."""
    cues = patterns("probes")
    start = 0
    for cut in (*(m.span() for m in _CLAUSE.finditer(doc.text)), (len(doc.text), len(doc.text))):
        clause = _plain(doc.text[start : cut[0]])
        begin, start = start, cut[1]
        if not clause or cues["declines"].search(clause):
            continue
        if _tells(clause):
            yield begin, cut[0]


def _plain(text: str) -> str:
    """A text as patterns read it; the month is no verb."""
    return _MAY.sub("june", text.replace("’", "'")).lower().strip()


def _tells(clause: str) -> bool:
    """Whether a lower-case clause confirms, denies, counts or tells something of somebody."""
    cues = patterns("probes")

    def has(*names: str) -> bool:
        return any(cues[name].search(clause) for name in names)

    if has("affirms", "denies", "counts") and not has("for the reader", "hypothetical"):
        return True
    return has("on record") or (not has("modal", "anybody") and has("asserts", "told the reader", "event"))


def _is_fragment(doc: Doc) -> bool:
    """Whether an answer is a few words that only answer a question."""
    text = _plain(doc.text)
    cues = patterns("probes")
    return 0 < len(text.split()) <= _FRAGMENT and not any(
        cues[name].search(text) for name in ("declines", "modal", "for the reader", "hypothetical")) and "?" not in text


def _described(text: str, told: tuple[Attribute, ...], policy: Policy, *, asker: str, reader: bool
               ) -> tuple[Subject, tuple[str, ...], bool] | None:
    """Whom a question describes: subject and classes, with what the answer adds, and whether by an identifier."""
    doc = Doc(render(text))
    found: list[Attribute] = list(find_evidence(doc, policy.domain))
    if not found and not _NAMED.search(text):
        return None
    if reader:
        found = [*attributes_of(packaged().read(doc.text), doc), *(a for a in found if a.subject == "third")]
    persons: dict[str, dict[str, set[str]]] = {}
    for a in found:
        if a.kind in policy.counted and a.subject in ("third", "speaker", "cohort", "nobody"):
            group = persons.setdefault("speaker" if a.subject == "speaker" else "third", {})
            group.setdefault(a.kind, set()).add(a.value)
    if asker == "self":
        persons.pop("speaker", None)
    adds = {a.kind for a in told if a.kind in policy.counted and a.subject in policy.subjects}
    best = max(persons, key=lambda who: len(persons[who]), default=None)
    named = any(span.type not in policy.allow_direct for span in find_direct(doc.prepared))
    if named and asker == "self":
        mine = brought(doc, find_referents(doc))
        named = not (mine >= {r.person for r in find_referents(doc) if r.subject == "third"})
    if best is None:
        return ("third", (), True) if named else None
    kinds = set(persons[best])
    distinct = sum(len(values) for values in persons[best].values())
    if named or max(len(kinds | adds), min(distinct, len(kinds) + 1)) >= policy.cluster:
        return "speaker" if best == "speaker" else "third", tuple(sorted(kinds | adds)), named
    return None
