"""First person to second: how an assistant tells a user back what the user said. A control, not a rewriter."""

from __future__ import annotations

import re

_SECOND = {
    "i am": "you are",
    "i'm": "you're",
    "i was": "you were",
    "i've": "you've",
    "i have": "you have",
    "i'd": "you'd",
    "i'll": "you'll",
    "am i": "are you",
    "was i": "were you",
    "i": "you",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "we": "you",
    "us": "you",
    "our": "your",
    "ours": "yours",
    "we're": "you're",
    "we've": "you've",
    "im": "you're",
    "ive": "you've",
}
_FIRST = re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, _SECOND), key=len, reverse=True)) + r")\b", re.I)


def in_second_person(text: str) -> str:
    """First person to second, word by word: how an assistant tells a user back what the user said."""

    def swap(match: re.Match[str]) -> str:
        word = match.group()
        if word == "US":
            return word
        other = _SECOND.get(word.lower())
        if other is None:  # the dotted capital I matches "i" and is none
            return word
        begins = match.start() == 0 or text[max(0, match.start() - 2) : match.start()].rstrip()[-1:] in (
            ".",
            "!",
            "?",
            "\n",
            "",
        )
        return other[0].upper() + other[1:] if begins else other

    return _FIRST.sub(swap, text.replace("’", "'"))
