"""One person told over several answers: what earlier turns gave away counts with what this one does.

A cluster that is spread over turns is in no answer by itself (paper, section IX-E). So a conversation remembers whom
its answers spoke of and which facts of them went out: classes, and hashes of values under a key of its own, no text. A
turn in which the facts about one person come to a cluster is flagged, by the same score as one answer.

Who is meant is read from how the turn begins to speak of somebody. A pronoun, "the patient" or "the same client" goes
on about the person last spoken of whose sex and age do not contradict; "a 52-year-old welder", "another patient", or a
question about another one, begins a new person. What the user had said, in this turn or before, is no leak.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from discreet.core.errors import UsageError
from discreet.core.records import Answer, Evidence, Subject, Verdict
from discreet.guard.decide import OverTurns
from discreet.guard.reading import Reading, answer_of
from discreet.guard.score import EvidenceScore, Shown, probability, score
from discreet.guard.sentences import (
    OTHER,
    begins,
    describes,
    read_sentences,
    sentences_alone,
    sex_of,
    told_apart,
)
from discreet.guard.text import lexicon as lex
from discreet.guard.text.attributes import Attribute, facts_words
from discreet.guard.text.record import fact_words
from discreet.guard.text.referents import Referent
from discreet.guard.withheld import Withheld

if TYPE_CHECKING:
    from discreet.guard.decide import Judgement
    from discreet.guard.guard import Guard

PERSONS, FACTS, SAID = 16, 64, 2048
"""Most persons, facts of all of them, and words that the user said; the oldest are forgotten first."""
_OTHER = re.compile(r"\b(?:another|(?:a|the) (?:second|third|next|other|different|new)|someone else|somebody else|"
                    r"a different)\b((?: [\w'-]+){0,2})", re.I)
_DIGIT = re.compile(r"\d")
Words = frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that went out: its class, hashes of the words of its value, how sure it is, and when."""

    kind: str
    words: Words = field(repr=False)
    weak: bool
    probability: float
    at: float


@dataclass(frozen=True, slots=True)
class Known:
    """Somebody whom answers spoke of: `sex` where one was told ("m", "f"), and what went out of them."""

    subject: Subject
    sex: str | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What a conversation remembers: persons, the one last spoken of at the end, and the words that the user said of
    themselves and of those whom they bring."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    persons: tuple[Known, ...] = ()
    said: tuple[bytes, ...] = field(default=(), repr=False)

    def hashed(self, words: Iterable[str]) -> Words:
        """Words under the key of this conversation."""
        return frozenset(hmac.new(self.key, word.encode("utf-8", "replace"), hashlib.sha256).digest()[:8]
                         for word in words)


@dataclass(frozen=True, slots=True)
class Turn:
    """A judgement within a conversation, and what is remembered where the answer went out (`shown`) or not (`held`)."""

    judgement: Judgement
    shown: Told
    held: Told


class Conversation:
    """A guard that judges answers as turns of one conversation of one user; made by `Guard.conversation`.

    Facts are forgotten `expires_s` seconds (above 0) after they were last told. An answer that is flagged, undecided or
    failed counts as not shown: call `shown` where it was all the same, as after a review. With `withheld` what was not
    shown is remembered too, against rewriting until it passes. UsageError for `expires_s`.
    Not for several threads at once.

    Examples
    --------
    >>> conversation = Guard("medical").conversation()
    >>> conversation.check("The patient is 52 years old.").action
    'safe'
    >>> conversation.check("She works as a litigator in Omaha.").action
    'flag'
    """

    def __init__(self, guard: Guard, *, expires_s: float = 3600, withheld: Withheld | None = None,
                 clock: Callable[[], float] = time.time) -> None:
        if not expires_s > 0:
            raise UsageError(f"expires_s is {expires_s!r}; expected seconds above 0")
        self.guard, self.expires_s, self.withheld, self._clock = guard, expires_s, withheld, clock
        self.told = Told()
        self._last: Turn | None = None

    def check(self, answer: Answer | str, question: str | None = None) -> Verdict:
        """The verdict on the next answer, as `Guard.check`, with what earlier ones said."""
        return self.judge(answer, question).verdict

    def judge(self, answer: Answer | str, question: str | None = None) -> Judgement:
        """The verdict on the next answer with every finding."""
        given = answer_of(answer, question)
        self._last = judge_turn(self.guard, given, self.told, now=self._clock(), expires_s=self.expires_s)
        if self.withheld is not None:
            self._last = replace(self._last, judgement=self.withheld.judge(given, self._last.judgement))
        self.told = self._last.shown if self._last.judgement.verdict.action == "safe" else self._last.held
        return self._last.judgement

    def shown(self) -> None:
        """The last answer went out although it was not safe: what it said counts from now on."""
        if self._last is not None:
            self.told = self._last.shown


