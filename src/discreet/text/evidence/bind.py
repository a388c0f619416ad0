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
# A fragment of so few tokens carries a place too: "From Omaha."
_FRAGMENT = 5
_STATES = frozenset("are were have had live lived work worked".split())
# What "a divorced mother of three" says of the mother herself; other relatives are somebody else's.
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
        why = f"{mention.why}; {why}"
        bound.append(Attribute(mention.kind, mention.value, subject, person, start, end, why, mention.weak))
        owner, slash, relation = person.rpartition("/")
        of_relative = context.domain.of_relative.get(mention.kind)
        if slash and of_relative and subject == "third":
            value = f"{relation}: {mention.value}"
            whose: Subject = "speaker" if owner == "speaker" else "third"
            bound.append(Attribute("family", value, whose, owner, start, end, of_relative, weak=True))
    return tuple(bound)


def _whose(context: Context, mention: Mention, places: list[int]) -> tuple[str, Subject, str]:
    if mention.who is not None:
        return _named(mention.who)
    doc, referents = context.doc, context.referents
    first, last = doc.token_at(mention.start), doc.token_at(max(mention.start, mention.end - 1)) + 1
    begin, end = doc.sentence_of(first)
    at = bisect_right(places, first)
    if (inside := _holding(context, at, first, last, mention)) is not None:
        return inside.person, _subject(context, inside), "in its noun phrase"
    said = [r for r in referents[max(0, at - 12) : at] if begin <= r.first < first and r.form != "author"]
    if (before := _last_before(context, mention, first, said)) is not None:
        return before.person, _subject(context, before), "named before it"
    after = next((r for r in referents[at : at + 4] if r.first < end and r.form != "author"), None)
    # At the head of a sentence it belongs to its subject: "At 52, she …", "In Omaha, the client …".
    if after is not None and (first - begin <= 6 or after.first - first <= 8):
        return after.person, _subject(context, after), "named after it"
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


def _subject(context: Context, referent: Referent) -> Subject:
    """The subject of a referent: "you" in instruction is nobody in particular, "you are a litigator" is somebody.

    Where the question does not hold the attribute, the guard cannot know that the reader is that person, so a
    particular "you" counts as a third person; `find_evidence` marks what the question holds as the asker's.
    """
    if referent.subject != "asker":
        return referent.subject
    begin, end = context.doc.sentence_of(referent.first)
    words = context.doc.lowers[begin:end]
    if referent.possessive or any(w in lex.CONDITIONALS or w in lex.MODALS for w in words):
        return "cohort"
    states = any(one == "you" and two in _STATES for one, two in pairwise(words))
    return "third" if states or set(words) & {"you're", "you've"} else "cohort"


def _holding(context: Context, at: int, first: int, last: int, mention: Mention) -> Referent | None:
    """The referent whose noun phrase holds the mention, or that the mention holds, or whose phrase it opens.

    "with a friend" and "a niece" hold the relative, not the one who has them, so a family mention never binds so.
    """
    lowers, family = context.doc.lowers, mention.kind == "family"
    for referent in context.referents[max(0, at - 1) : at + 3]:
        if referent.form in ("noun", "name", "plural") and referent.first <= first and last <= referent.last:
            relative = family and last == referent.last and lowers[last - 1] in lex.KIN
            if relative and mention.why not in _OF_ITS_HEAD:
                continue
            return referent
        held = first <= referent.first and referent.last <= last and referent.form in ("noun", "plural")
        if held and not family:
            return referent
    following = context.referents[at] if at < len(context.referents) else None
    if following is None or following.form not in ("plural", "noun") or not 0 <= following.first - last <= 2:
        return None
    between = set(lowers[last : following.first])
    return None if between & lex.PHRASE_BREAKS or between & lex.DETERMINERS or "," in between else following


def _last_before(context: Context, mention: Mention, first: int, said: list[Referent]) -> Referent | None:
    """The last one named before a mention in its sentence, or else the owner of something there."""
    owner: Referent | None = None
    for referent in reversed(said):
        if referent.possessive and _leads_to_kin(context, referent):
            continue
        if referent.possessive and referent.form == "pronoun" and owner is None:
            # "The man who drives the Zamboni at our rink": the rink is ours, the deed is not.
            owner = referent
            continue
        near = context.doc.lowers[max(0, referent.first - 4) : referent.first]
        if mention.kind in ("place", "affiliation") and referent.form == "kin" and "with" in near:
            # "lives with his sister in Duluth": the town is not said of the sister.
            continue
        if mention.kind == "family" and mention.why not in _OF_ITS_HEAD and first < referent.last:
            continue
        return referent
    return owner


def _leads_to_kin(context: Context, referent: Referent) -> bool:
    """A possessive whose relative is the one being spoken of: "my" in "my mother, a nurse"."""
    following = next((r for r in context.referents if r.first >= referent.last), None)
    return following is not None and following.form == "kin" and following.person.startswith(referent.person)


def _carried(context: Context, mention: Mention, begin: int, at: int) -> Referent | None:
    """The person of the sentence before, where this one is a note that may go on about them."""
    short = context.doc.sentence_of(begin)[1] - begin <= _FRAGMENT
    if begin == 0 or not (short or mention.kind in _CARRIED or mention.kind in context.domain.carried):
        return None
    previous = context.doc.sentence_of(begin - 1)[0]
    earlier = context.doc.sentence_of(previous - 1)[0] if previous else 0
    recent = [r for r in context.referents[max(0, at - 12) : at] if r.first >= earlier and r.form != "author"]
    return recent[-1] if recent and recent[-1].subject in ("third", "speaker", "public") else None
