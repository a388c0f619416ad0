"""One reading of an answer in its request: what everything else that judges, remembers or explains it takes.

It is made once a check: the rendered text, its language, direct identifiers, attributes with the person and the
subject of each, quotes of retrieved passages, and the request by origin (`text.provenance`). An attribute or identifier
that only repeats what the user said of themselves, or of somebody whom they bring, is the asker's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from discreet.core.errors import UsageError
from discreet.core.records import PERSONS, Answer, Evidence, Public, Subject
from discreet.guard.identifiers import Status, counts_directly, identifiers_in, programs_in, whose
from discreet.guard.policy import Policy
from discreet.guard.private import as_private, private_persons, says_a_record
from discreet.guard.stretches import asked_apart, closer, most, opened, read_apart, told_alone, told_by
from discreet.guard.text import lexicon as lex
from discreet.guard.text.attributes import Attribute, attributes_of, terms_of
from discreet.guard.text.direct.detect import DirectSpan, direct_of
from discreet.guard.text.doc import Doc, Docs
from discreet.guard.text.language import Language, guess_language
from discreet.guard.text.provenance import Request, request_of
from discreet.guard.text.reader import TOLD, Seen
from discreet.guard.text.record import SURELY, Fact, Read, fact_words, facts_of, pieces, seen_in, shared
from discreet.guard.text.render import shown
from discreet.guard.text.reply import OTHERS, Case

if TYPE_CHECKING:
    from discreet.guard.probes import Probe
    from discreet.guard.text.quotes import Quote
    from discreet.guard.text.referents import Referent

THEIRS = 1.0
"""Log-odds above which an answer speaks of the user, or of whom they bring."""
_SURELY_THEIRS = 4.0
"""The same of the classifier."""
REPEATS = 2
"""Repeated words from which on only what is stated counts."""
FEW = 12
"""Words from which on an answer may imply what it does not state."""
_ADDS = 4.5
"""Log-odds of a cluster among the words that the user did not say, above which these decide."""
_QUIET = -1.0
"""Log-odds of a cluster below which an answer that tells of nobody is not read again without the user's words."""
_PRIVATE: tuple[Subject, ...] = ("third", "speaker")
"""Whom a question may make somebody else."""


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
    hidden from it) and the terms of the domain; `behind` is what the answer is to each question of the request.
    Offsets are those of the original answer.
    """

    answer: Answer = field(repr=False)
    request: Request = field(repr=False)
    doc: Doc = field(repr=False)
    language: Language
    direct: tuple[tuple[DirectSpan, Subject], ...]
    attributes: tuple[Attribute, ...]
    seen: Seen
    behind: Mapping[str, Case] = field(repr=False, default_factory=dict)
    quotes: tuple[Quote, ...] = ()
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
    def brief(self) -> bool:
        """Whether it has too few words to imply what they do not state: "$382.00", "51,000 thousand"."""
        return sum(token.text[0].isalnum() for token in self.doc.tokens) < FEW

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

    def in_english(self, found: Iterable[Evidence]) -> int:
        """How many different things of these are told in sentences that are English."""
        places = ((self.doc.token_at_original(one.start), one) for one in found)
        return len({(one.type, self.doc.lowers[at]) for at, one in places
                    if self.doc.tokens[at].sentence not in self.language.foreign})

    def probe(self, policy: Policy) -> Probe | None:
        """The described person of whom the answer tells something that the question asked for; looked for once."""
        if not self.request.asked or self.empty or not (self.language.readable and self.language.english):
            return None  # What the network cannot read is not judged.
        from discreet.guard.probes import find_probe  # Most answers come without a question.

        key = ("probe", policy.label(), self.request, self.answer.asker, self.answer.calls, self.attributes)
        return self.doc.once(key, lambda: find_probe(
            self.request, self.doc, self.attributes, self.behind, policy, asker=self.answer.asker, repeats=self.repeats,
            named=any(s.kind == "name" for s in self.seen.spans), calls=self.answer.calls))

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


def answer_of(answer: Answer | str, question: str | None = None) -> Answer:
    """An answer as a record. Raises UsageError for anything but a string or an Answer, a question with an Answer, or
    one that is no string."""
    if question is not None and not isinstance(question, str):
        raise UsageError(f"the question is a {type(question).__name__}; expected a string")
    if isinstance(answer, str):
        return Answer(uuid4().hex, answer, question)
    if not isinstance(answer, Answer):
        raise UsageError(f"the answer is a {type(answer).__name__}; expected a string or an Answer")
    if question is not None:
        raise UsageError("a question was given with an Answer, which holds its own; put it into "
                         "Answer(question=…)")
    return answer


def read_answer(answer: Answer, policy: Policy) -> Reading:
    """Run every detector. Raises whatever a detector raises: the caller turns it into `failed`."""
    docs = Docs()
    doc, request = opened(docs[answer.answer], policy), request_of(answer, docs)
    own = "\n".join(request.of("user"))
    probes = request.questions if policy.probe != "pass" else ()
    asked = tuple(dict.fromkeys(text for text in (own, *probes) if text)) if policy.subjects else ()
    whole = closer(doc, doc.text, seen_in(doc, doc.text, asked), policy)
    behind = dict(zip(asked, whole.behind, strict=True))
    case = behind.get(own)
    recognised = direct_of(doc)
    told_of = any(s.kind == "name" or s.kind in policy.counted for s in whole.spans)
    together = _together(doc, own) if policy.subjects and (recognised or told_of) else None
    if together is None and (recognised or told_of):
        case = None  # What is too long to be read together with its question is nobody else's because of that.
    apart = asked_apart(doc, own, together, whole, recognised, policy)
    lines = [one for one in apart if one.private]
    if together is not None and lines:
        together = told_by(together, (line.case for line in lines))
        case = case and told_by(case, (seen_in(doc, doc.text[line.start : line.end]).case for line in lines))
    request = replace(request, theirs=_of_theirs(case, together))
    said, repeats = request.without_repeated(doc)
    for one in programs_in(doc):  # "I'm Ava, your virtual assistant" tells of nobody.
        said = said[: one.start()] + " " * (one.end() - one.start()) + said[one.end() :]
    quiet = not recognised and not told_of and most(whole, policy) < _QUIET
    # Words that tell nothing of anybody may stay.
    again = not quiet and any(said[s.start : s.end] != doc.text[s.start : s.end] for s in whole.spans)
    added = _shown(closer(doc, said, seen_in(doc, said), policy), said) if again else whole
    if recognised or _tells(added, policy):  # Of what tells nothing, nothing is somebody else's.
        others = any(part.origin != "user" and part.text != own for part in request.parts)
        added = _behind(added, case, policy, told_back=repeats > 0, others=others)
    seen = told_alone(doc, read_apart(added, said, doc, lines), said, request, policy)
    spans = identifiers_in(recognised, seen, doc)
    called = {policy.domain.person.lower(), policy.domain.people.lower()}  # what the domain calls anybody tells nothing
    told = [a for a in attributes_of(seen, doc) if (a.kind != "age" or not _identifies(a, spans))
            and (a.kind != "occupation" or a.value not in called)]
    private = private_persons(told, seen, doc, request, policy, together)
    if together is not None and not private and (recognised or _tells(seen, policy)):
        seen = _with(together, case, seen, doc, request, told, policy)
    found = as_private([*told, *terms_of(doc, policy.domain, seen.spans)], private)
    attributes = tuple(sorted(request.repeated(found, doc), key=lambda a: (a.start, a.end, a.kind)))
    status = Status(seen, doc, private, apart)
    direct = tuple((span, whose(span, doc, request, answer, policy, status)) for span in spans)
    quotes = _quotes(answer.answer, request, policy, docs)
    return Reading(answer, request, doc, guess_language(doc), direct, attributes, seen, behind, quotes, repeats)


def _quotes(answer: str, request: Request, policy: Policy, docs: Docs) -> tuple[Quote, ...]:
    """What the answer quotes of retrieved text, as the policy asks."""
    sources, rule = request.of("retrieved", "tool"), policy.quotes
    if not sources or rule.action == "off":
        return ()
    from discreet.guard.text.quotes import find_quotes  # Most answers come without retrieved text.

    key = ("quotes", sources, rule)
    return docs[answer].once(key, lambda: find_quotes(answer, sources, least=rule.words, common=rule.common, docs=docs))


def _shown(seen: Seen, said: str) -> Seen:
    """What is seen in a text without the words that are hidden in it."""
    return replace(seen, spans=tuple(s for s in seen.spans if said[s.start : s.end].strip(" …")))


def _tells(seen: Seen, policy: Policy) -> bool:
    """Whether an attribute that counts, or a name, of anybody who counts, or of the one spoken to, is seen."""
    return any(s.subject in (*policy.subjects, "asker") and (s.kind == "name" or s.kind in policy.counted)
               for s in seen.spans)


def _behind(seen: Seen, case: Case | None, policy: Policy, *, told_back: bool, others: bool) -> Seen:
    """What the reader sees in an answer, whose question may say that private people are somebody else.

    The question changes nothing about what stands in the answer: only of whom that is told. Of the user's, or of whom
    they bring, counts what the answer surely adds to their own words. Where text of others is at hand (`others`), out
    of which the answer may tell, the question makes nothing less likely that it does not give to somebody else; nor
    where the answer tells words back (`told_back`), which the question would count.
    """
    if case is None:
        return seen
    if case.theirs > THEIRS:
        return seen if most(seen, policy) > _ADDS else replace(seen, case=case, asked=True)
    if case.others > OTHERS and case.status is not None and case.status not in policy.subjects:
        return replace(as_somebody_else(seen, case.status), case=case, asked=True)
    return seen if told_back or others else replace(seen, case=case, asked=True)


def _together(doc: Doc, own: str) -> Case | None:
    """What the answer is to the user's own words, read together; by itself where these are not known."""
    from discreet.guard.text.classifier import together_with  # Most answers tell of nobody.

    return together_with(doc, own)


