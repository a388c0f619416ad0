"""Street addresses in the forms of some twenty countries, and postal codes with what makes them one.

An address is a house and its street (with unit, town and code where they follow), a rural route or a box. Street types
that are ordinary words too ("Park", "Court", "-berg") need a town, a unit or words such as "lives at" beside them. A
code needs the word for it, or its town or state; bare digits are none. The address of an office is an address like
any other, but a town and code to which something is to be mailed, with neither street nor person, is an office's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from discreet.guard.text import lexicon
from discreet.guard.text.direct.detect import BOUND, Facts, Hit, recogniser, recognisers
from discreet.guard.text.lexicon import is_english, is_taken
from discreet.guard.text.resources import patterns, words

_P = patterns("addresses")
_PARTS = 5
_LONGEST = 80
_YEARS = range(1900, 2100)
_HUNGARIAN = (" utca", " út ", " tér ", " krt", "körút", " köz ", "sétány", "fasor", " u. ")
_EAST_ASIAN = (" Lu", " Jie", "Hutong", "Dadao", "ilu", "glu", "nlu", "-ro", "-gil", "-do", "-dae", "-cho", "-machi")
_TYPED = (" rue ", "avenue ", "boulevard ", "chemin ", "impasse ", "allée ", " quai ", "résidence ", "calle ", "plaza ",
          "avenida ", "piazza ", " via ", "viale ", "contrada ", " rua ", "travessa ", " ul. ", " al. ", " house",
          "cottage", "lodge", " lane", "rectory", "vicarage", " forge", "manor")
_CENTURIES = ("15", "16", "17", "18")
_STEMS = ("zip", "post", "plz", "pin", "cep", "codice", "kod", "eircode")


@recognisers.register("street_address")
@recogniser("street_address")
def street_address(facts: Facts) -> Iterator[Hit]:
    """Houses, boxes and rural routes, with as much of the town behind them as belongs to them."""
    return _Streets(facts).find()


class _Streets:
    """One walk over the numbers of a text that may be houses."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.text = facts.text

    @cached_property
    def cues(self) -> dict[int, bool]:
        """Where words for an address end; whether they are about nothing else."""
        found = {}
        for match in _P["home start"].finditer(self.text):
            if _P["home"].search(self.facts.lower, max(0, match.start() - 64), match.end()):
                found[match.end()] = False
        if _P["address stems"].search(self.facts.lower):
            found |= {m.end(): m["sure"] is not None for m in _P["address cue"].finditer(self.facts.lower)}
        return found

    def find(self) -> Iterator[Hit]:
        if self.facts.digits:
            for start, end, sure in self._candidates():
                stop, town = self.tail(end)
                begin = self._begin(start)
                if sure or town or start in self.cues or begin in self.cues:
                    yield self._hit(begin, stop)
            yield from self._free()
        if any(word in self.facts.lower for word in _TYPED):
            for place, sure in self.cues.items():
                if (typed := _P["free typed"].match(self.text, place)) and (sure or not typed["house"]):
                    yield self._hit(place, self.tail(typed.end())[0])
        if _P["street hint"].search(self.facts.lower):
            for match in _P["home street"].finditer(self.text):
                yield self._hit(*match.span("street"))

    def _hit(self, start: int, end: int) -> Hit:
        return Hit("street_address", start, start + len(self.text[start:end].rstrip(" .,-(\n")), BOUND)

    def _candidates(self) -> Iterator[tuple[int, int, bool]]:
        """Where a street may be, and whether its form alone says so."""
        text, lower = self.text, self.facts.lower
        for match in _P["english"].finditer(text):
            if self._may_be_house(match) and not _P["metonym"].match(text, match.start()):
                yield match.start(), match.end(), self._stands(match)
        if "broadway" in lower:
            yield from ((*m.span(), True) for m in _P["broadway"].finditer(text))
        yield from ((*m.span(), False) for m in _P["typed small"].finditer(text))
        for match in _P["rural"].finditer(text) if _P["rural hint"].search(lower) else ():
            spelt = match.group()[0].isdigit() and re.search("Road|Rout|H(igh)?w", match.group()) is not None
            yield *match.span(), spelt or "Box" in match.group()
        if any(word in lower for word in ("box", "post", "apartado", "caixa", " bag")):
            yield from ((*m.span(), True) for m in _P["box"].finditer(lower))
        yield from self._behind_name()
        for match in _P["number first"].finditer(text):
            yield *match.span(), bool(match["of"]) or not _P["french weak"].match(text, match.start())
        if any(word in text for word in ("Cad", "Cd.", "Sok", "Sk.", "Bul", "Blv", "Mah", "Mh.", "Yolu", "Meydan")):
            yield from ((*m.span(), True) for m in _P["turkish"].finditer(text))
        if any(word in lower for word in _HUNGARIAN):
            yield from ((*m.span(), True) for m in _P["hungarian"].finditer(text))
        if any(word in text for word in _EAST_ASIAN):
            yield from ((*m.span(), True) for m in _P["east asian"].finditer(text))
        if _P["plot hint"].search(lower):
            yield from ((*m.span(), m[0][0] != "#") for m in _P["plot"].finditer(text))
        yield from ((*m.span(), not m["weak"]) for m in _P["colony"].finditer(text))
        yield from ((*m.span(), True) for m in _P["sector"].finditer(text))

    def _behind_name(self) -> Iterator[tuple[int, int, bool]]:
        """Streets whose number stands behind their name."""
        text = self.text
        for number in re.finditer(r"(?<=[ ,])\d{1,4}(?!\d)", text):
            if _P["compound hint"].search(self.facts.lower, max(0, number.start() - 16), number.start()):
                low = max(0, number.start() - 64)
                for match in _P["compound"].finditer(text, low, min(len(text), number.end() + 8)):
                    if match.start("no") == number.start():
                        yield *match.span(), not match["weak"] and int(number.group()) not in _YEARS
        for match in _P["preposition street"].finditer(text):
            said = text[max(0, match.start() - 2) : match.start()] == "I "
            yield *match.span(), _P["preposition sure"].match(match.group()) is not None and not said
        for match in _P["type first"].finditer(text):
            year = match["no"].isdigit() and int(match["no"]) in _YEARS and "," not in match.group()
            cited = text[max(0, match.start() - 3) : match.start()] == "et "
            yield *match.span(), _P["type sure"].match(match.group()) is not None and not year and not cited
        yield from ((*m.span(), True) for m in _P["carrera"].finditer(text))

    def _may_be_house(self, match: re.Match[str]) -> bool:
        """Whether the words before a number leave it to be a house's."""
        before = self.facts.lower[max(0, match.start() - 16) : match.start()]
        number = re.match(r"\d+", match.group())
        year = number is not None and int(number.group()) in _YEARS
        return not _P["no house"].search(before) and not (year and _P["year before"].search(before))

    def _stands(self, match: re.Match[str]) -> bool:
        """Whether a number, a name and a street's type are an address without more."""
        end = match.end()
        if match["weak"]:
            return self.text[max(0, match.start() - 3) : match.start()].lower() == "at " and _ends(self.facts, end)
        titled = match["strong"].lower() == "dr" and re.match(r" [A-Z]", self.text[end : end + 2])
        return not titled and _ends(self.facts, end)

    def _free(self) -> Iterator[Hit]:
        """What a word for an address introduces, if it has a number and a name; and houses with a code behind."""
        for place, sure in self.cues.items():
            if _P["no free"].match(self.text, place) or _P["coded"].match(self.text, place):
                continue
            match = _P["free"].match(self.text, place)
            if match is None or not re.search(r"\d", match.group()) or not re.search(r"[^\W\d_]{3}", match.group()):
                continue
            stop, town = self.tail(match.end())
            ends = town or not match.group()[-1].isdigit() or _ends(self.facts, match.end())
            if (ends and (sure or town)) or self._is_home(match.group(), match.end()):
                yield self._hit(place, stop)
        for match in _P["line"].finditer(self.text) if "\n" in self.text else ():
            if self._is_home(match["street"], match.end()):
                yield self._hit(*match.span("street"))
        if _P["code hint"].search(self.text):
            for match in _P["fallback"].finditer(self.text):
                stop, _ = self.tail(match.end(), coded=True)
                if stop > match.end():
                    yield self._hit(match.start(), stop)

    def _is_home(self, spelt: str, end: int) -> bool:
        """Whether a number and a name of no street's type are a house: none of an English word, a firm or a people."""
        lowers = [word.lower() for word in re.findall(r"[^\W\d_]{2,}", spelt)]
        number, behind = re.search(r"\d+", spelt), not spelt[:1].isdigit()
        if number is None or not lowers or not _P["behind a home"].match(self.text, end):
            return False
        typed = len(lowers) > 1 and any(_P[name].fullmatch(lowers[-1]) for name in ("weak type", "strong type"))
        named = lowers[:-1] if typed else lowers
        if behind and (int(number[0]) in _YEARS or any(map(is_english, named)) or _is_place(" ".join(lowers))):
            return False
        return ((typed or len(number[0]) < 5) and "of" not in named and not all(map(is_english, named))
                and not (not behind and len(lowers) == 1 and lowers[0].endswith("s"))
                and not any(is_taken(lower) or is_taken(lower.removesuffix("s")) for lower in named))

    def _begin(self, start: int) -> int:
        """Where an address begins: a flat or a named house may stand before the street."""
        low = max(0, start - 32)
        before = list(_P["unit before"].finditer(self.text, low, start))
        return before[-1].start() if before else start

    def tail(self, end: int, *, coded: bool = False) -> tuple[int, bool]:
        """Where unit, town and code behind a street end, and whether any does; `coded`: only with a code."""
        place, last, town = end, end, False
        for _ in range(_PARTS):
            match = _P["tail"].match(self.text, place, min(len(self.text), end + _LONGEST * 2))
            if match is None or match.end() == place:
                break
            code = self._is_coded(match)
            known = code or bool(match["place"] and _is_place(match["place"]))
            apart = match.group()[0] != " " or match.group().startswith((" -", " ("))
            place = match.end()
            if coded and (not apart and last == end):
                break
            if coded and not code:
                continue
            if match["unit"] or (known and (apart or code or match["place"])):
                last, town = match.end(), True
            elif not apart:
                break
        return last, town

    def _is_coded(self, match: re.Match[str]) -> bool:
        """Whether a part of an address is a town with its code; four digits alone need a town that is listed."""
        if before := match["before"]:
            short = re.fullmatch(r"\d{4}|\d{3} \d{2}", before) is not None
            return _is_place(match["town"]) or not (short or _is_ordinary(match["town"]))
        if not (behind := match["behind"]):
            return False
        if len(re.sub(r"\W", "", behind.split()[-1])) > 4 or _P["code of two parts"].search(behind):
            return True
        return _is_place(re.split(r",? \d", behind)[0])


