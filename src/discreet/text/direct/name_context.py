"""What the words around a capitalised name say: whose it is, in what office, in which case, in what hypothetical."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from discreet.text.resources import patterns, words

_NAMED_THINGS = words("names")["named things"]
PATTERNS = patterns("names")
_OWN = re.compile(r"'s$|'S$")
BEFORE = 72
"""Characters before a name that may speak of it."""
_LISTED = re.compile(r",? (?:and|&|or) |, ")


class Token(NamedTuple):
    """A capitalised word; a possessive ending is left off, and `own` says so."""

    start: int
    end: int
    word: str
    lower: str
    own: bool

    def __repr__(self) -> str:
        return f"Token({self.start}:{self.end})"


def capitals(text: str) -> list[Token]:
    """The capitalised words of a text, in order."""
    found = []
    for match in PATTERNS["capitalised"].finditer(text):
        word = match.group()
        if word[0].isupper():
            own = _OWN.search(word) is not None
            word = word[:-2] if own else word
            found.append(Token(match.start(), match.start() + len(word), word, word.lower(), own))
    return found


def case_tokens(text: str, tokens: list[Token]) -> set[int]:
    """Indices of the tokens that are parties in a case name ("Brown v. Board of Education")."""
    parties: set[int] = set()
    versus, gap = list(PATTERNS["versus"].finditer(text)), PATTERNS["party gap"]
    starts = {t.start: i for i, t in enumerate(tokens)} if versus else {}
    ends = {_stop(t): i for i, t in enumerate(tokens)} if versus else {}
    for match in versus:
        left = ends.get(match.start(), ends.get(match.start() - 1))
        right = starts.get(match.end())
        if left is None or right is None:
            continue
        parties |= {left, right}
        while left > 0 and gap.fullmatch(text, _stop(tokens[left - 1]), tokens[left].start):
            left -= 1
            parties.add(left)
        while right + 1 < len(tokens) and gap.fullmatch(text, _stop(tokens[right]), tokens[right + 1].start):
            right += 1
            parties.add(right)
    for i, token in enumerate(tokens) if "In re" in text or "Ex parte" in text else ():
        if PATTERNS["in re"].search(text, max(0, token.start - 40), token.start):
            parties.add(i)
    return parties


def _stop(token: Token) -> int:
    return token.end + 2 if token.own else token.end


def is_bound(lower: str, start: int, end: int, *, strictly: bool) -> bool:
    """Whether the words beside a lone given name bind it to a person.

    `strictly`, for names that are also words, asks for a relative or a role right before it.
    """
    before = lower[max(0, start - BEFORE) : start]
    if PATTERNS["bound before"].search(before):
        return not (strictly and before.rstrip("\"'(*_ ").endswith(",") and lower[end : end + 1] != ",")
    if strictly:
        return False
    named = PATTERNS["named before"].search(before)
    if named and named[1] not in _NAMED_THINGS:
        return True
    if PATTERNS["bound after"].match(lower, end):
        return True
    apposition = PATTERNS["apposition"].match(lower, end)
    return apposition is not None and not (apposition[1] and PATTERNS["act"].match(apposition[2]))


def acts(lower: str, start: int, end: int) -> bool:
    """Whether a lone name does, or suffers, what parties do in a hypothetical."""
    apposition = PATTERNS["apposition"].match(lower, end)
    if apposition and apposition[1] and PATTERNS["act"].match(apposition[2]):
        return True
    if PATTERNS["act after"].match(lower, end):
        return True
    return PATTERNS["act before"].search(lower[max(0, start - BEFORE) : start]) is not None


def is_thing(lower: str, end: int, *, own: bool) -> bool:
    """Whether what follows makes a name that of a disease, a test or a law; `own` where "'s" may stand between."""
    match = PATTERNS["thing after"].match(lower, end)
    return match is not None and (own or not match.group().startswith(("'", "’")))


def is_list_gap(gap: str) -> bool:
    """Whether what stands between two names lists them together ("Tyler and Jake", "Tyler, Jake")."""
    return _LISTED.fullmatch(gap) is not None


def labels(text: str, lower: str) -> Iterator[tuple[int, bool]]:
    """Where a form's field for a name begins, and whether its label alone says so ("Patient name: …")."""
    for field in PATTERNS["field"].finditer(text):
        label = PATTERNS["label"].search(lower[max(0, field.start() - BEFORE) : field.start()])
        if label:
            yield field.end(), label["sure"] is not None
