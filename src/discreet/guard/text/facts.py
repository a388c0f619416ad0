"""The words of a fact in the form in which facts are compared: what tells something, in any order and inflection.

Numbers in words are digits, a relative has one word ("kids", "children"), a married partner too; words that tell no
fact are left out.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from discreet.guard.text import lexicon as lex
from discreet.guard.text.resources import words as word_lists

_WORD = re.compile(r"[^\W_]+")
_UNITS = "one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = dict(zip([*_UNITS, *_TEENS, *_TENS], [*range(1, 20), *range(20, 100, 10)], strict=True))
_NUMBER = re.compile(rf"\b(?:({'|'.join(_TENS)})(?:[- ]({'|'.join(_UNITS)}))?|({'|'.join((*_TEENS, *_UNITS))}))\b")
STEMS = "twent thirt fort fift sixt sevent eight ninet".split()
_DECADE = re.compile(rf"\b(?:([2-9])0|({'|'.join(STEMS)}))['’]?(?:s|ies)\b")
_SAME = {"kid": "child", "youngster": "child", "wife": "spouse", "husband": "spouse", "partner": "spouse",
         "mom": "mother", "mum": "mother", "dad": "father"}
_BROAD = "married single divorced widowed engaged boyfriend girlfriend white black state employee worker".split()
_FRAMES = frozenset("year old age aged live life lives work trade birthday people person patient client".split())
STEM = 4
"""Letters that two forms of one word share at least."""


def fact_words(text: str, *, ages: bool = False) -> list[str]:
    """The words of a text that tell something; with `ages` a number also stands for its decade ("52|decade5")."""
    lower = text.lower()
    lower = _DECADE.sub(lambda m: f" decade{m[1] or 2 + STEMS.index(m[2])} ", lower)
    lower = _NUMBER.sub(lambda m: str(_VALUES[m[1] or m[3]] + (_VALUES[m[2]] if m[2] else 0)), lower)
    told = [lex.singular(word) for word in _WORD.findall(lower)]
    told = [lex.KIN[word][0] if word in lex.KIN else word for word in told if word not in _empty()]
    told = [_SAME.get(word, word) for word in told]
    return [f"{word}|decade{word[0]}" if ages and re.fullmatch(r"[2-9]\d", word) else word for word in told]


@lru_cache(maxsize=8192)
def token_words(token: str) -> tuple[str, ...]:
    """As `fact_words`, of one word or number."""
    return tuple(fact_words(token))


def is_alike(a: str, b: str) -> bool:
    """Whether two words may be forms of one ("bakery", "baker"; "nursing", "nurse")."""
    least = max(STEM, min(len(a), len(b)) - 2)
    return len(a) >= least and len(b) >= least and a[:least] == b[:least]


@cache
def common() -> frozenset[str]:
    """Words that tell of somebody what is true of very many."""
    return frozenset([*"0123456789", *(kin for kin, _ in lex.KIN.values()), *_SAME.values(), *_BROAD])


@cache
def _empty() -> frozenset[str]:
    """Words that tell no fact."""
    return word_lists("language")["en"] | _FRAMES | frozenset("abcdefghijklmnopqrstuvwxyz")
