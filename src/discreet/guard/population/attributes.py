"""From what the guard found in a text to what a population can be asked: columns and sets of values, person by person.

The reading is the widest that the words allow ("single" is never married, divorced, separated or widowed), so that a
count is not too small. What has no column is dropped and named, and so is a word that the lexicons do not hold; of
several readings of one column what they share holds, and where they share nothing both do, which is said.
Lexicons lie in `data/`: `occupations.tsv`, `origins.tsv`, `countries.tsv`, `readings.tsv`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from discreet.core.records import Subject
from discreet.guard.domains import IDENTIFYING
from discreet.guard.population import words
from discreet.guard.population.found import Description, Found, Said
from discreet.guard.population.words import OLDEST, Value, ages_of
from discreet.guard.text import lexicon as lex
from discreet.guard.text.doc import TOKEN

COUNTED = (*IDENTIFYING, "sex")
"""Classes of findings that say who somebody is; those of a domain say what happened, which no population holds."""
_SAID = {"family": "children, relatives and homes are not in the population",
         "ethnicity": "religion, language or an origin that the population does not tell apart",
         "affiliation": "employers, schools and clubs are not in the population",
         "occupation": "a job that the lexicon does not know",
         "place": "a place that the gazetteer does not know, or none that is home",
         "age": "an age that cannot be read, or one at an event", "sex": "unclear"}
_ORIGIN = re.compile(r"\b(?:born(?: and raised)?|raised|grew up|growing up|brought up|native|originally|hails?|"
                     r"(?:im|em)?migrat\w+|came|fled|refugees?|moved|relocated|returned)\b[^.;!?]{0,40}$")
_HOME = re.compile(r"\b(?:liv\w+|resid\w+|settled|now|moved to|moved here to|relocated to|home in)\b[^.;!?]{0,30}$")
_AWAY = re.compile(r"\b(?:(?:trip|visit|vacation|travel|holiday|honeymoon)\w*|deployed|stationed|flew)\b[^.;!?]{,25}$")
_ABROAD = re.compile(r"\b(?:born|(?:im|e)?migra\w+|came|fled|refugee|native|citizen|national)\b|\bfrom(?: the)? $")
_NOT = re.compile(r"(?:\b(?:not|neither|nor|rather than)|n['’]t)(?: (?:yet|really|actually))?"
                  r"(?: (?:an?|the|from|in|of|living in|based in|married to an?))? ?$")
_PAST = re.compile(r"\bno longer[\w ]{0,25}$|"
                   r"\b(?:former(?:ly)?|ex|used to be|worked as|was once|previously|once an?)[ -][\w ]{0,20}$")
_RETIRED = re.compile(r"\bretired\b(?!.*\b(?:now|works?|working|became)\b)[\w ]{0,25}$")
_DEGREE = re.compile(r"\b(?:ph\.?d|degree|diploma|doctorate|bachelor|master['’]?s|mba|ged|graduate of|dropout)\b")
_SCHOOL = re.compile(r"\b(?:high|school|college|university|degree|diploma)s?$")
_VERBS = (("teach", "teacher"), ("taught", "teacher"), ("practic", "lawyer"), ("driv", "driver"), ("drove", "driver"),
          ("farm", "farmer"), ("clean", "cleaner"))
_TRAIT_M, _TRAIT_F = frozenset("male m widower mr guy".split()), frozenset("female f widow mrs ms pregnant".split())
_PARENT = re.compile(r"\b(mother|mom|mum|father|dad)\b(?: of| to|$)")
_PHRASE = re.compile(r"\ban? ((?:(?!(?:and|or|of|in|with|for|to|by|whose|who|is|was)\b)[\w'’-]+,? ){0,5}?)"
                     r"(man|woman|male|female|gentleman|lady|boy|girl|mother|mom|father|dad|widow|widower|person)\b")
_COLOUR = re.compile(r"\b(?:white|black|asian|hispanic|latin[oa])\b")
_WHOSE = re.compile(r"\b(?:his|her|my|their|the|whose) $")


class _Reading(NamedTuple):
    """One column of one finding, and where it stands (in the finding, all of it where that is not said); without values
    it says why there are none."""

    column: str
    values: frozenset[Value]
    why: str = ""
    widened: str = ""
    at: tuple[int, int] = (0, 0)


def describe(text: str, findings: Iterable[Found]) -> tuple[Description, ...]:
    """What a text says of each person, in the columns of the survey; those of whom nothing is said are left out.

    `findings` are those of a judgement on `text`, whose offsets they hold. A direct identifier is nobody's attribute
    here: a name alone can single out, whatever else is said.
    """
    lower = text.lower() if len(text.lower()) == len(text) else text
    mine: dict[tuple[str, Subject], list[Found]] = {}
    held = [f for f in findings if f.layer == "contextual" and f.subject not in ("cohort", "nobody")]
    for f in held:
        mine.setdefault((f.person, f.subject), []).append(f)
    schooling: dict[tuple[str, Subject], list[_Reading]] = {}
    for reading in _education(lower):
        if held:
            at = reading.at[0]
            near = min(held, key=lambda f: (not _one_sentence(lower, f, at), abs(f.start - at)))
            schooling.setdefault((near.person, near.subject), []).append(reading)
    return tuple(_described(lower, text, who, found, schooling.get(who, [])) for who, found in mine.items()
                 if who in schooling or any(f.type != "person" for f in found))


def _described(lower: str, text: str, who: tuple[str, Subject], found: Sequence[Found],
               more: Sequence[_Reading]) -> Description:
    by_column: dict[str, list[tuple[str, _Reading]]] = {}
    dropped: dict[Said, None] = {}
    not_counted: dict[str, None] = {}
    given = [("education", reading) for reading in more]
    for f in found:
        if f.type in COUNTED:
            for reading in _read(f, lower, text):
                start, end = reading.at if any(reading.at) else (0, f.end - f.start)
                given.append((f.type, reading._replace(at=(f.start + start, f.start + end))))
        elif f.type != "person":
            not_counted[f.type] = None
    given += _of_phrases(lower, found, {kind for kind, reading in given if reading.values})
    for kind, reading in given:
        if reading.values:
            by_column.setdefault(reading.column, []).append((kind, reading))
        else:
            dropped[Said(kind, reading.why or _SAID[kind])] = None
    cluster: dict[str, frozenset[Value]] = {}
    widened: dict[Said, None] = {}
    notes: list[str] = []
    for column, readings in by_column.items():
        values, said = _together(column, [r.values for _, r in readings])
        notes += [said] if said else []
        if column == "sex" and len(values) > 1:
            dropped[Said("sex", "two are said")] = None
            continue
        cluster[column] = values
        # One exact reading makes the column exact.
        if all(r.widened for _, r in readings):
            widened[Said(readings[0][0], readings[0][1].widened)] = None
    return Description(who[0], who[1], cluster, {c: by_column[c][0][0] for c in cluster}, tuple(widened),
                       tuple(d for d in dropped if d.kind not in cluster or d.why != _SAID[d.kind]), tuple(not_counted),
                       tuple(notes), {c: tuple(dict.fromkeys(r.at for _, r in by_column[c])) for c in cluster})


def _together(column: str, sets: Sequence[frozenset[Value]]) -> tuple[frozenset[Value], str]:
    """What several readings of a column leave: what they share, else all of them, which is said."""
    if column == "place":
        paths = sorted({str(one) for values in sets for one in values}, key=len, reverse=True)
        if all(paths[0] == p or paths[0].endswith(f"|{p}") for p in paths):
            return frozenset(paths[:1]), ""
        # The place that holds all of them, which may be the country.
        parts = [p.split("|")[::-1] for p in paths]
        common = []
        for level in zip(*parts, strict=False):
            if len(set(level)) > 1:
                break
            common.append(level[0])
        return frozenset(["|".join(reversed(common))] if common else paths), (
            "two places are said; what holds both was taken")
    shared = frozenset.intersection(*sets)
    if shared:
        return shared, ""
    return frozenset.union(*sets), f"{column}: the text contradicts itself; everything that it says was taken"


def _read(f: Found, lower: str, text: str) -> Iterator[_Reading]:
    said, before, after = lower[f.start : f.end], lower[max(0, f.start - 60) : f.start], lower[f.end : f.end + 40]
    if _NOT.search(before) and said != "never":
        if f.type == "family" and re.search(r"\bmarried\b", said):
            yield from _listed("family", "unmarried")
        else:
            yield _Reading("", frozenset(), "what somebody is said not to be")
    elif f.type == "age":
        ages = ages_of(said, before, after) or range(0)
        yield _Reading("age", frozenset(ages), widened="counted as 90 or older" if OLDEST in ages[:1] else "")
    elif f.type == "sex":
        yield _Reading("sex", _sex(said))
    elif f.type == "occupation":
        yield from _occupation(said, before)
    elif f.type == "place":
        yield from _place(text[f.start : f.end], before)
    elif f.type == "ethnicity":
        yield from _origin(said, before + said + after[:20])
    elif f.type == "family":
        # "His wife died" may be marked up to the wife.
        died = re.match(r"(?: has| had)? (?:died|passed away)\b", after)
        never = "never been " if re.search(r"\bnever(?: been)? $", before) else ""
        if said != "never":
            yield from _listed("family", f"{never}{said}{' died' if died else ''}")
    else:
        yield _Reading("", frozenset())


def _sex(said: str) -> frozenset[Value]:
    said_words: list[str] = words.WORD.findall(said)
    told = {lex.THIRD[w] for w in said_words if w in lex.THIRD}
    for w in said_words if not told else ():
        if w in _TRAIT_M or re.fullmatch(r"\d{1,3}m|m\d{1,3}", w):
            told.add("m")
        elif w in _TRAIT_F or re.fullmatch(r"\d{1,3}f|f\d{1,3}", w):
            told.add("f")
        elif w not in ("husband", "wife", "boyfriend", "girlfriend", "hubby") and (sex := lex.PERSON_NOUNS.get(w)):
            told.add(sex)
    return frozenset({"m": "male", "f": "female"}[one] for one in told) if len(told) == 1 else frozenset()


def _of_phrases(lower: str, found: Sequence[Found], known: set[str]) -> Iterator[tuple[str, _Reading]]:
    """Sex and colour from the noun phrases around what was found of a person, where no finding tells them.

    "A white woman, 66" tells both though only the age is marked; "mom of twins" a sex; "his mother" tells none of his.
    """
    sexes: dict[Value, tuple[int, int]] = {}
    colours: dict[str, tuple[int, int]] = {}
    for f in found:
        for m in _PHRASE.finditer(lower, max(0, f.start - 60), f.end + 60):
            if m.start() <= f.end and f.start <= m.end():
                sexes |= dict.fromkeys(_sex(m[2]), m.span(2))
                colours |= {colour[0]: colour.span() for colour in _COLOUR.finditer(lower, *m.span(1))}
        said = lower[f.start : f.end]
        if f.type == "occupation" and (colour := _COLOUR.match(said)):
            colours[colour[0]] = f.start, f.start + colour.end()
        if f.type == "family" and (parent := _PARENT.search(said)) and not _WHOSE.search(lower[:f.start][-8:]):
            sex = "female" if parent[1][:2] in ("mo", "mu") else "male"
            sexes[sex] = f.start + parent.start(1), f.start + parent.end(1)
    if len(sexes) == 1 and "sex" not in known:
        yield "sex", _Reading("sex", frozenset(sexes), at=next(iter(sexes.values())))
    if len(colours) == 1 and "ethnicity" not in known:
        colour_said, at = colours.popitem()
        yield from (("ethnicity", one._replace(at=at)) for one in _origin(colour_said, ""))


def _occupation(said: str, before: str) -> Iterator[_Reading]:
    if _DEGREE.search(said) or _SCHOOL.search(said) or len(said) < 3:
        return
    if retired := _RETIRED.search(before + said):
        start = retired.start() - len(before)
        yield _Reading("occupation", frozenset([words.groups()["0"]]), at=(start, start + len("retired")))
        if said.strip() not in ("retired", "retiree"):
            yield _Reading("", frozenset(), "the job before retirement is not in the population")
        return
    if _PAST.search(before) or said.startswith(("former ", "ex-")):
        yield _Reading("", frozenset(), "a former job is not in the population")
        return
    codes, exact, word = words.job(said)
    if not codes:
        around = before + said
        verb = next((job for stem, job in _VERBS if re.search(rf"\b{stem}\w*[\w ]{{0,20}}$", around)), None)
        codes, exact, word = words.job(verb) if verb else (codes, exact, word)
    if not codes:
        yield _Reading("", frozenset(), "not a job of the survey" if word else "")
        return
    names = frozenset(words.groups()[code] for code in codes)
    yield _Reading("occupation", names, "", "" if exact else "counted as the group of jobs that holds it",
                   _core(said, codes))


def _core(said: str, codes: tuple[str, ...]) -> tuple[int, int]:
    """Where in a job the fewest words stand that are in the same groups: "lawyer" of "gay lawyer"."""
    places = [m.span() for m in words.WORD.finditer(said)]
    for size in range(1, min(len(places), 4)):
        for first, last in zip(reversed(places[: 1 - size or None]), reversed(places[size - 1 :]), strict=True):
            if words.job(said[first[0] : last[1]])[0] == codes:
                return first[0], last[1]
    return 0, len(said)


def _place(said: str, before: str) -> Iterator[_Reading]:
    name = re.sub(r"^(?:(?:in|from|near|of|at|the) )+", "", said.strip(" .,"))
    # "Hampshire" may be marked of New Hampshire.
    first = re.search(r"\b(?:new|north|south|west|east|san|los|las|fort|saint|st\.) $", before)
    path = (lex.canonical_place(first[0] + name) if first else None) or lex.canonical_place(name)
    if path is None:
        yield _Reading("", frozenset())
        return
    foreign = (country := path.rpartition("|")[2]) != "US"
    origin = bool(_ORIGIN.search(before)) and not _HOME.search(before)
    if _AWAY.search(before):
        yield _Reading("", frozenset(), "a place that somebody only went to")
    elif foreign and _ABROAD.search(before):
        born = words.countries().get(country)
        if born is None:
            yield _Reading("", frozenset(), "the population does not tell this country of birth")
        else:
            yield _Reading("country_of_birth", born, widened="" if path == country else "counted as its country")
    elif foreign:
        yield _Reading("", frozenset(), "a place outside of the population")
    elif origin:
        yield _Reading("", frozenset(), "where somebody comes from is not where they live")
        if re.search(r"\bborn\b[^.;!?]{0,40}$", before):
            yield _Reading("country_of_birth", frozenset(["united states"]))
    elif path.endswith("|US") and path.count("|") == 2 and "," not in name and name.lower() in words.towns():
        yield _Reading("place", frozenset(["US"]), widened="many states have such a town: the country was taken")
    else:
        yield _Reading("place", frozenset([path]))


def _origin(said: str, around: str) -> Iterator[_Reading]:
    """Peoples and nations: descent and birth both, unless the words say that somebody was born there."""
    listed = [r for r in _listed("ethnicity", said) if r.values]
    yield from listed
    names = [lex.demonyms()[entry].canonical for _, _, entry in lex.matcher("demonyms").find(TOKEN.findall(said))]
    found = []
    for name in names:
        if name == "United States":
            continue
        code = _country_code(name)
        if code in words.countries() and re.search(r"\b(?:immigrant|born|national|citizen|native of)\b", around):
            found.append(_Reading("country_of_birth", frozenset(words.countries()[code])))
        found += [_Reading(column, values, widened="" if name in ("Black", "White", "Hispanic") else
                           "counted as the group that holds it") for column, values in words.origins().get(name, ())]
    yield from found
    if not found and not listed and names != ["United States"]:
        yield _Reading("", frozenset())


def _country_code(name: str) -> str:
    return path if (path := lex.canonical_place(name)) and "|" not in path else ""


def _listed(kind: str, said: str) -> Iterator[_Reading]:
    """The first pattern of a class that matches decides for its column."""
    seen: set[str] = set()
    for pattern, column, values in words.readings()[kind]:
        if column not in seen and pattern.search(said):
            if column == "-":
                yield _Reading("", frozenset(), f"{values} is not in the population")
                return
            seen.add(column)
            yield _Reading(column, frozenset(values.split(";")))
    if not seen:
        yield _Reading("", frozenset())


def _education(lower: str) -> Iterator[_Reading]:
    for pattern, column, values in words.readings()["education"]:
        for match in pattern.finditer(lower):
            yield _Reading(column, frozenset(values.split(";")), at=match.span())


def _one_sentence(lower: str, f: Found, at: int) -> bool:
    return not re.search(r"[.!?]\s", lower[min(f.end, at) : max(f.start, at)])
