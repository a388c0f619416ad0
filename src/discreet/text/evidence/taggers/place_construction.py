"""Places that no list holds, by the construction that makes a capitalised name somebody's home or origin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.text.evidence import constructions as cons
from discreet.text.evidence import gazetteers
from discreet.text.evidence.mentions import Context, Mention, taggers
from discreet.text.evidence.taggers.place import with_region
from discreet.text.resources import patterns, words

_P = patterns("places")
_WORDS = words("constructions")
_PREPOSITIONS_OF_GOING = frozenset(["to", "from", "near", "in", "outside", "towards"])
_HOMES = frozenset(["hometown", "birthplace", "home", "residence"])
_BEFORE_NATIVE = frozenset(["a", "long", "lifelong", ",", "longtime", "-"])


@taggers.register("place_construction")
class PlaceConstructionTagger:
    """Capitalised names of dwelling and origin; a listed place keeps its listed value."""

    kinds = ("place",)
    domains = None

    def find(self, context: Context) -> Iterator[Mention]:
        """Names after verbs and nouns of dwelling, in labelled notes, and street addresses."""
        doc, low = context.doc, context.lower
        found = [
            self._ahead(context, m)
            for m in _P["verb"].finditer(low)
            if cons.is_said_of_person(context, doc.token_at(m.start()))
        ]
        for m in _P["noun"].finditer(low):
            found.append(self._name(context, doc.token_at(m.end())) if self._noun_fits(context, m) else None)
        for r in context.referents:
            at = r.last + 1 if doc.lowers[r.last : r.last + 1] in ((",",), ("originally",)) else r.last
            if doc.lowers[at : at + 1] == ("from",) and cons.is_particular(r) and r.form != "pronoun":
                found.append(self._name(context, at + 1))
        found += [self._name(context, doc.token_at(m.end())) for m in _P["label"].finditer(low)]
        yield from (self._mention(context, *name) for name in found if name is not None)
        for m in _P["street"].finditer(context.text):
            first = doc.token_at(m.start(1))
            begin = doc.sentence_of(first)[0]
            if _WORDS["dwelling"] & set(doc.lowers[max(begin, first - 8) : first]):
                yield Mention("place", m.group(1).lower(), m.start(1), m.end(1), "place by its construction")

    def _ahead(self, context: Context, m: re.Match[str]) -> tuple[int, int] | None:
        """The first name behind a preposition that goes with the verb: "alone in a flat near …"."""
        doc, verb = context.doc, m.group().strip()
        first = doc.token_at(m.end() - 1) + 1 if m.group()[-1] != " " else doc.token_at(m.end())
        reach = 2 if verb in _WORDS["origin"] or verb in _WORDS["being"] else 12
        for k in range(first, min(doc.sentence_of(first - 1)[1], first + reach)):
            word = doc.lowers[k]
            if word in _WORDS["place stops"]:
                return None
            if word in _WORDS["where"] and self._fits(verb, word) and (found := self._name(context, k + 1)) is not None:
                return found
        return None

    @staticmethod
    def _fits(verb: str, preposition: str) -> bool:
        """Whether the preposition goes with the verb: "comes from", "moved to", "lives in"."""
        if verb in _WORDS["origin"] or verb in _WORDS["being"]:
            return preposition == "from"
        if verb in _WORDS["goes"]:
            return preposition in _PREPOSITIONS_OF_GOING and (verb, preposition) != ("retired", "from")
        return preposition not in ("to", "towards") or verb.startswith("commut")

    @staticmethod
    def _noun_fits(context: Context, m: re.Match[str]) -> bool:
        """Whether a house has an owner, or a person noun is somebody in particular."""
        doc = context.doc
        noun, word, preposition = doc.token_at(m.start()), m.group("noun") or "calls", m.group("prep2")
        begin = doc.sentence_of(noun)[0]
        if word == "calls" or (word == "resident" and preposition in ("in", "at", "near")):
            return cons.is_said_of_person(context, noun)
        if word in _WORDS["dwellers"]:
            own = cons.referent_over(context, noun)
            somebody = own is not None and cons.is_particular(own)
            return preposition == "of" and (somebody or bool(_BEFORE_NATIVE & set(doc.lowers[noun - 1 : noun])))
        if preposition in ("of", "from") or (preposition in ("is", "was") and word not in _HOMES):
            return False
        owners = [cons.referent_over(context, k) for k in range(max(begin, noun - 4), noun)]
        return any(r is not None and r.possessive and r.subject in ("third", "speaker", "public") for r in owners)

    @staticmethod
    def _name(context: Context, first: int) -> tuple[int, int] | None:
        """The name at a token, over "a village called", that is neither body, person, people nor term."""
        doc = context.doc
        if first >= len(doc.tokens):
            return None
        end = doc.sentence_of(first)[1]
        ahead = doc.lowers[first : min(end, first + 6)]
        for word in ("called", "named", "of") if ahead[0] in ("a", "an", "the") else ():
            if word in ahead and (word != "of" or set(ahead) & _WORDS["settlements"]):
                first += ahead.index(word) + 1
                break
        while first < end and doc.lowers[first] in _WORDS["place parts"]:
            first += 1
        found = cons.name_after(context, first, cons.PLACE_JOINS) if first < end else None
        return found if found is not None and _may_be_place(context, *found) else None

    @staticmethod
    def _mention(context: Context, first: int, last: int) -> Mention:
        """A town with its region is one place."""
        key = context.doc.words(first, last)
        end, joint = with_region(context, key, last, (3, 2, 1))
        listed = gazetteers.places().get(key)
        value = joint or (listed.path if listed is not None else key)
        return context.mention("place", value, first, end, "place by its construction")


def _may_be_place(context: Context, first: int, last: int) -> bool:
    """Whether a capitalised name can be a place: a listed one, or one that nothing else is called."""
    doc = context.doc
    names, key = doc.lowers[first:last], doc.words(first, last)
    if cons.is_body(doc, first, last) or set(names) & _WORDS["not a place"] or _P["withheld"].match(names[-1]):
        return False
    if key in gazetteers.places():
        return True
    if last - first == 1 and (names[0] in gazetteers.given_names() or doc.tokens[first].text.isupper()):
        return False
    for word in (key, names[0]):
        if word in gazetteers.demonyms() or word in gazetteers.medical_terms():
            return False
    if key in gazetteers.organisations() or doc.lowers[last : last + 1] in (("'s",), ("’s",)):
        return False
    return gazetteers.medical_suffix_class(names[-1]) is None
