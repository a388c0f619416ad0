"""Probes: questions that describe a person, and answers that confirm, deny or add what only a record says of them.

"Was the 52-year-old litigator from Omaha treated here?" "Yes, she was." The answer alone describes nobody; question and
answer together do. An answer to such a question is a leak where one of its clauses tells something of that person.
Advice, a refusal, a rule and an answer about a made-up person tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from discreet.core.records import Subject
from discreet.guard.policy import Policy
from discreet.text.consent import Spoken, speaks_of_theirs
from discreet.text.direct.detect import find_direct
from discreet.text.doc import Doc
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence.bind import find_evidence
from discreet.text.evidence.learned import attributes_of
from discreet.text.evidence.mentions import Attribute
from discreet.text.facts import fact_words
from discreet.text.provenance import Request
from discreet.text.reader import packaged
from discreet.text.record import Fact, facts_of, shared
from discreet.text.render import render
from discreet.text.resources import patterns

_CLAUSE = re.compile(r"(?:^|\n+)[ \t]*(?:\d{1,2}[.)]|\(?[a-z0-9]\)|[-*•])[ \t]+(?=\S)"
                     r"|[;:]\s|,? (?:but|however|although|though|yet)\b|\s[–—-]\s|(?<=[.!?])\s+|\n+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LONGEST = 20_000
"""Characters of a retrieved text beyond which it is not compared with a question."""
_SHARED = 3
"""Words that a question and a record share, beyond which one shared fact is enough."""
_AROUND = 3
"""Sentences before a question that may hold the description."""
_SHORT = 80
"""Most words of a paragraph that may ask in any words."""
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
    clauses = telling_clauses(doc)
    questions = list(_questions(request.asked)) if clauses else []
    theirs = speaks_of_theirs(doc)
    if theirs:  # Whom the user brought: only what a record says of them is more than they said.
        questions = [one for one in questions if one[1]]
    best: Probe | None = None
    for text, sure in questions:
        if request.alone is not None and not (sure and _is_of_another(Spoken(request.asked))):
            continue  # No record is known of whom the user describes, and none is asked for in so many words.
        found = _described(text, attributes, policy, sure=sure, theirs=theirs, asker=asker, reader=reader)
        if found is not None and (best is None or len(found[1]) > len(best.kinds)):
            best = Probe(*found, tuple(doc.prepared.span(*clause) for clause in clauses))
    return best or _out_of_record(request, doc, policy, asker=asker, reader=reader)


def _out_of_record(request: Request, doc: Doc, policy: Policy, *, asker: str, reader: bool) -> Probe | None:
    """The probe of a message that describes whom a retrieved text is about, where a clause of the answer answers it in
    so many words, or has a word of that text which neither the message nor other retrieved text has."""
    if asker == "self" or len(request.asked.split()) > _SHORT:
        return None
    asked = frozenset(fact_words(request.asked))
    texts = {text: frozenset(fact_words(text)) for text in request.of("retrieved", "tool") if len(text) <= _LONGEST}
    near = [text for text, words in texts.items() if len(asked & words) >= policy.cluster]
    clauses = [] if not near or declining_clauses(doc) else list(_clauses(doc))
    facts: Collection[Fact] | None = None
    for text in near if clauses else ():
        new = texts[text] - asked - frozenset(w for other, ws in texts.items() if other != text for w in ws)
        telling = [(begin, end) for begin, end, clause in clauses if _answers(clause) or _adds(clause, new)]
        if not telling or not _is_record(text, policy):
            continue
        if facts is None:
            facts = facts_of(Spoken(request.asked).doc, policy.domain, policy.counted, reader=reader)
        both = [fact for fact in facts if shared([fact], text)]
        kinds = {kind for kind, _ in both}
        if len(both) >= policy.cluster or (kinds - {"place"} and len(asked & texts[text]) > _SHARED):
            return Probe("third", tuple(sorted(kinds)), False, tuple(doc.prepared.span(*clause) for clause in telling))
    return None


def _is_record(text: str, policy: Policy) -> bool:
    """Whether rules find somebody in a retrieved text."""
    doc = Doc(render(text))
    return bool(find_direct(doc.prepared)) or any(
        a.subject == "third" and a.kind in policy.counted for a in find_evidence(doc, policy.domain))


def _adds(clause: str, new: frozenset[str]) -> bool:
    """Whether a lower-case clause, which neither advises nor states a rule, has a number or two words out of a
    record."""
    cues = patterns("probes")
    if any(cues[name].search(clause) for name in ("modal", "for the reader", "hypothetical", "anybody", "courtesy")):
        return False
    told = new & frozenset(fact_words(clause))
    return len(told) > 1 or any(word.isdigit() for word in told)


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


def _questions(text: str) -> Iterator[tuple[str, bool]]:
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
        if not asking and at_end and len(line.split()) <= _SHORT and not any(
                cues[name].search(one) for one in plain for name in ("hypothetical", "general")):
            yield line, False


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


def _clauses(doc: Doc) -> Iterator[tuple[int, int, str]]:
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


def _described(text: str, told: tuple[Attribute, ...], policy: Policy, *, sure: bool, theirs: bool, asker: str,
               reader: bool) -> tuple[Subject, tuple[str, ...], bool] | None:
    """Whom a question describes: subject and classes, with what the answer adds, and whether by an identifier.

    Of the asker, and of somebody whom they bring, only a question that is `sure` to ask for a record counts; where the
    answer calls the person `theirs`, one that also speaks of a record.
    """
    spoken = Spoken(text)
    doc = spoken.doc
    of_record = not theirs or _points_at_another(spoken) or _speaks_of_record(doc)
    if not (_is_of_another(spoken) or (sure and of_record)):
        return None
    found: list[Attribute] = list(find_evidence(doc, policy.domain))
    if not (found or _NAMED.search(text)):
        return None
    if reader:
        found = [*attributes_of(packaged().read(doc.text), doc), *(a for a in found if a.subject == "third")]
    persons: dict[Subject, set[tuple[str, str]]] = {}
    for a in found:
        if a.kind in policy.counted and a.subject in ("third", "speaker", "cohort", "nobody"):
            persons.setdefault("speaker" if a.subject == "speaker" else "third", set()).add((a.kind, a.value))
    if asker == "self":
        persons.pop("speaker", None)
    named = any(span.type not in policy.allow_direct for span in find_direct(doc.prepared))
    if named and asker == "self":
        named = any(r.subject == "third" and r.person not in spoken.mine for r in spoken.referents)
    if not persons:
        return ("third", (), True) if named else None
    who = max(persons, key=lambda one: len(persons[one]))
    adds = {a.kind for a in told if a.kind in policy.counted and a.subject in policy.subjects}
    kinds = {kind for kind, _ in persons[who]} | adds
    if named or max(len(kinds), min(len(persons[who]), len(kinds) + 1)) >= policy.cluster:
        return who, tuple(sorted(kinds)), named
    return None


def _points_at_another(spoken: Spoken) -> bool:
    """Whether a text points at somebody who is neither its writer nor of those whom the writer brings."""
    return any(r.form in ("noun", "name") and r.subject == "third" and r.person not in spoken.mine
               and spoken.doc.lowers[r.last - 1] not in lex.KIN for r in spoken.referents)


def _speaks_of_record(doc: Doc) -> bool:
    """Whether a text asks of what has been, or of what is on record of its writer or of somebody of theirs."""
    cues, text = patterns("probes"), _plain(doc.text)
    return cues["record"].search(text) is not None or any(
        cues["past"].search(one) and one.endswith("?") for one in _SENTENCE.split(text))


def _is_of_another(spoken: Spoken) -> bool:
    """Whether a text describes somebody whom its writer does not bring: it says nothing of the writer, but perhaps that
    they want to know something."""
    doc = spoken.doc
    if len(spoken.mine) > 1 or not lex.RELATIVES.isdisjoint(doc.lowers[:1]):
        return False
    speaks = not (lex.FIRST | lex.FIRST_PLURAL).isdisjoint(doc.lowers)
    return not speaks or patterns("probes")["wants"].search(_plain(doc.text)) is not None
