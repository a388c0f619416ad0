"""Occupations that no list holds, by the construction that makes a noun somebody's trade."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import lexicon as lex
from discreet.text.evidence import occupation_morphology as doers
from discreet.text.evidence import patterns as frames
from discreet.text.evidence.mentions import Context, Mention, taggers

_LATER = r"(?: (?!and\b|or\b|but\b)[\w'’-]+){0,6}?"
_OWN = r"(?:his|her|my|their|our|an?|'s|’s)"
# Each alternative ends where the noun phrase of the trade may begin; the group tells how much the wording proves.
_CUE = re.compile(
    rf"\b(?:(?P<work>work(?:s|ed|ing)?|practi[sc](?:es|ed|ing)|moonlight(?:s|ed|ing)|freelanc(?:es|ed|ing)|employed|"
    rf"hired|engaged|apprenticed|trained|qualified|training|retired|retiring){_LATER} (?:as|to) "
    rf"|(?P<living>(?:earn|mak|made|support|gets? by|got by|scrap)(?:e|es|s|ed|ing)?{_LATER} (?:living|keep|livelihood|herself|himself|bread|money|by)"
    rf" (?:as|working as) |pa(?:ys?|id|ying) (?:the|his|her|my) (?:bills|rent|way){_LATER} (?:as|working as) )"
    rf"|(?P<post>\b(?:job|work|career|position|post|employment|stint|shifts?|apprenticeship|hours|life|years|decades|nights|days|business) as )"
    rf"|(?P<copula>(?:i'm|is|was|am|been|became|becoming|being|'s)(?: (?:now|also|currently|still|once|both|by (?:trade|profession|training)|,)){{0,2}} (?=an? ))"
    rf"|(?P<whose>(?:occupation|profession|trade|line of work|vocation|livelihood|job|work)(?: (?:is|was)|:| ?[-–—] |\s?=)(?: (?:that of|listed as|given as|recorded as|as))? ?)"
    rf"|(?P<retired>(?:retired|former|ex-|one-?time|self-employed|freelance|practising|jobbing|apprentice|journeyman) (?=[a-z]))"
    rf"|(?P<aged>(?:years?|yrs?)[- ]old )|(?P<apposed>(?<=[\w)’'\"])?[,:] (?=an? ))|(?P<as>as (?=an? [a-z -]{{3,40}}, (?:i|he|she)\b)))"
)
_OF_TRADE = re.compile(r"\bby (?:trade|profession|occupation|vocation|training|calling)\b")
_FOR_LIVING = re.compile(r"\bfor (?:a|his|her|my) living\b|\bto (?:make|earn) (?:a|his|her|my|their) living\b")
_GAINS = re.compile(
    r"\b(?:earn|mak|made)(?:e|es|s|ed|ing)? (?:(?:a|his|her|my|their|some|most of (?:his|her|my)) )(?:own |modest |good |decent |small )?"
    r"(?:living|keep|livelihood|money|income) (?:by |from |from the |out of |off |through |with )?(?=[a-z]+ing\b)"
)
_WORKPLACE = re.compile(
    r"\bwork(?:s|ed|ing)?(?: (?:nights?|days|shifts|late|early|part[- ]time|full[- ]time|weekends|the (?:night|early|late|day) shift|nearby|mostly|down|up|out|over|alone)){0,2}"
    r" (?:in|at|aboard|down|on(?= (?:an?|the) (?:[a-z]+ ){0,2}(?:ward|farm|ranch|rig|railway|railroad|trawler|boat|ship|ferry|barge|estate|line|range|docks?|canal|trains?|trams?|oil)\b)) (?=(?:an?|the) )"
)
_RUNS = re.compile(r"\b(?:runs?|ran|running|owns?|owned|keeps?|kept|operates?|set up|opened) (?:an?|his own|her own|my own|his|her|their|the) (?=[a-z])")
_SHOP = re.compile(r"^(?:[a-z]{3,}(?:ery|shop|yard|mill|works|stall|stand|smithy|forge)|smithy|forge|stall|kiosk|studio|tavern|inn|guesthouse|boarding|kennels?|stables?|vineyard|orchard|"
                   r"nursery|dairy|workshop|shop|store|business|salon|garage|café|cafe|pub|market)$")
_NO_SHOP = frozenset("surgery battery artery mystery recovery discovery delivery slavery robbery forgery injury query "
                     "graveyard courtyard backyard jewelry jewellery machinery misery imagery periphery imports".split())
_NO_WORKPLACE = frozenset(
    "site very company firm employer business organisation organization corporation pool environment more most few many such industry sector team way project day night morning evening afternoon moment time same garden basis problem issue plan case matter group assumption principle degree "
    "computer book paper report thesis goal level body brain cell cells area field world summer winter spring week weekend weekends month year past "
    "end beginning start house home kitchen yard relationship marriage situation similar different short long number variety process "
    "receptor receptors system kidney kidneys liver stomach gut intestine blood heart lungs skin muscle muscles back front background "
    "hour hours pace rate price living fee while few lot bit set series task role position capacity manner fashion family person friend "
    "new other first last next following idea side latter former city town country state village region us united netherlands".split()
)
# Where people make, mend, keep or carry things for pay; what somebody does there every day is a trade.
_TRADE_FLOOR = re.compile(
    r"\b(?:at|in|on|from) (?:an?|the) (?:[a-z]+ ){0,2}?(?:forge|foundry|mill|sawmill|mine|colliery|quarry|factory|plant|brewery|distillery|tannery|bakery|smithy|shipyard|"
    r"dockyard|boatyard|docks?|depot|warehouse|refinery|slaughterhouse|abattoir|dairy|workshop|garage|greenhouse|vineyard|stables|kennels|laundry|cannery|works|"
    r"newsroom|kiln|pottery|nursery|printshop|sorting office|call centre|call center|assembly line)\b"
)
_NO_TRADE_VERB = frozenset("buys eats drinks visits meets sees gets lives stays sits stands parks keeps has is was does takes goes comes learns begins starts "
                           "attends loses leaves finds falls collapses feels suffers experiences presents arrives boards days weeks months years hours always".split())


@taggers.register("occupation_frames")
class OccupationFrameTagger:
    """Trades by construction; a listed trade keeps its listed value, so that both taggers tell one fact."""

    kinds = ("occupation",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Noun phrases after a cue, before "by trade", deeds done "for a living"; where there are none, workplaces."""
        text = context.lower
        found = [self._after(context, m) for m in _CUE.finditer(text)]
        found += [self._by_trade(context, m) for m in _OF_TRADE.finditer(text)]
        told = [m for m in found if m is not None]
        told += self._deeds(context)
        yield from told
        if not told:
            yield from self._places_of_work(context)
            yield from self._floors(context)

    def _after(self, context: Context, m: re.Match[str]) -> Mention | None:
        doc, cue = context.doc, m.lastgroup or ""
        verb, at = doc.token_at(m.start(m.lastgroup or 0)), doc.token_at(m.end())
        begin, end = doc.sentence_of(verb)
        if at >= end or doc.tokens[at].start < m.end() - 1:
            return None
        article = doc.lowers[at] in ("a", "an")
        first = at + 1 if article or doc.lowers[at] in ("the", "his", "her", "my", "our") else at
        strict = cue in ("copula", "retired", "aged", "apposed", "as", "post") or not article
        if cue == "whose":
            strict = ":" not in m.group() and "that of" not in m.group()
        if cue in ("work", "living", "post") and not article and m.group().split()[0] not in ("employed", "hired", "engaged"):
            return None
        if m.group(cue).endswith(" to "):
            return None
        phrase = doers.job_phrase(doc, first, strict=strict)
        if phrase is None or not _ends_well(context, phrase[1], end):
            return None
        value, flag = doers.job_value(doc, *phrase)
        if strict and (flag == "r" or (flag == "w" and cue not in ("apposed", "aged")) or doc.lowers[phrase[1] - 1] in lex.NOT_JOBS):
            return None
        if not self._is_tied(context, cue, verb, phrase, begin):
            return None
        start = verb if cue in ("work", "living", "post", "retired", "copula") else first
        if cue == "copula":
            start = first
        return context.mention("occupation", value, start, phrase[1], "trade by its construction")

    @staticmethod
    def _is_tied(context: Context, cue: str, verb: int, phrase: tuple[int, int], begin: int) -> bool:
        """Whether the cue is said of somebody in particular."""
        doc = context.doc
        if cue in ("work", "living", "copula"):
            return frames.is_said_of_person(context, verb)
        if cue in ("post", "whose"):
            return frames.has_owner(context, verb)
        if cue == "apposed":
            if set(doc.lowers[begin:verb]) & {"if", "unless", "whether"}:
                return False
            near = [frames.referent_over(context, k) for k in range(max(begin, verb - 2), verb)]
            return any(r is not None and frames.is_particular(r) for r in near)
        if cue == "as":
            return verb == begin or doc.lowers[verb - 1] in (",", "and", "but", ":")
        around = doc.lowers[max(begin, verb - 5) : verb]
        if set(around) & (lex.GENERIC_DETERMINERS | {"if", "when", "consider", "imagine", "suppose", "compare", "example"}):
            return False
        return not set(doc.lowers[phrase[1] : phrase[1] + 8]) & lex.MODALS

    @staticmethod
    def _by_trade(context: Context, m: re.Match[str]) -> Mention | None:
        """"a hedgelayer by trade"."""
        doc = context.doc
        by = doc.token_at(m.start())
        begin = doc.sentence_of(by)[0]
        first = by
        while first > begin and by - first < 6 and (doc.lowers[first - 1][0].isalpha() or doc.lowers[first - 1] == "-"):
            if doc.lowers[first - 1] in doers.STOPS_NOUN:
                break
            first -= 1
        if first == by or doc.lowers[by - 1] in doers.NO_TRADE or doc.lowers[by - 1].endswith(("s", "ly", "ed")):
            return None
        before = doc.lowers[first - 1] if first > begin else ""
        if before not in ("a", "an", "", ",", ":", ";") or set(doc.lowers[max(begin, first - 6) : first]) & {"if", "any", "every", "each"}:
            return None
        value, _ = doers.job_value(doc, first, by)
        return context.mention("occupation", value, first, by, "trade by its construction")

    @staticmethod
    def _deeds(context: Context) -> Iterator[Mention]:
        """"mends clocks for a living", "earns her living mending clocks"."""
        doc = context.doc
        for m in _FOR_LIVING.finditer(context.lower):
            end = doc.token_at(m.start())
            begin = doc.sentence_of(end)[0]
            first = end
            while first > begin and end - first < 9 and (doc.lowers[first - 1][0].isalpha() or doc.lowers[first - 1] == "-"):
                over = frames.referent_over(context, first - 1)
                if over is not None and over.form != "plural":
                    break
                first -= 1
            while first < end and (doc.lowers[first] in ("who", "now", "also", "still", "has", "have", "'s", "'ve", "been", "is", "was") or doc.lowers[first].endswith("ly")):
                first += 1
            told = end - first >= 2 and not set(doc.lowers[first:end]) & {"do", "does", "did", "what", "work", "works", "for"}
            if told and frames.is_said_of_person(context, first):
                yield context.mention("occupation", doc.words(first, end), first, end, "trade by what is done for a living")
        for m in _GAINS.finditer(context.lower):
            first = doc.token_at(m.end())
            last = first + 1
            while last < min(doc.sentence_of(first)[1], first + 5) and doc.lowers[last][0].isalpha() and doc.lowers[last] not in lex.PHRASE_BREAKS:
                last += 1
            if frames.is_said_of_person(context, doc.token_at(m.start())):
                yield context.mention("occupation", doc.words(first, last), first, last, "trade by what is done for a living")

    @staticmethod
    def _places_of_work(context: Context) -> Iterator[Mention]:
        """"works nights at a tannery", "runs a smithy": no job word, yet a trade to a careful reader."""
        doc = context.doc
        for pattern, runs in ((_WORKPLACE, False), (_RUNS, True)):
            for m in pattern.finditer(context.lower):
                verb, at = doc.token_at(m.start()), doc.token_at(m.end())
                first = at if runs else at + 1
                last = first
                while last < min(doc.sentence_of(verb)[1], first + 4) and doc.lowers[last][0].isalpha() and doc.lowers[last] not in doers.STOPS_NOUN and not (last > first and doc.lowers[last].endswith("ing")):
                    last += 1
                if last == first or doc.tokens[first].is_capitalised:
                    continue
                words = set(doc.lowers[first:last])
                head = doc.lowers[last - 1]
                if _names_a_job(context, verb):
                    continue
                fits = (_SHOP.match(head) and head not in _NO_SHOP) if runs else not words & _NO_WORKPLACE and len(head) > 3 and not head.endswith(("ing", "ly", "ed", "tion", "ment", "ness"))
                if fits and frames.is_said_of_person(context, verb):
                    yield context.mention("occupation", "business owner" if runs else "employed", first, last, "trade by where a person works", weak=True)

    @staticmethod
    def _floors(context: Context) -> Iterator[Mention]:
        """"shoes horses at a forge": an everyday deed at a place of trade."""
        doc = context.doc
        for m in _TRADE_FLOOR.finditer(context.lower):
            at = doc.token_at(m.start())
            begin = doc.sentence_of(at)[0]
            if _names_a_job(context, at):
                continue
            for verb in range(at - 2, max(begin, at - 5) - 1, -1):
                word = doc.lowers[verb]
                if word in lex.PREDICATES or word in _NO_TRADE_VERB:
                    break
                follows = verb == begin or doc.lowers[verb - 1] in (";", ",", ":", "and", "who") or frames.referent_over(context, verb - 1) is not None
                if follows and word.endswith("s") and not word.endswith("ss") and len(word) > 3 and frames.is_said_of_person(context, verb):
                    last = doc.token_at(m.end() - 1)
                    yield context.mention("occupation", "employed", verb, last + 1, "trade by where a person works", weak=True)
                    break


def _names_a_job(context: Context, token: int) -> bool:
    """Whether the sentence has a listed job already: "a cashier works at a store" is one fact."""
    begin, end = context.doc.sentence_of(token)
    jobs = gazetteers.occupations()
    return any(w in jobs and jobs[w].flag == "-" and w not in lex.NOT_JOBS for w in context.doc.lowers[begin:end])


def _ends_well(context: Context, last: int, end: int) -> bool:
    """Not the first part of a compound ("a builder grant") nor somebody else's ("a lawyer's letter")."""
    if last >= end:
        return True
    after = context.doc.lowers[last]
    if after in lex.MODALS:
        return False
    return after not in ("'s", "’s", "'", "’", "-", "/", "of") or (after == "of" and context.doc.lowers[last - 1].endswith(("er", "or", "wright", "ist")))