def _is_place(name: str) -> bool:
    """Whether a name, or what stands before its comma, is a listed place."""
    return lexicon.canonical_place(name.strip(" .,")) is not None or lexicon.canonical_place(
        name.partition(",")[0].strip(" .")) is not None


def _is_ordinary(name: str) -> bool:
    return any(word.lower() in words("ordinary")["ordinary"] for word in re.findall(r"\w+", name))


@recognisers.register("postal_code")
@recogniser("postal_code", digits=2, priority=-1)
def postal_code(facts: Facts) -> Iterator[Hit]:
    """Codes that a word names, and codes with the town or state that they stand with; the code alone where the town
    is part of a street's address."""
    text = facts.text
    if any(stem in facts.lower for stem in _STEMS):
        for cue in _P["word cue"].finditer(facts.lower):
            if code := _P["any code"].match(text, cue.end()):
                yield Hit("postal_code", *code.span(), BOUND)
    if not _P["code hint"].search(text):
        return
    for name in ("us code", "uk code", "canadian code apart", "eircode"):
        for match in _P[name].finditer(text):
            before = text[max(0, match.start() - 40) : match.start()]
            bound = _P["town before code"].search(before) and (name != "us code" or before.strip())
            claimed = facts.is_other(match.start()) or _is_office_mail(facts, match.start())
            lived_in = name != "eircode" and _is_lived_in(facts, match.start())
            if (bound or lived_in) and not claimed and _ends(facts, match.end()):
                yield Hit("postal_code", _begin_of_town(text, match.start()), match.end(), BOUND)
                yield Hit("postal_code", match.end() - len(_last_code(match)), match.end(), BOUND)
    for name in ("behind city", "before city"):
        for match in _P[name].finditer(text):
            behind = name == "behind city"
            start, stop = match.span()
            if behind:
                start = _begin_of_town(text, match.end("city"))
            elif sentence := _P["sentence end"].search(text, match.start("city"), stop):
                stop = sentence.start()
            stop -= text[stop - 1] == "."
            if _is_town(facts, match, stop, behind=behind) and _ends(facts, stop):
                yield Hit("postal_code", start, stop, BOUND)
                yield Hit("postal_code", *match.span("code"), BOUND)


