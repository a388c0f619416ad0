"""Places that no list holds, by the construction that makes a capitalised name somebody's home or origin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import gazetteers
from discreet.text.evidence import patterns as frames
from discreet.text.evidence.mentions import Context, Mention, taggers

_VERB = re.compile(
    r"\b(?:(?:liv(?:es?|ed|ing)|resid(?:es?|ed|ing)|dwel(?:ls?|t|ling)|lodg(?:es|ed|ing)|grew up|grow(?:s|ing)? up|grown up|raised|brought up|reared|born|"
    r"hail(?:s|ed|ing)?|comes?|came|mov(?:es?|ed|ing)|relocat(?:es?|ed|ing)|emigrat(?:es?|ed|ing)|immigrat(?:es?|ed|ing)|settl(?:es?|ed|ing)|retired|based|stationed|domiciled|"
    r"commut(?:es?|ed|ing)|returned|homesteads?|rents|farms|farmed|(?:makes|made) (?:his|her|their|my) home)\b|(?:originally|is|was|am|'s|'m) (?=from\b))"
)
_NOUN = re.compile(
    r"\b(?P<noun>home|house|cottage|farm|farmhouse|flat|apartment|cabin|bungalow|croft|houseboat|hut|hometown|birthplace|smallholding|ranch|homestead|lodgings|place|residence|"
    r"resident|native|inhabitant|villager|citizen)"
    r"(?: (?:of|here|back|up|down|over|out|town|village|is|was|lies|stands|on a farm|just)){0,3} (?P<prep2>in|at|near|from|of|outside|is|was) (?=(?:the )?\S)"
    r"|\bcalls (?=\S{2,30}(?: \S{2,20})? home\b)"
)
_LABEL = re.compile(r"(?:^|[\n.;*•|-])[ \t]*(?P<label>home|lives|residence|resides|hometown|home town|birthplace|address|from|born|lives in)[ \t]*[:=][ \t]*(?=\S)")
_STREET = re.compile(
    r"\b(?:at|on|of) (\d{1,5}[a-z]? (?:[A-Z][\w'’.-]+ ){1,3}(?:Street|Road|Lane|Avenue|Drive|Close|Way|Row|Terrace|Court|Place|Crescent|Square|Boulevard|Hill|Gardens|Mews|St|Rd|Ave|Ln|Dr|Blvd))\b"
)
_DWELLERS = frozenset("resident native inhabitant villager citizen".split())
_WHERE = frozenset("in at near from outside around by off to towards beside above below on".split())
_STOPS = frozenset("and but or who which that because where when ; . ! ? while".split())
_PARTS = frozenset("rural urban northern southern eastern western central north south east west upstate northeastern northwestern southeastern "
                   "southwestern coastal inland suburban downtown outer inner greater remote nearby far deepest beautiful sunny old".split())
_BEING = frozenset("originally is was am 's 'm".split())
_ORIGIN = frozenset("hail hails hailed hailing come comes came".split())
_GOES = frozenset("move moves moved moving relocate relocated relocating relocates emigrated emigrating immigrated immigrating returned retired".split())
_NO_PLACE = frozenset(
    "bed court congress committee board care trust hospice pain fear chapter form line lines act code rule rules plan program programme bill note notes "
    "dismiss compel vacate suppress quash strike remand intervene syndrome disease test scale score study trial group team unit ward".split()
)
_WITHHELD = re.compile(r"^(?:xx+|redacted|[a-z])$")


@taggers.register("place_frames")
class PlaceFrameTagger:
    """Capitalised names of dwelling and origin; a listed place keeps its listed value."""

    kinds = ("place",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Names after verbs and nouns of dwelling, in labelled notes, and street addresses."""
        doc, low = context.doc, context.lower
        for m in _VERB.finditer(low):
            found = self._ahead(context, m)
            if found is not None and frames.is_said_of_person(context, doc.token_at(m.start())):
                yield self._mention(context, *found)
        for m in _NOUN.finditer(low):
            if (found := self._name(context, doc.token_at(m.end()))) is not None and self._noun_fits(context, m):
                yield self._mention(context, *found)
        for r in context.referents:
            at = r.last + 1 if doc.lowers[r.last : r.last + 1] in ((",",), ("originally",)) else r.last
            if doc.lowers[at : at + 1] == ("from",) and frames.is_particular(r) and r.form != "pronoun" and (found := self._name(context, at + 1)) is not None:
                yield self._mention(context, *found)
        for m in _LABEL.finditer(low):
            if (found := self._name(context, doc.token_at(m.end()))) is not None:
                yield self._mention(context, *found)
        for m in _STREET.finditer(context.text):
            first = doc.token_at(m.start(1))
            begin = doc.sentence_of(first)[0]
            if any(w in frames.DWELLING for w in doc.lowers[max(begin, first - 8) : first]):
                yield Mention("place", m.group(1).lower(), m.start(1), m.end(1), "place by its construction")

    def _ahead(self, context: Context, m: re.Match[str]) -> tuple[int, int] | None:
        """The first name behind a preposition that goes with the verb: "alone in a flat near …"."""
        doc, verb = context.doc, m.group().strip()
        first = doc.token_at(m.end() - 1) + 1 if m.group()[-1] != " " else doc.token_at(m.end())
        reach = 2 if verb in _ORIGIN or verb in _BEING else 12
        for k in range(first, min(doc.sentence_of(first - 1)[1], first + reach)):
            word = doc.lowers[k]
            if word in _STOPS:
                return None
            if word in _WHERE and self._fits(verb, word) and (found := self._name(context, k + 1)) is not None:
                return found
        return None

    @staticmethod
    def _fits(verb: str, prep: str) -> bool:
        """Whether the preposition goes with the verb: "comes from", "moved to", "lives in"."""
        if verb in _ORIGIN or verb in _BEING:
            return prep == "from"
        if verb in _GOES:
            return prep in ("to", "from", "near", "in", "outside", "towards") and not (verb == "retired" and prep == "from")
        return prep not in ("to", "towards") or verb.startswith("commut")

    @staticmethod
    def _noun_fits(context: Context, m: re.Match[str]) -> bool:
        """Whether a house has an owner, or a person noun is somebody in particular."""
        doc = context.doc
        noun, word = doc.token_at(m.start()), m.group("noun") or "calls"
        begin = doc.sentence_of(noun)[0]
        if word == "calls":
            return frames.is_said_of_person(context, noun)
        own = frames.referent_over(context, noun)
        if word in _DWELLERS:
            if word == "resident" and m.group("prep2") in ("in", "at", "near"):
                return frames.is_said_of_person(context, noun)
            if m.group("prep2") != "of":
                return False
            return (own is not None and frames.is_particular(own)) or doc.lowers[noun - 1 : noun] in (("a",), ("long",), ("lifelong",), (",",), ("longtime",), ("-",))
        if m.group("prep2") in ("of", "from") or (m.group("prep2") in ("is", "was") and word not in ("hometown", "birthplace", "home", "residence")):
            return False
        owners = [frames.referent_over(context, k) for k in range(max(begin, noun - 4), noun)]
        return any(r is not None and r.possessive and r.subject in ("third", "speaker", "public") for r in owners)

    @staticmethod
    def _name(context: Context, first: int) -> tuple[int, int] | None:
        """The name at a token, over "a village called", that is neither body, person, people nor term."""
        doc = context.doc
        if first >= len(doc.tokens):
            return None
        end = doc.sentence_of(first)[1]
        ahead = doc.lowers[first : min(end, first + 6)]
        for word in ("called", "named", "of"):
            if word in ahead and doc.lowers[first] in ("a", "an", "the") and (word != "of" or set(ahead) & frames.SETTLEMENTS):
                first += ahead.index(word) + 1
                break
        while first < end and doc.lowers[first] in _PARTS:
            first += 1
        found = frames.name_after(context, first, frames.PLACE_JOINS) if first < end else None
        if found is None:
            return None
        first, last = found
        words = doc.lowers[first:last]
        if frames.is_body(doc, first, last) or set(words) & _NO_PLACE or _WITHHELD.match(words[-1]):
            return None
        key = doc.words(first, last)
        if key in gazetteers.places():
            return found
        if last - first == 1 and (words[0] in gazetteers.given_names() or doc.tokens[first].text.isupper()):
            return None
        if any(w in table() for w in (key, words[0]) for table in (gazetteers.demonyms, gazetteers.medical_terms)) or key in gazetteers.organisations():
            return None
        if doc.lowers[last : last + 1] in (("'s",), ("’s",)) or gazetteers.medical_suffix_class(words[-1]) is not None:
            return None
        return found

    @staticmethod
    def _mention(context: Context, first: int, last: int) -> Mention:
        """A town with its region is one place."""
        doc = context.doc
        key = doc.words(first, last)
        listed = gazetteers.places().get(key)
        value = listed.path if listed is not None else key
        if last + 1 < len(doc.tokens) and doc.lowers[last] == ",":
            for width in (3, 2, 1):
                region = doc.words(last + 1, last + 1 + width)
                if region in gazetteers.places() and doc.tokens[last + 1].text[0].isupper():
                    value = gazetteers.canonical_place(f"{key}, {region}") or value
                    last += 1 + width
                    break
        return context.mention("place", value, first, last, "place by its construction")