def judge_turn(guard: Guard, answer: Answer, told: Told, *, now: float | None = None, expires_s: float = 3600) -> Turn:
    """One answer judged with what a conversation remembers. A pure function but for the clock, where `now` is None."""
    at = time.time() if now is None else now
    told = replace(told, persons=tuple(_fresh(one, at - expires_s) for one in told.persons))
    turn: list[tuple[Told, list[_Linked]]] = []

    def over_turns(reading: Reading) -> OverTurns | None:
        held = _with_question(told, reading)
        linked = _linked(guard, held, reading, at)
        turn.append((held, linked))
        found = [one for one in (_closing(guard, person) for person in linked) if one is not None]
        return max(found, key=lambda one: one.sure, default=None)

    judgement, reading = guard.judged(answer, over_turns)
    if reading is None:
        return Turn(judgement, told, told)
    held, linked = turn[0]
    return Turn(judgement, _remembered(held, linked), held)


@dataclass(frozen=True, slots=True)
class _Linked:
    """A person of this answer: who they were before (-1: nobody known), what is new of them, and where it stands."""

    place: int
    known: Known
    before: tuple[Fact, ...]
    new: tuple[Fact, ...]
    evidence: tuple[Evidence, ...]


def _fresh(one: Known, since: float) -> Known:
    return replace(one, facts=tuple(fact for fact in one.facts if fact.at > since))


def _with_question(told: Told, reading: Reading) -> Told:
    """With what the user said in this turn."""
    own = reading.request.own
    if own is None:
        return told
    return replace(told, said=tuple(dict.fromkeys((*told.said, *sorted(told.hashed(own.words)))))[-SAID:])


def _linked(guard: Guard, told: Told, read: Reading, now: float) -> list[_Linked]:
    """The persons of an answer, in the order in which it comes to speak of them."""
    doc, answer = read.doc, read.answer
    policy = guard.policy
    everybody = read.referents(policy)
    referents = [r for r in everybody if r.subject in ("third", "speaker", "public")]
    at = {id(r): doc.prepared.span(doc.tokens[r.first].start, doc.tokens[r.last - 1].end) for r in referents}
    groups: dict[str, list[Attribute]] = {}
    alone = sentences_alone(doc, read, everybody, policy)
    for a in told_apart(answer.answer, doc, read, alone, policy):
        groups.setdefault(a.person, []).append(a)
    meant: list[tuple[int, Referent | None, Subject, list[Attribute]]] = []
    taken: set[str] = set()
    for members in groups.values():
        where, subject = min(a.start for a in members), members[0].subject
        mine = [r for r in referents if r.subject == subject]
        # Whoever was named last before it, or behind it in its sentence.
        end = next((s.place[1] for s in alone if s.place[0] <= members[0].start < s.place[1]), len(answer.answer))
        near = ([r for r in mine if at[id(r)][1] <= members[0].start][-1:]
                or [r for r in mine if at[id(r)][0] < end])
        one = near[0] if near else None
        if one is not None:
            taken.add(one.person)
            one = next(r for r in referents if r.person == one.person)
            where = min(where, at[id(one)][0])
            one = None if describes(doc, one) else one
        meant.append((where, one, members[0].subject, members))
    for spoken, more in read_sentences(doc, read, alone, referents, policy):
        named = next((r for r in referents if r.person == spoken.person), None)
        whose = next((m for m in meant if m[2] == "third" and (m[1].person if m[1] else None) == (
            named.person if named else None)), None)
        if whose is not None:
            whose[3].extend(more)
        else:
            taken.add(spoken.person)
            meant.append((at[id(named)][0] if named else more[0].start, named, spoken.subject, more))
    for r in referents:
        # Somebody of whom nothing is said yet, but not "a patient" of a teaching case.
        if r.person not in taken and r.subject in policy.subjects and begins(doc, r, others=True):
            taken.add(r.person)
            meant.append((at[id(r)][0], r, r.subject, []))
    asked = _asks_another(read.request.asked, {policy.domain.person.lower(), policy.domain.people.lower()})
    found: list[_Linked] = []
    used: set[int] = set()
    for _, referent, subject, members in sorted(meant, key=lambda m: m[0]):
        facts = _facts(told, read, members, now)
        sex = next((s for s in (sex_of(a) for a in members) if s), None) or (referent.gender if referent else None)
        fresh = (begins(doc, referent) or (asked and not used)) and subject != "speaker"
        place = -1 if fresh else _same(told, subject, sex, facts, used)
        known = told.persons[place] if place >= 0 else Known(subject)
        used.add(place)
        new = tuple(f for f, _ in facts if not any(_equal(f, old) for old in known.facts))
        evidence = tuple(a.evidence() for _, a in facts)
        kept = tuple(old if not any(_equal(f, old) for f, _ in facts) else replace(old, at=now) for old in known.facts)
        found.append(_Linked(place, replace(known, sex=known.sex or sex, facts=(*kept, *new)), known.facts, new,
                             evidence))
    return found


