"""Probes: questions that describe a person, and answers that confirm, deny or add what only a record says of them.

"Was the 52-year-old litigator from Omaha treated here?" "Yes, she was." The answer alone describes nobody; question and
answer together do. The learned reader reads the answer behind its question and says whether it tells something of whom
the question describes: advice, a refusal, a rule and an answer about a made-up person tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf

from discreet.core.records import PERSONS, Subject
from discreet.guard.identifiers import identifiers_in
from discreet.guard.policy import Policy
from discreet.guard.text import lexicon as lex
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.classifier import is_whole, together_with
from discreet.guard.text.consent import Spoken
from discreet.guard.text.direct.detect import DirectSpan, direct_of
from discreet.guard.text.doc import Doc, Docs
from discreet.guard.text.provenance import Request
from discreet.guard.text.record import Fact, Read, fact_words, pieces, seen_in, shared
from discreet.guard.text.reply import Case
from discreet.guard.text.resources import as_compared, patterns

TELLS, OF_A_MARK, OF_A_LINE = 0.0, 0.0, 2.5
"""Log-odds above which an answer tells something of whom its question describes: where the question is the user's,
where it is a line of a prompt with a question mark, and where it is any other line or a stretch of a long text."""
_GENERAL = -1.0
"""Log-odds below which an answer to a line with a question mark is general: then no line without one asks."""
_SURE = 2.0
"""Log-odds above which the network is sure that an answer tells of whom the user's question describes."""
_BOTH = -1.5
"""Log-odds of both networks together above which an answer that tells of nobody by itself, and has no words of refusal,
tells something of whom the user describes."""
_FAR = -4.0
"""Log-odds of the reader below which the classifier is not asked."""
_FEW = 9
"""Questions and earlier messages beyond which the reader alone decides: each would be read again with the answer."""
_LIKELY = 0.8
"""From this probability on an attribute is one that an answer adds."""
_SHARED = 3
"""Words that a question and a record share, beyond which one shared fact is enough."""
_MAY_BE_MEANT = frozenset({"third", "speaker", "asker", "cohort", "nobody"})
"""Whose a question's attributes may be that describe whom it asks about: it is read for that alone."""
_SOMEBODY = frozenset({*PERSONS, "speaker"})
"""Whose attributes make an answer one that tells of somebody."""
_KNOWN: frozenset[Subject] = frozenset({"public", "historic"})
_TOLD_OF = ("third", "speaker")
"""Whose attributes make a text one that describes somebody."""
_ASKS = re.compile(r"\?|\b(?:tell|say|confirm|check|whether|if|know|wonder|remind|show|find|look|see|let|what|when|"
                   r"where|why|who|which|how)\b", re.IGNORECASE)
"""Without any of these a text asks nothing."""
_INITIALS = re.compile(r"\b[A-Z]\. ?[A-Z]\.")


@dataclass(frozen=True, slots=True)
class Probe:
    """A described person of whom the answer tells something: the classes by which question and answer describe them,
    and whether by a direct identifier."""

    subject: Subject
    kinds: tuple[str, ...]
    named: bool


class Records:
    """The retrieved texts of a request, and which of them describe somebody."""

    def __init__(self, texts: Collection[str], policy: Policy, docs: Docs | None = None) -> None:
        self._texts, self._policy = [piece for text in texts for piece in pieces(text)], policy
        self._long = len(self._texts) > len(texts)
        self._docs = Docs() if docs is None else docs

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """The words of facts of every text, whomever it describes."""
        return {text: frozenset(fact_words(text)) for text in self._texts}

    def _describes(self, text: str) -> bool:
        return bool(direct_of(self._docs[text])) or self._tells(text)

    def _tells(self, text: str) -> bool:
        return any(a.subject in _TOLD_OF and a.kind in self._policy.counted
                   for a in Read.of(self._docs[text], self._policy.domain).attributes)

    def private(self) -> bool:
        """Whether any of them tells an attribute of somebody private, or is too long to be read whole for that."""
        return self._long or any(self._tells(text) for text in self._texts)

    def describe(self) -> bool:
        """Whether any of them describes somebody, or is too long to be read whole for that."""
        return self._long or any(self._describes(text) for text in self._texts)

    def nearest(self, asked: frozenset[str], facts: Collection[Fact]) -> tuple[int, int]:
        """How many facts and words a question shares with the text that it shares most with, of those that describe
        somebody."""
        near = sorted(((shared(facts, text), len(asked & words), text) for text, words in self.words.items()),
                      reverse=True)
        return next(((told, words) for told, words, text in near if told and self._describes(text)), (0, 0))


