"""Probes: questions that describe a person, and answers that confirm, deny or add what only a record says of them.

"Was the 52-year-old litigator from Omaha treated here?" "Yes, she was." The answer alone describes nobody; question and
answer together do. An answer to such a question is a leak where one of its clauses tells something of that person.
Advice, a refusal, a rule and an answer about a made-up person tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.core.records import PERSONS, Subject
from discreet.guard.asked import Cues, Records, features, fitted, most
from discreet.guard.policy import Policy
from discreet.guard.text.consent import Spoken
from discreet.guard.text.direct.detect import direct_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.learned import overlapping
from discreet.guard.text.evidence.mentions import Attribute
from discreet.guard.text.provenance import Request
from discreet.guard.text.record import Read
from discreet.guard.text.resources import patterns

_CLAUSE = re.compile(r"(?:^|\n+)[ \t]*(?:\d{1,2}[.)]|\(?[a-z0-9]\)|[-*•])[ \t]+(?=\S)"
                     r"|[;:]\s|,? (?:but|however|although|though|yet)\b|\s[–—-]\s|(?<=[.!?])\s+|\n+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SHARED = 3
"""Words that a question and a record share, beyond which one shared fact is enough."""
_AROUND = 3
"""Sentences before a question that may hold the description."""
_PUBLIC = frozenset({"public", "historic"})
"""An answer that tells of these alone confirms nothing about anybody private."""
_SHORT = 80
"""Most words of a paragraph that may ask in any words."""
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
    persons = {a.subject for a in attributes if a.subject in PERSONS}
    if persons and persons <= _PUBLIC:  # "Who was the president?" is no probe.
        return None
    records = Records(request.of("retrieved", "tool"), policy, request.docs)
    best: Probe | None = None
    for text, sure in messages(request.asked):
        cues = doc.once("cues", lambda: cues_of(doc))
        found = _probed(Spoken(text, request.docs), sure, records, cues, attributes, policy, asker=asker, reader=reader)
        if found is not None and (best is None or len(found[1]) > len(best.kinds)):
            clauses = telling_clauses(doc) or ((0, len(doc.text)),)
            best = Probe(*found, tuple(doc.prepared.span(*clause) for clause in clauses))
    return best


def _probed(spoken: Spoken, sure: bool, records: Records, cues: Sequence[Cues], told: tuple[Attribute, ...],
            policy: Policy, *, asker: str, reader: bool) -> tuple[Subject, tuple[str, ...], bool] | None:
    """Whom a message describes, where the answer, or its beginning, tells something of them."""
    model = fitted()
    another = is_of_another(spoken)
    # Where no facts could decide, nothing is read.
    cues = [one for one in cues if model.logit(most(spoken, one, records, sure=sure, another=another)) > model.tau]
    if not cues:
        return None
    read = Read.of(spoken.doc, policy.domain, reader=reader)
    facts = read.facts(policy.counted)
    if all(model.logit(features(spoken, facts, one, records, sure=sure, another=another)) <= model.tau for one in cues):
        return None
    return described(spoken, read, records, told, policy, asker=asker)


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


def messages(text: str) -> Iterator[tuple[str, bool]]:
    """The questions of a text with the sentences around them in their paragraph, and whether each asks for a record in
    so many words. A short last paragraph, or a first one that ends as a question, may ask for it in any words."""
    cues = patterns("probes")
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        sentences = [one for one in _SENTENCE.split(line) if one.strip()]
        plain = [" ".join(_plain(one).split()) for one in sentences]
        made_up = [k for k, one in enumerate(plain) if cues["hypothetical"].search(one)]
        asking = [k for k, one in enumerate(plain)
                  if asks_of_record(one) and not any(k - _AROUND <= at < k for at in made_up)]
        for k in asking:
            yield " ".join(sentences[max(0, k - _AROUND) : k + 2]), True
        at_end = number == len(lines) - 1 or (number == 0 and line.rstrip().endswith("?"))
        general = any(cues["general"].search(one) for one in plain)
        if not (asking or made_up or general) and at_end and len(line.split()) <= _SHORT:
            yield line, False


def cues_of(doc: Doc) -> tuple[Cues, ...]:
    """What the answer is made of, as the features take it, and its first two sentences: advice may follow what it
    tells."""
    ends = [m.start() for m in _SENTENCE.finditer(doc.text)]
    parts = [doc.text, doc.text[: ends[1]]] if len(ends) > 1 else [doc.text]
    clauses, telling = [(begin, clause) for begin, _, clause in _clauses(doc)], telling_clauses(doc)
    found = []
    for text in parts:
        mine = tuple(clause for begin, clause in clauses if begin < len(text))
        found.append(Cues(text, mine, tuple(map(_answers, mine)), sum(begin < len(text) for begin, _ in telling),
                          bool(mine) and _is_plain_answer(mine[0])))
    return tuple(found)


def telling_clauses(doc: Doc) -> tuple[tuple[int, int], ...]:
    """The clauses [start, end) of a rendered answer that confirm, deny, count or tell something of somebody.

    A bare "no", and a beginning that answers the question as it was put, tell something unless the answer declines
    elsewhere.
    """
    cues = patterns("probes")
    sure: list[tuple[int, int]] = []
    bare: list[tuple[int, int]] = []
    declines = False
    for begin, end, clause in _clauses(doc):
        if cues["declines"].search(clause):
            declines = True
        elif _tells(clause):
            (bare if clause.rstrip(".! ") == "no" else sure).append((begin, end))
        elif begin == 0 and _is_plain_answer(clause):
            bare.append((begin, end))
    return tuple(sorted(sure if declines else [*sure, *bare]))


def declining_clauses(doc: Doc) -> tuple[tuple[int, int], ...]:
    """The clauses [start, end) of a rendered answer that refuse to tell something."""
    cues = patterns("probes")
    return tuple((begin, end) for begin, end, clause in _clauses(doc) if cues["declines"].search(clause))


def _clauses(doc: Doc) -> tuple[tuple[int, int, str], ...]:
    return doc.once("clauses", lambda: tuple(_cut(doc)))


def _cut(doc: Doc) -> Iterator[tuple[int, int, str]]:
    start = 0
    for cut in (*(m.span() for m in _CLAUSE.finditer(doc.text)), (len(doc.text), len(doc.text))):
        clause = _plain(doc.text[start : cut[0]])
        if clause:
            yield start, cut[0], clause
        start = cut[1]


def _plain(text: str) -> str:
    """A text as patterns read it; the month is no verb."""
    return _MAY.sub("june", text.replace("’", "'")).lower().strip()


def _tells(clause: str) -> bool:
    """Whether a lower-case clause confirms, denies, counts or tells something of somebody."""
    cues = patterns("probes")

    def has(*names: str) -> bool:
        return any(cues[name].search(clause) for name in names)

    if has("for the reader", "hypothetical"):
        return has("on record", "confirms")
    if _answers(clause) or has("on record"):
        return True
    return not has("modal", "anybody") and has("asserts", "told the reader", "event", "specific")


def _answers(clause: str) -> bool:
    """Whether a lower-case clause says yes or no, or gives a count."""
    cues = patterns("probes")
    return any(cues[name].search(clause) for name in ("affirms", "denies", "counts", "confirms"))


def _is_plain_answer(clause: str) -> bool:
    """Whether the beginning of an answer advises, asks and thanks nobody, but answers the question."""
    cues = patterns("probes")
    return not clause.endswith(("?", "!")) and not any(
        cues[name].search(clause) for name in ("modal", "for the reader", "hypothetical", "courtesy", "anybody"))


def described(spoken: Spoken, read: Read, records: Records, told: tuple[Attribute, ...], policy: Policy, *, asker: str
              ) -> tuple[Subject, tuple[str, ...], bool] | None:
    """Whom a message describes: subject and classes, with what the answer adds, and whether by an identifier; None
    where that is nobody, or the asker who has proved to be the person."""
    doc = spoken.doc
    found: tuple[Attribute, ...] = read.ruled
    if read.seen is not None:  # What both see is one attribute.
        ruled = [a for a in read.ruled if a.subject == "third"]
        apart = (a for a, over in zip(ruled, overlapping(ruled, read.seen), strict=True)
                 if not any(read.seen[i].kind == a.kind for i in over))
        found = (*read.seen, *apart)
    persons: dict[Subject, set[tuple[str, str]]] = {}
    for a in found:
        if a.kind in policy.counted and a.subject in ("third", "speaker", "cohort", "nobody"):
            persons.setdefault("speaker" if a.subject == "speaker" else "third", set()).add((a.kind, a.value))
    if asker == "self":
        persons.pop("speaker", None)
    named = any(span.type not in policy.allow_direct for span in direct_of(doc))
    if named and asker == "self":
        named = any(r.subject == "third" and r.person not in spoken.mine for r in spoken.referents)
    if not persons:
        return ("third", (), True) if named else None
    who = max(persons, key=lambda one: len(persons[one]))
    adds = {a.kind for a in told if a.kind in policy.counted and a.subject in policy.subjects}
    kinds = {kind for kind, _ in persons[who]} | adds
    if named or max(len(kinds), min(len(persons[who]), len(kinds) + 1)) >= policy.cluster:
        return who, tuple(sorted(kinds)), named
    facts = read.facts(policy.counted)
    near = records.nearest(spoken.words, facts)
    if near is not None and (near[1] >= policy.cluster or (near[1] and near[2] > _SHARED)):
        return "third", tuple(sorted({kind for kind, _ in facts})), False
    return None


def is_of_another(spoken: Spoken) -> bool:
    """Whether a text describes somebody whom its writer does not bring: it says nothing of the writer, but perhaps that
    they want to know something."""
    doc = spoken.doc
    if len(spoken.mine) > 1 or not lex.RELATIVES.isdisjoint(doc.lowers[:1]):
        return False
    speaks = not (lex.FIRST | lex.FIRST_PLURAL).isdisjoint(doc.lowers)
    return not speaks or patterns("probes")["wants"].search(_plain(doc.text)) is not None
