"""Personal names: a title and a name, a given name and a capitalised word, a lone given name bound to a person.

Pass: who acts in office (physicians, judges, agents), parties of cited cases, what is named after people, places and
firms, public persons, placeholders. Lone given names that only do what parties of a hypothetical do ("Alice sues
Bob") have a type of their own, for the policy to decide. The rules are those of the paper's appendix A, widened from
its 131 names to `lexicon.given_names`.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from discreet.text.direct import name_context as near
from discreet.text.direct.detect import BOUND, SHAPED, Facts, Hit, recogniser, recognisers
from discreet.text.direct.name_context import BEFORE, PATTERNS
from discreet.text.evidence import lexicon
from discreet.text.resources import words

_WORDS = words("names")
_PARTICLES = frozenset(
    [" de ", " de la ", " de los ", " del ", " van ", " van der ", " van den ", " von ", " der ", " di ", " da ",
     " dos ", " bin ", " ibn ", " al-", " el-", " la ", " le "]
)  # fmt: skip
_LONGEST = 5
_PARAGRAPH = re.compile(r"\n\s*\n")


@recognisers.register("person_name")
@recogniser("person_name", "person_name_hypothetical")
def person_name(facts: Facts) -> Iterator[Hit]:
    """Names of persons, and of the parties of hypotheticals."""
    tokens = near.capitals(facts.text)
    given = lexicon.given_names()
    if tokens and (
        any(t.lower in given or t.lower in _WORDS["titles"] or "-" in t.word for t in tokens) or "name" in facts.lower
    ):
        yield from _Names(facts, tokens, given).find()


@dataclass(slots=True)
class _Names:
    """One walk over the capitalised words of a text."""

    facts: Facts
    tokens: list[near.Token]
    given: Mapping[str, str] = field(repr=False)
    cited: set[int] = field(init=False)
    breaks: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.cited = near.case_tokens(self.facts.text, self.tokens)
        self.breaks = [match.start() for match in _PARAGRAPH.finditer(self.facts.text)]

    def find(self) -> Iterator[Hit]:
        lone: list[int] = []
        i = 0
        while i < len(self.tokens):
            chain = self._chain(i)
            if self.tokens[i].lower in _WORDS["titles"]:
                last = self._titled(i, chain)
                if last > i:
                    yield self._hit("person_name", i, last)
                    i = last
            elif self._is_given(i):
                last, full = self._full(i, chain)
                if full:
                    yield self._hit("person_name", i, last)
                elif last == i and not self.tokens[i].word.isupper() and not self._passes(i, i):
                    lone.append(i)
                i = last
            i += 1
        yield from self._lone(lone)
        yield from self._labelled()

    def _hit(self, kind: str, first: int, last: int, validity: int = SHAPED) -> Hit:
        return Hit(kind, self.tokens[first].start, self.tokens[last].end, validity)

    def _chain(self, first: int) -> int:
        """The last of the capitalised words that follow one another as in a name."""
        last = first
        while last + 1 < len(self.tokens) and last - first < _LONGEST and self._adjacent(last):
            last += 1
        return last

    def _adjacent(self, i: int) -> bool:
        """Whether the next capitalised word goes on with the name: over a blank, a particle, a shortened word."""
        one, two, gap = self.tokens[i], self.tokens[i + 1], self._gap(i)
        if one.own:
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
        if PATTERNS["titlecase"].fullmatch(token.word) is None:
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
            if last > i and self._is_initialled(i, last):
                return last, not self._passes(i, last)
            thing = chain > i and self.tokens[i + 1].lower in _WORDS["things"]
            return (chain if thing else i), False
        return last, not self._is_thing(i, last, chain) and not self._passes(i, last) and self._is_sure(i, last)

    def _is_initialled(self, first: int, last: int) -> bool:
        """Whether a given name has an initial for a surname ("Jane D."), as case reports and witnesses' names do."""
        sure = not self._is_word(self.tokens[first].lower) and not self.tokens[first].word.isupper()
        return sure and self.facts.text[self.tokens[last].end : self.tokens[last].end + 1] == "."

    def _is_thing(self, first: int, last: int, chain: int) -> bool:
        """Whether the words after the given name make it an institution, a place, a law or the like."""
        tail = [t.lower for t in self.tokens[first + 1 : chain + 1]]
        things = [word for word in tail if word in _WORDS["things"] or word in _WORDS["things and surnames"]]
        surname_only = len(things) == 1 and things[0] == tail[0] and things[0] in _WORDS["things and surnames"]
        if things and not (surname_only and not self._is_word(self.tokens[first].lower)):
            return True
        end = self.tokens[last].end
        # "& Name" makes a firm's name, where Name is no given name.
        partner = PATTERNS["partner"].match(self.facts.text, end)
        firm = partner is not None and partner[1].lower() not in self.given
        return firm or near.is_thing(self.facts.lower, end, own=False)

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
        if any(PATTERNS[name].match(self.facts.text, end) for name in ("credential after", "author after")):
            return True
        before_it = self.facts.lower[max(0, start - BEFORE) : start]
        return PATTERNS["office before"].search(before_it) is not None or self._follows_officials(first)

    def _follows_officials(self, first: int) -> bool:
        """Whether a name stands in a list that a plural title opened ("Drs. Jane Park and John Lee")."""
        for k in range(first - 1, max(-1, first - 8), -1):
            if self.tokens[k].lower in _WORDS["offices plural"]:
                return True
            if self._gap(k) not in (" ", ". ") and not near.is_list_gap(self._gap(k)):
                return False
        return False

    def _is_cited(self, first: int, last: int) -> bool:
        return any(k in self.cited for k in range(first, last + 1))

    def _is_public(self, first: int, last: int) -> bool:
        spelt = [t.lower for t in self.tokens[first : last + 1]]
        return any(" ".join(spelt[:size]) in _WORDS["public"] for size in range(2, len(spelt) + 1)) or (
            len(spelt) > 2 and f"{spelt[0]} {spelt[-1]}" in _WORDS["public"]
        )

    def _is_sure(self, first: int, last: int) -> bool:
        """Names that are also words need a common surname, or words beside them that speak of a person."""
        one = self.tokens[first]
        if not self._is_word(one.lower):
            return True
        lower, end = self.facts.lower, self.tokens[last].end
        if PATTERNS["bound after"].match(lower, end) or PATTERNS["apposition"].match(lower, end):
            return True
        if PATTERNS["bound before"].search(lower[max(0, one.start - BEFORE) : one.start]):
            return True
        placed = lower[max(0, one.start - 6) : one.start].endswith(("in ", "near ", "at ", "since ", "by "))
        return self.tokens[last].lower in _WORDS["surnames"] and not placed

    def _lone(self, lone: list[int]) -> Iterator[Hit]:
        """Lone given names: bound to a person, or acting in a hypothetical, or neither."""
        bound: set[int] = set()
        for i in lone:
            one = self.tokens[i]
            listed = i - 1 in bound and near.is_list_gap(self._gap(i - 1))
            if near.is_thing(self.facts.lower, one.end, own=True):
                continue
            if listed or near.is_bound(self.facts.lower, one.start, one.end, strictly=self._is_word(one.lower)):
                bound.add(i)
        people = {self.tokens[i].lower for i in bound}
        free = [i for i in lone if i not in bound and not self._is_word(self.tokens[i].lower)]
        yield from (self._hit("person_name", i, i, BOUND) for i in sorted(bound))
        yield from (self._hit("person_name", i, i) for i in free if self.tokens[i].lower in people)
        free = [i for i in free if self.tokens[i].lower not in people]
        paragraph = {i: bisect(self.breaks, self.tokens[i].start) for i in free}
        acting = {paragraph[i] for i in free if near.acts(self.facts.lower, *self.tokens[i][:2])}
        yield from (self._hit("person_name_hypothetical", i, i) for i in free if paragraph[i] in acting)

    def _labelled(self) -> Iterator[Hit]:
        """Names in a form's field, also surname first ("Patient: Whitfield, Jane")."""
        starts = {token.start: i for i, token in enumerate(self.tokens)}
        for offset, sure in near.labels(self.facts.text, self.facts.lower):
            first = starts.get(offset)
            if first is None:
                continue
            last = first
            while last + 1 < len(self.tokens) and last - first < 3 and self._gap(last) in (" ", ", ", ". "):
                last += 1
            chosen = [k for k in range(first, last + 1) if self._is_namelike(k, self.tokens[k].word.isupper())]
            chosen = [k for n, k in enumerate(chosen) if k == first + n]
            known = any(self.tokens[k].lower in self.given for k in chosen)
            if chosen and (known or (sure and len(chosen) > 1)) and not self._is_public(first, chosen[-1]):
                yield self._hit("person_name", first, chosen[-1], BOUND)