def _is_town(facts: Facts, match: re.Match[str], stop: int, *, behind: bool) -> bool:
    """Whether a name and a code, up to `stop`, are a town: a listed one, or any where somebody lives or gets mail."""
    code, city, start = match["code"], match["city"][: stop - match.start("city")], match.start()
    short, lived_in = len(code) == 4, _is_lived_in(facts, start)
    state = match["state"] if behind else None
    if behind and short and (au := _P["australian"].search(city)):
        city, state = city[: au.start()], au.group()
    if code.isdigit() and ((int(code) in _YEARS and not state) or (behind and short and code[0] == "0")):
        return False
    if short and code[:2] in _CENTURIES and (not lived_in or "born" in facts.lower[max(0, start - 16) : start]):
        return False
    if _is_place(city) and (not behind or len(code) > 5 or state):
        return True
    lowers, sure = re.findall(r"[^\W\d_]{2,}", city.lower()), _P["code sure"].fullmatch(code) is not None
    plural = len(lowers) == 1 and lowers[0].endswith("s") and not sure and not _is_place(city)
    if city.isupper() or plural or all(map(is_english, lowers)) or facts.is_other(start):
        return False
    if is_taken(lowers[0]) or is_taken(lowers[-1].removesuffix("s")):
        return False
    if behind:
        return lived_in or (state is not None and len(state) > 2)
    below = start > 0 and _P["town before code"].search(facts.text, max(0, start - 40), start) is not None
    return lived_in or sure or (below and not short and _P["town end"].match(facts.text, stop) is not None)


def _is_lived_in(facts: Facts, start: int) -> bool:
    lived = _P["living"].search(facts.lower, max(0, start - 90), start)
    return lived is not None and not _is_office_mail(facts, start)


def _last_code(match: re.Match[str]) -> str:
    return match.group() if match.lastindex is None else match[match.lastindex]


def _begin_of_town(text: str, end: int) -> int:
    """Where the town begins that ends at `end`, before a comma or blank at most: its longest listed name, else what
    neither a sentence nor "of" divides; `end` where there is none."""
    found = _P["town before"].search(text, max(0, end - _LONGEST), end)
    if found is None:
        return end
    town = found["town"]
    listed = (m.start() for m in re.finditer(r"\S+", town) if _is_place(town[m.start() :]))
    parts = [m.end() for m in _P["town divider"].finditer(town)]
    return found.start() + next(listed, max(parts, default=0))


def _ends(facts: Facts, end: int) -> bool:
    return _P["behind a street"].match(facts.text, end) is not None


def _is_office_mail(facts: Facts, start: int) -> bool:
    return _P["office mail"].search(facts.lower, max(0, start - 120), start) is not None