def find_probe(request: Request, doc: Doc, attributes: tuple[Attribute, ...], behind: Mapping[str, Case],
               policy: Policy, *, asker: str, repeats: int = 0, named: bool = False, calls: bool = False
               ) -> Probe | None:
    """The probe of a request that an answer confirms, or None. `doc` and `attributes` are those of the answer, of which
    `repeats` words repeat what users said of theirs, and which names somebody (`named`); `behind` is what it is to each
    question. `calls`: the answer is arguments of tool calls alone, which confirm nothing where the model has been given
    nothing but the user's words."""
    texts = [text for text in request.questions if text in behind]
    if policy.probe == "pass" or not texts or (calls and not _knows(request, policy)):
        return None
    if patterns("requests")["tells nothing"].fullmatch(as_compared(doc.text)):
        return None
    adds = any(a.kind in policy.counted and a.subject in policy.subjects and a.probability >= _LIKELY
               for a in attributes)
    echoed = repeats and not adds and request.own is not None and set(fact_words(doc.text)) <= request.own.words
    if echoed and not _ASKS.search(request.asked):
        return None  # It tells users what they told of theirs, who asked nothing.
    mine = bool(request.of("user"))
    plain = not (named or any(a.subject in _SOMEBODY and a.kind != "sex" for a in attributes))
    theirs = request.theirs and not adds  # What users said of theirs is no attribute of anybody else by now.
    few = mine and len(texts) * (1 + len(request.before)) <= _FEW
    general = max((behind[text].tells for text in texts if "?" in text), default=_GENERAL) < _GENERAL
    least = {text: _least(text, request, general=general) for text in texts}
    records = Records(_records(request), policy, request.docs)

    def confirmed(text: str, case: Case, least: float) -> Probe | None:
        """The probe that a question is, if the answer tells something of whom it describes."""
        if case.tells <= (min(least, _FAR) if few else least):
            return None
        spoken = Spoken(text, request.docs)
        read = Read.of(spoken.doc, policy.domain)
        known = doc.once(("known", records), lambda: _known(doc, attributes, records))
        told = partial(described, spoken, read, records, attributes, policy, asker=asker, known=known)
        probe = told(sure=mine)
        odds = case.tells
        if probe is None and few and odds > _SURE and (together_with(doc, text) or case).tells > _SURE:
            # A claim that somebody is made up makes them so to the reader, and hides no confirmation.
            return told(anybody=True)
        if probe is None:
            return None
        if few:
            recorded = records.nearest(spoken.words, read.facts(policy.counted))[0] >= policy.cluster
            odds = _tells(doc, text, case, plain=plain, theirs=theirs, recorded=recorded)
        if mine and odds <= (_SURE - _BOTH if few else _SURE):
            probe = told(sure=False)
        by_name = probe is not None and probe.named and not theirs and case.tells > least
        return probe if odds > least or by_name else None

    found = (confirmed(text, behind[text], least[text]) for text in texts)
    probe = next((one for one in found if one is not None), None)
    # "Yes, in March." to "Was she treated here?" tells of whom an earlier message of the user describes.
    asked = [text for text in texts if behind[text].tells > least[text]] if probe is None else []
    for before in reversed(request.before if asked else ()):
        if probe is not None:
            break
        both = tuple(f"{before}\n{text}" for text in asked)
        cases = seen_in(doc, doc.text, both).behind
        found = (confirmed(text, case, TELLS) for text, case in zip(both, cases, strict=True))
        probe = next((one for one in found if one is not None), None)
    return probe


def _tells(doc: Doc, question: str, case: Case, *, plain: bool, theirs: bool, recorded: bool) -> float:
    """The log-odds that an answer tells something of whom a question of the user describes, the reader's and the
    classifier's. These make it less likely only where the answer tells of nobody by itself (`plain`: "It is 12
    degrees." to "I am 52 and run a bakery in Delft. What is the weather?"), adds nothing to what users said of theirs,
    or tells of somebody made up of whom there is no record (`recorded`): somebody known beside a confirmation does not
    hide that. Nor does what stands around a long question, of which the classifier sees the end."""
    together = together_with(doc, question)
    if together is None:
        return case.tells
    invented = not recorded and together.made_up
    both = case.tells + together.tells
    whole = is_whole(question)
    if (theirs or invented) and whole:
        return both - _SURE if case.tells > _SURE else min(both, together.tells)
    refuses = any(patterns("requests")[one].search(as_compared(doc.text)) for one in ("declines", "sends on"))
    if not (plain and whole):
        return case.tells if plain and refuses else max(both, case.tells)
    return both if refuses else both - _BOTH


