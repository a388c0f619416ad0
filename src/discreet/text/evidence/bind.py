"""Whose attribute is it? Binding of mentions to the referents around them.

In order: what the wording itself says; the referent whose noun phrase holds the mention ("a 52-year-old litigator");
the last one named before it in the sentence; the first one after it; the person that the previous sentence was about,
where this sentence is a note without a subject ("Retired teacher. Lives alone."); else nobody.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from discreet.core.records import Subject
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence import published
from discreet.text.evidence.mentions import Attribute, Context, Mention
from discreet.text.evidence.referents import Referent

# Classes that a bare note may carry over from the previous sentence; a place or an employer needs its own sentence.
# Classes of a domain say it of themselves.
_CARRIED = frozenset("age sex occupation family ethnicity".split())

_STATES = frozenset(("you", verb) for verb in ("are", "were", "have", "had", "live", "lived", "work", "worked"))
# What "a divorced mother of three" says of the mother herself; other relatives are somebody else's.
# A fragment of so few tokens carries a place too: "From Omaha."
_FRAGMENT = 5
_OF_ITS_HEAD = frozenset(["marital status", "parenthood"])


def bind(context: Context, mentions: list[Mention]) -> tuple[Attribute, ...]:
    """Attach every mention to a person; the result keeps the order."""
    parties = published.parties(context)
    places = [r.first for r in context.referents]
    bound: list[Attribute] = []
    for mention in mentions:
        person, subject, why = _whose(context, mention, places)
        if subject == "third" and person in parties:
            subject, why = "public", "party of a published case"
        start, end = context.doc.prepared.span(mention.start, mention.end)
        bound.append(
            Attribute(mention.kind, mention.value, subject, person, start, end, f"{mention.why}; {why}", mention.weak)
        )
        owner, slash, relation = person.rpartition("/")
        of_relative = context.domain.of_relative.get(mention.kind)
        if slash and of_relative and subject == "third":
            bound.append(
                Attribute(
                    "family",
                    f"{relation}: {mention.value}",
                    "speaker" if owner == "speaker" else "third",
                    owner,
                    start,
                    end,
                    of_relative,
                    weak=True,
                )
            )
    return tuple(bound)


def _whose(context: Context, mention: Mention, places: list[int]) -> tuple[str, Subject, str]:
    if mention.who is not None:
        return _named(mention.who)
    doc = context.doc
    first, last = doc.token_at(mention.start), doc.token_at(max(mention.start, mention.end - 1)) + 1
    begin, end = doc.sentence_of(first)
    at = bisect_right(places, first)
    inside = _holding(context, at, first, last, mention)
    if inside is not None:
        return _of(context, inside, "in its noun phrase")
    before = [r for r in context.referents[max(0, at - 12) : at] if begin <= r.first < first and r.form != "author"]
    owner: Referent | None = None
    for referent in reversed(before):
        if referent.possessive and _leads_to_kin(context, referent):
            continue
        if referent.possessive and referent.form == "pronoun" and owner is None:
            # "The man who drives the Zamboni at our rink": the rink is ours, the deed is not.
            owner = referent
            continue
        if mention.kind in ("place", "affiliation") and _companion(context, referent):
            continue
        if mention.kind == "family" and mention.why not in _OF_ITS_HEAD and first < referent.last:
            continue
        return _of(context, referent, "named before it")
    if owner is not None:
        return _of(context, owner, "named before it")
    after = [r for r in context.referents[at : at + 4] if r.first < end and r.form != "author"]
    if after and _opens(context, begin, first, after[0]):
        return _of(context, after[0], "named after it")
    carried = _carried(context, mention, begin, at)
    if carried is not None:
        return carried.person, carried.subject, "carried over from the sentence before"
    if context.is_personal and mention.weak and mention.kind in ("occupation", "family"):
        return "speaker", "speaker", "in a speaker's story"
    return "nobody", "nobody", "bound to nobody"


def _named(who: str) -> tuple[str, Subject, str]:
    if who in ("cohort", "nobody"):
        return who, "cohort" if who == "cohort" else "nobody", "said of a group"
    if who == "speaker":
        return who, "speaker", "said of the speaker"
    return who, "asker" if who.startswith("addressee") else "third", "said of this person"


def _of(context: Context, referent: Referent, why: str) -> tuple[str, Subject, str]:
    subject = referent.subject
    if subject == "asker":
        subject = _told(context, referent)
    return referent.person, subject, why


def _told(context: Context, referent: Referent) -> Subject:
    """ "You" in instruction is nobody in particular; "you are a 52-year-old litigator" is somebody.

    Where the question does not hold the attribute, the guard cannot know that the reader is that person, so a
    particular "you" counts as a third person; `find_evidence` gives back to the asker what the question holds.
    """
    begin, end = context.doc.sentence_of(referent.first)
    words = context.doc.lowers[begin:end]
    if any(w in lex.CONDITIONALS or w in lex.MODALS for w in words) or referent.possessive:
        return "cohort"
    states = any(pair in _STATES for pair in pairwise(words))
    return "third" if states or set(words) & {"you're", "you've"} else "cohort"


def _holding(context: Context, at: int, first: int, last: int, mention: Mention) -> Referent | None:
    """The referent whose noun phrase holds the mention, or that the mention holds.

    "with a friend" and "a niece" hold the relative, not the one who has them, so a family mention never binds so.
    """
    kind, status = mention.kind, mention.why in _OF_ITS_HEAD
    for referent in context.referents[max(0, at - 1) : at + 3]:
        if referent.form in ("noun", "name", "plural") and referent.first <= first and last <= referent.last:
            if kind == "family" and last == referent.last and context.doc.lowers[last - 1] in lex.KIN and not status:
                continue
            return referent
        if (
            kind != "family"
            and first <= referent.first
            and referent.last <= last
            and referent.form in ("noun", "plural")
        ):
            return referent
    nxt = context.referents[at] if at < len(context.referents) else None
    if (
        nxt is not None
        and nxt.first >= last
        and nxt.form in ("plural", "noun")
        and nxt.first - last <= 2
        and not set(context.doc.lowers[last : nxt.first]) & (lex.PHRASE_BREAKS | lex.DETERMINERS | {","})
    ):
        return nxt
    return None


def _leads_to_kin(context: Context, referent: Referent) -> bool:
    """A possessive whose relative is the one being spoken of: "my" in "my mother, a nurse"."""
    following = next((r for r in context.referents if r.first >= referent.last), None)
    return following is not None and following.form == "kin" and following.person.startswith(referent.person)


def _companion(context: Context, referent: Referent) -> bool:
    """ "lives with his sister in Duluth": the town is not said of the sister."""
    words = context.doc.lowers[max(0, referent.first - 4) : referent.first]
    return referent.form == "kin" and "with" in words


def _opens(context: Context, begin: int, first: int, referent: Referent) -> bool:
    """A mention at the head of a sentence belongs to its subject: "At 52, she …", "In Omaha, the client …"."""
    return first - begin <= 6 or referent.first - first <= 8


def _carried(context: Context, mention: Mention, begin: int, at: int) -> Referent | None:
    end = context.doc.sentence_of(begin)[1]
    if begin == 0 or (
        mention.kind not in _CARRIED and mention.kind not in context.domain.carried and end - begin > _FRAGMENT
    ):
        return None
    previous = context.doc.sentence_of(begin - 1)[0]
    earlier = context.doc.sentence_of(previous - 1)[0] if previous else 0
    recent = [r for r in context.referents[max(0, at - 12) : at] if r.first >= earlier and r.form != "author"]
    if not recent or recent[-1].subject not in ("third", "speaker", "public"):
        return None
    return recent[-1]
