"""Occupations and standing: what a person does, did or studies.

Read two ways: jobs that a list holds, where the wording binds them, and trades that no list holds, by the construction
that makes a noun somebody's trade. A listed trade keeps its listed value, so that both tell one fact.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache

from discreet.guard.text.evidence import constructions as cons
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence import noun_phrases as nouns
from discreet.guard.text.evidence.mentions import Context, Mention, tagger
from discreet.guard.text.resources import patterns, rows, words

_P = patterns("occupations")
# Whether weak, the value ("=": the words themselves), the reason, the pattern.
_PHRASES = [
    (strength == "weak", value, why, re.compile(text))
    for strength, value, why, text in rows("patterns/occupation_phrases", 4)
]
_AGED = frozenset("old aged yo o".split())
_PARTICULAR = ("third", "speaker", "public")
_CONDITIONS = lex.CONDITIONALS - {"as", "like", "such", "where", "when", "once"}
_WORDS = words("occupations")
_STATED = ("copula", "retired", "aged", "apposed", "as", "post")
_ENGAGED = ("employed", "hired", "engaged")
_IF = frozenset(["if", "unless", "whether"])
_UNCERTAIN = lex.GENERIC_DETERMINERS | {"if", "when", "consider", "imagine", "suppose", "compare", "example"}
_AUXILIARIES = frozenset(["who", "now", "also", "still", "has", "have", "'s", "'ve", "been", "is", "was"])
_NO_DEED = frozenset(["do", "does", "did", "what", "work", "works", "for"])
_NO_PLACE_ENDINGS = ("ing", "ly", "ed", "tion", "ment", "ness")
_BY_CONSTRUCTION = "trade by its construction"
_FOR_A_LIVING = "trade by what is done for a living"
_BY_WORKPLACE = "trade by where a person works"


@tagger("occupation", "occupation")
def occupations(context: Context) -> Iterator[Mention]:
    """Listed jobs and set phrases ("a retired seamstress" is one fact, the job), and trades by construction.

    Constructions: noun phrases after a cue, before "by trade", deeds done "for a living"; where there are none,
    workplaces.
    """
    found = [*_listed(context), *_phrases(context)]
    starts = sorted(m.start for m in found)
    for m in found:
        after = bisect_right(starts, m.end)
        near = after < len(starts) and starts[after] <= m.end + 24
        if m.value not in ("retired", "former") or not near or "." in context.text[m.end : starts[after]]:
            yield m
    text = context.lower
    read = [*(_after(context, m) for m in _P["cue"].finditer(text)),
            *(_by_trade(context, m) for m in _P["of trade"].finditer(text)), *_deeds(context)]
    told = [m for m in read if m is not None]
    yield from told or [*_workplaces(context), *_deeds_at_work(context)]


def _listed(context: Context) -> Iterator[Mention]:
    table = lex.occupations()
    for first, last, key in lex.matcher("occupations").find(context.doc.lowers):
        if _bound(context, first, last, table[key].flag):
            yield context.mention("occupation", table[key].canonical, first, last, "occupation of a person")


def _phrases(context: Context) -> Iterator[Mention]:
    """Words of trades, study and standing; weak ones only in a personal text."""
    for weak, value, why, pattern in _PHRASES:
        for m in pattern.finditer(context.lower):
            at = next((i for i in range(1, m.re.groups + 1) if m.group(i)), 0)
            told = m.group(at).lower()
            offered = weak and told.startswith("job") and _P["offer"].match(context.text[m.end() :])
            if offered or _P["if"].search(context.text[max(0, m.start() - 16) : m.start()]):
                continue
            if not weak or context.is_personal or "where" in why or told in ("clients", "patients"):
                head = "my" if "my" in m.group().split() else m.group().split()[0]
                who = "speaker" if head in lex.FIRST or head in lex.FIRST_PLURAL else None
                yield Mention("occupation", told if value == "=" else value, m.start(at), m.end(at), why, who, weak)


def _bound(context: Context, first: int, last: int, flag: str) -> bool:
    """Whether the wording makes a listed job somebody's."""
    words = context.doc.lowers
    if last - first == 1 and words[first] in lex.NOT_JOBS:
        return False
    begin, end = context.doc.sentence_of(first)
    start = context.doc.tokens[first].start
    before = context.lower[max(context.doc.tokens[begin].start, start - 64) : start]
    following = words[last] if last < end else "."
    if following in lex.organisation_heads() or (following == "'" and flag != "-") or following == "-":
        return False
    # "a Somali-born welder who …": the noun by which a particular person is introduced.
    head = context.referent_ending(last)
    introduces = head is not None and head.first <= first and head.form == "noun" and (
        head.subject in _PARTICULAR and words[head.first] in ("a", "an", "our"))
    if flag == "-" and (introduces or _acts(words, begin, first, last, end)):
        return True
    # "a 52-year-old female litigator": an age in the same noun phrase.
    phrase = words[max(begin, first - 8) : first]
    age = next((i for i in range(len(phrase) - 1, -1, -1) if phrase[i] in _AGED), None)
    if _P["the only"].search(before) or (age is not None and not lex.PHRASE_BREAKS & set(phrase[age + 1 :])):
        return True
    if first >= begin + 2 and words[first - 1] in ("a", "an") and words[first - 2] == ",":
        # An apposition to a particular person: "Smith, a sole proprietor,", "my mother, a nurse".
        own = context.referent_ending(first - 2)
        return own is not None and own.first >= begin and own.subject in _PARTICULAR
    near = words[max(begin, first - 6) : first]
    if not _P["binds"].search(before) or _CONDITIONS & set(near) or lex.GENERIC_DETERMINERS & set(near[-2:]):
        return False
    if flag == "w":
        clear = following != "of" and _P["clear"].search(before) is not None
        return clear or before.endswith(("profession: ", "occupation: "))
    return flag != "r" or _P["in office"].search(before) is None


