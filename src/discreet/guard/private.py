"""Who counts as private though the reader takes them for somebody else.

A framed person ("Imagine a 52-year-old litigator from Omaha …") of whom other text of the request tells the same: a
frame, in the answer or in the user's words, changes nothing about what stands in a record; nor does a question that
asks for staff or for somebody known, where the record by itself is about somebody private. The same where answer or
user say that what is told is out of a record ("taken from complaint C-208"). The one spoken to, where the
answer states what the user did not say, unless the reader is sure that it speaks of the user's own. Staff and public
persons of whom the answer tells facts of the domain, where the policy says so (`private_facts_of`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from discreet.core.records import PERSONS
from discreet.guard.policy import Policy
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.doc import Doc
from discreet.guard.text.provenance import Request
from discreet.guard.text.reader import Seen
from discreet.guard.text.record import FRAMED, LONGEST, Fact, Read, facts_of, shared
from discreet.guard.text.render import render
from discreet.guard.text.reply import Case
from discreet.guard.text.resources import as_compared, patterns

_PARAGRAPH = re.compile(r"\n\s*\n")
"""What asks for an example beside a record makes nobody of the record an example."""
_DENIES = re.compile(r"\b(?:no|none|not|nothing|never|nobody|\w+n't)\b[^.?!]*$")
_NEAR = 40
"""Characters before words that say so in which they may be denied."""
_THEIRS, _SURE = 4.0, 0.8
"""Log-odds that an answer speaks of the user's own, above which it adds to it only by attributes of this probability:
"you live alone" may say again "on my own up past Appleby"."""


def private_persons(told: Sequence[Attribute], seen: Seen, doc: Doc, request: Request, policy: Policy,
                    together: Case | None = None) -> Mapping[str, str]:
    """Persons of an answer by the reader's names for them, each with why they count as private.

    `told` are the attributes that the reader finds in the answer `doc`, `together` what that is read together with the
    user's question. Raises what the reader raises.
    """
    speaks_of_others = together is not None and together.surely_of_others and together.surely_not_theirs
    found = dict.fromkeys((a.person for a in ([] if speaks_of_others else _spoken_to(told, seen, policy))),
                          "states of the one spoken to what the user did not say")
    found |= {s.person: f"{s.subject}, but tells a private fact" for s in seen.spans
              if s.kind == "domain" and s.subject in policy.private_facts_of}
    spared = PERSONS[1:] if request.of("user") else FRAMED
    framed = {a.person: policy.cluster + (a.subject == "cohort") for a in told if a.subject in (*spared, "cohort")}
    facts = {person: _facts(told, person, doc, policy) for person in framed}
    told_much = [person for person, of in facts.items() if len(of) >= policy.cluster]
    if told_much and says_a_record(doc, request):
        found |= dict.fromkeys(told_much, "is out of a record, as the request or the answer says")
    own = request.of("user")
    texts = [text for text in request.of("retrieved", "tool", "unknown", "system") if text not in own]
    return found | {person: "stands in a record of the request" for person, of in facts.items()
                    if len(of) >= framed[person] and any(_tells(piece, of, policy) for text in texts
                                                 for piece in dict.fromkeys((text, *_PARAGRAPH.split(text))))}


def says_a_record(doc: Doc, request: Request) -> bool:
    """Whether an answer says that it tells what stands in a record, or the user asks for that."""
    return any(_says(name, text) for name, text in (
        ("out of a record", doc.text), *(("wants a record", own) for own in request.of("user"))))


def _says(name: str, text: str) -> bool:
    """Whether a pattern of requests stands in a text, and is not denied right before."""
    said = as_compared(text)
    return any(not _DENIES.search(said, max(0, m.start() - _NEAR), m.start())
               for m in patterns("requests")[name].finditer(said))


def _spoken_to(told: Sequence[Attribute], seen: Seen, policy: Policy) -> list[Attribute]:
    """What is told of the one spoken to; where the answer speaks of the user's own, only what makes a cluster by
    attributes that are sure."""
    found = [a for a in told if a.subject == "asker"]
    sure = {(a.kind, a.value) for a in found if a.kind in policy.counted and a.probability >= _SURE}
    return [] if seen.asked and seen.case.theirs > _THEIRS and len(sure) < policy.cluster else found


def as_private(told: Sequence[Attribute], persons: Mapping[str, str]) -> list[Attribute]:
    """Attributes, those of some persons as a private person's. The reader's count does not speak of these."""
    return [replace(a, subject="third", why=f"{a.why}; {persons[a.person]}", overruled=True)
            if a.person in persons else a for a in told]


def _facts(told: Sequence[Attribute], person: str, doc: Doc, policy: Policy) -> frozenset[Fact]:
    return frozenset(facts_of((a for a in told if a.person == person), doc, policy.counted))


def _tells(text: str, facts: Collection[Fact], policy: Policy) -> bool:
    """Whether a text shares enough facts, and tells as many of them of somebody whom it does not call made up."""
    if shared(facts, text) < policy.cluster:
        return False
    if len(text) > LONGEST:  # It is not read again: whoever shares facts with it is private.
        return True
    private = Read.of(Doc(render(text)), policy.domain).private(policy.counted)
    return sum(any(shared([fact], " ".join(words)) for _, words in private) for fact in facts) >= policy.cluster
