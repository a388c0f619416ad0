"""Places that a person comes from, lives, works or was born in; a town that is only mentioned is nobody's.

Read two ways: places that a list holds, with a tie to a person in their clause, and capitalised names that no list
holds, by the construction that makes them somebody's home or origin. A listed place keeps its listed value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from discreet.guard.domains import load_domain
from discreet.guard.text.evidence import constructions as cons
from discreet.guard.text.evidence import lexicon as lex
from discreet.guard.text.evidence.mentions import Context, Mention, mentions_of, tagger
from discreet.guard.text.resources import patterns, words

_P = patterns("places")
_WORDS = words("constructions")
_SCHEMES = {name[-2:].upper(): name for name in _P.texts if name.startswith("scheme of ")}
# Beginnings of the words that tie a place for sure, where they stand near it.
_STRONG = (
    "live livi resi born rais grew nati from base move relo immi emig i'm im i work home domi here loca rura stat"
).split()
_ORDINARY_CAPITALS = frozenset(["IN", "OR", "ME", "OK", "HI"])
_MAY_PRECEDE = frozenset(["i", "location", "north", "south"])
_PREPOSITIONS_OF_GOING = frozenset(["to", "from", "near", "in", "outside", "towards"])
_HOMES = frozenset(["hometown", "birthplace", "home", "residence"])
_BEFORE_NATIVE = frozenset(["a", "long", "lifelong", ",", "longtime", "-"])
_BY_CONSTRUCTION = "place by its construction"


@tagger("place", "place")
def places(context: Context) -> Iterator[Mention]:
    """Listed places with a tie, narrowing descriptions, postal codes, and names by construction."""
    text = context.text
    skip_until = 0
    for first, last, key in lex.matcher("places").find(context.doc.lowers):
        if first >= skip_until and _is_name(context, first, last, key):
            skip_until, joint = _with_region(context, key, last, (2, 1))
            tie = _tie(context, first, skip_until)
            if tie is not None:
                value = joint or lex.places()[key].canonical
                yield context.mention("place", value, first, skip_until, tie[0], weak=tie[1])
    for first, last in _constructed(context):
        key = context.doc.words(first, last)
        end, joint = _with_region(context, key, last, (3, 2, 1))
        value = joint or (lex.places()[key].canonical if key in lex.places() else key)
        yield context.mention("place", value, first, end, _BY_CONSTRUCTION)
    for m in _P["street"].finditer(text):
        first = context.doc.token_at(m.start(1))
        begin = context.doc.sentence_of(first)[0]
        if _WORDS["dwelling"] & set(context.doc.lowers[max(begin, first - 8) : first]):
            yield from mentions_of("place", [m], _BY_CONSTRUCTION)
    yield from mentions_of("place", _P["vague"].finditer(text), "a described place", weak=True)
    yield from mentions_of("place", _P["zip"].finditer(text), "postal code")
    for m in _P["only in"].finditer(text):
        yield Mention("place", f"the only one in {m[1].lower()}", *m.span(1), "the only one in a place", weak=True)
    moves = _P["moved here"].finditer(text)
    yield from mentions_of("place", moves, "a move to a place", group=0, value="moved here", weak=True)
    for country, name in _SCHEMES.items() if context.is_personal else ():
        for m in _P[name].finditer(text):
            yield Mention("place", country, *m.span(), "scheme of a country", "speaker", weak=True)


def _is_name(context: Context, first: int, last: int, key: str) -> bool:
    """Whether a listed word is written as the place, and not inside another name."""
    doc = context.doc
    token, flag = doc.tokens[first], lex.places()[key].flag
    before = doc.lowers[first - 1] if first else ""
    if flag == "a":
        if not token.text.isupper():
            return False
        end = doc.tokens[last - 1].end
        prefixed = before in ("in", "from") and context.text[token.start : end] not in _ORDINARY_CAPITALS
        bracketed = before in ("[", "(") and context.text[end : end + 1] in ("]", ")")
        return prefixed or bracketed or (context.is_personal and token.lower in _WORDS["sure states"])
    if not token.text[0].isupper():
        return False
    begin, end = doc.sentence_of(first)
    following = doc.tokens[last].text if last < end else "."
    title = _P["title place"].match(following) or following.lower() in lex.organisation_heads()
    if following[0].isupper() and title:
        return False
    inside = first > begin and doc.tokens[first - 1].text[0].isupper() and before.isalpha()
    if inside and before not in lex.FUNCTION and before not in _MAY_PRECEDE:
        return False
    return flag != "w" or before in _WORDS["before a place"]


def _tie(context: Context, first: int, last: int) -> tuple[str, bool] | None:
    """Why the place is somebody's: (reason, weak), or None."""
    doc = context.doc
    begin, end = doc.sentence_of(first)
    start = doc.tokens[first].start
    before = context.lower[max(doc.tokens[begin].start, start - 96) : start]
    following = doc.lowers[last] if last < end else "."
    if following == "-" and last + 1 < end and doc.lowers[last + 1] in ("based", "born", "area"):
        return "based in a place", False
    located = first - 2 >= begin and doc.lowers[first - 1] in ("in", "from", "near", "outside")
    nouns = context.person_words.nouns
    if (following in nouns or following in lex.occupations()
            or (located and _is_person(doc.lowers[max(begin, first - 4) : first - 1], nouns))):
        return "a person of a place", False
    found = _P["ties"].search(before)
    if found:
        return "tied to a person", not (found.group().split()[0][:4] in _STRONG and len(found.group()) < 30)
    if not context.is_personal:
        return None
    if _P["live first"].search(context.text[max(0, start - 14) : start]):
        return "stated location", True
    entry = lex.places().get(doc.words(first, last))
    abbreviated = entry is not None and entry.flag == "a"
    spoken_of = abbreviated or following in _WORDS["law after a place"] or doc.lowers[first - 1 : first] == ("in",)
    return ("where a speaker's matter is", True) if spoken_of else None