def _acts(words: tuple[str, ...], begin: int, first: int, last: int, end: int) -> bool:
    """ "A retailer agreed to …": an indefinite job noun that did something is a particular person's job."""
    determined = {"a", "an"} & set(words[max(begin, first - 3) : first])
    if not determined or last >= end or lex.PHRASE_BREAKS & set(words[max(begin, first - 2) : first]):
        return False
    return words[last] in lex.PAST_AUX or (words[last].endswith("ed") and len(words[last]) > 4)


def _after(context: Context, m: re.Match[str]) -> Mention | None:
    """The trade after a cue, which is the group that matched: "works as", "her job as", "a retired"."""
    doc, cue = context.doc, m.lastgroup or ""
    verb, at = doc.token_at(m.start(m.lastgroup or 0)), doc.token_at(m.end())
    begin, end = doc.sentence_of(verb)
    if at >= end or doc.tokens[at].start < m.end() - 1:
        return None
    article = doc.lowers[at] in ("a", "an")
    first = at + 1 if article or doc.lowers[at] in ("the", "his", "her", "my", "our") else at
    strict = cue in _STATED or not article
    if cue == "whose":
        strict = ":" not in m.group() and "that of" not in m.group()
    if cue in ("work", "living", "post") and not article and m.group().split()[0] not in _ENGAGED:
        return None
    phrase = nouns.job_phrase(doc, first, strict=strict) if not m.group(cue).endswith(" to ") else None
    if phrase is None or not _ends_well(doc.lowers, phrase[1], end):
        return None
    value, flag = nouns.job_value(doc, *phrase)
    ordinary = flag == "w" and cue not in ("apposed", "aged")
    if strict and (flag == "r" or ordinary or doc.lowers[phrase[1] - 1] in lex.NOT_JOBS):
        return None
    if not _is_tied(context, cue, verb, phrase, begin):
        return None
    start = verb if cue in ("work", "living", "post", "retired") else first
    return context.mention("occupation", value, start, phrase[1], _BY_CONSTRUCTION)


def _ends_well(lowers: tuple[str, ...], last: int, end: int) -> bool:
    """Not the first part of a compound ("a builder grant") nor somebody else's ("a lawyer's letter")."""
    after = lowers[last] if last < end else "."
    if after == "of":
        return lowers[last - 1].endswith(("er", "or", "wright", "ist"))
    return after not in lex.MODALS and after not in ("'s", "’s", "'", "’", "-", "/")


def _is_tied(context: Context, cue: str, verb: int, phrase: tuple[int, int], begin: int) -> bool:
    """Whether the cue is said of somebody in particular."""
    lowers = context.doc.lowers
    if cue in ("work", "living", "copula"):
        return cons.is_said_of_person(context, verb)
    if cue in ("post", "whose"):
        return cons.has_owner(context, verb)
    if cue == "apposed":
        near = [cons.referent_over(context, k) for k in range(max(begin, verb - 2), verb)]
        conditional = context.doc.has_any(_IF, begin, verb)
        return not conditional and any(r is not None and cons.is_particular(r) for r in near)
    if cue == "as":
        return verb == begin or lowers[verb - 1] in (",", "and", "but", ":")
    general = _UNCERTAIN & set(lowers[max(begin, verb - 5) : verb])
    return not general and not lex.MODALS & set(lowers[phrase[1] : phrase[1] + 8])


def _by_trade(context: Context, m: re.Match[str]) -> Mention | None:
    """ "a hedgelayer by trade"."""
    doc = context.doc
    by = doc.token_at(m.start())
    begin = doc.sentence_of(by)[0]
    first = by
    while first > begin and by - first < 6 and _is_word(doc.lowers[first - 1]):
        if doc.lowers[first - 1] in nouns.STOPS_NOUN:
            break
        first -= 1
    if first == by or doc.lowers[by - 1] in nouns.NO_TRADE or doc.lowers[by - 1].endswith(("s", "ly", "ed")):
        return None
    before = doc.lowers[first - 1] if first > begin else ""
    general = {"if", "any", "every", "each"} & set(doc.lowers[max(begin, first - 6) : first])
    if before not in ("a", "an", "", ",", ":", ";") or general:
        return None
    return context.mention("occupation", nouns.job_value(doc, first, by)[0], first, by, _BY_CONSTRUCTION)


