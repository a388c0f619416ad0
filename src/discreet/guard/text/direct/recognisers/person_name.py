"""Personal names: a title and a name, a given name and a capitalised word, a lone given name bound to a person.

Pass: who acts in office (physicians, judges, agents), parties of cited cases, what is named after people, places and
firms, public persons, placeholders. Lone given names that only do what parties of a hypothetical do ("Alice sues
Bob") have a type of their own, for the policy to decide. The rules are those of the paper's appendix A, widened from
its 131 names to `given_names`.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from discreet.guard.text.direct.detect import BOUND, SHAPED, Facts, Hit, recogniser, recognisers
from discreet.guard.text.lexicon import frame_of, is_english, is_name_shaped, noted_names
from discreet.guard.text.resources import given_names, patterns, words

_P, _WORDS = patterns("names"), words("names")
_PASS = _WORDS["public"] | _WORDS["placeholders"]
_PARTICLES = frozenset([" de ", " de la ", " de los ", " del ", " van ", " van der ", " van den ", " von ", " der ",
                        " di ", " da ", " dos ", " das ", " do ", " della ", " zu ", " ten ", " ter ", " van 't ",
                        " bin ", " ibn ", " al-", " el-", " la ", " le ", " y ", " de las ", " von der "])
_LONGEST = 5
_BEFORE = 72
"""Characters before a name that may speak of it."""
_PARAGRAPH = re.compile(r"\n\s*\n")
_LISTED = re.compile(r",? (?:and|&|or) |, ")
_OWN = re.compile(r"'s$|'S$")


class _Capital(NamedTuple):
    """A capitalised word; a possessive ending is left off, and `stop` is behind it."""

    start: int
    end: int
    stop: int
    word: str
    lower: str

    def __repr__(self) -> str:
        return f"_Capital({self.start}:{self.stop})"


@recognisers.register("person_name")
@recogniser("person_name", "person_name_hypothetical")
def person_name(facts: Facts) -> Iterator[Hit]:
    """Names of persons, and of the parties of hypotheticals."""
    capitals, given = _capitals(facts.text), given_names()
    if capitals:
        yield from _Names(facts, capitals, given).find()
    yield from (Hit("person_name", start, end) for start, end in noted_names(facts.text, len(capitals)))


def _capitals(text: str) -> list[_Capital]:
    found = []
    for match in _P["capitalised"].finditer(text):
        word, (start, stop) = _OWN.sub("", match.group()), match.span()
        if word[:1].isupper():
            found.append(_Capital(start, start + len(word), stop, word, word.lower()))
    return found


def _cited(text: str, capitals: list[_Capital]) -> set[int]:
    """Indices of the words that are parties in a case name ("Brown v. Board of Education")."""
    parties: set[int] = set()
    versus, gap = list(_P["versus"].finditer(text)), _P["party gap"]
    starts = {t.start: i for i, t in enumerate(capitals)}
    stops = {t.stop: i for i, t in enumerate(capitals)}
    for match in versus:
        left = stops.get(match.start(), stops.get(match.start() - 1))
        right = starts.get(match.end())
        if left is None or right is None:
            continue
        while left > 0 and gap.fullmatch(text, capitals[left - 1].stop, capitals[left].start):
            left -= 1
        while right + 1 < len(capitals) and gap.fullmatch(text, capitals[right].stop, capitals[right + 1].start):
            right += 1
        parties |= {*range(left, right + 1)}
    for i, token in enumerate(capitals) if "In re" in text or "Ex parte" in text else ():
        if _P["in re"].search(text, max(0, token.start - 40), token.start):
            parties.add(i)
    return parties


@dataclass(slots=True)
class _Names:
    """One walk over the capitalised words of a text."""

    facts: Facts
    tokens: list[_Capital]
    given: Mapping[str, str] = field(repr=False)
    cited: set[int] = field(init=False)
    breaks: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.cited = _cited(self.facts.text, self.tokens)
        self.breaks = [match.start() for match in _PARAGRAPH.finditer(self.facts.text)]

    def find(self) -> Iterator[Hit]:
        lone: list[int] = []
        taken: set[int] = set()
        i = 0
        while i < len(self.tokens):
            # The last of the capitalised words that follow one another as in a name.
            chain = i
            while chain + 1 < len(self.tokens) and chain - i < _LONGEST and self._adjacent(chain):
                chain += 1
            if self.tokens[i].lower in _WORDS["titles"]:
                last = self._titled(i, chain)
                if last > i:
                    yield self._hit("person_name", i, last)
                    taken.update(range(i, last + 1))
                    i = last
            elif self._is_given(i):
                last, full = self._full(i, chain)
                if full:
                    yield self._hit("person_name", i, last)
                    taken.update(range(i, last + 1))
                elif last == i and not self.tokens[i].word.isupper() and not self._passes(i, i):
                    lone += [i] if self.tokens[i].lower not in _WORDS["assistants"] else []
                i = last
            i += 1
        yield from self._lone(lone)
        yield from self._labelled()
        yield from self._framed(taken)

    def _hit(self, kind: str, first: int, last: int, validity: int = SHAPED) -> Hit:
        return Hit(kind, self.tokens[first].start, self.tokens[last].end, validity)

    def _adjacent(self, i: int) -> bool:
        """Whether the next capitalised word goes on with the name: over a blank, a particle, a shortened word."""
        one, two, gap = self.tokens[i], self.tokens[i + 1], self._gap(i)
        if one.stop > one.end:
            return False
        if gap == ". ":
            return len(one.word) == 1 or any(one.lower in _WORDS[w] for w in ("titles", "place heads", "offices"))
        return gap == " " or gap in _PARTICLES or (gap == ", " and two.lower in _WORDS["suffixes"])

    def _gap(self, i: int) -> str:
        """What stands between a token and the next."""
        return self.facts.text[self.tokens[i].end : self.tokens[i + 1].start]

    def _is_given(self, i: int) -> bool:
        token = self.tokens[i]
        if token.word.isupper():
            return len(token.word) >= 4 and not self._is_word(token.lower) and token.lower in self.given
        if _P["titlecase"].fullmatch(token.word) is None:
            return False
        parts = token.lower.split("-")
        return token.lower in self.given or (len(parts) == 2 and all(part in self.given for part in parts))

    def _is_word(self, lower: str) -> bool:
        """Whether a given name is as likely an ordinary word, a place or a brand."""
        return self.given.get(lower) == "w" and lower not in _WORDS["mostly names"]

    def _is_namelike(self, i: int, shouted: bool = False) -> bool:
        word, lower = self.tokens[i].word, self.tokens[i].lower
        if lower in _WORDS["suffixes"] or (len(word) == 1 and lower != "i"):
            return True
        if lower in _WORDS["common"] or lower in _WORDS["offices"] or len(word) < 2:
            return False
        return word.isupper() == shouted or (len(word) > 3 and word.isupper() and word.isalpha())

    def _titled(self, i: int, chain: int) -> int:
        """The last word of the name after a title, or `i` where none follows. "Mr. X" is a placeholder."""
        last = i
        for k in range(i + 1, chain + 1):
            lower = self.tokens[k].lower
            if lower in _WORDS["not after a title"] or not self._is_namelike(k, self.tokens[k].word.isupper()):
                break
            last = k
        whole = any(len(t.word) > 1 for t in self.tokens[i + 1 : last + 1])
        return last if whole and not self._is_cited(i + 1, last) else i

    def _full(self, i: int, chain: int) -> tuple[int, bool]:
        """The last word of what begins with a given name, and whether it is a person's full name."""
        shouted = self.tokens[i].word.isupper()
        last = i
        for k in range(i + 1, chain + 1):
            if not self._is_namelike(k, shouted) or (shouted and k - i > 2):
                break
            last = k
        if last == i or all(len(t.word) == 1 or t.lower in _WORDS["suffixes"] for t in self.tokens[i + 1 : last + 1]):
            # An initial for a surname ("Jane D."), as case reports and witnesses' names have it.
            sure = last > i and not self._is_word(self.tokens[i].lower) and not shouted
            if sure and self.facts.text[self.tokens[last].end : self.tokens[last].end + 1] == ".":
                return last, not self._passes(i, last)
            thing = chain > i and self.tokens[i + 1].lower in _WORDS["things"]
            return (chain if thing else i), False
        return last, not self._is_thing(i, last, chain) and not self._passes(i, last) and self._is_sure(i, last)

    def _is_thing(self, first: int, last: int, chain: int) -> bool:
        """Whether the words after the given name make it an institution, a place, a law or the like."""
        tail = [t.lower for t in self.tokens[first + 1 : chain + 1]]
        things = [word for word in tail if word in _WORDS["things"] or word in _WORDS["things and surnames"]]
        surname_only = len(things) == 1 and things[0] == tail[0] and things[0] in _WORDS["things and surnames"]
        if things and not (surname_only and not self._is_word(self.tokens[first].lower)):
            return True
        end = self.tokens[last].end
        # "& Name" makes a firm's name, where Name is no given name.
        partner = _P["partner"].match(self.facts.text, end)
        firm = partner is not None and partner[1].lower() not in self.given
        return firm or self._names_a_thing(end, own=False)

    def _passes(self, first: int, last: int) -> bool:
        """Whether a name is of somebody in office, of a case, of a place, or public."""
        start, end = self.tokens[first].start, self.tokens[last].end
        if self._is_cited(first, last) or self._is_public(first, last):
            return True
        if first and self._adjacent(first - 1):
            before = self.tokens[first - 1].lower
            if before in _WORDS["offices"] or before in _WORDS["offices plural"] or before in _WORDS["place heads"]:
                return True
            if len(before) == 1 and (first == last or self.tokens[max(0, first - 2)].lower in _WORDS["offices"]):
                return True
        if any(_P[name].match(self.facts.text, end) for name in ("credential after", "author after")):
            return True
        before_it = self._before(start)
        return _P["office before"].search(before_it) is not None or self._follows_officials(first)

    def _follows_officials(self, first: int) -> bool:
        """Whether a name stands in a list that a plural title opened ("Drs. Jane Park and John Lee")."""
        for k in range(first - 1, max(-1, first - 8), -1):
            if self.tokens[k].lower in _WORDS["offices plural"]:
                return True
            if self._gap(k) not in (" ", ". ") and not _LISTED.fullmatch(self._gap(k)):
                return False
        return False

    def _is_cited(self, first: int, last: int) -> bool:
        return any(k in self.cited for k in range(first, last + 1))

    def _is_public(self, first: int, last: int) -> bool:
        spelt = [t.lower for t in self.tokens[first : last + 1]]
        return any(" ".join(spelt[:size]) in _PASS for size in range(2, len(spelt) + 1)) or (
            len(spelt) > 2 and f"{spelt[0]} {spelt[-1]}" in _PASS
        )

    def _is_sure(self, first: int, last: int) -> bool:
        """Names that are also words need a common surname, or words beside them that speak of a person."""
        one = self.tokens[first]
        if not self._is_word(one.lower):
            return True
        lower, end = self.facts.lower, self.tokens[last].end
        if _P["bound after"].match(lower, end) or _P["apposition"].match(lower, end):
            return True
        if _P["bound before"].search(self._before(one.start)):
            return True
        placed = lower[max(0, one.start - 6) : one.start].endswith(("in ", "near ", "at ", "since ", "by "))
        return self.tokens[last].lower in _WORDS["surnames"] and not placed

    def _lone(self, lone: list[int]) -> Iterator[Hit]:
        """Lone given names: bound to a person, or acting in a hypothetical, or neither."""
        bound: set[int] = set()
        for i in lone:
            one = self.tokens[i]
            listed = i - 1 in bound and _LISTED.fullmatch(self._gap(i - 1))
            if not self._names_a_thing(one.end, own=True) and (listed or self._is_bound(one)):
                bound.add(i)
        people = {self.tokens[i].lower for i in bound}
        free = [i for i in lone if i not in bound and not self._is_word(self.tokens[i].lower)]
        yield from (self._hit("person_name", i, i, BOUND) for i in sorted(bound))
        yield from (self._hit("person_name", i, i) for i in free if self.tokens[i].lower in people)
        free = [i for i in free if self.tokens[i].lower not in people]
        paragraph = {i: bisect(self.breaks, self.tokens[i].start) for i in free}
        acting = {paragraph[i] for i in free if self._acts(self.tokens[i])}
        yield from (self._hit("person_name_hypothetical", i, i) for i in free if paragraph[i] in acting)

    def _labelled(self) -> Iterator[Hit]:
        """Names in a form's field, also surname first ("Patient: Whitfield, Jane")."""
        starts = {token.start: i for i, token in enumerate(self.tokens)}
        for form_field in _P["field"].finditer(self.facts.text):
            label = _P["label"].search(self._before(form_field.start()))
            first = starts.get(form_field.end()) if label else None
            if label is None or first is None:
                continue
            last = first
            while last + 1 < len(self.tokens) and last - first < 3 and self._gap(last) in (" ", ", ", ". "):
                last += 1
            chosen = [k for k in range(first, last + 1) if self._is_namelike(k, self.tokens[k].word.isupper())]
            chosen = [k for n, k in enumerate(chosen) if k == first + n]
            known = any(self.tokens[k].lower in self.given for k in chosen)
            if chosen and (known or (label["sure"] and len(chosen) > 1)) and not self._is_public(first, chosen[-1]):
                yield self._hit("person_name", first, chosen[-1], BOUND)

    def _framed(self, taken: set[int]) -> Iterator[Hit]:
        """Names that no list holds, in a frame that a person fits."""
        i = 0
        while i < len(self.tokens):
            last = i
            while last + 1 < len(self.tokens) and last - i < _LONGEST and self._adjacent(last):
                last += 1
            first, following = i, last + 1
            while first < last and is_english(self.tokens[first].lower):
                first += 1
            # "Genetic Testing Registry" in the middle of a sentence is a title of something, not a name behind a word.
            titled = first - i > 1 or (first > i and self.facts.text[max(0, self.tokens[i].start - 2)].islower())
            i = following
            while last > first and len(self.tokens[last].word) > 1 and self.tokens[last].word.isupper():
                last -= 1
            spelt = [t.word for t in self.tokens[first : last + 1]]
            if not taken.isdisjoint(range(first, last + 1)) or (first == last and len(spelt[0]) < 3):
                continue
            if not is_name_shaped(spelt, sure=True) or (first == last and self.tokens[first].lower in self.given):
                continue
            start, end = self.tokens[first].start, self.tokens[last].end
            frame = frame_of(self.facts.lower, start, end)
            frame = 0 if titled and frame < 2 else frame
            words_of_it = sum(len(word) > 1 and word.lower() not in _WORDS["suffixes"] for word in spelt)
            frame = frame if frame > 1 or is_name_shaped(spelt) else 0
            thing = frame <= (words_of_it < 2) or self._names_a_thing(end, own=first == last)
            if not thing and not self._passes(first, last):
                yield self._hit("person_name", first, last, BOUND if frame > 1 else SHAPED)

    def _before(self, start: int) -> str:
        return self.facts.lower[max(0, start - _BEFORE) : start]

    def _is_bound(self, one: _Capital) -> bool:
        """Whether the words beside a lone name bind it to a person; one that is a word needs a role right before it."""
        before, lower, strictly = self._before(one.start), self.facts.lower, self._is_word(one.lower)
        if _P["bound before"].search(before):
            return not (strictly and before.rstrip("\"'(*_ ").endswith(",") and lower[one.end : one.end + 1] != ",")
        if strictly:
            return False
        named = _P["named before"].search(before)
        if (named and named[1] not in _WORDS["named things"]) or _P["bound after"].match(lower, one.end):
            return True
        return _P["apposition"].match(lower, one.end) is not None and not self._acts_in_apposition(one)

    def _acts_in_apposition(self, one: _Capital) -> bool:
        apposition = _P["apposition"].match(self.facts.lower, one.end)
        return bool(apposition and apposition[1] and _P["act"].match(apposition[2]))

    def _acts(self, one: _Capital) -> bool:
        """Whether a lone name does, or suffers, what parties do in a hypothetical."""
        after, before = _P["act after"].match(self.facts.lower, one.end), self._before(one.start)
        return self._acts_in_apposition(one) or after is not None or _P["act before"].search(before) is not None

    def _names_a_thing(self, end: int, *, own: bool) -> bool:
        """Whether what follows makes a name that of a disease, a test or a law; `own` where "'s" may stand between."""
        match = _P["thing after"].match(self.facts.lower, end)
        return match is not None and (own or not match.group().startswith(("'", "’")))