def _of_theirs(case: Case | None, together: Case | None) -> bool:
    """Whether an answer speaks of the user, or of whom they bring, by either network."""
    if together is not None and together.surely_not_theirs:
        return False
    if case is None or case.theirs > THEIRS:
        return case is not None
    # What tells all of the user's words back looks like theirs to the classifier, whomever they are about.
    return together is not None and together.theirs > max(_SURELY_THEIRS, -case.theirs)


def _with(together: Case, case: Case | None, seen: Seen, doc: Doc, request: Request, told: Sequence[Attribute],
          policy: Policy) -> Seen:
    """What is seen, with what the answer is together with the user's question. Where anything that the answer tells of
    somebody stands elsewhere in the request too or is said to be out of a record, or the answer surely adds to what
    users said of theirs, no question makes them anybody else."""
    persons = (*PERSONS, "speaker")
    facts = [*facts_of((a for a in told if a.subject in persons), doc, policy.counted),
             *(("name", tuple(fact_words(doc.text[s.start : s.end]))) for s in seen.spans if s.kind == "name")]
    others = (*request.around, *request.of("retrieved", "tool"))
    # What it takes for a leak needs no record: only what it would clear is looked up.
    recorded = together.tells < SURELY and any(
        _of_somebody(facts, piece, request, policy) for text in others for piece in pieces(text))
    added = request.theirs and most(seen, policy) > _ADDS
    if not (recorded or added or (together.tells < SURELY and says_a_record(doc, request))):
        return replace(seen, together=together, case=case or seen.case, asked=case is not None)
    # As if it had come without a question.
    alone = None if case is None or request.theirs else _together(doc, "")
    return seen if alone is None or alone.tells < SURELY else replace(seen, together=alone)