def _deeds(context: Context) -> Iterator[Mention]:
    """ "mends clocks for a living", "earns her living mending clocks"."""
    doc = context.doc
    for m in _P["for a living"].finditer(context.lower):
        end = doc.token_at(m.start())
        begin = doc.sentence_of(end)[0]
        first = end
        while first > begin and end - first < 9 and _is_word(doc.lowers[first - 1]):
            over = cons.referent_over(context, first - 1)
            if over is not None and over.form != "plural":
                break
            first -= 1
        while first < end and (doc.lowers[first] in _AUXILIARIES or doc.lowers[first].endswith("ly")):
            first += 1
        told = end - first >= 2 and not _NO_DEED & set(doc.lowers[first:end])
        if told and cons.is_said_of_person(context, first):
            yield context.mention("occupation", doc.words(first, end), first, end, _FOR_A_LIVING)
    for m in _P["gains"].finditer(context.lower):
        first = doc.token_at(m.end())
        last = _run_end(doc.lowers, first, min(doc.sentence_of(first)[1], first + 5), lex.PHRASE_BREAKS, least=1)
        if cons.is_said_of_person(context, doc.token_at(m.start())):
            yield context.mention("occupation", doc.words(first, last), first, last, _FOR_A_LIVING)


def _workplaces(context: Context) -> Iterator[Mention]:
    """ "works nights at a tannery", "runs a smithy": no job word, yet a trade to a careful reader."""
    doc = context.doc
    for name, value in (("workplace", "employed"), ("runs", "business owner")):
        for m in _P[name].finditer(context.lower):
            verb, at = doc.token_at(m.start()), doc.token_at(m.end())
            first = at if name == "runs" else at + 1
            end = min(doc.sentence_of(verb)[1], first + 4)
            last = _run_end(doc.lowers, first, end, nouns.STOPS_NOUN)
            last = next((k for k in range(first + 1, last) if doc.lowers[k].endswith("ing")), last)
            if last <= first or doc.tokens[first].is_capitalised or _names_a_job(context, verb):
                continue
            head = doc.lowers[last - 1]
            if name == "runs":
                fits = _P["shop"].match(head) is not None and head not in _WORDS["not a shop"]
            else:
                known = _WORDS["not a workplace"] & set(doc.lowers[first:last])
                fits = not known and len(head) > 3 and not head.endswith(_NO_PLACE_ENDINGS)
            if fits and cons.is_said_of_person(context, verb):
                yield context.mention("occupation", value, first, last, _BY_WORKPLACE, weak=True)


def _deeds_at_work(context: Context) -> Iterator[Mention]:
    """ "shoes horses at a forge": an everyday deed at a place of trade."""
    doc = context.doc
    for m in _P["trade floor"].finditer(context.lower):
        at = doc.token_at(m.start())
        begin = doc.sentence_of(at)[0]
        for verb in range(at - 2, max(begin, at - 5) - 1, -1) if not _names_a_job(context, at) else ():
            word = doc.lowers[verb]
            if word in lex.PREDICATES or word in _WORDS["not a trade verb"]:
                break
            opens = verb == begin or doc.lowers[verb - 1] in (";", ",", ":", "and", "who")
            follows = opens or cons.referent_over(context, verb - 1) is not None
            third = word.endswith("s") and not word.endswith("ss") and len(word) > 3
            if follows and third and cons.is_said_of_person(context, verb):
                last = doc.token_at(m.end() - 1) + 1
                yield context.mention("occupation", "employed", verb, last, _BY_WORKPLACE, weak=True)
                break

def _is_word(token: str) -> bool:
    return token[0].isalpha() or token == "-"


def _run_end(lowers: tuple[str, ...], first: int, end: int, stops: frozenset[str], least: int = 0) -> int:
    """The end of the words from `first` on that are none of `stops`, at least `least` of them."""
    begin = first + least
    found = (k for k in range(begin, end) if not lowers[k][0].isalpha() or lowers[k] in stops)
    return next(found, max(begin, end))


def _names_a_job(context: Context, token: int) -> bool:
    """Whether the sentence has a listed job already: "a cashier works at a store" is one fact."""
    return context.doc.has_any(_jobs(), *context.doc.sentence_of(token))


@cache
def _jobs() -> frozenset[str]:
    """Listed jobs that are hardly ever anything else."""
    return frozenset(w for w, job in lex.occupations().items() if job.flag == "-" and w not in lex.NOT_JOBS)