def _asks_another(text: str, called: set[str]) -> bool:
    """Whether a question is about another person ("another patient", "the next one"), and not only another question."""
    return any(match[0].lower().startswith("some") or any(
        word in lex.PERSON_NOUNS or word in called or word in ("one", "person") for word in match[1].lower().split())
        for match in _OTHER.finditer(text))


def _same(told: Told, subject: Subject, sex: str | None, facts: Sequence[tuple[Fact, Attribute]],
          used: set[int]) -> int:
    """Whom an answer goes on about: the one last spoken of who can be meant; -1 where there is nobody."""
    ages = [f.words for f, _ in facts if f.kind == "age" and not f.weak]
    for place in range(len(told.persons) - 1, -1, -1):
        one = told.persons[place]
        if place in used or one.subject != subject or (sex and one.sex and sex != one.sex):
            continue
        known = [f.words for f in one.facts if f.kind == "age" and not f.weak]
        if ages and known and not any(a <= b or b <= a for a in ages for b in known):
            continue
        return place
    return -1


def _facts(told: Told, read: Reading, members: Sequence[Attribute], now: float
           ) -> list[tuple[Fact, Attribute]]:
    """What counts of these attributes and the user had not said, each fact once."""
    found: list[tuple[Fact, Attribute]] = []
    dated = any(a.kind == "age" and _DIGIT.search(a.value) for a in members)
    known = frozenset(told.said)
    for a in members:
        if a.kind == "sex" or (a.kind == "age" and dated and not _DIGIT.search(a.value)):
            continue
        words = told.hashed(facts_words(a.value))
        shown = read.answer.answer[a.start : a.end]  # The value of a term is canonical.
        forms = [told.hashed(fact_words(text)) for text in (a.value, shown)]
        if any(_said(form, known, part=a.kind == OTHER) for form in forms):
            continue
        fact = Fact(a.kind, words, a.weak, a.probability, now)
        if not any(_equal(fact, other) for other, _ in found):
            found.append((fact, a))
    return found


def _said(words: Words, known: Words, *, part: bool) -> bool:
    """Whether the user said all words of a fact, or with `part` half of them."""
    if not words:
        return False
    return 2 * len(words & known) >= len(words) if part else words <= known


def _equal(a: Fact, b: Fact) -> bool:
    """One fact told again, in part or as another class."""
    return a.words <= b.words or b.words <= a.words or (a.kind == b.kind == OTHER and _half(a.words, b.words))


def _half(a: Words, b: Words) -> bool:
    """Whether two sentences share half of the words of the shorter one."""
    return 2 * len(a & b) >= min(len(a), len(b))


def _closing(guard: Guard, one: _Linked) -> OverTurns | None:
    """What this turn's facts come to with those of before: a cluster, one that the guard is not sure of, or None where
    it is none or nothing is added."""
    if not one.new or not one.before:
        return None
    whole = _score(guard, one.known)
    earlier = len({(f.kind, f.words) for f in one.before})
    # What is only seen weakly in this turn, as one fact told again in other words may be, is not enough for a flag.
    certain = not all(f.weak for f in one.new)
    named = _score(guard, replace(one.known, facts=tuple(f for f in one.known.facts if f.kind != OTHER)))
    flags = certain and named.flags(guard.evidence_tau, guard.model.counted_above(guard.point))
    if flags or (whole.cluster and whole.logit > guard.unsure_above(guard.point)):
        kinds = tuple(sorted({f.kind for f in one.known.facts}))
        return OverTurns(flags, one.known.subject, len(one.known.facts), kinds, earlier, probability(whole.logit),
                         one.evidence)
    return None


def _score(guard: Guard, known: Known) -> EvidenceScore:
    """The score of everything that was told of one person, as if it stood in one answer."""
    # A fact without a class is worth what one of a class is.
    kinds = [guard.policy.counted[0] if f.kind == OTHER else f.kind for f in known.facts]
    read = tuple(Attribute(kind, " ".join(sorted(w.hex() for w in f.words)), known.subject, "known", k, k + 1, "",
                           f.weak, f.probability) for k, (f, kind) in enumerate(zip(known.facts, kinds, strict=True)))
    return score(Shown(read), guard.policy, guard.model)


def _remembered(told: Told, linked: Sequence[_Linked]) -> Told:
    """With the persons of an answer that went out, those last spoken of at the end."""
    left = [one for place, one in enumerate(told.persons) if all(place != new.place for new in linked)]
    persons = [*left, *(one.known for one in linked)][-PERSONS:]
    spare = sum(len(one.facts) for one in persons) - FACTS
    for k, one in enumerate(persons):
        if spare > 0:
            persons[k] = replace(one, facts=one.facts[spare:])
            spare -= len(one.facts) - len(persons[k].facts)
    return replace(told, persons=tuple(persons))