def _is_known(span: DirectSpan, doc: Doc, known: frozenset[str]) -> bool:
    """Whether a direct identifier of a question is a name all of whose words are known."""
    words = {token.lower for token in doc.tokens if span.start < token.end and token.start < span.end}
    return span.type == "person_name" and {word.removesuffix("'s") for word in words if word[0].isalpha()} <= known


def _knows(request: Request, policy: Policy) -> bool:
    """Whether a model has been given anything out of which it could confirm: retrieved text, results of tools, or other
    text that is not known as the user's words and describes somebody, speaks of somebody ("she", "M. O.") or shares a
    word of a fact with what the user asks."""
    if request.of("retrieved", "tool"):
        return True
    texts = [*request.around, *request.of("answer")]
    asked = frozenset(fact_words(request.asked))
    pointed = any(_INITIALS.search(text) or not asked.isdisjoint(fact_words(text))
                  or any(word in lex.THIRD for word in request.docs[text].lowers) for text in texts)
    return pointed or Records(texts, policy, request.docs).describe()


def _records(request: Request) -> list[str]:
    """The texts of a request that may be records: what was retrieved, and where the user's words are known, what else
    stands around them."""
    return [*request.of("retrieved", "tool"), *(request.around if request.of("user") else ())]


def _least(text: str, request: Request, *, general: bool) -> float:
    if request.of("user"):
        return TELLS if text == request.asked else OF_A_LINE
    return OF_A_MARK if "?" in text else inf if general else OF_A_LINE


def _known(doc: Doc, attributes: tuple[Attribute, ...], records: Records) -> frozenset[str]:
    """The words of an answer that tells of a known person and of nobody else: who names that person in a question
    describes nobody private. None where a record describes somebody."""
    told_of = {a.subject for a in attributes if a.kind != "sex"}
    known = not told_of.isdisjoint(_KNOWN) and told_of <= {*_KNOWN, "nobody", "cohort"} and not records.private()
    return frozenset(doc.lowers) if known else frozenset()


def described(spoken: Spoken, read: Read, records: Records, told: tuple[Attribute, ...], policy: Policy, *, asker: str,
              sure: bool = False, anybody: bool = False, known: frozenset[str] = frozenset()) -> Probe | None:
    """Whom a question describes, with what the answer adds; None where that is nobody, or the asker who has proved to
    be the person. One fact that a record holds too is enough where it is `sure` that the answer tells of them;
    `anybody`: it is certain, so that they are meant whoever the question says they are. Of names, those whose words are
    all `known` describe nobody."""
    mine = [a for a in read.attributes if a.kind in policy.counted and (anybody or a.subject in _MAY_BE_MEANT)
            and not (asker == "self" and a.subject == "speaker")]
    told_of = {(a.kind, a.value) for a in mine}
    who: Subject = "speaker" if mine and all(a.subject == "speaker" for a in mine) else "third"
    recognised = direct_of(spoken.doc)
    spans = {*recognised, *identifiers_in(recognised, seen_in(spoken.doc, spoken.doc.text), spoken.doc)}
    named = any(span.type not in policy.allow_direct for span in spans if not _is_known(span, spoken.doc, known))
    if named and asker == "self":
        named = any(r.subject == "third" and r.person not in spoken.mine for r in spoken.referents)
    if not told_of:
        return Probe("third", (), True) if named else None
    adds = {a.kind for a in told if a.kind in policy.counted and a.subject in policy.subjects}
    kinds = {kind for kind, _ in told_of} | adds
    if named or max(len(kinds), min(len(told_of), len(kinds) + 1)) >= policy.cluster:
        return Probe(who, tuple(sorted(kinds)), named)
    facts = read.facts(policy.counted)
    told_there, words = records.nearest(spoken.words, facts)
    if told_there >= policy.cluster or (told_there and (sure or words > _SHARED)):
        return Probe("third", tuple(sorted({kind for kind, _ in facts})), False)
    return None