def _is_person(words: tuple[str, ...], nouns: frozenset[str]) -> bool:
    """Whether words end in somebody: "tenants", "bank teller"."""
    last = lex.singular(words[-1])
    jobs = (lex.occupations().get(" ".join((*words[-n:-1], last))) for n in (1, 2, 3))
    return last in nouns or last in lex.KIN or any(job is not None and job.flag != "w" for job in jobs)


def _with_region(context: Context, name: str, last: int, widths: tuple[int, ...]) -> tuple[int, str | None]:
    """The end of a place that ends at `last` with the region after its comma, and their joint path: "Springfield, IL".

    `widths` are the numbers of tokens that a region may have, in the order to try them.
    """
    doc = context.doc
    for end in (last + 1 + width for width in widths) if doc.lowers[last : last + 1] == (",",) else ():
        region = doc.words(last + 1, end)
        if end <= len(doc.tokens) and region in lex.places() and doc.tokens[last + 1].text[0].isupper():
            return end, lex.canonical_place(f"{name}, {region}")
    return last, None


def _constructed(context: Context) -> Iterator[tuple[int, int]]:
    """Names after verbs and nouns of dwelling, after "Ann, originally from", and in labelled notes."""
    doc, low = context.doc, context.lower
    said = (m for m in _P["verb"].finditer(low) if cons.is_said_of_person(context, doc.token_at(m.start())))
    found = [_ahead(context, m) for m in said]
    owned = (m for m in _P["noun"].finditer(low) if _noun_fits(context, m))
    found += [_name(context, doc.token_at(m.end())) for m in (*owned, *_P["label"].finditer(low))]
    for r in context.referents:
        at = r.last + 1 if doc.lowers[r.last : r.last + 1] in ((",",), ("originally",)) else r.last
        if doc.lowers[at : at + 1] == ("from",) and cons.is_particular(r) and r.form != "pronoun":
            found.append(_name(context, at + 1))
    return (name for name in found if name is not None)


def _ahead(context: Context, m: re.Match[str]) -> tuple[int, int] | None:
    """The first name behind a preposition that goes with the verb: "alone in a flat near …"."""
    doc, verb = context.doc, m.group().strip()
    first = doc.token_at(m.end() - 1) + 1 if m.group()[-1] != " " else doc.token_at(m.end())
    reach = 2 if verb in _WORDS["origin"] or verb in _WORDS["being"] else 12
    for k in range(first, min(doc.sentence_of(first - 1)[1], first + reach)):
        word = doc.lowers[k]
        if word in _WORDS["place stops"]:
            return None
        if word in _WORDS["where"] and _fits(verb, word) and (found := _name(context, k + 1)) is not None:
            return found
    return None


def _fits(verb: str, preposition: str) -> bool:
    """Whether the preposition goes with the verb: "comes from", "moved to", "lives in"."""
    if verb in _WORDS["origin"] or verb in _WORDS["being"]:
        return preposition == "from"
    if verb in _WORDS["goes"]:
        return preposition in _PREPOSITIONS_OF_GOING and (verb, preposition) != ("retired", "from")
    return preposition not in ("to", "towards") or verb.startswith("commut")


def _noun_fits(context: Context, m: re.Match[str]) -> bool:
    """Whether a house has an owner, or a person noun is somebody in particular."""
    doc = context.doc
    noun, word, preposition = doc.token_at(m.start()), m["noun"] or "calls", m["prep2"]
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


def _may_be_place(context: Context, first: int, last: int) -> bool:
    """Whether a capitalised name can be a place: a listed one, or one that nothing else is called."""
    doc = context.doc
    names, key = doc.lowers[first:last], doc.words(first, last)
    if cons.is_body(doc, first, last) or set(names) & _WORDS["not a place"] or _P["withheld"].match(names[-1]):
        return False
    if key in lex.places():
        return True
    if last - first == 1 and (names[0] in lex.given_names() or doc.tokens[first].text.isupper()):
        return False
    medical = load_domain("medical")
    if any(word in lex.demonyms() or word in medical.terms for word in (key, names[0])):
        return False
    if key in lex.organisations() or doc.lowers[last : last + 1] in (("'s",), ("’s",)):
        return False
    return lex.suffix_kind(medical, names[-1]) is None