def _of_somebody(facts: Sequence[Fact], text: str, request: Request, policy: Policy) -> bool:
    """Whether a text tells any of some facts of somebody private, or of nobody it can be read of."""
    if isinstance(text, Public) or not shared(facts, text):
        return False
    read = Read.of(request.docs[text], policy.domain)
    names = " ".join(read.doc.text[s.start : s.end] for s in seen_in(read.doc, read.doc.text).spans if s.kind == "name")
    told = " ".join(word for _, of in read.private(policy.counted) for word in of)
    return bool(shared(facts, f"{names} {told}"))


def as_somebody_else(seen: Seen, status: Subject) -> Seen:
    """What is seen, with its private persons as somebody else."""
    counts = np.full_like(seen.counts, seen.counts.min())
    if status in TOLD:
        counts[TOLD.index(status)] = seen.counts.max(0)
    spans = tuple(replace(s, subject=status) if s.subject in _PRIVATE else s for s in seen.spans)
    held = {(who, status if of in _PRIVATE else of): odds for (who, of), odds in seen.held.items()}
    return replace(seen, spans=spans, counts=counts, held=held)


def _identifies(a: Attribute, direct: Sequence[DirectSpan]) -> bool:
    """Whether digits are those of a number that identifies, and nobody's age. Direct identifiers do not overlap."""
    at = bisect_right(direct, a.start, key=lambda one: one.start) - 1
    return at >= 0 and a.end < direct[at].end and direct[at].type != "date_of_birth"


def finding_of(probe: Probe, reading: Reading) -> Finding:
    """A probe as something found: the whole answer."""
    return Finding("answer_to_probe", probe.subject, "", 0, len(reading.answer.answer),
                   "tells what the question asks of a described person", "contextual", True)


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
    return tuple(sorted(found, key=lambda f: (f.start, f.end, f.type)))


def _named(a: Attribute, named: dict[str, str]) -> str:
    """What explanations call the person of an attribute; `named` keeps the numbers that were given."""
    if a.subject in ("cohort", "nobody", "speaker"):
        return a.subject
    return named.setdefault(a.person, "asker" if a.person == "addressee" else f"person {len(named) + 1}")
