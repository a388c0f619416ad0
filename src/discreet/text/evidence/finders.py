"""Gazetteer matchers in the tokens of `Doc`, built on first use and kept."""

from __future__ import annotations

from functools import cache

from discreet.text.doc import TOKEN
from discreet.text.evidence import gazetteers
from discreet.text.evidence.gazetteers import Matcher


@cache
def matcher(table: str) -> Matcher:
    """The matcher over the keys of a gazetteer, named as its accessor ("occupations")."""
    entries = getattr(gazetteers, table)()
    return Matcher(entries, max_tokens=8, tokenise=TOKEN.findall)


def with_plurals(lowers: tuple[str, ...]) -> tuple[str, ...]:
    """Tokens with plural nouns made singular, so that "teachers" meets "teacher"."""
    return tuple(gazetteers.singular(w) if len(w) > 3 and w.endswith("s") else w for w in lowers)
