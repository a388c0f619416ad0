"""Whose attribute is it? From the mentions of the taggers to attributes, each bound to a person.

In order: what the wording itself says; the referent whose noun phrase holds the mention ("a 52-year-old litigator");
the last one named before it in the sentence; the first one after it; the person that the previous sentence was about,
where this sentence is a note without a subject ("Retired teacher. Lives alone."); else nobody.

A text that cites a reported case ("347 U.S. 483", "Smith v. Jones (9th Cir. 1997)") and speaks of what the court did
there describes its parties by that case: what an opinion says of them is public already, and policies decide whether
that counts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import pairwise

from discreet.core.errors import DetectorError
from discreet.core.records import Subject
from discreet.guard.domains import Domain, DomainLike, load_domain
from discreet.guard.text.doc import Doc
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import Attribute, Context, Mention, classes_of, taggers
from discreet.guard.text.evidence.referents import Referent
from discreet.guard.text.resources import patterns, words

Whose = Callable[[Mention], tuple[str, Subject, str]]
"""Person, subject and reason of a mention."""
_CASES = patterns("cases")
_WORDS = words("referents")
_CAPITALISED = re.compile(r"[A-Z][\w'-]+")
# Classes that a bare note may carry over from the previous sentence; a place or an employer needs its own sentence.
# Classes of a domain say it of themselves.
_CARRIED = frozenset("age sex occupation family ethnicity".split())
# A fragment of so few tokens carries a place too: "From Omaha."
_FRAGMENT = 5
_RULES = frozenset(lex.CONDITIONALS | lex.MODALS)
_STATES = frozenset("are were have had live lived work worked".split())
# What "a divorced mother of three" says of the mother herself; other relatives are somebody else's.
_OF_ITS_HEAD = frozenset(["marital status", "parenthood"])


def find_evidence(doc: Doc, domain: DomainLike) -> tuple[Attribute, ...]:
    """Every attribute that a text states, bound to its subject, in order of their place.

    One per mention, so a repeated fact appears repeatedly. `domain` is the name of a built-in domain, or the folder of
    one. Asked once of a document.
    """
    loaded = load_domain(domain)
    return doc.once(("evidence", loaded), lambda: _attributes(doc, loaded))


def _attributes(doc: Doc, domain: Domain) -> tuple[Attribute, ...]:
    if not doc.tokens:
        return ()
    if not len(taggers):
        raise DetectorError("the taggers' registry", "no tagger to load")
    context, wanted = Context(doc, domain), classes_of(domain)
    here = (one for _, one in taggers.items() if one.domains is None or domain.name in one.domains)
    mentions = {m for one in here for m in one.find(context) if m.kind in wanted}
    kept: list[Mention] = []
    # Of mentions of one kind that lie in one another, the longest.
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end, m.weak, m.kind, m.value, m.why, str(m.who))):
        alike = (k for k in kept[-12:] if (k.kind, k.who) == (mention.kind, mention.who))
        if not any(k.start <= mention.start and mention.end <= k.end for k in alike):
            kept.append(mention)
    return bound(context, kept)


def bound(context: Context, mentions: Iterable[Mention], binder: Whose | None = None) -> tuple[Attribute, ...]:
    """Every mention attached to a person, in the order given: by the rules, or by a function of your own."""
    parties = _parties(context)
    places = [r.first for r in context.referents]
    found: list[Attribute] = []
    for mention in mentions:
        person, subject, why = binder(mention) if binder is not None else _whose(context, mention, places)
        if subject == "third" and person in parties:
            subject, why = "public", "party of a published case"
        start, end = context.doc.prepared.span(mention.start, mention.end)
        why = f"{mention.why}; {why}"
        rendered = mention.start, mention.end
        found.append(Attribute(mention.kind, mention.value, subject, person, start, end, why, mention.weak,
                               rendered=rendered))
        owner, slash, relation = person.rpartition("/")
        of_relative = context.domain.of_relative.get(mention.kind)
        if slash and of_relative and subject == "third":
            whose: Subject = "speaker" if owner == "speaker" else "third"
            value = f"{relation}: {mention.value}"
            found.append(Attribute("family", value, whose, owner, start, end, of_relative, weak=True,
                                   rendered=rendered))
    return tuple(found)


def _whose(context: Context, mention: Mention, places: list[int]) -> tuple[str, Subject, str]:
    who = mention.who
    if who in ("cohort", "nobody"):
        return who, who, "said of a group"  # type: ignore[return-value]
    if who is not None:
        said_of: Subject = "asker" if who.startswith("addressee") else "third"
        return (who, "speaker", "said of the speaker") if who == "speaker" else (who, said_of, "said of this person")
    doc, referents = context.doc, context.referents
    first, last = doc.token_at(mention.start), doc.token_at(max(mention.start, mention.end - 1)) + 1
    begin, end = doc.sentence_of(first)
    at = bisect_right(places, first)
    if (inside := _holding(context, at, first, last, mention)) is not None:
        return inside.person, subject_of(context, inside), "in its noun phrase"
    said = [r for r in referents[max(0, at - 12) : at] if begin <= r.first < first and r.form != "author"]
    if (before := _last_before(context, mention, first, said)) is not None:
        return before.person, subject_of(context, before), "named before it"
    after = next((r for r in referents[at : at + 4] if r.first < end and r.form != "author"), None)
    # At the head of a sentence it belongs to its subject: "At 52, she …", "In Omaha, the client …".
    if after is not None and (first - begin <= 6 or after.first - first <= 8):
        return after.person, subject_of(context, after), "named after it"
    carried = _carried(context, mention, begin, at)
    if carried is not None:
        return carried.person, carried.subject, "carried over from the sentence before"
    if context.is_personal and mention.weak and mention.kind in ("occupation", "family"):
        return "speaker", "speaker", "in a speaker's story"
    return "nobody", "nobody", "bound to nobody"


def subject_of(context: Context, referent: Referent) -> Subject:
    """The subject of a referent: "you" in instruction is nobody in particular, "you are a litigator" is somebody."""
    # Where the question does not hold the attribute, nothing says that the reader is that person: a particular "you"
    # counts as a third person; the guard marks what the user said as the asker's.
    if referent.subject != "asker":
        return referent.subject
    if referent.possessive:
        return "cohort"
    sentence = context.doc.tokens[referent.first].sentence
    return context.doc.once(("addressee", sentence), lambda: _addressee(context.doc, sentence))


def _addressee(doc: Doc, sentence: int) -> Subject:
    """The subject of "you" in a sentence."""
    begin, end = doc.sentences[sentence]
    if doc.has_any(_RULES, begin, end):
        return "cohort"
    words = doc.lowers[begin:end]
    states = any(one == "you" and two in _STATES for one, two in pairwise(words))
    return "third" if states or set(words) & {"you're", "you've"} else "cohort"


def _holding(context: Context, at: int, first: int, last: int, mention: Mention) -> Referent | None:
    """The referent whose noun phrase holds the mention, or that the mention holds, or whose phrase it opens."""
    # "with a friend" and "a niece" hold the relative, not the one who has them: a family mention never binds so.
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
        # "my" in "my mother, a nurse" leads to the relative who is being spoken of.
        following = context.referent_from(referent.last)
        if referent.possessive and following and following.form == "kin":
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


def _carried(context: Context, mention: Mention, begin: int, at: int) -> Referent | None:
    """The person of the sentence before, where this one is a note that may go on about them."""
    short = context.doc.sentence_of(begin)[1] - begin <= _FRAGMENT
    if begin == 0 or not (short or mention.kind in _CARRIED or mention.kind in context.domain.carried):
        return None
    previous = context.doc.sentence_of(begin - 1)[0]
    earlier = context.doc.sentence_of(previous - 1)[0] if previous else 0
    recent = [r for r in context.referents[max(0, at - 12) : at] if r.first >= earlier and r.form != "author"]
    return recent[-1] if recent and recent[-1].subject in ("third", "speaker", "public") else None


def cases(doc: Doc) -> list[tuple[int, int]]:
    """Spans of case names and reporter citations that the text treats as decided by a court."""
    return doc.once("cases", lambda: _cases(doc))


def _cases(doc: Doc) -> list[tuple[int, int]]:
    found = [m.span() for m in _CASES["versus"].finditer(doc.text)]
    cited = [m.span() for m in _CASES["reporter"].finditer(doc.text)]
    if (found and cited) or ((found or cited) and _CASES["court acts"].search(doc.text)):
        return found + cited
    return []


def _parties(context: Context) -> frozenset[str]:
    """Whom a text calls a party, or names as the caption does, in the sentence of a decided case or the next."""
    # A party noun further off is one's own matter beside a citation, and so is anybody whom the text calls its client.
    spans = cases(context.doc)
    if not spans:
        return frozenset()
    captions = _caption_words(context.doc)
    cited = {context.doc.tokens[context.doc.token_at(start)].sentence for start, _ in spans}
    found, own = set(), set()
    for r in context.referents:
        said = set(context.doc.lowers[r.first : r.last])
        near = {context.doc.tokens[r.first].sentence, context.doc.tokens[r.first].sentence - 1} & cited
        if near and ((r.form == "noun" and said & _WORDS["parties"]) or (r.form == "name" and said & captions)):
            found.add(r.person)
        if r.form == "noun" and said & _WORDS["own"]:
            own.add(r.person)
    return frozenset(found - own)


def _caption_words(doc: Doc) -> frozenset[str]:
    """Lower-case capitalised words of the captions."""
    return doc.once("caption words", lambda: frozenset(
        w.lower() for start, end in cases(doc) for w in _CAPITALISED.findall(doc.text[start:end])))


def named_by_caption(doc: Doc, start: int, end: int) -> bool:
    """Whether a name at [start, end) of the normalised text is a party of a case that is cited with its reporter.

    Refused where somebody's own client is spoken of: "our client Tom Jones" is not the Jones of Smith v. Jones.
    """
    reported = doc.once("reporter", lambda: _CASES["reporter"].search(doc.text) is not None)
    if not reported or _CASES["own before"].search(doc.text[max(0, start - 40) : start]):
        return False
    named = {w.lower() for w in _CAPITALISED.findall(doc.text[start:end])}
    return bool(named & _caption_words(doc))
